"""The program of a Jacobian column by column; `tangents` says how its seeds are numbered and spread."""

import math
from typing import ClassVar

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels import frame as word
from tapegrad.engine.sweep import jacobian_columns, replay
from tapegrad.engine.tape.layout import F32, F64
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.engine.tape.view import View
from tapegrad.engine.tape_view import TapeView
from tapegrad.program import seed_sparsity
from tapegrad.program.memory_plan import END
from tapegrad.program.recording import RecordedTape
from tapegrad.program.seed_sparsity import SeedRanges
from tapegrad.program.spec import ProgramSpec
from tapegrad.program.stream import InstructionStream, binding_address
from tapegrad.program.tangents import TangentProgram

_FEW_SEEDS = 64  # that go through one stream whatever the size of the buffers
_ONE_STREAM_BYTES = 1 << 18  # of all tangents of a buffer that go through one stream: the cache of one core
_CHUNK_BYTES = 1 << 15  # of a buffer's tangents in a chunk
_MOST_BYTES = 1 << 26

_SEEDERS = {F64: jacobian_columns.one_hot_f64, F32: jacobian_columns.one_hot_f32}
# By the dtypes of output and input. Kernels that cast are less than a cast of the finished array, which every way
# to a Jacobian would have to know of.
_TAKERS = {
    (F64, F64): jacobian_columns.columns_f64_f64,
    (F64, F32): jacobian_columns.columns_f64_f32,
    (F32, F64): jacobian_columns.columns_f32_f64,
    (F32, F32): jacobian_columns.columns_f32_f32,
}


