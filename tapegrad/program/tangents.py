"""Programs with tangents: of all outputs along given tangents, or a Jacobian column by column.

The tangents of a buffer lie one after another, each like the buffer. For a Jacobian they are seeded with every
element of the inputs in turn. Where these are few, all go through one stream: which of them can be other than zero
is known for each buffer beforehand (an input that is used element by element, ``b[0]``, ``b[1]``, makes most of
them zero), and nothing is computed for the others; this is seed matrix compression without colouring (Curtis,
Powell and Reid 1974, "On the Estimation of Sparse Jacobian Matrices"). Where they are many, a second stream goes
through them in chunks that stay in the cache.
"""

import math

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels import frame as word
from tapegrad.engine.sweep import jacobian_columns
from tapegrad.engine.tape.layout import F32, OP_LINEAR
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.program import seed_sparsity
from tapegrad.program.memory_plan import END
from tapegrad.program.passes.dead_code import active_buffers, active_operands, live_instructions
from tapegrad.program.program import TANGENT, Program
from tapegrad.program.seed_sparsity import SeedRanges
from tapegrad.program.spec import COLUMNS
from tapegrad.program.stream import Binding, InstructionStream, binding_address
from tapegrad.program.tangent_frames import TangentRow

_FEW_SEEDS = 64  # that go through one stream whatever the size of the buffers
_ONE_STREAM_BYTES = 1 << 18  # of all tangents of a buffer that go through one stream: the cache of one core
_CHUNK_BYTES = 1 << 15  # of a buffer's tangents in a chunk
_MOST_BYTES = 1 << 26

_SEEDERS = {0: jacobian_columns.one_hot_f64, F32: jacobian_columns.one_hot_f32}
_TAKERS = {
    (0, 0): jacobian_columns.columns_f64_f64,
    (0, F32): jacobian_columns.columns_f64_f32,
    (F32, 0): jacobian_columns.columns_f32_f64,
    (F32, F32): jacobian_columns.columns_f32_f32,
}


