"""Many fits by JAX: the algorithm of `curve_fit`, written as well as we could, under `vmap`.

All lanes of a ``while_loop`` run until the last one has converged, so that blocks of fits are faster than all at once
where their numbers of steps differ. Sums and Cholesky's decomposition are unrolled over the parameters, which is faster
than ``J.T @ J`` and ``linalg.solve``.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from perf.peers.base import jax, load
from perf.workloads import Array

_EPS = 2.220446049250313e-16


class Stopping(NamedTuple):
    """Stopping criteria of a fit: relative change of the cost, and evaluations at most."""

    ftol: float
    most: int


def in_blocks(
    model: Any, t: Any, data: Array, starts: Array, stopping: Stopping, block: int
) -> Callable[[], Array]:
    """Return a function that does all fits, so many at a time, and returns their parameters."""
    library, xp = jax(), load("jax.numpy")
    fit = library.vmap(_fit(library, xp, model, t, starts.shape[1], stopping))
    shape = len(data) // block, block
    run = library.jit(lambda y, x: library.lax.map(lambda part: fit(*part), (y, x)))
    given = tuple(library.device_put(each[: shape[0] * block].reshape(*shape, -1)) for each in (data, starts))
    return lambda: np.asarray(run(*given)).reshape(-1, starts.shape[1])


def _fit(library: Any, xp: Any, model: Any, t: Any, k: int, stopping: Stopping) -> Callable[[Any, Any], Any]:
    """Fit a row of data from a start."""
    other = FunctionType(model.__code__, {"np": xp})
    pairs = [(i, j) for i in range(k) for j in range(i + 1)]

    def sums(x: Any, y: Any) -> tuple[Any, Any, Any]:
        value, along = library.linearize(lambda p: xp.ravel(other(t, *p)), x)
        columns = [along(row) for row in xp.eye(k)]
        r = value - y
        gradient = xp.stack([xp.sum(column * r) for column in columns])
        return 0.5 * xp.sum(r * r), gradient, xp.stack([xp.sum(columns[i] * columns[j]) for i, j in pairs])

    def step(state: Any, y: Any) -> Any:
        x, damping, cost, gradient, matrix, scale, count, _ = state
        diagonal = xp.stack([matrix[pairs.index((i, i))] for i in range(k)])
        scale = xp.maximum(scale, diagonal)
        change = xp.stack(_solve(xp, matrix, damping * scale, gradient, pairs))
        trial = x - change
        tried = sums(trial, y)
        gained, predicted = cost - tried[0], 0.5 * xp.sum(change * (gradient + damping * scale * change))
        better = xp.isfinite(tried[0]) & (gained > 0)
        flat = (xp.abs(gained) <= stopping.ftol * cost) & (gained > 0.25 * predicted)
        flat |= predicted <= 4 * _EPS * cost
        x, cost, gradient, matrix = (
            xp.where(better, new, old)
            for new, old in zip((trial, *tried), (x, cost, gradient, matrix), strict=True)
        )
        damping = xp.where(better, xp.maximum(0.1 * damping, 1e-12), xp.minimum(10 * damping, 1e16))
        return x, damping, cost, gradient, matrix, scale, count + 1, flat

    def fit(y: Any, x: Any) -> Any:
        first = (x, xp.asarray(1e-3), *sums(x, y), xp.zeros(k), xp.asarray(1), xp.asarray(False))
        going = lambda state: ~state[-1] & (state[-2] < stopping.most)  # noqa: E731
        return library.lax.while_loop(going, lambda state: step(state, y), first)[0]

    return fit


def _solve(xp: Any, matrix: Any, added: Any, right: Any, pairs: list[tuple[int, int]]) -> list[Any]:
    """Solve a symmetric system, with numbers added to its diagonal, by Cholesky's decomposition."""
    k = len(right)
    factor: dict[tuple[int, int], Any] = {}
    for at, (i, j) in enumerate(pairs):
        value = matrix[at] - sum(factor[i, c] * factor[j, c] for c in range(j))
        factor[i, j] = xp.sqrt(value + added[i]) if i == j else value / factor[j, j]
    x = list(right)
    for i in range(k):
        x[i] = (x[i] - sum(factor[i, j] * x[j] for j in range(i))) / factor[i, i]
    for i in reversed(range(k)):
        x[i] = (x[i] - sum(factor[j, i] * x[j] for j in range(i + 1, k))) / factor[i, i]
    return x
