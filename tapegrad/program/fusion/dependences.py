"""Which rows of a stream must stay in order: those that touch the same bytes, unless both only read."""

from collections.abc import Sequence

from tapegrad.program.fusion.accesses import READ, Access, Blocks, Row


def dependences(rows: Sequence[Row], blocks: Blocks) -> list[set[int]]:
    """For each row the numbers of the rows that have to come before, but for those that these depend on."""
    known: dict[int, _Touched] = {}  # by block
    found: list[set[int]] = []
    for number, row in enumerate(rows):
        touched = [(known.setdefault(blocks.around(a.start)[0], _Touched()), a) for a in row.accesses]
        found.append({n for block, access in touched for n in block.before(access)} - {number})
        for block, access in touched:
            block.note(number, access)
    return found


class _Touched:
    """What rows have touched in a block, and a later row may depend on."""

    def __init__(self) -> None:
        self._reads: list[tuple[int, Access]] = []
        self._writes: list[tuple[int, Access]] = []

    def before(self, access: Access) -> set[int]:
        """The rows that one with this access depends on."""
        start, stop = access.start, access.stop  # `overlap`, written out: it is asked for each pair
        found = {n for n, other in self._writes if other.start < stop and start < other.stop}
        if access.mode != READ:
            found |= {n for n, other in self._reads if other.start < stop and start < other.stop}
        return found

    def note(self, number: int, access: Access) -> None:
        """Note an access; of what it overwrites later rows depend on it alone."""
        if access.mode == READ:
            self._reads.append((number, access))
            return
        for noted in (self._reads, self._writes):
            noted[:] = [(n, other) for n, other in noted if n == number or not _covers(access, other)]
        self._writes.append((number, access))


def overlap(a: Access, b: Access) -> bool:
    """Whether two accesses have bytes in common."""
    return a.start < b.stop and b.start < a.stop


def _covers(a: Access, b: Access) -> bool:
    return a.start <= b.start and b.stop <= a.stop
