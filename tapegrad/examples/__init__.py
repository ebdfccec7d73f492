"""Examples that are installed with the library and use its public names only.

    nist                           the NIST regressions, which ``tapegrad fit`` runs
    likelihood                     maximum likelihood, with standard errors
    gaussian_process               hyperparameters of a Gaussian process
    survival                       a Weibull regression with censored times
    robust_line                    a line through outliers, by a mixture of distributions
    reaction                       rate constants of a differential equation
    logistic                       a Bayesian regression, sampled by nutpie
    spots                          a stack of small images, all fitted at once
    cluster                        a fit from many starts, on Dask or on processes

``tapegrad example NAME`` runs one of the last seven. Each has ``TRUTH``, the parameters that its data are drawn with;
``observe``, which draws them; ``fit``; and ``draw``. Nothing but `cli` imports them.
"""
