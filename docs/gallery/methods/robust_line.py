"""
A line through outliers
=======================

A hundred points lie on a line, up to noise, but for a fifth of them, which know nothing of it. Least squares weigh all
points alike. A mixture of two distributions tells them apart, and gives for each point the probability that it is an
outlier (Hogg, Bovy and Lang, *Data analysis recipes: Fitting a model to data*, 2010, section 3).

The model is installed with the library: ``tapegrad example robust_line`` runs it from a shell.
"""

import inspect

import numpy as np
from matplotlib import pyplot as plt

from tapegrad.examples import robust_line as model

# %%
# Logarithms of densities are added by ``logsumexp``, so that no density underflows.

print(inspect.getsource(model.log_densities))
print(inspect.getsource(model.negative_log_likelihood))

# %%
# Estimates, and their standard errors by the Hessian.

x, y = model.observe()
estimate = model.fit(x, y)
for name, value, error in zip(model.TRUTH, estimate.parameters, estimate.errors, strict=True):
    print(f"{name:20} {value:7.3f} +- {error:.3f}")

# %%
# The colour of a point is its probability of being an outlier.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
model.draw(axes, estimate, x, y)

# %%
# The line that the points were drawn from, the noise along it, and the mean of the outliers.

known = {"intercept": 1.0, "slope": 0.5, "noise": 0.3, "mean of outliers": 7.0}
intercept, slope, log_noise, mean = estimate.parameters[:4]
found = {"intercept": intercept, "slope": slope, "noise": np.exp(log_noise), "mean of outliers": mean}
rtol = 0.2