class TangentProgram(Program):
    """Tangents of outputs, in the first stream together with the primals or, by chunks, in the second.

    Attributes
    ----------
    seed_count
        Seeds of a Jacobian.
    chunk
        How many of them the second stream takes at once; 0 where all go through the first.
    """

    chunk = 0

    # --- choosing ------------------------------------------------------------------------------------------------

    def _choose(self) -> None:
        listing, columns_ = self.listing, self.purpose.kind == COLUMNS
        reached = live_instructions(listing, self._output_slots)
        ends = self._outputs[:1] if columns_ else self._outputs
        self._active = active_buffers(listing, reached, self._wrt, ends)
        self._tangents = [i for i in reached if active_operands(listing, i, self._active)]
        read = [
            b
            for i in self._tangents
            for j in active_operands(listing, i, self._active)
            for b in listing.reads(i, j)
        ]
        self._live = live_instructions(listing, self._output_slots if self.purpose.values else (), read)
        self._choose_seeds()
        self._runs = self._spread_seeds()

    def _choose_seeds(self) -> None:
        """Number the seeds, and choose how many tangents are computed at once."""
        sizes = [math.prod(self._describe(self.recording.inputs[k]).shape) for k in self.purpose.wrt]
        self._first_seed = dict(zip(self._wrt, np.cumsum([0, *sizes]).tolist(), strict=False))
        self._sizes = dict(zip(self._wrt, sizes, strict=True))
        self.seed_count = sum(sizes)
        if self.purpose.kind != COLUMNS:
            self._at_once = 1 if self.purpose.batch is None else self.purpose.batch
            return
        largest = max((self.listing.bytes[b] for b in self._active), default=8)
        together = self.seed_count * max(largest, 8)
        few = self.seed_count <= _FEW_SEEDS and together <= _MOST_BYTES
        if few or together <= _ONE_STREAM_BYTES or not self._active:
            self._at_once = self.seed_count
        else:
            self._at_once = self.chunk = max(1, min(self.seed_count, _CHUNK_BYTES // max(largest, 1)))

    @property
    def _one_hot(self) -> bool:
        """Whether all seeds of a Jacobian go through the first stream."""
        return self.purpose.kind == COLUMNS and self.chunk == 0

    def _spread_seeds(self) -> dict[int, SeedRanges]:
        """For each active buffer the tangents that it has."""
        everything: SeedRanges = ((0, self._at_once),) if self._at_once else ()
        if not self._one_hot:
            return dict.fromkeys(self._active, everything)
        runs: dict[int, SeedRanges] = {}
        for buffer in self._wrt:
            first = self._first_seed[buffer]
            runs[buffer] = ((first, first + self._sizes[buffer]),) if self._sizes[buffer] else ()
        for i in self._tangents:
            result = self.listing.written(i)
            operands = [
                self._operand_runs(i, j, runs) for j in active_operands(self.listing, i, self._active)
            ]
            runs[result] = seed_sparsity.union([runs.get(result, ()), *operands])
        return runs

    def _operand_runs(self, i: int, j: int, runs: dict[int, SeedRanges]) -> SeedRanges:
        """Tangents of an operand that can be other than zero: of an input's those of the elements that it shows."""
        buffer = self.listing.read(i)[j]
        if not self._one_hot or buffer not in self._first_seed:
            return runs[buffer]
        slot = self._describe(self.listing.operands[i][j])
        reach = [s * (e - 1) for s, e in zip(slot.strides, slot.shape, strict=True)]
        if 0 in slot.shape:
            return ()
        low = self.listing.offset[self.listing.operands[i][j]] + sum(min(r, 0) for r in reach)
        high = low + sum(abs(r) for r in reach)
        item, first = slot.dtype.itemsize, self._first_seed[buffer]
        return ((first + low // item, first + high // item + 1),)

    # --- planning ------------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        if self.chunk:
            self._plan_forward()
            for step, i in enumerate(self._tangents, len(self._live)):
                self._plan_tangent(i, step, END)
        else:
            live, tangents = set(self._live), set(self._tangents)
            for i in sorted(live | tangents):
                if i in live:
                    self._plan_primal(i, 2 * i)
                if i in tangents:
                    self._plan_tangent(i, 2 * i + 1, 2 * i + 1)
        self._plan_ends()

    def _plan_tangent(self, i: int, step: int, primal_until: int) -> None:
        listing, lifetimes, result = self.listing, self._lifetimes, self.listing.written(i)
        lifetimes.begin(("tangent", result), self._tangent_bytes(result), step)
        lifetimes.use(("tangent", result), step)
        for j in active_operands(listing, i, self._active):
            lifetimes.use(("tangent", listing.read(i)[j]), step)
            for buffer in listing.reads(i, j):
                lifetimes.use(("primal", buffer), primal_until)

    def _plan_ends(self) -> None:
        """Outputs are ports, but for those of which columns are taken; seeds of chunks lie in the workspace."""
        lifetimes = self._lifetimes
        for buffer in self._outputs:
            if self.purpose.values:
                lifetimes.blocks.pop(("primal", buffer), None)
            if self.purpose.kind != COLUMNS:
                lifetimes.blocks.pop(("tangent", buffer), None)
        if self.purpose.kind == COLUMNS:
            lifetimes.use(("tangent", self._outputs[0]), END)
        if self.chunk:
            for buffer in self._wrt:
                name = ("tangent", buffer)
                lifetimes.begin(name, self.chunk * self.listing.bytes[buffer], len(self._live))
                lifetimes.use(name, END)

    def _tangent_bytes(self, buffer: int) -> int:
        return seed_sparsity.count(self._runs[buffer]) * self.listing.bytes[buffer]

    def _add_bindings(self) -> None:
        lead = () if self.purpose.batch is None else (self.purpose.batch,)
        wrt = [self._input_bindings[k] for k in self.purpose.wrt]
        if self.purpose.kind != COLUMNS:
            self.bindings += [Binding((*lead, *binding.shape), binding.dtype) for binding in wrt]
        self.given = len(self.bindings)
        if self.purpose.values:
            self.bindings += [Binding(d.shape, d.dtype) for d in self.outputs]
        if self.purpose.kind == COLUMNS:
            self.bindings += [
                Binding((*self.outputs[0].shape, *binding.shape), binding.dtype) for binding in wrt
            ]
        else:
            self.bindings += [Binding((*lead, *d.shape), d.dtype) for d in self.outputs]

    def _place(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        if self.purpose.values:
            for k, buffer in enumerate(self._outputs, self.given):
                primal[buffer] = binding_address(k)
        if self._one_hot:
            for buffer in self._wrt:
                cotangent[buffer] = self._identity(buffer)
        if self.purpose.kind != COLUMNS:
            for k, buffer in enumerate(self._wrt, len(self._inputs)):
                cotangent[buffer] = binding_address(k)
            for k, buffer in enumerate(self._outputs, len(self.bindings) - len(self._outputs)):
                cotangent[buffer] = binding_address(k)

    def _identity(self, buffer: int) -> int:
        """Address of the tangents of an input: each is one at one element. They are never written."""
        dtype = self._input_bindings[self._inputs.index(buffer)].dtype
        eye = np.eye(self._sizes[buffer], dtype=dtype)
        self._kept.append(eye)
        return int(eye.ctypes.data)

    # --- binding -------------------------------------------------------------------------------------------------

    def _bind(self) -> None:
        self._begun: set[int] = set()  # buffers with a tangent that an instruction before has written to
        linear = {i for i in self._tangents if kernel_table.op_words(self.listing.op[i])[OP_LINEAR]}
        self._expect(set(self._tangents) - linear, TANGENT)
        if self.chunk:
            super()._bind()
            self._seed_rows(self.reverse)
            for i in self._tangents:
                self._bind_tangent(self.reverse, i)
        else:
            live, tangents = set(self._live), set(self._tangents)
            for i in sorted(live | tangents):
                if i in live:
                    self._bind_forward(i)
                if i in tangents:
                    self._bind_tangent(self.forward, i)
        self._finish(self.reverse if self.chunk else self.forward)

    def _seed_rows(self, stream: InstructionStream) -> None:
        """Rows that seed the inputs' tangents, one for each: the replay tells them which seeds."""
        for buffer in self._wrt:
            frame = stream.next_frame()
            frame[:] = 0
            frame[word.COUNT], frame[word.Y] = self.chunk, self._cotangent[buffer]
            self.parameters(frame, [self._sizes[buffer], self._first_seed[buffer]])
            dtype = DTYPE_CODES[self._input_bindings[self._inputs.index(buffer)].dtype]
            stream.add(kernel_table.address_of(_SEEDERS[dtype]), 0)

    def _finish(self, stream: InstructionStream) -> None:
        """Take columns to the Jacobians, or clear the tangents of outputs that do not depend on the inputs."""
        if self.purpose.kind == COLUMNS:
            first = len(self.bindings) - len(self._wrt)
            for k, buffer in enumerate(self._wrt, first):
                self._take_columns(stream, binding_address(k), buffer)
            return
        for k, buffer in enumerate(self._outputs, len(self.bindings) - len(self._outputs)):
            if buffer not in self._active:
                stream.fill(binding_address(k), self.bindings[k].bytes)

    def _take_columns(self, stream: InstructionStream, address: int, wrt: int) -> None:
        """Write the tangents of the output that are by an input to that Jacobian's columns."""
        output, first, size = self._outputs[0], self._first_seed[wrt], self._sizes[wrt]
        rows, runs = math.prod(self.outputs[0].shape), []
        if self.chunk:
            have: SeedRanges = ((0, self.seed_count),) if output in self._active else ()
        else:
            have = self._runs.get(output, ()) if output in self._active else ()
        for low, high in have:
            low, high = max(low, first), min(high, first + size)
            if low < high:
                runs.append(
                    [low, low - first, low if self.chunk else seed_sparsity.rank(have, low), high - low]
                )
        dtype = self._input_bindings[self._inputs.index(wrt)].dtype
        if sum(run[3] for run in runs) < size and not self.chunk:
            stream.fill(address, rows * size * dtype.itemsize)
        frame = stream.next_frame()
        frame[:] = 0
        frame[word.COUNT] = self.chunk or self.seed_count
        frame[word.X], frame[word.Y] = self._cotangent[output], address
        self.parameters(frame, [rows, size, len(runs), *[value for run in runs for value in run]])
        codes = DTYPE_CODES[self.outputs[0].dtype], DTYPE_CODES[dtype]
        stream.add(kernel_table.address_of(_TAKERS[codes]), 0)

    def _bind_tangent(self, stream: InstructionStream, i: int) -> None:
        """Bind the tangent of instruction `i`: a row for each run of seeds that come through the same operands."""
        listing, result = self.listing, self.listing.written(i)
        operands = {
            j: self._operand_runs(i, j, self._runs) for j in active_operands(listing, i, self._active)
        }
        have, bytes_ = self._runs[result], listing.bytes[result]
        cleared = self._clear_pieces(stream, result)
        template = self._bound(stream, i, TANGENT, 0).copy()
        for first, last, through in seed_sparsity.segments(have, operands):
            place = seed_sparsity.rank(have, first) * bytes_
            if through:
                moved = {j: seed_sparsity.rank(self._runs[listing.read(i)[j]], first) for j in through}
                TangentRow(self, i, template, moved, place, last - first).add(stream)
            elif not cleared:
                stream.fill(int(self._cotangent[result]) + place, (last - first) * bytes_)

    def _clear_pieces(self, stream: InstructionStream, result: int) -> bool:
        """Clear the tangents of a buffer that several instructions write, if some of them write only a part."""
        writers = self.listing.writers[result]
        if len(writers) == 1:
            return False
        if result not in self._begun:
            self._begun.add(result)
            if not all(self._reaches_all(i) for i in writers):
                stream.fill(int(self._cotangent[result]), self._tangent_bytes(result))
        return True

    def _reaches_all(self, i: int) -> bool:
        """Whether instruction `i` writes to every tangent that its result's buffer has."""
        active = active_operands(self.listing, i, self._active)
        operands = {j: self._operand_runs(i, j, self._runs) for j in active}
        return all(
            through for *_, through in seed_sparsity.segments(self._runs[self.listing.written(i)], operands)
        )
