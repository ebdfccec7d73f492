"""In-place writes: each makes a new version of the memory, and recorded instructions keep reading the old one."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.status import checked, raise_for
from tapegrad.engine.sweep.eager import writes
from tapegrad.engine.tape import memory, slots, views
from tapegrad.engine.tape.fields.layout import E_KEPT, E_KERNEL, E_SHAPES, I64, NONE
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES, Tape
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.indexing.elements import begin_writes
from tapegrad.frontend.indexing.keys import (
    is_basic,
    listed_numbers,
    numbers_in_memory,
    parts_of,
    slot_of_key,
    view_key,
)
from tapegrad.frontend.recording.record import as_boolean, as_float, cast, read_now, read_within, unary
from tapegrad.frontend.recording.record_structural import as_numbers, record_new
from tapegrad.frontend.recording.rules import Step, Value, masked_multiply, state_transpose
from tapegrad.frontend.recording.shape import contiguous, in_own_buffer, reshape, view_region
from tapegrad.frontend.tensor import modes
from tapegrad.frontend.tensor.anomaly import watch
from tapegrad.frontend.tensor.array_checks import refuse_complex
from tapegrad.frontend.tensor.modes import EAGER, thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor, stale_leaf_slots, view_of
from tapegrad.ops import CODES, COPY
from tapegrad.ops.params import Region
from tapegrad.ops.structural.indexing import WriteParams

_WRITE, _SCATTER = CODES["write"], CODES["scatter_write"]
_SLOT = (1 << 32) - 1  # bits of a write's return value that hold the slot


def setitem(x: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``."""
    base = x if x._base is None else x._base
    if base._version == 0:
        begin_writes(base, x)
    if type(key) is not np.ndarray and _write_at_once(x, key, value):
        return
    if not _write_elements_at_once(x, key, value):
        _write(x, key, value)


# --- writes by the engine alone ----------------------------------------------------------------------------------


def _write_at_once(x: Tensor, key: Any, value: Any) -> bool:
    """Write a Tensor or a number by the engine. Return whether it takes this key and value."""
    mode = thread.mode
    tape, base, array = mode.tape, x._base, x._array
    if base is None:
        base = x
    elif array is None:
        array = base._array  # the engine checks whether its own views are writeable
    if mode.observed or base._tape is not tape or not (array is None or array.flags.writeable):
        return False
    header, kind, slot = tape.header, type(value), NONE
    if kind is Tensor:
        if value._tape is not tape:
            return False
        slot = value._slot_on(tape)
    elif kind is not float and kind is not int and kind is not np.float64:
        return False
    own = x._slot  # read after the value's slot: the value may be `x` itself, which has just taken a new slot
    target = slot_of_key(header, own, key) if own >= 0 else NONE
    if target < 0:
        return False
    before = base._slot  # another thread may give the base a new slot at any time
    if slot >= 0:
        written = writes.write(header, _WRITE, before, target, slot, mode.differentiate)
    else:
        written = writes.write_number(header, _WRITE, before, target, value, mode.differentiate)
    if written < 0:
        slots.drop(header, target)
        return False
    if written != before:
        _become(base, written)
    return True


def _write_elements_at_once(x: Tensor, key: Any, value: Any) -> bool:
    """Write a number, or a Tensor of as many elements, to listed elements. Return whether the engine takes them.

    The engine refuses numbers out of bounds, negative ones among them.
    """
    mode = thread.mode
    tape, header = mode.tape, mode.tape.header
    if mode.observed or x._base is not None or x._tape is not tape:
        return False
    array = x.data_or_traced()
    flags = array.flags
    if not (flags.writeable and flags.c_contiguous):
        return False
    numbers = listed_numbers(array.shape, key)
    if numbers is None or numbers.size == 0 or _offset(x, array) != 0:
        return False
    slot = _slot_of_elements(header, tape, value, numbers.shape, x.dtype)
    line = numbers.reshape(-1)
    rows = NONE if slot < 0 else slots.copy_array(header, id(line), I64, 0)
    written = NONE
    if rows >= 0:
        written = writes.write_rows(header, _SCATTER, x._slot, rows, slot, mode.differentiate)
        slots.drop(header, rows)
    if slot >= 0:
        slots.drop(header, slot)
    if written >= 0 and written != x._slot:
        _become(x, written)
    return written >= 0


