"""Batching rules of ops that take or write rows by number.

If the row numbers are unbatched, the elements of all lanes lie in one longer row. If they are batched, the rows of all
lanes become one array, lane after lane, and the numbers of a lane are shifted to its rows.
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
    """Widen a gather of rows."""
    source, listed = each.operands
    params = read(GatherParams, each.params)
    if not made.has_lanes(listed):
        _emit_longer_rows(made, each, (source,), params._replace(length=params.length * made.lanes))
    elif not made.has_lanes(source):
        made.emit_stack(each, (source, made.stack(listed)), params)
    else:
        operands = made.stack(source), _numbers(made, listed, params.rows)
        made.emit_stack(each, operands, params._replace(rows=params.rows * made.lanes))


def scatter_add(made: Widening, each: TapeEntry) -> None:
    """Widen additions to rows."""
    source, listed = each.operands
    params = read(ScatterAddParams, each.params)
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
