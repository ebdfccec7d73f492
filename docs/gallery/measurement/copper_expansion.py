r"""
Thermal expansion of copper
===========================

Copper expands the more for a kelvin the warmer it is. Hahn (NBS, 1979) measured 236 coefficients of thermal expansion
between 14 and 851 K, which NIST's Statistical Reference Datasets fit by a quotient of cubic polynomials,

.. math:: \alpha(T) = \frac{b_1 + b_2 T + b_3 T^2 + b_4 T^3}{1 + b_5 T + b_6 T^2 + b_7 T^3},

whose certified parameters and standard deviations hold 11 digits (https://www.itl.nist.gov/div898/strd/, Hahn1). The
parameters span seven orders of magnitude and are strongly correlated: a hard problem for derivatives by differences.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg
from tapegrad.examples import nist

problem = nist.load("Hahn1")
temperature, measured = problem.x, problem.response


def expansion(b, t):
    return (b[0] + t * (b[1] + t * (b[2] + t * b[3]))) / (1 + t * (b[4] + t * (b[5] + t * b[6])))


# %%
# Levenberg and Marquardt's method in compiled code, from the farther one of NIST's two starts.

fit = tg.optimize.least_squares(
    lambda b: expansion(b, temperature) - measured, problem.starts[0], method="native", xtol=1e-14, ftol=1e-14
)
freedom = len(measured) - len(fit.x)
scale = np.sqrt(2 * fit.cost / freedom)
jacobian = tg.jacobian(expansion)(fit.x, temperature)
triangle = np.linalg.qr(jacobian / np.linalg.norm(jacobian, axis=0), mode="r")
inverse = np.linalg.inv(triangle) / np.linalg.norm(jacobian, axis=0)[:, np.newaxis]
errors = scale * np.linalg.norm(inverse, axis=1)
for k, (value, error) in enumerate(zip(fit.x, errors, strict=True), 1):
    print(f"b{k} = {value: .10e} +- {error:.4e}")

# %%
# The band of the curve by its Jacobian with respect to the parameters, and the slope by the temperature, by a second
# derivative of the same function.

t = np.linspace(14, 851, 500)
by_parameters = tg.jacobian(expansion)(fit.x, t)
band = 2 * scale * np.linalg.norm(by_parameters @ inverse, axis=1)
slope = tg.vmap(tg.grad(tg.jit(expansion), argnums=1), in_axes=(None, 0))(fit.x, t)

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(7, 5), height_ratios=[2.2, 1], sharex=True, layout="constrained"
)
top.plot(temperature, measured, "o", ms=3, mfc="none", color="grey", label="Hahn 1979")
top.plot(t, expansion(fit.x, t), color="tab:orange", lw=2, label="rational function")
top.set(ylabel="expansion (10$^{-6}$ / K)")
top.legend(frameon=False, loc="lower right")
inset = top.inset_axes([0.36, 0.2, 0.32, 0.45])
inset.plot(t, 1000 * slope, color="tab:blue")
inset.set(xlabel="T (K)", title=r"$d\alpha/dT$ (10$^{-9}$ / K²)")
bottom.fill_between(t, -band, band, color="tab:orange", alpha=0.4, lw=0, label="95 % band of the curve")
bottom.plot(temperature, measured - expansion(fit.x, temperature), "o", ms=2.5, color="grey")
bottom.set(xlabel="temperature T (K)", ylabel="residual", ylim=(-0.3, 0.45))
bottom.legend(frameon=False, loc="upper left")

# %%
# NIST's certified values, and the residual standard deviation.

known = {"b1": 1.0776351733, "b7": -1.2314450199e-7, "b7 error": 1.3027335327e-8, "deviation": 0.0818038522}
found = {"b1": fit.x[0], "b7": fit.x[6], "b7 error": errors[6], "deviation": scale}
rtol = 1e-6
