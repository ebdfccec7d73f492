"""Posteriors of posteriordb: their models, reference draws, and the contenders that sample them.

In reading order; each imports only those above it:

    transforms       constrained parameters of unconstrained numbers
    densities        log densities up to constants
    model            `Model`: parameters, log density, and the variables that reference draws have
    regressions      linear models, and autoregressions of fixed coefficients
    mixtures         a mixture, a Gaussian process, and the eight schools
    series           time series: loops, hidden states, differential equations
    cases            the twelve posteriors by name
    plain            the words of the models in NumPy, for complex numbers: derivatives by the complex step
    effective        effective sample size, and Monte Carlo errors
    database         data and reference draws of a copy of posteriordb, and those that are in this tree
    gradients        compiled gradients behind C pointers
    pymc_models      some of the models in PyMC
    contenders       what is sampled: tapegrad, and PyMC by Numba and by JAX; Stan's gradients
"""
