r"""
Pleuropneumonia of cattle
=========================

In 15 herds the new cases of contagious pleuropneumonia were counted over four periods. The odds of a case depend on the
period, and on the herd: :math:`\text{logit}\, p = X\beta + \sigma u_h` with :math:`u_h \sim N(0, 1)`. Laplace's
approximation integrates the 15 effects out.

Data: Lesnoff and others, *Preventive Veterinary Medicine* 64, 2004. Published answer: what ``glmer`` of lme4 prints for
them (Bates, Mächler, Bolker and Walker, *Journal of Statistical Software* 67(1), 2015).
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg
from tapegrad import special, stats

table = np.loadtxt("../data/cbpp.csv", delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))
herd, cases, size, period = table[:, 0].astype(int) - 1, *table[:, 1:].T
design = np.stack([np.ones(len(table)), *(period == k for k in (2, 3, 4))], axis=1)

# %%
# The joint density of cases and effects, in NumPy.


def nll(theta, u):
    odds = design @ theta["beta"] + np.exp(theta["log_sd"]) * u[herd]
    return -np.sum(stats.binom.logpmf(cases, size, special.expit(odds))) - np.sum(stats.norm.logpdf(u))


fit = tg.optimize.laplace(nll, ({"beta": np.zeros(4), "log_sd": 0.0}, np.zeros(15)), random=1)
print(fit.summary())

# %%
# The chance of a case in each period for a herd of its own level, with standard errors by the delta method.

periods = np.vstack([np.eye(4)[0], np.eye(4)[1:] + np.eye(4)[0]])
chances, errors = fit.predict(
    lambda theta, u: special.expit((periods @ theta["beta"])[:, None] + np.exp(theta["log_sd"]) * u)
)
order = np.argsort(fit.random)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
spread = np.exp(fit.x["log_sd"])
axes[0].errorbar(
    spread * fit.random[order], np.arange(15), xerr=spread * fit.random_std_errors[order], fmt="o"
)
axes[0].axvline(0.0, color="0.8", zorder=0)
axes[0].set(xlabel="log odds of a herd", yticks=np.arange(15), yticklabels=order + 1, ylabel="herd")
for row in (order[0], order[7], order[-1]):
    axes[1].errorbar(np.arange(1, 5), chances[:, row], errors[:, row], capsize=3, label=f"herd {row + 1}")
axes[1].set(xlabel="period", ylabel="chance of a case", xticks=np.arange(1, 5))
axes[1].legend(frameon=False)

# %%
# The estimates, their standard errors and the log-likelihood that lme4 prints.

known = {
    "beta": [-1.3985, -0.9923, -1.1287, -1.5803],
    "errors": [0.2325, 0.3066, 0.3266, 0.4274],
    "sd": 0.6423,
    "log_likelihood": -92.026,
}
found = {
    "beta": fit.x["beta"],
    "errors": fit.std_errors["beta"],
    "sd": spread,
    "log_likelihood": -fit.fun,
}
rtol = 1e-3
