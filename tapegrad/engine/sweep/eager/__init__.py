"""Eager execution: an instruction is appended and run in one call. Read `eager` first.

In reading order; each imports only those above it:

    eager                          append an instruction and run it
    eager_joining                  several slots joined into one, recorded and run in one call
    eager_lines                    reductions over any axes, and scans along any axis, recorded and run in one call
    eager_matrices                 functions of square matrices, and systems of equations
    eager_products                 products of matrices, of vectors, and of batches of matrices
    eager_rows                     rows of an operand by number, recorded and run in one call
    earlier_contents               contents of memory before in-place writes, for the rules that read them
    writes                         write in place
"""
