"""Programs with tangents, and how these lie in memory.

A *seed* is a direction in the space of the inputs, and the tangent of a buffer along a seed is laid out like the
buffer. A buffer's tangents lie one after another, for those seeds alone along which they can be other than zero: its
`SeedRanges`. A `jvp` has one seed, whose tangents the caller gives. In a Jacobian, seed number k is one at element k
of the inputs and zero elsewhere; then the seeds of a buffer follow from those of the operands that it is computed
from. An example, with two elements in `a` and three in `b`::

    seeds 0..4 are one at                   a[0] a[1] b[0] b[1] b[2]      seeds     tangents in memory
    a                                        #    #    .    .    .        0-1       2, the identity
    b                                        .    .    #    #    #        2-4       3, the identity
    u = sin(a)                               #    #    .    .    .        0-1       2
    y = u * b[0]                             #    #    #    .    .        0-2       3
        first segment, seeds 0-1: y' = u' * b[0], through the first operand alone
        second segment, seed 2: y' = u * b', through the second operand alone
    Jacobian of y                           [y'0  y'1  y'2  0    0]

An instruction is bound once for each *segment*: seeds that come through the same operands. What is zero is not
computed, only the columns of zeros of the Jacobian are cleared. This is the compression of Curtis, Powell and Reid
(1974, "On the Estimation of Sparse Jacobian Matrices") without the colouring, and pays where inputs are used element
by element, as ``b[0]``, ``b[1]``.

Tangents run in the forward stream, each instruction's behind its primal's, so that both are planned as one memory.
Of a Jacobian with many seeds they run in the second stream instead, a chunk of seeds at a time that stays in the
cache, and sparsity is not made use of (`jacobian_columns`).
"""

from typing import ClassVar

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.sweep.derivatives import bind_recording, jacobian_columns
from tapegrad.engine.sweep.replays import replay
from tapegrad.engine.tape.fields.layout import BROADCAST_SUM, OP_KIND
from tapegrad.program.passes import seed_sparsity
from tapegrad.program.passes.liveness import live_instructions, saved_slots, select
from tapegrad.program.passes.op_facts import TAKES
from tapegrad.program.passes.seed_sparsity import SeedRanges
from tapegrad.program.programs.program import Program, Recording
from tapegrad.program.streams.edited_stream import EditedStream
from tapegrad.program.streams.spec import NEVER, ProgramSpec
from tapegrad.program.streams.stream import (
    RUN_FORWARD,
    RUN_TANGENT,
    InstructionStream,
    binding_address,
    bound,
    fills,
    joined,
    parallel_thresholds,
)


class TangentSegment:
    """An instruction's tangent for a segment: consecutive seeds that come through the same operands.

    Parameters
    ----------
    k
        The row that the instruction is bound in.
    indices
        For each operand whose tangents are not all zero, the index of the first of them among all it has.
    offset
        Where the first of them lies among the result's, in bytes.
    count
        How many seeds there are.
    """

    def __init__(
        self,
        tape: TapeView,
        edited: EditedStream,
        k: int,
        indices: dict[int, int],
        offset: int,
        count: int,
    ) -> None:
        self._tape = tape
        self._edited = edited
        self._k = k
        bound = edited.bound
        self._i = i = int(bound.number[k])
        self._row = kernel_table.row(int(bound.op[k]))
        self._frame: list[int] = bound.frames[k].tolist()
        self._count = count
        self._fields: dict[int, int] = {}  # that differ from those of the bound row
        self._steps = [0] * field.FIELDS  # from one seed to the next, for each field that is an address
        self._linear = self._row.linear
        self._sum = self._row.kind == "broadcast_sum"
        result = field.X_BAR if self._sum else field.Y if self._linear else field.Y_BAR
        self._result = result
        self._fields[result] = self._frame[result] + offset
        self._steps[result] = tape.bytes(int(tape.columns.written[i]))
        for j in range(3):
            if TAKES[bound.op[k]] >> j & 1 and tape.columns.read[i, j] >= 0:
                self._set_operand(j, indices.get(j))

    def _set_operand(self, j: int, index: int | None) -> None:
        bytes_ = self._tape.bytes(int(self._tape.columns.read[self._i, j]))
        at = field.Y_BAR if self._sum else (field.X if self._linear else field.X_BAR) + j
        if index is not None:
            self._fields[at] = self._frame[at] + index * bytes_
            self._steps[at] = bytes_
        elif self._linear:
            self._fields[at] = self._edited.zeros(bytes_) + self._tape.operands(self._i)[j].view.offset
        else:
            self._fields[at] = 0

    def add(self) -> None:
        """Add the segment: once, or for each seed where a tangent is large enough for several threads."""
        edited, k, fields = self._edited, self._k, self._fields
        if self._sum:
            fields |= edited.begun_sum(k, fields[self._result], self._count * self._steps[self._result])
        if self._count == 1:
            edited.add(k, fields)
        elif self._row.takes_many_tangents:
            steps = [*self._steps[field.X_BAR : field.X_BAR + 3], self._steps[field.Y_BAR]]
            edited.add(k, fields | {field.PARAMS: edited.parameters([self._count, *steps])})
        elif parallel_thresholds(edited.bound.op[k], edited.bound.elements[k]):
            for t in range(self._count):
                edited.add(k, {at: value + t * self._steps[at] for at, value in fields.items()})
        else:
            self._add_loop()

    def _add_loop(self) -> None:
        bound, k = self._edited.bound, self._k
        kernel = kernel_table.load_code(int(bound.op[k]), int(bound.variant[k]), int(bound.direction[k]))
        steps = self._steps[field.X : field.Y_BAR + 1]
        params = self._edited.parameters([self._count, kernel, self._frame[field.PARAMS], *steps])
        over_tangents = kernel_table.address_of(jacobian_columns.over_tangents)
        self._edited.add(k, self._fields | {field.PARAMS: params}, over_tangents)


