"""
A Gaussian process by its marginal likelihood
=============================================

Sixty noisy values of an unknown smooth function are given. The amplitude and the length of its covariance, and the
noise, maximise the marginal likelihood (Rasmussen and Williams, *Gaussian Processes for Machine Learning*, 2006,
algorithm 2.1): a Cholesky factor, a triangular solve and a log determinant, all differentiated twice.

The model is installed with the library: ``tapegrad example gaussian_process`` runs it from a shell.
"""

import inspect

import numpy as np
from matplotlib import pyplot as plt

from tapegrad.examples import gaussian_process as model

# %%
# The likelihood is written with NumPy's functions, and recorded once.

print(inspect.getsource(model.covariance))
print(inspect.getsource(model.negative_log_likelihood))

# %%
# The fit takes exact gradients and Hessians. The inverse of the last Hessian is the covariance of the estimates.

x, y = model.observe()
estimate = model.fit(x, y)
for name, value, error in zip(model.TRUTH, estimate.parameters, estimate.errors, strict=True):
    print(f"{name:14} {value:7.3f} +- {error:.3f}")

# %%
# Mean and deviation of the function between the observations, and beyond them.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
model.draw(axes, estimate, x, y)

# %%
# The data were drawn with these values. Sixty observations determine the noise within 10 %, the others within 30 %.

known = {"amplitude": 1.0, "length": 1.0, "noise": 0.2}
found = dict(zip(known, np.exp(estimate.parameters), strict=True))
rtol = 0.3
