"""Layouts: the order in memory of the dimensions of a program's intermediate arrays.

NumPy's results lie in C order, so that a loop over ``(points, 5)`` goes through five elements at a time, and one that
goes through the points jumps. Nobody but the program sees what it computes on the way: where most of its rows are
better off so, the longest dimension comes last, or the first one, if arguments lie by columns. Such a buffer must be
written by one instruction as a whole, and read through views whose axes are axes of it, by kernels that take any
strides.

The layout belongs to a recording, so that all of its programs, with segments or without, add in the same order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_entries import Slots, TapeEntries
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.tape.fields.layout import BROADCAST_SUM, ELEMENTWISE, MATMUL, OP_KIND, REDUCTION
from tapegrad.engine.tape.fields.view import View
from tapegrad.ops import CODES
from tapegrad.ops.params import read
from tapegrad.ops.structural.indexing import GatherParams, lies_by_columns
from tapegrad.ops.structural.matrices import MatmulParams
from tapegrad.program.passes.layout_costs import cost

_MIN_ELEMENTS = 4096  # minimum elements of a buffer for another layout
_MIN_LAST_EXTENT = 32  # minimum extent of a last dimension that stays last
_MIN_EXTENT_RATIO = 4  # minimum ratio of the longest dimension to the last
_MAX_COST_RATIO = 0.8  # maximum ratio of the new cost to the old
_KINDS = (ELEMENTWISE, BROADCAST_SUM, REDUCTION, MATMUL)
_GATHER = CODES["gather"]  # whose result may lie in memory as columns


class DimensionOrder(NamedTuple):
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
        """Return the view on the moved buffer; `None` if one of its axes goes through several dimensions."""
        if view.itemsize > min(self.before):  # floats seen as complex numbers: pairs must stay side by side
            return None
        positions, offset = [], view.offset
        for stride in self.before:
            position, offset = divmod(offset, stride)
            positions.append(position)
        reached = [(position, position) for position in positions]
        strides = []
        for extent, stride in zip(view.shape, view.steps, strict=True):
            d = self._dimension(stride)
            if d is None:
                return None
            steps = stride // self.before[d]
            low, high = reached[d]
            far = steps * (extent - 1)
            reached[d] = low + min(far, 0), high + max(far, 0)
            strides.append(steps * self.after[d])
        if offset or any(low < 0 or high >= n for (low, high), n in zip(reached, self.extents, strict=True)):
            return None
        begin = sum(position * stride for position, stride in zip(positions, self.after, strict=True))
        return view.as_strided(begin, view.shape, tuple(strides))

    def _dimension(self, stride: int) -> int | None:
        """Return the dimension of a stride: the outermost of which it is a multiple."""
        return next((d for d, before in enumerate(self.before) if stride % before == 0), None)


def with_layouts(tape: TapeView) -> TapeView:
    """Lay out what a recording computes as its loops go through it."""
    candidates = _candidates(tape)
    if not candidates:
        return tape
    chosen = _Chosen(tape, candidates)
    return chosen.applied() if chosen.layouts else tape


def _candidates(tape: TapeView) -> dict[int, DimensionOrder]:
    """Return the buffers that could have another layout, with that layout."""
    columns, live = tape.columns, tape.columns.live
    written = columns.written[live]
    large = (columns.bytes[written] >= _MIN_ELEMENTS) & (columns.writers[written] == 1)
    if not large.any():
        return {}
    kinds = kernel_table.op_column(columns.op[live], OP_KIND)
    unable = ~np.isin(kinds, _KINDS)
    fixed = np.zeros(len(columns.bytes) + 1, np.bool_)  # the last one is for NONE
    fixed[written[unable & (columns.op[live] != _GATHER)]] = True
    fixed[columns.read[live[unable]]] = True
    fixed[columns.buffer[[*tape.inputs, *tape.outputs]]] = True
    free = live[large & ~fixed[written]]
    is_turned, found = _reads_turned(tape, free, fixed), dict[int, DimensionOrder | None]()
    for slot in (tape.slots[number] for number in columns.result[free].tolist()):
        size = tape.bytes(slot.buffer)
        found[slot.buffer] = _longest_last(slot.view, size) or (
            _turned(slot.view, size) if is_turned else None
        )
    return {buffer: layout for buffer, layout in found.items() if layout is not None}


def _reads_turned(tape: TapeView, instructions: np.ndarray, fixed: np.ndarray) -> bool:
    """Return whether instructions read a buffer whose layout stays by columns, as an argument in Fortran's order."""
    columns = tape.columns
    slots = np.unique(columns.operands[instructions])
    slots = slots[slots >= 0]
    slots = slots[fixed[columns.buffer[slots]] & (columns.slots.lines[columns.line[slots], 3] > 1)]
    return any(_is_turned(tape.slots[slot].view) for slot in slots.tolist())


