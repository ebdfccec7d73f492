"""COMPILED CODE: kernels, the tape, the sweeps, and what compiles, caches and verifies them. It knows no Tensor.

In reading order:

    tape                           the columns of a tape: instructions, slots, buffers
    kernels                        compiled loops over elements
    emitter                        the elementwise kernels, made from the op table as they are needed
    codegen                        writes the examples of the docstrings from the op table
    sweep                          instructions bound to frames; eager execution, reverse, tangent, replay
    runtime                        compiling, caching, announcing
    kernel_table, reference        from op codes to kernels; the same formulas by NumPy
    bound_kernels                  from the frames of a program's rows to kernels that need not ask
    plain_arrays                   an elementwise op on NumPy arrays, past any tape
    status                         from error numbers to exceptions
    tape_view                      a tape at one moment, as Python reads it
    tape_entries, tape_columns     its instructions, slots and buffers as objects; as columns of numbers
    view_columns                   the views of many slots
    verify                         what a legal tape is
    printing, view_names           a tape as text
    threads, guard_pages           threads for large instructions; guard pages for finding errors
    dependence                     whether a result depends on some inputs

It imports `ops`. Inside, imports are one-way as well: `kernels` know Numba only, `tape` and `sweep` no op.
"""
