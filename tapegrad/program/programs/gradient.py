"""Programs with a reverse stream: value and gradient, or a Jacobian row by row."""

import ctypes
import math
from typing import ClassVar

import numpy as np

from tapegrad.engine.sweep.derivatives import bind_recording
from tapegrad.engine.sweep.replays import replay
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.program.fusion.streams import UnfusedStream, fused
from tapegrad.program.passes.cotangent_flow import CotangentFlow
from tapegrad.program.passes.liveness import saved_slots, select
from tapegrad.program.programs.program import Program
from tapegrad.program.streams.stream import RUN_REVERSE, binding_address, bound, empty_stream, fills, joined


class ReverseProgram(Program):
    """A program with a reverse stream that starts from the cotangents of some outputs."""

    _seeded: list[int]  # the buffers of those outputs
    _flow: CotangentFlow

    def _select_backwards(self) -> None:
        """Select the instructions of both streams."""
        selected = select(self.tape, self._outputs, self._wrt, self._seeded)
        self._live, self._active, self._derived, self._operands = selected

    def _saved_slots(self) -> np.ndarray:
        return saved_slots(self.tape, self._derived, self._operands)

    def _allocate_cotangents(self) -> None:
        """Allocate cotangents, but for those that are bound or seeded."""
        flow = self._flow = CotangentFlow(
            self.tape, self._derived[::-1], self._operands, self._seeded, self._wrt
        )
        self._cotangent[flow.fresh] = self._blocks.new(self.tape.columns.bytes[flow.fresh])
        self._cotangent[flow.taken] = self._cotangent[flow.taken_from]

    def _bind(self) -> None:
        super()._bind()
        self._bind_backwards()

    def _bind_backwards(self) -> None:
        """Bind the reverse stream. The first instruction to reach a cotangent writes it, or adds to zeros."""
        flow, columns = self._flow, self.tape.columns
        run = flow.wanted != 0
        rows = np.zeros((np.count_nonzero(run), bind_recording.ROW_FIELDS), np.int64)
        rows[:, bind_recording.ROW_INSTRUCTION] = flow.instructions[run]
        rows[:, bind_recording.ROW_DIRECTION] = RUN_REVERSE
        rows[:, bind_recording.ROW_WANTED] = flow.wanted[run]
        rows[:, bind_recording.ROW_FIRST] = flow.first[run]
        stream = bound(self._header, columns.op, rows)
        before, operands = np.nonzero(rows[:, bind_recording.ROW_FIRST, None] >> np.arange(3) & 1)
        buffers = np.concatenate([columns.read[stream.number[before], operands], flow.untouched])
        cleared = fills(self._cotangent[buffers], columns.bytes[buffers])
        end = np.full(len(flow.untouched), len(stream))
        self.reverse = stream.inserting(cleared, np.concatenate([before, end]))
        del self._flow


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

    def _fuse(self, fusion: str) -> bool:
        """Fuse both streams to one, which reads the seed from its beginning on."""
        if self._runs_again:
            return super()._fuse(fusion)
        both = UnfusedStream(joined([self.forward, self.reverse]))
        found = fused([both], self._blocks, self._kept_addresses(), fusion, self._unchanging_lists())
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
            seed = np.ones(output.size, output.dtype)
            ctypes.memmove(address, seed.ctypes.data, seed.nbytes)

    def _keep_blocks(self) -> None:
        output, second = self._outputs[0], len(self.forward)
        self._blocks.keep([self._primal[output]], second, self._end)
        # The seed of a fused program stays from one execution to the next
        seeded = (0, self._end) if self.fused else (second, second)
        self._blocks.keep([self._cotangent[output]], *seeded)
        if self._runs_again:
            self._blocks.keep_over(second, self._end)

    def workspace_fields(self, base: int) -> dict[int, int]:
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
    _runs_again: ClassVar[bool] = True

    def _add_derivatives(self) -> None:
        lead = self._of_instance(self.outputs[0]).shape
        for binding in (self._input_bindings[k] for k in self.spec.wrt):
            self.bindings.append(View.in_c_order((*lead, *binding.shape), binding.dtype))

    def row_bytes(self, binding: int) -> int:
        number = binding - self.given - len(self._others)
        return self._input_bindings[self.spec.wrt[number]].nbytes if number >= 0 else 0
