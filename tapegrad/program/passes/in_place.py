"""In-place writes of a program: whether the new version of a buffer can have the memory of the old one.

A recording gives each version a buffer of its own. Where nothing reads the old contents afterwards, or only elements
that are not overwritten, the plan lets both be one block, and the write costs no more than what it writes.
"""

from collections.abc import Callable, Iterable

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.ops.params import read
from tapegrad.ops.structural.indexing import WriteParams
from tapegrad.program.passes.op_facts import IN_PLACE

Bounds = tuple[int, int]  # first byte, and one past the last
_NOTHING: Bounds = (0, 0)


def taken_over(
    tape: TapeView, live: np.ndarray, elsewhere: Iterable[int], saved: Callable[[], np.ndarray]
) -> dict[int, int]:
    """Return the buffer whose memory each buffer can be written to.

    Parameters
    ----------
    live
        The instructions of the forward stream.
    elsewhere
        Buffers whose memory is not in the workspace, or must stay as it is.
    saved
        Function that returns the slots whose primals are read after the forward stream.
    """
    columns = tape.columns
    writes = live[IN_PLACE[columns.op[live]]]
    if len(writes) == 0:
        return {}
    excluded = set(elsewhere)
    written = np.zeros(len(columns.bytes), np.bool_)
    written[columns.written[live]] = True
    slots = np.concatenate([saved(), _read_behind(tape, live, writes)])
    read_after = _bounds(tape, slots, columns.read[writes, 0])
    found: dict[int, int] = {}
    # The bytes of a memory that are read of earlier versions, by version
    kept: dict[int, Bounds] = {}
    for i in writes.tolist():
        old, new = int(columns.read[i, 0]), int(columns.written[i])
        if not written[old] or old in excluded or new in excluded:
            continue
        read_later = _joined(kept.get(old, _NOTHING), read_after.get(old, _NOTHING))
        if not _overlap(read_later, _written_bounds(tape, i)):
            found[new], kept[new] = old, read_later
    return found


def _read_behind(tape: TapeView, live: np.ndarray, writes: np.ndarray) -> np.ndarray:
    """Return the slots by which instructions read buffers behind the first write that has the buffer as its old one."""
    columns = tape.columns
    first = np.full(len(columns.bytes) + 1, live[-1])
    first[columns.read[writes[::-1], 0]] = writes[::-1]
    slots: np.ndarray = columns.operands[live][first[columns.read[live]] < live[:, None]]
    return slots


def _bounds(tape: TapeView, slots: np.ndarray, buffers: np.ndarray) -> dict[int, Bounds]:
    """Return the range of bytes that slots show of each of these buffers."""
    found: dict[int, Bounds] = {}
    for number in slots[np.isin(tape.columns.buffer[slots], buffers)].tolist():
        slot = tape.slots[number]
        found[slot.buffer] = _joined(found.get(slot.buffer, _NOTHING), slot.view.bounds)
    return found


def _written_bounds(tape: TapeView, i: int) -> Bounds:
    """Return the bytes of its buffer that a write reaches."""
    record, result = kernel_table.row(tape.instructions[i].op).params, tape.result(i)
    if record is not WriteParams:
        return 0, tape.bytes(result.buffer)
    region = read(record, tape.instructions[i].params).region
    return result.view.as_strided(region.offset, region.extents, region.strides).bounds


def _joined(one: Bounds, other: Bounds) -> Bounds:
    """Return the bounds around both; empty ones lie nowhere."""
    if one[0] == one[1] or other[0] == other[1]:
        return other if one[0] == one[1] else one
    return min(one[0], other[0]), max(one[1], other[1])


def _overlap(one: Bounds, other: Bounds) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[0] != one[1]
