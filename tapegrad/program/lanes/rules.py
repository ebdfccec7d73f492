"""Batching rules: the instructions over lanes for each kind of instruction.

Loops over elements get the lanes as one more dimension; offsets and strides in parameters are stretched. Ops of stacks
get one stack of all lanes, and ops that take rows by number get the rows of all lanes (`stacks`). Other ops run lane by
lane.
"""

from collections.abc import Callable, Sequence, Set
from typing import Any

from tapegrad.autodiff.custom.call import call_at
from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_entries import TapeEntry
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.ops import Row
from tapegrad.ops.params import Region, read
from tapegrad.ops.structural.control import CustomParams, DeterminedParams
from tapegrad.ops.structural.indexing import EmbedParams, WriteParams
from tapegrad.program.lanes import stacks
from tapegrad.program.lanes.layout import FIRST, LAST, Layout
from tapegrad.program.lanes.products import are_stacks, matmul
from tapegrad.program.lanes.widening import Widened, Widening

Rule = Callable[[Widening, TapeEntry], None]


def widened(
    recording: Any, tape: TapeView, batched: Sequence[bool], lanes: int, free: bool = False
) -> Widened:
    """Return the recording of one instance over lanes.

    Parameters
    ----------
    recording, tape
        The recording, and its instructions after other passes.
    batched
        For each input whether it is batched.
    lanes
        Number of lanes.
    free
        Whether inputs and outputs that are stacks may have their lanes in front; otherwise all have them last.
    """
    made = Widening(recording, tape, batched, lanes)
    inputs = [tape.slots[slot].buffer for slot in tape.inputs]
    made.enter_inputs(
        [
            FIRST
            if free and (made.are_in_front(slot) or _is_for_stacks(tape, buffer, made.with_lanes))
            else LAST
            for slot, buffer in zip(tape.inputs, inputs, strict=True)
        ]
    )
    for i, is_batched in zip(tape.live, made.batched_instructions().tolist(), strict=True):
        entry = tape.instructions[i]
        if is_batched:
            _rule_of(kernel_table.row(entry.op))(made, entry)
        else:
            made.keep(entry)
    return made.finished(free)


def _is_for_stacks(tape: TapeView, buffer: int, batched: Set[int]) -> bool:
    """Return whether a buffer is only an operand of stacks, given the batched ones."""
    readers = tape.readers.get(buffer, ())
    return bool(readers) and all(_takes_stack(tape, i, j, batched) for i, j in readers)


def _takes_stack(tape: TapeView, i: int, j: int, batched: Set[int]) -> bool:
    each = tape.instructions[i]
    if kernel_table.row(each.op).kind == "matmul":
        return are_stacks(each) and all(buffer in batched for buffer in tape.read[i])
    is_whole = tape.slots[each.operands[j]].view.covers(tape.bytes(tape.read[i][j]))
    return is_whole and _rule_of(kernel_table.row(each.op)) in _OF_STACKS


def _rule_of(row: Row) -> Rule:
    return RULES[row.batching] if row.batching else _KINDS[row.kind]


# --- by geometry -----------------------------------------------------------------------------------------------------


def _by_geometry(behind: int) -> Rule:
    """Lanes are one more dimension of the loops, in front of the last `behind` ones."""

    def rule(made: Widening, each: TapeEntry) -> None:
        operands = [made.view(slot, _read(made, slot), behind) for slot in each.operands]
        made.emit(each, made.view(each.result, made.result(each.result), behind), operands)

    return rule


def _read(made: Widening, slot: int) -> int:
    """Return the buffer that loops read a slot in: without lanes, or with lanes last."""
    return made.buffer(slot, LAST) if made.has_lanes(slot) else made.buffer(slot)


# --- by parameters ---------------------------------------------------------------------------------------------------


