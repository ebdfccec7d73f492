"""Compiled loops: modules that import numba, numpy and math only, and are called by address.

In reading order:

    frame                          the arguments of a kernel
    raw_memory                     loads, stores and calls by address
    strided                        order and bounds of strided arrays
    arithmetic, library            functions of elements: in line, and of libraries
    blocks, cotangents, tangents   what the generated kernels share
    generated                      the elementwise kernels, written by `codegen`
    reduce, prod, accumulate, scan  reductions and running sums along a line
    matmul                         matrix products
    index, region, embed           rows by number; regions of a buffer
    cast, fill                     conversions; clearing
    guard, callback                guards; custom ops

They import one another only.
"""
