"""The rows of a stream as fusion sees them: what they do, and what bytes they touch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tapegrad.engine.codegen.segments.segment import INDEX, JOINED

READ, WRITE, ADD = range(3)
BYTES = {"f64": 8, "f32": 4, "b8": 1, INDEX: 8, "c128": 16, "c64": 8}  # of an element
COMPLEX = {"f64": "c128", "f32": "c64"}  # numbers of which two are a complex one
CLEAR = "clear"
ROLES = 8  # operands of a row, and of each further one that is written out beside it


class Listed(NamedTuple):
    """Rows of a table that a list names, any number of times.

    Attributes
    ----------
    start
        The first byte of the list.
    step
        Bytes from one row to the next.
    reach
        Bytes from the first row to the last.
    """

    start: int
    step: int
    reach: int


class Rolled(NamedTuple):
    """Rolled array: each period rotated by `cut` elements.

    Attributes
    ----------
    period, cut
        Elements of a period, and the first of these that is read in the second part.
    first, second
        Where the elements from the beginning on are, and those from the cut on, in bytes.
    """

    period: int
    cut: int
    first: int
    second: int


class Span(NamedTuple):
    """Elements in memory: a line of adjacent ones, or a single one, at each step of outer loops.

    Attributes
    ----------
    start, stop
        The bytes, in virtual addresses, from the first element of all to the end of the last.
    dtype
        Of the elements; empty where a row is not known by its elements.
    single
        Whether it is one element instead of a line.
    length
        Elements of a line; 1 of a single element.
    steps
        The bytes from one step of each outer loop to the next.
    listed
        Of a line whose elements are not adjacent, the rows of a table that they are in. It starts in the first row.
    rolled
        Of a line that is a rolled array, how it is.
    part
        Of parts of a line of complex numbers, 0 for the real and 1 for the imaginary ones. All else is that line's.
    """

    start: int
    stop: int
    dtype: str = ""
    single: bool = False
    length: int = 0
    steps: tuple[int, ...] = ()
    listed: Listed | None = None
    rolled: Rolled | None = None
    part: int = -1

    @property
    def whole(self) -> "Span":
        """The line of complex numbers that these are parts of; other elements are whole."""
        return self if self.part < 0 else self._replace(part=-1)

    @property
    def is_scattered(self) -> bool:
        """True if the elements of the line are not adjacent."""
        return self.listed is not None or self.rolled is not None

    def is_injective(self, loops: Sequence[int]) -> bool:
        """Return whether each step of these loops has elements of its own."""
        reached = self.length * BYTES[self.dtype]
        for step, extent in sorted(zip(self.steps, loops, strict=True)):
            if extent > 1:
                if step < reached:
                    return False
                reached += step * (extent - 1)
        return True

    def is_apart(self, loops: Sequence[int]) -> bool:
        """Return whether each step of the first of these loops has elements of its own."""
        within = sum(step * (extent - 1) for step, extent in zip(self.steps[1:], loops[1:], strict=True))
        return self.steps[0] >= within + self.length * BYTES[self.dtype]

    def is_dense(self, loops: Sequence[int]) -> bool:
        """Return whether the loops cover all elements from the first to the last, each once."""
        elements = self.length * math.prod(loops)
        return elements * BYTES[self.dtype] == self.stop - self.start and self.is_injective(loops)


def is_element(single: Span, line: Span) -> bool:
    """Return whether a single element is one of a line."""
    inside = line.start <= single.start and single.stop <= line.stop
    return inside and single.dtype == line.dtype and (single.start - line.start) % BYTES[line.dtype] == 0


class Access(NamedTuple):
    """Elements that a row touches.

    Attributes
    ----------
    role
        Which operand of the row: 0 to 3 for the primals of x0, x1, x2 and y, 4 to 7 for their cotangents or tangents.
        Of further tangents, and of rows that are written out, 8 more each.
    mode
        READ, WRITE, or ADD, which reads and writes.
    span
        Where they are.
    """

    role: int
    mode: int
    span: Span

    @property
    def start(self) -> int:
        """The first byte."""
        return self.span.start

    @property
    def stop(self) -> int:
        """The byte behind the last."""
        return self.span.stop

    @property
    def single(self) -> bool:
        """True if the access is of one element at each step of outer loops."""
        return self.span.single


@dataclass(frozen=True)
class StreamRow:
    """A row of a stream.

    Attributes
    ----------
    op, dtype, kind
        What a segment calls the row; `kind` is empty for rows that no segment can have.
    count
        Elements of the inner loop; bytes of a row that clears memory.
    accesses
        What it touches.
    stored
        The field of the frame that says which cotangents are written.
    seeds
        How many tangents it computes, or how many steps of its loop are written out.
    loops
        The extents of the outer loops.
    is_part
        Whether it is a part of a row of the stream, and has no kernel but that of a segment.
    """

    op: str
    dtype: str
    kind: str
    count: int
    accesses: tuple[Access, ...]
    stored: int = 0
    seeds: int = 1
    loops: tuple[int, ...] = ()
    is_part: bool = False

    @property
    def copies(self) -> int:
        """Number of rows of a segment that it becomes."""
        return 1 if self.kind in JOINED else self.seeds

    @property
    def takes_rows(self) -> bool:
        """True if the row reads elements that a list names."""
        return any(access.span.listed is not None for access in self.accesses)

    @property
    def is_scattered(self) -> bool:
        """True if the row reads lines whose elements are not adjacent."""
        return any(access.span.is_scattered for access in self.accesses)

    @property
    def clears(self) -> bool:
        """True if the row sets memory to zero."""
        return self.kind == CLEAR


class DisjointMemory(Protocol):
    """The memory that a stream is bound on, in pieces that do not touch."""

    def around(self, address: int) -> tuple[int, int]:
        """Return the bytes of the piece that an address lies in."""


class ExtensibleMemory(DisjointMemory, Protocol):
    """The same where there can be more of it."""

    def new(self, size: int) -> int:
        """Return the first byte of a new piece of `size` bytes."""