def _is_turned(view: View) -> bool:
    """Return whether elements along the last dimension are apart, and those along another one adjacent."""
    steps = [step for step, extent in zip(view.steps, view.shape, strict=True) if extent > 1]
    return len(steps) > 1 and steps[-1] != view.itemsize and view.itemsize in steps


def _turned(view: View, bytes_: int) -> DimensionOrder | None:
    """Return the layout with the first dimension last."""
    dims = _dimensions(view, bytes_)
    return _ordered(view, dims, dims) if dims else None


def _longest_last(view: View, bytes_: int) -> DimensionOrder | None:
    """Return the layout with the longest dimension last, and those behind it first, if the last one is short."""
    dims = _dimensions(view, bytes_)
    if not dims:
        return None
    longest = max(reversed(dims), key=lambda d: view.shape[d])
    last = view.shape[dims[-1]]
    if last >= _MIN_LAST_EXTENT or view.shape[longest] < _MIN_EXTENT_RATIO * last:
        return None
    inner, outer = ([d for d in reversed(dims) if d < longest], [d for d in reversed(dims) if d > longest])
    return _ordered(view, dims, [longest, *inner, *outer])


def _dimensions(view: View, bytes_: int) -> list[int]:
    """Return the dimensions of a buffer that another layout is for, several ones of many elements; else none.

    The view shows the whole buffer in C order, once, or many times as a sum is added to its elements.
    """
    dims = [d for d, step in enumerate(view.steps) if step]
    own = view.select_axes(dims)
    return dims if len(dims) > 1 and own.size >= _MIN_ELEMENTS and own.covers(bytes_) else []


