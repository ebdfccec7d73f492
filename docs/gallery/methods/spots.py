"""
Ten thousand images at once
===========================

Each image of 9 by 9 pixels holds a spot of light, as in localisation microscopy: five parameters, 81 values, normal
noise. All fits run at once in compiled code, in lanes of vector registers. Their errors are compared with the
Cramér-Rao bound, the least standard deviation of an unbiased estimate (Ober, Ram and Ward, *Biophysical Journal* 86,
2004).

The model is installed with the library: ``tapegrad example spots --count 1000000`` fits a million.
"""

import inspect

import numpy as np
from matplotlib import pyplot as plt

from tapegrad.examples import spots as model

# %%
# The image of one spot, and the fit of all.

print(inspect.getsource(model.spot))
print(inspect.getsource(model.fit))

# %%
# A fit that fails has a status and leaves the others alone.

(images,) = model.observe()
fits = model.fit(images)
print("\n".join(model.report(fits, images)))

# %%
# Some images beside their fits, and the errors of all parameters in units of their bounds.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
model.draw(axes, fits, images)

# %%
# Maximum likelihood attains the bound: all fits converge, and the ratio of error and bound is one.

errors, _ = model.errors_and_bounds(fits)
known = {"converged": 10_000, "error / bound": [1.0, 1.0, 1.0, 1.0, 1.0]}
found = {"converged": fits.success.sum(), "error / bound": np.std(errors, axis=0)}
rtol = 0.05
