"""Lists and nested lists of Tensors as arrays: their parts are copied into one buffer."""

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.status import checked
from tapegrad.engine.sweep.eager import eager_joining
from tapegrad.engine.tape import slots, views
from tapegrad.engine.tape.fields.layout import E_KERNEL, F64
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.foreign import is_xarray
from tapegrad.frontend.tensor.anomaly import watch
from tapegrad.frontend.tensor.array_checks import plain
from tapegrad.frontend.tensor.modes import current, thread
from tapegrad.frontend.tensor.tensor import Tensor, from_slot, is_tensor
from tapegrad.ops import COPY

_LISTS = (list, tuple)
_LEAVES = frozenset((Tensor, float, int))
_NUMBERS = (float, int, np.generic)


def holds_tensors(value: Any) -> bool:
    """Return whether a value is a list or a tuple that contains a Tensor, at any depth."""
    if not isinstance(value, _LISTS):
        return False
    nested = False
    for kind in set(map(type, value)):  # check a long list of numbers at the speed of C
        if issubclass(kind, Tensor):
            return True
        nested = nested or issubclass(kind, _LISTS)
    return nested and any(map(holds_tensors, value))


def held_tensor(value: Any) -> Tensor | None:
    """Return the Tensor inside an xarray object, where an operation of xarray has left one."""
    held = value.data if is_xarray(value) and hasattr(value, "data") else None
    return held if is_tensor(held) else None


def stacked(value: Any) -> Tensor | None:
    """Return nested lists of numbers, or of computed Tensors of one shape, as a Tensor; `None` for all others."""
    mode = thread.mode
    leaves: list[Any] = []
    lengths = _lengths(value, leaves)
    kinds = set(map(type, leaves))
    if lengths is None or mode.anomaly is not None or not kinds <= _LEAVES:
        return None
    if mode.recorder is not None and len(kinds) > 1 and _has_neighbours(leaves):
        return None  # replays copy an array of them at once
    header, tape = mode.tape.header, mode.tape
    if [leaf for leaf in leaves if type(leaf) is Tensor and leaf._tape is not tape]:
        return None
    given = [
        leaf._slot_on(tape) if type(leaf) is Tensor else slots.number(header, leaf, F64) for leaf in leaves
    ]
    slot = eager_joining.record_joined(header, tuple(given), 0, True, mode.differentiate)
    if len(kinds) > 1:
        for leaf, each in zip(leaves, given, strict=True):
            if type(leaf) is not Tensor:
                slots.drop(header, each)
    if slot < 0 or len(lengths) == 1:
        return from_slot(tape, slot) if slot >= 0 else None
    shape = (*lengths, *slots.shape_of(header, slot)[1:])
    seen = views.view_shape(header, slot, shape)
    slots.drop(header, slot)
    return from_slot(tape, checked(seen, "array", shape))


def _has_neighbours(leaves: list[Any]) -> bool:
    """Return whether two numbers stand side by side between Tensors."""
    numbers = [type(leaf) is not Tensor for leaf in leaves]
    return any(map(operator.and_, numbers, numbers[1:]))


def _lengths(value: Any, leaves: list[Any]) -> tuple[int, ...] | None:
    """Append the leaves of nested lists to `leaves`; return the lengths, `None` where they differ or are 0."""
    if not value or type(value[0]) not in _LISTS:
        leaves += value
        return (len(value),) if value else None
    inner = {_lengths(each, leaves) if type(each) in _LISTS else None for each in value}
    (lengths,) = inner if len(inner) == 1 else (None,)
    return None if lengths is None else (len(value), *lengths)


def in_numbers(value: Any, name: str) -> np.ndarray:
    """Return a list as the array of its current numbers, in the shape and dtype that NumPy infers."""
    try:
        return np.array(_contents(value))
    except ValueError as error:  # its parts differ in shape
        raise ValueError(f"{name}: {error}") from None


def _contents(value: Any) -> Any:
    if isinstance(value, _LISTS):
        return [_contents(each) for each in value]
    return value.data_or_traced() if is_tensor(value) else value


def parts_of_list(value: Any, numbers: np.ndarray, name: str) -> list[Any]:
    """Return the Tensors and arrays in a list, in C order, and the numbers between them as arrays.

    `numbers` is the whole list as returned by `in_numbers`.
    """
    flat = numbers.reshape(-1)
    parts: list[Any] = []
    begin = end = 0  # of the numbers that are not in a part yet
    for leaf in _leaves(value):
        if isinstance(leaf, _NUMBERS):
            end += 1
            continue
        if begin < end:
            parts.append(flat[begin:end])
        parts.append(leaf if is_tensor(leaf) else plain(leaf, name))
        begin = end = end + parts[-1].size
    return [*parts, flat[begin:]] if begin < flat.size else parts


def _leaves(value: Any) -> Iterator[Any]:
    for each in value:
        if isinstance(each, _LISTS):
            yield from _leaves(each)
        else:
            yield each


def joined(parts: list[Tensor], shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> Tensor:
    """Concatenate flat Tensors into a new buffer, by consecutive instructions that write it together."""
    tape, differentiate = current()
    operands = tuple([part._slot_on(tape) for part in parts])
    arguments = tape.header, operands, DTYPE_CODES[dtype], shape, differentiate
    slot = eager_joining.record_laid_out(*arguments)
    while slot == E_KERNEL:
        kernel_table.load_code(COPY, DTYPE_CODES[dtype], 0)
        slot = eager_joining.record_laid_out(*arguments)
    watch(tape, checked(slot, name, shape), name)
    return from_slot(tape, slot)
