"""Fused streams: segments replace instructions."""

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.codegen.segments.segment_rows import cost_of_element
from tapegrad.engine.inspection.verify.switch import switch
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.language.segment_frame import COUNTS, SHARED, TURNS, field_of
from tapegrad.engine.kernels.lines.accumulate import BLOCK
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.engine.sweep.threading.parallel import SUMS_THRESHOLD
from tapegrad.engine.sweep.threading.segment_chunks import BY_STEPS, IS_SEGMENT, description
from tapegrad.program.fusion import recipes
from tapegrad.program.fusion.grouping.accesses import rows_of
from tapegrad.program.fusion.grouping.groups_to_segments import fuse
from tapegrad.program.fusion.grouping.rows import StreamRow
from tapegrad.program.fusion.grouping.segments import BoundSegment
from tapegrad.program.fusion.outside import ExternalAddresses, located, range_of
from tapegrad.program.fusion.shown import PlacedSegment
from tapegrad.program.streams.memory_plan import WorkspaceBlocks
from tapegrad.program.streams.stream import (
    CONTINUED,
    MADE_UP,
    RANGE_SHIFT,
    WORKSPACE,
    InstructionStream,
    joined,
)

_MIN_PARALLEL_NS = 2e4  # ns of work from which a second thread pays
_BINDING_BYTES = 1 << (RANGE_SHIFT - 1)
_Span = tuple[int, int]


class StreamMemory:
    """The memory that streams are bound on: blocks of the workspace, bindings, and whatever lies elsewhere."""

    def __init__(self, blocks: WorkspaceBlocks) -> None:
        self._blocks = blocks
        self.added: list[int] = []  # the bytes of each block that was added
        self._find_spans()

    def _find_spans(self) -> None:
        self._spans = self._blocks.spans()
        self._starts = [start for start, _ in self._spans]

    def new(self, size: int) -> int:
        """Return the first byte of a new block of the workspace."""
        (start,) = self._blocks.new([size]).tolist()
        self.added.append(size)
        self._find_spans()
        return int(start)

    def around(self, address: int) -> _Span:
        """Return the bytes of the block or the binding that an address lies in."""
        if address < MADE_UP:
            array, _ = located(address)
            return range_of(array)
        if address >> RANGE_SHIFT != WORKSPACE >> RANGE_SHIFT:
            start = address >> RANGE_SHIFT << RANGE_SHIFT
            return start, start + _BINDING_BYTES
        return self._spans[bisect_right(self._starts, address) - 1]


class UnfusedStream(NamedTuple):
    """A stream before it is fused, and whether it is executed many times."""

    stream: InstructionStream
    runs_again: bool = False


def fused(
    streams: list[UnfusedStream], blocks: WorkspaceBlocks, kept: list[int], only_if_known: bool
) -> list[InstructionStream] | None:
    """Fuse streams: rows that one loop can run become segments.

    Parameters
    ----------
    streams
        The streams of a program, in the order of execution.
    blocks
        The blocks of its workspace.
    kept
        Made-up addresses of blocks that are read after the streams.
    only_if_known
        Whether to do nothing, and return `None`, where that has not been done before.
    """
    outside = ExternalAddresses([each.stream for each in streams])
    apart = [UnfusedStream(own, each.runs_again) for own, each in zip(outside.streams, streams, strict=True)]
    again = [int(each.runs_again) for each in streams]
    key = recipes.key_of(outside.streams, np.concatenate([[len(kept)], kept, again, blocks.bytes]))
    recipe = recipes.read(key)
    if recipe is None and only_if_known:
        return None
    if recipe is None:
        recipe = _recipe(apart, blocks, kept)
        recipes.write(key, outside.streams, recipe)
    elif switch.on:
        recipes.check(key, recipe, _recipe(apart, blocks, kept))
    else:
        blocks.new(recipe.added)
    return [
        _assembled(each.stream, units, outside) for each, units in zip(streams, recipe.units, strict=True)
    ]


def _recipe(streams: list[UnfusedStream], blocks: WorkspaceBlocks, kept: list[int]) -> recipes.Recipe:
    """Fuse streams, and add the blocks that segments need."""
    memory = StreamMemory(blocks)
    return recipes.Recipe(_fused(streams, memory, kept), memory.added)


