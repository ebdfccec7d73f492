r"""
A Gaussian field on a map
=========================

A field on a grid, smooth over a range that is to be estimated, is known at a third of the points, with noise. Its
precision is sparse, :math:`Q = \tau^2 (\kappa^2 I + G)^2` with the Laplacian :math:`G` of the grid: a Matérn field of
smoothness 1. The likelihood has the log-determinant of :math:`Q`, whose derivative is the inverse on the pattern.

Reference: Lindgren, Rue, Lindström, *Journal of the Royal Statistical Society B* 73, 2011. On a grid without an edge
everything about the field is known by Fourier's transform.
"""

import numpy as np
import scipy.sparse
from matplotlib import pyplot as plt

import tapegrad as tg

m, rng = 64, np.random.default_rng(7)
ring = 2 * np.eye(m) - np.roll(np.eye(m), 1, 0) - np.roll(np.eye(m), -1, 0)
G = scipy.sparse.csr_array(scipy.sparse.kronsum(scipy.sparse.csr_array(ring), scipy.sparse.csr_array(ring)))

# %%
# All precisions have the pattern of :math:`G^2`. Its lower triangle is analysed once; the entries of :math:`Q` are a
# function of the parameters, three vectors of numbers added up.

cholesky = tg.linalg.SparseCholesky(scipy.sparse.tril(G @ G).tocsr())
at = cholesky.rows, cholesky.columns
one, first, second = (np.asarray(part.tocsr()[at]) for part in (scipy.sparse.eye_array(m * m), G, G @ G))


def precision(p):
    kappa2, tau2 = np.exp(2 * p[0]), np.exp(2 * p[1])
    return tau2 * (kappa2**2 * one + 2 * kappa2 * first + second)


wave = 2 - 2 * np.cos(2 * np.pi * np.arange(m) / m)
eigenvalues = wave[:, None] + wave


def spectrum(p):
    return np.exp(2 * p[1]) * (np.exp(2 * p[0]) + eigenvalues) ** 2


true = np.array([np.log(0.35), np.log(1.2)])
white = np.fft.fft2(rng.standard_normal((m, m)))
field = np.fft.ifft2(white / np.sqrt(spectrum(true))).real.ravel()
seen, noise = rng.random(m * m) < 0.35, 0.3
data = np.where(seen, field + noise * rng.standard_normal(m * m), 0.0)

# %%
# With noise of a known size the posterior precision is :math:`Q` plus a diagonal, of the same pattern. The likelihood
# of the parameters takes two factors and one solution.

diagonal = np.where(cholesky.rows == cholesky.columns, seen[cholesky.rows] / noise**2, 0.0)


def objective(p):
    prior = precision(p)
    posterior = cholesky.factor(prior + diagonal)
    mean = posterior.solve(data / noise**2)
    logdet = cholesky.factor(prior).logdet() - posterior.logdet()
    return 0.5 * tg.dot(data / noise**2, data - mean) - 0.5 * logdet


fit = tg.optimize.minimize(objective, np.array([-0.5, 0.0]), method="BFGS", options={"gtol": 1e-3})
errors = np.sqrt(np.diag(np.linalg.inv(tg.hessian(tg.jit(objective))(fit.x))))
posterior = cholesky.factor(precision(fit.x) + diagonal)
mean = posterior.solve(data / noise**2).data
spread = np.sqrt(posterior.inverse_on_pattern().data[cholesky.rows == cholesky.columns])
print(
    "kappa, tau:", np.exp(fit.x).round(3), "+-", (np.exp(fit.x) * errors).round(3), "drawn with", np.exp(true)
)

# %%
# The field, what was seen of it, and what follows: the mean, and the standard deviation, larger between points.

figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
panels = {"field": field, "seen": np.where(seen, data, np.nan), "mean": mean, "standard deviation": spread}
for axis, (title, values) in zip(axes, panels.items(), strict=True):
    limits = {} if title == "standard deviation" else {"vmin": field.min(), "vmax": field.max()}
    image = axis.imshow(values.reshape(m, m), cmap="viridis", **limits)
    axis.set(title=title, xticks=[], yticks=[])
    figure.colorbar(image, ax=axis, shrink=0.8)

# %%
# Log-determinant and variance of the field by its spectrum, which is known; the gradient of the log-determinant by
# the parameters of the spectrum; the errors of the mean, in units of the standard deviation.

values, gradient = tg.value_and_grad(lambda p: cholesky.factor(precision(p)).logdet())(fit.x)
np.testing.assert_allclose(values, np.log(spectrum(fit.x)).sum(), rtol=1e-10)
np.testing.assert_allclose(gradient, tg.grad(lambda p: np.log(spectrum(p)).sum())(fit.x), rtol=1e-8)
variances = cholesky.factor(precision(fit.x)).inverse_on_pattern().data[cholesky.rows == cholesky.columns]
np.testing.assert_allclose(variances, (1 / spectrum(fit.x)).mean(), rtol=1e-9)
np.testing.assert_array_less(np.abs(fit.x - true), 3 * errors)
np.testing.assert_allclose(((mean - field) / spread).std(), 1.0, rtol=0.05)
