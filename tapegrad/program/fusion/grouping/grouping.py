"""Rows over one iteration space brought together, past rows that they do not depend on.

A group becomes one kernel. No row outside of it may depend on one of its rows and be depended on by another: then
groups can be put in order. Long rows choose first; the forward and the reverse rows of an objective that ends in sums
and linear glue meet in one group in this way, for nothing that the latter read depends on the sums.
"""

import heapq
from collections.abc import Iterable, Sequence

from tapegrad.engine.runtime.pace import pause_point, with_pauses
from tapegrad.program.fusion.grouping.dependences import overlap
from tapegrad.program.fusion.grouping.rows import (
    ADD,
    BYTES,
    COMPLEX,
    READ,
    Access,
    DisjointMemory,
    Span,
    StreamRow,
    is_element,
)

_PAIRS = frozenset(COMPLEX.values())
MAX_ROWS = 128  # in a group: compilers take more than proportionally longer for long functions
MAX_NUMBERS = 512  # rows of single elements, which take less
MAX_ALL_NUMBERS = 4096  # where all rows are such, and one kernel saves the calls of a loop's iterations


class Group:
    """Rows that become one kernel.

    Attributes
    ----------
    rows
        Their numbers, in order.
    size
        How many rows a kernel goes through: of several tangents each is one.
    accesses
        What they touch, by the block that it lies in.
    written
        The blocks that they write to.
    is_short
        Whether a vector holds each line.
    has_lines
        Whether any row has a line of more than one element.
    has_parts
        Whether any row is a part of a row of the stream: then none has lines, for their vectors would be those of all.
    again
        Those of the rows that belong to an earlier group, and are computed once more.
    """

    def __init__(self, is_short: bool) -> None:
        self.is_short = is_short
        self.rows: list[int] = []
        self.size = 0
        self.has_lines = self.has_parts = False
        self.again: frozenset[int] = frozenset()
        self.accesses: dict[int, list[tuple[StreamRow, Access]]] = {}
        self.written: set[int] = set()

    def moved(self, start: int) -> "Group":
        """Return the groups, in order, for a part of the stream that begins at `start`."""
        moved = Group(self.is_short)
        moved.rows = [number + start for number in sorted(self.rows)]
        return moved


