"""Programs with a reverse stream: value and gradient, or a Jacobian row by row."""

import ctypes
import math
from typing import ClassVar

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.sweep import bind_recording, replay
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.engine.tape.view import View
from tapegrad.engine.tape_view import TapeView
from tapegrad.ops import Op
from tapegrad.program import in_place
from tapegrad.program.fusion.streams import Loose, fused
from tapegrad.program.liveness import active_buffers, active_operands, bits, live_instructions
from tapegrad.program.program import Program
from tapegrad.program.stream import RUN_REVERSE, binding_address, bound, empty_stream, fills, joined


class ReverseProgram(Program):
    """A program with a reverse stream that starts from the cotangents of some outputs."""

    _seeded: list[int]  # the buffers of those outputs
    # The instructions of the reverse stream, the last first, and their active operands
    _backwards: dict[int, list[int]]
    # The operand that takes over the cotangent of an instruction's result, for those that have one
    _takes_over: dict[int, int]
    # For each of them the operands whose cotangent it is the first to write, as bits
    _first: dict[int, int]
    _untouched: list[int]  # the buffers differentiated by that no instruction reaches

    def _select_backwards(self) -> None:
        """Select the instructions of both streams."""
        tape = self.tape
        self._live = live_instructions(tape, self._outputs)
        self._active = active_buffers(tape, self._live, self._wrt, self._seeded)
        self._backwards = active_operands(tape, self._live[::-1], self._active)

    def _saved_bounds(self) -> dict[int, in_place.Bounds]:
        return in_place.saved_bounds(self.tape, self._backwards)

    def _allocate_cotangents(self) -> None:
        """Allocate cotangents, but for those that are bound or seeded; note who reaches each of them first."""
        tape, elsewhere = self.tape, {*self._wrt, *self._seeded}
        touched, fresh = set(self._seeded), []
        self._takes_over, self._first = {}, {}
        for i, operands in self._backwards.items():
            first = 0
            for j in operands:
                operand = tape.read[i][j]
                if operand in touched:
                    continue
                touched.add(operand)
                if i not in self._takes_over and self._hands_on(i, j, elsewhere):
                    self._takes_over[i] = j
                    continue
                first |= 1 << j
                if operand not in elsewhere:
                    fresh.append(operand)
            self._first[i] = first
        self._cotangent[fresh] = self._blocks.new(map(tape.bytes, fresh))
        for i, j in self._takes_over.items():
            self._cotangent[tape.read[i][j]] = self._cotangent[tape.written[i]]
        self._untouched = [buffer for buffer in dict.fromkeys(self._wrt) if buffer not in touched]

    def _hands_on(self, i: int, j: int, elsewhere: set[int]) -> bool:
        """Whether the cotangent of a result becomes that of operand `j`, which has none yet, in the same block."""
        if self.tape.read[i][j] in elsewhere or self.tape.written[i] in elsewhere:
            return False
        return (j == 0 and self._is_in_place(i)) or _is_passed_on(self.tape, i, j)

    def _is_in_place(self, i: int) -> bool:
        return kernel_table.row(self.tape.instructions[i].op).in_place

    def _bind(self) -> None:
        super()._bind()
        self._bind_backwards()

    def _bind_backwards(self) -> None:
        """Bind the reverse stream. The first instruction to reach a cotangent writes it, or adds to zeros."""
        chosen = [
            (i, RUN_REVERSE, wanted, self._first[i])
            for i, operands in self._backwards.items()
            if (wanted := bits(operands) & ~self._passed_on(i))
        ]
        rows = np.zeros((len(chosen), bind_recording.ROW_WORDS), np.int64)
        rows[:, : bind_recording.ROW_FIRST + 1] = np.array(chosen, np.int64).reshape(-1, 4)
        stream = bound(self._header, self._ops, rows)
        before, operands = np.nonzero(rows[:, bind_recording.ROW_FIRST, None] >> np.arange(3) & 1)
        numbers = stream.number[before].tolist()
        buffers = [self.tape.read[i][j] for i, j in zip(numbers, operands.tolist(), strict=True)]
        buffers += self._untouched
        cleared = fills(self._cotangent[buffers], [self.tape.bytes(buffer) for buffer in buffers])
        self.reverse = stream.inserting(cleared, [*before, *[len(stream)] * len(self._untouched)])

    def _passed_on(self, i: int) -> int:
        """Return the operand whose cotangent is in its place without a kernel, as a bit."""
        return 0 if self._is_in_place(i) else bits([self._takes_over[i]] if i in self._takes_over else ())


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

    def _select(self) -> None:
        self._seeded = self._outputs[:1]
        self._select_backwards()

    def _allocate(self) -> None:
        self._allocate_primals()
        output = self._outputs[0]
        self._cotangent[output] = self._blocks.new([self.tape.bytes(output)])[0]
        self._allocate_cotangents()

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

    def _fuse(self, only_if_known: bool) -> bool:
        """Fuse both streams to one, which reads the seed from its beginning on."""
        if self._runs_again:
            return super()._fuse(only_if_known)
        both = Loose(joined([self.forward, self.reverse]))
        found = fused([both], self._blocks, self._kept_addresses(), only_if_known)
        if found is not None:
            self.forward, self.reverse = found[0], empty_stream()
        return found is not None

    def _kept_addresses(self) -> list[int]:
        return [int(self._primal[self._outputs[0]])]

    def begin_workspace(self, base: int) -> None:
        """Seed the cotangent, which a fused program reads before the replay does so."""
        if self.fused and not self._runs_again:
            output = self.outputs[0]
            address = base + self._offset(self._cotangent[self._outputs[0]])
            seed = np.ones(1, output.dtype)
            ctypes.memmove(address, seed.ctypes.data, seed.nbytes)

    def _keep_blocks(self) -> None:
        output, second = self._outputs[0], len(self.forward)
        self._blocks.keep([self._primal[output]], second, self._end)
        self._blocks.keep([self._cotangent[output]], 0 if self.fused else second, max(second, self._end))
        if self._runs_again:
            self._blocks.keep_over(second, self._end)

    def workspace_words(self, base: int) -> dict[int, int]:
        output = self.outputs[0]
        return {
            replay.SEED: base + self._offset(self._cotangent[self._outputs[0]]),
            replay.SEED_COUNT: math.prod(output.shape),
            replay.SEED_DTYPE: DTYPE_CODES[output.dtype],
        }

    def workspace_outputs(self) -> list[tuple[int, View]]:
        return [(self._offset(self._primal[self._outputs[0]]), self.outputs[0])]


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
