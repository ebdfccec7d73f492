"""Rows of a tangent stream: the kernel of one instruction's tangent, for a run of seeds."""

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels import frame as word
from tapegrad.engine.sweep import jacobian_columns
from tapegrad.engine.tape.layout import BROADCAST_SUM, OP_KIND, OP_LINEAR
from tapegrad.ops import Structural
from tapegrad.program.program import FORWARD, TANGENT, Program
from tapegrad.program.stream import InstructionStream


class TangentRow:
    """The row of one run of seeds of an instruction's tangent.

    Parameters
    ----------
    moved
        For each operand whose tangents are not all zero, the place of the first of them among all it has.
    place
        Where the first of them lies among the result's, in bytes.
    """

    def __init__(
        self,
        program: Program,
        i: int,
        template: np.ndarray,
        moved: dict[int, int],
        place: int,
        count: int,
    ) -> None:
        self._program = program
        self._i = i
        self._op = program.listing.op[i]
        self._frame = template.copy()
        self._count = count
        self._steps = [0] * word.WORDS
        listing = program.listing
        self._linear = bool(kernel_table.op_words(self._op)[OP_LINEAR])
        self._sum = kernel_table.op_words(self._op)[OP_KIND] == BROADCAST_SUM
        result = word.X_BAR if self._sum else word.Y if self._linear else word.Y_BAR
        self._result = result
        self._frame[result] += place
        self._steps[result] = listing.bytes[listing.written(i)]
        for j, buffer in enumerate(listing.read(i)):
            if listing.has_cotangent(i, j):
                self._set_operand(j, buffer, moved.get(j))

    def _set_operand(self, j: int, buffer: int, moved: int | None) -> None:
        listing = self._program.listing
        at = word.Y_BAR if self._sum else (word.X if self._linear else word.X_BAR) + j
        if moved is not None:
            self._frame[at] += moved * listing.bytes[buffer]
            self._steps[at] = listing.bytes[buffer]
        elif self._linear:
            offset = listing.offset[listing.operands[self._i][j]]
            self._frame[at] = self._program.zeros(listing.bytes[buffer]) + offset
        else:
            self._frame[at] = 0

    def add(self, stream: InstructionStream) -> None:
        """Add the row, or several of them where each tangent is large enough for several threads."""
        program, frame = self._program, stream.next_frame()
        frame[:] = self._frame
        if self._sum:
            bytes_ = self._steps[self._result]
            frame = program.clear_sum(stream, frame, int(frame[self._result]), self._count * bytes_)
        kernel = program.kernel(self._i, FORWARD if self._linear else TANGENT)
        parallel_threshold = program.parallel_threshold(self._i, frame)
        if self._count == 1:
            stream.add(kernel, parallel_threshold)
        elif not isinstance(kernel_table.row(self._op), Structural):
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