class ForwardJacobianProgram(TangentProgram):
    """The Jacobian of the first output, one column for each element of the inputs.

    Attributes
    ----------
    seed_count
        Elements of the inputs that are differentiated by.
    chunk
        How many seeds the second stream takes at once; 0 where all go through the first.
    """

    entry: ClassVar[str] = "replay_tangents"

    def __init__(self, recording: RecordedTape, tape: TapeView, spec: ProgramSpec) -> None:
        views = [tape.slots[tape.inputs[k]].view for k in spec.wrt]
        buffers = [tape.slots[tape.inputs[k]].buffer for k in spec.wrt]
        firsts = np.cumsum([0, *(view.size for view in views)]).tolist()
        self._first_seed = dict(zip(buffers, firsts, strict=False))
        self._by = dict(zip(buffers, views, strict=True))  # the inputs by buffer
        self.seed_count: int = firsts[-1]
        self.chunk = 0
        super().__init__(recording, tape, spec)

    # --- selecting -----------------------------------------------------------------------------------------------

    def _differentiated(self) -> list[int]:
        return self._outputs[:1]

    def _choose_chunk(self) -> int:
        """How many seeds a second stream takes at once; 0 if all go through the first."""
        largest = max((self.tape.bytes(buffer) for buffer in self._active), default=8)
        together = self.seed_count * max(largest, 8)
        few = self.seed_count <= _FEW_SEEDS and together <= _MOST_BYTES
        if few or together <= _ONE_STREAM_BYTES or not self._active:
            return 0
        return max(1, min(self.seed_count, _CHUNK_BYTES // max(largest, 1)))

    def _spread_seeds(self) -> dict[int, SeedRanges]:
        self.chunk = self._choose_chunk()
        if self.chunk:
            return dict.fromkeys(self._active, seed_sparsity.ranges_of(0, self.chunk))
        seeds = {
            buffer: seed_sparsity.ranges_of(first, self._by[buffer].size)
            for buffer, first in self._first_seed.items()
        }
        for i, operands in self._tangents.items():
            result = self.tape.written[i]
            through = [self._operand_seeds(i, j, seeds) for j in operands]
            seeds[result] = seed_sparsity.union([seeds.get(result, ()), *through])
        return seeds

    def _operand_seeds(self, i: int, j: int, seeds: dict[int, SeedRanges]) -> SeedRanges:
        """Of an input, the seeds of the elements that the operand reaches."""
        slot = self.tape.operands(i)[j]
        if self.chunk or slot.buffer not in self._first_seed:
            return seeds[slot.buffer]
        first, end = slot.view.bounds
        begin = self._first_seed[slot.buffer] + first // slot.itemsize
        return seed_sparsity.ranges_of(begin, (end - first) // slot.itemsize)

    # --- planning ------------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        if self.chunk:
            self._plan_chunks()
        else:
            self._plan_together()
        if self.spec.values:
            self._bind_outputs("primal")
        self._memory.use(("tangent", self._outputs[0]), END)

    def _plan_chunks(self) -> None:
        """Plan a second stream, which runs again and again: all primals that it reads stay, and so do the seeds."""
        self._plan_forward()
        for step, i in enumerate(self._tangents, len(self._live)):
            self._plan_tangent(i, step, END)
        for buffer in self._wrt:
            name = ("tangent", buffer)
            self._memory.begin(name, self.chunk * self.tape.bytes(buffer), len(self._live))
            self._memory.use(name, END)

    # --- bindings ------------------------------------------------------------------------------------------------

    def _add_bindings(self) -> None:
        self._add_values()
        for binding in (self._input_bindings[k] for k in self.spec.wrt):
            self.bindings.append(View.in_c_order((*self.outputs[0].shape, *binding.shape), binding.dtype))

    def _set_addresses(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        self._set_values(primal)
        if not self.chunk:
            for buffer in self._wrt:
                cotangent[buffer] = self._identity(buffer)

    def _identity(self, buffer: int) -> int:
        """Address of the tangents of an input: each is one at one element. They are never written."""
        eye = np.eye(self._by[buffer].size, dtype=self._by[buffer].dtype)
        self._kept.append(eye)
        return int(eye.ctypes.data)

    def workspace_words(self, base: int) -> dict[int, int]:
        return {
            **super().workspace_words(base),
            replay.CHUNK: self.chunk,
            replay.SEED_COUNT: self.seed_count,
        }

    # --- binding instructions ------------------------------------------------------------------------------------

    def _bind(self) -> None:
        self._expect_tangents()
        if self.chunk:
            for i in self._live:
                self._bind_forward(i)
            self._bind_seeds(self.reverse)
            for i in self._tangents:
                self._bind_tangent(self.reverse, i)
        else:
            self._bind_together()
        for k, buffer in enumerate(self._wrt, len(self.bindings) - len(self._wrt)):
            self._take_columns(self.reverse if self.chunk else self.forward, binding_address(k), buffer)

    def _bind_seeds(self, stream: InstructionStream) -> None:
        """Begin a stream with what seeds each input's tangents: the replay tells which seeds of a chunk."""
        for buffer in self._wrt:
            frame = stream.next_frame()
            frame[:] = 0
            frame[word.COUNT], frame[word.Y] = self.chunk, self._cotangent[buffer]
            self.parameters(frame, [self._by[buffer].size, self._first_seed[buffer]])
            stream.add(kernel_table.address_of(_SEEDERS[DTYPE_CODES[self._by[buffer].dtype]]), 0)

    def _take_columns(self, stream: InstructionStream, address: int, wrt: int) -> None:
        """Write the output's tangents along an input's seeds to the columns of that Jacobian; the others are zeros."""
        rows, columns = math.prod(self.outputs[0].shape), self._by[wrt]
        ranges = self._columns_of(wrt)
        if sum(count for *_, count in ranges) < columns.size and not self.chunk:
            stream.fill(address, rows * columns.nbytes)
        frame = stream.next_frame()
        frame[:] = 0
        frame[word.COUNT] = self.chunk or self.seed_count
        frame[word.X], frame[word.Y] = self._cotangent[self._outputs[0]], address
        self.parameters(
            frame, [rows, columns.size, len(ranges), *(value for each in ranges for value in each)]
        )
        codes = DTYPE_CODES[self.outputs[0].dtype], DTYPE_CODES[columns.dtype]
        stream.add(kernel_table.address_of(_TAKERS[codes]), 0)

    def _columns_of(self, wrt: int) -> list[tuple[int, int, int, int]]:
        """For each range of an input's seeds that the output has: first seed, column, index among all, how many."""
        output, first, size = self._outputs[0], self._first_seed[wrt], self._by[wrt].size
        if output not in self._active:
            return []
        seeds = seed_sparsity.ranges_of(0, self.seed_count) if self.chunk else self._seeds[output]
        found = []
        for low, high in seeds:
            low, high = max(low, first), min(high, first + size)
            if low < high:
                found.append((low, low - first, seed_sparsity.index_of(seeds, low), high - low))
        return found
