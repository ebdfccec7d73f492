"""`RegularGridInterpolator`: interpolation on rectangular grids of any dimension."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tapegrad.interpolate.arguments import constant, constants, increasing, like_scipys, reals, trailing
from tapegrad.interpolate.bspline import polynomials_of
from tapegrad.interpolate.intervals import intervals_of
from tapegrad.interpolate.linear_maps import SplineProblem, solved, times

_DEGREES = {"linear": 1, "slinear": 1, "cubic": 3, "quintic": 5}
_METHODS = ("linear", "nearest", "slinear", "cubic", "quintic")
_MAX_KEPT = 16  # tables


class RegularGridInterpolator:
    """Interpolator of values on a rectangular grid, as `scipy.interpolate.RegularGridInterpolator`.

    Parameters
    ----------
    points : sequence of array_like
        Grid points of each dimension, strictly increasing or decreasing. Constants.
    values : Tensor or array_like, shape (m1, ..., mn, ...)
        Values at the grid points.
    method : {'linear', 'nearest', 'slinear', 'cubic', 'quintic'}, default 'linear'
        Piecewise linear, the nearest value, or tensor products of splines of degree 1, 3 and 5.
    bounds_error : bool, default True
        Raise if a place is outside of the grid. A recorded function guards that there is none.
    fill_value : float, Tensor or None, default nan
        Value outside of the grid, without `bounds_error`; None to extrapolate.

    Attributes
    ----------
    grid : tuple of numpy.ndarray
        Grid points of each dimension, in increasing order.
    values : Tensor or numpy.ndarray
        Values, in the order of `grid`.
    method : str
        Method of calls that give none.
    bounds_error : bool
        Whether places outside of the grid raise.
    fill_value : float, Tensor or None
        Value outside of the grid.

    Raises
    ------
    UnsupportedError
        If the grid points are Tensors that something is differentiated by.
    ValueError
        If the shapes do not fit, the points are not in order, or there is no such method.

    Notes
    -----
    Derivatives are by the values and by the places. On a boundary between cells the derivative by a place is that of
    the cell with the larger coordinates. That by the place of a nearest value is 0.

    Splines are SciPy's to within the tolerance of its iterative solver: here, the systems are solved directly.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> x, y = np.arange(3.0), np.arange(4.0)
    >>> plane = tg.interpolate.RegularGridInterpolator((x, y), 2 * x[:, None] + 3 * y)
    >>> plane([[0.5, 0.5], [1.5, 2.0]])
    array([2.5, 9. ])
    >>> tg.grad(lambda place: plane(place)[0])(np.array([0.5, 0.5]))
    array([2., 3.])
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
    ) -> None:
        name = "RegularGridInterpolator"
        _check_method(method)
        given = [constants(name, line, f"points[{i}]") for i, line in enumerate(points)]
        descending = [
            i for i, line in enumerate(given) if line.ndim == 1 and len(line) > 1 and line[0] > line[-1]
        ]
        self.grid = tuple(
            increasing(name, line[::-1] if i in descending else line, f"points[{i}]")
            for i, line in enumerate(given)
        )
        read = reals(name, values)
        sizes = tuple(map(len, self.grid))
        if read.shape[: len(sizes)] != sizes:
            raise ValueError(f"{name}: values have shape {read.shape}, but the grid has shape {sizes}")
        self._values = np.flip(read, tuple(descending)) if descending else read
        self._check_sizes(method)
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value

    @property
    def values(self) -> Any:
        """Values, in the order of `grid`."""
        return like_scipys(self._values)

    def _check_sizes(self, method: str) -> None:
        degree = _DEGREES.get(method, 0)
        for i, line in enumerate(self.grid):
            if len(line) <= degree:
                raise ValueError(
                    f"RegularGridInterpolator: method={method!r} needs {degree + 1} points in each dimension, but"
                    f" points[{i}] has {len(line)}"
                )

    def __call__(self, xi: Any, method: str | None = None, *, nu: Sequence[int] | None = None) -> Any:
        """Return the values at places.

        Parameters
        ----------
        xi : Tensor or array_like, shape (..., n), or tuple of n of them
            Places, or their coordinates, which broadcast.
        method : str, optional
            That of the interpolator by default.
        nu : sequence of int, optional
            Order of the derivative by each coordinate; of splines only.

        Returns
        -------
        Tensor or numpy.ndarray
            Of the shape of a coordinate, followed by that of a value. An array if nothing is differentiated by.
        """
        method = self.method if method is None else method
        _check_method(method)
        self._check_sizes(method)
        orders = self._orders(method, nu)
        places = self._places(xi)
        shape, count = places.shape[:-1], len(self.grid)
        coordinates = [places[..., i].reshape(-1) for i in range(count)]
        outside = self._outside(coordinates)
        if method == "nearest":
            value = self._nearest(coordinates)
        else:
            axes = [
                _weights(line, x, method, order)
                for line, x, order in zip(self.grid, coordinates, orders, strict=True)
            ]
            value = _contracted(self._coefficients(method), axes)
        behind = value.shape[1:]
        if not self.bounds_error and self.fill_value is not None:
            value = np.where(trailing(outside, behind), self.fill_value, value)
        is_nan = np.isnan(places).reshape(-1, count).any(-1)
        value = np.where(trailing(is_nan, behind), np.nan, value)
        return like_scipys(value.reshape(*shape, *behind))

    def _orders(self, method: str, nu: Sequence[int] | None) -> Sequence[int]:
        count = len(self.grid)
        if nu is None:
            return (0,) * count
        if method in ("linear", "nearest"):
            raise ValueError(f"RegularGridInterpolator: nu needs a spline, but method={method!r}")
        if len(nu) != count or min(nu) < 0:
            raise ValueError(f"RegularGridInterpolator: nu={nu} must be {count} orders that are not negative")
        return nu

    def _places(self, xi: Any) -> Any:
        """Return places as a Tensor of shape (..., n)."""
        name, count = "RegularGridInterpolator", len(self.grid)
        if isinstance(xi, tuple) and len(xi) > 1:
            places = np.stack(np.broadcast_arrays(*(reals(name, x) for x in xi)), axis=-1)
        else:
            places = reals(name, xi[0] if isinstance(xi, tuple) else xi)
            if places.ndim == 1:
                places = places.reshape(-1, count)
        if places.ndim == 0 or places.shape[-1] != count:
            raise ValueError(f"{name}: places of shape {places.shape} in a grid of dimension {count}")
        return places

    def _outside(self, coordinates: list[Any]) -> Any:
        """Return which places are outside of the grid; raise if there is one and it must not be."""
        outside: Any = False
        for i, (line, x) in enumerate(zip(self.grid, coordinates, strict=True)):
            beyond = (x < line[0]) | (x > line[-1])
            if self.bounds_error and bool(np.any(beyond | np.isnan(x))):
                raise ValueError(
                    f"RegularGridInterpolator: a place is outside of the grid in dimension {i}, from {line[0]} to"
                    f" {line[-1]}; bounds_error=False gives fill_value there"
                )
            outside = outside | beyond
        return outside

    def _nearest(self, coordinates: list[Any]) -> Any:
        cells = []
        for line, x in zip(self.grid, coordinates, strict=True):
            index, share = _cell(line, x)
            cells.append(index + (share > 0.5))
        return self._values[tuple(cells)]

    def _coefficients(self, method: str) -> Any:
        """Return the coefficients of tensor products of B-splines."""
        result = self._values
        if _DEGREES[method] == 1:
            return result
        for i, line in enumerate(self.grid):
            matrix = solved(_problem(line, _DEGREES[method]), 0).by_values
            result = np.moveaxis(times(matrix, np.moveaxis(result, i, 0)), 0, i)
        return result


