"""MACHINE CODE: the one way from a text (a row of the table, a segment, a plain function, a C call) to an address.

Read `kernels` first, then `rows`, for the way of the op table; `compiler` and `translator` for that of functions.
A kernel is made in some milliseconds, in which no other Python thread waits: LLVM is called without the GIL.

In reading order; each imports only those above it:

    ir                             LLVM's intermediate representation: a function under construction, its values
    mathematics                    vector functions, each compiled once for a machine
    rows                           elementwise kernels from the texts of the op table: forward, reverse and tangent
    segments                       kernels of segments: many rows over the same elements in one loop
    store                          compiled code on disk: the cache between processes, and its announcements on stderr
    machine                        LLVM's passes, object code and the loader: from a finished function to an address
    python_calls                   functions of Python's C interface, as LLVM's instructions
    translator                     functions of numbers as LLVM's text, without Numba's type inference
    kernels                        the kernel of a row: loaded from disk, or made; its address

It imports `ops`, `kernels` and `runtime`.
"""

from tapegrad.engine.runtime.lazy import load_later

load_later(__name__, "kernels")  # a process that only reads the tape makes none
