"""Layouts: in which order the dimensions of what a program computes lie in memory.

NumPy's results lie in C order, so that a loop over ``(points, 5)`` goes through five elements at a time, and one that
goes through the points jumps. Nobody but the program sees what it computes on the way: where most of its rows are
better off so, the longest dimension comes last. Such a buffer must be written by one instruction as a whole, and read
through views whose axes are axes of it, by kernels that take any strides.

The layout belongs to a recording, so that all of its programs, with segments or without, add in the same order.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.tape.layout import BROADCAST_SUM, ELEMENTWISE, MATMUL, OP_KIND, REDUCTION
from tapegrad.engine.tape.view import View
from tapegrad.engine.tape_entries import Slots
from tapegrad.engine.tape_view import TapeView
from tapegrad.ops.params import MatmulParams, read

_SMALLEST = 4096  # elements of a buffer that is worth it
_SHORT = 32  # elements of a last dimension that is long enough
_LONGER = 4  # so many times longer another one must be
_EXCHANGED = 16  # elements of an inner loop below which the binder exchanges it for the longest
_ELEMENT, _STRIDED, _LINE = (
    1.0,
    1.5,
    20.0,
)  # cost of an element, of one that is not adjacent to the last, of a loop
_BETTER = 0.8  # part of the cost at most that is left
_KINDS = (ELEMENTWISE, BROADCAST_SUM, REDUCTION, MATMUL)


class Layout(NamedTuple):
    """An order of a buffer's dimensions.

    Attributes
    ----------
    extents, before, after
        Of each dimension that has several elements, and its stride in C order, and afterwards, in bytes.
    """

    extents: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    def moved(self, view: View) -> View | None:
        """A view on the buffer as it is afterwards; `None` if one of its axes goes through several dimensions."""
        start, offset = [], view.offset
        for stride in self.before:
            place, offset = divmod(offset, stride)
            start.append(place)
        strides = [
            self._stride(extent, stride, start)
            for extent, stride in zip(view.shape, view.strides, strict=True)
        ]
        if offset or any(stride is None for stride in strides):
            return None
        begin = sum(place * stride for place, stride in zip(start, self.after, strict=True))
        return view.as_strided(begin, view.shape, tuple(stride or 0 for stride in strides))

    def _stride(self, extent: int, stride: int, start: Sequence[int]) -> int | None:
        if extent <= 1 or stride == 0:
            return 0
        for length, before, after, place in zip(self.extents, self.before, self.after, start, strict=True):
            steps, rest = divmod(stride, before)
            if rest == 0 and 0 <= place + steps * (extent - 1) < length:
                return steps * after
        return None


def with_layouts(tape: TapeView) -> TapeView:
    """Lay out what a recording computes as its loops go through it."""
    candidates = _candidates(tape)
    if not candidates:
        return tape
    chosen = _Chosen(tape, candidates)
    return chosen.applied() if chosen.layouts else tape


def _candidates(tape: TapeView) -> dict[int, Layout]:
    """The buffers that could have another layout, with that."""
    columns, live = tape.columns, tape.columns.live
    written = columns.written[live]
    large = (columns.bytes[written] >= _SMALLEST) & (columns.writers[written] == 1)
    if not large.any():
        return {}
    kinds = kernel_table.op_column(columns.op[live], OP_KIND)
    unable = ~np.isin(kinds, _KINDS)
    fixed = np.zeros(len(columns.bytes) + 1, np.bool_)  # the last one is for NONE
    fixed[written[unable]] = True
    fixed[columns.read[live[unable]]] = True
    fixed[columns.buffer[[*tape.inputs, *tape.outputs]]] = True
    results = (tape.slots[slot] for slot in columns.result[live[large & ~fixed[written]]].tolist())
    found = {slot.buffer: _longest_last(slot.view, tape.bytes(slot.buffer)) for slot in results}
    return {buffer: layout for buffer, layout in found.items() if layout is not None}


def _longest_last(view: View, bytes_: int) -> Layout | None:
    """The layout with the longest dimension last, if the last one is short beside it.

    The view shows the whole buffer in C order, once, or many times as a sum is added to its elements.
    """
    dims = [d for d, step in enumerate(view.steps) if step]
    own = view.select_axes(dims)
    if len(dims) < 2 or own.size < _SMALLEST or not own.covers(bytes_):
        return None
    longest = max(dims, key=lambda d: view.shape[d])
    last = view.shape[dims[-1]]
    if last >= _SHORT or view.shape[longest] < _LONGER * last:
        return None
    after, step = {}, view.itemsize
    for d in (longest, *(d for d in reversed(dims) if d != longest)):
        after[d] = step
        step *= view.shape[d]
    extents, before = (tuple(words[d] for d in dims) for words in (view.shape, view.strides))
    return Layout(extents, before, tuple(after[d] for d in dims))


class _Chosen:
    """The layouts that are chosen.

    Parameters
    ----------
    tape
        A recording, or what passes have made of it.
    candidates
        Layouts by buffer.

    Attributes
    ----------
    layouts
        Those of the candidates that are possible, and that are worth it together.
    """

    def __init__(self, tape: TapeView, candidates: dict[int, Layout]) -> None:
        self._tape = tape
        self.layouts = candidates
        self._users = self._instructions()
        self._views = self._possible()
        self._keep_better()

    def _slots(self, i: int) -> list[int]:
        """The slots of an instruction, its result last."""
        columns = self._tape.columns
        return [*(slot for slot in columns.operands[i].tolist() if slot >= 0), int(columns.result[i])]

    def _instructions(self) -> list[int]:
        """The live instructions that a candidate is an operand or the result of."""
        columns, live = self._tape.columns, self._tape.columns.live
        concerned = np.zeros(len(columns.bytes) + 1, np.bool_)
        concerned[list(self.layouts)] = True
        found: list[int] = live[
            concerned[columns.written[live]] | concerned[columns.read[live]].any(1)
        ].tolist()
        return found

    def _possible(self) -> dict[int, View]:
        """The views on the candidates as they would be, by slot; a candidate with another view is none."""
        slots = dict.fromkeys(slot for i in self._users for slot in self._slots(i))
        views: dict[int, View] = {}
        for slot in slots:
            described = self._tape.slots[slot]
            layout = self.layouts.get(described.buffer)
            moved = layout.moved(described.view) if layout else None
            if moved is not None:
                views[slot] = moved
            else:
                self.layouts.pop(described.buffer, None)
        for i in self._users:
            for slot in self._unable(i, views):
                self.layouts.pop(self._tape.slots[slot].buffer, None)
        return self._kept(views)

    def _kept(self, views: dict[int, View]) -> dict[int, View]:
        return {slot: view for slot, view in views.items() if self._tape.slots[slot].buffer in self.layouts}

    def _unable(self, i: int, views: dict[int, View]) -> Iterator[int]:
        """The operands and results of a product that BLAS could not address."""
        if _kind(self._tape, i) == MATMUL:
            record = read(MatmulParams, self._tape.instructions[i].params)
            for slot, strides in zip(self._slots(i), (record[3:5], record[5:7], record[7:9]), strict=True):
                view = self._tape.slots[slot].view
                if slot in views and (
                    view.strides[-2:] != strides or view.itemsize not in views[slot].strides[-2:]
                ):
                    yield slot

    # --- what it costs ---------------------------------------------------------------------------------------------

    def _keep_better(self) -> None:
        """Keep the layouts of buffers that meet in instructions where these become faster by them."""
        for buffers, instructions in self._joined():
            before = sum(self._cost(i, {}) for i in instructions)
            if sum(self._cost(i, self._views) for i in instructions) > _BETTER * before:
                for buffer in buffers:
                    self.layouts.pop(buffer, None)
        self._views = self._kept(self._views)

    def _joined(self) -> list[tuple[set[int], list[int]]]:
        """Buffers that meet in instructions, and these."""
        groups: list[tuple[set[int], list[int]]] = []
        for i in self._users:
            buffers = {self._tape.slots[slot].buffer for slot in self._slots(i)} & self.layouts.keys()
            near = [group for group in groups if group[0] & buffers]
            groups = [group for group in groups if not group[0] & buffers]
            if buffers:
                groups.append(
                    (
                        buffers.union(*(each for each, _ in near)),
                        [i, *(k for _, numbers in near for k in numbers)],
                    )
                )
        return groups

    def _cost(self, i: int, moved: dict[int, View]) -> float:
        kind = _kind(self._tape, i)
        views = [moved.get(slot, self._tape.slots[slot].view) for slot in self._slots(i)]
        if kind == MATMUL:
            return 0.0
        if kind == BROADCAST_SUM:  # it goes through the operand
            views = views[::-1]
        if kind == REDUCTION:
            return _cost_of_lines(views[0])
        return _cost_of_loops(views)

    # --- the tape --------------------------------------------------------------------------------------------------

    def applied(self) -> TapeView:
        """The tape with these layouts."""
        slots, columns = self._tape.columns.slots, self._tape.columns
        lines, pool = slots.lines.copy(), list[int]()
        at = columns.line[list(self._views)]
        for line, view in zip(at.tolist(), self._views.values(), strict=True):
            lines[line, 4], lines[line, 7] = view.offset, len(slots.pool) + len(pool)
            pool += (*view.shape, *view.strides)
        geometry = np.array(pool, np.int64)
        lines[at, 5] = geometry.ctypes.data + 8 * (lines[at, 7] - len(slots.pool))
        instructions, products = columns.instructions.lines.copy(), list[int]()
        for i in self._users:
            if _kind(self._tape, i) == MATMUL:
                instructions[i, 7] = len(columns.instructions.pool) + len(products)
                products += self._product(i)
        strides = np.array(products, np.int64)
        made = instructions[:, 7] >= len(columns.instructions.pool)
        made &= instructions[:, 8] > 0
        instructions[made, 5] = strides.ctypes.data + 8 * (
            instructions[made, 7] - len(columns.instructions.pool)
        )
        kept = (*self._tape.kept, geometry, strides)
        return replace(
            self._tape,
            slots=Slots(lines, np.concatenate([slots.pool, geometry])),
            instructions=type(columns.instructions)(
                instructions, np.concatenate([columns.instructions.pool, strides])
            ),
            kept=kept,
        )

    def _product(self, i: int) -> list[int]:
        """The parameters of a product."""
        record = read(MatmulParams, self._tape.instructions[i].params)
        words = list(record)
        for slot, place in zip(self._slots(i), (3, 5, 7), strict=True):
            if slot in self._views:
                words[place : place + 2] = self._views[slot].strides[-2:]
        return words


def _kind(tape: TapeView, i: int) -> int:
    return int(kernel_table.op_column(tape.columns.op[i : i + 1], OP_KIND)[0])


def _aligned(view: View, ndim: int) -> list[int]:
    """Strides in a shape of so many dimensions; 0 where elements are repeated."""
    return [0] * (ndim - view.ndim) + list(view.steps)


def _cost_of_loops(views: Sequence[View]) -> float:
    """About what an elementwise row costs, the view last whose shape it goes through."""
    shape = views[-1].shape
    strides = zip(*(_aligned(view, len(shape)) for view in views), strict=True)
    loops = [(extent, steps) for extent, steps in zip(shape, strides, strict=True) if extent > 1]
    loops.sort(key=lambda loop: -abs(loop[1][-1]))  # as the binder does
    nest: list[tuple[int, tuple[int, ...]]] = []
    for count, steps in loops:
        if nest and all(outer == inner * count for outer, inner in zip(nest[-1][1], steps, strict=True)):
            count *= nest.pop()[0]
        nest.append((count, steps))
    if not nest:
        return _LINE
    inner = nest[-1]
    if inner[0] < _EXCHANGED:
        inner = max(nest, key=lambda loop: loop[0])
    return _cost_of(math.prod(shape), inner[0], zip(inner[1], (view.itemsize for view in views), strict=True))


def _cost_of_lines(view: View) -> float:
    """About what a reduction along the last axis costs: of short lines many are gone through at once."""
    lines = view.shape[-1] <= 2 * _SHORT and view.ndim > 1
    axis = -2 if lines else -1
    return _cost_of(view.size, view.shape[axis], [(view.strides[axis], view.itemsize)])


def _cost_of(size: int, count: int, strides: Iterable[tuple[int, int]]) -> float:
    strided = sum(stride not in (0, itemsize) for stride, itemsize in strides)
    return size * (_ELEMENT + _STRIDED * strided) + size / max(count, 1) * _LINE
