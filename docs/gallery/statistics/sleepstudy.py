r"""
Random intercepts and slopes
============================

Eighteen drivers slept three hours a night, and their reaction time was measured on ten days. Each driver has an
intercept and a slope of their own, drawn from a normal distribution with covariance :math:`G`; days have errors of
standard deviation :math:`\sigma`. Integrated over these, the times of a driver are normal:
:math:`y_i \sim N(X\beta, \; X G X^\top + \sigma^2 I)`, with columns 1 and day in :math:`X`.

Data: Belenky and others, *Journal of Sleep Research* 12, 2003. Published answer (maximum likelihood): Bates, Mächler,
Bolker and Walker, "Fitting linear mixed-effects models using lme4", *Journal of Statistical Software* 67(1), 2015.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

table = np.loadtxt("../data/sleepstudy.csv", delimiter=",", skiprows=1, usecols=(1, 2))
times = table[:, 0].reshape(18, 10)  # milliseconds; a row for each driver
days = np.arange(10.0)
design = np.stack([np.ones(10), days], axis=1)

# %%
# The factor of :math:`G` has its diagonal as logarithms, so that every vector of parameters is a covariance.


def covariances(p):
    factor = tg.array([[np.exp(p[2]), 0.0], [p[3], np.exp(p[4])]])
    return factor @ factor.T, np.exp(2 * p[5])


def negative_log_likelihood(p):
    effects, noise = covariances(p)
    chol = np.linalg.cholesky(design @ effects @ design.T + noise * np.eye(10))
    white = tg.linalg.solve_triangular(chol, (times - design @ p[:2]).T, lower=True)
    log_det = 2 * tg.sum(np.log(np.diagonal(chol)))
    return 0.5 * (tg.sum(white**2) + 18 * log_det + times.size * np.log(2 * np.pi))


start = np.array([250.0, 10.0, 3.0, 0.0, 2.0, 3.0])
fit = tg.optimize.minimize(negative_log_likelihood, start, method="trust-exact")
effects, noise = tg.jit(covariances)(fit.x)
spread = np.sqrt(np.diagonal(effects))
errors = np.sqrt(np.diagonal(np.linalg.inv(tg.hessian(negative_log_likelihood)(fit.x))))
print(
    f"reaction time {fit.x[0]:.2f} +- {errors[0]:.2f} ms, and {fit.x[1]:.2f} +- {errors[1]:.2f} ms more each day"
)
print(
    f"between drivers {spread.round(2)} ms, residual {np.sqrt(noise):.2f} ms, log likelihood {-fit.fun:.2f}"
)

# %%
# The predicted line of a driver lies between the least-squares line and that of all drivers.

gain = effects @ design.T @ np.linalg.inv(design @ effects @ design.T + noise * np.eye(10))
lines = design @ (fit.x[:2, np.newaxis] + gain @ (times - design @ fit.x[:2]).T)

figure, grid = plt.subplots(3, 6, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
for axes, driver, line in zip(grid.flat, times, lines.T, strict=True):
    axes.plot(days, driver, "o", ms=3, color="0.3")
    axes.plot(days, design @ fit.x[:2], color="0.7", lw=1)
    axes.plot(days, line, color="C0", lw=2)
figure.supxlabel("days of little sleep")
figure.supylabel("reaction time (ms)")

# %%
# The estimates that lme4 publishes.

known = {"mean": [251.405, 10.467], "between": [23.78, 5.717], "residual": 25.59, "log_likelihood": -875.97}
found = {"mean": fit.x[:2], "between": spread, "residual": np.sqrt(noise), "log_likelihood": -fit.fun}
rtol = 1e-3
