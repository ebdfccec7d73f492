"""In-place writes: they make a new version of the memory, and what was recorded from the old one stays right."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.status import checked
from tapegrad.engine.sweep import eager
from tapegrad.engine.tape import memory, slots
from tapegrad.engine.tape.layout import NONE
from tapegrad.errors import UnsupportedError
from tapegrad.frontend import modes
from tapegrad.frontend.description import Description
from tapegrad.frontend.keys import element_numbers, parts_of, view_key
from tapegrad.frontend.modes import EAGER
from tapegrad.frontend.record import as_boolean, as_float, cast, read_now, read_within
from tapegrad.frontend.record_structural import as_tensor, record_out
from tapegrad.frontend.shape import contiguous
from tapegrad.frontend.tensor import Tensor, from_array, is_tensor, stale_leaf_slots, view_of
from tapegrad.ops import CODES, COPY
from tapegrad.ops.params import Region, ScatterWriteParams, WriteParams

_WRITE, _SCATTER = CODES["write"], CODES["scatter_write"]


def setitem(x: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``."""
    base = x._base if x._base is not None else x
    array = x.data_or_traced()
    if not array.flags.writeable:
        raise ValueError("assignment destination is read-only")
    tape, differentiate = modes.current()
    if tape.recording:
        _check_repeatable(base, tape, differentiate)
    parts, basic = parts_of(key)
    if base.dtype.kind != "f" and not base._recorded():
        _write_constant(base, array, parts, value)
        return
    region = array[view_key(parts)] if basic else None
    shape = region.shape if region is not None else element_numbers(x.shape, parts).shape
    written = _value(value, shape, base, tape)
    if base._slot < 0 and written.constant and (base._constant or not differentiate):
        array[parts] = written.data_or_traced()
        return
    if not (differentiate or tape.recording):
        _write_undifferentiated(base, array, parts, written.data_or_traced())
        return
    base._slot_on(tape)
    if region is not None:
        _write_region(base, region, written, differentiate)
    else:
        _write_elements(base, x, parts, written, differentiate)


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


# --- what is written -------------------------------------------------------------------------------------------


def _value(value: Any, shape: tuple[int, ...], base: Tensor, tape: Any) -> Tensor:
    """Return the value to write in the dtype of the target, copied if it shares memory with the target."""
    convert = _float_value if base.dtype.kind == "f" else _constant_value
    given = convert(value, base.dtype, tape)
    if (given._base if given._base is not None else given) is base:
        given = contiguous(given)
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
    given = as_tensor(value, "setitem")
    if given.dtype.kind != "f":
        return as_float(given, dtype, tape, False)
    return given if given.dtype == dtype else given.astype(dtype)


def _constant_value(value: Any, dtype: np.dtype[Any], tape: Any) -> Tensor:
    """Return a value for a recorded Tensor of integers or booleans: computed or read by each replay, or guarded."""
    if is_tensor(value):
        if value.dtype.kind != "f":
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
    array[...] = value  # by NumPy's rules, and with its errors
    return from_array(array, constant=True)


# --- versions --------------------------------------------------------------------------------------------------


def _in_new_version(base: Tensor, write: Callable[[int, int, int], Any], stays_leaf: bool = False) -> None:
    """Have `write` record how a new version of `base` comes about.

    It is given slots over all of the old and of the new buffer, and the number of their elements.

    Where nothing is recorded, because no derivative flows through the write or because it raised, the cotangent of
    the new contents flows to the old as if nothing had been written; unless `base` stays a leaf, whose graphs from
    before send their gradients to its old slot.
    """
    tape = base._tape
    assert tape is not None
    old, new, total = _take_over(base)
    try:
        write(old, new, total)
    finally:
        if not stays_leaf and Description(tape.header, new)[memory.D_PRODUCER] == NONE:
            eager.append_identity(tape.header, COPY, new, old)
        _new_version(base, new, stays_leaf)
        slots.drop(tape.header, old)


def _new_version(base: Tensor, slot: int, remember: bool) -> None:
    """Point `base` to the whole of the buffer of `slot`, a handle of its own."""
    tape, array = base._tape, base.data_or_traced()
    assert tape is not None
    own = checked(slots.view_array(tape.header, slot, id(array)), "setitem", array.shape)
    before, base._slot, base._version = base._slot, own, base._version + 1
    if remember:
        stale_leaf_slots.setdefault(id(base), []).append(before)
    else:
        slots.drop(tape.header, before)
    slots.drop(tape.header, slot)


