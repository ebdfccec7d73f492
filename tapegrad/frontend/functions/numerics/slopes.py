"""Differences of neighbours: numerical derivatives, and angles without jumps."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.guarded_results import is_recording
from tapegrad.frontend.functions.reductions.predicates import all as every
from tapegrad.frontend.functions.shapes.joining import concatenated
from tapegrad.frontend.indexing.indexing import getitem
from tapegrad.frontend.recording.record_structural import as_numbers, as_tensor
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words.array_like import Axis


def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Compute derivatives by differences: central ones inside, one-sided ones at the ends.

    Parameters
    ----------
    f : Tensor or array_like
        Values of a function on a grid.
    *varargs : Tensor, array_like or number
        Spacing: one number for all axes, or for each axis a number or the coordinates along it. 1 by default.
    axis : int or tuple of int, optional
        Axes along which to differentiate; all by default.
    edge_order : {1, 2}, default 1
        Accuracy of the differences at the ends.

    Returns
    -------
    Tensor or tuple of Tensor
        One for each axis, of the shape of `f`; for a single axis that alone.

    Raises
    ------
    ValueError
        If an axis is too short, or coordinates have another length.
    TypeError
        If there are not as many spacings as axes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.gradient(tg.tensor([0.0, 1.0, 4.0, 9.0]), 0.5)
    Tensor([ 2.,  4.,  8., 10.])
    """
    x = as_numbers(f, "numpy.gradient")
    if x.dtype.kind not in DIFFERENTIABLE_KINDS:
        x = x.astype(np.float64)
    shape = x.shape
    axes = tuple(range(len(shape))) if axis is None else normalize_axis_tuple(axis, len(shape))
    if edge_order > 2:
        raise ValueError(f"numpy.gradient: edge_order must be 1 or 2, not {edge_order}")
    spacings = _spacings(x, varargs, axes)
    for k in axes:
        if shape[k] < edge_order + 1:
            raise ValueError(
                f"numpy.gradient: axis {k} of shape {shape} is too short: edge_order={edge_order} takes"
                f" {edge_order + 1} elements"
            )
    slopes = tuple(_slopes(_SampledLine(x, k, h), edge_order) for k, h in zip(axes, spacings, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def _spacings(x: Tensor, given: tuple[Any, ...], axes: tuple[int, ...]) -> list[Any]:
    """Return for each axis a number, or the steps between its coordinates."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        given = given * len(axes)
    if len(given) != len(axes):
        raise TypeError(f"numpy.gradient: {len(given)} spacings for {len(axes)} axes")
    return [_steps(each, x.shape[k], k) for each, k in zip(given, axes, strict=True)]


def _steps(given: Any, extent: int, axis: int) -> Any:
    if np.ndim(given) == 0:
        return given
    points = as_numbers(given, "numpy.gradient")
    if points.shape != (extent,):
        raise ValueError(
            f"numpy.gradient: coordinates of shape {points.shape} along axis {axis}, which has {extent} elements"
        )
    points = points if points.dtype.kind in DIFFERENTIABLE_KINDS else points.astype(np.float64)
    steps = points[1:] - points[:-1]
    # As in NumPy; a derivative by the coordinates is by all of them
    return steps[0] if points.constant and extent > 1 and every(steps == steps[0]) else steps


class _SampledLine(NamedTuple):
    """Values, the axis of differentiation, and the steps along it: one number, or an array."""

    values: Tensor
    axis: int
    steps: Any

    def part(self, start: int | None, stop: int | None) -> Any:
        """Return a slice along the axis."""
        part = slice(start, stop)
        return getitem(self.values, (*(slice(None),) * self.axis, part) if self.axis else part)

    def is_uniform(self) -> bool:
        """Return whether all steps are one number."""
        return not is_tensor(self.steps) or self.steps.ndim == 0

    def step(self, start: int | None, stop: int | None) -> Any:
        """Return the steps of a slice, in a shape that broadcasts against its values."""
        if self.is_uniform():
            return self.steps
        behind = self.values.ndim - 1 - self.axis
        return self.steps[start:stop].reshape((-1,) + (1,) * behind)


def _slopes(line: _SampledLine, edge_order: int) -> Tensor:
    """Join the slopes inside with those at both ends."""
    first, last = (_edge if edge_order == 1 else _smooth_edge)(line)
    parts = [first, last]
    if line.values.shape[line.axis] > 2:
        parts.insert(1, _inner(line))
    joined, dtype = concatenated(parts, line.axis), line.values.dtype
    return joined if joined.dtype == dtype else joined.astype(dtype)


def _inner(line: _SampledLine) -> Any:
    below, above = line.part(None, -2), line.part(2, None)
    if line.is_uniform():
        return (above - below) / (2.0 * line.steps)
    h0, h1 = line.step(None, -1), line.step(1, None)
    weights = -h1 / (h0 * (h0 + h1)), (h1 - h0) / (h0 * h1), h0 / (h1 * (h0 + h1))
    return weights[0] * below + weights[1] * line.part(1, -1) + weights[2] * above


def _edge(line: _SampledLine) -> tuple[Any, Any]:
    """Return the differences of the two elements at each end."""
    first, last = line.part(1, 2) - line.part(0, 1), line.part(-1, None) - line.part(-2, -1)
    if type(line.steps) is float and line.steps == 1.0 and first.dtype.kind == "f":
        return first, last  # a quotient of complex numbers may have another sign of zero
    return first / line.step(0, 1), last / line.step(-1, None)


def _smooth_edge(line: _SampledLine) -> tuple[Any, Any]:
    """Return the slopes at each end of the parabola through three elements."""
    uniform = line.is_uniform()
    steps = [line.step(*ends) for ends in ((0, 1), (1, 2), (-1, None), (-2, -1))]
    a, b, c = (line.part(*ends) for ends in ((0, 1), (1, 2), (2, 3)))
    z, y, x = (line.part(*ends) for ends in ((-1, None), (-2, -1), (-3, -2)))
    if uniform:
        h = line.steps
        return -1.5 / h * a + 2.0 / h * b + -0.5 / h * c, 0.5 / h * x + -2.0 / h * y + 1.5 / h * z
    u, v, w = _parabola(steps[0], steps[1])
    first = -u * a + v * b + -w * c
    u, v, w = _parabola(steps[2], steps[3])
    return first, w * x + -v * y + u * z


def _parabola(h0: Any, h1: Any) -> tuple[Any, Any, Any]:
    """Return the weights in the slope of the parabola through three elements, at the first, by two steps before it."""
    return (2.0 * h0 + h1) / (h0 * (h0 + h1)), (h0 + h1) / (h0 * h1), h0 / (h1 * (h0 + h1))


def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = math.tau) -> Tensor:
    """Unwrap angles: add multiples of a period so that neighbours differ by at most half of it.

    Parameters
    ----------
    p : Tensor or array_like
        Angles.
    discont : float, optional
        Differences up to this one stay; half a period, which is also the least, by default.
    axis : int, default -1
        Axis along which neighbours lie.
    period : float, default 2 pi
        The period.

    Returns
    -------
    Tensor
        Same shape as `p`.

    Notes
    -----
    What is added is constant between the jumps, so the derivative is 1.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.unwrap(tg.tensor([0.0, 3.0, 6.5, 0.5]))
    Tensor([0.        , 3.        , 0.21681469, 0.5       ])
    """
    x = as_tensor(p, "numpy.unwrap")
    if x.dtype.kind != "f":
        return as_tensor(np.unwrap(np.asarray(x), discont, axis, period=period), "numpy.unwrap")
    axis = normalize_axis_index(axis, x.ndim)
    key: list[slice] = [slice(None)] * x.ndim
    key[axis] = slice(1, None)
    with no_grad():
        seen = x if is_recording() else x.data_or_traced()
        added = np.cumsum(
            _jumps(seen[tuple(key)] - seen[(*key[:axis], slice(None, -1))], discont, period), axis
        )
        line = list(x.shape)
        line[axis] = min(1, x.shape[axis])
        added = np.concatenate([np.zeros(line, x.dtype), added], axis)
    return x + added.astype(x.dtype, copy=False)


def _jumps(steps: Any, discont: float | None, period: float) -> Any:
    """Return the corrections of the steps, multiples of the period."""
    half = period / 2
    within = np.mod(steps + half, period) - half
    within = np.where((within == -half) & (steps > 0), half, within)
    return np.where(np.abs(steps) < (half if discont is None else discont), 0.0, within - steps)


FUNCTIONS: dict[str, Callable[..., Any]] = {"gradient": gradient, "unwrap": unwrap}