def _slot_of_elements(
    header: int, tape: Tape, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> int:
    """Return a slot with one element for all, or one for each, and a handle on it; negative for other values."""
    if dtype.kind not in DIFFERENTIABLE_KINDS:
        return NONE
    if type(value) is not Tensor:
        kind = type(value)
        is_number = kind is float or kind is int or kind is np.float64
        return int(slots.number(header, value, DTYPE_CODES[dtype])) if is_number else NONE
    if value._tape is not tape or value.dtype != dtype:
        return NONE
    return int(views.view_shape(header, value._slot_on(tape), shape if value.shape == shape else ()))


# --- writes of any kind ------------------------------------------------------------------------------------------


def _write(x: Tensor, key: Any, value: Any) -> None:
    base = x._base if x._base is not None else x
    array = x.data_or_traced()
    if not array.flags.writeable:
        raise ValueError("assignment destination is read-only")
    tape, differentiate = modes.current()
    if tape.recording:
        _check_repeatable(base, tape, differentiate)
    parts, basic = parts_of(key)
    if base.dtype.kind not in DIFFERENTIABLE_KINDS and not base._recorded():
        _write_constant(base, array, parts, value)
        return
    selected = array[view_key(parts)] if basic else numbers_in_memory(array, parts)
    written = _value(value, selected.shape, array.dtype, tape)
    if base._slot < 0 and written.constant and (base._constant or not differentiate):
        array[parts] = written.data_or_traced()
        return
    base._slot_on(tape)
    status = _write_region(base, selected, written, differentiate) if basic else E_SHAPES
    if status == E_SHAPES:  # also for a view, if it shows an element twice
        numbers = numbers_in_memory(array, parts) if basic else selected
        status = _write_elements(base, array, numbers, written, differentiate)
    if status == E_KEPT:
        _write_undifferentiated(base, array, parts, written.data_or_traced())


def _check_repeatable(base: Tensor, tape: Any, differentiate: bool) -> None:
    """Raise for a write that a replay could not repeat, while a function is being recorded."""
    if not tape.has_made(base):
        raise RuntimeError(
            "a Tensor from outside is written to while a function is being recorded: a replay would not repeat it."
            " Return the new value from the function instead"
        )
    if not differentiate and not base.constant:
        raise UnsupportedError(
            "an in-place write under no_grad() to a value that is differentiated, while a function is being recorded:"
            " use where(), or detach() the value"
        )


# --- written values --------------------------------------------------------------------------------------------


def _value(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], tape: Any) -> Tensor:
    """Return the value to write in the dtype of the target."""
    convert = _float_value if dtype.kind in DIFFERENTIABLE_KINDS else _constant_value
    given = convert(value, dtype, tape)
    extra = given.ndim - len(shape)
    if extra > 0 and given.shape[:extra] == (1,) * extra:
        given = given[(0,) * extra]
    try:
        if np.broadcast_shapes(given.shape, shape) == tuple(shape):
            return given
    except ValueError:
        pass
    raise ValueError(
        f"setitem: a value of shape {given.shape} does not broadcast to the indexed shape {shape}"
    )


def _float_value(value: Any, dtype: np.dtype[Any], tape: Any) -> Tensor:
    given = as_numbers(value, "setitem")
    if given.dtype.kind not in DIFFERENTIABLE_KINDS:
        return as_float(given, dtype, tape, False)
    if given.dtype.kind == "c" and dtype.kind != "c":
        refuse_complex(given.dtype, f"setitem of {dtype}")
    return given if given.dtype == dtype else given.astype(dtype)


def _constant_value(value: Any, dtype: np.dtype[Any], tape: Any) -> Tensor:
    """Return a value for a recorded Tensor of integers or booleans: computed or read by each replay, or guarded."""
    if is_tensor(value):
        if value.dtype.kind not in DIFFERENTIABLE_KINDS:
            return value if value.dtype == dtype else cast(value, dtype, tape)
        if dtype.kind == "b":
            return as_boolean(value, tape)
        if value._traced():
            raise UnsupportedError(
                f"setitem: a {value.dtype} Tensor that is being recorded cannot be written into one of {dtype}: compute"
                " in floating point with floor(), rint() or trunc(), and write that into a Tensor of floats"
            )
    elif isinstance(value, np.ndarray) and value.dtype == dtype:
        return from_array(value, constant=True)
    read_within(value)
    array = np.empty(np.shape(value), dtype)
    array[...] = value  # cast by NumPy's rules, and with its errors
    return from_array(array, constant=True)


