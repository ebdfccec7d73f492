"""Table of a loop: the fields that compiled code reads, and the layout of its block of memory.

A block holds each operand and each result of the body once, a cotangent and a tangent beside each float, and for each
program the addresses of its arguments. Moves say which leaf goes where between the block and the packed arrays.
"""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.sweep.replays import loop_fields as field
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.loops.argument_addresses import ArgumentAddress, BlockLayout
from tapegrad.loops.programs import MAX_SPECIALIZATIONS, PULLBACK, TANGENTS, VALUES, BodyPrograms
from tapegrad.loops.single_segment import ProgramLines, SeveralSegmentsError, SingleSegmentBody, StoredCursor
from tapegrad.program.programs.handle import Handle

_LINE, _WORD = 64, 8
_WATCH_OPERATIONS = 1 << 20  # scalar operations between two looks at interrupts: about half a millisecond
_OPERATIONS = 8  # of an instruction, as a guess
# Carries that the forward run stores in its result: of a known number of iterations, and of an unknown one
_MAX_STORED_BYTES = 1 << 24
_STORED_ITERATIONS, _STORED_BYTES = 256, 1 << 14
_SEGMENT_FIELDS = {field.VALUES: field.SEGMENT_VALUES, field.PULLBACK: field.SEGMENT_PULLBACK}
# Carries that the reverse run stores where these do not suffice
_SNAPSHOT_BYTES, _MIN_SNAPSHOTS = 1 << 26, 16


class Moved(NamedTuple):
    """A leaf that is moved: its offset in the block, its view, its first packed element, elements an iteration."""

    offset: int
    view: View
    packed: int
    step: int = 0

    @property
    def fields(self) -> list[int]:
        return [self.offset, DTYPE_CODES[self.view.dtype], self.view.size, self.packed, self.step]


