"""Parameters of structural instructions: what their words mean, and what they must be."""

import functools
import math
from collections.abc import Callable

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.tape.layout import MAX_NDIM
from tapegrad.engine.tape.snapshot import Slot, Snapshot
from tapegrad.engine.tape.snapshot_copy import BY_REGION, BY_REGIONS
from tapegrad.ops import CODES

WORDS: dict[str, tuple[str, ...]] = {
    "matmul": ("m", "n", "k", "rs0", "cs0", "rs1", "cs1", "rsy", "csy"),
    "gather": ("rows", "row_stride", "length", "step", "wrap"),
    "scatter_add": ("rows", "row_stride", "length", "step", "wrap", "total"),
    "embed": (
        "total",
        "count",
    ),  # then for each operand: offset, ndim, extents, strides of the region, own strides
    "write": ("total", "offset", "ndim"),  # then extents, strides of the region, strides of the value
    "scatter_write": ("rows", "row_stride", "length", "step", "wrap", "total", "value_stride"),
    "custom": ("cell", "number"),
    "guard": ("bytes", "address"),
    "truth_guard": ("truth",),
}


@functools.cache
def lengths() -> np.ndarray:
    """Number of parameters by op code, or how to find it."""
    varying = {"write": BY_REGION, "embed": BY_REGIONS}
    return np.array([varying.get(name, len(WORDS.get(name, ()))) for name in CODES], np.int64)


def parameters_fit(t: Snapshot, i: int) -> str:
    """Parameters are there where the op has some, and what they describe lies inside the buffers."""
    instruction = t.instructions[i]
    name = kernel_table.op_name(instruction.op)
    if name not in WORDS:
        return "parameters, of which the op has none" if instruction.address else ""
    return (
        _RULES[name](t.operands(i), t.result(i), instruction.params)
        if instruction.address
        else "no parameters"
    )


def _room(slot: Slot, bytes_: int) -> bool:
    """Whether so many bytes from the first element on belong to a slot that is contiguous."""
    return slot.contiguous and 0 <= bytes_ <= slot.size * slot.itemsize


def _steps(slot: Slot) -> list[int]:
    """Strides of a slot's matrices, 0 where there is nothing to step over."""
    return [s if e > 1 and slot.size else 0 for e, s in zip(slot.shape[-2:], slot.strides[-2:], strict=True)]


def _matmul(operands: list[Slot], result: Slot, params: tuple[int, ...]) -> str:
    """Shapes and strides are those of the operands' and the result's last two dimensions."""
    m, n, k, *strides = params
    slots = [*operands, result]
    if [slot.shape[-2:] for slot in slots] != [(m, k), (k, n), (m, n)]:
        return f"matrices of shapes {[slot.shape for slot in slots]}, but m={m}, n={n}, k={k}"
    for slot, steps in zip(slots, (strides[:2], strides[2:4], strides[4:]), strict=True):
        if any(own not in (0, step) for own, step in zip(_steps(slot), steps, strict=True)):
            return f"strides {steps} of a matrix whose strides are {slot.strides}"
    try:
        batch = np.broadcast_shapes(*[slot.shape[:-2] for slot in operands])
    except ValueError:
        batch = None
    return (
        ""
        if batch == result.shape[:-2]
        else f"a batch of shape {batch} does not fit the result's {result.shape}"
    )


def _rows(what: str, slot: Slot, params: tuple[int, ...]) -> str:
    """Rows of a list lie inside what is read or written by it."""
    rows, row_stride, length, step, _ = params[:5]
    if min(params[:4]) < 0:
        return f"negative parameters {params}"
    end = (rows - 1) * row_stride + (length - 1) * step + slot.itemsize if rows and length else 0
    return (
        ""
        if _room(slot, end)
        else f"{rows} rows of {length} reach to byte {end} of the {what}, of shape {slot.shape}"
    )


def _gather(operands: list[Slot], result: Slot, params: tuple[int, ...]) -> str:
    """Rows lie inside the operand; there is room in the result for a row for each entry of the list."""
    x, rows = operands
    if not _room(rows, 8 * rows.size):
        return "the list of row numbers is not contiguous"
    taken = rows.size * params[2]
    fits = result.size == taken and result.contiguous
    return _rows("operand", x, params) or (
        "" if fits else f"{taken} elements into a result of shape {result.shape}"
    )


def _scatter_add(operands: list[Slot], result: Slot, params: tuple[int, ...]) -> str:
    """Rows lie inside the result, which is cleared; the operand has a row for each entry of the list."""
    x, rows = operands
    if not _room(rows, 8 * rows.size):
        return "the list of row numbers is not contiguous"
    if not _room(x, rows.size * params[2] * x.itemsize) or result.size != params[5] or not result.contiguous:
        return f"rows of shape {x.shape} into a result of shape {result.shape}, of {params[5]} elements"
    return _rows("result", result, params)


