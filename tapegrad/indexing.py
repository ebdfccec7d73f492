"""Reading and writing parts of a Tensor: basic indexes are views, advanced ones gather and scatter."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import state
from tapegrad.errors import UnsupportedError
from tapegrad.ops import CODES
from tapegrad.record import as_float, read_now, unary
from tapegrad.shaping import contiguous
from tapegrad.state import EAGER, modes
from tapegrad.storage import Description, formers, from_array, is_tensor, view_from_slot, view_of
from tapegrad.structural import allocate, as_tensor, record_into
from tapegrad.sweep import eager
from tapegrad.tape import contents, slots

if TYPE_CHECKING:
    from tapegrad.tensor import Tensor

_GATHER, _WRITE, _SCATTER, _COPY = CODES["gather"], CODES["write"], CODES["scatter_write"], CODES["positive"]
_END = 1 << 60  # beyond the end of any array
_BASIC = (int, slice, type(None), type(Ellipsis), np.integer)


def _normalised(key: Any) -> tuple[Any, ...]:
    """A key as a tuple in which Tensors have become arrays, and lists too."""
    return tuple(map(_plain_part, key if isinstance(key, tuple) else (key,)))


def _plain_part(part: Any) -> Any:
    if not (is_tensor(part) or isinstance(part, list | range | np.ndarray)):
        return part
    array = read_now(part)
    if array is part:
        return part
    return (
        array if array.size or is_tensor(part) else array.astype(np.int64)
    )  # [] names no element, as in NumPy


def _is_basic(key: Any) -> bool:
    kind = type(key)
    if kind is slice or kind is int:
        return True
    if kind is tuple:
        return all(_is_basic(part) for part in key)
    return isinstance(key, _BASIC) and kind is not bool


def _view_key(key: Any) -> Any:
    """A basic key that makes NumPy return an array even where a single element is named."""
    if type(key) is slice:
        return key
    parts = key if isinstance(key, tuple) else (key,)
    return parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)


def getitem(x: "Tensor", key: Any) -> "Tensor":
    """``x[key]``."""
    if _is_basic(key):
        return view_of(x, x.data_or_traced()[_view_key(key)])
    tape, _ = state.current()
    if _is_traced_rows(key, tape):
        return _gather_rows(x, key)
    parts = _normalised(key)
    if all(_is_basic(part) for part in parts):
        return view_of(x, x.data_or_traced()[_view_key(parts)])
    if x.dtype.kind != "f":
        return from_array(np.asarray(x)[parts], constant=True)
    offsets = element_numbers(x.shape, parts)
    return _gather(contiguous_for_gather(x), offsets, offsets.shape, 1)


def element_numbers(shape: tuple[int, ...], key: tuple[Any, ...]) -> np.ndarray:
    """Number, in C order, of each element that `key` picks from an array of `shape`.

    The coordinate along each axis is indexed with the key itself, seen through a broadcast that costs no memory,
    so that every rule of NumPy's advanced indexing holds here, and so do its errors.
    """
    numbers: Any = np.zeros((), np.int64)
    step = 1
    for axis in range(len(shape) - 1, -1, -1):
        line = np.arange(shape[axis], dtype=np.int64).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
        numbers = numbers + step * np.broadcast_to(line, shape)[key]
        step *= shape[axis]
    if not shape:
        numbers = np.broadcast_to(np.zeros((), np.int64), shape)[key]
    return np.ascontiguousarray(numbers, dtype=np.int64)


def contiguous_for_gather(x: "Tensor") -> "Tensor":
    """`x` if its elements lie side by side in C order, otherwise a recorded copy."""
    return x if x.data_or_traced().flags.c_contiguous else contiguous(x)


def _gather(x: "Tensor", rows: Any, shape: tuple[int, ...], length: int) -> "Tensor":
    """Rows of `length` elements of a contiguous `x`, by number."""
    tape, differentiate = state.current()
    count = x.size // length if length else 0
    item = x.itemsize
    index = rows if is_tensor(rows) else from_array(rows.reshape(-1), constant=True)
    result = allocate(tape, x.dtype, shape, "getitem")
    params = np.array([count, length * item, length, item, 1], np.int64)
    operands = [x._slot_on(tape), index._slot_on(tape)]
    record_into(tape, _GATHER, result._slot, operands, params, "getitem", differentiate)
    return result


def _is_traced_rows(key: Any, tape: Any) -> bool:
    """Whether a key is a whole array of row numbers that depends on an argument of a recording."""
    return tape.recording and is_tensor(key) and key._traced() and key.dtype == np.int64


def _gather_rows(x: "Tensor", rows: "Tensor") -> "Tensor":
    """``x[rows]`` where the row numbers are computed anew, and their bounds checked, at each replay."""
    x = contiguous_for_gather(x)
    if x.ndim == 0:
        raise IndexError("too many indices: the Tensor is 0-dimensional")
    length = math.prod(x.shape[1:])
    np.empty(x.shape[0], np.bool_)[rows.data_or_traced()]  # NumPy's error for a row that does not exist
    return _gather(x, contiguous_for_gather(rows), (*rows.shape, *x.shape[1:]), length)


def setitem(x: "Tensor", key: Any, value: Any) -> None:
    """``x[key] = value``: a new version of the memory; what was recorded from the old one stays right."""
    base = x._base if x._base is not None else x
    array = x.data_or_traced()
    if not array.flags.writeable:
        raise ValueError("assignment destination is read-only")
    parts = _normalised(key)
    basic = all(_is_basic(part) for part in parts)
    if x.dtype.kind != "f":
        array[parts] = np.asarray(value)
        return
    tape, differentiate = state.current()
    if tape.recording and base._tape is not tape:
        raise RuntimeError(
            "a Tensor from outside is written to while a function is being recorded: a replay would not repeat it."
            " Return the new value from the function instead"
        )
    if tape.recording and not differentiate and not base.constant:
        raise UnsupportedError(
            "an in-place write under no_grad() to a value that is differentiated, while a function is being recorded:"
            " use where(), or detach() the value"
        )
    region = array[_view_key(parts)] if basic else None
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


def _value(value: Any, shape: tuple[int, ...], base: "Tensor", tape: Any) -> "Tensor":
    """What is written, in the dtype of the target; a copy if it lies in the memory that is being written to."""
    given = as_tensor(value, "setitem")
    if given.dtype.kind == "f" and given.dtype != base.dtype:
        given = given.astype(base.dtype)
    elif given.dtype.kind != "f":
        given = as_float(np.asarray(given), base.dtype, tape, False)
    if (given._base if given._base is not None else given) is base:
        given = unary(_COPY, given)
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


def _new_version(base: "Tensor", slot: int) -> None:
    """Let `base` show the whole of the buffer on which `slot`, a handle of its own, lies."""
    tape = base._tape
    assert tape is not None
    own = slots.view_array(tape.header, slot, id(base.data_or_traced()))
    slots.drop(tape.header, base._slot)
    slots.drop(tape.header, slot)
    base._slot = own
    base._version = base._version + 1


def _take_over(base: "Tensor") -> tuple[int, int]:
    """Begin a new version: a slot over all of the old buffer and one over all of the new, each with a handle."""
    tape = base._tape
    assert tape is not None
    header = tape.header
    old_buffer = base._describe()[contents.D_BUFFER]
    base.data_or_traced()
    new = contents.move_on(header, base._slot)
    if new < 0:
        raise MemoryError("setitem: not enough memory for a copy of the old contents")
    described = Description(header, new)
    if old_buffer in tape.owners:
        tape.owners[described[contents.D_BUFFER]] = tape.owners.pop(old_buffer)
    geometry = described.words[contents.D_GEOMETRY : contents.D_GEOMETRY + 2].copy()
    return int(slots.view_geometry(header, base._slot, 0, id(geometry))), int(new)


def _region_params(base: "Tensor", region: np.ndarray, value: "Tensor", total: int) -> np.ndarray:
    """Parameters of the op `write`: where the region lies in the buffer, and how the value is laid out."""
    whole = base.data_or_traced()
    lowest = (
        sum(min(0, s * (e - 1)) for s, e in zip(whole.strides, whole.shape, strict=True)) if whole.size else 0
    )
    offset = region.ctypes.data - (whole.ctypes.data + lowest)
    seen = np.broadcast_to(value.data_or_traced(), region.shape)
    return np.array([total, offset, region.ndim, *region.shape, *region.strides, *seen.strides], np.int64)


def _write_region(base: "Tensor", region: np.ndarray, value: "Tensor", differentiate: bool) -> None:
    tape = base._tape
    assert tape is not None
    slot = value._slot_on(tape)
    old, new = _take_over(base)
    total = Description(tape.header, new).shape[0]
    params = _region_params(base, region, value, total)
    record_into(tape, _WRITE, new, [old, slot], params, "setitem", differentiate)
    slots.drop(tape.header, old)
    _new_version(base, new)


def _write_elements(
    base: "Tensor", x: "Tensor", key: tuple[Any, ...], value: "Tensor", differentiate: bool
) -> None:
    """Write to the elements that an advanced key names; of several writes to one, the last counts."""
    tape = base._tape
    assert tape is not None
    numbers = _buffer_numbers(base, x)[key].reshape(-1)
    index = from_array(np.ascontiguousarray(numbers), constant=True)
    full = np.broadcast_to(value.data_or_traced(), x.data_or_traced()[key].shape)
    spread = value.size != 1
    if spread and (value.shape != full.shape or not value.data_or_traced().flags.c_contiguous):
        value = contiguous(view_of(value, full))
    operands = [value._slot_on(tape), index._slot_on(tape)]
    old, new = _take_over(base)
    total = Description(tape.header, new).shape[0]
    item = base.itemsize
    params = np.array([total, item, 1, item, 0, total, item if spread else 0], np.int64)
    record_into(tape, _SCATTER, new, [old, *operands], params, "setitem", differentiate)
    slots.drop(tape.header, old)
    _new_version(base, new)


def _buffer_numbers(base: "Tensor", x: "Tensor") -> np.ndarray:
    """For each element of `x`, its number in the buffer of `base`."""
    whole, part = base.data_or_traced(), x.data_or_traced()
    lowest = (
        sum(min(0, s * (e - 1)) for s, e in zip(whole.strides, whole.shape, strict=True)) if whole.size else 0
    )
    first = (part.ctypes.data - whole.ctypes.data - lowest) // whole.itemsize
    numbers = np.full((), first, np.int64)
    for axis, (extent, stride) in enumerate(zip(part.shape, part.strides, strict=True)):
        line = np.arange(extent, dtype=np.int64) * (stride // whole.itemsize)
        numbers = numbers + line.reshape((-1,) + (1,) * (part.ndim - 1 - axis))
    return np.broadcast_to(numbers, part.shape)


def _write_undifferentiated(
    base: "Tensor", array: np.ndarray, key: tuple[Any, ...], value: np.ndarray
) -> None:
    """Write under `no_grad`: the Tensor's place in the graph stays, what was recorded from it keeps the old data."""
    tape = base._tape
    if tape is None or base._describe()[contents.D_KEEPS] == 0:
        array[key] = value
        return
    leaf = base._describe()[contents.D_PRODUCER] < 0
    old, new = _take_over(base)
    array[key] = value
    if leaf:
        _remember_former(base, tape)
    else:
        _record_identity(base, old, new)
    slots.drop(tape.header, old)
    if leaf:
        own = slots.view_array(tape.header, new, id(base.data_or_traced()))
        slots.drop(tape.header, new)
        base._slot, base._version = own, base._version + 1
        return
    _new_version(base, new)


