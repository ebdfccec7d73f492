r"""
Difficulties of test items
==========================

A thousand candidates answered five questions of the Law School Admission Test. In Rasch's model a candidate of ability
:math:`z \sim N(0, 1)` answers question :math:`i` rightly with probability
:math:`1 / (1 + \exp(-a (z - b_i)))`, with one discrimination :math:`a`
and a difficulty :math:`b_i` for each question.
Nobody sees the abilities: the likelihood of a pattern of answers is an integral over :math:`z`.

Data: Bock and Lieberman, *Psychometrika* 35, 1970. Published answer: Rizopoulos, "ltm: An R package for latent variable
modelling", *Journal of Statistical Software* 17(5), 2006.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

# how many candidates gave each of the 32 patterns, from 00000, 00001, 00010 to 11111 (1: right)
text = """3 6 2 11 1 1 3 4 1 8 0 16 0 3 2 15 10 29 14 81
3 28 15 80 16 56 21 173 11 61 28 298"""
counts = np.fromstring(text, sep=" ")
patterns = (np.arange(32)[:, np.newaxis] >> np.arange(4, -1, -1)) & 1

# %%
# Gauss and Hermite's quadrature makes the integral a sum over 21 abilities. A pattern's log probability is a
# ``logsumexp`` of a table of 32 patterns by 21 abilities.

abilities, weights = np.polynomial.hermite_e.hermegauss(21)
log_weights = np.log(weights / np.sqrt(2 * np.pi))


def log_probability(difficulties, discrimination, abilities):
    """Return the log probability of each pattern at each ability."""
    logits = discrimination * (abilities[:, np.newaxis] - difficulties)
    return patterns @ logits.T - tg.sum(np.logaddexp(0, logits), axis=1)


def negative_log_likelihood(p):
    at_ability = log_probability(p["difficulties"], p["discrimination"], abilities)
    return -counts @ tg.special.logsumexp(at_ability + log_weights, axis=1)


start = {"difficulties": np.zeros(5), "discrimination": 1.0}
fit = tg.optimize.minimize(negative_log_likelihood, start, method="trust-exact")
print(f"log likelihood {-fit.fun:.3f} after {fit.nit} iterations")
print("difficulties", fit.x["difficulties"].round(4), "discrimination", fit.x["discrimination"].round(4))

# %%
# Curves of the items, and the abilities that candidates of 0 to 5 right answers are expected to have: the mean of
# :math:`z` under the posterior of a pattern.

posterior = np.exp(log_probability(**fit.x, abilities=abilities) + log_weights).T
expected = abilities @ posterior / posterior.sum(axis=0)
right = patterns.sum(axis=1)

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
z = np.linspace(-6, 3, 200)
for i, difficulty in enumerate(fit.x["difficulties"]):
    axes.plot(z, 1 / (1 + np.exp(-fit.x["discrimination"] * (z - difficulty))), label=f"question {i + 1}")
for score in range(6):
    place = expected[right == score].mean()
    axes.axvline(place, ymax=0.04, color="0.2", lw=2)
    axes.text(place, 0.05, score, ha="center", color="0.2")
axes.text(0.9, 0.05, "right answers, at their\nmean ability", color="0.2")
axes.set(xlabel="ability (standard deviations)", ylabel="probability of a right answer")
axes.set(xlim=(-6, 3), ylim=(0, 1))
axes.legend(frameon=False, loc="upper left")

# %%
# The estimates of ltm's function ``rasch``.

known = {"difficulties": [-3.6153, -1.3224, -0.3176, -1.7301, -2.7802], "discrimination": 0.7551}
found = fit.x
rtol = 1e-3