# --- versions --------------------------------------------------------------------------------------------------


def _become(base: Tensor, written: int, stays_leaf: bool = False) -> None:
    """Move a Tensor to the new version that the engine has made of it.

    With `stays_leaf`, earlier graphs send their gradients to the old slot.
    """
    tape = base._tape
    assert tape is not None
    header, slot = tape.header, written & _SLOT
    if written > _SLOT:
        tape.owners[slots.buffer_of(header, slot)] = tape.owners.pop((written >> 32) - 1)
    before, base._slot, base._version = base._slot, slot, base._version + 1
    if stays_leaf:
        stale_leaf_slots.setdefault(id(base), []).append(before)
    else:
        slots.drop(header, before)


def _recorded(base: Tensor, code: int, dtype: np.dtype[Any], write: Callable[[int], int]) -> int:
    """Write elements of a dtype to the base's slot by an op's kernel. Return 0; E_SHAPES, E_KEPT: none is written."""
    before = base._slot
    written = write(before)
    if written == E_KERNEL:
        kernel_table.load_code(code, DTYPE_CODES[dtype], 0)
        before = base._slot
        written = write(before)
    if written in (E_SHAPES, E_KEPT):
        return written
    if written < 0:
        raise_for(written, "setitem", [base.shape])
    if written != before:
        _become(base, written)
        tape = base._tape
        assert tape is not None
        watch(tape, base._slot, "setitem")
    return 0


def _write_region(base: Tensor, region: np.ndarray, value: Tensor, differentiate: bool) -> int:
    """Write to a view of the memory."""
    tape = base._tape
    assert tape is not None
    header, slot = tape.header, value._slot_on(tape)
    target = _slot_of_region(base, region)
    status = _recorded(
        base, _WRITE, region.dtype, lambda own: writes.write(header, _WRITE, own, target, slot, differentiate)
    )
    if status != 0:
        slots.drop(header, target)
    return status


def _slot_of_region(base: Tensor, region: np.ndarray) -> int:
    assert base._tape is not None
    code = DTYPE_CODES[region.dtype]
    return checked(slots.view_array(base._tape.header, base._slot, id(region), code), "setitem", region.shape)


def _write_elements(
    base: Tensor, array: np.ndarray, numbers: np.ndarray, value: Tensor, differentiate: bool
) -> int:
    """Write to the elements of `array` with these numbers; of several writes to one, the last counts."""
    tape = base._tape
    assert tape is not None
    if numbers.size == 0:
        return 0
    index = from_array(_in_buffer(base, array, numbers), constant=True)
    if value.size != 1 and (value.shape != numbers.shape or not value.data_or_traced().flags.c_contiguous):
        value = contiguous(view_of(value, np.broadcast_to(value.data_or_traced(), numbers.shape)))
    header, rows, slot = tape.header, index._slot_on(tape), value._slot_on(tape)
    return _recorded(
        base,
        _SCATTER,
        array.dtype,
        lambda own: writes.write_rows(header, _SCATTER, own, rows, slot, differentiate),
    )


def _offset(base: Tensor, array: np.ndarray) -> int:
    """Return the bytes from the start of a Tensor's buffer to an array on it; negative if it is not inside."""
    assert base._tape is not None
    return int(slots.offset_in(base._tape.header, base._slot, id(array), DTYPE_CODES[array.dtype]))


