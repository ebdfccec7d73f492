"""Programs with a reverse stream: value and gradient, or a Jacobian row by row."""

import math
from typing import ClassVar

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels import frame as word
from tapegrad.engine.sweep import bind_recording, replay
from tapegrad.engine.tape.layout import NONE
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.engine.tape.view import View
from tapegrad.engine.tape_view import TapeView
from tapegrad.ops import Op
from tapegrad.program import in_place
from tapegrad.program.liveness import active_buffers, active_operands, live_instructions
from tapegrad.program.memory_plan import END
from tapegrad.program.program import RUN_REVERSE, Program
from tapegrad.program.stream import binding_address


class ReverseProgram(Program):
    """A program with a reverse stream that starts from the cotangents of some outputs."""

    _seeded: list[int]  # the buffers of those outputs
    # The instructions of the reverse stream, the last first, and their active operands
    _backwards: dict[int, list[int]]
    # The operand that takes over the cotangent of an instruction's result, for those that have one
    _takes_over: dict[int, int]

    def _select_backwards(self) -> None:
        """Select the instructions of both streams."""
        tape = self.tape
        self._live = live_instructions(tape, self._outputs)
        self._active = active_buffers(tape, self._live, self._wrt, self._seeded)
        self._backwards = active_operands(tape, self._live[::-1], self._active)

    def _saved_bounds(self) -> dict[int, in_place.Bounds]:
        return in_place.saved_bounds(self.tape, self._backwards)

    def _plan_backwards(self, keep: bool) -> None:
        """Plan the reverse stream. With `keep` it can run again: what it reads stays."""
        tape, memory = self.tape, self._memory
        elsewhere = {*self._wrt, *self._seeded}
        self._takes_over = {}
        for step, (i, operands) in enumerate(self._backwards.items(), len(self._live)):
            written = tape.written[i]
            memory.use(("cotangent", written), step)
            for j in operands:
                operand = tape.read[i][j]
                if i not in self._takes_over and self._hands_on(i, j, elsewhere):
                    memory.share(("cotangent", operand), ("cotangent", written))
                    self._takes_over[i] = j
                elif operand not in elsewhere:
                    memory.begin(("cotangent", operand), tape.bytes(operand), step)
                for buffer in tape.saved_for_backward(i, j):
                    memory.use(("primal", buffer), END if keep else step)

    def _hands_on(self, i: int, j: int, elsewhere: set[int]) -> bool:
        """Whether the cotangent of a result becomes that of operand `j`, in the same block."""
        old, new = self.tape.read[i][j], self.tape.written[i]
        if {old, new} & elsewhere or not (
            (j == 0 and self._is_in_place(i)) or _is_passed_on(self.tape, i, j)
        ):
            return False
        blocks = self._memory.blocks
        return ("cotangent", old) not in blocks and ("cotangent", new) in blocks

    def _is_in_place(self, i: int) -> bool:
        return kernel_table.row(self.tape.instructions[i].op).in_place

    def _bind(self) -> None:
        self._expect(self._backwards, RUN_REVERSE)
        super()._bind()
        self._bind_backwards()

    def _bind_backwards(self) -> None:
        """Bind the reverse stream. The first instruction to reach a cotangent writes it, or adds to zeros."""
        tape = self.tape
        touched = set(self._seeded)
        for i, operands in self._backwards.items():
            store, passed_on = self._stored(i, operands, touched), self._passed_on(i)
            if operands == [passed_on]:
                continue
            frame = self._bound(self.reverse, i, RUN_REVERSE, store)
            if passed_on != NONE:
                frame[word.X_BAR + passed_on] = 0
            self._add(self.reverse, i, RUN_REVERSE, frame)
        for buffer in dict.fromkeys(self._wrt):
            if buffer not in touched:
                self.reverse.fill(int(self._cotangent[buffer]), tape.bytes(buffer))

    def _stored(self, i: int, operands: list[int], touched: set[int]) -> int:
        """Return the operands that instruction `i` writes the cotangents of, as bits; others are filled with zeros."""
        store = 0
        for j in operands:
            buffer = self.tape.read[i][j]
            if buffer in touched:
                continue
            touched.add(buffer)
            if j == self._takes_over.get(i):
                continue
            if bind_recording.can_store(self._header, i, j):
                store |= 1 << j
            else:
                self.reverse.fill(int(self._cotangent[buffer]), self.tape.bytes(buffer))
        return store

    def _passed_on(self, i: int) -> int:
        """Return the operand whose cotangent is in its place without a kernel."""
        return NONE if self._is_in_place(i) else self._takes_over.get(i, NONE)


