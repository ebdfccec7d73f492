"""Selection of elements by index and by condition."""

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.frontend.conversions.guarded_results import is_recording
from tapegrad.frontend.functions.reductions.predicates import FUNCTIONS as PREDICATES
from tapegrad.frontend.indexing.indexing import getitem, pick, rows_now
from tapegrad.frontend.indexing.locating import is_computed_index, located
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record import read_now
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import ravel, reshape
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, is_tensor
from tapegrad.frontend.words.derived_docs import like

_nonzero = PREDICATES["nonzero"]


def whole_numbers(indices: Any, name: str) -> Any:
    """Return indices as an array of integers, which a recording guards, or as a Tensor that replays compute."""
    if is_computed_index(indices):
        return indices
    if type(indices) is np.ndarray and indices.dtype == np.int64:
        return read_now(indices)
    array = read_now(indices) if is_tensor(indices) else np.asarray(indices)
    if array is indices:
        read_now(array)
    if array.size == 0 and array.dtype == np.float64:  # an empty list
        return array.astype(np.int64)
    if not np.can_cast(array.dtype, np.int64, "same_kind"):
        raise TypeError(f"{name}: indices must be integers, not {array.dtype}")
    return array.astype(np.int64, copy=False)


def along(indices: np.ndarray, extent: int, mode: str, axis: int | None, name: str) -> Any:
    """Return indices along an axis, made nonnegative by NumPy's `mode` for indices out of bounds."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"{name}: mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    if indices.size == 0:
        return indices
    if extent == 0:
        raise IndexError(f"{name}: cannot select elements from an axis of extent 0")
    if mode == "clip":
        return np.clip(indices, 0, extent - 1)
    if mode == "raise":
        wrong = indices[(indices < -extent) | (indices >= extent)]
        if wrong.size:
            of_axis = "" if axis is None else f"axis {axis} of "
            raise IndexError(f"{name}: index {wrong.flat[0]} is out of bounds for {of_axis}extent {extent}")
    return indices % extent


def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    """Select elements by index along an axis.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to select from.
    indices : array_like of int
        Which ones. A Tensor of integers that a recorded function computes is read at each replay.
    axis : int, optional
        Axis to select along; by default the elements are flattened.
    out : Tensor or numpy.ndarray, optional
        Destination of the result.
    mode : {'raise', 'wrap', 'clip'}, default 'raise'
        Treatment of an index out of range: an error, the remainder, or the nearest one.

    Returns
    -------
    Tensor
        A copy; of the shape of `a` with that of `indices` in place of the axis.

    Raises
    ------
    IndexError
        If an index is out of range.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> tg.take(x, [2, 0, 2]).backward()
    >>> x.grad
    array([1., 0., 2.])
    """
    name = "numpy.take"
    x = as_numbers(a, name)
    if axis is None:
        x, axis = ravel(x), 0
    x = reshape(x, 1) if x.ndim == 0 else x
    indices = np.asarray(indices) if type(indices) is list else indices
    whole = type(indices) is np.ndarray and indices.dtype == np.int64
    if whole and mode == "raise" and axis == 0 and out is None and not is_recording():
        taken = rows_now(x, indices)
        if taken is not None:
            return taken
    axis = normalize_axis_index(axis, x.ndim)
    result = _take(x, whole_numbers(indices, name), axis, mode, name)
    return deliver(result, out, name=name)


def _take(x: Tensor, indices: Any, axis: int, mode: str, name: str) -> Tensor:
    """Gather slices along the axis, for each index of the axes before it."""
    shape, extent = x.shape, x.shape[axis]
    before, length = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    now = indices.data_or_traced() if is_tensor(indices) else indices
    inside = along(now, extent, mode, axis, name)
    first = np.arange(before, dtype=np.int64)[:, None] * extent
    if is_tensor(indices):
        rows: Any = located(first, reshape(indices, (1, -1)), extent, 1, mode)
    else:
        rows = (first + inside.reshape(1, -1)).reshape(-1)
    return pick(x, rows, (*shape[:axis], *now.shape, *shape[axis + 1 :]), length)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    """Select elements along an axis, for each line by its own indices.

    Parameters
    ----------
    arr : Tensor or array_like
        Elements to select from.
    indices : array_like of int
        For each line the elements to select, as `argsort` returns them. The other dimensions broadcast with `arr`.
    axis : int or None, default -1
        Axis to select along. If None, the elements are flattened.

    Returns
    -------
    Tensor
        A copy; along the axis as long as `indices`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tg.take_along_axis(x, [[1], [0]], axis=1)
    Tensor([[2.],
            [3.]])
    """
    x = as_numbers(arr, "numpy.take_along_axis")
    if axis is None:
        x, axis = ravel(x), 0
    key = lines_key(x.shape, indices, axis, "numpy.take_along_axis")
    taken = None if is_recording() else rows_now(x, key)
    return getitem(x, key) if taken is None else taken


def lines_key(shape: tuple[int, ...], indices: Any, axis: int, name: str) -> tuple[Any, ...]:
    """Return the key that selects, along an axis, from each line by its own indices."""
    axis = normalize_axis_index(axis, len(shape))
    try:
        array = whole_numbers(indices, name)
    except TypeError as error:
        raise IndexError(str(error)) from None  # NumPy raises here
    if array.ndim != len(shape):
        raise ValueError(f"{name}: indices of shape {array.shape} for an array of shape {shape}")
    lines = [_line(extent, len(shape) - 1 - d) for d, extent in enumerate(shape)]
    return (*lines[:axis], array, *lines[axis + 1 :])


def _line(extent: int, behind: int) -> np.ndarray:
    """Return all indices along an axis followed by some dimensions."""
    return np.arange(extent).reshape((extent,) + (1,) * behind)


# --- by condition ----------------------------------------------------------------------------------------------


def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """Select the slices along an axis where a condition holds.

    Parameters
    ----------
    condition : array_like of bool
        One-dimensional. If it is shorter than the axis, what is behind it is left out.
    a : Tensor or array_like
        Elements to select from.
    axis : int, optional
        Axis to select along; by default the elements are flattened.
    out : Tensor or numpy.ndarray, optional
        Destination of the result.

    Returns
    -------
    Tensor
        A copy.

    Notes
    -----
    The shape depends on the condition: while a function is being recorded it becomes a guard.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.compress([False, True], tg.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    Tensor([[3., 4.]])
    """
    if np.ndim(condition) != 1:
        raise ValueError(f"numpy.compress: condition must have one dimension, not {np.ndim(condition)}")
    (indices,) = _nonzero(condition)
    x = as_numbers(a, "numpy.compress")
    x = ravel(x) if axis is None else x
    axis = normalize_axis_index(axis or 0, x.ndim)
    return deliver(_take(x, indices, axis, "raise", "numpy.compress"), out, name="numpy.compress")


def extract(condition: Any, arr: Any) -> Tensor:
    """Return the elements where a condition holds, in one dimension.

    Parameters
    ----------
    condition : array_like
        Elements that are not 0 hold; as many as `arr` has.
    arr : Tensor or array_like
        Elements to select from.

    Returns
    -------
    Tensor
        A copy.

    Notes
    -----
    The shape depends on the condition: while a function is being recorded it becomes a guard.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, -2.0, 3.0])
    >>> tg.extract(x > 0, x)
    Tensor([1., 3.])
    """
    x = ravel(as_numbers(arr, "numpy.extract"))
    (indices,) = _nonzero(ravel(condition) if is_tensor(condition) else np.ravel(condition))
    taken = None if is_recording() else rows_now(x, indices)
    return _take(x, indices, 0, "raise", "numpy.extract") if taken is None else taken


FUNCTIONS = {function.__name__: function for function in (take, take_along_axis, compress, extract)}


@like(
    compress,
    parameters="""condition : array_like of bool
    One-dimensional.
axis : int, optional
    Axis to select along; by default the elements are flattened.
out : Tensor or numpy.ndarray, optional
    Destination of the result.""",
    see_also="tapegrad.compress : The same as a function.",
    notes="",
    examples=">>> tg.tensor([1.0, 2.0, 3.0]).compress([True, False, True])\nTensor([1., 3.])",
)
def _compress_method(x: Tensor, condition: Any, axis: int | None = None, out: Any = None) -> Any:
    return compress(condition, x, axis, out)


bind_methods(take=take, compress=_compress_method)
