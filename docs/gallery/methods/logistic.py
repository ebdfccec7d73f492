"""
A Bayesian logistic regression
==============================

Outcomes of four hundred patients depend on eight covariates, two of which have no effect. The prior is normal, after
Gelman and others (*Annals of Applied Statistics* 2, 2008). This page approximates the posterior by a normal
distribution at its maximum (Laplace). ``tapegrad example logistic`` samples it by nutpie, with a compiled gradient that
runs without Python, and draws both.
"""

import inspect

import numpy as np
from matplotlib import pyplot as plt

from tapegrad.examples import logistic as model

# %%
# The density of the posterior up to a constant, and the model that nutpie takes.

print(inspect.getsource(model.log_posterior))
print(inspect.getsource(model.sample))

# %%
# Maximum and curvature by exact derivatives.

covariates, outcomes = model.observe()
estimate = model.laplace(covariates, outcomes)

# %%
# Odds ratios with intervals of two standard deviations, beside those that the data were drawn with.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
rows = np.arange(len(model.TRUTH))
axes.axvline(0.0, color="gray", lw=0.5)
axes.errorbar(estimate.parameters, rows, xerr=2 * estimate.errors, fmt="o", ms=4, label="posterior")
axes.plot(list(model.TRUTH.values()), rows, "x", color="black", label="truth")
axes.set_yticks(rows, list(model.TRUTH))
axes.invert_yaxis()
axes.set(xlabel="logarithm of the odds ratio", title="Bayesian logistic regression")
axes.legend()

# %%
# The effects are in units of their errors apart from the true ones as a standard normal sample is: the root mean square
# of nine such numbers is between 0.5 and 1.5 in 98 % of all cases.

distance = (estimate.parameters - list(model.TRUTH.values())) / estimate.errors
known = {"root mean square of error / deviation": 1.0}
found = {"root mean square of error / deviation": np.sqrt(np.mean(distance**2))}
rtol = 0.5
