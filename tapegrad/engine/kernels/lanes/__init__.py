"""Stacks of small matrices: one matrix in each lane of a vector register. Read `lanes` first.

In reading order; each imports only those above it:

    lanes                          numbers of several small matrices side by side in a register
    lane_blocks                    copies of matrices into lanes and back
    cholesky_lanes                 cholesky factors of stacks of small matrices, as many at once as there are lanes
    lu_lanes                       LU factors, solutions and inverses of stacks of small matrices
    determinants_lanes             determinants of stacks of small matrices from LU factors
    qr_lanes                       QR factors of stacks of small matrices, as many at once as there are lanes
    svd_lanes                      singular value decompositions of stacks of small matrices
    transpose                      matrices with rows and columns exchanged
    tridiagonal_lanes              symmetric matrices reduced to tridiagonal ones by reflections
    eigh_lanes                     eigenvalues and eigenvectors of small symmetric matrices
"""
