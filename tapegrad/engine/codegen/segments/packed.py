"""Rows that call the same functions, side by side in one vector: one call serves all of them.

Rows of single elements are packed into a vector; short lines are halves of one.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import halves, joined
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.rows.case import PARTS
from tapegrad.engine.codegen.segments.segment import (
    ALONG_LINES,
    EXPONENTIALS,
    EXTREME,
    FORWARD,
    TANGENT,
    Segment,
    SegmentRow,
)


class RowLines(Protocol):
    """The lines that rows over elements read and write, vectors of so many lanes."""

    @property
    def lanes(self) -> int: ...

    def read(self, line: int) -> Value:
        """Return the elements of a line; bytes become masks."""

    def write(self, line: int, value: Value) -> None:
        """Let a line have other elements."""

    def sums_up(self, line: int, count: int) -> bool:
        """Return whether a row of so many elements adds all of them to a line of one."""

    def add(self, line: int, value: Value, count: int, stored: bool) -> None:
        """Add elements, so many as a count says, to a line or, where it is `stored`, write them."""


def in_batches(segment: Segment, most: int) -> Iterator[list[SegmentRow]]:
    """Yield adjacent rows of a segment that can be computed side by side, at most so many."""
    batch: list[SegmentRow] = []
    wholes = segment.wholes
    for row in segment.rows:
        if batch and (len(batch) == most or not _fits(row, batch, wholes)):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _fits(row: SegmentRow, batch: Sequence[SegmentRow], wholes: dict[int, int]) -> bool:
    """Return whether a row does the same as those of a batch, and reads and writes nothing that they write."""
    first = batch[0]
    if _look(row) != _look(first) or row.kind == ALONG_LINES or row.dtype in PARTS:
        return False
    written = {wholes.get(line, line) for other in batch for line in _written(other)}
    return written.isdisjoint(wholes.get(line, line) for line in (*row.primals, *row.duals))


def _look(row: SegmentRow) -> tuple[object, ...]:
    """Return what rows that are computed side by side have in common."""
    present = [line >= 0 for line in (*row.primals, *row.duals)]
    return row.op, row.dtype, row.kind, row.count, row.stored, present


def _written(row: SegmentRow) -> list[int]:
    """Return the lines that a row writes or adds to."""
    if row.kind in (FORWARD, EXPONENTIALS, ALONG_LINES, EXTREME):
        return [row.primals[-1]]
    return [line for line in (row.duals[3:] if row.kind == TANGENT else row.duals[:3]) if line >= 0]


class PackedRows:
    """The lines of several rows: those of one role are one vector.

    Attributes
    ----------
    row
        A row of the same kind, whose lines are the roles.
    lanes
        Lanes of the vectors.
    """

    def __init__(self, rows: Sequence[SegmentRow], numbers: RowLines, lanes: int) -> None:
        self.lanes, self._numbers = lanes, numbers
        first = rows[0]
        self._lines = [(*row.primals, *row.duals) for row in rows]
        roles = [role if line >= 0 else -1 for role, line in enumerate(self._lines[0])]
        split = len(first.primals)
        a, b, c, d = roles[split:]
        self.row = dataclasses.replace(first, primals=tuple(roles[:split]), duals=(a, b, c, d))

    def _of(self, role: int) -> list[int]:
        return [lines[role] for lines in self._lines]

    def read(self, line: int) -> Value:
        """Return the elements of a role; lanes without a row have that of the first."""
        values = [self._numbers.read(each) for each in self._of(line)]
        return self._packed(values)

    def _packed(self, values: Sequence[Value]) -> Value:
        body, element = values[0].body, values[0].type.element
        scalars = [body.emit(Type(element), f"extractelement {value}, i32 0") for value in values]
        packed = body.splat(scalars[0], self.lanes)
        for lane, scalar in itertools.islice(enumerate(scalars), 1, None):
            if scalar is not scalars[0]:
                packed = body.emit(packed.type, f"insertelement {packed}, {scalar}, i32 {lane}")
        return packed

    def _parts(self, value: Value) -> Iterator[Value]:
        type_ = Type(value.type.element, 1)
        for lane in range(len(self._lines)):
            yield value.body.emit(type_, f"shufflevector {value}, {value}, <1 x i32> <i32 {lane}>")

    def write(self, line: int, value: Value) -> None:
        """Let the elements of a role be others."""
        for each, part in zip(self._of(line), self._parts(value), strict=True):
            self._numbers.write(each, part)

    def sums_up(self, line: int, count: int) -> bool:
        """Return whether a row adds a line to an element: none does."""
        return False

    def add(self, line: int, value: Value, count: int, stored: bool) -> None:
        """Add to the elements of a role, row by row."""
        for each, part in zip(self._of(line), self._parts(value), strict=True):
            self._numbers.add(each, part, count, stored)


class PairedRows(PackedRows):
    """The lines of two rows over short lines: those of one role are the halves of a vector."""

    def _packed(self, values: Sequence[Value]) -> Value:
        return joined(*values)

    def _parts(self, value: Value) -> Iterator[Value]:
        return iter(halves(value))
