"""Programs with a reverse stream: a gradient, or a Jacobian row by row."""

import math

import numpy as np

from tapegrad.passes.activity import active_buffers, active_operands, live_instructions
from tapegrad.passes.lifetimes import FOREVER
from tapegrad.passes.program import REVERSE, Program
from tapegrad.passes.purpose import ROWS
from tapegrad.passes.stream import Port, port_address
from tapegrad.sweep.program import can_store


class GradientProgram(Program):
    """Value and derivatives of the first output: one forward stream; one reverse stream, which runs once for each row.

    Attributes
    ----------
    seed_count
        Elements of the output.
    """

    def _choose(self) -> None:
        listing = self.listing
        self.seed_count = math.prod(self.outputs[0].shape)
        self._live = live_instructions(listing, self._output_slots)
        self._active = active_buffers(listing, self._live, self._wrt, self._outputs[:1])
        self._backwards = [i for i in reversed(self._live) if active_operands(listing, i, self._active)]

    def _plan(self) -> None:
        listing, lifetimes, output = self.listing, self._lifetimes, self._outputs[0]
        self._plan_forward()
        lifetimes.use(("primal", output), FOREVER)
        first = len(self._live)
        lifetimes.begin(("cotangent", output), listing.bytes[output], first)
        for step, i in enumerate(self._backwards, first):
            lifetimes.use(("cotangent", listing.written(i)), step)
            for j in active_operands(listing, i, self._active):
                operand = listing.read(i)[j]
                if operand not in self._wrt:
                    lifetimes.begin(("cotangent", operand), listing.bytes[operand], step)
                for buffer in listing.reads(i, j):
                    lifetimes.use(("primal", buffer), FOREVER if self.purpose.kind == ROWS else step)

    def _add_ports(self) -> None:
        rows = self.purpose.kind == ROWS
        lead = self.outputs[0].shape if rows else ()
        for k in self.purpose.wrt:
            port = self._input_ports[k]
            self.ports.append(Port((*lead, *port.shape), port.dtype, port.bytes if rows else 0))

    def _place(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        for k, buffer in enumerate(self._wrt, len(self._inputs)):
            cotangent[buffer] = port_address(k)

    def _bind(self) -> None:
        super()._bind()
        self._bind_backwards()

    def _bind_backwards(self) -> None:
        """Bind the reverse stream. The first instruction to reach a cotangent writes it, or adds to zeros."""
        listing = self.listing
        touched = {self._outputs[0]}
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

    def output_offset(self, kind: str) -> int:
        """Where the primal or the cotangent of the differentiated output lies in the workspace."""
        return self._lifetimes.blocks[kind, self._outputs[0]].offset
