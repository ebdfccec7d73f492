"""Batching rules of ops of stacks of matrices or lines: the stacks of all lanes become one stack.

Stacks are in C order with the lanes in front, so kernels for stacks of small matrices vectorise over the lanes too.
"""

from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_entries import TapeEntry
from tapegrad.ops import CODES
from tapegrad.ops.params import RAISE, ArgsortParams, LocateParams, SquareParams, read
from tapegrad.program.lanes.widening import Widening

_LOCATE = CODES["locate"]


def matrices(made: Widening, each: TapeEntry) -> None:
    """Widen an op of matrices."""
    row = kernel_table.row(each.op)
    record: Any = row.params
    params = read(record, each.params)
    changed = {"matrices": params.matrices * made.lanes}
    one_for_all, repeats = row.shared_operands, 1
    if one_for_all:
        one_of_all = params.matrices == 1 or not params.stride
        shared = one_of_all and not any(made.has_lanes(each.operands[j]) for j in one_for_all)
        changed["stride"] = int(not shared)
        repeats = 1 if params.stride else params.matrices
        one_for_all = one_for_all if shared else ()
    operands = [
        slot if j in one_for_all else made.stack(slot, repeats if j in row.shared_operands else 1)
        for j, slot in enumerate(each.operands)
    ]
    if row.of_columns:
        operands[1] = made.in_shape(operands[1], _columns)
        made.emit_stack(each, operands, params._replace(**changed), _columns)
    else:
        made.emit_stack(each, operands, params._replace(**changed))


def _columns(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a stack of matrices: a vector is one column."""
    return (*shape, 1) if len(shape) == 2 else shape


def slogdet(made: Widening, each: TapeEntry) -> None:
    """Widen a slogdet, whose result has all signs before all logarithms."""
    params = read(SquareParams, each.params)
    if params.matrices > 1 or not made.is_whole(each.result):
        made.by_lane(each)
        return
    operands = [made.stack(slot) for slot in each.operands]
    result = made.view(each.result, made.result(each.result))
    made.emit(each, result, operands, params._replace(matrices=made.lanes))


def lines(made: Widening, each: TapeEntry) -> None:
    """Widen an op of lines."""
    record: Any = kernel_table.row(each.op).params
    params = read(record, each.params)
    operands = [made.stack(slot) for slot in each.operands]
    made.emit_stack(each, operands, params._replace(lines=params.lines * made.lanes))


def argsort(made: Widening, each: TapeEntry) -> None:
    """Widen an argsort of lines. Numbers that count through all lines of an instance restart in each lane."""
    params = read(ArgsortParams, each.params)
    in_lines = params._replace(lines=params.lines * made.lanes, numbered_through=0)
    operands = [made.stack(slot) for slot in each.operands]
    if not params.numbered_through or params.lines == 1:
        made.emit_stack(each, operands, in_lines)
        return
    stack, buffer = made.result_stack(each.result)
    order = made.stack_like(stack)
    made.emit(each, order, operands, in_lines)
    first = np.arange(params.lines, dtype=np.int64) * params.length
    firsts = made.constant(np.tile(np.repeat(first, params.length), made.lanes))
    made.add(_LOCATE, stack, (firsts, order), LocateParams(params.length, 1, RAISE, 1))
    made.copy_from_stack(each.result, buffer)