def _is_passed_on(tape: TapeView, i: int, j: int) -> bool:
    """Whether the cotangent of a result is as it is that of operand `j`, which lies in memory like the result."""
    row, result, operand = kernel_table.row(tape.instructions[i].op), tape.result(i), tape.operands(i)[j]
    if not isinstance(row, Op) or row.partials[j] != "1" or operand.view != result.view:
        return False
    is_whole = result.view.nbytes == tape.bytes(result.buffer) == tape.bytes(operand.buffer)
    alone = tape.read[i].count(operand.buffer) == 1 and len(tape.writers[result.buffer]) == 1
    return is_whole and alone and result.contiguous


class GradientProgram(ReverseProgram):
    """Value and gradient of the first output: one forward stream, and one reverse stream.

    The replay seeds the cotangent of the output, which lies in the workspace as the output does.
    """

    entry: ClassVar[str] = "replay_gradient"
    _runs_again: ClassVar[bool] = False  # whether the reverse stream does

    def _select(self) -> None:
        self._seeded = self._outputs[:1]
        self._select_backwards()

    def _plan(self) -> None:
        output = self._outputs[0]
        self._plan_forward()
        self._memory.use(("primal", output), END)
        self._memory.begin(("cotangent", output), self.tape.bytes(output), len(self._live))
        self._plan_backwards(self._runs_again)
        for buffer in self._others:
            self._memory.blocks.pop(("primal", buffer), None)  # bindings

    @property
    def _others(self) -> list[int]:
        """The buffers of the outputs that are results beside the first."""
        return self._outputs[1:] if self.spec.values else []

    def _add_bindings(self) -> None:
        if self.spec.values:
            self.bindings += [View.in_c_order(other.shape, other.dtype) for other in self.outputs[1:]]
        self._add_derivatives()

    def _add_derivatives(self) -> None:
        self.bindings += [self._input_bindings[k] for k in self.spec.wrt]

    def _set_addresses(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        for k, buffer in enumerate(self._others, self.given):
            primal[buffer] = binding_address(k)
        for k, buffer in enumerate(self._wrt, self.given + len(self._others)):
            cotangent[buffer] = binding_address(k)

    def workspace_words(self, base: int) -> dict[int, int]:
        output = self.outputs[0]
        return {
            replay.SEED: base + self._memory.blocks["cotangent", self._outputs[0]].offset,
            replay.SEED_COUNT: math.prod(output.shape),
            replay.SEED_DTYPE: DTYPE_CODES[output.dtype],
        }

    def workspace_outputs(self) -> list[tuple[int, View]]:
        return [(self._memory.blocks["primal", self._outputs[0]].offset, self.outputs[0])]


class ReverseJacobianProgram(GradientProgram):
    """The Jacobian of the first output row by row: the reverse stream runs once for each of its elements."""

    entry: ClassVar[str] = "replay_jacobian"
    entry_of_one: ClassVar[str] = "replay_jacobian_of_one"
    _runs_again: ClassVar[bool] = True

    def _add_derivatives(self) -> None:
        lead = self.outputs[0].shape
        for binding in (self._input_bindings[k] for k in self.spec.wrt):
            self.bindings.append(View.in_c_order((*lead, *binding.shape), binding.dtype))

    def row_bytes(self, binding: int) -> int:
        number = binding - self.given - len(self._others)
        return self._input_bindings[self.spec.wrt[number]].nbytes if number >= 0 else 0
