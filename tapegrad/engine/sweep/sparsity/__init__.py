"""Sets of inputs that elements depend on, and colours of columns that share a sweep.

In reading order; each imports only those above it:

    sets                           the pool of sets, and unions
    colouring                      colours of the columns of a sparse matrix
"""
