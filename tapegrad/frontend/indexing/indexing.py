"""Reading parts of a Tensor: basic indexes are views, advanced ones gather."""

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad.engine.sweep.eager import eager_rows
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.engine.tape.memory import D_PRODUCER
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES
from tapegrad.frontend.indexing.elements import apart
from tapegrad.frontend.indexing.keys import element_numbers, names_elements, parts_of, slot_of_key, view_key
from tapegrad.frontend.indexing.locating import has_computed_index, is_computed_index, numbers_of_key
from tapegrad.frontend.indexing.writes import setitem
from tapegrad.frontend.recording.record import read_now
from tapegrad.frontend.recording.record_structural import record_by, record_new
from tapegrad.frontend.recording.shape import in_c_order
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import (
    Tensor,
    bind_methods,
    from_array,
    is_tensor,
    slot_to_view,
    view_from_slot,
    view_of,
)
from tapegrad.ops import CODES, COPY
from tapegrad.ops.structural.indexing import GatherParams, ScatterAddParams

_GATHER, _SCATTER_ADD = CODES["gather"], CODES["scatter_add"]
# Ops whose results are arrays in NumPy even without dimensions: copies, and new versions after a write.
_ARRAYS = {COPY, CODES["write"], CODES["scatter_write"]}


def getitem(x: Tensor, key: Any) -> Tensor:
    """``x[key]``."""
    own, tape = slot_to_view(x), x._tape
    if own >= 0 and tape is not None:
        slot = slot_of_key(tape.header, own, key)
        if slot >= 0:
            view = view_from_slot(x, slot)
            if key is not Ellipsis and (type(key) is not tuple or Ellipsis not in key):
                view._element = True
                return apart(view) if view._version and not view.shape else view
            return view
    recorder = thread.mode.recorder
    if recorder is None:
        taken = rows_now(x, key)
        if taken is not None:
            return taken
    elif has_computed_index(key):
        return _gather_computed(x, key)
    parts, basic = parts_of(key)
    if basic:
        view = view_of(x, x.data_or_traced()[view_key(parts)])
        if Ellipsis not in parts:
            view._element = True
            if not view.shape and (view._version or view._tape is None):
                return apart(view)
        return view
    if x.dtype.kind in DIFFERENTIABLE_KINDS or (recorder is not None and x.dtype in DTYPE_CODES):
        if _lists_rows(x, parts):
            rows = element_numbers(x.shape[:1], parts)
            return pick(x, rows, (*rows.shape, *x.shape[1:]), math.prod(x.shape[1:]))
        return _gather_elements(x, element_numbers(x.shape, parts))
    return from_array(np.asarray(read_now(x)[parts]), constant=True)


def _lists_rows(x: Tensor, parts: tuple[Any, ...]) -> bool:
    """Return whether a key is one array of numbers along the first of several axes."""
    (first, *others) = parts
    return not others and x.ndim > 1 and isinstance(first, np.ndarray) and first.dtype.kind in "iu"


def rows_now(x: Tensor, key: Any) -> Tensor | None:
    """Compute ``x[key]`` eagerly for an advanced key of arrays and plain integers; `None` for other keys.

    One array of row numbers or booleans takes rows, several parts take elements.
    """
    if type(key) is list:
        key = np.asarray(key)
    elif is_tensor(key):
        key = key.data_or_traced()
    if x.dtype.kind not in DIFFERENTIABLE_KINDS:
        return None
    if names_elements(key):
        numbers = element_numbers(x.shape, key)
        return record_by(eager_rows.record_rows, _GATHER, x, id(numbers), False, "getitem")
    if type(key) is not np.ndarray:
        return None
    by_rows = True
    if key.dtype == np.bool_:
        by_rows = key.shape != x.shape
        if by_rows and key.shape != x.shape[:1]:
            return None
        key = np.flatnonzero(key)
    elif key.dtype != np.int64 or not key.flags.c_contiguous:
        if not np.can_cast(key.dtype, np.int64):
            return None
        key = np.array(key, np.int64, order="C")
    return record_by(eager_rows.record_rows, _GATHER, x, id(key), by_rows, "getitem")


def _gather_elements(x: Tensor, numbers: np.ndarray) -> Tensor:
    """Gather elements by their numbers in C order, all in bounds."""
    if thread.mode.recorder is None:
        return elements_now(x, numbers)
    return gather(in_c_order(x), numbers, numbers.shape, 1)


def elements_now(x: Tensor, numbers: np.ndarray) -> Tensor:
    """Gather float elements eagerly by their numbers in C order: a contiguous int64 array, all in bounds."""
    taken = record_by(eager_rows.record_rows, _GATHER, x, id(numbers), False, "getitem")
    return gather(in_c_order(x), numbers, numbers.shape, 1) if taken is None else taken


def gather(x: Tensor, rows: Any, shape: tuple[int, ...], length: int) -> Tensor:
    """Gather rows of `length` elements of a contiguous `x`, by number."""
    count = math.prod(x.shape) // length if length else 0
    index = rows if is_tensor(rows) else from_array(rows.reshape(-1), constant=True)
    return record_new(_GATHER, [x, index], shape, GatherParams(count, length), "getitem")


