"""Fused streams: segments replace instructions."""

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tapegrad.engine.inspection.verify.switch import switch
from tapegrad.program.fusion import recipes
from tapegrad.program.fusion.assembly import assembled
from tapegrad.program.fusion.checked_lists import without_checks
from tapegrad.program.fusion.grouping.accesses import rows_of
from tapegrad.program.fusion.grouping.groups_to_segments import fuse
from tapegrad.program.fusion.grouping.rows import StreamRow
from tapegrad.program.fusion.grouping.scalars import all_written_out
from tapegrad.program.fusion.outside import ExternalAddresses, located, range_of
from tapegrad.program.fusion.repetitions.overlaps import ReadSpans
from tapegrad.program.fusion.repetitions.repeated_units import MIN_ROWS, RepeatedUnits
from tapegrad.program.fusion.repetitions.row_columns import RowColumns
from tapegrad.program.streams.memory_plan import WorkspaceBlocks
from tapegrad.program.streams.spec import IF_KNOWN, WHOLE
from tapegrad.program.streams.stream import MADE_UP, RANGE_SHIFT, WORKSPACE, InstructionStream

_BINDING_BYTES = 1 << (RANGE_SHIFT - 1)
_Span = tuple[int, int]
_Rows = RowColumns | list[StreamRow]


class StreamMemory:
    """The memory that streams are bound on: blocks of the workspace, bindings, and whatever lies elsewhere."""

    def __init__(self, blocks: WorkspaceBlocks) -> None:
        self._blocks = blocks
        self.added: list[int] = []  # the bytes of each block that was added
        self._find_spans()

    def _find_spans(self) -> None:
        self._starts, self._stops = self._blocks.spans()
        # Elements of these are Python's integers, without a list of all
        self._start_of, self._stop_of = self._starts.data, self._stops.data

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
        number = bisect_right(self._start_of, address) - 1
        return self._start_of[number], self._stop_of[number]

    def all_around(self, addresses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first bytes and the ends of the blocks and bindings that made-up addresses lie in."""
        starts = addresses >> RANGE_SHIFT << RANGE_SHIFT
        stops, own = starts + _BINDING_BYTES, starts == WORKSPACE
        numbers = np.searchsorted(self._starts, addresses[own], "right") - 1
        starts[own], stops[own] = self._starts[numbers], self._stops[numbers]
        return starts, stops


class UnfusedStream(NamedTuple):
    """A stream before it is fused, and whether it is executed many times."""

    stream: InstructionStream
    runs_again: bool = False


def fused(
    streams: list[UnfusedStream],
    blocks: WorkspaceBlocks,
    kept: list[int],
    fusion: str,
    unchanging: Mapping[int, np.ndarray],
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
    fusion
        NOW; WHOLE, to write out all rows of few elements where that makes numbers of all rows; or IF_KNOWN, to do
        nothing, and return `None`, where that has not been done before.
    unchanging
        Lists outside of the program that do not change, by address: they are checked here, and never again.
    """
    outside = ExternalAddresses([each.stream for each in streams])
    apart = [UnfusedStream(own, each.runs_again) for own, each in zip(outside.streams, streams, strict=True)]
    again, whole = [int(each.runs_again) for each in streams], fusion == WHOLE
    key = recipes.key_of(
        outside.streams, np.concatenate([[len(kept)], kept, again, [int(whole)], blocks.bytes])
    )
    recipe = recipes.read(key)
    if recipe is None and fusion == IF_KNOWN:
        return None
    if recipe is None:
        recipe = _recipe(apart, blocks, kept, whole)
        recipes.write(key, outside.streams, recipe)
    elif switch.on:
        recipes.check(key, recipe, _recipe(apart, blocks, kept, whole))
    else:
        blocks.new(recipe.added)
    return [
        assembled(each.stream, without_checks(units, outside, unchanging), outside)
        for each, units in zip(streams, recipe.units, strict=True)
    ]


def _recipe(
    streams: list[UnfusedStream], blocks: WorkspaceBlocks, kept: list[int], whole: bool
) -> recipes.Recipe:
    """Fuse streams, and add the blocks that segments need."""
    memory = StreamMemory(blocks)
    return recipes.Recipe(_fused(streams, memory, kept, whole), memory.added)


def _fused(
    streams: list[UnfusedStream], memory: StreamMemory, kept: list[int], whole: bool
) -> list[recipes.Units]:
    results = np.array([memory.around(address) for address in kept], np.int64).reshape(-1, 2)
    rows = [_rows(each.stream, memory, whole) for each in streams]
    spans = [_spans(each) for each in rows]
    return [
        _units(each, own, memory, _ReadElsewhere([results, *spans[:k], *spans[k + 1 :]]), whole)
        for k, (each, own) in enumerate(zip(streams, rows, strict=True))
    ]


def _rows(stream: InstructionStream, memory: StreamMemory, whole: bool) -> _Rows:
    """Return the rows of a stream: as columns where it is long, and these say all of them.

    What is to be one segment is not looked through for repetitions.
    """
    if len(stream) > MIN_ROWS and not (whole and all_written_out(stream)):
        columns = RowColumns(stream, memory)
        if columns.are_plain:
            return columns
    return rows_of(stream, memory)


def _spans(rows: _Rows) -> np.ndarray:
    """Return the bytes that rows touch, (n, 2) int64."""
    if isinstance(rows, RowColumns):
        return np.stack([rows.start, rows.stop], 1)
    spans = [(access.start, access.stop) for row in rows for access in row.accesses]
    return np.array(spans, np.int64).reshape(-1, 2)


def _units(
    own: UnfusedStream, rows: _Rows, memory: StreamMemory, elsewhere: "_ReadElsewhere", whole: bool
) -> recipes.Units:
    """Return the units of a stream."""
    if isinstance(rows, RowColumns):
        found = RepeatedUnits(rows, memory, elsewhere.of_each(rows), own.runs_again).found()
        if found is not None:
            return found
        rows = rows_of(own.stream, memory)
    return fuse(own.stream, rows, memory, elsewhere, own.runs_again, whole=whole)


class _ReadElsewhere:
    """Readers of what a stream leaves: whoever has the results, and other streams.

    Parameters
    ----------
    spans
        The bytes that they touch, (n, 2) int64 each.
    """

    def __init__(self, spans: list[np.ndarray]) -> None:
        self._spans = ReadSpans(*np.concatenate(spans).T)

    def __call__(self, start: int, stop: int) -> bool:
        return start >> RANGE_SHIFT != WORKSPACE >> RANGE_SHIFT or self._spans.overlaps(start, stop)

    def of_each(self, rows: RowColumns) -> np.ndarray:
        """Return for each access of some rows whether its bytes are read."""
        outside = rows.start >> RANGE_SHIFT != WORKSPACE >> RANGE_SHIFT
        found: np.ndarray = outside | self._spans.overlapping(rows.start, rows.stop)
        return found
