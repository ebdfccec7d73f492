"""Margins: `pad` adds them to an array, `trim_zeros` removes margins of zeros.

The axes get their margins one after another, so that later margins include the earlier ones, as in NumPy.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.conversion import concrete_array
from tapegrad.frontend.functions.reductions.extremes import max as largest
from tapegrad.frontend.functions.reductions.extremes import min as smallest
from tapegrad.frontend.functions.reductions.predicates import FUNCTIONS as PREDICATES
from tapegrad.frontend.functions.reductions.reductions import mean
from tapegrad.frontend.functions.shapes.embedding import among_integers, among_zeros
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.elementwise import where
from tapegrad.frontend.recording.record import read_now
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import broadcast_to, contiguous
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor

_BY_POSITION = (
    "edge",
    "reflect",
    "symmetric",
    "wrap",
)  # modes whose margins consist of elements of the array
_MAX_CACHED_ROWS = 4096  # rows of a result up to which their numbers are cached
_ARGUMENTS: dict[str, tuple[str, Any]] = {  # the argument of each mode, and its default
    "constant": ("constant_values", 0),
    "linear_ramp": ("end_values", 0),
    "reflect": ("reflect_type", "even"),
    "symmetric": ("reflect_type", "even"),
    "maximum": ("stat_length", None),
    "mean": ("stat_length", None),
    "minimum": ("stat_length", None),
}
_MODES = (
    "constant",
    "edge",
    "empty",
    "linear_ramp",
    "maximum",
    "mean",
    "minimum",
    "reflect",
    "symmetric",
    "wrap",
)


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Tensor:
    """Return the input with margins around it.

    Parameters
    ----------
    array : Tensor or array_like
        Input.
    pad_width : int, sequence or dict
        Widths of the margins: ``n`` all around, ``(before, after)`` along every axis, ``((before, after), ...)`` for
        each axis, or a dict from axes to widths.
    mode : str, default 'constant'
        Contents of the margins: 'constant', 'empty' (zeros), 'edge', 'reflect', 'symmetric', 'wrap', 'linear_ramp',
        'maximum', 'mean', 'minimum'.
    **kwargs
        As for ``numpy.pad``: `constant_values` and `end_values`, which can be Tensors, `reflect_type` and
        `stat_length`.

    Returns
    -------
    Tensor
        A copy. Gradients flow through the margins, too.

    Raises
    ------
    ValueError
        For an unknown mode or argument, negative widths, and margins that an empty axis cannot be given.
    UnsupportedError
        For the mode 'median', and functions as modes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.pad(tg.tensor([1.0, 2.0]), (1, 2))
    Tensor([0., 1., 2., 0., 0.])
    >>> tg.pad(tg.tensor([1.0, 2.0, 3.0]), 2, mode="reflect")
    Tensor([3., 2., 1., 2., 3., 2., 1.])
    """
    x = as_numbers(array, "numpy.pad")
    argument = _argument_of(mode, kwargs)
    margins = _margins(pad_width, x.ndim)
    if x.dtype.kind not in DIFFERENTIABLE_KINDS and (mode not in _BY_POSITION or argument == "odd"):
        return _of_integers(x, margins, mode, kwargs)
    if mode == "empty" or (mode == "constant" and _is_zero(argument)):
        return _among_zeros(x, margins)
    if mode in _BY_POSITION and argument != "odd":
        extend: Any = functools.partial(_by_position, mode)
    elif mode in _BY_POSITION:
        extend = functools.partial(_reflected, 1 if mode == "symmetric" else 0)
    else:
        extend = functools.partial(_MARGINS[mode], _pairs(argument, x, mode))
    padded = x
    for axis, widths in enumerate(margins):
        if any(widths):
            if mode != "constant" and x.shape[axis] == 0:
                raise ValueError(
                    f"numpy.pad: mode {mode!r} cannot extend axis {axis} of shape {x.shape}, which is empty"
                )
            padded = extend(padded, axis, widths)
    return padded if padded is not x else contiguous(x)


# --- arguments ---------------------------------------------------------------------------------------------------


def _argument_of(mode: Any, given: dict[str, Any]) -> Any:
    """Return the argument of a mode, None if it has none."""
    if callable(mode) or mode == "median":
        raise UnsupportedError(
            f"numpy.pad: mode={mode!r} of Tensors is not supported; join the margins with concatenate()"
        )
    if mode not in _MODES:
        raise ValueError(f"numpy.pad: there is no mode {mode!r}, but {', '.join(_MODES)}")
    name, default = _ARGUMENTS.get(mode, ("", None))
    if unknown := sorted(given.keys() - {name}):
        raise ValueError(f"numpy.pad: mode {mode!r} does not take {', '.join(unknown)}")
    return given.get(name, default)


def _number(value: Any, name: str) -> Any:
    return concrete_array(value, f"{name} of numpy.pad") if is_tensor(value) else value


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == 0


def _margins(width: Any, ndim: int) -> list[tuple[int, int]]:
    """Return the widths before and after each axis."""
    pair = width if type(width) is tuple and len(width) == 2 else (width, width)
    if _is_pair(pair):
        return [pair] * ndim
    if type(width) is tuple and len(width) == ndim and all(map(_is_pair, width)):
        return list(width)
    if isinstance(width, dict):
        of_axes: list[Any] = [(0, 0)] * ndim
        for axis, each in width.items():
            of_axes[normalize_axis_index(axis, ndim)] = (each, each) if isinstance(each, int) else each
        width = of_axes
    widths = np.asarray(_number(width, "pad_width"))
    if widths.dtype.kind not in "iu" and ndim:
        raise TypeError(f"numpy.pad: pad_width must be of integers, not {widths.dtype}")
    if (widths < 0).any():
        raise ValueError("numpy.pad: pad_width cannot contain negative values")
    return [(before, after) for before, after in _broadcast(widths, ndim, "pad_width").tolist()]


def _is_pair(widths: Any) -> bool:
    """Return whether an argument is a pair of widths, as plain integers."""
    if type(widths) is not tuple or len(widths) != 2:
        return False
    before, after = widths
    return type(before) is int and type(after) is int and before >= 0 and after >= 0


def _broadcast(values: np.ndarray, ndim: int, what: str) -> np.ndarray:
    """Broadcast an argument to a pair for each axis."""
    try:
        return np.broadcast_to(values, (ndim, 2))
    except ValueError:
        raise ValueError(
            f"numpy.pad: {what} of shape {values.shape} does not give a pair for each of {ndim} axes"
        ) from None


def _pairs(argument: Any, x: Tensor, mode: str) -> Any:
    """Return the argument of a mode for each axis and side: Tensors of the dtype of `x`, or numbers of elements."""
    name, _ = _ARGUMENTS[mode]
    if name == "stat_length":
        if argument is None:
            return [(extent, extent) for extent in x.shape]
        lengths = _broadcast(np.asarray(_number(argument, name)), x.ndim, name)
        if (lengths <= 0).any():
            raise ValueError("numpy.pad: stat_length must be positive")
        return [
            tuple(min(n, extent) for n in pair)
            for pair, extent in zip(lengths.tolist(), x.shape, strict=True)
        ]
    values = as_numbers(argument, "numpy.pad").astype(x.dtype, copy=False)
    _broadcast(values.data_or_traced(), x.ndim, name)
    return broadcast_to(values, (x.ndim, 2))


# --- margins: of an array along an axis, both sides at once --------------------------------------------------------


def _of_integers(x: Tensor, margins: list[tuple[int, int]], mode: Any, kwargs: dict[str, Any]) -> Tensor:
    """Pad integers or booleans by NumPy, which rounds statistics of them."""
    options = {name: _number(value, name) for name, value in kwargs.items()}
    if mode in ("constant", "empty"):
        whole = np.pad(np.zeros(x.shape, x.dtype), margins, mode, **options)
        return among_integers(x, whole, _inside(x.shape, margins))
    return from_array(np.pad(read_now(x), margins, mode, **options), constant=True)


def _inside(shape: tuple[int, ...], margins: list[tuple[int, int]]) -> Any:
    """Return the key of the region between the margins."""
    return (
        *[slice(before, before + extent) for (before, _), extent in zip(margins, shape, strict=True)],
        ...,
    )


def _among_zeros(x: Tensor, margins: list[tuple[int, int]]) -> Tensor:
    return among_zeros(x, *_region_inside(x.shape, tuple(margins)), "numpy.pad")


@functools.lru_cache(256)
def _region_inside(
    extents: tuple[int, ...], margins: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """Return the whole shape, and the first element and the steps of the region between the margins."""
    shape = tuple([before + e + after for (before, after), e in zip(margins, extents, strict=True)])
    steps = tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])
    return shape, sum([before * step for (before, _), step in zip(margins, steps, strict=True)]), steps


def _by_position(mode: Any, x: Tensor, axis: int, widths: tuple[int, int]) -> Tensor:
    extent = x.shape[axis]
    few = extent + sum(widths) <= _MAX_CACHED_ROWS
    rows = _padded_rows(mode, extent, widths) if few else np.pad(np.arange(extent), widths, mode)
    return x[(slice(None),) * axis + (rows,)]


@functools.lru_cache(64)
def _padded_rows(mode: Any, extent: int, widths: tuple[int, int]) -> np.ndarray:
    rows: np.ndarray = np.pad(np.arange(extent), widths, mode)
    rows.flags.writeable = False
    return rows


def _constant(values: Any, x: Tensor, axis: int, widths: tuple[int, int]) -> Tensor:
    sides = [_spread(values[axis, side], x, axis, width) for side, width in enumerate(widths)]
    return concatenate([sides[0], x, sides[1]], axis)


def _ramp(ends: Any, x: Tensor, axis: int, widths: tuple[int, int]) -> Tensor:
    sides = []
    for side, width in enumerate(widths):
        steps = np.arange(width, dtype=x.dtype) / np.array(max(width, 1), x.dtype)
        steps = (steps[::-1] if side else steps).reshape((-1,) + (1,) * (x.ndim - axis - 1))
        end, edge = ends[axis, side], _part(x, axis, slice(-1, None) if side else slice(0, 1))
        sides.append(end + (edge - end) * steps)
    return concatenate([sides[0], x, sides[1]], axis)


def _statistic(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Make the margins that contain a statistic of the elements next to them."""

    def extended(lengths: Any, x: Tensor, axis: int, widths: tuple[int, int]) -> Tensor:
        sides = []
        for side, (width, length) in enumerate(zip(widths, lengths[axis], strict=True)):
            near = _part(x, axis, slice(-length, None) if side else slice(0, length))
            sides.append(_spread(function(near, axis, keepdims=True), x, axis, width))
        return concatenate([sides[0], x, sides[1]], axis)

    return extended


