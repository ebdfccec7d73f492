"""Kernels of linear systems: factors of matrices, what they solve, determinants and inverses.

In reading order; each imports only those above it:

    cholesky_back                  Cholesky factors
    cholesky                       the sweep back through a factorisation
    lu                             LU factors with row exchanges, and the solutions of systems
    inverses                       inverses, by LU factors
    determinants                   determinants, and their logarithms, from LU factors
    lu_factor                      LU factors as matrices, with derivatives of their own, and row exchanges
    qr                             QR factors
    triangular                     systems with triangles
"""
