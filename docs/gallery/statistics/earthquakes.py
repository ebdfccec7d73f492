r"""
Great earthquakes
=================

Numbers of earthquakes of magnitude 7 or more in the world, 1900 to 2006. They vary more than a Poisson distribution
allows, and quiet years follow each other. A hidden Markov model has three states, each with a rate :math:`\lambda_j`
and probabilities :math:`\Gamma_{jk}` to be in state :math:`k` in the year after.

Data and answer: Zucchini and MacDonald, *Hidden Markov Models for Time Series*, 2009, chapters 1 and 3.
"""

import numpy as np
from matplotlib import pyplot as plt

import tapegrad as tg

text = """13 14 8 10 16 26 32 27 18 32 36 24 22 23 22 18 25 21 21 14 8 11 14 23 18 17 19 20 22 19 13 26 13 14 22 24
21 22 26 21 23 24 27 41 31 27 35 26 28 36 39 21 17 22 17 19 15 34 10 15 22 18 15 20 15 22 19 16 30 27 29
23 20 16 21 21 25 16 18 15 18 14 10 15 8 15 6 11 8 7 18 16 13 12 13 20 15 16 12 18 15 16 13 15 16 11 11"""
counts = np.fromstring(text, sep=" ")

# %%
# Rates are positive, and rows of the transition matrix sum to one. Logarithms, and logits relative to staying in a
# state, make any nine numbers a model.


def model(p):
    logits = tg.array([[0.0, p[3], p[4]], [p[5], 0.0, p[6]], [p[7], p[8], 0.0]])
    transitions = tg.special.softmax(logits, axis=1)
    stationary = np.linalg.solve((np.eye(3) - transitions + 1).T, np.ones(3))
    return np.exp(p[:3]), transitions, stationary


# %%
# The forward recursion: the probabilities of the states, given the counts so far. Its loop of 107 years is unrolled
# when the function is recorded, and then replayed without Python.


def negative_log_likelihood(p):
    rates, transitions, state = model(p)
    densities = np.exp(tg.stats.poisson.logpmf(counts[:, np.newaxis], rates))
    total = 0.0
    for year, density in enumerate(densities):
        joint = (state @ transitions if year else state) * density
        scale = tg.sum(joint)
        total, state = total + np.log(scale), joint / scale
    return -total


start = np.r_[np.log([10.0, 20.0, 30.0]), np.full(6, -2.0)]
fit = tg.optimize.minimize(negative_log_likelihood, start, method="BFGS")
rates, transitions, stationary = tg.jit(model)(fit.x)
print(f"log likelihood {-fit.fun:.4f}; rates {rates.round(3)}, stationary {stationary.round(3)}")
print(transitions.round(3))

# %%
# The derivative of the log likelihood by the logarithm of each year's density is the probability of the states in that
# year, given all counts: the backward recursion, as reverse differentiation finds it.


def log_likelihood(log_densities):
    state, total = stationary, 0.0
    for year, density in enumerate(np.exp(log_densities)):
        joint = (state @ transitions if year else state) * density
        total, state = total + np.log(tg.sum(joint)), joint / tg.sum(joint)
    return total


log_densities = tg.jit(tg.stats.poisson.logpmf)(counts[:, np.newaxis], rates)
posterior = tg.grad(log_likelihood)(log_densities)
years = 1900 + np.arange(len(counts))
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.bar(years, counts, width=0.8, color=plt.colormaps["viridis"](0.15 + 0.35 * posterior.argmax(axis=1)))
axes.step(years, posterior @ rates, where="mid", color="C3", lw=2, label="expected number")
axes.set(xlabel="year", ylabel="earthquakes of magnitude 7 or more", xlim=(1899, 2007))
axes.legend(frameon=False)

known = {"rates": [13.146, 19.721, 29.714], "log_likelihood": -329.4603}
found = {"rates": rates, "log_likelihood": -fit.fun}
rtol = 1e-3