def _region(region: Region, buffer: Layout, other: Layout, itemsize: int) -> Region:
    """Return a region in all lanes of a buffer that has them last."""
    return Region(
        buffer.stretched(region.offset),
        (*region.extents, buffer.lanes),
        (*map(buffer.stretched, region.strides), buffer.step(itemsize)),
        (*map(other.stretched, region.other_strides), other.step(itemsize)),
    )


def write(made: Widening, each: TapeEntry) -> None:
    """Widen a write to a region: lanes are one more dimension of it."""
    params, (old, value) = read(WriteParams, each.params), each.operands
    itemsize = made.tape.slots[old].itemsize
    before, source = made.buffer(old, LAST), _read(made, value)
    target = made.result(each.result)
    layout = made.layout(target)
    region = _region(params.region, layout, made.layout(source), itemsize)
    slots = _whole(made, old, before), made.view(value, source)
    made.emit(
        each, _whole(made, each.result, target), slots, WriteParams(params.total * layout.lanes, region)
    )


def _whole(made: Widening, slot: int, buffer: int) -> int:
    """Return a slot for all of a buffer, with the lanes where they lie."""
    is_in_front = made.layout(buffer).kind == FIRST
    return made.view(slot, buffer, made.tape.slots[slot].view.ndim if is_in_front else 0)


def embed(made: Widening, each: TapeEntry) -> None:
    """Batch a scatter of operands to regions."""
    params = read(EmbedParams, each.params)
    itemsize = made.tape.slots[each.result].itemsize
    sources = [_read(made, slot) for slot in each.operands]
    target = made.result(each.result)
    layout = made.layout(target)
    regions = tuple(
        _region(region, layout, made.layout(source), itemsize)
        for region, source in zip(params.regions, sources, strict=True)
    )
    slots = [made.view(slot, source) for slot, source in zip(each.operands, sources, strict=True)]
    made.emit(
        each, _whole(made, each.result, target), slots, EmbedParams(params.total * layout.lanes, regions)
    )


def determined(made: Widening, each: TapeEntry) -> None:
    """Widen a checked copy, whose flags may be shared by all lanes."""
    params, (values, truths) = read(DeterminedParams, each.params), each.operands
    buffers = made.buffer(values, LAST), _read(made, truths)
    target = made.result(each.result)
    count = made.layout(target).lanes
    # A view of unbatched truths would repeat them for each lane; they are checked once
    checked = (
        (made.view(truths, buffers[1]), params.truths * count)
        if made.has_lanes(truths)
        else (truths, params.truths)
    )
    result = _whole(made, each.result, target)
    widened_params = DeterminedParams(params.size * count, checked[1])
    made.emit(each, result, (_whole(made, values, buffers[0]), checked[0]), widened_params)


# --- lane by lane ----------------------------------------------------------------------------------------------------


def _guard(made: Widening, each: TapeEntry) -> None:
    """Append a guard. It writes nothing, so its result stays as it is."""
    (guarded,) = each.operands
    made.emit_by_lane(each, each.result, [made.first_lane(guarded, made.buffer(guarded, FIRST))])


def _callback(made: Widening, each: TapeEntry) -> None:
    """Run a custom op lane by lane, by other functions if it has such: where an error of one lane would end all."""
    params = read(CustomParams, each.params)
    other = call_at(params.descriptor).over_lanes
    made.by_lane(each, None if other is None else params._replace(descriptor=other.address))


_KINDS: dict[str, Rule] = {
    "elementwise": _by_geometry(0),
    "broadcast_sum": _by_geometry(0),
    "reduction": _by_geometry(1),
    "scan": _by_geometry(1),
    "matmul": matmul,
    "opaque": Widening.by_lane,
    "guard": _guard,
    "callback": _callback,
}
_OF_STACKS = (stacks.matrices, stacks.slogdet, stacks.lines, stacks.argsort)
RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        write,
        embed,
        determined,
        stacks.gather,
        stacks.scatter_add,
        stacks.scatter_write,
        stacks.sparse,
        stacks.searchsorted,
        stacks.locate,
        *_OF_STACKS,
    )
}
