"""Elementwise kernels from the texts of the op table: forward, reverse and tangent. Read `case` and `rows` first.

In reading order; each imports only those above it:

    case                           one kernel of a row: its dtype, direction and lines
    functions                      vector functions, compiled once for a machine
    exponentials                   sums of exponentials
    adjacent_loops                 loops of them that kernels written by hand call
    expressions                    what is left as values
    stages                         a text cut at calls of libraries
    loops                          A loop over elements, and the two functions that do it
    rows                           the forward and the reverse kernel of a row
    accumulation                   the kernel of sums, broadcasts and copies
    bound                          the same for rows of which binding knows all that a kernel would ask
    several_tangents               several tangents of a row at once
    tangents                       the tangent kernel of a row
"""
