r"""
Lynx and hare
=============

The Hudson's Bay Company counted the pelts of hares and lynxes that it bought. From 1900 to 1920 they follow Lotka's and
Volterra's equations of prey :math:`u` and predators :math:`v`,

.. math:: \dot u = (\alpha - \beta v) u, \qquad \dot v = (\delta u - \gamma) v,

with logarithms of the counts off by normal errors. Bob Carpenter's case study for Stan (*Predator-Prey Population
Dynamics*, 2018) has the data and the priors, and estimates 0.55, 0.028, 0.80 and 0.024 for the four rates.
Here the maximum of the posterior is found by derivatives of the solver, and its Hessian gives the errors.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

hares = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
lynxes = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
pelts = np.array([hares.split(), lynxes.split()], dtype=float)  # in thousands
STEPS = 10  # of Runge and Kutta's method in a year

# %%
# Logarithms of the populations are integrated, which stay positive. The 200 steps are recorded once; each evaluation
# is a replay.


def course(p, years=20):
    z = tg.log(p[4:6])
    growth, coupling = tg.stack([p[0], -p[2]]), tg.stack([-p[1], p[3]])

    def slope(z):
        return growth + coupling * tg.exp(z[::-1])

    states, h = [z], 1 / STEPS
    for _ in range(years * STEPS):
        k1 = slope(z)
        k2 = slope(z + h / 2 * k1)
        k3 = slope(z + h / 2 * k2)
        z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(z + h * k3))
        states.append(z)
    return tg.stack(states, axis=1)


@tg.jit
def surprise(q):  # the negative logarithm of the posterior density, of the logarithms of all parameters
    p = tg.exp(q)
    likelihood = tg.stats.norm.logpdf(np.log(pelts), course(p)[:, ::STEPS], p[6:, np.newaxis])
    rates = tg.stats.norm.logpdf(p[:4], np.array([1, 0.05, 1, 0.05]), np.array([0.5, 0.05, 0.5, 0.05]))
    others = tg.stats.norm.logpdf(q[4:], np.array([np.log(10), np.log(10), -1, -1]), 1.0)
    return -tg.sum(likelihood) - tg.sum(rates) - tg.sum(others)


fit = tg.optimize.minimize(surprise, np.log([0.6, 0.03, 0.9, 0.03, 30, 4, 0.3, 0.3]), method="trust-exact")
estimate, covariance = np.exp(fit.x), np.linalg.inv(tg.hessian(surprise)(fit.x))
names = ("alpha", "beta", "gamma", "delta", "hares", "lynxes", "hare error", "lynx error")
for name, value, error in zip(names, estimate, np.sqrt(np.diag(covariance)), strict=True):
    print(f"{name:10} {value:8.4f} +- {value * error:.4f}")

# %%
# Two hundred draws of the normal approximation, computed side by side, show how well the cycle is known.

draws = np.random.default_rng(1).multivariate_normal(fit.x, covariance, 200)
courses = np.exp(tg.vmap(tg.jit(course))(np.exp(draws)))
years = 1900 + np.arange(20 * STEPS + 1) / STEPS
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[1.7, 1], layout="constrained")
for k, (name, colour) in enumerate((("hare", "tab:orange"), ("lynx", "tab:blue"))):
    left.plot(years, courses[:, k].T, color=colour, alpha=0.05)
    left.plot(1900 + np.arange(21), pelts[k], "o", color=colour, label=name)
left.set(xlabel="year", ylabel="pelts (thousands)", xticks=range(1900, 1921, 5), ylim=(0, 105))
left.legend(frameon=False, ncols=2)
right.plot(*np.exp(course(estimate).data), color="k")
right.plot(*pelts, "o", ms=4, color="tab:green")
right.set(xlabel="hares (thousands)", ylabel="lynxes (thousands)", xlim=(0, 105), ylim=(0, 75))

known = {"alpha": 0.55, "beta": 0.028, "gamma": 0.80, "delta": 0.024}
found = dict(zip(names[:4], estimate, strict=False))
rtol = 0.03
