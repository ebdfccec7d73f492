"""The program of a pullback: one forward stream, and a reverse stream that may run any number of times after it.

What the reverse stream reads stays as the forward stream found it: primals in the workspace, and copies of those
arrays from outside that may be written to meanwhile.
"""

import ctypes
from typing import ClassVar

import numpy as np

from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.program.fusion.streams import UnfusedStream, fused
from tapegrad.program.programs.gradient import ReverseProgram
from tapegrad.program.streams.stream import binding_address, empty_stream, joined


class PullbackProgram(ReverseProgram):
    """Program of all outputs, and of the cotangents of inputs for given ones of the outputs.

    The bindings are the inputs, the cotangents of outputs, which are written to, and those of the inputs. It is run
    by `transforms.primals`, in two calls.

    Attributes
    ----------
    seeded
        Numbers of the outputs that have cotangents: those of floats and complex numbers.
    """

    _frozen: dict[
        int, int
    ]  # buffers of arrays from outside of which copies are kept, and the addresses of these

    def _select(self) -> None:
        self.seeded = [
            k for k, output in enumerate(self.outputs) if output.dtype.kind in DIFFERENTIABLE_KINDS
        ]
        self._seeded = [self._outputs[k] for k in self.seeded]
        self._select_backwards()

    def _allocate(self) -> None:
        self._allocate_primals()
        self._allocate_cotangents()
        outside = self._read_outside()
        addresses = self._blocks.new(self.tape.columns.bytes[outside])
        self._frozen = dict(zip(outside.tolist(), addresses.tolist(), strict=True))

    def _kept_addresses(self) -> list[int]:
        return [int(self._primal[buffer]) for buffer in self._outputs]

    def _keep_blocks(self) -> None:
        self._blocks.keep(self._frozen.values(), 0, self._end)
        self._blocks.keep(self._primal[self._outputs], len(self.forward), self._end)
        self._blocks.keep_over(len(self.forward), self._end)

    def _read_outside(self) -> np.ndarray:
        """Buffers on arrays from outside that the reverse stream reads."""
        columns = self.tape.columns
        outside = list(self.recording.owners.keys() - set(self._inputs))
        read = np.intersect1d(columns.buffer[self._saved_slots()], np.array(outside, np.int64))
        found: np.ndarray = read[columns.writers[read] == 0]
        return found

    def _add_bindings(self) -> None:
        seeds = [self.outputs[k] for k in self.seeded]
        self.bindings += [View.in_c_order(seed.shape, seed.dtype) for seed in seeds]
        self.bindings += [self._input_bindings[k] for k in self.spec.wrt]

    def _set_addresses(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        for k, buffer in enumerate((*self._seeded, *self._wrt), len(self._inputs)):
            cotangent[buffer] = binding_address(k)

    def _bind_backwards(self) -> None:
        for buffer, address in self._frozen.items():
            self._primal[buffer] = address
        super()._bind_backwards()

    def freeze(self, base: int) -> None:
        """Copy what the reverse stream reads of arrays from outside to the workspace at an address."""
        for buffer, address in self._frozen.items():
            offset = self._offset(address)
            ctypes.memmove(base + offset, self.tape.buffers[buffer].primal, self.tape.bytes(buffer))

    def workspace_outputs(self) -> list[tuple[int, View]]:
        offsets = self._blocks.offsets(self._primal[self._outputs]).tolist()
        return list(zip(offsets, self.outputs, strict=True))


class WholePullbackProgram(PullbackProgram):
    """Program of the cotangents of inputs alone, for cotangents of the float outputs that are given with the inputs.

    Both streams run at once, so that they may be fused to one, and nothing is frozen between them.
    """

    entry: ClassVar[str] = "replay_both"

    def _select(self) -> None:
        super()._select()
        self._frozen = {}

    def _allocate(self) -> None:
        self._allocate_primals()
        self._allocate_cotangents()

    def _kept_addresses(self) -> list[int]:
        return []

    def _keep_blocks(self) -> None:
        return

    def _add_bindings(self) -> None:
        seeds = [self.outputs[k] for k in self.seeded]
        self.bindings += [View.in_c_order(seed.shape, seed.dtype) for seed in seeds]
        self.given = len(self.bindings)
        self.bindings += [self._input_bindings[k] for k in self.spec.wrt]

    def _fuse(self, fusion: str) -> bool:
        """Fuse both streams to one."""
        found = fused(
            [UnfusedStream(joined([self.forward, self.reverse]))],
            self._blocks,
            [],
            fusion,
            self._unchanging_lists(),
        )
        if found is not None:
            self.forward, self.reverse = found[0], empty_stream()
        return found is not None

    def workspace_outputs(self) -> list[tuple[int, View]]:
        return []
