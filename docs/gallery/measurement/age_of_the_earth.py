r"""
The age of the Earth
====================

Uranium decays to lead: :math:`^{235}\mathrm{U}` to :math:`^{207}\mathrm{Pb}`, and :math:`^{238}\mathrm{U}`, more
slowly, to :math:`^{206}\mathrm{Pb}`. Bodies that formed at one time from the same lead lie on a straight line, the
isochron, whatever uranium each of them has. Its slope tells their age :math:`t`:

.. math:: s(t) = \frac{1}{137.8} \frac{e^{\lambda_{235} t} - 1}{e^{\lambda_{238} t} - 1}

C. Patterson, *Age of meteorites and the earth*, Geochimica et Cosmochimica Acta 10 (1956), measured five meteorites,
found :math:`4.55 \pm 0.07` billion years, and showed that the Earth's lead lies on their line. The ratios and the
constants are his.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

names = ["Nuevo Laredo", "Forest City", "Modoc", "Henbury", "Canyon Diablo"]
pb206 = np.array([50.28, 19.27, 19.48, 9.55, 9.46])  # by 204Pb
pb207 = np.array([34.86, 15.95, 15.76, 10.38, 10.34])
decay_235, decay_238 = 0.972, 0.1537  # per billion years

# %%
# Both ratios of a meteorite have errors, which are taken as 2 % here. So the position of each on the line is unknown,
# too: the fit has seven parameters, ten residuals, and an exact Jacobian, from which the covariance follows.


def slope(age):
    return np.expm1(decay_235 * age) / np.expm1(decay_238 * age) / 137.8


def residuals(p):
    on_line = p["intercept"] + slope(p["age"]) * p["x"]
    return tg.concatenate([(p["x"] - pb206) / (0.02 * pb206), (on_line - pb207) / (0.02 * pb207)])


fit = tg.optimize.least_squares(residuals, {"age": 4.0, "intercept": 5.0, "x": pb206}, method="native")
age, intercept = fit.x["age"], fit.x["intercept"]
error = float(np.sqrt(fit.covariance[0, 0]))  # leaves of a dict are in the order of their sorted keys
print(f"age {age:.3f} +- {error:.3f} billion years; chi² {2 * fit.cost:.2f} with three degrees of freedom")

# %%
# The isochron, and those of other ages through the same primordial lead, which iron meteorites have kept: they hold no
# uranium.

figure, axes = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
x = np.linspace(5, 55, 50)
for other, shift in ((4.0, (6, -12)), (5.0, (-90, 2))):
    through = intercept + (slope(age) - slope(other)) * pb206[-1] + slope(other) * x
    axes.plot(x, through, color="0.75", lw=1)
    axes.annotate(
        f"{other:.0f} billion years", (x[32], through[32]), shift, textcoords="offset points", color="0.4"
    )
axes.plot(x, intercept + slope(age) * x, color="tab:orange", label=f"isochron of {age:.2f} billion years")
axes.errorbar(pb206, pb207, 0.02 * pb207, 0.02 * pb206, "o", color="tab:blue", ms=5, lw=1)
for name, a, b in zip(names, pb206, pb207, strict=True):
    shift, side = ((8, -12), "left") if name != "Henbury" else ((-8, 8), "right")
    if name != "Modoc":
        axes.annotate(name, (a, b), shift, textcoords="offset points", ha=side)
axes.set(xlabel="²⁰⁶Pb / ²⁰⁴Pb", ylabel="²⁰⁷Pb / ²⁰⁴Pb", xlim=(5, 56), ylim=(7, 43))
axes.legend(loc="upper left", frameon=False)

# %%
# Patterson's age, in billion years.

known = {"age": 4.55}
found = {"age": age}
rtol = 4e-3
