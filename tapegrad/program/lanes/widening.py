"""Batching of a recording: every buffer that depends on a batched input gets a lane axis."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_entries import Buffer, Buffers, Slot, Slots, TapeEntries, TapeEntry
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.tape.fields.layout import B8, C64, C128, EXTERNAL, F32, F64, I64, NONE
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPE_CODES, DTYPES
from tapegrad.ops import CODES, COPY, ROWS
from tapegrad.ops.params import fields_of
from tapegrad.program.lanes.layout import FIRST, LAST, SHARED, Layout

# Ops that copy an array, by dtype
_COPIES = {F64: COPY, F32: COPY, C128: COPY, C64: COPY, I64: CODES["cast_i64"], B8: CODES["cast_b8"]}
# Ops whose result lies as their first operand does
_COPYING_RULES = (ROWS[CODES["write"]].batching, ROWS[CODES["determined"]].batching)
_COPYING_OPS = [code for code, row in enumerate(ROWS) if row.batching in _COPYING_RULES]
Steps = tuple[int, ...]
ShapeChange = Callable[[tuple[int, ...]], tuple[int, ...]]


class Widened(NamedTuple):
    """Recording over lanes.

    Attributes
    ----------
    recording
        The recording of one instance.
    tape
        Instructions over lanes.
    kept
        Memory that the instructions point to.
    constants
        Arrays of numbers that rules have added, by buffer.
    by_lane
        Instructions that run for one lane after another: the bytes from a lane to the next of each operand, and of the
        result.
    lanes
        Number of lanes.
    batched
        For each input whether it has lanes.
    inputs, outputs
        Axis of the lanes of each input and output: LAST or FIRST.
    """

    recording: Any
    tape: TapeView
    kept: list[np.ndarray]
    constants: dict[int, np.ndarray]
    by_lane: dict[int, Steps]
    lanes: int
    batched: tuple[bool, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class Widening:
    """Pass that adds a lane axis to a recording, called instruction by instruction.

    Parameters
    ----------
    recording, tape
        The recording of one instance, and its instructions after other passes.
    batched
        For each input whether it has lanes.
    lanes
        Number of lanes.

    Attributes
    ----------
    tape
        Instructions of one instance.
    lanes
        Number of lanes.
    with_lanes
        Batched buffers of the instance.
    """

    def __init__(self, recording: Any, tape: TapeView, batched: Sequence[bool], lanes: int) -> None:
        self.tape, self.lanes = tape, lanes
        self._recording, self._batched = recording, tuple(batched)
        self._kinds: tuple[str, ...] = ()
        self._instructions: list[TapeEntry] = []
        self._slots: dict[int, Slot] = dict(tape.slots)
        self._buffers: dict[int, Buffer] = dict(tape.buffers)
        self._kept: list[np.ndarray] = []
        self._by_lane: dict[int, Steps] = {}
        self._layouts: dict[int, Layout] = {}  # of buffers that have lanes
        self._versions: dict[tuple[int, str], int] = {}  # buffers in another layout than their own
        self._given: dict[int, int] = {}  # inputs that are copied, in the layout that they are given in
        self._views: dict[Any, int] = {}
        self._constants: dict[int, np.ndarray] = {}
        self._next_slot, self._next_buffer = 1 + max(self._slots), 1 + max(self._buffers)
        self._dtypes = {slot.buffer: slot.dtype for slot in self._slots.values()}
        self._complex = _seen_as_complex(tape)
        given = [tape.slots[slot].buffer for slot, lanes in zip(tape.inputs, batched, strict=True) if lanes]
        self.with_lanes = depending_on(tape, given)

    def enter_inputs(self, kinds: Sequence[str]) -> None:
        """Lay out the batched inputs, before the first instruction: LAST or FIRST for each input."""
        self._kinds = tuple(kinds)
        for slot, kind, has_lanes in zip(self.tape.inputs, kinds, self._batched, strict=True):
            if has_lanes and kind == LAST and self.are_in_front(slot):
                self._given[slot] = self._with_lanes_in_front(slot)
            elif has_lanes:
                self._set_layout(self._slots[slot].buffer, kind)

    def _with_lanes_in_front(self, slot: int) -> int:
        """Return a slot for an input with its lanes last, which the recording's own buffer is a copy of."""
        own, seen = self._slots[slot].buffer, self._slots[slot].view
        self._set_layout(own, FIRST)
        given = self.terms(own, View.in_c_order((*seen.shape, self.lanes), seen.dtype))
        before, number = self._buffers[own], self._slots[given].buffer
        self._buffers[own] = before._replace(primal=0, flags=before.flags & ~EXTERNAL)
        self._buffers[number] = self._buffers[number]._replace(primal=before.primal, flags=before.flags)
        self._copy(given, self.view(slot, own))
        return given

    # --- queries of rules --------------------------------------------------------------------------------------------

    def has_lanes(self, slot: int) -> bool:
        """Return whether the elements of a slot are batched."""
        return self._slots[slot].buffer in self.with_lanes

    def are_in_front(self, slot: int) -> bool:
        """Return whether a slot's buffer always has its lanes in front: if it is seen as complex numbers.

        With the lanes last, its complex numbers and the floats in them would not lie alike.
        """
        return self._slots[slot].buffer in self._complex

    def batched_instructions(self) -> np.ndarray:
        """Return a mask of the live instructions that are batched: they read or write batched buffers."""
        columns = self.tape.columns
        buffers = np.column_stack([columns.read, columns.written])[columns.live]
        return np.asarray(np.isin(buffers, list(self.with_lanes)).any(axis=1))

    def layout(self, buffer: int) -> Layout:
        """Return the layout of a buffer's lanes."""
        known = self._layouts.get(buffer)
        return known or Layout(SHARED, self.lanes, self._buffers[buffer].bytes)

    # --- operands and results ----------------------------------------------------------------------------------------

    def buffer(self, slot: int, kind: str = "") -> int:
        """Return the buffer of a slot, or a copy in the given kind of layout; of complex numbers lanes are in front."""
        own = self._slots[slot].buffer
        return self._in_layout(own, FIRST if own in self._complex else kind) if kind else own

    def result(self, slot: int, kind: str = LAST) -> int:
        """Return the buffer of a result: the slot's own if it may have this layout, else a new one."""
        own = self._slots[slot].buffer
        for other in [key for key in self._versions if key[0] == own]:
            del self._versions[other]
        if own not in self._layouts:
            several = self.tape.columns.writers[own] > 1
            self._set_layout(own, FIRST if own in self._complex else LAST if several else kind)
        if self.layout(own).kind == kind or own in self._complex:
            return own
        return self._new_buffer(own, kind)

    def view(self, slot: int, buffer: int, behind: int = 0) -> int:
        """Return a slot for all lanes of a slot's view in a buffer, with `behind` dimensions behind the lanes."""
        seen = self._slots[slot].view
        return self.slot(buffer, self.layout(buffer).widened(seen, behind))

    def first_lane(self, slot: int, buffer: int) -> int:
        """Return a slot for the first lane of a slot's view, in a buffer whose lanes are whole."""
        return self.slot(buffer, self._slots[slot].view)

    def is_whole(self, slot: int) -> bool:
        """Return whether a slot is the whole of its buffer, in C order."""
        seen = self._slots[slot]
        return seen.view.covers(self.layout(seen.buffer).bytes)

    def stack(self, slot: int, repeats: int = 1) -> int:
        """Return a slot with the lanes of a slot's view in C order, each lane repeated so many times."""
        seen = self._slots[slot].view
        if repeats == 1 and self.has_lanes(slot) and self.is_whole(slot):
            return self._in_front(self.buffer(slot, FIRST), seen)
        source, times = self.buffer(slot), (repeats,) if repeats > 1 else ()
        view = self.layout(source).widened(seen, seen.ndim)
        spread = View(
            view.offset,
            (self.lanes, *times, *seen.shape),
            (view.strides[0], *(0 for _ in times), *view.strides[1:]),
            view.dtype,
        )
        copy = self._new_buffer(source, FIRST, seen.nbytes * repeats)
        made = self._in_front(copy, spread._replace(shape=spread.shape[1:]))
        self._copy(self.slot(source, spread), made)
        return made

    def in_shape(self, stack: int, change: ShapeChange) -> int:
        """Return a slot for a stack in the shape that `change` makes of its shape."""
        seen = self._slots[stack]
        shape = change(seen.shape)
        return (
            stack if shape == seen.shape else self._in_front(seen.buffer, seen.view._replace(shape=shape[1:]))
        )

    def stack_like(self, stack: int) -> int:
        """Return a slot for a new stack like another one."""
        seen = self._slots[stack]
        like = seen.view._replace(shape=seen.shape[1:])
        return self._in_front(self._new_buffer(seen.buffer, FIRST), like)

    def result_stack(self, slot: int) -> tuple[int, int]:
        """Return a slot for a result in C order in each lane, and its buffer."""
        if self.is_whole(slot):
            buffer = self.result(slot, FIRST)
        else:
            own, nbytes = self.result(slot), self._slots[slot].view.nbytes
            buffer = self._new_buffer(own, FIRST, nbytes)
        return self._in_front(buffer, self._slots[slot].view), buffer

    def _in_front(self, buffer: int, like: View) -> int:
        """Return a slot for a buffer in which each lane is whole, the lanes in front, in shape and dtype of a view."""
        return self.slot(buffer, View.in_c_order((self.lanes, *like.shape), like.dtype))

    def slot(self, buffer: int, view: View) -> int:
        """Return a slot for a view of a buffer."""
        key = buffer, view
        if key not in self._views:
            number, self._next_slot = self._next_slot, self._next_slot + 1
            dtype = DTYPE_CODES[view.dtype]
            self._slots[number] = Slot(buffer, dtype, view.ndim, int(view.ndim > 0), 1, view)
            self._views[key] = number
        return self._views[key]

    def terms(self, like: int, view: View) -> int:
        """Return a slot with a view, lanes last, of a new buffer with the dtype and flags of another one."""
        buffer = self._new_buffer(like, LAST, view.nbytes // self.lanes)
        return self.slot(buffer, view)

    # --- instructions ------------------------------------------------------------------------------------------------

    def emit(self, entry: TapeEntry, result: int, operands: Sequence[int], params: Any = None) -> int:
        """Add an instruction with other slots, and other parameters if given. Return its number."""
        fields, address = entry.params, entry.address
        if params is not None:
            memory = np.array(fields_of(params), np.int64)
            self._kept.append(memory)
            fields, address = tuple(memory.tolist()), int(memory.ctypes.data)
        self._instructions.append(TapeEntry(entry.op, result, tuple(operands), address, entry.mark, fields))
        return len(self._instructions) - 1

    def emit_stack(
        self,
        entry: TapeEntry,
        operands: Sequence[int],
        params: Any,
        change: ShapeChange = lambda shape: shape,
    ) -> None:
        """Add an instruction whose result is a stack, in the shape that `change` makes of the stack's."""
        stack, buffer = self.result_stack(entry.result)
        self.emit(entry, self.in_shape(stack, change), operands, params)
        self.copy_from_stack(entry.result, buffer)

    def add(self, op: int, result: int, operands: Sequence[int], params: Any = None) -> int:
        """Add an instruction that is not in the recording. Return its number."""
        return self.emit(TapeEntry(op, result, ()), result, operands, params)

    def by_lane(self, entry: TapeEntry, params: Any = None) -> None:
        """Add an instruction that runs lane by lane, given as it is in the recording, or with other parameters.

        It is the rule of ops that have no other. Memory written in place has lanes already.
        """
        in_place = kernel_table.row(entry.op).in_place
        operands = [
            self.first_lane(slot, self.buffer(slot, FIRST))
            if self.has_lanes(slot) or (in_place and j == 0)
            else slot
            for j, slot in enumerate(entry.operands)
        ]
        target = self.result(entry.result, FIRST)
        self.emit_by_lane(entry, self.first_lane(entry.result, target), operands, params)
        self.copy_back(entry.result, target)

    def emit_by_lane(
        self, entry: TapeEntry, result: int, operands: Sequence[int], params: Any = None
    ) -> None:
        """Add an instruction that runs lane by lane, given with the slots of the first lane."""
        number = self.emit(entry, result, operands, params)
        steps = [self._step(slot) for slot in (*operands, *(NONE,) * (3 - len(operands)), result)]
        self._by_lane[number] = tuple(steps)

    def copy_back(self, slot: int, buffer: int) -> None:
        """Copy the value of a slot from a buffer to the slot's own, if that is another one."""
        own = self._slots[slot].buffer
        if buffer != own:
            self._copy(self.view(slot, buffer), self.view(slot, own))

    def copy_from_stack(self, slot: int, buffer: int) -> None:
        """Copy a result from the buffer of a stack to the slot's own, if that is another one."""
        own = self._slots[slot].buffer
        if buffer != own:
            seen = self._slots[slot].view
            source = View.in_c_order((self.lanes, *seen.shape), seen.dtype)
            lanes_last = View(
                0, (*source.shape[1:], self.lanes), (*source.strides[1:], source.strides[0]), seen.dtype
            )
            self._copy(self.slot(buffer, lanes_last), self.view(slot, own))

    def constant(self, array: np.ndarray) -> int:
        """Return a slot for an array of constant numbers."""
        number, self._next_buffer = self._next_buffer, self._next_buffer + 1
        self._kept.append(array)
        self._constants[number] = array
        address = int(array.ctypes.data)
        self._buffers[number] = Buffer(address, 0, array.nbytes, 0, 0, 0, NONE, EXTERNAL, 0)
        self._dtypes[number] = DTYPE_CODES[array.dtype]
        return self.slot(number, View.in_c_order(array.shape, array.dtype))

    def keep(self, entry: TapeEntry) -> None:
        """Add an instruction as it is."""
        self._instructions.append(entry)

    # --- the end -----------------------------------------------------------------------------------------------------

    def finished(self, free: bool) -> Widened:
        """Return the recording over lanes. If `free`, outputs that are stacks keep their lanes in front."""
        inputs = tuple(
            (self._given[slot] if slot in self._given else self._port(slot, kind)) if has_lanes else slot
            for slot, has_lanes, kind in zip(self.tape.inputs, self._batched, self._kinds, strict=True)
        )
        kinds = tuple(self._output_kind(slot) if free else LAST for slot in self.tape.outputs)
        outputs = tuple(self._port(slot, kind) for slot, kind in zip(self.tape.outputs, kinds, strict=True))
        entries = TapeEntries.of(self._instructions), Slots.of(self._slots), Buffers.of(self._buffers)
        tape = TapeView(*entries, inputs, outputs, True, self._next_slot, None)
        return Widened(
            self._recording,
            tape,
            self._kept,
            self._constants,
            self._by_lane,
            self.lanes,
            self._batched,
            self._kinds,
            kinds,
        )

    # --- parts -------------------------------------------------------------------------------------------------------

    def _output_kind(self, slot: int) -> str:
        is_stack = self.layout(self.buffer(slot)).kind == FIRST and self.is_whole(slot)
        return FIRST if is_stack or self.are_in_front(slot) else LAST

    def _port(self, slot: int, kind: str) -> int:
        """Return a slot for all lanes of an input or an output."""
        if kind == FIRST:
            return self.stack(slot)
        if self.are_in_front(slot):
            return self._with_lanes_last(slot)
        return self.view(slot, self.buffer(slot, kind))

    def _with_lanes_last(self, slot: int) -> int:
        """Return a slot for a copy of a result whose lanes are in front."""
        own, seen = self.buffer(slot), self._slots[slot].view
        made = self.terms(own, View.in_c_order((*seen.shape, self.lanes), seen.dtype))
        self._copy(self.view(slot, own), made)
        return made

    def _step(self, slot: int) -> int:
        """Return the bytes from a lane to the next in the buffer of a slot; 0 for `NONE`."""
        return self.layout(self._slots[slot].buffer).step(0) if slot != NONE else 0

    def _set_layout(self, buffer: int, kind: str) -> None:
        layout = Layout(kind, self.lanes, self._buffers[buffer].bytes)
        self._layouts[buffer] = layout
        self._buffers[buffer] = self._buffers[buffer]._replace(bytes=layout.all_bytes)

    def _new_buffer(self, like: int, kind: str, bytes_: int = -1) -> int:
        """Return a new buffer with the dtype, the flags and, by default, the bytes per instance of another one."""
        number, self._next_buffer = self._next_buffer, self._next_buffer + 1
        own = self.layout(like).bytes if bytes_ < 0 else bytes_
        flags = self._buffers[like].flags & ~EXTERNAL
        self._buffers[number] = self._buffers[like]._replace(bytes=own, primal=0, flags=flags)
        self._dtypes[number] = self._dtypes[like]
        self._set_layout(number, kind)
        return number

    def _in_layout(self, buffer: int, kind: str) -> int:
        """Return a buffer with the contents of another one in a kind of layout."""
        if self.layout(buffer).kind == kind:
            return buffer
        if (buffer, kind) not in self._versions:
            made = self._versions[buffer, kind] = self._new_buffer(buffer, kind)
            order = FIRST if kind == FIRST else LAST
            self._copy(self._all(buffer, order), self._all(made, order))
        return self._versions[buffer, kind]

    def _all(self, buffer: int, order: str) -> int:
        """Return a slot for all elements of a buffer, with the lanes as the first or last dimension."""
        layout, dtype = self.layout(buffer), DTYPES[self._dtypes[buffer]]
        flat = View.in_c_order((layout.bytes // dtype.itemsize,), dtype)
        return self.slot(buffer, layout.widened(flat, int(order == FIRST)))

    def _copy(self, source: int, target: int) -> None:
        self.add(_COPIES[self._slots[source].dtype], target, (source,))


def _seen_as_complex(tape: TapeView) -> set[int]:
    """Return the buffers with views as complex numbers, and those that are copies of them with something written to."""
    columns = tape.columns
    buffers: set[int] = set(columns.slots.buffers_seen_as(C128, C64).tolist())
    if not buffers:
        return buffers
    copies = columns.live[np.isin(columns.op[columns.live], _COPYING_OPS)]
    pairs = [{tape.read[i][0], tape.written[i]} for i in copies.tolist()]
    size = -1
    while len(buffers) > size:
        size = len(buffers)
        for pair in pairs:
            buffers |= pair if pair & buffers else set()
    return buffers


def depending_on(tape: TapeView, given: Sequence[int]) -> set[int]:
    """Return the given buffers and all that depend on them."""
    batched: set[int] = set()
    new = set(given)
    while new - batched:
        batched |= new
        for i in tape.live:
            written = tape.written[i]
            if written in batched or not batched.isdisjoint(tape.read[i]):
                batched.add(written)
        new = {tape.written[i] for i in tape.live if not batched.isdisjoint(tape.read[i])}
    return batched
