"""Indices that each replay computes: element numbers, with a check of bounds in each replay."""

import math
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.guarded_results import is_computed
from tapegrad.frontend.indexing.keys import element_numbers, parts_of
from tapegrad.frontend.recording.record_structural import record_new
from tapegrad.frontend.recording.shape import broadcast_to, in_c_order, reshape
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.ops import CODES
from tapegrad.ops.structural.indexing import CLIP, RAISE, WRAP, LocateParams

_LOCATE = CODES["locate"]
_INT64 = np.dtype(np.int64)
_MODES = {"raise": RAISE, "wrap": WRAP, "clip": CLIP}


def is_computed_index(value: Any) -> bool:
    """Return whether a value is a Tensor of integers that each replay computes."""
    if not (is_tensor(value) and value.dtype.kind in "iu" and is_computed(value)):
        return False
    recorder = thread.mode.recorder
    return recorder is not None and not recorder.wraps(value)


def has_computed_index(key: Any) -> bool:
    """Return whether a key contains an index that each replay computes."""
    return any(map(is_computed_index, key)) if isinstance(key, tuple) else is_computed_index(key)


def located(numbers: Any, indices: Tensor, extent: int, step: int, mode: str = "raise") -> Tensor:
    """Compute ``numbers + step * indices`` in each replay, for indices along an axis of `extent` elements.

    Parameters
    ----------
    numbers : numpy.ndarray or Tensor
        Values for the other axes; broadcasts with the indices.
    mode : {'raise', 'wrap', 'clip'}
        Treatment of an index out of range, as for ``numpy.take``.
    """
    shape = np.broadcast_shapes(numbers.shape, indices.shape)
    indices = _spread(indices if indices.dtype == _INT64 else indices.astype(_INT64), shape)
    stride = int(math.prod(numbers.shape) > 1)
    if stride:
        numbers = _spread(numbers, shape)
    if not is_tensor(numbers):
        numbers = from_array(np.ascontiguousarray(numbers, np.int64), constant=True)
    params = LocateParams(extent, step, _MODES[mode], stride)
    return record_new(_LOCATE, [numbers, indices], shape, params, "index", _INT64)


def _spread(values: Any, shape: tuple[int, ...]) -> Any:
    """Return integers in a shape, contiguous in C order."""
    if not is_tensor(values):
        return np.broadcast_to(values, shape)
    return in_c_order(values if values.shape == shape else broadcast_to(values, shape))


def numbers_of_key(shape: tuple[int, ...], key: Any) -> Tensor:
    """Compute in each replay the number, in C order, of each element that `key` selects from an array of `shape`.

    NumPy is asked with zeros in place of the indices that are computed; these are added along their axes.
    """
    parts = key if isinstance(key, tuple) else (key,)
    computed = {k: part for k, part in enumerate(parts) if is_computed_index(part)}
    others = iter(parts_of(tuple(part for k, part in enumerate(parts) if k not in computed))[0])
    parts = tuple(computed[k].data_or_traced() if k in computed else next(others) for k in range(len(parts)))
    np.broadcast_to(np.False_, shape)[parts]  # NumPy's error for an element that does not exist
    zeros = tuple(np.zeros(part.shape, np.intp) if k in computed else part for k, part in enumerate(parts))
    numbers: Tensor | np.ndarray = element_numbers(shape, zeros)
    for k, indices in computed.items():
        axis = _axis_of(k, parts, len(shape))
        columns = _columns_behind(k, axis, zeros, shape)
        spread = reshape(indices, (*indices.shape, *(1,) * columns))
        numbers = located(numbers, spread, shape[axis], math.prod(shape[axis + 1 :]))
    assert is_tensor(numbers)
    return numbers


def _axis_of(k: int, parts: tuple[Any, ...], ndim: int) -> int:
    """Return the axis that a part of a key indexes."""
    before = [part is Ellipsis for part in parts[:k]]
    return ndim - sum(map(_axes_of, parts[k:])) if any(before) else sum(map(_axes_of, parts[:k]))


def _axes_of(part: Any) -> int:
    """Return the number of axes that a part of a key indexes; the ellipsis excluded."""
    if isinstance(part, np.ndarray) and part.dtype == bool:
        return part.ndim
    return 0 if part is None else 1


def _columns_behind(k: int, axis: int, key: tuple[Any, ...], shape: tuple[int, ...]) -> int:
    """Return how many dimensions of an index's result follow those of part `k` of the key.

    NumPy tells, by the entry of the part that leads to each element.
    """
    part = key[k]
    entries = np.arange(part.size).reshape(part.shape)
    wide = (*shape[:axis], max(part.size, 1), *shape[axis + 1 :])
    line = np.arange(wide[axis]).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
    found = np.broadcast_to(line, wide)[(*key[:k], entries, *key[k + 1 :])]
    return next(
        columns
        for columns in range(found.ndim - part.ndim + 1)
        if _leads(entries.reshape((*part.shape, *(1,) * columns)), found)
    )


def _leads(entries: np.ndarray, found: np.ndarray) -> bool:
    """Return whether entries, broadcast, equal those that were found."""
    try:
        return bool(np.array_equal(np.broadcast_to(entries, found.shape), found))
    except ValueError:
        return False
