"""Kernels of eigenvalues and singular values, and of the matrix functions computed by them.

In reading order; each imports only those above it:

    eigh                           eigenvalues and eigenvectors of symmetric matrices
    eig                            eigenvalues and eigenvectors of square matrices, as long as they are real
    expm                           exponentials
    singular                       A singular value decomposition by LAPACK, and where its parts lie
    pinv                           pseudo-inverses, by singular values
    svd_ties                       singular values that are equal, or zero
    svd                            singular value decompositions
    sylvester                      matrix equations and square roots
"""