def _in_buffer(base: Tensor, array: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return numbers of elements in the buffer of `base`, from those in memory relative to the start of `array`."""
    offset = checked(_offset(base, array), "setitem", array.shape)
    return np.ascontiguousarray(numbers.reshape(-1) + offset // array.itemsize)


# --- writes without a derivative ---------------------------------------------------------------------------------


def _write_constant(base: Tensor, array: np.ndarray, key: tuple[Any, ...], value: Any) -> None:
    """Write integers or booleans by NumPy's rules. A version that a reverse sweep reads is kept."""
    if is_tensor(value):
        truths = base.dtype.kind == "b" and value.dtype.kind == "f"
        value = read_now(as_boolean(value, EAGER) if truths else value)
    read_within(value)
    if base._tape is None or not base._describe()[memory.D_KEPT]:
        array[key] = value
    else:
        _write_in_new_version(base, array, key, value)


def _write_undifferentiated(base: Tensor, array: np.ndarray, key: tuple[Any, ...], value: np.ndarray) -> None:
    """Write without a derivative: the Tensor keeps its position in the graph, earlier instructions the old contents."""
    leaf = base._describe()[memory.D_PRODUCER] < 0
    _write_in_new_version(base, array, key, value, not leaf, leaf and not base.constant)


def _write_in_new_version(
    base: Tensor,
    array: np.ndarray,
    key: tuple[Any, ...],
    value: Any,
    passes: bool = False,
    stays_leaf: bool = False,
) -> None:
    """Let NumPy write in the memory of a new version.

    With `passes`, the gradient flows to the old contents as if nothing had been written; with `stays_leaf`, earlier
    graphs send theirs to the old slot.
    """
    tape = base._tape
    assert tape is not None
    header, numbers, listed, region = tape.header, None, 0, array
    if all(map(is_basic, key)):
        region = array[view_key(key)]
    else:
        numbers = _in_buffer(base, array, numbers_in_memory(array, key))
        listed = id(numbers)
    target = _slot_of_region(base, region)
    written = writes.begin_write(header, base._slot, target, listed)
    slots.drop(header, target)
    if written < 0:
        raise_for(written, "setitem", [base.shape])
    try:
        array[key] = value
    finally:
        if passes:
            writes.pass_through(header, _WRITE, base._slot, written & _SLOT)
        _become(base, written, stays_leaf)


# --- derivatives -----------------------------------------------------------------------------------------------


def view_of_region(buffer: Tensor, region: Region) -> Tensor:
    """Return a region of the value of a buffer, as a view."""
    return view_region(buffer, View(region.offset, region.extents, region.strides, buffer.dtype))


@state_transpose
def outside_and_inside_of_the_region(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a write to a region: the value gets the region's cotangent, the old contents get the rest."""
    bars: dict[int, Value] = {}
    y_bar, region = step.dense(y_bar, -1), step.params.region
    if step.asks(1):
        bars[1] = view_of_region(y_bar, region)
    if step.asks(0):
        if 1 in bars:  # what reads the region later would keep the old contents
            bars[1] = contiguous(bars[1])
        zero = from_array(np.zeros((), y_bar.dtype), constant=True)
        bars[0] = with_region(y_bar, region._replace(other_strides=(0,) * len(region.extents)), zero)
    return bars


def with_region(buffer: Tensor, region: Region, value: Tensor) -> Tensor:
    """Return the value of a buffer with another one in a region: in the same memory where it is read no more."""
    buffer = in_own_buffer(buffer)
    return record_new(_WRITE, [buffer, value], buffer.shape, WriteParams(buffer.size, region), "write")


@state_transpose
def outside_and_inside_of_the_rows(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a write to listed rows. A recording holds the list as a constant."""
    bars: dict[int, Value] = {}
    rows, y_bar = step.x(2).data_or_traced().reshape(-1), step.dense(y_bar, -1)
    lines = step.params.rows, step.params.length
    if step.asks(1):
        bars[1] = _of_the_values(rows, reshape(y_bar, lines), step.view(1).shape)
    if step.asks(0):
        bars[0] = unary(COPY, y_bar)
        setitem(reshape(bars[0], lines), rows, 0.0)
    return bars


def _of_the_values(rows: np.ndarray, y_bar: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the cotangent of the written values: of several writes to one row the last counts."""
    last = np.zeros(len(y_bar), np.int64)
    last[rows] = np.arange(len(rows))
    counts = (last[rows] == np.arange(len(rows))).astype(y_bar.dtype)[:, None]
    taken = y_bar[rows] if counts.all() else masked_multiply(y_bar[rows], counts)
    return reshape(taken if math.prod(shape) == taken.size else taken.sum(), shape)
