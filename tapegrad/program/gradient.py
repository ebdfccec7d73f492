"""Programs with a reverse stream: a gradient, or a Jacobian row by row."""

import math

import numpy as np

from tapegrad.engine.sweep.bind_recording import can_store
from tapegrad.program.memory_plan import END
from tapegrad.program.passes.dead_code import active_buffers, active_operands, live_instructions
from tapegrad.program.program import REVERSE, Program
from tapegrad.program.spec import ROWS
from tapegrad.program.stream import Binding, binding_address


class ReverseProgram(Program):
    """A program with a reverse stream that starts from the cotangents of some outputs."""

    _seeded: list[int]  # the buffers of those outputs

    def _choose_backwards(self) -> None:
        """Choose the instructions of both streams."""
        listing = self.listing
        self._live = live_instructions(listing, self._output_slots)
        self._active = active_buffers(listing, self._live, self._wrt, self._seeded)
        self._backwards = [i for i in reversed(self._live) if active_operands(listing, i, self._active)]

    def _plan_backwards(self, keep: bool) -> None:
        """Plan the reverse stream; with `keep` it can run again, for what it reads stays."""
        listing, lifetimes = self.listing, self._lifetimes
        elsewhere = {*self._wrt, *self._seeded}
        for step, i in enumerate(self._backwards, len(self._live)):
            lifetimes.use(("cotangent", listing.written(i)), step)
            for j in active_operands(listing, i, self._active):
                operand = listing.read(i)[j]
                if operand not in elsewhere:
                    lifetimes.begin(("cotangent", operand), listing.bytes[operand], step)
                for buffer in listing.reads(i, j):
                    lifetimes.use(("primal", buffer), END if keep else step)

    def _bind(self) -> None:
        self._expect(self._backwards, REVERSE)
        super()._bind()
        self._bind_backwards()

    def _bind_backwards(self) -> None:
        """Bind the reverse stream. The first instruction to reach a cotangent writes it, or adds to zeros."""
        listing = self.listing
        touched = set(self._seeded)
        for i in self._backwards:
            store = 0
            for j in active_operands(listing, i, self._active):
                buffer = listing.read(i)[j]
                if buffer in touched:
                    continue
                touched.add(buffer)
                if can_store(self._header, i, j):
                    store |= 1 << j
                else:
                    self.reverse.fill(int(self._cotangent[buffer]), listing.bytes[buffer])
            frame = self._bound(self.reverse, i, REVERSE, store)
            self._add(self.reverse, i, REVERSE, frame)
        for buffer in dict.fromkeys(self._wrt):
            if buffer not in touched:
                self.reverse.fill(int(self._cotangent[buffer]), listing.bytes[buffer])


class GradientProgram(ReverseProgram):
    """Value and derivatives of the first output: one forward stream; one reverse stream, which runs once for each row.

    Attributes
    ----------
    seed_count
        Elements of the output.
    """

    def _choose(self) -> None:
        self.seed_count = math.prod(self.outputs[0].shape)
        self._seeded = self._outputs[:1]
        self._choose_backwards()

    def _plan(self) -> None:
        lifetimes, output = self._lifetimes, self._outputs[0]
        self._plan_forward()
        lifetimes.use(("primal", output), END)
        lifetimes.begin(("cotangent", output), self.listing.bytes[output], len(self._live))
        self._plan_backwards(self.purpose.kind == ROWS)

    def _add_bindings(self) -> None:
        rows = self.purpose.kind == ROWS
        lead = self.outputs[0].shape if rows else ()
        for k in self.purpose.wrt:
            binding = self._input_bindings[k]
            self.bindings.append(
                Binding((*lead, *binding.shape), binding.dtype, binding.bytes if rows else 0)
            )

    def _place(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        for k, buffer in enumerate(self._wrt, len(self._inputs)):
            cotangent[buffer] = binding_address(k)

    def output_offset(self, kind: str) -> int:
        """Where the primal or the cotangent of the differentiated output lies in the workspace."""
        return self._lifetimes.blocks[kind, self._outputs[0]].offset
