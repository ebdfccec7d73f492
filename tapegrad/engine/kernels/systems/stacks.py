"""Stacks of matrices: kernels that process one matrix after another, with scratch memory for one."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import lane_count
from tapegrad.engine.kernels.language.frame import STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.lapack import Lapack
from tapegrad.engine.kernels.language.raw_memory import free, load_i64, malloc, memset
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY


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


@always_inline
def for_each(frame: int, loops: int, routines: Lapack, p: Any, sizes: Sizes, process: Any) -> int:
    """Call ``process(loops, routines, matrix_frame, p)`` for each matrix; return the first status other than 0."""
    x, other, y = load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y)
    x_bar, y_bar, store = load_i64(frame, X_BAR), load_i64(frame, Y_BAR), load_i64(frame, STORE) & 1
    scratch, status = malloc(sizes.scratch + 8), 0
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        status = process(loops, routines, MatrixFrame(x, other, y, x_bar, y_bar, store, scratch), p)
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
            status = process(loops, routines, MatrixFrame(x, 0, y, 0, 0, 0, scratch), p)
        x += count * sizes.x
        y += count * sizes.y
        first += count
    free(scratch)
    return status


@always_inline
def clear_if_written(frame: int, bytes_: int) -> None:
    """Fill the cotangent X_BAR[0] with zeros, to which those of the matrices are added, if STORE says to write it."""
    if load_i64(frame, STORE) & 1:
        memset(load_i64(frame, X_BAR), np.int32(0), bytes_)
