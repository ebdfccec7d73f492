"""Frames of tangents: the kernel of one instruction's tangent, for a segment of seeds."""

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels import frame as word
from tapegrad.engine.sweep import jacobian_columns
from tapegrad.program.program import RUN_FORWARD, RUN_TANGENT, Program
from tapegrad.program.stream import InstructionStream


class TangentSegment:
    """An instruction's tangent for a segment: consecutive seeds that come through the same operands.

    Parameters
    ----------
    indices
        For each operand whose tangents are not all zero, the index of the first of them among all it has.
    offset
        Where the first of them lies among the result's, in bytes.
    count
        How many seeds there are.
    """

    def __init__(
        self,
        program: Program,
        i: int,
        template: np.ndarray,
        indices: dict[int, int],
        offset: int,
        count: int,
    ) -> None:
        self._program = program
        self._i = i
        self._row = kernel_table.row(program.tape.instructions[i].op)
        self._frame = template.copy()
        self._count = count
        self._steps = [0] * word.WORDS  # from one seed to the next, for each word that is an address
        tape = program.tape
        self._linear = self._row.linear
        self._sum = self._row.kind == "broadcast_sum"
        result = word.X_BAR if self._sum else word.Y if self._linear else word.Y_BAR
        self._result = result
        self._frame[result] += offset
        self._steps[result] = tape.bytes(tape.written[i])
        for j in tape.differentiated[i]:
            self._set_operand(j, indices.get(j))

    def _set_operand(self, j: int, index: int | None) -> None:
        slot = self._program.tape.operands(self._i)[j]
        bytes_ = self._program.tape.bytes(slot.buffer)
        at = word.Y_BAR if self._sum else (word.X if self._linear else word.X_BAR) + j
        if index is not None:
            self._frame[at] += index * bytes_
            self._steps[at] = bytes_
        elif self._linear:
            self._frame[at] = self._program.zeros(bytes_) + slot.view.offset
        else:
            self._frame[at] = 0

    def add(self, stream: InstructionStream) -> None:
        """Add the segment to a stream: once, or for each seed where a tangent is large enough for several threads."""
        program, frame = self._program, stream.next_frame()
        frame[:] = self._frame
        if self._sum:
            bytes_ = self._steps[self._result]
            frame = program.clear_sum(stream, frame, int(frame[self._result]), self._count * bytes_)
        kernel = program.kernel(self._i, RUN_FORWARD if self._linear else RUN_TANGENT)
        parallel_threshold = program.parallel_threshold(self._i, frame)
        if self._count == 1:
            stream.add(kernel, parallel_threshold)
        elif self._row.takes_many_tangents:
            steps = [*self._steps[word.X_BAR : word.X_BAR + 3], self._steps[word.Y_BAR]]
            program.parameters(frame, [self._count, *steps])
            stream.add(kernel, parallel_threshold)
        elif parallel_threshold:
            self._add_each(stream, frame.copy(), kernel, parallel_threshold)
        else:
            steps = self._steps[word.X : word.Y_BAR + 1]
            program.parameters(frame, [self._count, kernel, int(frame[word.PARAMS]), *steps])
            stream.add(kernel_table.address_of(jacobian_columns.over_tangents), 0)

    def _add_each(
        self, stream: InstructionStream, bound: np.ndarray, kernel: int, parallel_threshold: int
    ) -> None:
        for t in range(self._count):
            frame = stream.next_frame()
            frame[:] = bound + t * np.array(self._steps, np.int64)
            stream.add(kernel, parallel_threshold)
