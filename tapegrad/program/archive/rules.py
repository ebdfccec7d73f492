"""Rules for a tape from a file, beside those of `engine.inspection.verify`, which trust the recorder.

A rule takes a view of the tape and the number of an instruction or of a buffer, and says what is wrong; nothing if it
holds.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import Slot, TapeView
from tapegrad.engine.inspection.verify.rules import FACTORS
from tapegrad.engine.tape.fields.layout import MAX_NDIM
from tapegrad.frontend.conversions.complex_views import part_dtype
from tapegrad.ops.params import Region, fields_of, read
from tapegrad.program.archive.fields import most_bytes


def fields_are_those_of_the_record(t: TapeView, i: int) -> str:
    """Check that the parameters are those of the op's record, and that their lengths fit into memory."""
    instruction = t.instructions[i]
    record = kernel_table.row(instruction.op).params
    if record is None:
        return ""
    try:
        found = read(record, instruction.params)
    except (ValueError, TypeError, RuntimeError, StopIteration) as error:
        return f"parameters {instruction.params} ({error})"
    fields: Any = tuple(fields_of(found))
    if fields != tuple(instruction.params):
        return f"parameters {instruction.params} are read as {fields}"
    return next(filter(None, map(_broken_region, _regions(found))), "")


def _regions(value: Any) -> Iterator[Region]:
    if isinstance(value, Region):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _regions(part)


def _broken_region(region: Region) -> str:
    if len(region.extents) > MAX_NDIM or min(region.extents, default=0) < 0:
        return f"a region of extents {region.extents}"
    large = math.prod(max(1, extent) for extent in region.extents) > most_bytes() // 8
    return f"a region of extents {region.extents} is larger than memory" if large else ""


def factors_are_computed(t: TapeView, i: int) -> str:
    """Check that no row exchanges are constants, which `engine.inspection.verify` takes on trust."""
    instruction = t.instructions[i]
    if instruction.op not in FACTORS:
        return ""
    number, maker = FACTORS[instruction.op]
    computed = t.slots[instruction.operands[number]].buffer in t.writers
    return "" if computed else f"operand {number} is not what `{maker}` gives"


def arguments_are_whole_and_only_read(t: TapeView) -> str:
    """Check that each argument covers a buffer of its own, which nothing writes."""
    buffers = [t.slots[s].buffer for s in t.inputs]
    if len(set(buffers)) != len(buffers):
        return "two arguments lie on one buffer"
    return next(filter(None, (_broken_argument(t, t.slots[s]) for s in t.inputs)), "")


def _broken_argument(t: TapeView, slot: Slot) -> str:
    if slot.buffer in t.writers:
        return f"an argument lies on buffer {slot.buffer}, which is written"
    return "" if _is_whole(t, slot) else f"an argument is not the whole of buffer {slot.buffer}"


def results_are_whole_and_computed(t: TapeView) -> str:
    """Check that each result is the whole of a buffer that is written, and no other result is on it."""
    buffers = [t.slots[s].buffer for s in t.outputs]
    if len(set(buffers)) != len(buffers):
        return "two results lie on one buffer"
    computed = all(b in t.writers for b in buffers)
    whole = all(_is_whole(t, t.slots[s]) for s in t.outputs)
    return "" if computed and whole else "a result is not the whole of a buffer that is computed"


def _is_whole(t: TapeView, slot: Slot) -> bool:
    return slot.view.covers(t.buffers[slot.buffer].bytes) and slot.view.offset == 0


def elements_lie_on_their_boundaries(t: TapeView, s: int) -> str:
    """Check that elements, or the parts of complex ones, begin at multiples of their size."""
    view = t.slots[s].view
    unit = part_dtype(view.dtype).itemsize
    steps = np.array([view.offset, *view.steps], np.int64) if view.size else np.zeros(1, np.int64)
    return f"elements of {view.itemsize} bytes at {steps}" if (steps % unit).any() else ""


def writers_follow_one_another(t: TapeView, b: int) -> str:
    """Check that the instructions that write a buffer are adjacent, as `verify` assumes when it counts producers."""
    writers = t.writers[b]
    together = writers == list(range(writers[0], writers[-1] + 1))
    return "" if together else f"the instructions that write it, {writers}, do not follow one another"


def slots_reach_to_its_end(t: TapeView, b: int) -> str:
    """Check that a computed buffer is no larger than the slots on it show."""
    reached = max((slot.view.bounds[1] for slot in t.slots.values() if slot.buffer == b), default=0)
    return (
        f"it has {t.buffers[b].bytes} bytes, of which {reached} are used"
        if t.buffers[b].bytes > reached
        else ""
    )


PARAMETER_RULES = (fields_are_those_of_the_record,)
WRITER_RULES = (writers_follow_one_another, slots_reach_to_its_end)
FACTOR_RULES = (factors_are_computed,)
WHOLE_RULES = (arguments_are_whole_and_only_read, results_are_whole_and_computed)
