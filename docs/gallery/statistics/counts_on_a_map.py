r"""
Counts on a map
===============

Birds are counted on the plots of a grid, a third of which nobody has visited. Their density varies smoothly, and with
the height of the ground: :math:`\log \lambda = \beta_0 + \beta_1 h + f`, with a Matérn field :math:`f` of unknown range
and standard deviation (Lindgren, Rue, Lindström, *JRSS B* 73, 2011). The 1,600 values of the field are random effects:
their Hessian has 13 entries a row, as the field's precision has.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

m, rng = 40, np.random.default_rng(11)
grid = tg.stats.matern_grid((m, m))
truth = {"mean": 1.0, "height": 0.6, "range": 9.0, "sd": 0.7}
x, y = np.meshgrid(np.linspace(0, 1, m), np.linspace(0, 1, m))
height = np.sin(5 * x) + np.cos(7 * y * x) - 0.5
field = grid.rvs(truth["range"], truth["sd"], random_state=rng).reshape(m, m)
counts = rng.poisson(np.exp(truth["mean"] + truth["height"] * height + field)).astype(float)
visited = rng.random((m, m)) < 0.67

# %%
# The joint density of counts and field. What was not counted adds nothing to it.


def nll(theta, f):
    log_rate = theta["mean"] + theta["height"] * height + f.reshape(m, m)
    seen = np.where(visited, np.exp(log_rate) - counts * log_rate, 0.0)
    return np.sum(seen) - grid.logpdf(f, np.exp(theta["log_range"]), np.exp(theta["log_sd"]))


start = {"mean": 0.0, "height": 0.0, "log_range": np.log(5.0), "log_sd": 0.0}
fit = tg.optimize.laplace(nll, (start, np.zeros(m * m)), random=1)
print(fit.summary())

# %%
# The density of birds on all plots, and its relative standard error: small where birds were counted.

log_rate, error = fit.predict(lambda theta, f: theta["mean"] + theta["height"] * height + f.reshape(m, m))
figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
rate = np.exp(truth["mean"] + truth["height"] * height + field)
panels = {
    "density": rate, "counts": np.where(visited, counts, np.nan), "estimate": np.exp(log_rate),
    "relative error": error,
}  # fmt: skip
for axis, (title, values) in zip(axes, panels.items(), strict=True):
    limits = {} if title == "relative error" else {"vmin": 0.0, "vmax": np.quantile(counts, 0.995)}
    figure.colorbar(axis.imshow(values, **limits), ax=axis, shrink=0.8)
    axis.set(title=title, xticks=[], yticks=[])

# %%
# The parameters that the counts were drawn with, and how often the truth is within 1.96 standard errors.

covered = np.mean(np.abs(log_rate - np.log(rate)) < 1.96 * error)
known = {"height": 0.6, "range": 9.0, "sd": 0.7, "covered": 0.95}
found = {
    "height": fit.x["height"], "range": np.exp(fit.x["log_range"]), "sd": np.exp(fit.x["log_sd"]),
    "covered": covered,
}  # fmt: skip
rtol = 0.25
