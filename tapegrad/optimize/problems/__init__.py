"""Constrained problems for interior-point solvers: values and sparse derivatives, and Ipopt by ipyopt.

In reading order; each imports only those above it:

    limits                         limits of variables and of constraints as vectors
    fixed_structure                entries of sparse derivatives, in one structure for all branches of a function
    functions                      objective, constraints and Lagrangian on vectors, with their derivatives
    ipopt                          solutions by Ipopt
    problem                        `problem`
"""
