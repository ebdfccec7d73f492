r"""
Enzyme kinetics
===============

An enzyme that is saturated with substrate works at its maximal rate :math:`V_m`. Michaelis and Menten's law

.. math:: v(c) = \frac{V_m c}{K + c}

is fitted to reaction rates of cells with and without the antibiotic puromycin. The data are Treloar's (1974), printed
by Bates and Watts, *Nonlinear Regression Analysis and Its Applications* (1988), tables A1.3 and 2.1, and known as
``Puromycin`` in R. Bates and Watts estimate :math:`V_m = 212.7`, :math:`K = 0.06412` for the treated cells; R's
``nls`` estimates 160.28 and 0.04771 for the untreated ones.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

concentrations = np.array([0.02, 0.02, 0.06, 0.06, 0.11, 0.11, 0.22, 0.22, 0.56, 0.56, 1.1, 1.1])
rates = {
    "treated": np.array([76.0, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200]),
    "untreated": np.array([67.0, 51, 84, 86, 98, 115, 131, 124, 144, 158, 160]),
}

# %%
# ``curve_fit`` takes SciPy's arguments. Its derivatives are exact, and no Python runs between two evaluations.


def velocity(c, maximum, half):
    return maximum * c / (half + c)


fits = {}
for state, measured in rates.items():
    c = concentrations[: len(measured)]
    fits[state] = tg.optimize.curve_fit(velocity, c, measured, p0=[150.0, 0.05])
    (maximum, half), errors = fits[state].x, np.sqrt(np.diag(fits[state].cov))
    print(f"{state:9}  Vm = {maximum:6.2f} +- {errors[0]:.2f}   K = {half:.5f} +- {errors[1]:.5f} ppm")

# %%
# The sum of squares over a grid of 40,000 pairs of parameters is one call of ``vmap``. Its contour at
# :math:`S_{min} (1 + \frac{2}{n-2} F_{0.95})` bounds the 95 % region of likelihood, which is curved: the ellipse
# by the covariance matrix is only its approximation.

c, measured = concentrations, rates["treated"]
squares = tg.vmap(tg.jit(lambda p: tg.sum((velocity(c, p[0], p[1]) - measured) ** 2)))
grid_v, grid_k = np.meshgrid(np.linspace(185, 245, 200), np.linspace(0.03, 0.11, 200))
surface = squares(np.column_stack([grid_v.ravel(), grid_k.ravel()])).reshape(grid_v.shape)
best, quantile = squares(fits["treated"].x[np.newaxis])[0], 4.1028  # F(0.95; 2, 10)
level = best * (1 + 2 / (len(c) - 2) * quantile)
angle = np.linspace(0, 2 * np.pi, 200)
circle = np.sqrt(2 * quantile) * np.array([np.cos(angle), np.sin(angle)])
ellipse = fits["treated"].x[:, np.newaxis] + np.linalg.cholesky(fits["treated"].cov) @ circle

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
at = np.linspace(0.0, 1.15, 300)
for (state, fit), colour in zip(fits.items(), ("tab:blue", "tab:orange"), strict=True):
    left.plot(concentrations[: len(rates[state])], rates[state], "o", ms=5, color=colour, alpha=0.7)
    left.plot(at, velocity(at, *fit.x), color=colour, label=state)
    left.axhline(fit.x[0], color=colour, lw=0.8, ls=":")
left.set(xlabel="substrate (ppm)", ylabel="rate (counts/min²)", xlim=(0, 1.15), ylim=(0, 225))
left.legend(loc="lower right", frameon=False)
right.contourf(grid_v, grid_k, np.sqrt(surface / best), 20, cmap="Blues_r")
right.contour(grid_v, grid_k, surface, [level], colors="k")
right.plot(*ellipse, "--", color="tab:red", lw=1.2)
right.plot(*fits["treated"].x, "k+", ms=10)
right.set(xlabel="$V_m$ (counts/min²)", ylabel="$K$ (ppm)", title="treated: 95 % region, and its ellipse")

# %%
# The published estimates.

known = {"treated": [212.7, 0.06412], "untreated": [160.28, 0.04771]}
found = {state: fit.x for state, fit in fits.items()}
rtol = 2e-4
