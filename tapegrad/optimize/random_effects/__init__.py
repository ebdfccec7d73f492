"""Fits of models with random effects: parameters by the marginal likelihood, and what follows from a fit.

In reading order; each imports only those above it:

    roles                          which arguments are parameters, and which are effects
    model                          a joint density as a function of two vectors, and its marginal
    search                         the search for the parameters, from mode to mode
    uncertainty                    covariances of parameters and effects, and of functions of both
    conditional                    effects given the parameters, corrected by third derivatives
    profile                        likelihood profiles
    check                          checks of a fit
    plots                          pictures of fits
    fit                            a fit
    fitting                        the search of a fit
    sharded_fit                    fits of models whose effects belong to parts of the data
    laplace                        `laplace`
"""
