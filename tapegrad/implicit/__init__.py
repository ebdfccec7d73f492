"""IMPLICIT: solutions of equations that a solver has found, and their derivatives by the implicit function theorem.

In reading order; each imports only those above it:

    known                          functions that come again, with what was made of them
    reached_values                 values with derivatives only where they were reached
    converged                      solutions with derivatives only if they were found
    equation                       rules of the derivatives of a root, on Tensors
    direct                         systems by factors: the Jacobian, dense or sparse
    ruled                          values whose derivatives are given rules, in compiled code
    recorded_root                  a root as an instruction with rules in compiled code
    iterative                      systems by products with the Jacobian alone
    eager_root                     a root on the eager tape
    solutions                      solutions with derivatives
    solver_calls                   calls of solvers, that see no Tensors or are recorded
    custom_root                    `custom_root` and `custom_argmin`

It imports the rooms up to `loops`.
"""
