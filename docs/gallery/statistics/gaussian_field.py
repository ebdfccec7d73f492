r"""
A Gaussian field on a map
=========================

A field on a grid, smooth over a range that is to be estimated, is known at a third of the points, with noise. Its
precision is sparse, :math:`Q = \tau^2 (\kappa^2 I + G)^2` with the Laplacian :math:`G` of the grid: a Matérn field of
smoothness 1 (Lindgren, Rue, Lindström, *JRSS B* 73, 2011). The likelihood has the log-determinant of :math:`Q`.
"""

import numpy as np
import scipy.sparse
from matplotlib import pyplot as plt

import tapegrad as tg

m, rng = 64, np.random.default_rng(7)
ring = 2 * np.eye(m) - np.roll(np.eye(m), 1, 0) - np.roll(np.eye(m), -1, 0)
G = scipy.sparse.csr_array(scipy.sparse.kronsum(scipy.sparse.csr_array(ring), scipy.sparse.csr_array(ring)))

# %%
# All precisions have the pattern of :math:`G^2`, whose lower triangle is analysed once.

cholesky = tg.linalg.SparseCholesky(scipy.sparse.tril(G @ G).tocsr())
at = cholesky.rows, cholesky.columns
one, first, second = (np.asarray(part.tocsr()[at]) for part in (scipy.sparse.eye_array(m * m), G, G @ G))


def precision(p):
    kappa2, tau2 = np.exp(2 * p[0]), np.exp(2 * p[1])
    return tau2 * (kappa2**2 * one + 2 * kappa2 * first + second)


# %%
# On a grid without an edge a field is drawn by Fourier's transform of its spectrum.

wave = 2 - 2 * np.cos(2 * np.pi * np.arange(m) / m)
true = np.array([np.log(0.35), np.log(1.2)])
spectrum = np.exp(2 * true[1]) * (np.exp(2 * true[0]) + wave[:, None] + wave) ** 2
field = np.fft.ifft2(np.fft.fft2(rng.standard_normal((m, m))) / np.sqrt(spectrum)).real.ravel()
seen, noise = rng.random(m * m) < 0.35, 0.3
data = np.where(seen, field + noise * rng.standard_normal(m * m), 0.0)

# %%
# With known noise the posterior precision is :math:`Q` plus a diagonal: two factors and one solution.

diagonal = np.where(cholesky.rows == cholesky.columns, seen[cholesky.rows] / noise**2, 0.0)


def objective(p):
    prior = precision(p)
    posterior = cholesky.factor(prior + diagonal)
    logdet = cholesky.factor(prior).logdet() - posterior.logdet()
    return 0.5 * tg.dot(data / noise**2, data - posterior.solve(data / noise**2)) - 0.5 * logdet


fit = tg.optimize.minimize(objective, np.array([-0.5, 0.0]), method="BFGS", options={"gtol": 1e-3})
errors = np.sqrt(np.diag(np.linalg.inv(tg.hessian(tg.jit(objective))(fit.x))))
posterior = cholesky.factor(precision(fit.x) + diagonal)
mean = posterior.solve(data / noise**2).data
spread = np.sqrt(posterior.inverse_on_pattern().data[cholesky.rows == cholesky.columns])
print("kappa, tau:", np.exp(fit.x).round(3), "+-", (np.exp(fit.x) * errors).round(3))

# %%
# The field, what was seen of it, and what follows: the mean, and the standard deviation, larger between points.

figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
panels = {"field": field, "seen": np.where(seen, data, np.nan), "mean": mean, "standard deviation": spread}
for axis, (title, values) in zip(axes, panels.items(), strict=True):
    limits = {} if title == "standard deviation" else {"vmin": field.min(), "vmax": field.max()}
    figure.colorbar(axis.imshow(values.reshape(m, m), **limits), ax=axis, shrink=0.8)
    axis.set(title=title, xticks=[], yticks=[])

# %%
# The spectrum gives the log-determinant, a sum of logarithms, and the variance of the field, a mean of inverses.

factor = cholesky.factor(precision(true))
variances = factor.inverse_on_pattern().data[cholesky.rows == cholesky.columns]
known = {"log-determinant": 11568.678854, "variance": 0.4748088199}
found = {"log-determinant": float(factor.logdet().data), "variance": float(variances.max())}
rtol = 1e-8
