"""Dependences of rows of a stream: those that touch the same bytes stay in order, unless both only read."""

from collections.abc import Sequence

from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.program.fusion.grouping.rows import READ, Access, DisjointMemory, StreamRow


def dependences(rows: Sequence[StreamRow], blocks: DisjointMemory) -> list[set[int]]:
    """Return the numbers of each row's direct predecessors, without those that follow from others."""
    known: dict[int, dict[tuple[int, int], _Bytes]] = {}  # by block
    found: list[set[int]] = []
    for number, row in enumerate(with_pauses(rows)):
        touched = [(_bytes(known.setdefault(blocks.around(a.start)[0], {}), a), a.mode) for a in row.accesses]
        before: set[int] = set()
        for bytes_, mode in touched:
            for near in bytes_.near:
                before.update(near.writes)
                if mode != READ:
                    before.update(near.reads)
        before.discard(number)
        found.append(before)
        for bytes_, mode in touched:
            bytes_.note(number, mode)
    return found


class _Bytes:
    """Bytes that rows touch, all of them.

    Attributes
    ----------
    reads, writes
        The rows that a later one may depend on.
    near
        What has bytes in common with these, themselves included.
    """

    __slots__ = ("near", "reads", "start", "stop", "writes")

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop
        self.reads: list[int] = []
        self.writes: list[int] = []
        self.near: list[_Bytes] = [self]

    def note(self, number: int, mode: int) -> None:
        """Note that a row touches them; of what it overwrites later rows depend on it alone."""
        if mode == READ:
            self.reads.append(number)
            return
        for near in self.near:
            if self.start <= near.start and near.stop <= self.stop:
                near.reads = [number] if number in near.reads[-1:] else []
                near.writes = [number] if number in near.writes[-1:] else []
        self.writes.append(number)


def _bytes(known: dict[tuple[int, int], _Bytes], access: Access) -> _Bytes:
    """Return the bytes of an access, among those of its block that are known."""
    start, stop = access.start, access.stop
    found = known.get((start, stop))
    if found is None:
        found = _Bytes(start, stop)
        for other in known.values():
            if other.start < stop and start < other.stop:
                other.near.append(found)
                found.near.append(other)
        known[start, stop] = found
    return found


def overlap(a: Access, b: Access) -> bool:
    """Return whether two accesses have bytes in common."""
    return a.start < b.stop and b.start < a.stop
