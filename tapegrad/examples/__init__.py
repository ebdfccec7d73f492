"""Examples that are installed with the library and use its public names only.

In reading order; each imports only those above it:

    likelihood                     maximum likelihood, with standard errors
    bundle_adjustment              cameras and points of a scene: its model, files and drawn scenes
    cluster                        a fit from many starts, on Dask or on processes
    gaussian_process               hyperparameters of a Gaussian process
    logistic                       a Bayesian regression, sampled by nutpie
    nist                           the NIST regressions, which ``tapegrad fit`` runs
    reaction                       rate constants of a differential equation
    robust_line                    a line through outliers, by a mixture of distributions
    spots                          a stack of small images, all fitted at once
    survival                       a Weibull regression with censored times

``tapegrad example NAME`` runs one from `cluster` on, but for `nist`. Each of these has ``TRUTH``, the parameters that
its data are drawn with; ``observe``, which draws them; ``fit``; and ``draw``. Nothing but `cli` imports them.
"""
