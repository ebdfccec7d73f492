"""
A fit from many starts
======================

Two damped oscillations are seen as their sum. The misfit has a local minimum for nearly each pair of frequencies, so
the fit begins from four hundred starts, and the best minimum counts. Workers take blocks of starts: here two threads,
in ``tapegrad example cluster`` the workers of a Dask cluster, or processes. Results do not depend on the workers.
"""

import inspect
from concurrent.futures import ThreadPoolExecutor

from matplotlib import pyplot as plt

from tapegrad.examples import cluster as model

# %%
# The signal, and the fit from all starts.

print(inspect.getsource(model.signal))
print(inspect.getsource(model.minimise))

# %%
# The best minimum, with standard errors by the Hessian.

times, seen = model.observe()
with ThreadPoolExecutor(2) as workers:
    best = model.minimise(workers, times, seen)
estimate = model.estimate_of(best.x, times, seen)
for name, value, error in zip(model.TRUTH, estimate.parameters, estimate.errors, strict=True):
    print(f"{name:17} {value:6.3f} +- {error:.3f}")

# %%
# The signal and its two parts.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
model.draw(axes, estimate, times, seen)

# %%
# The frequencies and amplitudes that the data were drawn with.

known = {"frequencies": [2.3, 3.1], "amplitudes": [1.0, 0.6]}
found = {"frequencies": estimate.parameters[[1, 4]], "amplitudes": estimate.parameters[[0, 3]]}
rtol = 0.15