# The operands whose bits are set
_OPERANDS_OF = [tuple(j for j in range(3) if bits >> j & 1) for bits in range(8)]


class TangentProgram(Program):
    """Tangents of all outputs along given tangents of the inputs, in the forward stream together with the primals."""

    entry: ClassVar[str] = "replay_tangents"
    _has_one_seed: ClassVar[bool] = True

    def __init__(self, recording: Recording, tape: TapeView, spec: ProgramSpec, fusion: str = NEVER) -> None:
        # The instructions that have tangents, and their active operands
        self._tangents: dict[int, tuple[int, ...]] = {}
        self._seeds: dict[int, SeedRanges] = {}  # for each active buffer those along which it has tangents
        # Of buffers that several instructions write, those that one has been bound for
        self._begun: set[int] = set()
        super().__init__(recording, tape, spec, fusion)

    # --- selecting -----------------------------------------------------------------------------------------------

    def _select(self) -> None:
        tape = self.tape
        selected = select(tape, self._outputs, self._wrt, self._differentiated())
        _, self._active, self._derived, self._operands = selected
        saved = tape.columns.buffer[self._saved_slots()]
        outputs = np.array(self._outputs if self.spec.values else (), np.int64)
        self._live = live_instructions(tape, np.concatenate([saved, outputs]))
        bits = self._operands[self._derived].tolist()
        self._tangents = dict(zip(self._derived.tolist(), map(_OPERANDS_OF.__getitem__, bits), strict=True))
        self._seeds = self._spread_seeds()

    def _saved_slots(self) -> np.ndarray:
        return saved_slots(self.tape, self._derived, self._operands)

    def _differentiated(self) -> list[int]:
        """Return the buffers of the outputs that are differentiated."""
        return self._outputs

    def _spread_seeds(self) -> dict[int, SeedRanges]:
        """Return the seeds along which each active buffer has tangents."""
        return dict.fromkeys(self._active_buffers(), seed_sparsity.ranges_of(0, 1))

    def _active_buffers(self) -> list[int]:
        found: list[int] = np.flatnonzero(self._active).tolist()
        return found

    def _operand_seeds(self, i: int, j: int, seeds: dict[int, SeedRanges]) -> SeedRanges:
        """Return the seeds along which an operand has tangents, if its buffer has those in `seeds`."""
        return seeds[int(self.tape.columns.read[i, j])]

    # --- planning ------------------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        self._allocate_results()
        self._allocate_tangents()

    def _allocate_tangents(self) -> None:
        fresh = list(dict.fromkeys(self.tape.columns.written[self._derived].tolist()))
        seeds = np.array([seed_sparsity.count(self._seeds[buffer]) for buffer in fresh], np.int64)
        self._cotangent[fresh] = self._blocks.new(seeds * self.tape.columns.bytes[fresh])

    # --- bindings ------------------------------------------------------------------------------------------------

    def _add_bindings(self) -> None:
        self.bindings += [self._input_bindings[k] for k in self.spec.wrt]
        self.given = len(self.bindings)
        self._add_values()
        super()._add_bindings()

    def _add_values(self) -> None:
        """Add the bindings of the outputs, if they are wanted."""
        if self.spec.values:
            super()._add_bindings()

    def _set_addresses(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        self._set_values(primal)
        for k, buffer in enumerate(self._wrt, len(self._inputs)):
            cotangent[buffer] = binding_address(k)
        for k, buffer in enumerate(self._outputs, len(self.bindings) - len(self._outputs)):
            cotangent[buffer] = binding_address(k)

    def _set_values(self, primal: np.ndarray) -> None:
        if self.spec.values:
            for k, buffer in enumerate(self._outputs, self.given):
                primal[buffer] = binding_address(k)

    def workspace_fields(self, base: int) -> dict[int, int]:
        return {replay.WRT: len(self.spec.wrt)}

    # --- binding instructions ------------------------------------------------------------------------------------

    def _bind(self) -> None:
        self.forward = self._bound_together()
        unreached = [
            k
            for k, buffer in enumerate(self._outputs, len(self.bindings) - len(self._outputs))
            if not self._active[buffer]
        ]
        sizes = [self.bindings[k].nbytes for k in unreached]
        self.forward = joined([self.forward, fills(list(map(binding_address, unreached)), sizes)])

    def _bound_together(self) -> InstructionStream:
        """Primals and tangents bound to one stream."""
        chosen = np.concatenate([self._live, self._derived])
        is_tangent = np.repeat([False, True], [len(self._live), len(self._derived)])
        order = np.lexsort([is_tangent, chosen])
        return self._bound(chosen[order], is_tangent[order])

    def _bound(self, instructions: np.ndarray, is_tangent: np.ndarray) -> InstructionStream:
        """Bind instructions, some of them for their tangents."""
        columns = self.tape.columns
        rows = np.zeros((len(instructions), bind_recording.ROW_FIELDS), np.int64)
        rows[:, bind_recording.ROW_INSTRUCTION] = instructions
        rows[:, bind_recording.ROW_DIRECTION] = np.where(is_tangent, RUN_TANGENT, RUN_FORWARD)
        rows[:, bind_recording.ROW_WANTED] = self._operands[instructions]
        edited, begin = EditedStream(bound(self._header, columns.op, rows)), 0
        for k in np.flatnonzero(~self._are_as_bound(edited.bound, rows)).tolist():
            edited.add_as_bound(begin, k)
            begin, i = k + 1, int(instructions[k])
            if is_tangent[k]:
                self._add_tangent(edited, k, i)
            else:
                result = int(columns.written[i])
                edited.add(k, edited.begun_sum(k, int(self._primal[result]), self.tape.bytes(result)))
        edited.add_as_bound(begin, len(rows))
        return edited.made()

    def _are_as_bound(self, stream: InstructionStream, rows: np.ndarray) -> np.ndarray:
        """Return which rows stay as they are bound: of one seed, tangents that come through all operands they can."""
        columns, (instructions, direction, wanted, *_) = self.tape.columns, rows.T
        takes = TAKES[stream.op] & ((columns.read[instructions] >= 0) << np.arange(3)).sum(1)
        whole = (takes & ~wanted == 0) & (columns.writers[columns.written[instructions]] == 1)
        is_sum = kernel_table.op_column(stream.op, OP_KIND) == BROADCAST_SUM
        tangents = self._has_one_seed & whole & (direction == RUN_TANGENT)
        found: np.ndarray = ~is_sum & ((direction == RUN_FORWARD) | tangents)
        return found

    def _add_tangent(self, edited: EditedStream, k: int, i: int) -> None:
        """Add the tangent of instruction `i`, bound in row `k`, once for each segment of its result's seeds."""
        tape = self.tape
        result, read = int(tape.columns.written[i]), tape.columns.read[i].tolist()
        seeds, bytes_, address = self._seeds[result], tape.bytes(result), int(self._cotangent[result])
        cleared = self._clear_pieces(edited, result)
        for first, last, operands in self._segments(i):
            offset = seed_sparsity.index_of(seeds, first) * bytes_
            if operands:
                indices = {j: seed_sparsity.index_of(self._seeds[read[j]], first) for j in operands}
                TangentSegment(tape, edited, k, indices, offset, last - first).add()
            elif not cleared:
                edited.fill(address + offset, (last - first) * bytes_)

    def _segments(self, i: int) -> list[tuple[int, int, tuple[int, ...]]]:
        """Return the segments of the seeds of instruction i's result."""
        operands = {j: self._operand_seeds(i, j, self._seeds) for j in self._tangents.get(i, ())}
        return list(seed_sparsity.segments(self._seeds[int(self.tape.columns.written[i])], operands))

    def _clear_pieces(self, edited: EditedStream, result: int) -> bool:
        """Clear the tangents of a buffer that several instructions write, if one of them does not write them all.

        Return whether there are several.
        """
        if self.tape.columns.writers[result] == 1:
            return False
        writers = self.tape.writers[result]
        if result not in self._begun:
            self._begun.add(result)
            if not all(operands for i in writers for *_, operands in self._segments(i)):
                bytes_ = seed_sparsity.count(self._seeds[result]) * self.tape.bytes(result)
                edited.fill(int(self._cotangent[result]), bytes_)
        return True