def _whole(operands: list[Slot], result: Slot, total: int) -> str:
    """What is written to is the whole of a buffer, before and after."""
    for slot in (operands[0], result):
        if slot.shape != (total,) or not slot.contiguous:
            return f"a buffer of {total} elements is seen in shape {slot.shape}"
    return ""


def _region_end(extents: tuple[int, ...], strides: tuple[int, ...], size: int) -> tuple[int, int]:
    """First byte of a region, from its first element, and the byte after its last."""
    steps = [stride * (extent - 1) for extent, stride in zip(extents, strides, strict=True)]
    return sum(min(0, step) for step in steps), sum(max(0, step) for step in steps) + size


def _write(operands: list[Slot], result: Slot, params: tuple[int, ...]) -> str:
    """The region lies inside the buffer; the value is read where it lies."""
    return _whole(operands, result, params[0]) or _region(operands[1], result, params[0], params[1:])


def _region(value: Slot, result: Slot, total: int, params: tuple[int, ...]) -> str:
    """A region lies inside a buffer of `total` elements, and what is laid there is read where it lies."""
    offset, ndim = params[:2]
    if not 0 <= ndim <= MAX_NDIM:
        return f"a region of {ndim} dimensions"
    extents, strides, of_value = (params[2 + k * ndim : 2 + (k + 1) * ndim] for k in range(3))
    size = result.itemsize
    if math.prod(extents) == 0:
        return ""
    first, end = _region_end(extents, strides, size)
    if offset + first < 0 or offset + end > total * size:
        return f"a region from byte {offset + first} to {offset + end} of a buffer of {total * size}"
    return _value_fits(value, extents, of_value)


def _embed(operands: list[Slot], result: Slot, params: tuple[int, ...]) -> str:
    """The result is a whole buffer, and each operand has a region in it."""
    total, count = params[:2]
    if count != len(operands) or result.shape != (total,) or not result.contiguous:
        return f"{count} regions of {total} elements for {len(operands)} operands, into shape {result.shape}"
    start = 2
    for value in operands:
        broken = _region(value, result, total, params[start:])
        if broken:
            return broken
        start += 2 + 3 * params[start + 1]
    return ""


def _value_fits(value: Slot, extents: tuple[int, ...], strides: tuple[int, ...]) -> str:
    """A value seen in the shape of a region stays inside what it is."""
    reached = _region_end(extents, strides, value.itemsize)
    own = _region_end(value.shape, value.strides, value.itemsize)
    inside = value.size > 0 and own[0] <= reached[0] and reached[1] <= own[1]
    return "" if inside else f"a value of shape {value.shape} is read with strides {strides} over {extents}"


def _scatter_write(operands: list[Slot], result: Slot, params: tuple[int, ...]) -> str:
    """Rows lie inside the buffer; there is a value for each entry of the list, or one for all."""
    _, value, rows = operands
    if not _room(rows, 8 * rows.size):
        return "the list of row numbers is not contiguous"
    length, total, stride = params[2], params[5], params[6]
    read = (rows.size * length - 1) * stride + value.itemsize if rows.size * length else 0
    if not _room(value, read):
        return f"{read} bytes of values are read from a value of shape {value.shape}"
    return _whole(operands, result, total) or _rows("buffer", result, params)


def _custom(operands: list[Slot], result: Slot, params: tuple[int, ...]) -> str:
    """All of it is contiguous, and there is something to call."""
    packed = all(slot.ndim == 1 and slot.contiguous for slot in (*operands, result))
    return "" if packed and params[0] != 0 else f"nothing is called, or not on contiguous slots: {params}"


def _guard(operands: list[Slot], result: Slot, params: tuple[int, ...]) -> str:
    """The guarded bytes lie inside the operand, and there is something to compare them with."""
    bytes_, address = params
    fits = _room(operands[0], bytes_) and (address != 0 or bytes_ == 0)
    return (
        ""
        if fits
        else f"{bytes_} bytes of an operand of shape {operands[0].shape} are compared with those at {address}"
    )


def _truth_guard(operands: list[Slot], result: Slot, params: tuple[int, ...]) -> str:
    """What is guarded is one element's truth."""
    return (
        ""
        if operands[0].size == 1 and params[0] in (0, 1)
        else f"truth {params[0]} of shape {operands[0].shape}"
    )


_RULES: dict[str, Callable[[list[Slot], Slot, tuple[int, ...]], str]] = {
    "matmul": _matmul,
    "gather": _gather,
    "scatter_add": _scatter_add,
    "embed": _embed,
    "write": _write,
    "scatter_write": _scatter_write,
    "custom": _custom,
    "guard": _guard,
    "truth_guard": _truth_guard,
}
