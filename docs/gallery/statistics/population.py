r"""
A population that is seen with noise
====================================

The logarithm of a population grows until it reaches what the land carries:
:math:`x_{t+1} = x_t + r (1 - (e^{x_t} / K)^\theta) + \text{noise}`, and each year it is counted with an error. The 200
states are random effects in a chain, whose Hessian is tridiagonal. This is the theta-logistic model of Pedersen and
others (*Ecological Modelling* 222, 2011), with data that are drawn from it.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg
from tapegrad import stats

truth = {"log_r": np.log(0.2), "log_theta": np.log(1.5), "log_K": np.log(900.0), "log_q": -2.0, "log_s": -1.5}
rng, years = np.random.default_rng(8), np.arange(200)
r, theta, K, q, s = (np.exp(value) for value in truth.values())
states = np.empty(200)
states[0] = 3.0
for t in years[:-1]:
    states[t + 1] = states[t] + r * (1 - (np.exp(states[t]) / K) ** theta) + q * rng.standard_normal()
counts = states + s * rng.standard_normal(200)

# %%
# Steps and counts are normal.


def nll(p):
    x = p["x"]
    rate, power, capacity = np.exp(p["log_r"]), np.exp(p["log_theta"]), np.exp(p["log_K"])
    expected = x[:-1] + rate * (1 - (np.exp(x[:-1]) / capacity) ** power)
    steps = stats.norm.logpdf(x[1:], expected, np.exp(p["log_q"]))
    return -np.sum(steps) - np.sum(stats.norm.logpdf(counts, x, np.exp(p["log_s"])))


start = dict.fromkeys(truth, 0.0) | {"log_K": 6.0, "x": np.zeros(200)}
fit = tg.optimize.laplace(nll, start, random="x")
print(fit.summary())

# %%
# What the population is, given all counts, and the growth that follows from it.

figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained", width_ratios=(2, 1))
axes[0].plot(years, counts, ".", ms=4, color="0.4", label="counts")
axes[0].plot(years, states, color="C1", lw=1, label="truth")
low, high = (fit.random + sign * 1.96 * fit.random_std_errors for sign in (-1, 1))
axes[0].fill_between(years, low, high, alpha=0.3, label="95 %")
axes[0].set(xlabel="year", ylabel="logarithm of the population")
axes[0].legend(frameon=False)

sizes = np.linspace(10.0, 1300.0, 80)
growth, error = fit.predict(
    lambda p: np.exp(p["log_r"]) * (1 - (sizes / np.exp(p["log_K"])) ** np.exp(p["log_theta"]))
)
axes[1].fill_between(sizes, growth - 1.96 * error, growth + 1.96 * error, alpha=0.3)
axes[1].plot(sizes, growth)
axes[1].plot(sizes, r * (1 - (sizes / K) ** theta), color="C1", lw=1)
axes[1].axhline(0.0, color="0.8", zorder=0)
axes[1].set(xlabel="population", ylabel="growth a year")

# %%
# The parameters that the data were drawn with; the estimates are within two standard errors of them.

off = [abs(fit.x[name] - value) / fit.std_errors[name] for name, value in truth.items()]
known = {"within two errors": True, "capacity": 900.0, "noise of counts": 0.2231}
found = {
    "within two errors": max(off) < 2.0,
    "capacity": np.exp(fit.x["log_K"]),
    "noise of counts": np.exp(fit.x["log_s"]),
}
rtol = 0.15
