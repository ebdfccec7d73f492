"""Derivatives of the ops, applied to Tensors. Read `step` first: one instruction, as a rule sees it.

In reading order; each imports only those above it:

    step                           one instruction, as a rule sees it
    elementwise_rules              the partials of the table, applied to Tensors
    ties                           equal eigenvalues and singular values, for the rules of these
    decomposition_rules            of other decompositions and determinants
    transposes                     transposes of linear structural ops that are more than another op
    linear_rules                   the derivatives of linear structural ops
    triangles                      symmetric matrices given by one triangle, for rules
    eigenvalue_rules               the same of eigenvalues
    matrix_rules                   the same of systems of equations, factors and functions of matrices
    structural_rules               derivatives of structural ops that are not linear
"""