class Grouping:
    """The groups of a stream.

    Parameters
    ----------
    rows, before
        The rows, and what each of them depends on.
    lanes
        Elements of a vector.
    blocks
        The memory that the rows touch.
    most_numbers
        Rows of a group of single elements.
    """

    def __init__(
        self,
        rows: Sequence[StreamRow],
        before: list[set[int]],
        lanes: int,
        blocks: DisjointMemory,
        most_numbers: int,
    ) -> None:
        self._rows, self._lanes, self._blocks, self._most_numbers = rows, lanes, blocks, most_numbers
        self._before = _past_clearing(rows, before)
        self._members = [1 << n for n in range(len(rows))]  # bits of the rows in the group of each row
        self._ancestors = self._all_ancestors()
        self.group_of: dict[int, Group] = {}
        for space in self._spaces():
            self._group(space)

    def _all_ancestors(self) -> list[int]:
        """Return the bits of all rows that each row depends on."""
        found: list[int] = []
        for before in with_pauses(self._before):
            found.append(0)
            for n in before:
                found[-1] |= found[n] | 1 << n
        return found

    def _spaces(self) -> list[list[int]]:
        """Return the rows of each iteration space, those with outer loops first, and then the longest first."""
        nested: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for number, row in enumerate(self._rows):
            if _fits(row) and row.loops:
                nested.setdefault((row.count, row.loops), []).append(number)
        return [*nested.values(), *self._lines()]

    def _lines(self) -> list[list[int]]:
        """Return the rows of one loop in each iteration space, the longest first. Counts may differ by a vector."""
        fitting = {n: row for n, row in enumerate(self._rows) if _fits(row) and not row.loops}
        counts = sorted({row.count for row in fitting.values() if row.count > self._lanes}, reverse=True)
        spaces: list[list[int]] = []
        longest = 0
        of_count: dict[int, int] = {}
        for count in counts:
            if not spaces or longest - count > self._lanes:
                spaces.append([])
                longest = count
            of_count[count] = len(spaces) - 1
        short: list[int] = []
        for number, row in fitting.items():
            (spaces[of_count[row.count]] if row.count > self._lanes else short).append(number)
        return [*spaces, short]

    def _group(self, space: Iterable[int]) -> None:
        groups: list[Group] = []
        for number in with_pauses(space):
            group = next((g for g in self._candidates(number, groups) if self._may_join(number, g)), None)
            if group is None:
                group = Group(self._rows[number].count <= self._lanes)
                if not self._touches_alike(self._rows[number], group):
                    continue  # what it adds to overlaps in a way that no segment can do
                groups.append(group)
            self._join(number, group)

    def _candidates(self, number: int, groups: list[Group]) -> list[Group]:
        """Yield the groups that a row could join: first the ones that it depends on, of these the latest first."""
        known = {id(self.group_of[n]) for n in self._before[number] if n in self.group_of}
        latest_first = groups[::-1]
        return [
            *(group for group in latest_first if id(group) in known),
            *(group for group in latest_first if id(group) not in known),
        ]

    def _may_join(self, number: int, group: Group) -> bool:
        row = self._rows[number]
        if (group.has_lines and row.is_part) or (group.has_parts and row.count > 1):
            return False
        limit = MAX_ROWS if group.has_lines or row.count > 1 else self._most_numbers
        if group.size + row.seeds > limit:
            return False
        first = group.rows[0]
        own = self._members[first]
        if self._ancestors[first] >> number & 1:
            return False
        for n in self._before[number]:
            if not own >> n & 1 and self._ancestors[n] & own:
                return False
        return self._touches_alike(self._rows[number], group)

    def _touches_alike(self, row: StreamRow, group: Group) -> bool:
        """Return whether the accesses of a row fit into registers, beside those of the group."""
        blocks = [self._blocks.around(access.start)[0] for access in row.accesses]
        written = group.written.union(self._written(row, blocks))
        for access, block in zip(row.accesses, blocks, strict=True):
            if block not in written:
                continue  # all of its readers are held
            others = group.accesses.get(block, [])
            own = [(row, other) for other in row.accesses if other is not access]
            near = _entangled((row, access), [*others, *own])
            if not _is_held(near, self._lanes, group.is_short):
                return False
        return True

    @staticmethod
    def _written(row: StreamRow, blocks: Sequence[int]) -> Iterable[int]:
        """Return the blocks that a row writes to; `blocks` are those of its accesses."""
        return (block for access, block in zip(row.accesses, blocks, strict=True) if access.mode != READ)

    def _join(self, number: int, group: Group) -> None:
        group.rows.append(number)
        self.group_of[number] = group
        row = self._rows[number]
        group.size += row.seeds
        group.has_lines |= row.count > 1
        group.has_parts |= row.is_part
        blocks = [self._blocks.around(access.start)[0] for access in row.accesses]
        for access, block in zip(row.accesses, blocks, strict=True):
            group.accesses.setdefault(block, []).append((row, access))
        group.written.update(self._written(row, blocks))
        first = group.rows[0]
        members = self._members[first] | 1 << number
        ancestors = (self._ancestors[first] | self._ancestors[number]) & ~members
        for n in group.rows:
            self._members[n], self._ancestors[n] = members, ancestors
        below = members | ancestors
        for n, known in enumerate(self._ancestors):
            if known & members and not members >> n & 1:
                self._ancestors[n] = known | below

    def ordered(self) -> list[Group | int]:
        """Return groups and single rows in a topological order, the earliest of the ready ones first.

        Rows that clear memory are left out.
        """
        units = {number: self.group_of.get(number, number) for number in range(len(self._rows))}
        waiting: dict[int, set[int]] = {}  # by unit, named by its first row: the units that come before
        first_of = {n: (u if isinstance(u, int) else u.rows[0]) for n, u in units.items()}
        for number, before in enumerate(with_pauses(self._before)):
            if not self._rows[number].clears:
                own = waiting.setdefault(first_of[number], set())
                own |= {first_of[n] for n in before} - {first_of[number]}
        return [units[number] for number in _in_order(waiting)]


