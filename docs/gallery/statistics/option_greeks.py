r"""
Greeks of an option
===================

By Black and Scholes a right to buy a share of price :math:`S` for :math:`K` in :math:`T` years costs

.. math:: C = S\,\Phi(d_1) - K e^{-rT} \Phi(d_2), \qquad
          d_{1,2} = \frac{\log(S/K) + (r \pm \sigma^2/2) T}{\sigma \sqrt T}.

A trader hedges by its derivatives: delta :math:`\partial C/\partial S`, gamma :math:`\partial^2 C/\partial S^2`, vega
:math:`\partial C/\partial\sigma`, theta :math:`-\partial C/\partial T` and rho :math:`\partial C/\partial r`. Each has
a formula of its own in the textbooks. The example is that of Hull, *Options, Futures, and Other Derivatives*, in the
chapter "The Greek Letters": 49 dollars a share, 50 to be paid in 20 weeks, interest 5 %, volatility 20 %.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg
from tapegrad.special import ndtr


def call(share, volatility, years, rate, strike=50.0):
    spread = volatility * np.sqrt(years)
    d = (np.log(share / strike) + (rate + volatility**2 / 2) * years) / spread
    return share * ndtr(d) - strike * np.exp(-rate * years) * ndtr(d - spread)


# %%
# One gradient gives four of the Greeks, one more derivative gamma.

price, (delta, vega, theta, rho) = tg.value_and_grad(tg.jit(call), argnums=(0, 1, 2, 3))(
    49.0, 0.2, 20 / 52, 0.05
)
gamma = tg.grad(tg.grad(call))(49.0, 0.2, 20 / 52, 0.05)
print(
    f"price {price:.3f}: delta {delta:.4f}, gamma {gamma:.4f}, vega {vega:.3f}, theta {-theta:.3f}, rho {rho:.3f}"
)

# %%
# ``vmap`` computes gamma on a whole grid of prices and times. Near the strike it grows without bound as the day of
# payment comes: then the hedge has to be changed most often.

shares, weeks = np.linspace(40.0, 60.0, 241), np.linspace(0.25, 20.0, 200)
grid = [each.ravel() for each in np.meshgrid(shares, weeks / 52)]
gammas = tg.vmap(tg.grad(tg.grad(call)), in_axes=(0, None, 0, None))(grid[0], 0.2, grid[1], 0.05)

# %%
# The volatility that a price implies is the root of ``call(...) - price``. Newton's step divides by vega.

implied, vega_of = np.array(0.5), tg.value_and_grad(tg.jit(call), argnums=1)
for _ in range(6):
    value, slope = vega_of(49.0, implied, 20 / 52, 0.05)
    implied = implied - (value - 2.40) / slope
print(f"a price of 2.40 implies a volatility of {100 * implied:.2f} %")

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
levels = [0, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.14, 0.18, 0.25, 0.5]
surface = axes.contourf(shares, weeks, gammas.reshape(len(weeks), -1), levels, cmap="viridis", extend="max")
figure.colorbar(surface, label=r"gamma $\partial^2 C / \partial S^2$ (1/dollar)")
axes.plot(49, 20, "o", color="white", mec="black", clip_on=False, zorder=3)
axes.text(48.5, 19.6, "Hull's example", color="white", ha="right")
axes.axvline(50, color="white", lw=1, ls=":")
axes.set(xlabel="price of the share (dollars)", ylabel="weeks until the option expires")
axes.invert_yaxis()

# %%
# Hull's figures: theta is that of a year, vega and rho those of a whole unit of volatility and of interest.

known = {"price": 2.40, "others": [-4.31, 12.1, 8.91], "share": [0.522, 0.066], "implied": 0.20}
found = {"price": price, "others": [-theta, vega, rho], "share": [delta, gamma], "implied": implied}
rtol = 0.01
