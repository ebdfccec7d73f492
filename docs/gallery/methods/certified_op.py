r"""
Certify a derivative
====================

Kepler's equation :math:`M = E - e \sin E` gives the eccentric anomaly E of a planet at a time M. Solved by Newton's
method in plain NumPy it is a custom op, whose derivatives are those of the implicit function:
:math:`\partial E / \partial M = 1 / (1 - e \cos E)` and :math:`\partial E / \partial e = \sin E / (1 - e \cos E)`. Here
one of them is written down wrong. A certificate finds it where it is used, at the arguments of that call.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg


def solve(mean, e):
    found = mean + e * np.sin(mean)
    for _ in range(20):
        found = found - (found - e * np.sin(found) - mean) / (1 - e * np.cos(found))
    return found


def pull(bar, anomaly, mean, e):
    return bar / (1 - e * np.cos(anomaly)), np.sum(bar * np.sin(anomaly))


def push(dots, anomaly, mean, e):
    return (dots[0] + np.sin(anomaly) * dots[1]) / (1 - e * np.cos(anomaly))


kepler = tg.custom_op("kepler", solve, pull, push)

# %%
# The value is right: Meeus (*Astronomical Algorithms*, 1991, example 29.a) has 5.554589 degrees for an eccentricity of
# 0.1 and a mean anomaly of 5 degrees.

anomaly = kepler(np.radians(np.array([5.0])), 0.1)
known = {"anomaly in degrees": 5.554589, "eccentricity": 0.3}
rtol = 1e-4

# %%
# A fit would converge slowly, or elsewhere. Its gradient and a tangent disagree; the error names the line of the op.

times = np.linspace(0, 2 * np.pi, 40)
seen = np.cos(solve(times, 0.3))


def misfit(e):
    return np.sum((np.cos(kepler(times, e)) - seen) ** 2)


try:
    tg.grad(tg.jit(misfit, certify=True))(0.1)
except tg.CertificateError as error:
    print(error)

# %%
# With the factor all checks pass, and the gradient vanishes at the eccentricity of the data.


def pull_right(bar, anomaly, mean, e):
    slope = bar / (1 - e * np.cos(anomaly))
    return slope, np.sum(slope * np.sin(anomaly))


kepler = tg.custom_op("kepler", solve, pull_right, push)
gradient = tg.grad(tg.jit(misfit))
print(gradient.certificate(0.1))

grid = np.linspace(0.0, 0.6, 61)
slopes = [gradient(e) for e in grid]
found = dict(zip(known, (np.degrees(anomaly.data[0]), np.interp(0.0, slopes[20:], grid[20:])), strict=True))
plt.plot(grid, slopes)
plt.axvline(known["eccentricity"], color="grey", linestyle="--")
plt.xlabel("eccentricity")
plt.ylabel("gradient of the misfit")
plt.show()