def _in_order(waiting: dict[int, set[int]]) -> list[int]:
    """Return the names in topological order, the smallest of the ready ones first."""
    after: dict[int, list[int]] = {}
    missing = {name: len(before) for name, before in waiting.items()}
    for name, before in waiting.items():
        for each in before:
            after.setdefault(each, []).append(name)
    ready = sorted(name for name, count in missing.items() if count == 0)
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        pause_point()
        name = heapq.heappop(ready)
        order.append(name)
        for each in after.get(name, ()):
            missing[each] -= 1
            if missing[each] == 0:
                heapq.heappush(ready, each)
    assert len(order) == len(waiting)
    return order


def _fits(row: StreamRow) -> bool:
    return row.kind != "" and not row.clears


def _past_clearing(rows: Sequence[StreamRow], before: list[set[int]]) -> list[set[int]]:
    """Return the dependences without the rows that clear memory: these are placed where they are needed."""
    found: list[set[int]] = []
    for numbers in with_pauses(before):
        kept: set[int] = set()
        for n in numbers:
            kept |= found[n] if rows[n].clears else {n}
        found.append(kept)
    return found


def _entangled(
    one: tuple[StreamRow, Access], others: Sequence[tuple[StreamRow, Access]]
) -> list[tuple[StreamRow, Access]]:
    """Return the accesses that overlap this one, or one that overlaps it, and so on."""
    near, rest = [one], list(others)
    for _, access in near:
        found = [each for each in rest if overlap(access, each[1])]
        if found:
            near += found
            rest = [each for each in rest if not overlap(access, each[1])]
    return near


def fit_together(rows: Sequence[StreamRow], lanes: int, blocks: DisjointMemory) -> bool:
    """Return whether the accesses of long rows can be held in registers."""
    touched: dict[int, list[tuple[StreamRow, Access]]] = {}
    for row in rows:
        for access in row.accesses:
            touched.setdefault(blocks.around(access.start)[0], []).append((row, access))
    return all(
        _is_held(_entangled(one, [other for other in near if other is not one]), lanes, False)
        for near in touched.values()
        for one in near
    )


def _is_held(near: Sequence[tuple[StreamRow, Access]], lanes: int, is_short: bool) -> bool:
    """Return whether overlapping accesses are of one line, or of parts of it that are only added to."""
    if all(access.mode == READ for _, access in near):
        return True
    accesses = [access for _, access in near]
    if any(access.span.is_scattered for access in accesses):
        return False  # a vector of these is none of the others
    if len({access.span.whole for access in accesses}) == 1:
        if len(near) > 1 and not accesses[0].span.is_injective(near[0][0].loops):
            return False  # each row adds to an element again and again, one row after the other
        sums = [row.count > 1 and access.single and access.mode != READ for row, access in near]
        return is_short or all(sums) or not any(sums)
    if any(row.loops for row, _ in near) or any(access.span.part >= 0 for access in accesses):
        return False
    if any(access.single for access in accesses):
        return is_short and _are_elements([access.span for access in accesses])
    if any(access.span.dtype in _PAIRS for access in accesses):
        return False
    if len({access.span.dtype for access in accesses}) > 1:
        return False
    start, stop = min(a.start for a in accesses), max(a.stop for a in accesses)
    if is_short and stop - start > lanes * BYTES[accesses[0].span.dtype]:
        return False  # a vector holds each of them, and not their union
    return all(_is_part(access, start, stop, lanes) for access in accesses)


def _are_elements(spans: Sequence[Span]) -> bool:
    """Return whether some of the spans are a line, and the others elements of it."""
    lines = {span for span in spans if not span.single}
    if len(lines) != 1:
        return False
    (line,) = lines
    return all(is_element(span, line) for span in spans if span.single)


def _is_part(access: Access, start: int, stop: int, lanes: int) -> bool:
    """Return whether an access is of the whole line, or adds to a part of it that begins within a vector."""
    if access.start == start and access.stop == stop:
        return True
    shift, rest = divmod(access.start - start, BYTES[access.span.dtype])
    return access.mode == ADD and rest == 0 and shift <= lanes
