"""Stacks of matrices: kernels that process one matrix after another, with scratch memory for one.

A matrix for which an op fails stops the sweep, or has nan for a result if the op's `nan_on_failure` says so. Then zero
times anything is zero here as well: a matrix whose result has no cotangent contributes nothing, be the result nan.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import lane_count
from tapegrad.engine.kernels.language.frame import STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import Lapack
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_at,
    load_i64,
    malloc,
    memcpy,
    memset,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.language.status import (
    FIRST_OF_MATRICES,
    LAST_OF_MATRICES,
    OUT_OF_MEMORY,
    SINGULAR,
)

RESULT, COTANGENT, TANGENT = range(3)  # what a kernel writes


class Sizes(NamedTuple):
    """Bytes of a matrix in a stack: of its operand, a second one and its result; and bytes of scratch memory."""

    x: int
    other: int
    y: int
    scratch: int


class MatrixFrame(NamedTuple):
    """Frame of one matrix of a stack: addresses of two operands, of the result, of cotangents or tangents; scratch.

    `store` is 1 if the cotangent of the first operand is written, 0 if it is added to.
    """

    x: int
    other: int
    y: int
    x_bar: int
    y_bar: int
    store: int
    scratch: int


class SystemFrame(NamedTuple):
    """Frame of one system of a stack: addresses of its matrix, its solution and both operands' cotangents; scratch.

    Scratch memory begins with the cotangent of the solution. Bits 0 and 1 of `store` are 1 if the cotangents of the
    matrix and of the right sides are written, 0 if they are added to.
    """

    a: int
    y: int
    a_bar: int
    b_bar: int
    store: int
    scratch: int


# --- failures --------------------------------------------------------------------------------------------------


@noinline
def write_nan(address: int, bytes_: int, zero: Any) -> None:
    """Fill numbers with nan, both parts of complex ones."""
    nan = np.sqrt(-1.0) * (zero - 1)
    for k in range(bytes_ // size_of(zero)):
        store_at(address, k * size_of(zero), nan, zero)


@noinline
def are_zeros(address: int, bytes_: int, zero: Any) -> bool:
    """Return whether all numbers are zero."""
    for k in range(bytes_ // size_of(zero)):
        if load_at(address, k * size_of(zero), zero) != zero:
            return False
    return True


@noinline
def write_nothing(bar: int, bytes_: int, store: int) -> None:
    """Add zeros to a cotangent (store: write them), if it is wanted."""
    if bar != 0 and store:
        memset(bar, np.int32(0), bytes_)


@noinline
def write_failure(bar: int, bytes_: int, zero: Any) -> None:
    """Fill a cotangent or a tangent with nan, if it is wanted."""
    if bar != 0:
        write_nan(bar, bytes_, zero)


@always_inline
def _process_or_nan(
    loops: int, routines: Lapack, own: MatrixFrame, p: Any, sizes: Sizes, process: Any, written: int
) -> int:
    """Process one matrix; if it fails and nan is wanted instead, write nan. Return a status."""
    zero = routines.zero
    if written == COTANGENT and p.nan_on_failure and are_zeros(own.y_bar, sizes.y, zero):
        write_nothing(own.x_bar, sizes.x, own.store)
        return 0
    status = process(loops, routines, own, p)
    if p.nan_on_failure == 0 or status < FIRST_OF_MATRICES or status > LAST_OF_MATRICES:
        return status
    if written == COTANGENT:
        write_nan(own.x_bar, sizes.x, zero)
    else:
        write_nan(own.y if written == RESULT else own.y_bar, sizes.y, zero)
    return 0


# --- loops -----------------------------------------------------------------------------------------------------


@always_inline
def for_each(
    frame: int, loops: int, routines: Lapack, p: Any, sizes: Sizes, process: Any, written: int
) -> int:
    """Call ``process(loops, routines, matrix_frame, p)`` for each matrix; return the first status other than 0.

    `written` says what it writes: RESULT, COTANGENT or TANGENT.
    """
    x, other, y = load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y)
    x_bar, y_bar, store = load_i64(frame, X_BAR), load_i64(frame, Y_BAR), load_i64(frame, STORE) & 1
    scratch, status = malloc(sizes.scratch + 8), 0
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        own = MatrixFrame(x, other, y, x_bar, y_bar, store, scratch)
        status = _process_or_nan(loops, routines, own, p, sizes, process, written)
        if status != 0:
            break
        x += sizes.x
        other += sizes.other
        y += sizes.y
        x_bar += sizes.x
        y_bar += sizes.y
    free(scratch)
    return status


@always_inline
def for_each_block(
    frame: int, loops: int, routines: Lapack, p: Any, sizes: Sizes, in_lanes: bool, block: Any, process: Any
) -> int:
    """Process blocks of as many matrices as there are lanes if `in_lanes`, else one matrix after another.

    ``block(scratch, x, y, last, p, zero)`` writes the results of matrices 0 to `last`, or returns False to leave them
    to ``process(loops, routines, matrix_frame, p)``. Return the first status of that function other than 0.
    """
    x, y, zero, most = load_i64(frame, X), load_i64(frame, Y), routines.zero, lane_count(routines.zero)
    scratch, status, first = malloc(sizes.scratch + 8), 0, 0
    if scratch == 0:
        return OUT_OF_MEMORY
    while first < p.matrices and status == 0:
        count = min(most, p.matrices - first)
        if not (in_lanes and first % most == 0 and block(scratch, x, y, count - 1, p, zero)):
            count = 1
            own = MatrixFrame(x, 0, y, 0, 0, 0, scratch)
            status = _process_or_nan(loops, routines, own, p, sizes, process, RESULT)
        x += count * sizes.x
        y += count * sizes.y
        first += count
    free(scratch)
    return status


@always_inline
def for_each_system(
    frame: int, loops: int, context: Any, p: Any, a: int, sizes: Sizes, zero: Any, process: Any
) -> int:
    """Call ``process(loops, context, system_frame, p)``, which adds the cotangents of one system, for each system.

    `a` is the address of the first matrix; `sizes` has the bytes of a matrix, of its cotangent and of a solution.
    Return the first status other than 0. A singular system gets nan instead if the op's `nan_on_failure` says so.
    """
    y, y_bar, store = load_i64(frame, Y), load_i64(frame, Y_BAR), load_i64(frame, STORE)
    a_bar, b_bar = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1)
    scratch, status = malloc(sizes.y + sizes.scratch + 8), 0
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        if p.nan_on_failure and are_zeros(y_bar, sizes.y, zero):
            write_nothing(a_bar, sizes.other, store & 1)
            write_nothing(b_bar, sizes.y, store & 2)
        else:
            memcpy(scratch, y_bar, sizes.y)
            status = process(loops, context, SystemFrame(a, y, a_bar, b_bar, store, scratch), p)
            if status == SINGULAR and p.nan_on_failure:
                write_failure(a_bar, sizes.other, zero)
                write_failure(b_bar, sizes.y, zero)
                status = 0
            if status != 0:
                break
        if a_bar != 0:
            a_bar += p.stride * sizes.other
            store &= 2 | p.stride
        if b_bar != 0:
            b_bar += sizes.y
        a += p.stride * sizes.x
        y += sizes.y
        y_bar += sizes.y
    free(scratch)
    return status


@always_inline
def clear_if_written(frame: int, bytes_: int) -> None:
    """Fill the cotangent X_BAR[0] with zeros, to which those of the matrices are added, if STORE says to write it."""
    if load_i64(frame, STORE) & 1:
        memset(load_i64(frame, X_BAR), np.int32(0), bytes_)
