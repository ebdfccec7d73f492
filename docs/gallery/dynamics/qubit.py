r"""
A qubit at an avoided crossing, and its fastest flip
====================================================

Two complex amplitudes follow Schrödinger's equation with the energies

.. math:: H = \tfrac12 (z \sigma_z + x \sigma_x).

**Sweep.** If :math:`z = v t` goes through zero, the levels avoid each other by the gap :math:`x`. The qubit jumps to
the other level with the probability :math:`\exp(-\pi x^2 / 2 v)` (L. D. Landau 1932, C. Zener 1932).

**Flip.** With :math:`z = 1` and a control :math:`|x| \le M`, where :math:`M \ge 1`, the shortest time from one state to
the other is :math:`2 \pi / \sqrt{1 + M^2}`. The control changes its sign once, for :math:`M = \sqrt 2` after a third
or two thirds of the time (U. Boscain and P. Mason, *Journal of Mathematical Physics* 47, 2006, 062101).
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

# %%
# The sweep, with v = 1, by an adaptive solver with complex states. Derivatives by the gap go through the solver.

END, gaps = 40.0, np.linspace(0.25, 1.5, 6)
times = np.linspace(-END, END, 801)


def upper(gap, t):
    half = 0.5 * np.arctan2(gap, t)
    return np.stack([np.cos(half), np.sin(half)])


def jump(gap):
    def slope(t, psi):
        return -0.5j * np.stack([t * psi[0] + gap * psi[1], gap * psi[0] - t * psi[1]])

    start = upper(gap, -END) + 0j
    found = tg.integrate.solve_ivp(slope, (-END, END), start, "DOP853", times, rtol=1e-9, atol=1e-9)
    stay = np.abs(np.sum(upper(gap, times) * found.y, axis=0)) ** 2
    return 1 - stay[-1], 1 - stay


(chances, courses), slopes = tg.vmap(tg.value_and_grad(jump, has_aux=True))(gaps)

# %%
# The flip, in steps that are exact rotations. Nothing may be left of the first amplitude's real and imaginary part.

BOUND, STEPS = np.sqrt(2), 30


def states(p):
    def step(psi, x):
        field = np.sqrt(1 + x**2)
        c, s = np.cos(0.5 * field * p[0] / STEPS), 1j * np.sin(0.5 * field * p[0] / STEPS) / field
        psi = np.stack([(c - s) * psi[0] - s * x * psi[1], (c + s) * psi[1] - s * x * psi[0]])
        return psi, psi

    return tg.scan(step, np.array([1.0 + 0j, 0.0]), p[1:])[1]


rest = tg.jit(lambda p: states(p)[-1, :1].view(float))
best = tg.optimize.minimize(
    lambda p: p[0], np.append(5.0, np.linspace(0.7, -0.3, STEPS)), method="SLSQP", options={"ftol": 1e-12},
    bounds=[(0, 10)] + [(-BOUND, BOUND)] * STEPS, constraints={"type": "eq", "fun": rest, "jac": tg.jacobian(rest)},
)  # fmt: skip

figure, (sweep, flip) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
sweep.plot(times, courses.T, lw=0.8)
sweep.hlines(np.exp(-np.pi * gaps**2 / 2), 0, END, "k", "dotted")
sweep.set(xlabel="time", ylabel="upper level lost", xlim=(-5, 15))
edges = np.linspace(0, best.x[0], STEPS + 1)
flip.stairs(best.x[1:], edges, label="control x")
flip.plot(edges[1:], np.abs(states(best.x)[:, 1]) ** 2, label="share flipped")
flip.set(xlabel="time")
flip.legend(loc="lower left")

known = {"jump": 0.20787957635, "slope": -0.65307294699, "time": 3.62759872847, "switch": 20}
found = {"jump": chances[3], "slope": slopes[3], "time": best.x[0], "switch": np.argmax(best.x[1:] < 0)}
rtol = 3e-4
