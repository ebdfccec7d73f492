"""Kernels of complex matrices alone: LAPACK's decompositions, and entry points without lanes.

All else is the text of real matrices, in `systems` and `spectra`, with conjugate transposes. In reading order; each
imports only those above it:

    systems                        LU factors, systems of equations, inverses: entry points
    determinants                   determinants, their phases and logarithms
    cholesky                       cotangents of Cholesky factors
    qr                             QR factors: entry points
    eigh                           eigenvalues and eigenvectors of Hermitian matrices: the decomposition
    svd                            singular values: the decomposition
    eig                            eigenvalues and eigenvectors of square matrices: the decomposition
"""
