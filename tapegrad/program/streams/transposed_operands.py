"""Transposed operands: copies of small arrays that a row goes through many times, but not along adjacent elements.

The loops over ``q[:, None] - q``, for a `q` of shape (n, 3), go along n, where the elements of `q` lie three apart: so
each line of the result reads them, and each line of its cotangents adds to theirs. The row works on a copy of `q`, or
of its cotangents, in which they are adjacent; the copies are made right before the row and right after it. They change
neither a value nor the order of additions.
"""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language import frame as field
from tapegrad.ops import COPY, Op
from tapegrad.program.streams.memory_plan import WorkspaceBlocks
from tapegrad.program.streams.stream import (
    RUN_FORWARD,
    RUN_REVERSE,
    InstructionStream,
    is_elementwise,
    pointed_fields,
)

_MIN_COUNT = 16  # minimum elements of a line
_MIN_USES = 8  # minimum of times that a row goes through each element of an operand
_ITEMS = {"f64": 8, "f32": 4}
_ITEM_OF = np.array([_ITEMS.get(name, 0) for name in kernel_table.DTYPE_NAMES])
_OPERANDS = range(3)


def with_transposed_operands(stream: InstructionStream, blocks: WorkspaceBlocks) -> InstructionStream:
    """Let rows work on transposed copies of operands where that is faster."""
    rows = [(k, kernel_table.row(int(stream.op[k]))) for k in _candidates(stream)]
    added = [
        (k, copy)
        for k, op in rows
        if isinstance(op, Op)
        for copy in _RowOperands(stream, k, op).transposed(blocks)
    ]
    if not added:
        return stream
    copied = stream.taking([k for k, _ in added])
    copied.op[:], copied.direction[:] = COPY, RUN_FORWARD
    copied.frames[:] = [copy.frame for _, copy in added]
    copied.elements[:] = [copy.elements for _, copy in added]
    stream.kept += [copy.loops for _, copy in added]
    return stream.inserting(copied, [k + copy.is_after for k, copy in added])


def _candidates(stream: InstructionStream) -> list[int]:
    """Return the rows in which an operand's elements are apart, and those of the result adjacent."""
    item, strides = _ITEM_OF[stream.variant], stream.frames[:, field.STRIDE : field.Y_STRIDE]
    apart = ((strides > 0) & (strides != item[:, None])).any(1)
    lines = (stream.frames[:, field.OUTER] != 0) & (stream.frames[:, field.COUNT] >= _MIN_COUNT)
    known = np.isin(stream.direction, (RUN_FORWARD, RUN_REVERSE)) & (item > 0) & is_elementwise(stream)
    adjacent = stream.frames[:, field.Y_STRIDE] == item
    found: list[int] = np.flatnonzero(apart & lines & known & adjacent).tolist()
    return found


class _LoopSteps(NamedTuple):
    """A loop: its extent, and the bytes from one step to the next of each operand and of the result."""

    extent: int
    steps: tuple[int, ...]


class _CopyRow(NamedTuple):
    """A row that copies: its frame, the loops that this leads to, and whether it comes after the row copied for."""

    frame: np.ndarray
    loops: np.ndarray
    elements: int
    is_after: bool