def _take_over(base: Tensor) -> tuple[int, int, int]:
    """Begin a new version: slots over all of the old and of the new buffer, each with a handle, and their size."""
    tape = base._tape
    assert tape is not None
    header = tape.header
    old_buffer = base._describe()[memory.D_BUFFER]
    base.data_or_traced()
    new = memory.begin_write(header, base._slot)
    if new < 0:
        raise MemoryError("setitem: not enough memory for a copy of the old contents")
    described = Description(header, new)
    if old_buffer in tape.owners:
        tape.owners[described[memory.D_BUFFER]] = tape.owners.pop(old_buffer)
    geometry = np.array(described.words[memory.D_GEOMETRY :], np.int64)
    old = slots.view_geometry(header, base._slot, 0, id(geometry))
    return checked(old, "setitem", base.shape), int(new), described.shape[0]


# --- recorded writes -------------------------------------------------------------------------------------------


def _offset(base: Tensor, array: np.ndarray) -> int:
    """Return the bytes from the beginning of the memory of `base` to an array in that memory."""
    assert base._tape is not None
    return checked(slots.offset_in(base._tape.header, base._slot, id(array)), "setitem", array.shape)


def _write_region(base: Tensor, region: np.ndarray, value: Tensor, differentiate: bool) -> None:
    tape = base._tape
    assert tape is not None
    slot, offset = value._slot_on(tape), _offset(base, region)
    seen = value.data_or_traced()
    if seen.shape != region.shape:
        seen = np.broadcast_to(seen, region.shape)
    where = Region(offset, region.shape, region.strides, seen.strides)

    def write(old: int, new: int, total: int) -> None:
        params = WriteParams(total, where)
        record_out(tape, _WRITE, new, [old, slot], params, "setitem", differentiate)

    _in_new_version(base, write)


def _write_elements(
    base: Tensor, x: Tensor, key: tuple[Any, ...], value: Tensor, differentiate: bool
) -> None:
    """Write to the elements that an advanced key selects; of several writes to one, the last counts."""
    tape = base._tape
    assert tape is not None
    numbers = _buffer_numbers(base, x)[key]
    index = from_array(np.ascontiguousarray(numbers.reshape(-1)), constant=True)
    full = np.broadcast_to(value.data_or_traced(), numbers.shape)
    spread = value.size != 1
    if spread and (value.shape != full.shape or not value.data_or_traced().flags.c_contiguous):
        value = contiguous(view_of(value, full))
    operands = [value._slot_on(tape), index._slot_on(tape)]
    stride = base.itemsize if spread else 0

    def write(old: int, new: int, total: int) -> None:
        params = ScatterWriteParams(total, 1, stride)
        record_out(tape, _SCATTER, new, [old, *operands], params, "setitem", differentiate)

    _in_new_version(base, write)


def _buffer_numbers(base: Tensor, x: Tensor) -> np.ndarray:
    """Return, for each element of `x`, its number in the buffer of `base`."""
    part, item = x.data_or_traced(), base.itemsize
    numbers = np.full((), _offset(base, part) // item, np.int64)
    for axis, (extent, stride) in enumerate(zip(part.shape, part.strides, strict=True)):
        line = np.arange(extent, dtype=np.int64) * (stride // item)
        numbers = numbers + line.reshape((-1,) + (1,) * (part.ndim - 1 - axis))
    return np.broadcast_to(numbers, part.shape)


# --- writes that no derivative flows through ---------------------------------------------------------------------


def _write_constant(base: Tensor, array: np.ndarray, key: tuple[Any, ...], value: Any) -> None:
    """Write integers or booleans by NumPy's rules. If a reverse sweep reads the old ones, it keeps them."""
    if is_tensor(value):
        truths = base.dtype.kind == "b" and value.dtype.kind == "f"
        value = read_now(as_boolean(value, EAGER) if truths else value)
    read_within(value)
    if base._tape is None or not _is_kept(base):
        array[key] = value
        return
    _in_new_version(base, lambda *_: array.__setitem__(key, value))


def _is_kept(base: Tensor) -> bool:
    """Whether the reverse sweep of an instruction of the eager tape reads the contents."""
    base._slot_on(EAGER)
    return base._describe()[memory.D_SAVED] > 0


def _write_undifferentiated(base: Tensor, array: np.ndarray, key: tuple[Any, ...], value: np.ndarray) -> None:
    """Write under `no_grad`: the Tensor keeps its place in the graph, and earlier instructions keep the old data."""
    tape = base._tape
    if tape is None or not _is_kept(base):
        array[key] = value
        return
    leaf = base._describe()[memory.D_PRODUCER] < 0
    _in_new_version(base, lambda *_: array.__setitem__(key, value), leaf)
