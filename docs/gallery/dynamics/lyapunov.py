r"""
Lyapunov exponents of Lorenz's attractor
========================================

Two states of Lorenz's equations that are close together drift apart as :math:`e^{\lambda t}`. There are three
exponents, one for each direction: averages of how a step of the flow stretches a frame of tangent vectors, which Gram
and Schmidt's method makes orthogonal again after each step (Benettin and others 1980). Viswanath (*Physica D* 190
(2004) 115) and Sprott (*Chaos and Time-Series Analysis*, 2003) give 0.9056, 0 and -14.5723 for
:math:`\sigma = 10, \rho = 28, \beta = 8/3`, where Kaplan and Yorke's dimension of the attractor is 2.062.
"""

import numba
import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

STEP = 0.01

# %%
# One step of Runge and Kutta's method, and its Jacobian, are compiled, so that a function of Numba's calls them: no
# Python runs in the 300,000 steps below.


def slope(u):
    x, y, z = u[0], u[1], u[2]
    return tg.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


def step(u):
    k1 = slope(u)
    k2 = slope(u + STEP / 2 * k1)
    k3 = slope(u + STEP / 2 * k2)
    return u + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + slope(u + STEP * k3))


compiled = tg.compile(step, np.ones(3))
stretching = tg.compile(tg.jacobian(step), np.ones(3))


@numba.njit
def follow(step, stretching, u, count):
    path, growth = np.empty((count, 3)), np.empty((count, 3))
    frame, jacobian = np.eye(3), np.empty((3, 3))
    for n in range(count):
        stretching(u, jacobian)
        step(u, path[n])
        u = path[n]
        orthogonal, triangle = np.linalg.qr(jacobian @ frame)
        frame = np.ascontiguousarray(orthogonal)
        growth[n] = np.log(np.abs(np.diag(triangle)))
    return path, growth


path, growth = follow(compiled, stretching, np.array([1.0, 2.0, 20.0]), 300_000)
path, growth = path[1000:], growth[1000:]  # once the path is on the attractor
exponents = growth.mean(axis=0) / STEP
dimension = 2 + exponents[:2].sum() / -exponents[2]
print("exponents:", exponents, "dimension:", dimension)
# %%
# The attractor, coloured by how fast neighbours part, averaged over half a unit of time: in red places they part.

window = 50
rate = np.convolve(growth[:, 0], np.ones(window) / window / STEP, "same")[:20000]
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), width_ratios=[1.3, 1], layout="constrained")
points = left.scatter(path[:20000, 0], path[:20000, 2], c=rate, s=1, cmap="coolwarm", vmin=-6, vmax=6)
figure.colorbar(points, ax=left, label="local exponent (1 / time)")
left.set(xlabel="x", ylabel="z")
time = STEP * np.arange(1, len(growth) + 1)
for k in range(2):
    right.semilogx(time[::50], (np.cumsum(growth[:, k]) / time)[::50], label=f"$\\lambda_{k + 1}$")
    right.axhline((0.9056, 0.0)[k], color="k", lw=0.7, ls=":")
right.set(xlabel="time", ylabel="average so far", ylim=(-0.6, 1.8), xlim=(1, None))
right.legend(frameon=False)

known = {"first": 0.9056, "third": -14.5723, "dimension": 2.062}
found = {"first": exponents[0], "third": exponents[2], "dimension": dimension}
rtol = 0.01
