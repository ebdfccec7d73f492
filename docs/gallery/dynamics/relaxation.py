r"""
Relaxation oscillations
=======================

Van der Pol's oscillator,

.. math:: \ddot y = \mu (1 - y^2) \dot y - y,

is stiff for large :math:`\mu`: it creeps for a time proportional to :math:`\mu`, and jumps in one of :math:`1 / \mu`.
Its period has the expansion (J. Grasman, *Asymptotic Methods for Relaxation Oscillations and Applications*, 1987)

.. math:: T = (3 - 2 \ln 2) \mu + 7.01432\, \mu^{-1/3} - \frac{2}{3} \frac{\ln \mu}{\mu} - 1.3233\, \mu^{-1} + \ldots

Here the period is the time between two events of a stiff solver, and its derivative by :math:`\mu` comes with it.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

# %%
# An explicit method would take millions of steps. Radau's takes the Jacobian from derivatives of the function, and some
# thousand steps. Half a period lies between two passages through zero, and the second ends the integration.


def oscillator(t, y, mu):
    return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]


def passage(t, y, mu):
    return y[0]


passage.terminal = 2


def period(mu):
    solution = tg.integrate.solve_ivp(
        oscillator, (0, 5e3), [2.0, 0.0], "Radau", events=passage, args=(mu,), rtol=1e-8, atol=1e-10
    )
    first, second = solution.t_events[0]
    return 2 * (second - first), (solution.t, solution.y)


def expansion(mu):
    return (3 - 2 * np.log(2)) * mu + 7.01432 * mu ** (-1 / 3) - 2 / 3 * np.log(mu) / mu - 1.3233 / mu


(length, (times, states)), slope = tg.value_and_grad(period, has_aux=True)(1000.0)
expected, expected_slope = tg.value_and_grad(expansion)(1000.0)
print(f"period                {length:.5f}, by the expansion {expected:.5f}")
print(f"its derivative by mu  {slope:.5f}, by the expansion {expected_slope:.5f}")

# %%
# The sizes of the steps show where they go: most of them to the jumps, which last a thousandth.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(times, states[0], ".-", ms=3, lw=0.8)
left.set(xlabel="time", ylabel="y", title=f"{len(times)} steps")
right.semilogy(times[1:], np.diff(times), ".", ms=3, color="tab:orange")
right.set(xlabel="time", ylabel="size of the step")

known = {"period": 1614.40114, "slope": 1.613477}  # by the expansion
found = {"period": length, "slope": slope}
rtol = 2e-6