_MARGINS: dict[str, Callable[..., Tensor]] = {
    "constant": _constant,
    "linear_ramp": _ramp,
    "maximum": _statistic(largest),
    "mean": _statistic(mean),
    "minimum": _statistic(smallest),
}


def _part(x: Tensor, axis: int, rows: Any) -> Tensor:
    return x[(slice(None),) * axis + (rows,)]


def _spread(value: Tensor, x: Tensor, axis: int, width: int) -> Tensor:
    """Return a view of a value as a margin of `x`."""
    return broadcast_to(value, (*x.shape[:axis], width, *x.shape[axis + 1 :]))


def _reflected(shared: int, x: Tensor, axis: int, widths: tuple[int, int]) -> Tensor:
    """Return odd reflections at the edges, repeated; `shared` is 1 if the edge itself is reflected too.

    Beyond an edge e the margin is 2e minus the elements before it. It is periodic up to a trend: it grows by twice
    the difference of the edges in each period.
    """
    extent = x.shape[axis]
    if extent == 1 and not shared:
        return _by_position("edge", x, axis, widths)
    period = 2 * (extent - 1 + shared)
    sides = []
    for positions in (np.arange(-widths[0], 0), np.arange(extent, extent + widths[1])):
        periods, position = np.divmod(positions, period)
        back = position >= extent
        line = (-1,) + (1,) * (x.ndim - axis - 1)
        mirrored = _part(x, axis, np.where(back, period - shared - position, position))
        sign, first, last = (
            factor.astype(x.dtype).reshape(line)
            for factor in (np.where(back, -1, 1), -2 * periods, 2 * periods + 2 * back)
        )
        edges = [(first, _part(x, axis, slice(0, 1))), (last, _part(x, axis, slice(-1, None)))]
        parts = [where(factor != 0, factor * edge, 0.0) for factor, edge in edges]
        sides.append(sign * mirrored + (parts[0] + parts[1]))
    return concatenate([sides[0], x, sides[1]], axis)


