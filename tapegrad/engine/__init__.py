"""COMPILED CODE: kernels, the tape, the sweeps, and what compiles, caches and verifies them. It knows no Tensor.

In reading order; each imports only those above it:

    kernels                        compiled loops over elements, called by address
    runtime                        the process: its threads, files, messages
    codegen                        machine code: the one way from a text to an address
    elimination                    symbolic factorisation of sparse symmetric patterns
    tape                           the tape: columns of instructions, slots and buffers
    guard_pages                    guard pages for finding errors
    status                         from error numbers to exceptions
    sweep                          the sweeps: execution of instructions forwards and backwards
    threads                        threads for large instructions
    kernel_table                   from op codes to kernels
    reference                      rows on plain arrays, by NumPy or by their kernels
    inspection                     tapes as Python reads, prints and checks them
    ahead_of_time                  all that can be compiled before it is needed
    bound_kernels                  from the frames of a program's rows to kernels that need not ask

It imports `ops`. Inside, imports are one-way as well: `kernels` know Numba only, `tape` and `sweep` no op.
"""
