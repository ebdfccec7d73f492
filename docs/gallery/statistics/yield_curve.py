r"""
A yield curve from swap rates
=============================

Markets quote *par rates*: the fixed rate :math:`s_T` at which a swap over :math:`T` years is worth nothing,

.. math:: s_T = \frac{1 - D(T)}{D(1) + D(2) + \dots + D(T)}, \qquad D(t) = e^{-t\, z(t)}.

The zero rates :math:`z` behind them are calibrated here as a cubic spline through unknown values. The quotes are those
of a curve of C. R. Nelson and A. F. Siegel (*Parsimonious Modeling of Yield Curves*, J. Business 60, 1987), so that the
answer is known.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

# %%
# The quotes, and the curve that they come from.

years = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0])
payments = np.arange(1.0, 31.0)


def true_rate(t):
    decay = np.exp(-t / 3.0)
    return 0.045 - 0.025 * (1 - decay) / (t / 3.0) + 0.01 * ((1 - decay) / (t / 3.0) - decay)


def par_rates(rates):
    """Return the rates of swaps, by zero rates at the years of payments."""
    discounts = np.exp(-payments * rates)
    last = years.astype(int) - 1
    return (1 - discounts[last]) / np.cumsum(discounts)[last]


quotes = par_rates(true_rate(payments))

# %%
# A spline is a function of its values, and ``tg.interpolate.CubicSpline`` has derivatives by them. So the Jacobian of
# the par rates is exact, and Gauss and Newton's method takes a few steps.


def curve(values):
    return tg.interpolate.CubicSpline(years, values, bc_type="natural")


def misfit(values):
    return par_rates(curve(values)(payments)) - quotes


fit = tg.optimize.least_squares(misfit, np.full(len(years), 0.03), xtol=1e-14, ftol=1e-14, gtol=1e-14)

# %%
# The rate of a loan from :math:`t` on, agreed upon today, is the derivative of :math:`t z(t)`: one by the place. And a
# change of a quote changes the curve by the inverse of the Jacobian.


def yield_of(t):
    return t * curve(fit.x)(t)


forward = tg.grad(lambda t: tg.sum(yield_of(t)))
exact_forward = tg.grad(lambda t: tg.sum(t * true_rate(t)))
by_quotes = np.linalg.solve(tg.jacobian(misfit)(fit.x).T, tg.grad(lambda v: curve(v)(8.5))(fit.x))
print(f"zero rate of 8.5 years  {yield_of(8.5) / 8.5:.6f}, exactly {true_rate(8.5):.6f}")
print("its change by each quote", by_quotes.round(3))

t = np.linspace(1, 30, 300)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(t, 100 * yield_of(t) / t, t, 100 * forward(t), t, 100 * exact_forward(t), "k:")
left.plot(years, 100 * quotes, "o", color="tab:gray")
left.set(xlabel="years", ylabel="percent", title="zero, forward and par rates")
right.bar(range(len(years)), by_quotes, tick_label=[f"{each:.0f}" for each in years])
right.set(xlabel="years of the quote", title="change of the zero rate of 8.5 years")

known = {"zero": 0.0394291, "forward": 0.0451961}  # by the formula of Nelson and Siegel
found = {"zero": yield_of(8.5) / 8.5, "forward": forward(8.5)}
rtol = 2e-4
