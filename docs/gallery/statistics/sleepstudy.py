r"""
Random intercepts and slopes
============================

Eighteen drivers slept three hours a night, and their reaction time was measured on ten days. Each driver has an
intercept and a slope of their own, drawn from a normal distribution; days have errors of standard deviation
:math:`\sigma`. The 36 effects are integrated out; as the model is Gaussian in them, Laplace's approximation is exact.

Data: Belenky and others, *Journal of Sleep Research* 12, 2003. Published answers, by maximum likelihood and by
restricted maximum likelihood: Bates, Mächler, Bolker and Walker, "Fitting linear mixed-effects models using lme4",
*Journal of Statistical Software* 67(1), 2015.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg
from tapegrad import stats

table = np.loadtxt("../data/sleepstudy.csv", delimiter=",", skiprows=1, usecols=(1, 2))
times = table[:, 0].reshape(18, 10)  # milliseconds; a row for each driver
days = np.arange(10.0)

# %%
# The effects are standard normal; the factor of their covariance makes intercepts and slopes of them.


def lines(p):
    sd, correlation = np.exp(p["log_sd"]), np.tanh(p["z"])
    first, second = p["effects"][:, 0], p["effects"][:, 1]
    intercepts = p["mean"][0] + sd[0] * first
    slopes = p["mean"][1] + sd[1] * (correlation * first + np.sqrt(1 - correlation**2) * second)
    return intercepts[:, None] + slopes[:, None] * days


def nll(p):
    density = stats.norm.logpdf(times, lines(p), np.exp(p["log_noise"]))
    return -np.sum(density) - np.sum(stats.norm.logpdf(p["effects"]))


start = {"mean": np.array([250.0, 10.0]), "log_sd": np.array([3.0, 1.5]), "z": 0.0, "log_noise": 3.0}
start["effects"] = np.zeros((18, 2))
fit = tg.optimize.laplace(nll, start, random="effects")
restricted = tg.optimize.laplace(nll, start, random=("effects", "mean"))
print(fit.summary(), restricted.summary(), sep="\n\n")

# %%
# The line of a driver lies between the least-squares line and that of all drivers; it has standard errors, too.

found_lines, errors = fit.predict(lines)
figure, grid = plt.subplots(3, 6, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
for axes, driver, line, error in zip(grid.flat, times, found_lines, errors, strict=True):
    axes.fill_between(days, line - 1.96 * error, line + 1.96 * error, alpha=0.25, color="C0", lw=0)
    axes.plot(days, driver, "o", ms=3, color="0.3")
    axes.plot(days, fit.x["mean"][0] + fit.x["mean"][1] * days, color="0.7", lw=1)
    axes.plot(days, line, color="C0", lw=2)
figure.supxlabel("days of little sleep")
figure.supylabel("reaction time (ms)")

# %%
# The estimates that lme4 publishes.

known = {
    "mean": [251.405, 10.467], "between": [23.78, 5.717], "residual": 25.59, "log_likelihood": -875.97,
    "restricted": [24.740, 5.922], "criterion": 1743.63,
}  # fmt: skip
found = {
    "mean": fit.x["mean"], "between": np.exp(fit.x["log_sd"]), "residual": np.exp(fit.x["log_noise"]),
    "log_likelihood": -fit.fun,
    "restricted": np.exp(restricted.x["log_sd"]), "criterion": 2 * restricted.fun,
}  # fmt: skip
rtol = 1e-3
