"""Iteration spaces: rows that go through the same elements get the same loops, whatever the binder has merged of them.

Of a row all of whose operands are adjacent the binder makes one loop, of another one that broadcasts an operand over
the same elements several. The loops of the first are cut as those of the second are, which changes nothing but sums:
what is summed along a line stays as it is.
"""

import dataclasses
import itertools
import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence

from tapegrad.engine.codegen.segments.segment import ALONG_LINES, EXTREME
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.program.fusion.grouping.nests import is_short
from tapegrad.program.fusion.grouping.rows import BYTES, READ, Access, StreamRow

_MAX_CUT_ELEMENTS = (
    64  # of a long line that is cut into short ones, which are more rows: those have a loop otherwise
)
Extents = tuple[int, ...]
Space = tuple[int, int]  # the elements of a line, and of all lines


def with_common_loops(rows: Sequence[StreamRow]) -> list[StreamRow]:
    """Return the rows whose loops are cut so that those over one space have the same."""
    met = Counter(_space(row) for row in rows if row.loops)
    spaces = _spaces(rows)
    lines = _cuts_of_lines(rows, {space: spaces[space] for space, _ in met.most_common()}, met)
    return [_cut(row, spaces, lines) for row in with_pauses(rows)] if spaces else list(rows)


def _space(row: StreamRow) -> Space:
    return row.count, row.count * math.prod(row.loops)


def _spaces(rows: Iterable[StreamRow]) -> dict[Space, Extents]:
    """Return the outer loops of spaces."""
    found: dict[Space, Extents] = {}
    for row in rows:
        if row.loops:
            known = found.get(_space(row), row.loops)
            found[_space(row)] = _common(known, row.loops) or known
    return found


def _cuts_of_lines(
    rows: Iterable[StreamRow], spaces: dict[Space, Extents], met: Counter[Space]
) -> dict[int, tuple[int, Extents]]:
    """Return by the elements of a line those of the lines that it is cut into, and the loops around them.

    A line is left whole where more rows read rolled lines as long as it, which cannot be cut, than have the loops.
    """
    rolled = Counter(row.count for row in rows if any(access.span.rolled for access in row.accesses))
    found: dict[int, tuple[int, Extents]] = {}
    for (count, total), loops in spaces.items():
        too_short = is_short(count) and total > _MAX_CUT_ELEMENTS
        if not too_short and met[count, total] >= rolled[total]:
            found.setdefault(total, (count, loops))
    return found


def _common(one: Extents, other: Extents) -> Extents | None:
    """Loops that both can be cut into; `None` if there are none."""
    products = sorted({*_products(one), *_products(other)})
    if any(later % earlier for earlier, later in itertools.pairwise(products)):
        return None
    return tuple(later // earlier for earlier, later in itertools.pairwise(products))[::-1]


def _products(extents: Extents) -> list[int]:
    """Return the products of the extents of the innermost loops: of none, one, two, ... of them."""
    return list(itertools.accumulate(reversed(extents), operator.mul, initial=1))


def _cut(row: StreamRow, spaces: dict[Space, Extents], lines: dict[int, tuple[int, Extents]]) -> StreamRow:
    if row.kind == ALONG_LINES:
        return row  # whose result has another length than the lines
    if row.loops:
        loops = spaces[_space(row)]
        return _with_loops(row, row.loops, loops, row.count) if _common(row.loops, loops) == loops else row
    if row.kind == "" or row.clears or row.is_scattered or row.count not in lines:
        return row
    if row.kind != EXTREME and any(a.single and a.mode != READ for a in row.accesses):
        return row  # the order of additions is part of the result
    count, loops = lines[row.count]
    return _with_loops(row, (row.count // count,), loops, count)


def _with_loops(row: StreamRow, before: Extents, after: Extents, count: int) -> StreamRow:
    """Return a row with its outer loops, or with its only one, cut into others around lines of `count` elements."""

    def cut(access: Access) -> Access:
        span = access.span
        line = 0 if span.single else count * BYTES[span.dtype]
        steps = _steps(before, span.steps if row.loops else (line,), after)
        return access._replace(span=span._replace(length=1 if span.single else count, steps=steps))

    accesses = tuple(map(cut, row.accesses))
    return dataclasses.replace(row, count=count, accesses=accesses, loops=after)


def _steps(before: Extents, steps: Sequence[int], after: Extents) -> tuple[int, ...]:
    """Return the strides in bytes of loops that others have been cut into."""
    begins = list(zip(_products(before), reversed(steps), strict=False))
    found = []
    for product in _products(after)[:-1]:
        # The loop of before that this one is a part of, and how many of its steps it takes at once
        begin, step = max(each for each in begins if each[0] <= product)
        found.append(step * (product // begin))
    return tuple(reversed(found))
