"""Kernels of complex matrices: BLAS's and LAPACK's routines, and derivatives with conjugate transposes.

In reading order; each imports only those above it:

    systems                        LU factors, systems of equations, inverses
    determinants                   determinants, their phases and logarithms
    triangular                     triangular systems
    cholesky                       Cholesky factors
    hermitian                      derivatives of eigenvalues and eigenvectors of Hermitian matrices
    eigh                           eigenvalues and eigenvectors of Hermitian matrices
    singular_ties                  equal singular values
    singular                       derivatives of singular values and vectors
    svd                            singular values
    qr                             QR factors
    eig                            eigenvalues and eigenvectors of square matrices
    expm                           exponentials
"""
