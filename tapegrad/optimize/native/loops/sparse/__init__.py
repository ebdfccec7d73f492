"""The loop of one fit with a sparse Jacobian: normal equations on a fixed pattern.

In reading order; each imports only those above it:

    sparse_fields                  records of such a fit and of its linear system
    grouping                       groups of columns that no residual joins, and pairs of groups
    products                       products with the Jacobian and with its transpose
    systems                        factors of damped normal equations, and solutions
    sparse_fit                     the fit, by the loop of Levenberg and Marquardt's method
"""
