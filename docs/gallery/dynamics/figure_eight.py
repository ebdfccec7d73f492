r"""
Three bodies on a figure of eight
=================================

Three equal masses can chase each other along one curve (Moore 1993; Chenciner and Montgomery 2000). Among all curves
of a period :math:`T` on which the bodies follow each other by a third of a period, the one that minimises the action

.. math:: A = \int_0^T \Big( \sum_i \tfrac12 |\dot x_i|^2 + \sum_{i<j} \frac{1}{|x_i - x_j|} \Big) dt

is an orbit. Chenciner and Montgomery print Simó's numbers: :math:`T = 6.32591398`, and as one body passes the centre
with the velocity (-0.93240737, -0.86473146), another one is at (0.97000436, -0.24308753).
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

PERIOD, POINTS = 6.32591398, 96
TERMS = np.arange(1, 31)
TERMS = TERMS[TERMS % 3 != 0]  # the three bodies' centre of mass rests

# %%
# The curve is a Fourier series: with the symmetry of the eight, of sines of odd frequencies in one coordinate, and of
# even ones in the other. The action is a mean over times, which converges faster than any power of their number.

phase = 2 * np.pi * np.outer(np.arange(POINTS) / POINTS, TERMS)
sines, cosines = np.sin(phase), np.cos(phase)
speed = 2 * np.pi * TERMS / PERIOD
parity = np.array([TERMS % 2 == 1, TERMS % 2 == 0])


def action(c):
    c = c * parity
    curve, velocity = sines @ c.T, cosines @ (c * speed).T
    third = POINTS // 3
    apart = curve - tg.concatenate([curve[third:], curve[:third]])
    kinetic = 1.5 * tg.mean(tg.sum(velocity**2, axis=1))
    return PERIOD * (kinetic + 3 * tg.mean(1 / tg.sqrt(tg.sum(apart**2, axis=1))))


start = np.zeros((2, len(TERMS)))
start[0, 0], start[1, 1] = 1.0, 0.4
fit = tg.optimize.minimize(action, start, method="trust-krylov", options={"gtol": 1e-6})
curve, velocity = sines @ (fit.x * parity).T, cosines @ (fit.x * parity * speed).T
print(f"{fit.message} {fit.nit} steps, {fit.nhev} products with the Hessian, action {fit.fun:.6f}")

# %%
# Does it obey Newton's law? The acceleration by the series is compared with the gradient of the potential, by ``grad``.


def potential(x):
    return -sum(1 / tg.sqrt(tg.sum((x[i] - x[j]) ** 2)) for i, j in ((0, 1), (0, 2), (1, 2)))


bodies = np.stack([np.roll(curve, -k * POINTS // 3, axis=0) for k in range(3)], axis=1)
acceleration = -sines @ (fit.x * parity * speed**2).T
force = -tg.vmap(tg.grad(tg.jit(potential)))(bodies)[:, 0]
print("largest violation of Newton's law:", np.abs(acceleration - force).max())

figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
path = np.concatenate([curve, curve[:1]])
axes.plot(*path.T, color="0.8", lw=1)
now, trail = 8, np.arange(24)
for k, colour in enumerate(("tab:blue", "tab:orange", "tab:green")):
    places = bodies[now - trail, k]
    axes.scatter(*places.T, c=colour, s=90 * 0.82**trail, alpha=0.9 * 0.88**trail, lw=0)
    axes.quiver(*places[0], *force[(now + k * POINTS // 3) % POINTS], color=colour, width=0.004, scale=14)
axes.set(
    xlabel="x", ylabel="y", aspect="equal", title="three bodies, where they were, and the forces on them"
)

# %%
# At phase zero the first body passes the centre, along the curve in the other sense than Simó's.

known = {"position": [0.97000436, -0.24308753], "velocity": [0.93240737, 0.86473146]}
found = {"position": curve[POINTS // 3], "velocity": velocity[0]}
rtol = 1e-6
