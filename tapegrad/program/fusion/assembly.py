"""Assembly of a fused stream: rows and the frames of segments in the order of execution."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.codegen.segments.segment import Segment
from tapegrad.engine.codegen.segments.segment_rows import cost_of_element
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.language.segment_frame import COUNTS, SHARED, TURNS, field_of
from tapegrad.engine.kernels.lines.accumulate import BLOCK
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.engine.sweep.threading.parallel import SUMS_THRESHOLD
from tapegrad.engine.sweep.threading.segment_chunks import BY_STEPS, IS_SEGMENT, description
from tapegrad.program.fusion.grouping.segments import BoundSegment
from tapegrad.program.fusion.outside import ExternalAddresses
from tapegrad.program.fusion.recipes import Units
from tapegrad.program.fusion.shown import PlacedSegment
from tapegrad.program.streams.stream import CONTINUED, InstructionStream, joined

_MIN_PARALLEL_NS = 2e4  # ns of work from which a second thread pays


def assembled(stream: InstructionStream, units: Units, outside: ExternalAddresses) -> InstructionStream:
    """Assemble a stream of rows and segments, in order. A frame that is too long for a row continues in the next."""
    bound = [unit for unit in units if not isinstance(unit, int)]
    alone = [unit for unit in units if isinstance(unit, int)]
    segments, begins, lengths = _rows_of(bound, outside)
    is_segment = np.array([not isinstance(unit, int) for unit in units], np.bool_)
    first, counts = np.arange(len(units)), np.ones(len(units), np.int64)
    first[~is_segment], first[is_segment] = np.arange(len(alone)), len(alone) + begins
    counts[is_segment] = lengths
    found = joined([stream.taking(alone), segments]).taking(_ranges(first, counts))
    found.segments = _placed(stream, bound, outside)
    return found


def _ranges(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return so many numbers from each first one on, one behind another."""
    ends = np.cumsum(counts)
    found: np.ndarray = np.arange(counts.sum()) + np.repeat(first - ends + counts, counts)
    return found


class _Kernel(NamedTuple):
    """The kernel of a segment, what an element costs in ns, and the fields of its frame that are addresses."""

    address: int
    cost: float
    pointers: np.ndarray


class _Kernels:
    """The kernels of segments, each looked up once however often it is repeated."""

    def __init__(self) -> None:
        self._known: dict[int, _Kernel] = {}  # by the id of a segment, which its units keep alive

    def of(self, segment: Segment) -> _Kernel:
        found = self._known.get(id(segment))
        if found is None:
            first = COUNTS + len(segment.counts)
            pointers = [field_of(number) for number in range(first, first + segment.addresses)]
            found = self._known[id(segment)] = _Kernel(
                emitter.address_of_segment(segment), cost_of_element(segment), np.array(pointers, np.int64)
            )
        return found


def _rows_of(
    bound: Sequence[BoundSegment], outside: ExternalAddresses
) -> tuple[InstructionStream, np.ndarray, np.ndarray]:
    """Return the rows of segments, one behind another, the first of each, and how many it has."""
    lengths = np.array([-(-len(each.fields) // field.FIELDS) for each in bound], np.int64)
    begins = np.cumsum(lengths) - lengths
    stream = InstructionStream(np.zeros((int(lengths.sum()), field.FIELDS), np.int64))
    stream.kernels[:] = CONTINUED
    fields, is_pointer = stream.frames.reshape(-1), np.zeros(stream.frames.size, np.bool_)
    kernels, shared = _Kernels(), _SharedDescriptions()
    for row, each in zip(begins.tolist(), with_pauses(bound), strict=True):
        kernel, begin = kernels.of(each.segment), row * field.FIELDS
        fields[begin : begin + len(each.fields)] = each.fields
        is_pointer[begin + kernel.pointers] = True
        stream.kernels[row], description_of = kernel.address, _shared(each)
        if description_of:
            fields[begin + field_of(SHARED)] = shared.address(description_of)
            threshold = _threshold(each, kernel.cost)
            stream.thresholds[row] = threshold if each.fields[field_of(TURNS)] >= threshold else 0
    pointers = np.flatnonzero(is_pointer)
    fields[pointers] = outside.real(fields[pointers])
    stream.elements = stream.frames[:, field.COUNT].copy()
    stream.kept = shared.arrays
    return stream, begins, lengths


class _SharedDescriptions:
    """Descriptions of segments for the threads that share one, which only read them.

    Attributes
    ----------
    arrays
        Their memory.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._known: dict[tuple[int, ...], int] = {}

    def address(self, values: list[int]) -> int:
        """Return the address of a description."""
        key = tuple(values)
        if key not in self._known:
            self.arrays.append(np.array(values, np.int64))
            self._known[key] = int(self.arrays[-1].ctypes.data)
        return self._known[key]


def _shared(bound: BoundSegment) -> list[int]:
    """Return the data that threads which share a segment need; empty if they cannot."""
    fields, iterations = bound.fields, bound.fields[field_of(TURNS)]
    if bound.segment.by_steps:
        return description(len(fields), iterations, [])  # of its own steps each part writes the sums itself
    if not bound.divisible or any(n < SUMS_THRESHOLD for n in bound.summed):
        return []
    return description(len(fields), max(bound.summed, default=iterations), bound.sums)


def _threshold(bound: BoundSegment, cost: float) -> int:
    """Return the iterations from which a second thread pays; with sums the chunks are those of rows.

    In place of the two lowest bits it has those that say what parts are made of, and so is a little less.
    """
    elements = _MIN_PARALLEL_NS / cost
    if bound.segment.by_steps:
        inside = bound.steps // bound.fields[field_of(TURNS)] * bound.fields[field_of(COUNTS)]
        least, bits = int(elements / inside), IS_SEGMENT | BY_STEPS
    else:
        least, bits = SUMS_THRESHOLD if bound.sums else max(int(elements / bound.steps), BLOCK), IS_SEGMENT
    unit = 2 * BY_STEPS
    return max(least // unit - 1, 0) * unit + bits


def _placed(
    stream: InstructionStream, bound: Sequence[BoundSegment], outside: ExternalAddresses
) -> list[PlacedSegment]:
    """Return segments as they are shown."""
    rows = np.array([row for each in bound for row in each.rows], np.int64)
    numbers, directions = stream.number[rows].tolist(), stream.direction[rows].tolist()
    ends = np.cumsum([len(each.rows) for each in bound]).tolist()
    return [
        PlacedSegment(each, numbers[begin:end], directions[begin:end], outside.addresses)
        for each, begin, end in zip(bound, [0, *ends], ends, strict=False)
    ]
