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
YEARS = np.arange(21.0)

# %%
# Logarithms of the populations are integrated, which stay positive. The solver is SciPy's method of Dormand and Prince
# as one loop on the tape, so that each evaluation is a replay.


def slope(t, z, p):
    hares, lynxes = tg.exp(z[0]), tg.exp(z[1])
    return [p[0] - p[1] * lynxes, p[3] * hares - p[2]]


def course(p, times):
    start = tg.log(p[4:6])
    return tg.integrate.solve_ivp(slope, (0, 20), start, t_eval=times, args=(p,), rtol=1e-6, atol=1e-6).y


@tg.jit
def surprise(q):  # the negative logarithm of the posterior density, of the logarithms of all parameters
    p = tg.exp(q)
    likelihood = tg.stats.norm.logpdf(np.log(pelts), course(p, YEARS), p[6:, np.newaxis])
    rates = tg.stats.norm.logpdf(p[:4], np.array([1, 0.05, 1, 0.05]), np.array([0.5, 0.05, 0.5, 0.05]))
    others = tg.stats.norm.logpdf(q[4:], np.array([np.log(10), np.log(10), -1, -1]), 1.0)
    return -tg.sum(likelihood) - tg.sum(rates) - tg.sum(others)


fit = tg.optimize.minimize(surprise, np.log([0.6, 0.03, 0.9, 0.03, 30, 4, 0.3, 0.3]), method="BFGS")
gradient, shifts = tg.grad(surprise), 1e-4 * np.eye(8)
curvature = np.array([gradient(fit.x + shift) - gradient(fit.x - shift) for shift in shifts]) / 2e-4
estimate, covariance = np.exp(fit.x), np.linalg.inv((curvature + curvature.T) / 2)
names = ("alpha", "beta", "gamma", "delta", "hares", "lynxes", "hare error", "lynx error")
for name, value, error in zip(names, estimate, np.sqrt(np.diag(covariance)), strict=True):
    print(f"{name:10} {value:8.4f} +- {value * error:.4f}")

# %%
# Two hundred draws of the normal approximation, computed side by side, show how well the cycle is known.

draws = np.random.default_rng(1).multivariate_normal(fit.x, covariance, 200)
times = np.linspace(0, 20, 201)
courses = np.exp(tg.vmap(lambda p: course(p, times))(np.exp(draws)))
years = 1900 + times
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[1.7, 1], layout="constrained")
for k, (name, colour) in enumerate((("hare", "tab:orange"), ("lynx", "tab:blue"))):
    left.plot(years, courses[:, k].T, color=colour, alpha=0.05)
    left.plot(1900 + np.arange(21), pelts[k], "o", color=colour, label=name)
left.set(xlabel="year", ylabel="pelts (thousands)", xticks=range(1900, 1921, 5), ylim=(0, 105))
left.legend(frameon=False, ncols=2)
right.plot(*np.exp(course(estimate, times)), color="k")
right.plot(*pelts, "o", ms=4, color="tab:green")
right.set(xlabel="hares (thousands)", ylabel="lynxes (thousands)", xlim=(0, 105), ylim=(0, 75))

known = {"alpha": 0.55, "beta": 0.028, "gamma": 0.80, "delta": 0.024}
found = dict(zip(names[:4], estimate, strict=False))
rtol = 0.03
