"""The program of a pullback: one forward stream, and a reverse stream that may run any number of times after it.

What the reverse stream reads stays as the forward stream found it: primals in the workspace, and copies of those
arrays from outside that may be written to meanwhile.
"""

import ctypes

import numpy as np

from tapegrad.engine.tape.view import View
from tapegrad.program.gradient import ReverseProgram
from tapegrad.program.memory_plan import END
from tapegrad.program.stream import WORKSPACE, binding_address

_FROZEN = "frozen"  # blocks for copies of arrays from outside


class PullbackProgram(ReverseProgram):
    """All outputs, and cotangents of inputs for given ones of the outputs.

    The bindings are the inputs, the cotangents of outputs, which are written to, and those of the inputs. It is run
    by `transforms.primals`, in two calls.

    Attributes
    ----------
    seeded
        Numbers of the outputs that have cotangents: those of floats.
    """

    def _select(self) -> None:
        self.seeded = [k for k, output in enumerate(self.outputs) if output.dtype.kind == "f"]
        self._seeded = [self._outputs[k] for k in self.seeded]
        self._select_backwards()

    def _plan(self) -> None:
        self._plan_forward()
        for buffer in self._outputs:
            self._memory.use(("primal", buffer), END)
        self._plan_backwards(keep=True)
        for buffer in self._read_outside():
            self._memory.begin((_FROZEN, buffer), self.tape.bytes(buffer), 0)
            self._memory.use((_FROZEN, buffer), END)

    def _read_outside(self) -> list[int]:
        """Buffers on arrays from outside that the reverse stream reads."""
        tape = self.tape
        read = {
            buffer
            for i, operands in self._backwards.items()
            for j in operands
            for buffer in tape.saved_for_backward(i, j)
        }
        outside = self.recording.owners.keys() - set(self._inputs)
        return sorted(buffer for buffer in read & outside if buffer not in tape.writers)

    def _add_bindings(self) -> None:
        seeds = [self.outputs[k] for k in self.seeded]
        self.bindings += [View.in_c_order(seed.shape, seed.dtype) for seed in seeds]
        self.bindings += [self._input_bindings[k] for k in self.spec.wrt]

    def _set_addresses(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        for k, buffer in enumerate((*self._seeded, *self._wrt), len(self._inputs)):
            cotangent[buffer] = binding_address(k)

    def _bind_backwards(self) -> None:
        for buffer, offset in self._frozen():
            self._primal[buffer] = WORKSPACE + offset
        super()._bind_backwards()

    def _frozen(self) -> list[tuple[int, int]]:
        """Buffers of which copies are kept, and their offsets in the workspace."""
        blocks = self._memory.blocks.items()
        return [(buffer, block.offset) for (kind, buffer), block in blocks if kind == _FROZEN]

    def freeze(self, base: int) -> None:
        """Copy what the reverse stream reads of arrays from outside to the workspace at an address."""
        for buffer, offset in self._frozen():
            ctypes.memmove(base + offset, self.tape.buffers[buffer].primal, self.tape.bytes(buffer))

    def workspace_outputs(self) -> list[tuple[int, View]]:
        offsets = [self._memory.blocks["primal", buffer].offset for buffer in self._outputs]
        return list(zip(offsets, self.outputs, strict=True))
