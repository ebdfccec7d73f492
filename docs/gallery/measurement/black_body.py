"""
Radiation of a black body
=========================

The spectrum of a black body is Planck's. Its maximum moves with temperature by Wien's law, and its integral grows by
that of Stefan and Boltzmann: both constants follow from derivatives. The functions are written with `math` and SciPy
alone, and stay as they are: inside of `tapegrad.in_place_of_scipy` they take Tensors.
"""

import math

import numpy as np
from matplotlib import pyplot as plt
from scipy.constants import c, h, k
from scipy.integrate import quad
from scipy.optimize import brentq

import tapegrad as tg

FIRST, SECOND = 2 * h * c**2 * 1e24, h * c / k * 1e6  # constants of radiation, for wavelengths in micrometres


def radiance(wavelength, temperature):
    """Return watts per square metre, steradian and micrometre."""
    x = SECOND / (wavelength * temperature)
    return FIRST / wavelength**5 * math.exp(-x) / -math.expm1(-x)


def peak(temperature):
    """Return the wavelength of the maximum: where the slope of the logarithm is zero."""

    def slope(wavelength):
        x = SECOND / (wavelength * temperature)
        return x / -math.expm1(-x) - 5

    return brentq(slope, 0.05, 50.0, xtol=1e-13)


def exitance(temperature):
    """Return watts per square metre."""
    return math.pi * quad(lambda wavelength: radiance(wavelength, temperature), 0, np.inf, epsrel=1e-10)[0]


# %%
# `brentq` and `quad` call functions that close over the temperature. Inside, the root is differentiated by the implicit
# function theorem, and the integral under its sign. What is recorded there is replayed outside.

with tg.in_place_of_scipy():
    by_temperature = tg.jit(lambda t: (peak(t), exitance(t)))
    wavelength_slope, exitance_slope = tg.jvp(by_temperature, (5772.0,), (1.0,))[1]

sun = peak(5772.0), exitance(5772.0)
print(
    f"The Sun: {sun[0]:.4f} um, {wavelength_slope:.3e} um/K; {sun[1]:.4e} W/m2, {exitance_slope:.4e} W/m2/K"
)

# %%
# Spectra, and the line on which their maxima lie.

wavelengths = np.linspace(0.15, 2.5, 200)
temperatures = np.linspace(3500, 6500, 40)
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for temperature in (4000.0, 5000.0, 5772.0):
    spectrum = [radiance(wavelength, temperature) * 1e-3 for wavelength in wavelengths]
    axes.plot(wavelengths, spectrum, label=f"{temperature:.0f} K")
maxima = [peak(temperature) for temperature in temperatures]
axes.plot(maxima, [radiance(*pair) * 1e-3 for pair in zip(maxima, temperatures, strict=True)], "k:", lw=1)
axes.set(xlabel="wavelength in um", ylabel="radiance in kW/m2/sr/um", ylim=(0, 30))
axes.legend()
plt.show()

# %%
# Wien's constant in metres and kelvins, and that of Stefan and Boltzmann (CODATA 2022, both are exact).

known = {"Wien": 2.897771955e-3, "Stefan-Boltzmann": 5.670374419e-8}
found = {"Wien": -wavelength_slope * 5772.0**2 * 1e-6, "Stefan-Boltzmann": exitance_slope / (4 * 5772.0**3)}
rtol = 1e-7
