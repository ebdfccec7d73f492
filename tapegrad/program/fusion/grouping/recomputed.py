"""Rematerialization: a segment recomputes a cheap value of an earlier segment instead of loading it.

A table that is gone through twice, for its largest elements and then for their derivatives, would have to be stored in
between. If a few operations compute it from arrays that are in memory anyway, each reader computes it itself, and it is
never stored. A line without outer loops is recomputed where that takes no more
loads.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tapegrad.engine.codegen.rows.directions import primal_of
from tapegrad.engine.codegen.rows.expressions import functions_in, parse
from tapegrad.engine.codegen.segments.segment import FORWARD
from tapegrad.engine.codegen.segments.segment_rows import op_of
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.program.fusion.grouping.dependences import overlap
from tapegrad.program.fusion.grouping.grouping import MAX_ROWS, Group, fit_together
from tapegrad.program.fusion.grouping.rows import READ, WRITE, Access, DisjointMemory, StreamRow

_MAX_RECOMPUTED_ROWS = 8  # rows that are computed instead of a table that is read
_CHEAP = {"absolute", "copysign", "fmax", "fmin", "maximum", "minimum", "sign", "square", "where"}


@functools.cache
def _computes_cheaply(op: str) -> bool:
    """Return whether an op neither divides nor calls what takes longer than a load."""
    text = primal_of(op_of(op))
    return "/" not in text and functions_in(parse(text)) <= _CHEAP


class _Use(NamedTuple):
    """An access of row `number`, in unit `position`; of rows that clear memory that is -1."""

    position: int
    number: int
    access: Access


def compute_again(
    rows: Sequence[StreamRow],
    units: Sequence[Group | int],
    blocks: DisjointMemory,
    lanes: int,
    is_read_outside: Callable[[int, int], bool],
) -> None:
    """Put rows into the groups that read what they write.

    Parameters
    ----------
    rows, units
        The rows of a stream, and its groups and single rows in the order of execution.
    blocks
        The memory that the rows touch.
    lanes
        Elements of a vector.
    is_read_outside
        Whether anything but this stream reads what it leaves between two addresses.
    """
    again = _Recomputable(rows, units, blocks, is_read_outside)
    while again.able:
        plans = {position: again.needed(position) for position in again.readers()}
        refused = {
            n for position, needed in plans.items() if not again.fits(position, needed, lanes) for n in needed
        }
        if not refused:
            break
        again.able -= refused
        again.keep_reachable()
    else:
        return
    for position, needed in plans.items():
        group = units[position]
        assert isinstance(group, Group)
        group.again = frozenset(needed)
        group.rows = sorted({*group.rows, *needed})


class _Recomputable:
    """The rows that can be computed once more wherever what they write is read.

    Attributes
    ----------
    able
        Their numbers.
    """

    def __init__(
        self,
        rows: Sequence[StreamRow],
        units: Sequence[Group | int],
        blocks: DisjointMemory,
        is_read_outside: Callable[[int, int], bool],
    ) -> None:
        self._rows, self._units, self._blocks = rows, units, blocks
        self._position = {
            number: position
            for position, unit in enumerate(units)
            for number in ([unit] if isinstance(unit, int) else unit.rows)
        }
        self.able = {number for number in self._position if self._is_cheap(number)}
        self._reads: dict[int, list[_Use]] = {}  # by block
        self._writes: dict[int, list[_Use]] = {}
        if self.able:
            for number, row in enumerate(with_pauses(rows)):
                for access in row.accesses:
                    use = _Use(self._position.get(number, -1), number, access)
                    uses = self._reads if access.mode == READ else self._writes
                    uses.setdefault(blocks.around(access.start)[0], []).append(use)
            self.able = {n for n in with_pauses(self.able) if self._is_read_alike(n, is_read_outside)}
            self.keep_reachable()

    def _is_cheap(self, number: int) -> bool:
        row, unit = self._rows[number], self._units[self._position[number]]
        if (
            isinstance(unit, int)
            or unit.is_short
            or len(unit.rows) < 2
            or row.kind != FORWARD
            or row.seeds > 1
        ):
            return False
        return _computes_cheaply(row.op)

    def _near(self, access: Access, uses: dict[int, list[_Use]]) -> list[_Use]:
        """Return the accesses that overlap one."""
        block = self._blocks.around(access.start)[0]
        return [use for use in uses.get(block, ()) if overlap(use.access, access)]

    def _is_read_alike(self, number: int, is_read_outside: Callable[[int, int], bool]) -> bool:
        """Return whether all readers of a row's result go through the same elements, and no other row writes there."""
        row = self._rows[number]
        (written,) = (access for access in row.accesses if access.mode == WRITE)
        if not written.span.is_injective(row.loops) or is_read_outside(written.start, written.stop):
            return False
        if any(use.number != number for use in self._near(written, self._writes)):
            return False
        reads = self._near(written, self._reads)
        if not all(use.access.span == written.span and self._goes_along(row, use) for use in reads):
            return False
        return len(row.loops) > 0 or all(self._is_beside(number, use.position) for use in reads)

    def _is_beside(self, number: int, position: int) -> bool:
        """Return whether a group loads no more to recompute a row than to read its result.

        It reads the lines that the row reads, all but one that is in memory for others anyway.
        """
        if position == self._position[number]:
            return True
        read = {access.span for n in self._group(position).rows for access in self._read(n)}
        missing = [each for each in self._read(number) if not each.single and each.span not in read]
        return not missing or (len(missing) == 1 and self._is_stored(missing[0], number))

    def _is_stored(self, access: Access, number: int) -> bool:
        """Return whether what a row reads is in memory, though the row was not there."""
        uses = self._near(access, self._reads)
        own = self._position[number]
        return not self._near(access, self._writes) or any(use.position != own for use in uses)

    def _goes_along(self, row: StreamRow, use: _Use) -> bool:
        """Return whether the reader of a row's result is a row in a group that goes through the same elements."""
        other = self._rows[use.number]
        alike = row.count == other.count and row.loops == other.loops
        return alike and other is not row and isinstance(self._units[use.position], Group)

    def keep_reachable(self) -> None:
        """Leave out the rows whose operands could be others when they are read once more."""
        while lost := {n for n in self.able if not all(self._is_there(n, a) for a in self._read(n))}:
            self.able -= lost

    def _read(self, number: int) -> list[Access]:
        return [access for access in self._rows[number].accesses if access.mode == READ]

    def _is_there(self, number: int, access: Access) -> bool:
        """Return whether an operand stays in memory as a row finds it, or can be recomputed."""
        if self._writer(access) is not None:
            return True
        own = self._position[number]
        return all(
            0 <= use.position < own or (use.position == own and use.number < number)
            for use in self._near(access, self._writes)
        )

    def _writer(self, access: Access) -> int | None:
        """Return the row that computes an access, if it can be recomputed."""
        writers = {use.number for use in self._near(access, self._writes)}
        return writers.pop() if len(writers) == 1 and writers <= self.able else None

    def readers(self) -> list[int]:
        """Return the groups that read the results of recomputable rows, without the rows' own groups."""
        groups = (position for position, unit in enumerate(self._units) if isinstance(unit, Group))
        return [position for position in with_pauses(groups) if self._first(position)]

    def _first(self, position: int) -> set[int]:
        """Return the rows whose results a group reads."""
        numbers = self._group(position).rows
        return self._writers(numbers) - {*numbers}

    def _group(self, position: int) -> Group:
        unit = self._units[position]
        assert isinstance(unit, Group)
        return unit

    def _writers(self, numbers: Iterable[int]) -> set[int]:
        found = {self._writer(access) for number in numbers for access in self._read(number)}
        return {number for number in found if number is not None}

    def needed(self, position: int) -> set[int]:
        """Return the rows that a group has to recompute."""
        waiting = self._first(position)
        found = set(waiting)
        while waiting:
            waiting = self._writers(waiting) - found
            found |= waiting
        return found

    def fits(self, position: int, needed: set[int], lanes: int) -> bool:
        """Return whether rows can join a group, and are not too many for what they save."""
        group = self._group(position)
        if group.size + len(needed) > MAX_ROWS or len(needed) > _MAX_RECOMPUTED_ROWS * len(
            self._first(position)
        ):
            return False
        return fit_together([self._rows[n] for n in (*group.rows, *needed)], lanes, self._blocks)
