"""Kernels of linear systems: factors of matrices, solutions, determinants and inverses.

In reading order; each imports only those above it:

    stacks                         loops over the matrices of a stack
    complex_products               products of complex matrices, by conjugate transposes too
    blocks                         factors of large matrices by blocks of columns
    cholesky_back                  the reverse sweep of a Cholesky factorisation
    cholesky                       Cholesky factors
    lu                             LU factors with row exchanges, and solutions of linear systems
    inverses                       inverses, by LU factors
    determinants                   determinants and their logarithms, by LU factors
    lu_factor                      LU factors as differentiable matrices, and row exchanges
    qr                             QR factors
    triangular                     solutions of triangular systems
    banded                         solutions of systems with banded matrices
"""
