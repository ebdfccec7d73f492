"""Sparse symmetric positive definite systems with a constant pattern.

In reading order; each imports only those above it:

    patterns                       patterns of symmetric matrices, checked, from SciPy's matrices and others
    instructions                   the instructions of factored matrices, and their derivatives
    cholesky                       `SparseCholesky` and its factors
"""
