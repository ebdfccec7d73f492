"""The memory plan of a program: which blocks there are, when each is in use, and at which offset it lies.

Instructions are bound before it is known where a block will lie: each block has made-up addresses of its own, which
no other has. When all instructions are bound, and in their final order, the frames say from where to where a block is
in use; then it gets its place in the workspace, and the frames the addresses there.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from tapegrad.engine.guard_pages import PAGE
from tapegrad.engine.inspection.narrow_columns import RarelyRead
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.sweep.replays import offsets
from tapegrad.program.streams.stream import WORKSPACE

NEVER = -1  # the last step of a block that nothing uses
_ALIGNMENT = 64
_MAX_FENCES = 2_000  # in a workspace; Linux allows a process 65,530 mappings


class WorkspaceBlocks(RarelyRead):
    """The blocks of a workspace.

    Attributes
    ----------
    bytes
        Size of each.
    start, stop
        The first and the last row, counted over both streams, in which each is in use.
    offset
        Where each lies in the workspace.
    """

    def __init__(self) -> None:
        self.bytes = np.zeros(0, np.int64)
        self._addresses = np.zeros(0, np.int64)
        self.start = self.stop = self.offset = self.bytes
        # For each stream: the frame fields that are addresses of blocks, offsets in these, and their numbers
        self._fields: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def new(self, sizes: Sequence[int] | np.ndarray) -> np.ndarray:
        """Add blocks of these sizes; their made-up addresses."""
        bytes_ = np.asarray(sizes, np.int64)
        # A cache line apart, so that an empty view at the end of one is not at the beginning of the next
        room = rounded(bytes_) + _ALIGNMENT
        begin: np.ndarray = self.end + np.cumsum(room) - room
        self.bytes = np.concatenate([self.bytes, bytes_])
        self._addresses = np.concatenate([self._addresses, begin])
        return begin

    @property
    def end(self) -> int:
        """The first address behind all blocks."""
        if len(self.bytes) == 0:
            return WORKSPACE + _ALIGNMENT
        return int(self._addresses[-1] + rounded(self.bytes[-1])) + _ALIGNMENT

    def number(self, addresses: np.ndarray) -> np.ndarray:
        """Return the block that each made-up address of the workspace lies in."""
        return np.maximum(np.searchsorted(self._addresses, addresses, "right") - 1, 0)

    def spans(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first made-up address of each block, and the one behind its last."""
        return self._addresses, self._addresses + np.maximum(self.bytes, 1)

    def find_uses(self, frames: Sequence[np.ndarray], begun: Sequence[np.ndarray]) -> None:
        """Find from the frames of all rows, in order, when each block is in use; `begun` where a frame begins."""
        self.start = np.zeros(len(self.bytes), np.int64)
        self.stop = np.full(len(self.bytes), NEVER, np.int64)
        self._fields, row = [], 0
        for of_stream, begins in zip(frames, begun, strict=True):
            flat = of_stream.reshape(-1)
            at = np.flatnonzero(flat >= WORKSPACE)
            at = at[flat[at] < 2 * WORKSPACE]
            addresses = flat[at]
            blocks = self.number(addresses)
            self._fields.append((at, addresses - self._addresses[blocks], blocks))
            rows = at // field.FIELDS + row
            if not begins.all():
                rows = np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))[rows - row] + row
            new = self.stop[blocks] == NEVER
            # Of several rows that use a block the last one stays
            self.start[blocks[new][::-1]] = rows[new][::-1]
            self.stop[blocks] = rows
            row += len(of_stream)

    def uses(self) -> np.ndarray:
        """Return the first and the last row, the offset and the bytes of each block in use, (n, 4) int64."""
        found = np.stack([self.start, self.stop, self.offset, self.bytes], 1)
        return np.asarray(found[self.stop != NEVER], np.int64)

    def keep(self, addresses: Iterable[int], first: int, last: int) -> None:
        """Keep the blocks at these made-up addresses from row `first`, if they are not in use before, to `last`."""
        blocks = self.number(np.fromiter(addresses, np.int64))
        begun = self.stop[blocks] != NEVER
        self.start[blocks] = np.where(begun, np.minimum(self.start[blocks], first), first)
        self.stop[blocks] = np.maximum(self.stop[blocks], last)

    def keep_over(self, row: int, last: int) -> None:
        """Keep what is in use before a row, and from there on, to row `last`."""
        self.stop[(self.start < row) & (self.stop >= row)] = last

    def offsets(self, addresses: np.ndarray) -> np.ndarray:
        """Return the offsets in the workspace of made-up addresses."""
        blocks = self.number(addresses)
        found: np.ndarray = self.offset[blocks] + (addresses - self._addresses[blocks])
        return found

    def relocate(self, frames: Sequence[np.ndarray]) -> None:
        """Write offsets in the workspace to the frames whose uses were found."""
        for of_stream, (at, inside, blocks) in zip(frames, self._fields, strict=True):
            of_stream.reshape(-1)[at] = WORKSPACE + self.offset[blocks] + inside
        self._fields.clear()

    def assign_offsets(self) -> int:
        """Give each block an offset such that no two in use at one time overlap; return the bytes of the workspace."""
        self.offset = np.zeros(len(self.bytes), np.int64)
        used = np.flatnonzero(self.stop != NEVER)
        self.offset[used], size = assign_offsets(self.bytes[used], self.start[used], self.stop[used])
        return size

    def assign_fenced_offsets(self) -> tuple[int, list[int]]:
        """Lay the blocks apart, with fences; return the bytes of the workspace, and the offsets of the fences."""
        self.offset, size, fences = assign_fenced_offsets(self.bytes)
        return size, fences


def assign_offsets(bytes_: np.ndarray, start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, int]:
    """Offsets of blocks such that no two in use at one time overlap, and the bytes that they take together."""
    blocks = np.stack([start, stop, rounded(bytes_), np.zeros_like(start)], axis=1)
    order, ends = np.argsort(start, kind="stable"), np.argsort(stop, kind="stable")
    gaps = np.empty((2, len(blocks) + 1, 2), np.int64)
    size = offsets.assign_offsets(
        blocks.ctypes.data,
        len(blocks),
        order.ctypes.data,
        ends.ctypes.data,
        gaps[0].ctypes.data,
        gaps[1].ctypes.data,
    )
    return blocks[:, offsets.OFFSET], size


def assign_fenced_offsets(bytes_: np.ndarray, most: int = _MAX_FENCES) -> tuple[np.ndarray, int, list[int]]:
    """Offsets of blocks with pages of their own and a fence behind each; their bytes together, and the fences.

    A block ends at its fence, but for what it lacks to a multiple of eight bytes. More than `most` blocks lie in groups
    with a fence behind each: a system has a limit of mappings for a process, and each fence takes two.
    """
    blocks = len(bytes_)
    sizes = np.zeros((min(blocks, most), -(-blocks // most)), np.int64)  # of a group a row
    sizes.flat[:blocks] = rounded(bytes_, 8)
    to_fence = np.cumsum(sizes[:, ::-1], axis=1)[:, ::-1]
    ends = np.cumsum(PAGE + rounded(np.sum(sizes, axis=1), PAGE))
    fences = [0, *ends.tolist()]
    return (ends[:, None] - to_fence).ravel()[:blocks], fences[-1] + PAGE, fences


def rounded(bytes_: np.ndarray, unit: int = _ALIGNMENT) -> np.ndarray:
    """Return the sizes rounded up to multiples of a unit, at least one."""
    found: np.ndarray = -(-np.maximum(bytes_, 1) // unit) * unit
    return found
