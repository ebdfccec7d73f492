"""Constant sparse matrices of interpolators: what SciPy computes of values is linear in them.

SciPy is given unit vectors. Far from its knot a spline through a unit vector decays, by a factor of four a knot if it
is cubic, so distant unit vectors share a column.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.functions.products.sparse import product

_FIRST_STRIDE = 128  # between unit vectors in one column
_NEGLIGIBLE = 1e-20  # of the largest entry in a row
_ROUNDING = 1e-12
_MAX_KEPT = 16  # matrices, each of some 70 entries a knot

Map = Callable[[np.ndarray], np.ndarray]


def times(matrix: Any, values: Any) -> Any:
    """Multiply a sparse matrix by values along their first axis."""
    if values.ndim == 1:
        return product(matrix, values)
    flat = values.reshape(values.shape[0], -1)
    return product(matrix, flat).reshape(matrix.shape[0], *values.shape[1:])


def matrix_of(apply: Map, columns: int, levels: int = 1) -> Any:
    """Return the matrix of a linear map in CSR format.

    Parameters
    ----------
    apply
        Takes a matrix of `columns` rows, and returns one with as many columns.
    columns
        Number of columns.
    levels
        Number of stacked blocks, in each of which the entries are near the diagonal.
    """
    stride = _FIRST_STRIDE
    while True:
        found = _probed(apply, columns, stride, levels)
        if stride >= columns or _agree(found, apply):
            return found
        stride *= 4


def _probed(apply: Map, columns: int, stride: int, levels: int) -> Any:
    """Return the matrix if entries that are `stride` apart from the diagonal vanish."""
    from scipy.sparse import csr_array

    starts = np.linspace(0, columns, max(columns // stride, 1) + 1).astype(np.int64)
    lengths = np.diff(starts)
    offsets = np.arange(columns) - np.repeat(starts[:-1], lengths)
    units = np.zeros((columns, lengths.max()))
    units[np.arange(columns), offsets] = 1.0
    values = apply(units)
    rows = len(values)
    centres = np.arange(rows) % (rows // levels) * columns // (rows // levels)
    numbers = _nearest(centres, starts, lengths, columns)
    kept = np.abs(values) > _NEGLIGIBLE * np.abs(values).max(axis=1, keepdims=True)
    at = np.nonzero(kept)
    return csr_array((values[at], (at[0], numbers[at])), (rows, columns))


def _nearest(centres: np.ndarray, starts: np.ndarray, lengths: np.ndarray, columns: int) -> np.ndarray:
    """Return for each row and each column of unit vectors the unit vector that is nearest, in a circle."""
    own = np.searchsorted(starts, centres, "right") - 1
    offsets = np.arange(lengths.max())
    best = np.full((len(centres), len(offsets)), columns + 1)
    found = np.zeros(best.shape, np.int64)
    for shift in (0, -1, 1):
        block = (own + shift) % len(lengths)
        numbers = starts[block][:, None] + offsets
        distance = np.abs(numbers - centres[:, None])
        distance = np.minimum(distance, columns - distance)
        distance[offsets >= lengths[block][:, None]] = columns
        nearer = distance < best
        best[nearer], found[nearer] = distance[nearer], numbers[nearer]
    return found


def _agree(matrix: Any, apply: Map) -> bool:
    """Return whether matrix and map give the same for a random vector."""
    vector = np.random.default_rng(0).standard_normal(matrix.shape[1])
    error = np.abs(matrix @ vector - apply(vector[:, None])[:, 0])
    return bool(np.all(error <= _ROUNDING * (abs(matrix) @ np.abs(vector))))


class SplineProblem(NamedTuple):
    """Problem whose solution is linear in values: slopes of a cubic spline, or coefficients of B-splines.

    Attributes
    ----------
    x
        The knots, as bytes.
    ends
        Conditions at the ends as SciPy takes them, but orders without values.
    k
        Degree of the B-splines; -1 for slopes.
    t
        Knots of the B-splines, as bytes, if they are given.
    """

    x: bytes
    ends: Any
    k: int = -1
    t: bytes | None = None

    def solve(self, columns: np.ndarray, unit: int = -1) -> np.ndarray:
        """Return the solution for values in columns; one of the values at the ends is 1."""
        return self._solved(columns, unit)[0]

    def knots(self) -> np.ndarray:
        """Return the knots of the B-splines."""
        return self._solved(np.zeros((len(np.frombuffer(self.x)), 1)), -1)[1]

    def _solved(self, columns: np.ndarray, unit: int) -> tuple[np.ndarray, np.ndarray]:
        from scipy.interpolate import CubicSpline, make_interp_spline

        x, ends = np.frombuffer(self.x), self._ends(columns.shape[1], unit)
        if self.k < 0:
            return CubicSpline(x, columns, bc_type=ends)(x, 1), x
        t = None if self.t is None else np.frombuffer(self.t)
        spline = make_interp_spline(x, columns, self.k, t, ends)
        return spline.c, spline.t

    def _ends(self, width: int, unit: int) -> Any:
        if self.ends is None or isinstance(self.ends, str):
            return self.ends
        numbers = count()

        def with_values(orders: Any) -> Any:
            if orders is None or isinstance(orders, str):
                return orders
            pairs = [(order, np.full(width, float(next(numbers) == unit))) for order in orders]
            return pairs[0] if self.k < 0 else pairs

        return tuple(map(with_values, self.ends))


def split_ends(name: str, bc_type: Any, pairs_in_lists: bool) -> tuple[Any, list[Any]]:
    """Return conditions at the ends without their values, and the values."""
    if bc_type is None or isinstance(bc_type, str):
        return bc_type, []
    if len(bc_type) != 2:
        raise ValueError(f"{name}: bc_type must be a string or a pair, for the start and for the end")
    ends: list[Any] = []
    values = []
    for end in bc_type:
        if end is None or isinstance(end, str):
            ends.append(end)
            continue
        try:
            pairs = [(int(order), value) for order, value in (end if pairs_in_lists else [end])]
        except (TypeError, ValueError) as error:
            wanted = "a list of pairs (order, value)" if pairs_in_lists else "a pair (order, value)"
            raise ValueError(f"{name}: bc_type has {end!r:.60} for an end, but must have {wanted}") from error
        ends.append(tuple(order for order, _ in pairs))
        values += [value for _, value in pairs]
    return tuple(ends), values


class SplineSolution(NamedTuple):
    """Solution of a problem: matrices by the values and by the values at the ends, and the knots."""

    by_values: Any
    by_ends: np.ndarray
    knots: np.ndarray


@lru_cache(_MAX_KEPT)
def solved(problem: SplineProblem, ends: int) -> SplineSolution:
    """Return the solution of a problem with so many values at the ends."""
    size = len(np.frombuffer(problem.x))
    knots = problem.knots()
    if problem.ends == "periodic":  # which has the first value twice
        matrix = matrix_of(lambda y: problem.solve(np.concatenate([y, y[:1]])), size - 1)
    else:
        matrix = matrix_of(problem.solve, size)
    by_ends = [problem.solve(np.zeros((size, 1)), unit) for unit in range(ends)]
    return SplineSolution(
        matrix, np.concatenate(by_ends, axis=1) if by_ends else np.zeros((len(knots), 0)), knots
    )


def solution(problem: SplineProblem, y: Any, values: list[Any]) -> Any:
    """Return the solution of a problem for Tensors."""
    found = solved(problem, len(values))
    result = times(found.by_values, y[:-1] if problem.ends == "periodic" else y)
    for column, value in zip(found.by_ends.T, values, strict=True):
        result = result + column.reshape(-1, *[1] * value.ndim) * value
    return result
