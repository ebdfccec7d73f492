r"""
A table with gaps and outliers
==============================

A drug leaves the blood in two phases: it spreads into tissue, and is then broken down,

.. math:: c(t) = A e^{-\alpha t} + B e^{-\beta t}.

Of 200 simulated concentrations in a CSV file four are missing, as empty cells, and ten are 60 % too large; the others
have the standard deviations of the last column. The parameters that they were drawn with are known.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy import stats

import tapegrad as tg

hours, measured, sigma = np.genfromtxt("../data/two_phases.csv", delimiter=",", skip_header=1, unpack=True)
missing = np.isnan(measured)


def one_phase(t, a, alpha):
    return a * np.exp(-alpha * t)


def two_phases(t, a, alpha, b, beta):
    return a * np.exp(-alpha * t) + b * np.exp(-beta * t)


# %%
# The fit, with a loss under which outliers count less. Standard errors are the roots of the covariance's diagonal, and
# intervals take the quantile of Student's t distribution.

options = {"sigma": sigma, "mask": missing, "bounds": (0, np.inf), "loss": "soft_l1"}
fit = tg.optimize.curve_fit(two_phases, hours, measured, [5, 1, 1, 0.1], **options)
errors = np.sqrt(np.diag(fit.cov))
quantile = stats.t.ppf(0.975, np.sum(~missing) - len(fit.x))
for name, value, error in zip(["A", "alpha", "B", "beta"], fit.x, errors, strict=True):
    print(f"{name:5} = {value:.4f}, 95 %: {value - quantile * error:.4f} to {value + quantile * error:.4f}")

# %%
# The band of the curve by its Jacobian with respect to the parameters.

t = np.linspace(0, 20, 300)
by_parameters = tg.jacobian(lambda p: two_phases(t, *p))(fit.x)
band = quantile * np.sqrt(np.einsum("ij,jk,ik->i", by_parameters, fit.cov, by_parameters))

# %%
# Are there two phases, or one? Twice the cost of a robust loss is no log likelihood. Student's t distribution with four
# degrees of freedom is one, in which outliers count less as well; so models compare by Akaike's criterion.


def negative_log_likelihood(logarithms, model):
    left = (measured - model(hours, *tg.exp(logarithms)))[~missing] / sigma[~missing]
    return -tg.sum(tg.stats.t.logpdf(left, 4.0))


def akaike(model, start):
    best = tg.optimize.minimize(negative_log_likelihood, np.log(start), args=(model,), method="trust-exact")
    return 2 * best.fun + 2 * len(start)


one = tg.optimize.curve_fit(one_phase, hours, measured, [5, 1], **options)
print(f"AIC: {akaike(one_phase, one.x):.0f} of one phase, {akaike(two_phases, fit.x):.0f} of two")
figure, (top, bottom) = plt.subplots(2, 1, height_ratios=[2.2, 1], sharex=True, layout="constrained")
top.errorbar(hours, measured, sigma, fmt=".", ms=4, color="0.7", elinewidth=0.8, label="measured")
top.plot(t, two_phases(t, *fit.x), color="tab:orange", zorder=3, label="two phases")
top.plot(t, one_phase(t, *one.x), "--", color="tab:blue", label="one phase")
top.set(yscale="log", ylabel="concentration (mg/l)")
top.legend(frameon=False)
bottom.plot(hours, -fit.residuals(), ".", ms=4, color="0.7")
width = band / np.interp(t, hours, sigma)
bottom.fill_between(t, -width, width, color="tab:orange", alpha=0.6, lw=0, zorder=3, label="95 % band")
bottom.legend(frameon=False, loc="center right")
bottom.set(xlabel="hours after the dose", ylabel="residual / sigma")

known = {"A": 8.0, "alpha": 1.2, "B": 3.0, "beta": 0.15}
found = dict(zip(known, fit.x, strict=True))
rtol = 0.05
