"""Kernels of complex matrices: BLAS's and LAPACK's routines, and derivatives with conjugate transposes.

In reading order; each imports only those above it:

    systems                        LU factors, systems of equations, inverses
    determinants                   determinants, their phases and logarithms
    cholesky                       cotangents of Cholesky factors
    eigh                           eigenvalues and eigenvectors of Hermitian matrices
    svd                            singular values
    qr                             QR factors without lanes
    eig                            eigenvalues and eigenvectors of square matrices
    expm                           exponentials
"""
