"""Kernels of eigenvalues and singular values, and of the matrix functions computed by them.

In reading order; each imports only those above it:

    eigh                           eigenvalues and eigenvectors of symmetric matrices
    eig                            real eigenvalues and eigenvectors of square matrices
    balancing                      diagonal similarities that make norms of rows and columns alike
    expm                           exponentials of matrices
    singular                       singular value decomposition by LAPACK, and the layout of its result
    pinv                           pseudo-inverses, by singular values
    svd_ties                       equal and zero singular values: whether derivatives are determined
    svd                            singular value decompositions
    sylvester                      matrix equations and square roots
"""
