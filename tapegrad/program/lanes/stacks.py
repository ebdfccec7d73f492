"""Batching rules of ops of stacks of matrices, lines or rows: the stacks of all lanes become one stack.

Stacks are in C order with the lanes in front, so kernels for stacks of small matrices vectorise over the lanes too.
"""

from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_entries import TapeEntry
from tapegrad.ops import CODES
from tapegrad.ops.params import read
from tapegrad.ops.structural.indexing import (
    RAISE,
    GatherParams,
    LocateParams,
    ScatterAddParams,
    ScatterWriteParams,
)
from tapegrad.ops.structural.lines import ArgsortParams, SearchParams
from tapegrad.ops.structural.matrices import SquareParams
from tapegrad.program.lanes.layout import LAST
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


# --- rows by number ------------------------------------------------------------------------------------------------
# If the row numbers are unbatched, the elements of all lanes lie in one longer row. If they are batched, the rows of
# all lanes become one array, lane after lane, and the numbers of a lane are shifted to its rows.


def gather(made: Widening, each: TapeEntry) -> None:
    """Widen a gather of rows."""
    source, listed = each.operands
    params = read(GatherParams, each.params)
    if params.by_columns:
        made.by_lane(each)
    elif made.has_lanes(listed) and not made.has_lanes(source):
        made.emit_stack(each, (source, made.stack(listed)), params)
    else:
        _widen_rows(made, each, params)


def scatter_add(made: Widening, each: TapeEntry) -> None:
    """Widen additions to rows."""
    params = read(ScatterAddParams, each.params)
    if params.by_columns:
        made.by_lane(each)
    else:
        _widen_rows(made, each, params)


def _widen_rows(made: Widening, each: TapeEntry, params: Any) -> None:
    source, listed = each.operands
    if not made.has_lanes(listed):
        _emit_longer_rows(made, each, (source,), params._replace(length=params.length * made.lanes))
    else:
        operands = made.stack(source), _numbers(made, listed, params.rows)
        made.emit_stack(each, operands, params._replace(rows=params.rows * made.lanes))


def scatter_write(made: Widening, each: TapeEntry) -> None:
    """Widen writes to rows."""
    old, value, listed = each.operands
    params = read(ScatterWriteParams, each.params)
    if not made.has_lanes(listed) and params.value_stride and all(map(made.has_lanes, (old, value))):
        _emit_longer_rows(made, each, (old, value), params._replace(length=params.length * made.lanes))
        return
    count = made.tape.slots[listed].view.size * params.length
    spread = made.stack(value, 1 if params.value_stride else count)
    operands = made.stack(old), spread, _numbers(made, listed, params.rows)
    itemsize = made.tape.slots[value].itemsize
    made.emit_stack(each, operands, params._replace(rows=params.rows * made.lanes, value_stride=itemsize))


def sparse(made: Widening, each: TapeEntry) -> None:
    """Widen a product with a sparse matrix: an unbatched matrix is multiplied by the columns of all lanes."""
    record: Any = kernel_table.row(each.op).params
    params = read(record, each.params)
    factor, *matrix = each.operands
    if any(map(made.has_lanes, matrix)):
        made.by_lane(each)
    else:
        _emit_longer_rows(made, each, (factor,), params._replace(width=params.width * made.lanes))


def searchsorted(made: Widening, each: TapeEntry) -> None:
    """Widen a search in sorted numbers; batched numbers are searched lane by lane."""
    numbers, values = each.operands
    if made.has_lanes(numbers):
        made.by_lane(each)
    else:
        made.emit_stack(each, (numbers, made.stack(values)), read(SearchParams, each.params))


def locate(made: Widening, each: TapeEntry) -> None:
    """Widen the numbers of elements."""
    numbers, indices = each.operands
    params = read(LocateParams, each.params)
    if params.stride == 0 and not made.has_lanes(numbers):
        made.emit_stack(each, (numbers, made.stack(indices)), params)
        return
    repeats = 1 if params.stride else made.tape.slots[indices].view.size
    made.emit_stack(each, (made.stack(numbers, repeats), made.stack(indices)), params._replace(stride=1))


def _emit_longer_rows(made: Widening, each: TapeEntry, moved: tuple[int, ...], params: Any) -> None:
    """Emit the op with rows that hold the elements of all lanes."""
    if any(map(made.are_in_front, (*moved, each.result))):
        made.by_lane(each)
        return
    slots = [made.view(slot, made.buffer(slot, LAST)) if slot in moved else slot for slot in each.operands]
    made.emit(each, made.view(each.result, made.result(each.result)), slots, params)


def _numbers(made: Widening, listed: int, rows: int) -> int:
    """Return a slot for row numbers among the rows of all lanes, given numbers among the rows of a lane."""
    own = made.stack(listed)
    count = made.tape.slots[listed].view.size
    starts = made.constant(np.repeat(np.arange(made.lanes, dtype=np.int64) * rows, count))
    found = made.stack_like(own)
    made.add(_LOCATE, found, (starts, own), LocateParams(rows, 1, RAISE, 1))
    return found
