"""Roots, fixed points and minima with derivatives by the arguments of the user's function; uncertainties of results.

In reading order; each imports only those above it:

    results                        results of searches with derivatives
    newton                         Newton's method, in compiled code where it is recorded
    root                           `root`
    fixed_point                    `fixed_point`
    minima                         minima of `minimize` and `least_squares` with derivatives
    propagation                    `propagate`: uncertainties of results, given those of values
"""
