r"""
Influenza at a school
=====================

In January 1978 influenza went through an English boarding school: of 763 boys, 512 were in bed within two weeks
(*British Medical Journal*, 4 March 1978). Kermack and McKendrick's model has susceptible and infected ones,

.. math:: \dot S = -\beta S I / N, \qquad \dot I = \beta S I / N - \gamma I.

Murray (*Mathematical Biology*, section 10.2) fits it by least squares, :math:`\beta / N = 2.18 \cdot 10^{-3}` and
:math:`N \gamma / \beta = 202`. Grinsztajn and others (*Statistics in Medicine* 40 (2021) 6209) take negative binomial
counts, which weigh small numbers more, and find :math:`\beta = 1.73`, :math:`\gamma = 0.54`. This script does both.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

in_bed = np.array([3.0, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4])
BOYS, STEPS = 763, 8  # steps in a day

# %%
# The equations are solved by Runge and Kutta's method in NumPy's words. One boy is ill a day before the first count.
# The steps are one instruction, a :func:`tapegrad.scan`, which takes the rates from the function around it.


def slope(u, p):
    infections = p[0] * u[0] * u[1] / BOYS
    return tg.stack([-infections, infections - p[1] * u[1]])


def infected(p):
    def step(u, _, h=1 / STEPS):
        k1 = slope(u, p)
        k2 = slope(u + h / 2 * k1, p)
        k3 = slope(u + h / 2 * k2, p)
        return u + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(u + h * k3, p)), u[1]

    return tg.scan(step, np.array([BOYS - 1.0, 1.0]), length=14 * STEPS + 1)[1]


rates = tg.optimize.least_squares(lambda p: infected(p)[STEPS::STEPS] - in_bed, np.array([2.0, 0.5])).x
print(f"least squares: beta {rates[0]:.3f}, gamma {rates[1]:.3f}, R0 {rates[0] / rates[1]:.2f}")

# %%
# The likelihood of counts has a third parameter, the dispersion. Parameters are positive, so their logarithms are free.


@tg.jit
def negative_log_likelihood(q):
    p = tg.exp(q)
    mean = infected(p)[STEPS::STEPS]
    return -tg.sum(tg.stats.nbinom.logpmf(in_bed, p[2], p[2] / (p[2] + mean)))


fit = tg.optimize.minimize(negative_log_likelihood, np.log([2.0, 0.5, 10.0]), method="trust-exact")
covariance = np.linalg.inv(tg.hessian(negative_log_likelihood)(fit.x))
beta, gamma, dispersion = np.exp(fit.x)
r0, error = beta / gamma, np.sqrt(covariance[0, 0] - 2 * covariance[0, 1] + covariance[1, 1])  # of log R0
print(f"likelihood:    beta {beta:.3f}, gamma {gamma:.3f}, R0 {r0:.2f} +- {r0 * error:.2f}")

# %%
# The band has 90 % of the counts that the likelihood expects; that of least squares would be the same at all heights.

days = np.arange(14 * STEPS + 1) / STEPS
mean = infected(np.exp(fit.x)).data
chance = dispersion / (dispersion + mean)
counts = np.random.default_rng(1).negative_binomial(dispersion, chance, (4000, len(mean)))
figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
axes.fill_between(days, *np.quantile(counts, [0.05, 0.95], axis=0), color="tab:red", alpha=0.15, lw=0)
axes.plot(days, mean, color="tab:red", label=f"negative binomial, $R_0$ = {r0:.2f}")
axes.plot(days, infected(rates).data, "--", label=f"least squares, $R_0$ = {rates[0] / rates[1]:.2f}")
axes.plot(np.arange(1, 15), in_bed, "ko", label="boys in bed")
axes.set(xlabel="days since the first case", ylabel="boys", xlim=(0, 14.2), ylim=(0, None))
axes.legend(frameon=False)

known = {"beta / N": 2.18e-3, "N gamma / beta": 202.0, "beta": 1.73, "gamma": 0.54}
found = dict(zip(known, [rates[0] / BOYS, BOYS * rates[1] / rates[0], beta, gamma], strict=True))
rtol = 0.01
