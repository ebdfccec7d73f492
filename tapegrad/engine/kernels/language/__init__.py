"""Language of kernels: frames, raw memory, inlining, LAPACK and matrix products.

In reading order; each imports only those above it:

    frame                          the frame: the struct that a kernel reads
    numba_internals                the private names of Numba that the package leans on
    llvm_types                     LLVM's types, and instructions for intrinsics
    library                        numbers of library loops, which kernels call by address
    linking                        linking of compiled functions
    inlining                       functions that only compiled code calls, inlined and separate, and intrinsics
    raw_memory                     loads, stores and calls by address
    matmul                         matrix products
    lapack                         LAPACK's routines, copies and triangles, which kernels of matrices share
    dtypes                         constants of dtypes, and entry points made of a kernel and a dtype
    odometer                       iteration over the elements of strided arrays
    segment_frame                  the frame of a segment
    status                         statuses that a kernel returns; 0 is success
    strided                        order and bounds of strided arrays
"""