# --- removal -----------------------------------------------------------------------------------------------------


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Tensor:
    """Return the input without the zeros at its beginning and its end.

    Parameters
    ----------
    filt : Tensor or array_like
        Input.
    trim : str, default 'fb'
        Ends to trim: 'f' in front, 'b' behind, or both.
    axis : int or tuple of int, optional
        Axes to shorten. All by default: the smallest box that holds what is not zero is left.

    Returns
    -------
    Tensor
        A view of `filt`.

    Notes
    -----
    While a function is being recorded, where the zeros are becomes a guard: other data are replayed as long as the
    result has the same place.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.trim_zeros(tg.tensor([0.0, 0.0, 1.0, 0.0, 2.0, 0.0]))
    Tensor([1., 0., 2.])
    """
    x = as_numbers(filt, "numpy.trim_zeros")
    sides = trim.lower()
    if not sides or set(sides) - {"f", "b"}:
        raise ValueError(f"numpy.trim_zeros: trim must be 'f', 'b' or 'fb', not {trim!r}")
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    key = [slice(None)] * x.ndim
    positions = PREDICATES["nonzero"](x) if x.ndim else ()
    for each in axes:
        found = positions[each]
        begin = int(found.min()) if "f" in sides and found.size else 0
        end = int(found.max()) + 1 if "b" in sides and found.size else x.shape[each]
        key[each] = slice(0, 0) if found.size == 0 else slice(begin, end)
    return x[(*key, ...)]


FUNCTIONS = {"pad": pad, "trim_zeros": trim_zeros}
