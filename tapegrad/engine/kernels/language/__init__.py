"""What kernels are written in: frames, raw memory, inlining, LAPACK and matrix products.

In reading order; each imports only those above it:

    frame                          the frame
    library                        numbers of the library loops and functions that kernels call by address through the
    linking                        how functions become machine code
    inlining                       how kernels' are compiled
    llvm_types                     types for intrinsics
    library_calls                  calls of the emitter's loops, as a Numba intrinsic
    raw_memory                     loads, stores and calls by address
    matmul                         matrix products
    lapack                         what kernels of matrices share: routines, copies, triangles
    odometer                       a walk over their elements
    segment_frame                  the frame of a segment, by numbers that `word_of` leads to words
    status                         the statuses that a kernel returns; 0 is success, and any other ends the sweep
    strided                        order and bounds of strided arrays
"""
