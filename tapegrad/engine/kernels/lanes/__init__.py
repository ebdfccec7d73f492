"""Stacks of small matrices: one matrix in each lane of a vector register. Read `lanes` first.

In reading order; each imports only those above it:

    lane_types                     types of vectors and masks, and their operators
    lanes                          vectors with one number of each of several matrices
    transpose                      transposition of matrices in registers
    lane_blocks                    copies between stacks of matrices and blocks of lanes
    cholesky_lanes                 Cholesky factors of stacks of small matrices
    lu_lanes                       LU factors, solutions and inverses of stacks of small matrices
    determinants_lanes             determinants of stacks of small matrices from LU factors
    qr_lanes                       QR factors of stacks of small matrices
    svd_lanes                      singular value decompositions of stacks of small matrices
    tridiagonal_lanes              reduction of symmetric matrices to tridiagonal form
    eigh_lanes                     eigenvalues and eigenvectors of small symmetric matrices
"""

from tapegrad.engine.kernels.language import LateModule

LANE_BYTES = 64  # bytes of a vector register
lane_types = LateModule(f"{__name__}.lane_types")
