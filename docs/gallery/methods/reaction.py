"""
Rate constants of a reaction
============================

A catalyst binds a substance and turns it into another one, which decays (Michaelis and Menten's mechanism). Two of four
concentrations are measured over time, with noise of 0.01. The rates are parameters of a differential equation. SciPy's
LSODA solves it together with its sensitivities (Hairer, Nørsett and Wanner, *Solving Ordinary Differential Equations
I*, 1993, section I.14).

The model is installed with the library: ``tapegrad example reaction`` runs it from a shell.
"""

import inspect

import numpy as np
from matplotlib import pyplot as plt

from tapegrad.examples import reaction as model

# %%
# The right-hand side is compiled with the equation of its sensitivities; both are made of the same four lines.

print(inspect.getsource(model.rates))
print(inspect.getsource(model.with_sensitivities))

# %%
# A solve is one op of the recorded residuals: its derivatives are the sensitivities.

times, seen = model.observe()
estimate = model.fit(times, seen)
for name, value, error in zip(model.TRUTH, estimate.parameters, estimate.errors, strict=True):
    print(f"{name:14} {value:7.3f} +- {error:.3f}")

# %%
# Early times determine how fast the catalyst binds, late ones the rest.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
model.draw(axes, estimate, times, seen)

# %%
# The rates that the data were drawn with.

known = {"binding": 30.0, "release": 5.0, "turnover": 4.0, "decay": 0.3}
found = dict(zip(known, np.exp(estimate.parameters), strict=True))
rtol = 0.2
