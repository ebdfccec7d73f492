"""
Vapour pressure of a fluid
==========================

Liquid and vapour of a fluid are in equilibrium where pressures and chemical potentials are equal: three equations,
whose solution depends on temperature. The implicit function theorem gives the slope of the vapour pressure without a
derivative of the solver. For van der Waals's equation, *p = 8T/(3v - 1) - 3/v²* in units of the critical point,
Clapeyron's law has the same slope from the entropies.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg


def pressure(v, temperature):
    return 8 * temperature / (3 * v - 1) - 3 / v**2


# %%
# The unknowns are the volumes of both phases and the pressure. The area below an isotherm between the volumes is that
# of the rectangle of the pressure (Maxwell's construction).


def equilibrium(x, temperature):
    liquid, vapour, p = x
    area = 8 / 3 * temperature * np.log((3 * vapour - 1) / (3 * liquid - 1)) + 3 / vapour - 3 / liquid
    return tg.stack(
        [pressure(liquid, temperature) - p, pressure(vapour, temperature) - p, area - p * (vapour - liquid)]
    )


@tg.jit
def phases(temperature):
    return tg.optimize.root(equilibrium, [0.6, 2.4, 0.65], args=(temperature,), method="newton").x


# %%
# Newton's method is a loop of the recording. Its result has derivatives, of which the second is one more transform.

liquid, vapour, p = phases(0.9)
slope = tg.jvp(phases, (0.9,), (1.0,))[1][2]
curvature = tg.grad(tg.grad(lambda t: phases(t)[2]))(0.9)
by_clapeyron = 8 / 3 * np.log((3 * vapour - 1) / (3 * liquid - 1)) / (vapour - liquid)
print(f"p = {p:.4f}, dp/dT = {slope:.6f}, by Clapeyron's law {by_clapeyron:.6f}, d2p/dT2 = {curvature:.3f}")

# %%
# All temperatures at once: each instance of `vmap` takes steps of its own.

temperatures = np.linspace(0.84, 0.97, 60)
states = tg.vmap(phases)(temperatures)
slopes = tg.vmap(tg.jacobian(phases))(temperatures)[:, 2]

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
v = np.linspace(0.5, 4.5, 300)
for temperature in (0.85, 0.9, 0.95):
    state = phases(temperature)
    left.plot(v, pressure(v, temperature), label=f"T = {temperature}")
    left.plot(state[:2], state[[2, 2]], "k.-", lw=0.8)
left.plot(np.r_[states[:, 0], states[::-1, 1]], np.r_[states[:, 2], states[::-1, 2]], "k:", lw=1)
left.set(xlabel="volume", ylabel="pressure", ylim=(0.2, 1.1))
left.legend()
right.plot(temperatures, slopes)
right.set(xlabel="temperature", ylabel="slope of the vapour pressure")
plt.show()

# %%
# Pressure and slope at nine tenths of the critical temperature, by the closed solution with a parameter (Lekner,
# *American Journal of Physics* 50, 1982).

known = {"pressure": 0.64700, "slope": 3.07078}
found = {"pressure": p, "slope": slope}
rtol = 1e-5
