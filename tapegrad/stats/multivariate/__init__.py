"""Distributions of vectors and matrices.

In reading order; each imports only those above it:

    matrices                       `multivariate_normal` and `wishart`: distributions with a matrix as a parameter
    elliptical                     `multivariate_t` and `matrix_normal`, by the parts of the normal distribution
    vectors                        `dirichlet` and `multinomial`: distributions of shares and counts
"""
