"""AC optimal power flow on the networks of PGLib-OPF.

In reading order; each imports only those above it:

    matpower     MATPOWER's case files as networks
    model        objective, constraints and limits
    solvers      tapegrad, CasADi and CVXPY on a model
    measurement  one network, all solvers, checked by derivatives without automatic differentiation
"""
