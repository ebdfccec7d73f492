"""The sweeps: execution of instructions forwards and backwards. Read `binding` and `eager` first.

In reading order; each imports only those above it:

    binding                        instructions bound to frames, and a kernel run over all loops of a frame
    eager                          eager execution: an instruction is appended and run in one call
    derivatives                    the reverse and the tangent sweep over a tape
    sparsity                       sets of inputs that elements depend on, and colours of columns
    threading                      threads of a sweep: the pool, and instructions cut in chunks for it
    replays                        replays of bound programs: their loop, their handles and workspaces, and lanes

It imports `tape`, `kernels`, `runtime` and `codegen`.
"""
