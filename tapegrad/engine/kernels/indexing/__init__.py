"""Kernels of indices: rows by number, regions of buffers, sparse matrices.

In reading order; each imports only those above it:

    index                          rows by a list of indexes
    locate                         from indices to numbers of elements
    region                         in-place writes
    embed                          regions laid into a buffer of zeros
    sparse                         with sparse matrices
"""
