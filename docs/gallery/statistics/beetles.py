r"""
Dose and response
=================

Eight groups of some 60 beetles breathed carbon disulphide of different concentrations for five hours. A share
:math:`p(x)` died at the logarithm :math:`x` of the
concentration: either :math:`\mathrm{logit}\, p = a + b x`, symmetric
about the median, or :math:`\log(-\log(1 - p)) = a + b x`, which is steeper above it. The dose that kills half of them
is :math:`-a/b`.

Data: Bliss, *Annals of Applied Biology* 22, 1935. Published answers: Dobson and Barnett, *An Introduction to
Generalized Linear Models*, 2008, section 7.3.1; Agresti, *Categorical Data Analysis*, 2002, section 6.6.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

dose = np.array([1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839])  # log10 of mg/l
beetles = np.array([59.0, 60.0, 62.0, 56.0, 63.0, 59.0, 62.0, 60.0])
killed = np.array([6.0, 13.0, 18.0, 28.0, 52.0, 53.0, 61.0, 60.0])

# %%
# The deviance is twice the distance of the log likelihood to that of a model with a share for each group. Half of it
# is minimised, so that its Hessian is the information matrix.


def logit(p, x):
    return tg.special.expit(p[0] + p[1] * x)


def complementary_log_log(p, x):
    return -np.expm1(-np.exp(p[0] + p[1] * x))


def half_deviance(p, link):
    share = link(p, dose)
    expected, survivors = beetles * share, beetles - killed
    return tg.sum(tg.special.rel_entr(killed, expected) + tg.special.rel_entr(survivors, beetles - expected))


links, starts = (logit, complementary_log_log), ([-60.0, 34.0], [-40.0, 22.0])
fits = [
    tg.optimize.minimize(half_deviance, np.array(start), args=(link,), method="trust-exact")
    for link, start in zip(links, starts, strict=True)
]
information = [tg.hessian(half_deviance)(fit.x, link) for fit, link in zip(fits, links, strict=True)]
covariances = np.linalg.inv(information)
for link, fit, covariance in zip(links, fits, covariances, strict=True):
    errors = np.sqrt(np.diagonal(covariance))
    print(f"{link.__name__:22}", fit.x.round(2), "+-", errors.round(2), f"deviance {2 * fit.fun:.2f}")

# %%
# Bands by the Jacobian of the curve. The complementary log-log curve passes closer to the groups, as the smaller
# deviance says.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
x = np.linspace(1.66, 1.91, 100)
for link, fit, covariance in zip(links, fits, covariances, strict=True):
    curve, slopes = link(fit.x, x), tg.jacobian(link)(fit.x, x)
    width = 1.96 * np.sqrt(np.einsum("ti,ij,tj->t", slopes, covariance, slopes))
    axes.fill_between(x, curve - width, np.minimum(curve + width, 1), alpha=0.15)
    axes.plot(x, curve, lw=2, label=f"{link.__name__.replace('_', ' ')}, deviance {2 * fit.fun:.2f}")
axes.plot(dose, killed / beetles, "o", color="0.2", label="groups of about 60 beetles")
axes.set(xlabel=r"$\log_{10}$ of the concentration (mg/l)", ylabel="share killed", xlim=(1.66, 1.91))
axes.legend(frameon=False, loc="upper left")

# %%
# Dobson's estimates and deviances, and the standard errors of the logistic model.

known = {"logit": [-60.72, 34.27, 5.18, 2.91, 11.23], "complementary_log_log": [-39.57, 22.04, 3.45]}
found = {link.__name__: [*fit.x, 2 * fit.fun] for link, fit in zip(links, fits, strict=True)}
found["logit"][2:2] = np.sqrt(np.diagonal(covariances[0]))
rtol = 3e-3