def _fused(streams: list[UnfusedStream], memory: StreamMemory, kept: list[int]) -> list[recipes.Units]:
    results = [memory.around(address) for address in kept]
    rows = [rows_of(each.stream, memory) for each in streams]
    read = [_spans(each, memory) for each in rows]

    def reader(own: int) -> Callable[[int, int], bool]:
        """Return whether any stream but `own` reads bytes."""
        others = [spans for number, spans in enumerate(read) if number != own]

        def is_read(start: int, stop: int) -> bool:
            block = memory.around(start)[0]
            spans = [*results, *(span for each in others for span in each.get(block, ()))]
            return start >> RANGE_SHIFT != WORKSPACE >> RANGE_SHIFT or any(
                first < stop and start < last for first, last in spans
            )

        return is_read

    return [
        fuse(rows[number], memory, reader(number), each.runs_again) for number, each in enumerate(streams)
    ]


def _spans(rows: list[StreamRow], memory: StreamMemory) -> dict[int, set[_Span]]:
    """Return the memory that rows touch, by block."""
    found: dict[int, set[_Span]] = {}
    for row in with_pauses(rows):
        for access in row.accesses:
            found.setdefault(memory.around(access.start)[0], set()).add((access.start, access.stop))
    return found


def _assembled(
    stream: InstructionStream, units: recipes.Units, outside: ExternalAddresses
) -> InstructionStream:
    """Assemble a stream of rows and segments, in order. A frame that is too long for a row continues in the next."""
    bound = [unit for unit in units if not isinstance(unit, int)]
    segments = [_row_of(outside.addressed(each)) for each in with_pauses(bound)]
    order: list[int] = []
    position = len(stream)
    for unit in units:
        if isinstance(unit, int):
            order.append(unit)
        else:
            length = -(-len(unit.fields) // field.FIELDS)
            order += range(position, position + length)
            position += length
    found = joined([stream, *segments]).taking(order)
    found.segments = [_placed(stream, each, outside) for each in with_pauses(bound)]
    return found


def _placed(stream: InstructionStream, bound: BoundSegment, outside: ExternalAddresses) -> PlacedSegment:
    rows = list(bound.rows)
    return PlacedSegment(
        bound, stream.number[rows].tolist(), stream.direction[rows].tolist(), outside.addresses
    )


def _row_of(bound: BoundSegment) -> InstructionStream:
    fields = np.array(bound.fields, np.int64)
    shared = np.array(_shared(bound), np.int64)
    fields[field_of(SHARED)] = shared.ctypes.data
    frames = np.zeros((-(-len(fields) // field.FIELDS), field.FIELDS), np.int64)
    frames.reshape(-1)[: len(fields)] = fields
    stream = InstructionStream(frames, [shared])
    stream.kernels[0] = emitter.address_of_segment(bound.segment)
    stream.kernels[1:] = CONTINUED
    iterations, threshold = int(fields[field_of(TURNS)]), _threshold(bound)
    stream.thresholds[0] = threshold if len(shared) and iterations >= threshold else 0
    return stream


def _shared(bound: BoundSegment) -> list[int]:
    """Return the data that threads which share a segment need; empty if they cannot."""
    fields, iterations = bound.fields, bound.fields[field_of(TURNS)]
    if bound.segment.by_steps:
        return description(len(fields), iterations, [])  # of its own steps each part writes the sums itself
    if not bound.divisible or any(n < SUMS_THRESHOLD for n in bound.summed):
        return []
    return description(len(fields), max(bound.summed, default=iterations), bound.sums)


def _threshold(bound: BoundSegment) -> int:
    """Return the iterations from which a second thread pays; with sums the chunks are those of rows.

    In place of the two lowest bits it has those that say what parts are made of, and so is a little less.
    """
    segment = bound.segment
    elements = _MIN_PARALLEL_NS / cost_of_element(segment)
    if segment.by_steps:
        inside = bound.steps // bound.fields[field_of(TURNS)] * bound.fields[field_of(COUNTS)]
        least, bits = int(elements / inside), IS_SEGMENT | BY_STEPS
    else:
        least, bits = SUMS_THRESHOLD if bound.sums else max(int(elements / bound.steps), BLOCK), IS_SEGMENT
    unit = 2 * BY_STEPS
    return max(least // unit - 1, 0) * unit + bits