def scatter_add(x: Tensor, rows: np.ndarray, shape: tuple[int, ...]) -> Tensor:
    """Return zeros of a shape with the rows of `x` added, each to the listed row."""
    index = from_array(np.ascontiguousarray(rows, np.int64), constant=True)
    params = ScatterAddParams(shape[0], math.prod(shape[1:]))
    return record_new(_SCATTER_ADD, [in_c_order(x), index], shape, params, "scatter_add")


def pick(x: Tensor, rows: Any, shape: tuple[int, ...], length: int = 1) -> Tensor:
    """Gather rows of `length` elements of any Tensor by their numbers: an array, or a Tensor that replays compute."""
    if 0 in shape:
        rows, length = np.zeros(0, np.int64), 1
    if x.dtype.kind in DIFFERENTIABLE_KINDS and length == 1 and not is_tensor(rows):
        return _gather_elements(x, rows.reshape(shape))
    if x.dtype.kind in DIFFERENTIABLE_KINDS or (thread.mode.recorder is not None and x.dtype in DTYPE_CODES):
        return gather(in_c_order(x), rows, shape, length)
    array = read_now(x).reshape(-1, length)
    return from_array(array[read_now(rows).reshape(-1)].reshape(shape), constant=True)


def _gather_computed(x: Tensor, key: Any) -> Tensor:
    """Compute ``x[key]`` with indices that each replay computes."""
    if is_computed_index(key) and key.dtype == np.int64:
        return _gather_rows(x, key)
    numbers = numbers_of_key(x.shape, key)
    return pick(x, numbers, numbers.shape)


def _gather_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Compute ``x[rows]``, where each replay computes the row numbers and checks their bounds."""
    if x.ndim == 0:
        raise IndexError("too many indices: the Tensor is 0-dimensional")
    length = math.prod(x.shape[1:])
    np.empty(x.shape[0], np.bool_)[rows.data_or_traced()]  # NumPy's error for a row that does not exist
    return pick(x, in_c_order(rows), (*rows.shape, *x.shape[1:]), length)


def _len(x: Tensor) -> int:
    shape = x.shape
    if not shape:
        raise TypeError("len() of a 0-dimensional Tensor")
    return int(shape[0])


def _iterate(x: Tensor) -> Iterator[Tensor]:
    # Each item is read when it is asked for, as NumPy does: the body of a loop may have written to it.
    return map(functools.partial(getitem, x), range(_len(x)))


def _in_place(operate: Callable[[Any, Any], Any]) -> Any:
    """Make an in-place operator: write back the result of the binary one, unless NumPy has a scalar there."""

    def update(x: Tensor, other: Any) -> Tensor:
        result: Tensor = operate(x, other)
        return result if not x.shape and _is_number(x) else _update(x, result)

    return update


def _is_number(x: Tensor) -> bool:
    """Return whether NumPy has a scalar in place of a 0-d Tensor: an indexed element, or a computed value.

    Scalars are immutable: ``a = x[0]; a += v`` leaves `x` unchanged. Created, copied or written 0-d values are
    arrays.
    """
    tape = x._tape
    if hasattr(x, "_element") or x._base is not None or tape is None or x._slot < 0:
        return hasattr(x, "_element")
    producer = x._describe()[D_PRODUCER]
    return producer != NONE and tape.entry("op", producer) not in _ARRAYS


def _update(x: Tensor, result: Any) -> Tensor:
    """Write back the result of an in-place operator, a Tensor or an array."""
    if result.shape != x.shape:
        raise ValueError(f"in-place operator: a result of shape {result.shape} does not fit shape {x.shape}")
    if x.dtype.kind not in DIFFERENTIABLE_KINDS and not np.can_cast(result.dtype, x.dtype, "same_kind"):
        raise TypeError(
            f"in-place operator: cannot write {result.dtype} into {x.dtype}; convert with astype(float)"
        )
    x[...] = result
    return x


@functools.wraps(getitem)
def _subscript(*x_and_key: Any) -> Tensor:
    # A function of two arguments would, after some calls, be called by the interpreter in place of the type's slot.
    return getitem(*x_and_key)


bind_methods(
    __getitem__=_subscript,
    __setitem__=setitem,
    __len__=_len,
    __iter__=_iterate,
    __iadd__=_in_place(operator.add),
    __isub__=_in_place(operator.sub),
    __imul__=_in_place(operator.mul),
    __itruediv__=_in_place(operator.truediv),
    __ifloordiv__=_in_place(operator.floordiv),
    __imod__=_in_place(operator.mod),
    __ilshift__=_in_place(operator.lshift),
    __irshift__=_in_place(operator.rshift),
    __ipow__=_in_place(operator.pow),
    __imatmul__=_in_place(operator.matmul),
    __iand__=_in_place(operator.and_),
    __ior__=_in_place(operator.or_),
    __ixor__=_in_place(operator.xor),
)