class Room:
    """Memory of a block, given out piece by piece."""

    def __init__(self) -> None:
        self.bytes = 0

    def take(self, bytes_: int) -> int:
        """Return the offset of a new piece. Long ones begin at a cache line, short ones lie close together."""
        unit = _LINE if bytes_ >= _LINE else _WORD
        begin = -(-self.bytes // unit) * unit
        self.bytes = -(-(begin + max(bytes_, 1)) // _WORD) * _WORD
        return begin

    def leaves(self, views: Sequence[View]) -> list[int]:
        """Return the offsets of new arrays."""
        return [self.take(view.nbytes) for view in views]


class LoopShape(NamedTuple):
    """Shape of a loop: how its leaves are used, and how many iterations there are.

    Attributes
    ----------
    carry, sequences
        Number of leaves of the carry, and of the elements of sequences: the first operands of the body.
    length
        Number of iterations, -1 for those of a condition.
    reverse
        Whether the iterations go from the last element to the first.
    most
        Most iterations of a condition, -1: no limit.
    snapshots
        Carries that the reverse run stores at most, 0: as many as pay.
    dtype
        Dtype of the packed arrays.
    data
        Which of the sequences are constant, from the first: nothing reads their cotangents.
    cursor
        Number of the leaf of the carry, a float64, that says which element of the sequences an iteration takes and
        where its results are stacked, -1 for none. A condition ends such a loop, and `length` is that of the sequences.
        Results of an iteration that does not go on to the next element are overwritten by a later one, and must be
        constants. Elements without any results are nan, and so are all derivatives unless their cotangents are zero.
    """

    carry: int
    sequences: int
    length: int
    reverse: bool
    most: int
    snapshots: int
    dtype: np.dtype[Any]
    data: tuple[bool, ...] = ()
    cursor: int = -1

    @property
    def is_counted(self) -> bool:
        """True if the number of iterations is known."""
        return self.length >= 0 and self.cursor < 0


class LoopTable:
    """Fields of a loop, and the memory that they lead to.

    Parameters
    ----------
    shape
        How the leaves are used.
    body, condition
        The functions.
    constants
        For the body and the condition: for each Tensor from outside its number among the constants of the loop.
    """

    def __init__(
        self,
        shape: LoopShape,
        body: BodyPrograms,
        condition: BodyPrograms | None,
        constants: tuple[Sequence[int], Sequence[int]],
    ) -> None:
        self._shape, self._body, self._condition = shape, body, condition
        self.constants = constants
        self._kept: list[Any] = []
        self._handles: dict[int, Handle] = {}
        self._retired: list[Handle] = []  # of which another thread may run a program
        self._fields = np.zeros(field.LOOP_FIELDS, np.int64)
        self.address = int(self._fields.ctypes.data)
        self._lay_out()
        self._fill()
        self.renew()

    # --- layout ----------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Give each leaf a part of the block, and an element of the packed arrays."""
        shape, body, room = self._shape, self._body, Room()
        room.take(8 * field.BLOCK_FIELDS)
        arguments = shape.carry + shape.sequences
        count = 1 + max([-1, *self.constants[0], *self.constants[1]])
        constants: list[View] = [View.in_c_order((), np.dtype(float))] * count
        for numbers, each in zip(self.constants, (body, self._condition), strict=True):
            if each is not None:
                first = len(each.inputs) - len(numbers)
                for k, number in enumerate(numbers):
                    constants[number] = each.inputs[first + k]
        self.leaves = [*body.inputs[:arguments], *constants]  # operands of the loop
        self._operands, self._results = room.leaves(self.leaves), room.leaves(body.results)
        self._operand_bars, self._result_bars = room.leaves(self.leaves), room.leaves(body.results)
        self._sums = room.leaves(self.leaves)
        self._operand_dots, self._result_dots = room.leaves(self.leaves), room.leaves(body.results)
        self._flag = room.take(1)
        self.starts, end = self._starts_of(self.leaves, shape.carry, arguments)
        self.operand_size = max(1, end)  # an op has an operand
        self._result_starts, self.counted = self._starts_of(body.results, shape.carry, len(body.results))
        self._room = room
        self._lay_out_states()
        self._layout = BlockLayout(
            self.leaves, self._operands, self._result_bars, self._sums, self.starts, self._result_starts,
            shape.carry, shape.sequences, self._carry_bytes, shape.dtype.itemsize, -1 if shape.reverse else 1,
            shape.data, shape.cursor,
        )  # fmt: skip

    def _starts_of(self, views: Sequence[View], first: int, last: int) -> tuple[list[int], int]:
        """Return the first element of each array in a packed one, and its end.

        Those from `first` to `last` are there for each iteration.
        """
        starts, end = [], 0
        for k, view in enumerate(views):
            starts.append(end)
            end += view.size * (self._shape.length if first <= k < last else 1)
        return starts, end

    def _lay_out_states(self) -> None:
        """Give the stored carries a part of the packed results, behind the number of iterations."""
        carry = self._shape.carry
        self._carry_bytes = 0
        if carry:
            self._carry_bytes = self._operands[carry - 1] + self.leaves[carry - 1].nbytes - self._operands[0]
        capacity, kept = self._capacity(), self._kept_snapshots()
        states = kept + 1 if kept else capacity
        self.stored_size = -(-states * self._carry_bytes // self._shape.dtype.itemsize)
        self._fields[field.STATES], self._fields[field.CAPACITY] = self.counted + 1, capacity
        self._fields[field.SNAPSHOTS], self._fields[field.KEPT] = self._snapshots(), kept
        self.result_size = self.counted + 1 + self.stored_size
        self._fields[field.OPERAND_SIZE], self._fields[field.RESULT_SIZE] = (
            self.operand_size,
            self.result_size,
        )

    def _capacity(self) -> int:
        """Return for how many iterations the forward run stores the carry."""
        shape = self._shape
        if not shape.is_counted:
            few = min(_STORED_ITERATIONS, _STORED_BYTES // max(1, self._carry_bytes))
            return 0 if shape.snapshots else few
        allowed = not shape.snapshots or shape.length <= shape.snapshots + 1 or not self._carry_bytes
        return shape.length if allowed and shape.length * self._carry_bytes <= _MAX_STORED_BYTES else 0

    def _kept_snapshots(self) -> int:
        """Return how many snapshots the forward run stores if it does not store the carry of each iteration."""
        shape, bytes_ = self._shape, self._carry_bytes
        few = shape.is_counted and shape.length > shape.snapshots + 1
        return shape.snapshots if few and 0 < (shape.snapshots + 1) * bytes_ <= _MAX_STORED_BYTES else 0

    def _snapshots(self) -> int:
        """Return how many carries the reverse run stores at most, 0 for as many as there are."""
        return self._shape.snapshots or max(_MIN_SNAPSHOTS, _SNAPSHOT_BYTES // max(1, self._carry_bytes))

    # --- fields ----------------------------------------------------------------------------------------------------

    def _keep(self, values: Sequence[int]) -> int:
        array = np.array([*values, 0], np.int64)
        self._kept.append(array)
        return int(array.ctypes.data)

    def _moves(self, moves: Sequence[Moved]) -> int:
        return self._keep([len(moves), *(value for move in moves for value in move.fields)])

    def _fill(self) -> None:
        """Write all fields but the programs."""
        shape, fields, room = self._shape, self._fields, self._room
        fields[field.LENGTH], fields[field.REVERSED], fields[field.MAX_ITERATIONS] = (
            shape.length if shape.is_counted else -1,
            shape.reverse,
            shape.most,
        )
        fields[field.CURSOR] = self._operands[shape.cursor] if shape.cursor >= 0 else 0
        fields[field.EXTENT] = shape.length
        fields[field.FINAL_CURSOR] = self._result_starts[shape.cursor] if shape.cursor >= 0 else 0
        operations = _OPERATIONS * max(1, self._body.size) + sum(view.size for view in self._body.results)
        fields[field.PERIOD] = max(1, _WATCH_OPERATIONS // operations)
        fields[field.PACKED_DTYPE], fields[field.COUNTED] = DTYPE_CODES[shape.dtype], self.counted
        fields[field.FLAG] = self._flag
        fields[field.CARRY] = self._operands[0] if shape.carry else 0
        fields[field.CARRY_BYTES] = self._carry_bytes
        fields[field.FAILED_CARRY] = self._keep([0] * (int(fields[field.CARRY_BYTES]) // 8 + 1))
        for number, moves in self._all_moves().items():
            fields[number] = self._moves(moves)
        self._programs = {
            which: self._program_room(which)
            for which in (field.CONDITION, field.VALUES, field.PULLBACK, field.TANGENTS)
        }
        fields[field.BLOCK_BYTES] = room.bytes

    def _program_room(self, which: int) -> np.ndarray:
        """Return the fields of a program whose handle is not there yet."""
        program = np.zeros(field.PROGRAM_FIELDS, np.int64)
        offsets = self._arguments(which)
        program[field.ARGUMENTS], program[field.OFFSETS] = len(offsets), self._keep(offsets)
        program[field.ADDRESSES] = self._room.take(8 * len(offsets))
        program[field.WORKSPACES] = self._room.take(8 * MAX_SPECIALIZATIONS)
        if which == field.PULLBACK and self._result_bars:
            begin, last = self._result_bars[0], self._body.results[-1]
            bytes_ = self._result_bars[-1] + last.nbytes - begin
            program[field.GIVEN], program[field.GIVEN_BYTES] = begin, bytes_
            program[field.GIVEN_COPY] = self._room.take(bytes_)
        return program

    def _arguments(self, which: int) -> list[int]:
        """Return the offsets of a program's arguments in the block."""
        shape, body = self._shape, self._body
        arguments = shape.carry + shape.sequences
        if which == field.CONDITION:
            constants = [self._operands[arguments + number] for number in self.constants[1]]
            return [*self._operands[: shape.carry], *constants, self._flag]
        numbers = [*range(arguments), *(arguments + number for number in self.constants[0])]
        operands = [self._operands[k] for k in numbers]
        floats = [numbers[k] for k in body.floats]
        if which == field.VALUES:
            return [*operands, *self._results]
        if which == field.PULLBACK:
            seeds = [self._result_bars[k] for k in body.float_results]
            return [*operands, *seeds, *(self._operand_bars[k] for k in floats)]
        dots = [self._result_dots[k] for k in body.float_results]
        return [*operands, *(self._operand_dots[k] for k in floats), *self._results, *dots]

    def _all_moves(self) -> dict[int, list[Moved]]:
        """Return the moves of each kind."""
        shape, body = self._shape, self._body
        leaves, results = range(len(self.leaves)), range(len(body.results))
        arguments = shape.carry + shape.sequences
        fixed = [k for k in leaves if k < shape.carry or k >= arguments]
        running = range(shape.carry, arguments)
        constants = [arguments + number for number in self.constants[0]]
        is_float = [view.dtype.kind == "f" for view in self.leaves]
        carried = [k for k in range(shape.carry) if is_float[k]]
        stacked = results[shape.carry :]
        floats_stacked = [k for k in stacked if body.results[k].dtype.kind == "f"]
        return {
            field.START: self._of_operands(self._operands, fixed),
            field.SEQUENCES: self._of_operands(self._operands, running),
            field.STACKED: self._of_results(self._results, stacked),
            field.FINAL: self._of_results(self._operands, range(shape.carry)),
            field.HAND_ON: self._inside(self._operands, self._results, range(shape.carry)),
            field.BAR_START: self._of_results(self._result_bars, carried),
            field.BAR_STACKED: self._of_results(self._result_bars, floats_stacked),
            field.BAR_HAND_ON: self._inside(self._result_bars, self._operand_bars, carried),
            field.BAR_SEQUENCES: self._of_operands(self._operand_bars, [k for k in running if is_float[k]]),
            field.BAR_FINAL: self._of_operands(self._result_bars, carried),
            field.BAR_SUMS: self._inside(
                self._sums, self._operand_bars, [k for k in constants if is_float[k]]
            ),
            field.BAR_TOTALS: self._of_operands(self._sums, [k for k in constants if is_float[k]]),
            field.DOT_START: self._of_operands(self._operand_dots, [k for k in fixed if is_float[k]]),
            field.DOT_SEQUENCES: self._of_operands(self._operand_dots, [k for k in running if is_float[k]]),
            field.DOT_STACKED: self._of_results(self._result_dots, floats_stacked),
            field.DOT_FINAL: self._of_results(self._operand_dots, carried),
            field.DOT_HAND_ON: self._inside(self._operand_dots, self._result_dots, carried),
        }

    def _of_operands(self, offsets: list[int], leaves: Sequence[int]) -> list[Moved]:
        """Return the moves between operands in the block and the packed operands."""
        arguments = range(self._shape.carry, self._shape.carry + self._shape.sequences)
        return [
            Moved(offsets[k], self.leaves[k], self.starts[k], self.leaves[k].size if k in arguments else 0)
            for k in leaves
        ]

    def _of_results(self, offsets: list[int], results: Sequence[int]) -> list[Moved]:
        """Return the moves between results in the block and the packed results."""
        views = self._body.results
        return [
            Moved(
                offsets[k], views[k], self._result_starts[k], views[k].size if k >= self._shape.carry else 0
            )
            for k in results
        ]

    def _inside(self, targets: list[int], sources: list[int], leaves: Sequence[int]) -> list[Moved]:
        """Return the moves from one part of the block to another."""
        return [Moved(targets[k], self.leaves[k], sources[k]) for k in leaves]

    # --- programs --------------------------------------------------------------------------------------------------

    def load(self, *programs: int) -> None:
        """Make the programs that a run needs, if they are not there yet."""
        needed = {field.VALUES: VALUES, field.PULLBACK: PULLBACK, field.TANGENTS: TANGENTS}
        for number in programs:
            if number not in self._handles:
                body = self._condition if number == field.CONDITION else self._body
                if body is None:
                    continue
                handle = body.handle(needed.get(number, VALUES))
                program = self._programs[number]
                program[field.HANDLE] = handle.address
                self._handles[number] = handle
                self._fields[number] = program.ctypes.data
                if number in _SEGMENT_FIELDS:
                    segment = self._segment(number, handle)
                    self._fields[_SEGMENT_FIELDS[number]] = self._kept_fields(segment)
                    if number == field.PULLBACK:
                        self._fields[field.SEGMENT_AGAIN] = self._kept_fields(self._segment_again(segment))

    def _kept_fields(self, segment: SingleSegmentBody | None) -> int:
        """Return the address of the fields of a segment, 0 if there is none."""
        return 0 if segment is None else self._keep(segment.fields)

    def _segment(self, which: int, handle: Handle) -> SingleSegmentBody | None:
        """Return a program as one segment, if it is one."""
        dtype, layout, (of_body, of_condition) = self._shape.dtype, self._layout, self.constants
        try:
            if which == field.PULLBACK:
                lines = ProgramLines(handle, layout.of_pullback(self._body, of_body), dtype)
                return SingleSegmentBody(lines, [], self._cursor())
            condition = None
            if self._condition is not None:
                tested = layout.of_condition(of_condition, self._flag)
                condition = ProgramLines(self._handles[field.CONDITION], tested, dtype)
            lines = ProgramLines(handle, layout.of_values(self._body, of_body), dtype)
            stored = self._stored() if self._stores_all() else []
            return SingleSegmentBody(lines, stored, self._cursor(), condition)
        except SeveralSegmentsError:
            return None

    def _segment_again(self, pullback: SingleSegmentBody | None) -> SingleSegmentBody | None:
        """Return the segment that runs iterations once more in the reverse run, if it needs any and has one.

        Nothing looks at its guards: they are those of the pullback, of which the first iteration runs by its program.
        """
        shape, of_body = self._shape, self.constants[0]
        if not self._carry_bytes or (shape.is_counted and self._fields[field.CAPACITY] == shape.length):
            return None
        places = [place._replace(step=0) for place in self._stored()]
        try:
            values = self._handles[field.VALUES]
            lines = ProgramLines(values, self._layout.of_values(self._body, of_body), shape.dtype)
            unguarded = pullback is not None and not pullback.guarded
            return (
                None
                if lines.guarded and unguarded
                else SingleSegmentBody(lines, places, self._cursor(), again=True)
            )
        except SeveralSegmentsError:
            return None

    def _stores_all(self) -> bool:
        """Return whether the forward run stores the carry of each iteration, as long as there is room."""
        capacity, shape = self._fields[field.CAPACITY], self._shape
        return bool(capacity >= shape.length if shape.is_counted else capacity > 0)

    def _stored(self) -> list[ArgumentAddress]:
        """Return where the leaves of the carry are stored."""
        return [self._layout.stored(k, 1) for k in range(self._shape.carry)]

    def _cursor(self) -> StoredCursor | None:
        """Return where the leaf that names the elements is stored, if there is one."""
        shape = self._shape
        if shape.cursor < 0:
            return None
        return StoredCursor(self._layout.stored(shape.cursor, 1), shape.length)

    def renew(self) -> None:
        """Make the programs again after a body has been recorded once more."""
        made = list(self._handles) or [field.CONDITION, field.VALUES]
        self._retired += self._handles.values()
        self._handles.clear()
        self.load(*made)

    def failure(self) -> tuple[int, list[np.ndarray]]:
        """Return the iteration in which the last run failed, and the leaves of the carry there."""
        base = int(self._fields[field.FAILED_CARRY]) - int(self._fields[field.CARRY])
        carry = []
        for offset, view in zip(self._operands, self.leaves[: self._shape.carry], strict=False):
            memory = ctypes.string_at(base + offset, view.nbytes)
            carry.append(np.frombuffer(memory, view.dtype).reshape(view.shape).copy())
        return int(self._fields[field.FAILED_AT]), carry
