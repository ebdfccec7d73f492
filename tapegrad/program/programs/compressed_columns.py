"""The program of a dense Jacobian whose columns share tangents: their seeds are colours.

A colour's seed is one at all elements of the inputs that have the colour. Entries are brought from the tangents to
their places, and all others are exact zeros.
"""

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.sweep.derivatives import jacobian_columns
from tapegrad.program.passes import seed_sparsity
from tapegrad.program.passes.seed_sparsity import SeedRanges
from tapegrad.program.programs.jacobian_columns import ForwardJacobianProgram, dtype_names
from tapegrad.program.streams.edited_stream import EditedStream
from tapegrad.program.streams.spec import ProgramSpec


class CompressedJacobianProgram(ForwardJacobianProgram):
    """The Jacobian of the first output, a tangent for each colour of the columns."""

    def _count_seeds(self, elements: int, spec: ProgramSpec) -> int:
        assert spec.shared is not None
        self._shared = spec.shared
        return self._shared.count

    def _seeds_of(self, buffer: int, first: int, count: int) -> SeedRanges:
        begin = self._first_seed[buffer] + first
        colours = np.unique(self._shared.colours[begin : begin + count]).tolist()
        return seed_sparsity.union([seed_sparsity.ranges_of(c, 1) for c in colours if c >= 0])

    def _choose_chunk(self) -> int:
        return 0

    def _identity(self, buffer: int) -> int:
        """Address of the tangents of an input along its colours."""
        view, first = self._by[buffer], self._first_seed[buffer]
        seeds = [seed for low, high in self._seeds[buffer] for seed in range(low, high)]
        ones = self._shared.colours[first : first + view.size] == np.array(seeds, np.int64)[:, None]
        tangents = ones.astype(view.dtype).repeat(self._lanes, axis=1)
        self._kept.append(tangents)
        return int(tangents.ctypes.data)

    def _take_columns(self, edited: EditedStream, address: int, wrt: int) -> None:
        """Clear the Jacobian by an input, and write its entries."""
        edited.fill(address, self.outputs[0].size * self._by[wrt].nbytes)
        entries = self._entries_of(wrt)
        fields = {
            field.COUNT: entries.shape[1],
            field.X: int(self._cotangent[self._outputs[0]]),
            field.Y: address,
            field.PARAMS: edited.parameters(np.concatenate([[entries.shape[1]], *entries])),
        }
        mover = jacobian_columns.ENTRIES[dtype_names(self.outputs[0], self._by[wrt])]
        edited.add_plain(fields, kernel_table.address_of(mover))

    def _entries_of(self, wrt: int) -> np.ndarray:
        """Return for each entry by an input its element of the tangents and that of the Jacobian, (2, n) int64.

        Entries whose colour does not reach the output are zeros, and left out.
        """
        first, size, shared = self._first_seed[wrt], self._by[wrt].size, self._shared
        places = np.full(shared.count + 1, -1)  # by colour; the last one is of columns without a colour
        seeds = self._seeds.get(self._outputs[0], ())
        reaching = [seed for low, high in seeds for seed in range(low, high)]
        places[reaching] = np.arange(len(reaching))
        found = places[shared.colours[shared.columns]]
        own = np.flatnonzero((shared.columns >= first) & (shared.columns < first + size) & (found >= 0))
        rows, columns = shared.rows[own], shared.columns[own]
        tangents = found[own] * self._of_instance(self.outputs[0]).size + rows
        return np.stack([tangents, rows * size + columns - first])