class _RowOperands:
    """The operands of a row, which may be transposed."""

    def __init__(self, stream: InstructionStream, k: int, op: Op) -> None:
        self._stream, self._frame, self._op = stream, stream.frames[k], op
        self._item = int(_ITEM_OF[stream.variant[k]])
        self._loops = _loops_of(self._frame)
        self._is_reverse = stream.direction[k] == RUN_REVERSE
        self._total = math.prod(loop.extent for loop in self._loops)

    def transposed(self, blocks: WorkspaceBlocks) -> list[_CopyRow]:
        """Let the row read and write transposed copies; return the rows that make them."""
        moves = {j: moved for j in _OPERANDS if (moved := self._move(j))}
        sharing = self._sharing(moves)
        if not moves or sharing is None:
            return []
        moves |= sharing
        copies: list[_CopyRow] = []
        known: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}
        for j, steps in moves.items():
            dims = self._dims(j)
            for at, is_written in self._fields(j):
                address = int(self._frame[at])
                key = address, frozenset(steps.items())
                if key not in known:
                    (known[key],) = blocks.new([self._item * _size(dims)]).tolist()
                    copies.append(self._copy(dims, steps, address, known[key], is_after=False))
                    if is_written:
                        copies.append(self._copy(dims, steps, address, known[key], is_after=True))
                self._frame[at] = known[key]
        self._take_steps(moves)
        return copies

    def _dims(self, j: int) -> list[tuple[int, int]]:
        """Return extents and steps of the loops along which an operand's elements differ, innermost first."""
        return [(loop.extent, loop.steps[j]) for loop in self._loops[::-1] if loop.steps[j]]

    def _move(self, j: int) -> dict[int, int] | None:
        """Return the new steps of an operand by the old ones; `None` if it stays where it is."""
        dims, stride = self._dims(j), int(self._frame[field.STRIDE + j])
        if stride in (0, self._item) or j in self._op.boolean_operands or not [*self._fields(j)]:
            return None
        if _size(dims) * _MIN_USES > self._total:
            return None
        if not _is_injective(dims, self._item) or self._is_stored(j):
            return None
        steps, at = {}, self._item
        for extent, step in dims:
            steps[step] = at
            at *= extent
        return steps

    def _sharing(self, moves: Mapping[int, dict[int, int]]) -> dict[int, dict[int, int]] | None:
        """Return the moves of operands whose cotangents are in the same memory; `None` if these do not lie alike."""
        found: dict[int, dict[int, int]] = {}
        if not self._is_reverse:
            return found
        for j, steps in moves.items():
            for k in _OPERANDS:
                if k == j or not self._overlap(j, k):
                    continue
                same = self._frame[field.X_BAR + j] == self._frame[field.X_BAR + k]
                alike = sorted(self._dims(j)) == sorted(self._dims(k))
                if not same or not alike or k in moves or self._is_stored(k) or self._frame[field.STRIDE + k]:
                    return None
                found[k] = steps
        return found

    def _is_stored(self, j: int) -> bool:
        """Return whether the row writes the cotangents of an operand, instead of adding to them."""
        return self._is_reverse and bool(self._frame[field.STORE] >> j & 1)

    def _overlap(self, j: int, k: int) -> bool:
        """Return whether the cotangents of two operands reach into each other."""
        first, second = (int(self._frame[field.X_BAR + each]) for each in (j, k))
        if not first or not second:
            return False
        (start, stop), (low, high) = (
            _span(address, self._dims(each), self._item) for address, each in ((first, j), (second, k))
        )
        return start < high and low < stop

    def _fields(self, j: int) -> Iterator[tuple[int, bool]]:
        """Yield the fields of an operand's addresses that the kernel uses, and whether it writes there."""
        if not self._is_reverse:
            if self._frame[field.X + j]:
                yield field.X + j, False
            return
        wanted = [k for k in self._op.differentiable_operands if self._frame[field.X_BAR + k]]
        if any(f"x{j}" in (self._op.reads[k] or ()) for k in wanted):
            yield field.X + j, False
        if j in wanted:
            yield field.X_BAR + j, True

    def _copy(
        self, dims: list[tuple[int, int]], steps: Mapping[int, int], address: int, block: int, is_after: bool
    ) -> _CopyRow:
        """Return the row that copies an operand to its block, or back."""
        pairs = [(extent, step, steps[step]) for extent, step in dims]
        frame = np.zeros(field.FIELDS, np.int64)
        ends = [(address, 1), (block, 2)]
        (source, x), (target, y) = ends[::-1] if is_after else ends
        (frame[field.COUNT], *_), *outer = pairs
        frame[field.X], frame[field.Y] = source, target
        frame[field.STRIDE], frame[field.Y_STRIDE] = pairs[0][x], pairs[0][y]
        loops = _loop_fields([_LoopSteps(pair[0], (pair[x], 0, 0, pair[y])) for pair in outer[::-1]])
        frame[field.OUTER] = loops.ctypes.data if outer else 0
        return _CopyRow(frame, loops, _size(dims), is_after)

    def _take_steps(self, moves: Mapping[int, Mapping[int, int]]) -> None:
        """Let the row go through the copies."""

        def moved(loop: _LoopSteps) -> _LoopSteps:
            steps = [moves[j][step] if j in moves and step else step for j, step in enumerate(loop.steps)]
            return _LoopSteps(loop.extent, tuple(steps))

        *outer, inner = map(moved, self._loops)
        self._frame[field.STRIDE : field.Y_STRIDE + 1] = inner.steps
        loops = _loop_fields(outer)
        self._stream.kept.append(loops)
        self._frame[field.OUTER] = loops.ctypes.data


def _loops_of(frame: np.ndarray) -> list[_LoopSteps]:
    """Return the loops of a row, the innermost last."""
    (count,) = pointed_fields(int(frame[field.OUTER]), 1)
    found = pointed_fields(int(frame[field.OUTER]) + 8, 5 * count)
    extents, *steps = (found[k : k + count] for k in range(0, 5 * count, count))
    outer = [_LoopSteps(extent, each) for extent, each in zip(extents, zip(*steps, strict=True), strict=True)]
    inner = frame[field.STRIDE : field.Y_STRIDE + 1].tolist()
    return [*outer, _LoopSteps(int(frame[field.COUNT]), tuple(inner))]


def _loop_fields(loops: list[_LoopSteps]) -> np.ndarray:
    """Return the fields of outer loops, as frames lead to them."""
    columns = [each.extent for each in loops], *zip(*(each.steps for each in loops), strict=True)
    return np.array([len(loops), *(value for column in columns for value in column)], np.int64)


def _size(dims: list[tuple[int, int]]) -> int:
    """Return the number of elements."""
    return math.prod(extent for extent, _ in dims)


def _span(address: int, dims: list[tuple[int, int]], item: int) -> tuple[int, int]:
    """Return the first byte and the end of all elements, from the one at an address on; steps may be backwards."""
    reach = [step * (extent - 1) for extent, step in dims]
    return address + sum(min(each, 0) for each in reach), address + sum(max(each, 0) for each in reach) + item


def _is_injective(dims: list[tuple[int, int]], item: int) -> bool:
    """Return whether no step is backwards, and no element is reached twice."""
    reached = item
    for extent, step in sorted(dims, key=lambda dim: dim[1]):
        if step < reached:
            return False
        reached += step * (extent - 1)
    return True
