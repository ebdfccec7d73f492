"""Symbolic factorisation of sparse symmetric patterns: compiled functions on lists of int64, called once a pattern.

In reading order; each imports only those above it:

    minimum_degree                 order of elimination with little fill
    tree                           elimination tree, its postorder, and the number of entries of each column of L
    supernodes                     columns of equal structure joined to fronts, and the rows of each front
    positions                      places of entries and of updates in the factor, and the memory that fronts take
    analysis                       from a pattern to its plan

But for the order, all run in time proportional to the entries of the pattern and the rows of the fronts.
"""
