"""Kernels of indices: rows by number, regions of buffers, sparse matrices.

In reading order; each imports only those above it:

    index                          rows by a list of row numbers: gather, scatter_add, scatter_write
    locate                         flat indices of elements
    region                         in-place writes to strided regions
    embed                          copies of operands to regions of a buffer of zeros
    sparse                         products with sparse matrices
"""
