"""Ops that take or write rows by number, over lanes.

Where all lanes take the same rows, a row is longer by the lanes. Where each lane has numbers of its own, those of all
lanes' rows are one list, in which the rows of a lane begin where those of the one before end.
"""

from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_entries import TapeEntry
from tapegrad.ops import CODES
from tapegrad.ops.params import (
    RAISE,
    GatherParams,
    LocateParams,
    ScatterAddParams,
    ScatterWriteParams,
    SearchParams,
    read,
)
from tapegrad.program.lanes.layout import LAST
from tapegrad.program.lanes.widening import Widening

_LOCATE = CODES["locate"]


def gather(made: Widening, each: TapeEntry) -> None:
    """Widen rows that are taken."""
    source, listed = each.operands
    params = read(GatherParams, each.params)
    if not made.has_lanes(listed):
        _longer(made, each, (source,), params._replace(length=params.length * made.lanes))
    elif not made.has_lanes(source):
        made.emit_stack(each, (source, made.stack(listed)), params)
    else:
        operands = made.stack(source), _numbers(made, listed, params.rows)
        made.emit_stack(each, operands, params._replace(rows=params.rows * made.lanes))


def scatter_add(made: Widening, each: TapeEntry) -> None:
    """Widen what is added to rows."""
    source, listed = each.operands
    params = read(ScatterAddParams, each.params)
    if not made.has_lanes(listed):
        _longer(made, each, (source,), params._replace(length=params.length * made.lanes))
    else:
        operands = made.stack(source), _numbers(made, listed, params.rows)
        made.emit_stack(each, operands, params._replace(rows=params.rows * made.lanes))


def scatter_write(made: Widening, each: TapeEntry) -> None:
    """Widen rows that are written."""
    old, value, listed = each.operands
    params = read(ScatterWriteParams, each.params)
    if not made.has_lanes(listed) and params.value_stride and all(map(made.has_lanes, (old, value))):
        _longer(made, each, (old, value), params._replace(length=params.length * made.lanes))
        return
    count = made.tape.slots[listed].view.size * params.length
    spread = made.stack(value, 1 if params.value_stride else count)
    operands = made.stack(old), spread, _numbers(made, listed, params.rows)
    itemsize = made.tape.slots[value].itemsize
    made.emit_stack(each, operands, params._replace(rows=params.rows * made.lanes, value_stride=itemsize))


def sparse(made: Widening, each: TapeEntry) -> None:
    """Widen a product with a sparse matrix: all lanes' columns, if they share the matrix."""
    record: Any = kernel_table.row(each.op).params
    params = read(record, each.params)
    factor, *matrix = each.operands
    if any(map(made.has_lanes, matrix)):
        made.by_lane(each)
    else:
        _longer(made, each, (factor,), params._replace(width=params.width * made.lanes))


def searchsorted(made: Widening, each: TapeEntry) -> None:
    """Widen places among sorted numbers, which all lanes share or not."""
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
    again = 1 if params.stride else made.tape.slots[indices].view.size
    made.emit_stack(each, (made.stack(numbers, again), made.stack(indices)), params._replace(stride=1))


def _longer(made: Widening, each: TapeEntry, moved: tuple[int, ...], params: Any) -> None:
    """Let rows be longer by the lanes."""
    slots = [made.view(slot, made.buffer(slot, LAST)) if slot in moved else slot for slot in each.operands]
    made.emit(each, made.view(each.result, made.result(each.result)), slots, params)


def _numbers(made: Widening, listed: int, rows: int) -> int:
    """Return a slot for the numbers of rows among the rows of all lanes, given those in each lane's own."""
    own = made.stack(listed)
    count = made.tape.slots[listed].view.size
    starts = made.constant(np.repeat(np.arange(made.lanes, dtype=np.int64) * rows, count))
    found = made.stack_like(own)
    made.add(_LOCATE, found, (starts, own), LocateParams(rows, 1, RAISE, 1))
    return found
