"""Compiled loops: modules that import numba, llvmlite, numpy and math only, and are called by address.

Read `language` first: all kernels use it.

In reading order; each imports only those above it:

    language                       the base of kernels: frames, raw memory, inlining, LAPACK and matrix products
    control                        kernels that may stop a sweep or call Python: guards, checked copies, custom ops
    indexing                       kernels of indices: rows by number, regions of buffers, sparse matrices
    lanes                          stacks of small matrices: one matrix in each lane of a vector register
    lines                          kernels along lines: reductions, scans, orders and conversions of elements
    fourier                        kernels of Fourier transforms
    systems                        kernels of linear systems: factors of matrices and solutions
    fronts                         kernels of sparse symmetric matrices
    spectra                        kernels of eigenvalues and singular values
    complexes                      kernels of complex matrices
    special                        special functions of numbers, and loops of them over elements

They import one another only.
"""
