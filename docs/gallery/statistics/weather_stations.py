r"""
A map from stations
===================

A smooth field is measured at 150 stations, with noise. What is it elsewhere, and how sure is that? The field is a
Matérn field on a mesh of triangles that is finer than its range and reaches beyond the stations (Lindgren, Rue,
Lindström, *JRSS B* 73, 2011): its precision is sparse, and the likelihood takes two sparse factors.
"""

import numpy as np
import scipy.spatial
import scipy.stats
from matplotlib import pyplot as plt

import tapegrad as tg

rng = np.random.default_rng(4)
side = np.linspace(-4.0, 14.0, 36)
points = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2) + rng.uniform(-0.12, 0.12, (36**2, 2))
mesh = tg.stats.matern_mesh(points, scipy.spatial.Delaunay(points).simplices)
stations = rng.uniform(0.0, 10.0, (150, 2))
A = mesh.projection(stations)  # what the stations see of the field
true = {"range": 4.0, "sd": 2.0, "noise": 0.4}
field = mesh.rvs(true["range"], true["sd"], random_state=rng)
data = A @ field + true["noise"] * rng.standard_normal(150)

# %%
# Given the data, the field has the precision :math:`Q + A^T A / \sigma^2`. The product has entries where Q has some.

cholesky, _ = mesh.precision(1.0, 1.0)
seen = np.asarray((A.T @ A).tocsr()[cholesky.rows, cholesky.columns])


def posterior(range_, sd, noise):
    return cholesky.factor(mesh.precision(range_, sd)[1] + seen / noise**2)


def log_likelihood(
    range_, sd, noise
):  # p(data | field) p(field) / p(field | data) at the field's posterior mean
    found = posterior(range_, sd, noise)
    mean = found.solve(A.T @ data / noise**2)
    joint = mesh.logpdf(mean, range_, sd) + tg.sum(tg.stats.norm.logpdf(data, A @ mean, noise))
    return joint - 0.5 * found.logdet() + 0.5 * mesh.n * np.log(2 * np.pi)


fit = tg.optimize.minimize(lambda p: -log_likelihood(*tg.exp(p)), np.zeros(3), method="BFGS")
errors = np.sqrt(np.diag(np.linalg.inv(tg.hessian(lambda p: -log_likelihood(*tg.exp(p)))(fit.x))))
for (name, value), log, error in zip(true.items(), fit.x, errors, strict=True):
    print(f"{name}: {np.exp(log):.2f}, true {value}, relative error {error:.2f}")

# %%
# The mean and the standard deviation of the field, given the data.

conditional = posterior(*np.exp(fit.x))
mean = conditional.solve(A.T @ data / np.exp(2 * fit.x[2])).data
spread = np.sqrt(conditional.inverse_on_pattern().data[cholesky.rows == cholesky.columns])
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
panels = {"field": field, "mean": mean, "standard deviation": spread}
for axis, (title, values) in zip(axes, panels.items(), strict=True):
    limits = {"vmin": 0.0, "vmax": 1.5} if values is spread else {"vmin": field.min(), "vmax": field.max()}
    shown = axis.tripcolor(*points.T, values, shading="gouraud", **limits)
    figure.colorbar(shown, ax=axis, shrink=0.8)
    axis.plot(*stations.T, "k.", ms=2)
    axis.set(title=title, xlim=(0, 10), ylim=(0, 10), xticks=[], yticks=[], aspect="equal")

# %%
# The same likelihood by the dense covariance of the data, :math:`A Q^{-1} A^T + \sigma^2 I`.

columns = cholesky.factor(mesh.precision(*np.exp(fit.x[:2]))[1]).solve(A.T.toarray()).data
dense = scipy.stats.multivariate_normal(None, A @ columns + np.exp(2 * fit.x[2]) * np.eye(150))
print(f"log-likelihood: {-fit.fun:.7f}, dense {dense.logpdf(data):.7f}")
known = {"log-likelihood": -192.3631753}
found = {"log-likelihood": -fit.fun}
rtol = 1e-7
