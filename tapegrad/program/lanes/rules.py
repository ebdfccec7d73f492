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
    widening = Widening(recording, tape, batched, lanes)
    inputs = [tape.slots[slot].buffer for slot in tape.inputs]
    widening.enter_inputs(
        [
            FIRST
            if free and (widening.are_in_front(slot) or _is_for_stacks(tape, buffer, widening.with_lanes))
            else LAST
            for slot, buffer in zip(tape.inputs, inputs, strict=True)
        ]
    )
    for i, is_batched in zip(tape.live, widening.batched_instructions().tolist(), strict=True):
        entry = tape.instructions[i]
        if is_batched:
            _rule_of(kernel_table.row(entry.op))(widening, entry)
        else:
            widening.keep(entry)
    return widening.finished(free)


def _is_for_stacks(tape: TapeView, buffer: int, batched: Set[int]) -> bool:
    """Return whether a buffer is only an operand of stacks, given the batched ones."""
    readers = tape.readers.get(buffer, ())
    return bool(readers) and all(_takes_stack(tape, i, j, batched) for i, j in readers)


def _takes_stack(tape: TapeView, i: int, j: int, batched: Set[int]) -> bool:
    entry = tape.instructions[i]
    if kernel_table.row(entry.op).kind == "matmul":
        return are_stacks(entry) and all(buffer in batched for buffer in tape.read[i])
    is_whole = tape.slots[entry.operands[j]].view.covers(tape.bytes(tape.read[i][j]))
    return is_whole and _rule_of(kernel_table.row(entry.op)) in _OF_STACKS


def _rule_of(row: Row) -> Rule:
    return RULES[row.batching] if row.batching else _KINDS[row.kind]


# --- by geometry -----------------------------------------------------------------------------------------------------


def _by_geometry(behind: int) -> Rule:
    """Lanes are one more dimension of the loops, in front of the last `behind` ones."""

    def rule(widening: Widening, entry: TapeEntry) -> None:
        operands = [widening.view(slot, _read(widening, slot), behind) for slot in entry.operands]
        widening.emit(entry, widening.view(entry.result, widening.result(entry.result), behind), operands)

    return rule


def _read(widening: Widening, slot: int) -> int:
    """Return the buffer that loops read a slot in: without lanes, or with lanes last."""
    return widening.buffer(slot, LAST) if widening.has_lanes(slot) else widening.buffer(slot)


# --- by parameters ---------------------------------------------------------------------------------------------------


def _region(region: Region, buffer: Layout, other: Layout, itemsize: int) -> Region:
    """Return a region in all lanes of a buffer that has them last."""
    return Region(
        buffer.stretched(region.offset),
        (*region.extents, buffer.lanes),
        (*map(buffer.stretched, region.strides), buffer.step(itemsize)),
        (*map(other.stretched, region.other_strides), other.step(itemsize)),
    )


def write(widening: Widening, entry: TapeEntry) -> None:
    """Widen a write to a region: lanes are one more dimension of it."""
    params, (old, value) = read(WriteParams, entry.params), entry.operands
    itemsize = widening.tape.slots[old].itemsize
    before, source = widening.buffer(old, LAST), _read(widening, value)
    target = widening.result(entry.result)
    layout = widening.layout(target)
    region = _region(params.region, layout, widening.layout(source), itemsize)
    slots = _whole(widening, old, before), widening.view(value, source)
    widening.emit(
        entry, _whole(widening, entry.result, target), slots, WriteParams(params.total * layout.lanes, region)
    )


def _whole(widening: Widening, slot: int, buffer: int) -> int:
    """Return a slot for all of a buffer, with the lanes where they lie."""
    is_in_front = widening.layout(buffer).kind == FIRST
    return widening.view(slot, buffer, widening.tape.slots[slot].view.ndim if is_in_front else 0)


def embed(widening: Widening, entry: TapeEntry) -> None:
    """Batch a scatter of operands to regions."""
    params = read(EmbedParams, entry.params)
    itemsize = widening.tape.slots[entry.result].itemsize
    sources = [_read(widening, slot) for slot in entry.operands]
    target = widening.result(entry.result)
    layout = widening.layout(target)
    regions = tuple(
        _region(region, layout, widening.layout(source), itemsize)
        for region, source in zip(params.regions, sources, strict=True)
    )
    slots = [widening.view(slot, source) for slot, source in zip(entry.operands, sources, strict=True)]
    widening.emit(
        entry,
        _whole(widening, entry.result, target),
        slots,
        EmbedParams(params.total * layout.lanes, regions),
    )


def determined(widening: Widening, entry: TapeEntry) -> None:
    """Widen a checked copy, whose flags may be shared by all lanes."""
    params, (values, truths) = read(DeterminedParams, entry.params), entry.operands
    # A view of unbatched truths would repeat them for each lane; they are checked once
    checks = widening.lanes if widening.has_lanes(truths) else 1
    operands = _in_one_block(widening, values), _in_one_block(widening, truths) if checks > 1 else truths
    widened_params = DeterminedParams(params.size * widening.lanes, params.truths * checks)
    if widening.are_in_front(entry.result):
        widening.emit_stack(entry, operands, widened_params)
    else:
        widening.emit(
            entry, widening.view(entry.result, widening.result(entry.result)), operands, widened_params
        )


def _in_one_block(widening: Widening, slot: int) -> int:
    """Return a slot for all lanes of a part of a buffer: a copy if the lanes are in front, which leaves gaps."""
    if widening.are_in_front(slot):
        return widening.stack(slot)
    return widening.view(slot, widening.buffer(slot, LAST))


# --- lane by lane ----------------------------------------------------------------------------------------------------


def _guard(widening: Widening, entry: TapeEntry) -> None:
    """Append a guard. It writes nothing, so its result stays as it is."""
    (guarded,) = entry.operands
    widening.emit_by_lane(
        entry, entry.result, [widening.first_lane(guarded, widening.buffer(guarded, FIRST))]
    )


def _callback(widening: Widening, entry: TapeEntry) -> None:
    """Run a custom op lane by lane, by other functions if it has such: where an error of one lane would end all."""
    params = read(CustomParams, entry.params)
    other = call_at(params.descriptor).over_lanes
    widening.by_lane(entry, None if other is None else params._replace(descriptor=other.address))


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
