r"""
An impedance and its uncertainty
================================

The *Guide to the expression of uncertainty in measurement* (JCGM 100:2008) has an example, H.2, in which three results
are computed from three values that were measured together: of a circuit element the voltage :math:`V`, the current
:math:`I` and the phase :math:`\phi` between them give resistance, reactance and impedance,

.. math:: R = \frac{V}{I} \cos\phi, \qquad X = \frac{V}{I} \sin\phi, \qquad Z = \frac{V}{I}.

Five sets of readings are correlated, and so are the results.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

voltage = np.array([5.007, 4.994, 5.005, 4.990, 4.999])  # V
current = np.array([19.663, 19.639, 19.640, 19.685, 19.678]) * 1e-3  # A
phase = np.array([1.0456, 1.0438, 1.0468, 1.0428, 1.0433])  # rad

# %%
# The means of the readings and the covariance of these means go through the function; nothing is differentiated by
# hand.

readings = np.array([voltage, current, phase])


def impedance(x):
    voltage, current, phase = x
    ratio = voltage / current
    return {"R": ratio * np.cos(phase), "X": ratio * np.sin(phase), "Z": ratio}


result = tg.propagate(impedance, readings.mean(axis=1), np.cov(readings) / 5)
for name in ("R", "X", "Z"):
    print(f"{name} = {result.values[name]:.3f} +- {result.std[name]:.3f} ohm")

# %%
# Correlations between results matter as soon as something is computed from two of them. The covariance has them: that
# of resistance and reactance is negative, for the phase turns one into the other.

std = np.sqrt(np.diag(result.covariance))
correlation = result.covariance / np.outer(std, std)
print(correlation.round(3))

# %%
# The ellipse of one standard deviation of resistance and reactance, and the single sets of readings: their mean is
# inside, and they lie along its long axis.

figure, axes = plt.subplots(figsize=(7.0, 4.4), layout="constrained")
turn = np.linspace(0, 2 * np.pi, 200)
root = np.linalg.cholesky(result.covariance[:2, :2])
center = np.array([result.values["R"], result.values["X"]])
ellipse = center[:, None] + root @ np.array([np.cos(turn), np.sin(turn)])
axes.plot(*ellipse, color="tab:orange", label="one standard deviation of the mean")
axes.plot(*center, "+", color="tab:orange", ms=12)
single = impedance(readings)
axes.plot(single["R"], single["X"], "o", color="tab:blue", label="single sets of readings")
axes.set(xlabel="resistance R in ohm", ylabel="reactance X in ohm")
axes.legend(frameon=False)

# %%
# The guide's results, in ohm, from its table H.4. It prints 0.295 for 0.2956.

known = {
    "X": 219.847,
    "Z": 254.260,
    "R": 127.732,
    "deviations": [0.071, 0.2956, 0.236],
    "correlation": -0.588,
}
found = {**result.values, "deviations": std, "correlation": correlation[0, 1]}
rtol = 2e-3
