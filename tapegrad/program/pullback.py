"""The program of a pullback: one forward stream, and a reverse stream that may run any number of times after it.

What the reverse stream reads stays as the forward stream found it: primals in the workspace, and copies of those
arrays from outside that somebody may write to meanwhile.
"""

import ctypes

import numpy as np

from tapegrad.program.gradient import ReverseProgram
from tapegrad.program.memory_plan import END
from tapegrad.program.passes.dead_code import active_operands
from tapegrad.program.stream import WORKSPACE, Binding, binding_address

_FROZEN = "frozen"  # blocks for copies of arrays from outside


class PullbackProgram(ReverseProgram):
    """All outputs, and cotangents of inputs for given ones of the outputs.

    The ports are the inputs, the cotangents of outputs, which are written to, and those of the inputs.

    Attributes
    ----------
    seeded
        Numbers of the outputs that have cotangents: those of floats.
    """

    def _choose(self) -> None:
        self.seeded = [k for k, output in enumerate(self.outputs) if output.dtype.kind == "f"]
        self._seeded = [self._outputs[k] for k in self.seeded]
        self._choose_backwards()

    def _plan(self) -> None:
        self._plan_forward()
        for buffer in self._outputs:
            self._lifetimes.use(("primal", buffer), END)
        self._plan_backwards(keep=True)
        for buffer in self._read_outside():
            self._lifetimes.begin((_FROZEN, buffer), self.listing.bytes[buffer], 0)
            self._lifetimes.use((_FROZEN, buffer), END)

    def _read_outside(self) -> list[int]:
        """Buffers on arrays from outside that the reverse stream reads."""
        listing = self.listing
        read = {
            buffer
            for i in self._backwards
            for j in active_operands(listing, i, self._active)
            for buffer in listing.reads(i, j)
        }
        outside = self.recording.owners.keys() - set(self._inputs)
        return sorted(buffer for buffer in read & outside if buffer not in listing.writers)

    def _add_bindings(self) -> None:
        self.bindings += [Binding(self.outputs[k].shape, self.outputs[k].dtype) for k in self.seeded]
        self.bindings += [self._input_bindings[k] for k in self.purpose.wrt]

    def _place(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        for k, buffer in enumerate((*self._seeded, *self._wrt), len(self._inputs)):
            cotangent[buffer] = binding_address(k)

    def _bind_backwards(self) -> None:
        for buffer, offset in self._frozen():
            self._primal[buffer] = WORKSPACE + offset
        super()._bind_backwards()

    def _frozen(self) -> list[tuple[int, int]]:
        """Buffers of which copies are kept, and where in the workspace these lie."""
        blocks = self._lifetimes.blocks.items()
        return [(buffer, block.offset) for (kind, buffer), block in blocks if kind == _FROZEN]

    def freeze(self, base: int) -> None:
        """Copy what the reverse stream reads of arrays from outside to the workspace at an address."""
        for buffer, offset in self._frozen():
            ctypes.memmove(base + offset, self.listing.primal[buffer], self.listing.bytes[buffer])

    def output_offsets(self) -> list[int]:
        """Where the outputs lie in the workspace."""
        return [self._lifetimes.blocks["primal", buffer].offset for buffer in self._outputs]
