"""Kernels of sparse symmetric matrices, by fronts: dense blocks of columns of equal structure (Duff, Reid 1983).

In reading order; each imports only those above it:

    plan                           the plan: the symbolic factorisation in memory, and its check
    columns                        factors, solutions and inverses where fronts have one pivot and few rows
    column_coefficients            derivatives of the inverse there
    stacking                       the stack of updates, from children to parents and back
    blocks                         dense blocks of a front: factors, products, inverses
    factors                        Cholesky factors
    entries                        products with a matrix given by its entries, and outer products on a pattern
    solutions                      solutions of linear systems by the factor
    inverses                       the inverse on the pattern of the factor
    multilinear                    derivatives of the inverse on the pattern, of any order
    determinants                   log-determinants and their derivatives
"""
