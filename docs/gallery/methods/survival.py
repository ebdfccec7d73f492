"""
Survival times with censoring
=============================

Three hundred patients enter a study over five years, and some are still alive at its end: of these the time to the
event is only known to be longer than the observation. Times follow a Weibull distribution whose scale depends on
treatment and age (Kalbfleisch and Prentice, *The Statistical Analysis of Failure Time Data*, 2002, chapter 3).

The model is installed with the library: ``tapegrad example survival`` runs it from a shell.
"""

import inspect

import numpy as np
from matplotlib import pyplot as plt

from tapegrad.examples import survival as model

# %%
# An event contributes its density to the likelihood, a censored time the probability of surviving it.

print(inspect.getsource(model.log_survival))
print(inspect.getsource(model.negative_log_likelihood))

# %%
# Estimates, and their standard errors by the Hessian.

covariates, times, seen = model.observe()
estimate = model.fit(covariates, times, seen)
for name, value, error in zip(model.TRUTH, estimate.parameters, estimate.errors, strict=True):
    print(f"{name:10} {value:7.3f} +- {error:.3f}")

# %%
# The bands come from the covariance of the parameters, and the Jacobian of the curve.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
model.draw(axes, estimate, covariates, times, seen)

# %%
# The parameters that the data were drawn with: shape, median scale, and the factors on the time that treatment and a
# standard deviation of age make.

known = {"shape": 1.4918, "scale": 2.7183, "treatment": 1.8221, "age": 0.7408}
found = dict(zip(known, np.exp(estimate.parameters), strict=True))
rtol = 0.2