def _remember_former(base: "Tensor", tape: Any) -> None:
    """Keep a leaf's old slot, into whose buffer graphs recorded before the write still send their gradient."""
    formers.setdefault(id(base), []).append(base._slot)


def _record_identity(base: "Tensor", old: int, new: int) -> None:
    """Let the cotangent of the new contents flow to the old as if nothing had been written."""
    assert base._tape is EAGER
    eager.append_identity(EAGER.header, _COPY, new, old)


def _slice(x: Any, start: Any, stop: Any) -> "Tensor | None":
    """``x[start:stop]`` of an eager Tensor, the short way; `None` for limits that are not plain numbers."""
    start = 0 if start is None else start
    stop = _END if stop is None else stop
    if (
        type(start) is not int
        or type(stop) is not int
        or not (-_END <= start <= _END and -_END <= stop <= _END)
    ):
        return None
    slot = slots.view_slice(EAGER.header, x._slot if x._base is None else x._slot_on(EAGER), start, stop)
    return view_from_slot(x if x._base is None else x._base, slot) if slot >= 0 else None


class IndexMethods:
    """Indexing and iteration of a Tensor."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> "Tensor":
        if type(key) is slice and self._tape is EAGER and key.step is None and not modes.active:  # type: ignore[attr-defined]
            view = _slice(self, key.start, key.stop)
            if view is not None:
                return view
        return getitem(self, key)  # type: ignore[arg-type]

    def __setitem__(self, key: Any, value: Any) -> None:
        setitem(self, key, value)  # type: ignore[arg-type]

    def __len__(self) -> int:
        shape = self.shape  # type: ignore[attr-defined]
        if not shape:
            raise TypeError("len() of a 0-dimensional Tensor")
        return int(shape[0])

    def __iter__(self) -> Iterator["Tensor"]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, other: Any) -> "Tensor":
        return _update(self, self + other)  # type: ignore[operator]

    def __isub__(self, other: Any) -> "Tensor":
        return _update(self, self - other)  # type: ignore[operator]

    def __imul__(self, other: Any) -> "Tensor":
        return _update(self, self * other)  # type: ignore[operator]

    def __itruediv__(self, other: Any) -> "Tensor":
        return _update(self, self / other)  # type: ignore[operator]

    def __ipow__(self, other: Any) -> "Tensor":
        return _update(self, self**other)  # type: ignore[operator]


def _update(x: Any, result: "Tensor") -> Any:
    """Write the result of an in-place operator back."""
    if result.shape != x.shape:
        raise ValueError(f"in-place operator: a result of shape {result.shape} does not fit shape {x.shape}")
    if x.dtype.kind != "f" and result.dtype != x.dtype:
        raise TypeError(
            f"in-place operator: cannot write {result.dtype} into {x.dtype}; convert with astype(float)"
        )
    x[...] = result
    return x
