"""Second derivatives of the chained Rosenbrock function, derived by hand. Its Hessian is tridiagonal."""

import numpy as np

from perf.workloads import Answer, Array


def direction(x: Array) -> Array:
    """Return the vector that the Hessian at `x` is multiplied with; the same numbers every time."""
    return np.random.default_rng(x.size + 1).uniform(-1, 1, x.size)


def _bands(x: Array) -> tuple[Array, Array]:
    """Return the diagonal and the one beside it."""
    diagonal = np.zeros_like(x)
    diagonal[:-1] = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    diagonal[1:] += 200
    return diagonal, -400 * x[:-1]


def rosenbrock_product(x: Array) -> Answer:
    """Return the product with `direction`."""
    v = direction(x)
    diagonal, beside = _bands(x)
    product = diagonal * v
    product[:-1] += beside * v[1:]
    product[1:] += beside * v[:-1]
    return (product,)


def rosenbrock_hessian(x: Array) -> Answer:
    """Return the dense matrix."""
    diagonal, beside = _bands(x)
    return (np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1),)
