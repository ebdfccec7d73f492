"""Outputs of a solver, some of which it has not reached, as functions of an instruction's frame.

X has so many outputs, or cotangents, then what a message needs. Outputs that were not reached are nan, or an element
among the others is not zero, which stands for all. Forward kernels copy; a cotangent or a tangent of an output that was
not reached has the status NOT_DIFFERENTIABLE unless it is zero, or is nan.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.control.callback import CELL_FIELDS
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.inlining import called_by_address
from tapegrad.engine.kernels.language.raw_memory import load_i64, memcpy, memset
from tapegrad.engine.kernels.language.status import NOT_DIFFERENTIABLE
from tapegrad.engine.sweep.replays.loop_moves import bytes_of, load_packed, store_packed

# Fields of such an op
(
    SIZE,  # number of outputs
    OPERAND_SIZE,  # elements of the packed operands
    PACKED_DTYPE,
    IS_STRICT,  # 0 where a derivative that does not exist is nan
    FAILED,  # element after the outputs that is not zero if none was reached; -1 if outputs that were not are nan
) = range(5)
REACHED_FIELDS = 5


@inline_njit
def _has_failed(op, ys):
    """Return whether no output was reached."""
    place = load_i64(op, FAILED)
    if place < 0:
        return False
    return load_packed(ys, load_i64(op, PACKED_DTYPE), place) != 0


@inline_njit
def _status_of(op, bars, ys):
    """Return a status if a cotangent or a tangent of an output that was not reached is not zero."""
    dtype = load_i64(op, PACKED_DTYPE)
    if load_i64(op, IS_STRICT) == 0:
        return 0
    has_failed = _has_failed(op, ys)
    for k in range(load_i64(op, SIZE)):
        y, bar = load_packed(ys, dtype, k), load_packed(bars, dtype, k)
        if (has_failed or y != y) and bar != 0:
            return NOT_DIFFERENTIABLE
    return 0


@inline_njit
def _dual(bar, has_failed):
    """Return a cotangent or a tangent: nan if there is none."""
    return numba.float64(math.nan) if has_failed and bar != 0 else bar


@inline_njit
def _copy(op, target, source):
    memcpy(target, source, load_i64(op, SIZE) * bytes_of(load_i64(op, PACKED_DTYPE)))


@called_by_address
def hand_on_outputs(frame: int, descriptor: int) -> int:
    """Copy outputs."""
    _copy(load_i64(descriptor, CELL_FIELDS), load_i64(frame, field.Y), load_i64(frame, field.X))
    return 0


@called_by_address
def pull_outputs(frame: int, descriptor: int) -> int:
    """Accumulate the cotangents of outputs."""
    op = load_i64(descriptor, CELL_FIELDS)
    y_bar, x_bar = load_i64(frame, field.Y_BAR), load_i64(frame, field.X_BAR)
    dtype, is_stored = load_i64(op, PACKED_DTYPE), load_i64(frame, field.STORE) & 1
    if x_bar == 0:
        return 0
    status = 0 if y_bar == 0 else _status_of(op, y_bar, load_i64(frame, field.X))
    if status != 0:
        return status
    if is_stored != 0:
        memset(x_bar, 0, load_i64(op, OPERAND_SIZE) * bytes_of(dtype))
    if y_bar != 0:
        has_failed = _has_failed(op, load_i64(frame, field.X))
        for k in range(load_i64(op, SIZE)):
            bar = _dual(load_packed(y_bar, dtype, k), has_failed)
            store_packed(x_bar, dtype, k, load_packed(x_bar, dtype, k) + bar)
    return 0


@called_by_address
def hand_on_cotangents(frame: int, descriptor: int) -> int:
    """Copy cotangents, which the outputs follow in X."""
    op, x, y = load_i64(descriptor, CELL_FIELDS), load_i64(frame, field.X), load_i64(frame, field.Y)
    dtype = load_i64(op, PACKED_DTYPE)
    ys = x + load_i64(op, SIZE) * bytes_of(dtype)
    status = _status_of(op, x, ys)
    if status == 0:
        has_failed = _has_failed(op, ys)
        for k in range(load_i64(op, SIZE)):
            store_packed(y, dtype, k, _dual(load_packed(x, dtype, k), has_failed))
    return status
