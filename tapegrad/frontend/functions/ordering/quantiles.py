"""Medians, percentiles and quantiles: interpolation between elements of sorted lines."""

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tapegrad.frontend.conversions.guarded_results import call_guarded
from tapegrad.frontend.functions.ordering.sorted_lines import SortedLines, in_order
from tapegrad.frontend.functions.reductions.lines import (
    axes_of,
    constant,
    floating,
    is_inexact,
    kept_shape,
    lines_along,
    operand,
)
from tapegrad.frontend.functions.reductions.statistics import weights_along
from tapegrad.frontend.indexing.indexing import gather
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record import read_now
from tapegrad.frontend.recording.record_structural import in_shape
from tapegrad.frontend.recording.shape import broadcast_to, in_c_order
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.frontend.words.array_like import Axis
from tapegrad.frontend.words.derived_docs import like, renamed

_isnan = ELEMENTWISE["isnan"]


# --- positions in a sorted line --------------------------------------------------------------------------------


def _between(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    """Make a continuous rule by Hyndman and Fan, "Sample quantiles in statistical packages" (1996)."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _stepped(n: Any, q: Any) -> Any:
    """Return the position between two elements at a step of the empirical distribution, otherwise the next element."""
    position = n * q - 1
    return np.floor(position) + np.where(position % 1 == 0, 0.5, 1.0)


def _nearest_even(n: Any, q: Any) -> Any:
    position = n * q - 1.5
    down = (position % 1 == 0) & (np.floor(position) % 2 == 1)
    return np.maximum(np.floor(position) + ~down, 0)


MEDIAN = "the mean of the two in the middle"  # not a method that a user can request
# Positions of the quantile `q` in a sorted line of `n` elements, fractional between two elements.
_POSITIONS: dict[str, Callable[[Any, Any], Any]] = {
    "inverted_cdf": lambda n, q: np.maximum(np.ceil(n * q - 1), 0),
    "averaged_inverted_cdf": _stepped,
    "closest_observation": _nearest_even,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _between(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _between(3 / 8.0, 3 / 8.0),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "nearest": lambda n, q: np.around((n - 1) * q),
    MEDIAN: lambda n, q: (n - 1) * q,
}
_DISCRETE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


class QuantileQuery(NamedTuple):
    """Request for quantiles: the arguments that the functions of this file share."""

    name: str
    q: np.ndarray
    weak: bool  # True if `q` is a Python number, whose dtype is weak
    axis: Axis
    method: str = "linear"
    keepdims: bool = False
    weights: Any = None
    skips_nan: bool = False

    @property
    def picks(self) -> bool:
        """True if the results are elements, never between two of them."""
        return self.method in _DISCRETE or (self.method == "linear" and self.q.dtype.kind != "f")


def asked(name: str, q: Any, x: Tensor, percent: bool, **arguments: Any) -> QuantileQuery:
    """Return a request with quantiles in [0, 1]."""
    weak, method = type(q) in (int, float), arguments["method"]
    fractions = np.asarray(q, x.dtype) if weak else read_now(q)
    if percent:
        fractions = np.asarray(np.true_divide(fractions, x.dtype.type(100)))
    if fractions.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    outside = fractions[~((fractions >= 0) & (fractions <= 1))]
    if outside.size:
        what, last = ("Percentiles", 100) if percent else ("Quantiles", 1)
        raise ValueError(f"{what} must be in the range [0, {last}]; {name}: q has {outside[0] * last:.6g}")
    if method not in _POSITIONS or method == MEDIAN:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {', '.join([*_POSITIONS][:-1])}")
    return QuantileQuery(name, fractions, weak, **arguments)


def quantiles_or_nan(x: Tensor, query: QuantileQuery) -> Tensor:
    """Return quantiles of the lines along axes, NaN for lines without elements."""
    if 0 not in x.shape:
        return quantiles_of(x, query)
    axes = axes_of(query.axis, x.ndim)
    if math.prod([x.shape[k] for k in axes]) > 0:
        return quantiles_of(x, query)
    kept = kept_shape(axes, x.shape)
    shape = kept if query.keepdims else tuple(e for k, e in enumerate(kept) if k not in axes)
    if math.prod(shape):
        warnings.warn("Mean of empty slice.", RuntimeWarning, stacklevel=3)
    return from_array(np.full((*query.q.shape, *shape), np.nan, x.dtype), constant=True)


def quantiles_of(x: Tensor, query: QuantileQuery) -> Tensor:
    """Return quantiles of the lines along axes; the axes of `q` come first."""
    shape = x.shape
    axes = axes_of(query.axis, len(shape))
    if 0 in shape and math.prod([shape[k] for k in axes]) == 0:
        raise IndexError(f"{query.name}: there are no elements along axis {query.axis} of shape {shape}")
    lines = lines_along(x, axes, shape)
    if query.weights is not None:
        result = _weighted(x, lines, axes, query)
    elif query.skips_nan:
        result = _of_numbers(lines, query)
    else:
        result = _of_all(lines, query)
    if not query.keepdims:
        return result
    return in_shape(result, (*query.q.shape, *kept_shape(axes, shape)))


def _within(positions: np.ndarray, last: Any) -> np.ndarray:
    """Return positions clipped to those of the elements."""
    limited: np.ndarray = np.minimum(np.maximum(positions, 0), last)
    return limited


def _of_all(lines: Tensor, query: QuantileQuery) -> Tensor:
    """Return quantiles of lines, NaN for lines with a NaN."""
    ordered = in_order(lines)
    count = ordered.shape[-1]
    if query.q.ndim:
        positions = _within(_POSITIONS[query.method](count, query.q.reshape(-1, 1)), count - 1)
        result = _interpolated(ordered, np.repeat(positions, math.prod(ordered.shape[:-1]), 1), query)
    else:
        position = min(max(_POSITIONS[query.method](count, query.q[()]), 0), count - 1)
        result = _one(ordered, math.floor(position), position - math.floor(position), query)
    if ordered.has_no_nan:
        return result
    last = ordered.element(-1)
    return select(_isnan(last), last, result)


def _one(ordered: SortedLines, below: int, part: Any, query: QuantileQuery) -> Tensor:
    """Interpolate between two neighbours of each sorted line."""
    if part == 0 and (query.weak or query.picks):
        return ordered.alone(below)
    low = ordered.element(below)
    if part == 0:
        return low.astype(np.result_type(low.dtype, query.q.dtype))
    return _between_two(low, ordered.element(below + 1), float(part) if query.weak else part, query)


def _between_two(low: Tensor, high: Tensor, part: Any, query: QuantileQuery) -> Tensor:
    """Interpolate between two Tensors at a fraction; the mean of two infinities is infinite."""
    result: Tensor = (low + high) / 2.0 if query.method == MEDIAN else low + (high - low) * part
    return result


def _interpolated(ordered: SortedLines, positions: np.ndarray, query: QuantileQuery) -> Tensor:
    """Return sorted lines interpolated at positions: a row for each quantile, a column for each line."""
    count = ordered.shape[-1]
    below = np.floor(positions)
    parts, shape = positions - below, (*query.q.shape, *ordered.shape[:-1])
    rows = below.astype(np.int64)
    if positions.shape[1] > 1:
        rows += count * np.arange(positions.shape[1])
    low = ordered.elements(rows, shape)
    if query.picks:
        return low
    above = rows + (parts > 0)
    parts = parts.reshape(shape)
    parts = parts.astype(low.dtype) if query.weak else parts
    return _between_two(low, ordered.elements(above, shape), parts, query)


# --- lines with nan, and weights -------------------------------------------------------------------------------


def _of_numbers(lines: Tensor, query: QuantileQuery) -> Tensor:
    """Return quantiles of the numbers in each line; a recording guards their count."""
    counts = np.atleast_1d(call_guarded(_how_many_numbers, lines)).reshape(-1)
    if np.any(counts == 0):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=4)
    used = np.maximum(counts, 1).astype(query.q.dtype)
    positions = _within(_POSITIONS[query.method](used, query.q.reshape(-1, 1)), used - 1)
    return _interpolated(in_order(lines), positions, query)


def _how_many_numbers(lines: np.ndarray) -> np.ndarray:
    counts: np.ndarray = np.sum(~np.isnan(lines), axis=-1)
    return counts


def _weighted(x: Tensor, lines: Tensor, axes: tuple[int, ...], query: QuantileQuery) -> Tensor:
    """Return elements of each line by the cumulative weights; a recording guards the positions."""
    if query.method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {query.method}.")
    given = None if query.axis is None else normalize_axis_tuple(query.axis, x.ndim)
    weights = weights_along(operand(query.weights, query.name), given, x.shape)
    beside = lines_along(broadcast_to(weights, x.shape), axes, x.shape)
    rows = call_guarded(_weighted_rows, lines, beside, query.q.reshape(-1), query.skips_nan)
    return gather(in_c_order(lines), rows, (*query.q.shape, *lines.shape[:-1]), 1)


def _weighted_rows(lines: np.ndarray, weights: np.ndarray, q: np.ndarray, skips_nan: bool) -> np.ndarray:
    """Return the row numbers of quantiles by NumPy: a row for each quantile, a column for each line."""
    if np.any(weights < 0):
        raise ValueError("Weights must be non-negative.")
    count = lines.shape[-1]
    pairs = zip(lines.reshape(-1, count), weights.reshape(-1, count), strict=True)
    columns = [_weighted_line(line, own, q, skips_nan) + k * count for k, (line, own) in enumerate(pairs)]
    return np.stack(columns, 1) if columns else np.zeros((len(q), 0), np.int64)


def _weighted_line(line: np.ndarray, weights: np.ndarray, q: np.ndarray, skips_nan: bool) -> np.ndarray:
    order = np.argsort(line, kind="stable")
    missing = int(np.sum(np.isnan(line)))
    if skips_nan and missing < len(line):
        order = order[: len(line) - missing]
    elif missing:
        return np.full(len(q), order[-1])
    cdf = np.cumsum(weights[order], dtype=np.float64)
    if not (np.isfinite(cdf[-1]) and cdf[-1] > 0):
        raise ValueError("Weights included NaN, inf or were all zero.")
    cdf = (cdf / cdf[-1]).astype(q.dtype if q.dtype.kind == "f" else np.float64)
    cdf[cdf == 0] = -1  # the quantile 0 is the first element with a weight
    return order[np.minimum(np.searchsorted(cdf, q, side="left"), len(order) - 1)]


# --- functions -------------------------------------------------------------------------------------------------


def make_median(
    name: str, compute: Callable[[Tensor, QuantileQuery], Tensor], skips_nan: bool = False
) -> Callable[..., Tensor]:
    """Make `median`, or the version that ignores NaNs."""
    full = f"numpy.{name}"

    def median(
        a: Any, axis: Axis = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
    ) -> Tensor:
        """Compute the median along axes.

        Parameters
        ----------
        a : Tensor or array_like
            Elements whose middle is asked for. Integers and booleans are converted to float64.
        axis : int or tuple of int, optional
            Axes to compute along; all by default.
        out : Tensor or numpy.ndarray, optional
            Destination of the result; a plain array takes constants only.
        overwrite_input : bool, default False
            Accepted because ``numpy.median`` has it; the operand is left as it is.
        keepdims : bool, default False
            Keep the reduced axes with extent 1.

        Returns
        -------
        Tensor
            The middle of the sorted elements, or the mean of the two in the middle; nan if one of them is nan.

        Warns
        -----
        RuntimeWarning
            If there are no elements.

        Notes
        -----
        The cotangent goes to the one or two elements in the middle. A replay sorts anew.

        Examples
        --------
        >>> import tapegrad as tg
        >>> x = tg.tensor([5.0, 1.0, 2.0, 9.0])
        >>> tg.median(x).backward()
        >>> x.grad
        array([0.5, 0. , 0.5, 0. ])
        """
        x = floating(a, name)
        half = np.asarray(0.5, x.dtype)
        query = QuantileQuery(full, half, True, axis, MEDIAN, keepdims, skips_nan=skips_nan)
        result = compute(x, query) + 0.0  # 0.0, for a mean is never -0.0
        return result if out is None else deliver(result, out, name=full)

    return renamed(median, name)


def make_quantile(
    name: str, compute: Callable[[Tensor, QuantileQuery], Tensor], percent: bool, skips_nan: bool = False
) -> Callable[..., Tensor]:
    """Make `percentile`, `quantile`, or their versions that ignore NaNs."""
    full, plain = f"numpy.{name}", getattr(np, name)

    def quantile(
        a: Any,
        q: Any,
        axis: Axis = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Tensor:
        """Compute percentiles along axes.

        Parameters
        ----------
        a : Tensor or array_like
            Elements to rank.
        q : array_like
            Which percentiles, from 0 to 100.
        axis : int or tuple of int, optional
            Axes to compute along; all by default.
        out : Tensor or numpy.ndarray, optional
            Destination of the result; a plain array takes constants only.
        overwrite_input : bool, default False
            Accepted because ``numpy.percentile`` has it; the operand is left as it is.
        method : str, default 'linear'
            Interpolation method, as for ``numpy.percentile``.
        keepdims : bool, default False
            Keep the reduced axes with extent 1.
        weights : array_like, optional
            How much each element counts, for the method 'inverted_cdf'; no gradient flows into them.

        Returns
        -------
        Tensor
            The shape of `q`, followed by that of `a` without the reduced axes; nan where an element is nan. Those of
            integers and booleans are constants.

        Raises
        ------
        ValueError
            For percentiles out of range, methods that do not exist, and weights with another method.

        Notes
        -----
        The cotangent goes to the elements that are interpolated. A replay sorts anew.

        Examples
        --------
        >>> import tapegrad as tg
        >>> x = tg.tensor([4.0, 1.0, 2.0])
        >>> tg.percentile(x, [0, 75])
        Tensor([1., 3.])
        """
        x = operand(a, name)
        arguments = {"axis": axis, "method": method, "keepdims": keepdims, "weights": weights}
        if is_inexact(x):
            result = compute(x, asked(full, q, x, percent, **arguments, skips_nan=skips_nan))
        else:
            result = constant(plain, x, q, **arguments)
        return result if out is None else deliver(result, out, name=full)

    return renamed(quantile, name)


FRACTIONS = (("percentile", "quantile"), ("from 0 to 100", "from 0 to 1"))
median = make_median("median", quantiles_or_nan)
percentile = make_quantile("percentile", quantiles_of, percent=True)
quantile = like(
    percentile,
    *FRACTIONS,
    examples=""">>> x = tg.tensor([4.0, 1.0, 2.0])
>>> tg.quantile(x, 0.75).backward()
>>> x.grad
array([0.5, 0. , 0.5])""",
)(make_quantile("quantile", quantiles_of, percent=False))


FUNCTIONS = {"median": median, "percentile": percentile, "quantile": quantile}
