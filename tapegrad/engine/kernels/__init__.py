"""Compiled loops: modules that import numba, llvmlite, numpy and math only, and are called by address.

In reading order:

    frame, segment_frame, status   the arguments of a kernel, and of a segment's; what they return
    linking, inlining, llvm_types  how functions become machine code; how kernels' are compiled; types for intrinsics
    raw_memory                     loads, stores and calls by address
    strided, odometer              order and bounds of strided arrays; a walk over their elements
    library, library_calls         functions of libraries and loops of the emitter, called by address
    reduce, prod, accumulate, scan  reductions and running sums along a line
    deviations, logsumexp          variances; sums of exponentials
    recurrence, sorting            linear recurrences along a line; the order of a line
    cross                          products of vectors in space
    matmul, sparse                 matrix products; with sparse matrices
    lapack                         what kernels of matrices share: routines, copies, triangles
    lanes, lane_blocks             numbers of several small matrices side by side in a register; copies of them
    lu_lanes, determinants_lanes   stacks of small matrices, by lanes
    cholesky_lanes, qr_lanes, svd_lanes  the same
    tridiagonal_lanes, eigh_lanes  the same for eigenvalues
    lu, lu_factor                  LU factors, and systems by them
    inverses, determinants         what else is computed by them
    triangular                     systems with triangles
    cholesky_back, cholesky        Cholesky factors; the sweep back through a factorisation
    eigh, eig, qr                  eigenvalues; QR factors
    singular, svd_ties, svd, pinv  singular values; pseudo-inverses
    expm, sylvester                exponentials; matrix equations and square roots
    determined                     values with a condition
    correlate                      sums of products along a line
    index, region, embed           rows by number; regions of a buffer
    search, locate, integers       where numbers belong; from indices to numbers of elements; integer arithmetic
    cast, fill                     conversions; clearing
    transpose                      matrices with rows and columns exchanged
    guard, callback                guards; custom ops

They import one another only.
"""
