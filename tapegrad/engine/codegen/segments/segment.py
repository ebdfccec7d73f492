"""A segment: rows over one iteration space that become one kernel, described without any address.

The description is all that the kernel's code depends on, so that two segments that differ in nothing but where their
lines are, and a long one in how long it is, have the same kernel. What changes stands in the frame of the segment:
the number of iterations, the counts, and the address of each line that is read or written in memory.
"""

from dataclasses import dataclass
from typing import NamedTuple

from tapegrad.engine.kernels.language.frame import FIELDS
from tapegrad.engine.kernels.language.segment_frame import COUNTS, field_of

SUM, FORWARD, REVERSE, TANGENT = "sum", "forward", "reverse", "tangent"
EXPONENTIALS, SHARES = "exponentials", "shares"
ALONG_LINES = "exponentials along lines"
PRODUCT, TOTAL = "product", "total"
JOINED = (EXPONENTIALS, ALONG_LINES, PRODUCT, TOTAL)  # one result of several operands
EXTREME, TIES, PORTIONS = "extreme", "ties", "portions"
CHECK = "check"
TAKEN = "rows"  # what the table of ops calls an op whose rows are taken by a list
INDEX = "index"  # of the elements of a list
ALWAYS_COMBINES = -1  # `along` of a row that combines its elements with those of earlier rows in every step


@dataclass(frozen=True)
class TakenLine:
    """Elements of a table that a list of row numbers names; negative ones count from the end.

    Attributes
    ----------
    by
        The line that lists the rows.
    step
        Bytes from one row of the table to the next.
    first, last
        Numbers of the addresses of two elements, of the first row and of the last.
    """

    by: int
    step: int
    first: int
    last: int


@dataclass(frozen=True)
class RolledLine:
    """Elements of an array that is rolled, period by period.

    Attributes
    ----------
    period, cut
        Elements of a period, and the first of these that is read in the second part.
    second
        Number of the address of the element at the first cut; that of the line is where its first element is.
    """

    period: int
    cut: int
    second: int


@dataclass(frozen=True)
class SegmentLine:
    """Line of a segment: adjacent elements, or a single one that is read for every element and written as a sum.

    Attributes
    ----------
    dtype
        "f64", "f32", "c128", "c64" or "b8"; INDEX for a list of row numbers.
    count
        Number of its count among the segment's; -1 for a single element.
    address
        Number of its address among those of the frame; -1 if it never leaves the registers.
    taken
        Where its elements are, if they are rows of a table; then the address is that of the first row's.
    rolled
        Where its elements are, if they are those of a rolled array.
    """

    dtype: str
    count: int
    address: int
    taken: TakenLine | None = None
    rolled: RolledLine | None = None


@dataclass(frozen=True)
class SegmentRow:
    """An instruction in one direction.

    Attributes
    ----------
    op, dtype
        The row of the table and the dtype of its kernel.
    kind
        FORWARD, REVERSE or TANGENT for a row of the emitter's; SUM for what adds a line to another one; EXPONENTIALS
        for the logarithm of the sum of the exponentials of several lines, SHARES for its derivative by one of them;
        ALONG_LINES for a line of such logarithms, each of which is that of one line.
        EXTREME for the largest or smallest elements; TIES for how many there are of each, PORTIONS for the derivative.
        PRODUCT for a sum of products of numbers, one after another; TOTAL for a sum of numbers, as of a line.
        CHECK, the only one of its segment, for the row numbers by which the line of x0 is taken.
    count
        Number of its count; -1 for a single element.
    primals, duals
        Lines of x0, x1, x2 and y, and of their cotangents or tangents; -1 where there is none. Of SUM the line that
        is added to is the cotangent of x0, the one that is added that of y. EXPONENTIALS has as many operands as
        there are lines, and the result behind them. TIES writes to the cotangent of x0, PORTIONS reads that line as x1.
        PRODUCT and TOTAL have as many operands as there are factors, by pairs, and terms; what these are added to is
        the cotangent of x0.
    stored
        Bit j: the cotangent of operand j is written, otherwise it is added to.
    along
        Of EXTREME and TIES the outer loops whose steps have one result, a bit each: what comes at the first of these
        is joined with nothing. ALWAYS_COMBINES if something came before.
    """

    op: str
    dtype: str
    kind: str
    count: int
    primals: tuple[int, ...]
    duals: tuple[int, int, int, int]
    stored: int
    along: int = 0

    @property
    def reduced_to(self) -> int:
        """The line that EXTREME and TIES have their result in."""
        return self.duals[0] if self.kind == TIES else self.primals[3]


