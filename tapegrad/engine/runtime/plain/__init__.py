"""Functions of numbers as LLVM's text, without Numba's way to it: the engine's own, and kernels written by hand.

Numba infers types, rewrites and lowers such a function in 20 to 60 ms; a first gradient waits for two hundred of them,
a kernel of matrices for dozens. Here their syntax trees are gone through once. What says more than numbers, vectors and
tuples of them is left to Numba.

In reading order:

    values                         numbers, tuples, and what is known while a function is translated
    expressions, calls, statements  what they become
    parts                          each function once, however many call it
    whole                          a function that is called from outside, as Numba's callers know it
"""
