r"""
How high a rocket flies
=======================

Which thrust takes a sounding rocket highest? Goddard asked in 1919. Early thrust fights thick air; late thrust has
carried its fuel for longer. Altitude :math:`h`, speed :math:`v` and mass :math:`m` follow

.. math:: h' = v, \quad v' = \frac{T - 310\, v^2 e^{-500 (h - 1)}}{m} - \frac{1}{h^2}, \quad m' = -2 T

in units of the planet's radius, its gravity and the mass at the start, of which 0.4 is fuel. The thrust :math:`T` may
be anything up to 3.5, and the flight may take any time. The optimum is full thrust, then just as much as lets speed pay
for drag (a singular arc), then none. The highest altitude is 1.01283 (Dolan, Moré, Munson, *Benchmarking optimization
software with COPS 3.0*, 2004, problem 10).
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

steps = 400


def slopes(h, v, m, thrust):
    drag = 310 * v**2 * np.exp(-500 * (h - 1))
    return v, (thrust - drag) / m - 1 / h**2, -2 * thrust


# %%
# Values at 401 times are all variables at once, and the trapezoidal rule between two times is a constraint (direct
# collocation). Each depends on nine variables, so that derivatives are sparse: the pattern is detected.


def height(p):
    return -p["h"][-1]


def defects(p):
    half = 0.5 * p["time"] / steps
    states = p["h"], p["v"], p["m"]
    return [
        y[1:] - y[:-1] - half * (dy[1:] + dy[:-1])
        for y, dy in zip(states, slopes(*states, p["T"]), strict=True)
    ]


at = np.linspace(0, 1, steps + 1)
start = {"h": 1 + 0.01 * at, "v": 0.4 * at * (1 - at), "m": 1 - 0.4 * at, "T": 1 + 0 * at, "time": 0.2}
least = {"h": 1 + 0 * at, "v": 0 * at, "m": np.where(at == 0, 1, 0.6), "T": 0.0, "time": 0.01}
most = {"h": np.where(at == 0, 1, np.inf), "v": np.where(at == 0, 0, np.inf), "m": 1.0, "T": 3.5, "time": 1.0}
problem = tg.optimize.problem(height, start, defects, bounds=(least, most))
rows, columns = problem.jacobianstructure()
print(f"{problem}; {len(rows)} of {problem.n * problem.m} entries of the Jacobian")

flight = problem.solve(tol=1e-9)
print(f"{flight.message} in {flight.nit} iterations: altitude {-flight.fun:.5f} after {flight.x['time']:.4f}")

# %%
# A singular arc is hardly curved, so that the thrust on it rattles; its Lagrange multipliers are smooth. They are the
# costates: how much higher the rocket would end for a little more altitude, speed, or fuel on the way.

time = flight.x["time"] * at
_, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
axes[0].plot(time, flight.x["T"])
axes[0].set(xlabel="time", ylabel="thrust")
axes[1].plot(time, flight.x["v"])
axes[1].set(xlabel="time", ylabel="speed")
for multiplier, name in zip(flight.multipliers, ("altitude", "speed", "mass"), strict=True):
    axes[2].plot(time[1:], multiplier / np.max(np.abs(multiplier)), label=name)
axes[2].set(xlabel="time", ylabel="costate, scaled")
axes[2].legend()

known = {"altitude": 1.01283, "mass": 0.6, "defects": 0.0}
found = {
    "altitude": flight.x["h"][-1],
    "mass": flight.x["m"][-1],
    "defects": flight.constr_violation.round(7),
}
rtol = 1e-5
