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


def matrices(widening: Widening, entry: TapeEntry) -> None:
    """Widen an op of matrices."""
    row = kernel_table.row(entry.op)
    record: Any = row.params
    params = read(record, entry.params)
    changed = {"matrices": params.matrices * widening.lanes}
    one_for_all, repeats = row.shared_operands, 1
    if one_for_all:
        one_of_all = params.matrices == 1 or not params.stride
        shared = one_of_all and not any(widening.has_lanes(entry.operands[j]) for j in one_for_all)
        changed["stride"] = int(not shared)
        repeats = 1 if params.stride else params.matrices
        one_for_all = one_for_all if shared else ()
    operands = [
        slot if j in one_for_all else widening.stack(slot, repeats if j in row.shared_operands else 1)
        for j, slot in enumerate(entry.operands)
    ]
    if row.of_columns:
        operands[1] = widening.in_shape(operands[1], _columns)
        widening.emit_stack(entry, operands, params._replace(**changed), _columns)
    else:
        widening.emit_stack(entry, operands, params._replace(**changed))


def _columns(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a stack of matrices: a vector is one column."""
    return (*shape, 1) if len(shape) == 2 else shape


def slogdet(widening: Widening, entry: TapeEntry) -> None:
    """Widen a slogdet, whose result has all signs before all logarithms: with the lanes last."""
    params = read(SquareParams, entry.params)
    is_one = params.matrices == 1 and widening.is_whole(entry.result)
    if not is_one or widening.are_in_front(entry.result):
        widening.by_lane(entry)
        return
    operands = [widening.stack(slot) for slot in entry.operands]
    result = widening.view(entry.result, widening.result(entry.result))
    widening.emit(entry, result, operands, params._replace(matrices=widening.lanes))


def lines(widening: Widening, entry: TapeEntry) -> None:
    """Widen an op of lines."""
    record: Any = kernel_table.row(entry.op).params
    params = read(record, entry.params)
    operands = [widening.stack(slot) for slot in entry.operands]
    widening.emit_stack(entry, operands, params._replace(lines=params.lines * widening.lanes))


def argsort(widening: Widening, entry: TapeEntry) -> None:
    """Widen an argsort of lines. Numbers that count through all lines of an instance restart in each lane."""
    params = read(ArgsortParams, entry.params)
    in_lines = params._replace(lines=params.lines * widening.lanes, numbered_through=0)
    operands = [widening.stack(slot) for slot in entry.operands]
    if not params.numbered_through or params.lines == 1:
        widening.emit_stack(entry, operands, in_lines)
        return
    stack, buffer = widening.result_stack(entry.result)
    order = widening.stack_like(stack)
    widening.emit(entry, order, operands, in_lines)
    first = np.arange(params.lines, dtype=np.int64) * params.length
    firsts = widening.constant(np.tile(np.repeat(first, params.length), widening.lanes))
    widening.add(_LOCATE, stack, (firsts, order), LocateParams(params.length, 1, RAISE, 1))
    widening.copy_from_stack(entry.result, buffer)


# --- rows by number ------------------------------------------------------------------------------------------------
# If the row numbers are unbatched, the elements of all lanes lie in one longer row. If they are batched, the rows of
# all lanes become one array, lane after lane, and the numbers of a lane are shifted to its rows.


def gather(widening: Widening, entry: TapeEntry) -> None:
    """Widen a gather of rows."""
    source, listed = entry.operands
    params = read(GatherParams, entry.params)
    if params.by_columns:
        widening.by_lane(entry)
    elif widening.has_lanes(listed) and not widening.has_lanes(source):
        widening.emit_stack(entry, (source, widening.stack(listed)), params)
    else:
        _widen_rows(widening, entry, params)


def scatter_add(widening: Widening, entry: TapeEntry) -> None:
    """Widen additions to rows."""
    params = read(ScatterAddParams, entry.params)
    if params.by_columns:
        widening.by_lane(entry)
    else:
        _widen_rows(widening, entry, params)


def _widen_rows(widening: Widening, entry: TapeEntry, params: Any) -> None:
    source, listed = entry.operands
    if not widening.has_lanes(listed):
        _emit_longer_rows(widening, entry, (source,), params._replace(length=params.length * widening.lanes))
    else:
        operands = widening.stack(source), _numbers(widening, listed, params.rows)
        widening.emit_stack(entry, operands, params._replace(rows=params.rows * widening.lanes))


def scatter_write(widening: Widening, entry: TapeEntry) -> None:
    """Widen writes to rows."""
    old, value, listed = entry.operands
    params = read(ScatterWriteParams, entry.params)
    if not widening.has_lanes(listed) and params.value_stride and all(map(widening.has_lanes, (old, value))):
        _emit_longer_rows(
            widening, entry, (old, value), params._replace(length=params.length * widening.lanes)
        )
        return
    count = widening.tape.slots[listed].view.size * params.length
    spread = widening.stack(value, 1 if params.value_stride else count)
    operands = widening.stack(old), spread, _numbers(widening, listed, params.rows)
    itemsize = widening.tape.slots[value].itemsize
    widening.emit_stack(
        entry, operands, params._replace(rows=params.rows * widening.lanes, value_stride=itemsize)
    )


def sparse(widening: Widening, entry: TapeEntry) -> None:
    """Widen a product with a sparse matrix: an unbatched matrix is multiplied by the columns of all lanes."""
    record: Any = kernel_table.row(entry.op).params
    params = read(record, entry.params)
    factor, *matrix = entry.operands
    if any(map(widening.has_lanes, matrix)):
        widening.by_lane(entry)
    else:
        _emit_longer_rows(widening, entry, (factor,), params._replace(width=params.width * widening.lanes))


def searchsorted(widening: Widening, entry: TapeEntry) -> None:
    """Widen a search in sorted numbers; batched numbers are searched lane by lane."""
    numbers, values = entry.operands
    if widening.has_lanes(numbers):
        widening.by_lane(entry)
    else:
        widening.emit_stack(entry, (numbers, widening.stack(values)), read(SearchParams, entry.params))


def locate(widening: Widening, entry: TapeEntry) -> None:
    """Widen the numbers of elements."""
    numbers, indices = entry.operands
    params = read(LocateParams, entry.params)
    if params.stride == 0 and not widening.has_lanes(numbers):
        widening.emit_stack(entry, (numbers, widening.stack(indices)), params)
        return
    repeats = 1 if params.stride else widening.tape.slots[indices].view.size
    widening.emit_stack(
        entry, (widening.stack(numbers, repeats), widening.stack(indices)), params._replace(stride=1)
    )


def _emit_longer_rows(widening: Widening, entry: TapeEntry, moved: tuple[int, ...], params: Any) -> None:
    """Emit the op with rows that hold the elements of all lanes."""
    if any(map(widening.are_in_front, (*moved, entry.result))):
        widening.by_lane(entry)
        return
    slots = [
        widening.view(slot, widening.buffer(slot, LAST)) if slot in moved else slot for slot in entry.operands
    ]
    widening.emit(entry, widening.view(entry.result, widening.result(entry.result)), slots, params)


def _numbers(widening: Widening, listed: int, rows: int) -> int:
    """Return a slot for row numbers among the rows of all lanes, given numbers among the rows of a lane."""
    own = widening.stack(listed)
    count = widening.tape.slots[listed].view.size
    starts = widening.constant(np.repeat(np.arange(widening.lanes, dtype=np.int64) * rows, count))
    found = widening.stack_like(own)
    widening.add(_LOCATE, found, (starts, own), LocateParams(rows, 1, RAISE, 1))
    return found