def _ordered(view: View, dims: list[int], innermost_first: list[int]) -> DimensionOrder:
    """Return the layout with dimensions in an order."""
    after, step = {}, view.itemsize
    for d in innermost_first:
        after[d] = step
        step *= view.shape[d]
    extents, before = (tuple(fields[d] for d in dims) for fields in (view.shape, view.strides))
    return DimensionOrder(extents, before, tuple(after[d] for d in dims))


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

    def __init__(self, tape: TapeView, candidates: dict[int, DimensionOrder]) -> None:
        self._tape = tape
        self.layouts = candidates
        self._users = self._instructions()
        self._views = self._possible()
        self._keep_better()

    def _slots(self, i: int) -> list[int]:
        """Return the slots of an instruction, its result last."""
        columns = self._tape.columns
        return [*(slot for slot in columns.operands[i].tolist() if slot >= 0), int(columns.result[i])]

    def _instructions(self) -> list[int]:
        """Return the live instructions that a candidate is an operand or the result of."""
        columns, live = self._tape.columns, self._tape.columns.live
        concerned = np.zeros(len(columns.bytes) + 1, np.bool_)
        concerned[list(self.layouts)] = True
        found: list[int] = live[
            concerned[columns.written[live]] | concerned[columns.read[live]].any(1)
        ].tolist()
        return found

    def _possible(self) -> dict[int, View]:
        """Return the moved views on the candidates, by slot; a candidate with another view is dropped."""
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
        """Return the operands and results that could not be addressed: by BLAS, and rows that are no columns."""
        if self._tape.columns.op[i] == _GATHER:
            listed, taken = self._slots(i)[1:]
            if taken in views and not lies_by_columns(views[taken], self._tape.slots[listed].view.size):
                yield taken
        elif _kind(self._tape, i) == MATMUL:
            record = read(MatmulParams, self._tape.instructions[i].params)
            for slot, strides in zip(self._slots(i), (record[3:5], record[5:7], record[7:9]), strict=True):
                view = self._tape.slots[slot].view
                if slot in views and (
                    view.strides[-2:] != strides or view.itemsize not in views[slot].strides[-2:]
                ):
                    yield slot

    # --- costs ---------------------------------------------------------------------------------------------

    def _keep_better(self) -> None:
        """Keep the layouts of buffers that meet in instructions where these become faster by them."""
        for buffers, instructions in self._joined():
            before = sum(self._cost(i, {}) for i in instructions)
            if sum(self._cost(i, self._views) for i in instructions) > _MAX_COST_RATIO * before:
                for buffer in buffers:
                    self.layouts.pop(buffer, None)
        self._views = self._kept(self._views)

    def _joined(self) -> list[tuple[set[int], list[int]]]:
        """Return these buffers, and all that share an instruction with one of them."""
        groups: list[tuple[set[int], list[int]]] = []
        for i in self._users:
            buffers = {self._tape.slots[slot].buffer for slot in self._slots(i)} & self.layouts.keys()
            near = [group for group in groups if group[0] & buffers]
            groups = [group for group in groups if not group[0] & buffers]
            numbers = [i, *(number for _, others in near for number in others)]
            groups += [(buffers.union(*(others for others, _ in near)), numbers)] if buffers else []
        return groups

    def _cost(self, i: int, moved: dict[int, View]) -> float:
        views = [moved.get(slot, self._tape.slots[slot].view) for slot in self._slots(i)]
        return cost(_kind(self._tape, i), views)

    # --- the tape --------------------------------------------------------------------------------------------------

    def applied(self) -> TapeView:
        """Return the tape with these layouts."""
        slots, geometry = self._moved_slots()
        instructions, strides = self._moved_products()
        kept = (*self._tape.kept, geometry, strides)
        return replace(self._tape, slots=slots, instructions=instructions, kept=kept)

    def _moved_slots(self) -> tuple[Slots, np.ndarray]:
        """Return the slots, and the extents and strides of those that have moved."""
        slots, columns = self._tape.columns.slots, self._tape.columns
        views, at = list(self._views.values()), columns.line[list(self._views)]
        geometry = np.array([field for view in views for field in (*view.shape, *view.strides)], np.int64)
        positions = _positions([2 * view.ndim for view in views])
        lines = slots.lines.copy()
        lines[at, 4] = [view.offset for view in views]
        lines[at, 5], lines[at, 7] = geometry.ctypes.data + 8 * positions, len(slots.pool) + positions
        return Slots(lines, np.concatenate([slots.pool, geometry])), geometry

    def _moved_products(self) -> tuple[TapeEntries, np.ndarray]:
        """Return the instructions, and the parameters of those that name strides."""
        columns = self._tape.columns
        instructions = columns.instructions
        records = {i: self._gather(i) for i in self._users if columns.op[i] == _GATHER}
        records |= {i: self._product(i) for i in self._users if _kind(self._tape, i) == MATMUL}
        at = np.array([*records], np.int64)
        fields = np.array([field for record in records.values() for field in record], np.int64)
        positions, lines = _positions(list(map(len, records.values()))), instructions.lines.copy()
        lines[at, 5], lines[at, 7] = fields.ctypes.data + 8 * positions, len(instructions.pool) + positions
        return TapeEntries(lines, np.concatenate([instructions.pool, fields])), fields

    def _gather(self, i: int) -> list[int]:
        """Return the parameters of rows that are taken."""
        params = read(GatherParams, self._tape.instructions[i].params)
        return list(params._replace(by_columns=int(self._slots(i)[-1] in self._views)))

    def _product(self, i: int) -> list[int]:
        """Return the parameters of a product."""
        fields = list(read(MatmulParams, self._tape.instructions[i].params))
        for slot, position in zip(self._slots(i), (3, 5, 7), strict=True):
            if slot in self._views:
                fields[position : position + 2] = self._views[slot].strides[-2:]
        return fields


def _positions(lengths: Sequence[int]) -> np.ndarray:
    """Return the offsets of adjacent records of these lengths."""
    ends = np.cumsum(np.array(lengths, np.int64))
    return ends - np.array(lengths, np.int64)


def _kind(tape: TapeView, i: int) -> int:
    return int(kernel_table.op_column(tape.columns.op[i : i + 1], OP_KIND)[0])
