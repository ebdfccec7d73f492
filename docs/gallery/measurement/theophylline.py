r"""
Pharmacokinetics of theophylline
================================

Twelve people swallowed theophylline, a drug against asthma, and its concentration in their blood was measured for a day
(Upton; Boeckmann, Sheiner and Beal 1994; ``Theoph`` in R). The drug enters by the rate :math:`k_a` and leaves by
:math:`k_e`, from a volume that the clearance :math:`Cl` determines:

.. math:: c(t) = \text{dose} \cdot \frac{k_e k_a}{Cl\,(k_a - k_e)} \left(e^{-k_e t} - e^{-k_a t}\right).

R's help page of ``Theoph`` fits the logarithms of the three rates to the first subject, with the result -2.9196, 0.5752
and -3.9159.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

data = np.loadtxt("../data/theophylline.csv", delimiter=",", skiprows=1).reshape(12, 11, 5)
dose, time, measured = data[:, 0, 2], data[:, :, 3], data[:, :, 4]


def concentration(p, dose, t):
    elimination, absorption, clearance = tg.exp(p[0]), tg.exp(p[1]), tg.exp(p[2])
    scale = dose * elimination * absorption / clearance / (absorption - elimination)
    return scale * (tg.exp(-elimination * t) - tg.exp(-absorption * t))


# %%
# The times of the twelve differ, so each is a least-squares problem of its own; one recording serves all of them.


@tg.jit
def residuals(p, dose, t, measured):
    return concentration(p, dose, t) - measured


fits = [
    tg.optimize.least_squares(residuals, np.array([-2.5, 0.5, -3.0]), (d, t, c), x_scale="jac")
    for d, t, c in zip(dose, time, measured, strict=True)
]
for k, fit in enumerate(fits, 1):
    variance = 2 * fit.cost / (11 - 3)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    print(k, "  ".join(f"{value:7.4f} +- {error:.4f}" for value, error in zip(fit.x, errors, strict=True)))

# %%
# A physician asks for other numbers: the half-life and the highest concentration. Their errors follow from the
# covariance of the parameters by the Jacobian of what is computed from them, here for all twelve by ``vmap``.


def answers(p, dose):
    elimination, absorption = tg.exp(p[0]), tg.exp(p[1])
    peak = tg.log(absorption / elimination) / (absorption - elimination)
    return tg.stack([np.log(2) / elimination, concentration(p, dose, peak)])


estimates = np.array([fit.x for fit in fits])
covariances = [2 * fit.cost / 8 * np.linalg.inv(fit.jac.T @ fit.jac) for fit in fits]
half_life, peak = tg.vmap(tg.jit(answers))(estimates, dose).T
slopes = tg.vmap(tg.jacobian(tg.jit(answers)))(estimates, dose)
error = np.sqrt(np.einsum("nij,njk,nik->in", slopes, covariances, slopes))

figure, grid = plt.subplots(3, 4, figsize=(10, 5.8), sharex=True, sharey=True, layout="constrained")
at = np.linspace(0, 25, 200)
for k, axes in enumerate(grid.flat):
    axes.plot(at, concentration(estimates[k], dose[k], at).data, color="tab:orange")
    axes.plot(time[k], measured[k], "o", ms=4, color="tab:blue")
    text = (
        f"$t_{{1/2}}$ = {half_life[k]:.1f} ± {error[0, k]:.1f} h\nmax {peak[k]:.1f} ± {error[1, k]:.1f} mg/l"
    )
    axes.text(0.97, 0.95, text, transform=axes.transAxes, ha="right", va="top", fontsize=8)
figure.supxlabel("hours after the dose")
figure.supylabel("concentration (mg/l)")

known = {"lKe": -2.9196, "lKa": 0.5752, "lCl": -3.9159}
found = dict(zip(known, estimates[0], strict=True))
rtol = 3e-4
