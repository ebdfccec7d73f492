"""Memory orders 'K' and 'A': the order in which they read elements, and the cases where it is unknown."""

from typing import Any

import numpy as np

from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.engine.tape.memory import D_PRODUCER
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import COPY, ROWS


def axes_as_they_lie(array: np.ndarray) -> list[int]:
    """Return the axes of an array by decreasing stride."""
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


def is_by_columns(array: np.ndarray, order: str) -> bool:
    """Return whether an order means that the first index varies fastest."""
    return order == "F" or (order == "A" and array.flags.fnc)


def is_reordered(array: np.ndarray) -> bool:
    """Return whether elements lie in memory in another order than that of C."""
    return not array.flags.c_contiguous and 0 not in array.shape and not _ascends(array.shape, array.strides)


def _ascends(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the strides do not increase from one axis to the next."""
    steps = [abs(stride) for extent, stride in zip(shape, strides, strict=True) if extent > 1]
    return steps == sorted(steps, reverse=True)


def copy_with_strides(array: np.ndarray) -> np.ndarray:
    """Return a copy of an array with the same strides."""
    if array.flags.c_contiguous:
        return array.copy()
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.empty(high - low, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory.data, array.ctypes.data - low, array.strides)
    copy[...] = array
    return copy


def check_order_is_known(x: Tensor, order: str, name: str) -> None:
    """Raise if the order 'K' or 'A' could read elements of a Tensor in another order than NumPy.

    Results are in C order here, and in the order of their operands in NumPy. A recording has its arguments in C
    order.
    """
    if order not in ("K", "A") or x._tape is None or sum(extent > 1 for extent in x.shape) < 2:
        return
    op = _op_that_loses_it(x, dense=order == "A" and x.data_or_traced().flags.fnc)
    if op is not None:
        raise UnsupportedError(
            f"{name}: order={order!r} is the order in memory, which for a result of {op} is that of C here, and may be"
            " another one in NumPy; write order='C' or order='F'"
        )
    if x._recorded():
        tape: Any = x._tape
        tape.ask_memory_order(f"{name}: order={order!r}")


def _op_that_loses_it(x: Tensor, dense: bool) -> str | None:
    """Return the name of an op in a Tensor's graph whose result NumPy may have in another order.

    From operands in C order NumPy's elementwise functions make results in C order, too. `dense`: count a copy of an
    operand with gaps as well, for 'A' reads the two in different orders.
    """
    tape: Any = x._tape
    ops, operands = tape.column("op"), [tape.column(f"operand{k}") for k in range(3)]
    slots, seen = [x._slot_on(tape)], set()
    while slots:
        producer = SlotDescription(tape.header, slots.pop())[D_PRODUCER]
        if producer == NONE or producer in seen:
            continue
        seen.add(producer)
        row = ROWS[ops[producer]]
        given = [int(column[producer]) for column in operands if column[producer] != NONE]
        given = given[:1] if row.in_place else given
        views = [SlotDescription(tape.header, slot).view for slot in given]
        follows = row.kind == "elementwise" and all(_ascends(view.shape, view.strides) for view in views)
        if not row.in_place and (not follows or (dense and not views[0].contiguous)):
            return row.name if ops[producer] != COPY else "a copy"
        slots += given
    return None