class Addition(NamedTuple):
    """Contribution of a row to a line of as many elements as a count has; it may be written instead of added."""

    number: int
    line: int
    stored: bool


class OverlapRegion(NamedTuple):
    """Overlapping lines that rows add to. Their union is a line itself.

    Attributes
    ----------
    whole
        The union.
    shifts
        The other lines, and by how many elements each begins after it.
    """

    whole: int
    shifts: tuple[tuple[int, int], ...]


class LineElement(NamedTuple):
    """An element of a line that is held in a vector, by itself.

    Attributes
    ----------
    line
        The element as a line of its own, which is read for every element.
    whole
        The line that it is one of.
    lane
        Its number there.
    """

    line: int
    whole: int
    lane: int


class LinePart(NamedTuple):
    """Real or imaginary parts of a line of complex numbers, as a line.

    Attributes
    ----------
    line
        The parts.
    whole
        The line of complex numbers.
    part
        0 for real parts, 1 for imaginary ones.
    """

    line: int
    whole: int
    part: int


@dataclass(frozen=True)
class Segment:
    """Rows in the order of execution.

    Attributes
    ----------
    counts
        The counts as numbers, if it is so short that one vector holds each line; otherwise how many there are, and
        the frame has them.
    kept
        The lines that are written to memory in the end.
    cleared
        Lines that are zero in the beginning.
    loops
        How many outer loops there are. All lines are adjacent elements, or a single one, at each step of them.
    by_steps
        Whether a part of it is some steps of the first loop, instead of some elements of the lines.
    sums, joined
        The numbers of the addresses that its rows' sums go to, and what else becomes of all elements of a line; in a
        segment that is short these are lines.
    elements
        Elements of lines that are read and written by themselves, in a segment that is short.
    parts
        Parts of lines of complex numbers that are read and written by themselves.
    """

    rows: tuple[SegmentRow, ...]
    lines: tuple[SegmentLine, ...]
    regions: tuple[OverlapRegion, ...]
    counts: tuple[int, ...]
    is_short: bool
    kept: tuple[int, ...]
    cleared: tuple[int, ...]
    loops: int = 0
    by_steps: bool = False
    sums: tuple[int, ...] = ()
    joined: tuple[int, ...] = ()
    elements: tuple[LineElement, ...] = ()
    parts: tuple[LinePart, ...] = ()

    @property
    def additions(self) -> list[Addition]:
        """Contributions of all rows, in their order."""
        return [
            Addition(row.count, line, bool(row.stored & 1 << j))
            for row in self.rows
            if row.kind in (SUM, REVERSE, SHARES, PORTIONS)
            for j, line in enumerate(row.duals[:3])
            if line >= 0
        ]

    def sums_up(self, addition: Addition) -> bool:
        """Return whether all elements are added to a single one."""
        return addition.number >= 0 > self.lines[addition.line].count

    @property
    def joining(self) -> list[SegmentRow]:
        """The rows that make a single element of all those of a line, but for sums."""
        return [
            row
            for row in self.rows
            if row.kind in (EXTREME, TIES) and row.count >= 0 > self.lines[row.reduced_to].count
        ]

    @property
    def wholes(self) -> dict[int, int]:
        """The lines that others are parts or elements of, by these."""
        parts = {line: region.whole for region in self.regions for line, _ in region.shifts}
        elements = {element.line: element.whole for element in self.elements}
        return parts | elements | {part.line: part.whole for part in self.parts}

    @property
    def addresses(self) -> int:
        """Number of addresses in the frame."""
        found = [line.address for line in self.lines]
        found += [line.taken.last for line in self.lines if line.taken is not None]
        found += [line.rolled.second for line in self.lines if line.rolled is not None]
        return 1 + max((*found, *self.sums, *self.joined), default=-1)

    @property
    def fields(self) -> int:
        """Fields of the frame: at least as many as those of an instruction, some of which are looked at."""
        return max(field_of(self.extent(self.loops)), FIELDS)

    @property
    def reduces_along(self) -> int:
        """The outer loops whose steps the rows inside have to tell, a bit each."""
        bits = 0
        for row in self.rows:
            bits |= max(row.along, 0)
        return bits

    def step(self, loop: int) -> int:
        """Return the index of the field of an outer loop's step."""
        return COUNTS + len(self.counts) + self.addresses + loop

    def extent(self, loop: int) -> int:
        """Return the index of the field of an outer loop's extent; the steps of all addresses follow it."""
        return COUNTS + len(self.counts) + self.addresses + loop * (1 + self.addresses)
