"""THE EMITTER: from the texts of the op table to machine code, through LLVM and past all of its passes.

In reading order, which is the way that a row of the table takes:

    kernels                        a kernel by its row: from disk, or made now; its address
    case, rows                     the row's texts: forward and reverse kernels
    bound                          the same for rows of which binding knows all that a kernel would ask
    tangents, several_tangents     tangent kernels, of one and of several
    accumulation                   the kernel of sums, broadcasts and copies
    segment, segment_kernels       many rows over the same elements, and their one kernel
    segment_loops, segment_rows    its outer loops; its rows as values
    short_segments, long_segments  lines of one vector; lines of many
    segment_places, nan_checks     their elements at one place; whether hasty ones are right
    stages, expressions            a text cut at calls of libraries; what is left as values
    loops, blocks, lines           loops over vectors of adjacent elements, over blocks of others; moving these
    memory, sums, library          loads and stores; sums into one element; calls of NumPy's and SciPy's loops
    functions, mathematics         vector functions, compiled once for a machine; what they compute
    adjacent_loops                 loops of them that kernels written by hand call
    exponentials, extremes         sums of exponentials; largest and smallest elements
    operations                     what can be done with values, beside Python's operators
    body, types                    a function under construction and its values: nothing is emitted twice
    instructions                   its lines: what stays the same in a loop stands before it
    machine, target, objects       compiling and loading; processors; object code on disk

A kernel is made in some milliseconds, in which no Python of anybody else waits: LLVM is called without the GIL.
It imports `ops`, `kernels` and `runtime`.
"""
