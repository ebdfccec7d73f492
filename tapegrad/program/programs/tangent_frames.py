"""Frames of tangents: the kernel of one instruction's tangent, for a segment of seeds."""

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.kernels.language import frame as word
from tapegrad.engine.sweep.derivatives import jacobian_columns
from tapegrad.program.passes.op_facts import TAKES
from tapegrad.program.streams.edited_stream import EditedStream
from tapegrad.program.streams.stream import parallel_thresholds


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
        self._words: dict[int, int] = {}  # that differ from those of the bound row
        self._steps = [0] * word.WORDS  # from one seed to the next, for each word that is an address
        self._linear = self._row.linear
        self._sum = self._row.kind == "broadcast_sum"
        result = word.X_BAR if self._sum else word.Y if self._linear else word.Y_BAR
        self._result = result
        self._words[result] = self._frame[result] + offset
        self._steps[result] = tape.bytes(int(tape.columns.written[i]))
        for j in range(3):
            if TAKES[bound.op[k]] >> j & 1 and tape.columns.read[i, j] >= 0:
                self._set_operand(j, indices.get(j))

    def _set_operand(self, j: int, index: int | None) -> None:
        bytes_ = self._tape.bytes(int(self._tape.columns.read[self._i, j]))
        at = word.Y_BAR if self._sum else (word.X if self._linear else word.X_BAR) + j
        if index is not None:
            self._words[at] = self._frame[at] + index * bytes_
            self._steps[at] = bytes_
        elif self._linear:
            self._words[at] = self._edited.zeros(bytes_) + self._tape.operands(self._i)[j].view.offset
        else:
            self._words[at] = 0

    def add(self) -> None:
        """Add the segment: once, or for each seed where a tangent is large enough for several threads."""
        edited, k, words = self._edited, self._k, self._words
        if self._sum:
            words |= edited.begun_sum(k, words[self._result], self._count * self._steps[self._result])
        if self._count == 1:
            edited.add(k, words)
        elif self._row.takes_many_tangents:
            steps = [*self._steps[word.X_BAR : word.X_BAR + 3], self._steps[word.Y_BAR]]
            edited.add(k, words | {word.PARAMS: edited.parameters([self._count, *steps])})
        elif parallel_thresholds(edited.bound.op[k], edited.bound.elements[k]):
            for t in range(self._count):
                edited.add(k, {at: value + t * self._steps[at] for at, value in words.items()})
        else:
            self._add_loop()

    def _add_loop(self) -> None:
        bound, k = self._edited.bound, self._k
        kernel = kernel_table.load_code(int(bound.op[k]), int(bound.variant[k]), int(bound.direction[k]))
        steps = self._steps[word.X : word.Y_BAR + 1]
        params = self._edited.parameters([self._count, kernel, self._frame[word.PARAMS], *steps])
        over_tangents = kernel_table.address_of(jacobian_columns.over_tangents)
        self._edited.add(k, self._words | {word.PARAMS: params}, over_tangents)
