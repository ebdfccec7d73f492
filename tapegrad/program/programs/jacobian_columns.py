"""The program of a Jacobian column by column; `tangents` says how its seeds are numbered and spread."""

import math
from typing import ClassVar

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.sweep.derivatives import jacobian_columns
from tapegrad.engine.sweep.replays import replay
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.program.passes import seed_sparsity
from tapegrad.program.passes.seed_sparsity import SeedRanges
from tapegrad.program.programs.program import Recording
from tapegrad.program.programs.tangents import TangentProgram
from tapegrad.program.streams.edited_stream import EditedStream
from tapegrad.program.streams.spec import NEVER, ProgramSpec
from tapegrad.program.streams.stream import binding_address, empty_stream, joined

_MAX_SINGLE_STREAM_SEEDS = 64  # that go through one stream whatever the size of the buffers
_ONE_STREAM_BYTES = 1 << 18  # of all tangents of a buffer that go through one stream: the cache of one core
_CHUNK_BYTES = 1 << 15  # of a buffer's tangents in a chunk
_MAX_BYTES = 1 << 26


def dtype_names(*views: View) -> str:
    """Return the names of dtypes by which `jacobian_columns` has kernels: of the output, then of the input."""
    return "".join(kernel_table.DTYPE_NAMES[DTYPE_CODES[view.dtype]] for view in views)


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
    _has_one_seed: ClassVar[bool] = False
    _lanes = 1  # elements of an input, side by side, that each seed is one at

    def __init__(self, recording: Recording, tape: TapeView, spec: ProgramSpec, fusion: str = NEVER) -> None:
        views = [self._of_instance(tape.slots[tape.inputs[k]].view) for k in spec.wrt]
        buffers = [tape.slots[tape.inputs[k]].buffer for k in spec.wrt]
        firsts = np.cumsum([0, *(view.size for view in views)]).tolist()
        self._first_seed = dict(zip(buffers, firsts, strict=False))
        self._by = dict(zip(buffers, views, strict=True))  # the inputs by buffer
        self.seed_count = self._count_seeds(firsts[-1], spec)
        self.chunk = 0
        super().__init__(recording, tape, spec, fusion)

    # --- selecting -----------------------------------------------------------------------------------------------

    def _count_seeds(self, elements: int, spec: ProgramSpec) -> int:
        """Return the number of seeds, given that of the elements of all inputs."""
        return elements

    def _seeds_of(self, buffer: int, first: int, count: int) -> SeedRanges:
        """Return the seeds of `count` elements of an input."""
        return seed_sparsity.ranges_of(self._first_seed[buffer] + first, count)

    def _differentiated(self) -> list[int]:
        return self._outputs[:1]

    def _choose_chunk(self) -> int:
        """Return how many seeds a second stream takes at once; 0 if all go through the first."""
        largest = int(self.tape.columns.bytes[self._active].max(initial=0)) if self._active.any() else 8
        together = self.seed_count * max(largest, 8)
        few = self.seed_count <= _MAX_SINGLE_STREAM_SEEDS and together <= _MAX_BYTES
        if few or together <= _ONE_STREAM_BYTES or not self._active.any():
            return 0
        return max(1, min(self.seed_count, _CHUNK_BYTES // max(largest, 1)))

    def _spread_seeds(self) -> dict[int, SeedRanges]:
        self.chunk = self._choose_chunk()
        if self.chunk:
            return dict.fromkeys(self._active_buffers(), seed_sparsity.ranges_of(0, self.chunk))
        seeds = {buffer: self._seeds_of(buffer, 0, view.size) for buffer, view in self._by.items()}
        for i, operands in self._tangents.items():
            result = int(self.tape.columns.written[i])
            through = [self._operand_seeds(i, j, seeds) for j in operands]
            seeds[result] = seed_sparsity.union([seeds.get(result, ()), *through])
        return seeds

    def _operand_seeds(self, i: int, j: int, seeds: dict[int, SeedRanges]) -> SeedRanges:
        """Return the seeds of the elements of an input that the operand reaches."""
        slot = self.tape.operands(i)[j]
        if self.chunk or slot.buffer not in self._first_seed:
            return seeds[slot.buffer]
        first, end = slot.view.bounds
        bytes_ = (
            self._by[slot.buffer].itemsize * self._lanes
        )  # of an element of the input, however it is seen
        return self._seeds_of(slot.buffer, first // bytes_, (end - first) // bytes_)

    # --- planning ------------------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        if not self.chunk:
            super()._allocate()
            return
        self._allocate_primals()
        self._allocate_tangents()
        sizes = [self.chunk * self.tape.bytes(buffer) for buffer in self._wrt]
        self._cotangent[self._wrt] = self._blocks.new(sizes)

    def _keep_blocks(self) -> None:
        if self.chunk:
            self._blocks.keep_over(len(self.forward), self._end)

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
        eye = np.eye(self._by[buffer].size, dtype=self._by[buffer].dtype).repeat(self._lanes, axis=1)
        self._kept.append(eye)
        return int(eye.ctypes.data)

    def workspace_fields(self, base: int) -> dict[int, int]:
        return {
            **super().workspace_fields(base),
            replay.CHUNK: self.chunk,
            replay.SEED_COUNT: self.seed_count,
        }

    # --- binding instructions ------------------------------------------------------------------------------------

    def _bind(self) -> None:
        edges = EditedStream(empty_stream())
        if self.chunk:
            self._bind_forward()
            self._add_seeds(edges)
            streams = [edges.made(), self._bound(self._derived, np.ones(len(self._derived), np.bool_))]
        else:
            streams = [self._bound_together()]
        edges = EditedStream(empty_stream())
        for k, buffer in enumerate(self._wrt, len(self.bindings) - len(self._wrt)):
            self._take_columns(edges, binding_address(k), buffer)
        stream = joined([*streams, edges.made()])
        if self.chunk:
            self.reverse = stream
        else:
            self.forward = stream

    def _add_seeds(self, edited: EditedStream) -> None:
        """Add what seeds each input's tangents: the replay tells which seeds of a chunk."""
        for buffer in self._wrt:
            params = edited.parameters([self._by[buffer].size, self._first_seed[buffer]])
            fields = {field.COUNT: self.chunk, field.Y: int(self._cotangent[buffer]), field.PARAMS: params}
            one_hot = jacobian_columns.ONE_HOT[dtype_names(self._by[buffer])]
            edited.add_plain(fields, kernel_table.address_of(one_hot))

    def _take_columns(self, edited: EditedStream, address: int, wrt: int) -> None:
        """Write the output's tangents along an input's seeds to the columns of that Jacobian; the others are zeros."""
        rows, columns = math.prod(self.outputs[0].shape), self._by[wrt]
        ranges = self._columns_of(wrt)
        if sum(count for *_, count in ranges) < columns.size and not self.chunk:
            edited.fill(address, rows * columns.nbytes)
        params = [rows, columns.size, len(ranges), *(value for each in ranges for value in each)]
        fields = {
            field.COUNT: self.chunk or self.seed_count,
            field.X: int(self._cotangent[self._outputs[0]]),
            field.Y: address,
            field.PARAMS: edited.parameters(params),
        }
        # A kernel that casts is less than a cast of the finished array, which every way to a Jacobian would need.
        taker = jacobian_columns.COLUMNS[dtype_names(self.outputs[0], columns)]
        edited.add_plain(fields, kernel_table.address_of(taker))

    def _columns_of(self, wrt: int) -> list[tuple[int, int, int, int]]:
        """Return each range of an input's seeds that the output has: first seed, column, index among all, count."""
        output, first, size = self._outputs[0], self._first_seed[wrt], self._by[wrt].size
        if not self._active[output]:
            return []
        seeds = seed_sparsity.ranges_of(0, self.seed_count) if self.chunk else self._seeds[output]
        found = []
        for low, high in seeds:
            low, high = max(low, first), min(high, first + size)
            if low < high:
                found.append((low, low - first, seed_sparsity.index_of(seeds, low), high - low))
        return found


class ColumnsProgram(ForwardJacobianProgram):
    """The outputs, and the tangents of the first one left in the workspace: the columns of its Jacobian."""

    def _choose_chunk(self) -> int:
        return 0

    def _add_bindings(self) -> None:
        self._add_values()

    def _bind(self) -> None:
        self.forward = self._bound_together()

    def _kept_addresses(self) -> list[int]:
        output = self._outputs[0]
        return [int(self._cotangent[output])] if self._active[output] else []

    def _keep_blocks(self) -> None:
        self._blocks.keep(self._kept_addresses(), len(self.forward), self._end)

    def column_offsets(self) -> list[int]:
        """Return the offset in the workspace of the tangents along each seed; -1 for zeros."""
        output = self._outputs[0]
        offsets = [-1] * self.seed_count
        for address in self._kept_addresses():
            begin, bytes_, seeds = self._offset(address), self.tape.bytes(output), self._seeds[output]
            for seed in (seed for low, high in seeds for seed in range(low, high)):
                offsets[seed] = begin + bytes_ * seed_sparsity.index_of(seeds, seed)
        return offsets
