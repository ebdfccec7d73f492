"""The translator: functions of numbers as LLVM's text, without Numba's type inference.

Numba infers types, rewrites and lowers such a function in 20 to 60 ms; a first gradient waits for two hundred of them,
a kernel of matrices for dozens. Here their syntax trees are gone through once. What says more than numbers, vectors and
tuples of them is left to Numba. Read `values` first.

In reading order; each imports only those above it:

    definitions                    syntax trees of functions, if files still say what was imported
    values                         numbers, tuples, and what is known while a function is translated
    complex_numbers                arithmetic of complex numbers
    expressions                    expressions of a plain function as LLVM's instructions
    calls                          calls in a plain function
    statements                     statements of a plain function
    parts                          each function once, however many call it
    whole                          a function that is called from outside, as Numba's callers know it
    compiler                       entry points, helpers and kernels
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "whole")