def _check_method(method: str) -> None:
    if method not in _METHODS:
        raise ValueError(
            f"RegularGridInterpolator: method must be one of {', '.join(map(repr, _METHODS))}, not {method!r}"
        )


def _problem(line: np.ndarray, degree: int) -> SplineProblem:
    return SplineProblem(line.tobytes(), None, degree)


def _cell(line: np.ndarray, x: Any) -> tuple[Any, Any]:
    """Return the cell of each coordinate, and the share of its width that is to the left."""
    index = intervals_of(line, x)
    starts, widths = (constant(each)[index] for each in (line, np.diff(line)))
    return index, (x - starts) / widths


class AxisWeights(NamedTuple):
    """Basis functions of one dimension at places: the number of the first one, and all that are not 0."""

    first: Any
    weights: Any


def _weights(line: np.ndarray, x: Any, method: str, order: int) -> AxisWeights:
    """Return basis functions, or their derivatives of an order."""
    if _DEGREES[method] == 1 and order == 0:
        index, share = _cell(line, x)
        return AxisWeights(index, np.stack([1.0 - share, share], axis=-1))
    breaks, tables = _basis(line.tobytes(), _DEGREES[method])
    degree = len(tables) - 1
    index = intervals_of(breaks, x)
    distance = (x - constant(breaks)[index])[:, None]
    value: Any = 0.0 * distance
    for power in range(degree, order - 1, -1):
        row = math.perm(power, order) * tables[degree - power]
        value = value * distance + constant(row)[index]
    return AxisWeights(index, value * np.ones(degree + 1))


@lru_cache(_MAX_KEPT)
def _basis(line: bytes, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Return breakpoints, and polynomials of the basis functions: by power, interval and basis function."""
    knots = _problem(np.frombuffer(line), degree).knots()
    breaks = knots[degree:-degree]
    count = len(breaks) - 1
    # no knot is there twice but at the ends, so that the functions of interval i are i, ..., i + degree
    matrix = polynomials_of(knots.tobytes(), degree).toarray().reshape(degree + 1, count, -1)
    intervals = np.arange(count)[:, None]
    return breaks, matrix[:, intervals, intervals + np.arange(degree + 1)]


def _contracted(coefficients: Any, axes: list[AxisWeights]) -> Any:
    """Return the sum over the products of basis functions at each place, with their coefficients."""
    dims = len(axes)
    index = []
    for i, axis in enumerate(axes):
        width = axis.weights.shape[-1]
        numbers = np.arange(width).reshape(1, *[1] * i, width, *[1] * (dims - 1 - i))
        index.append(trailing(axis.first, [1] * dims) + numbers)
    value = coefficients[tuple(index)]  # (places, width, ..., width, ...)
    behind = value.shape[dims + 1 :]
    for axis in reversed(axes):
        axis_at = value.ndim - len(behind) - 1
        weights = axis.weights.reshape(-1, *[1] * (axis_at - 1), axis.weights.shape[-1], *[1] * len(behind))
        value = np.sum(value * weights, axis=axis_at)
    return value
