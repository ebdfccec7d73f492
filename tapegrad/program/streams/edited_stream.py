"""Builder of streams from bound instructions: repeats them with other fields, inserts kernels without an op."""

from collections.abc import Mapping, Sequence

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.lines.fill import zero_fill
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.program.streams.stream import RUN_FORWARD, InstructionStream, is_one_line, joined, sums


class EditedStream:
    """A stream that is made row by row.

    Parameters
    ----------
    bound
        The rows that it is made of.
    """

    def __init__(self, bound: InstructionStream) -> None:
        self.bound = bound
        self._sums, self._lines = sums(bound).tolist(), is_one_line(bound).tolist()
        self._taken: list[int] = []  # for each row the number of its bound instruction
        self._fields: list[tuple[int, int, int]] = []  # row, field, value
        self._kernels: list[tuple[int, int]] = []  # of rows of no op
        self._kept: list[np.ndarray] = []
        self._zeros: dict[int, int] = {}

    def add(self, k: int, fields: Mapping[int, int], kernel: int = 0) -> None:
        """Add bound instruction `k` with other fields; with `kernel`, one that belongs to no op."""
        row = len(self._taken)
        self._fields += [(row, at, value) for at, value in fields.items()]
        if kernel:
            self._kernels.append((row, kernel))
        self._taken.append(k)

    def add_as_bound(self, first: int, last: int) -> None:
        """Add bound instructions `first` to `last` - 1 as they are."""
        self._taken += range(first, last)

    def begun_sum(self, k: int, address: int, bytes_: int) -> dict[int, int]:
        """Let bound row `k` begin at zero, if it is a sum. Return the fields that say so, or none behind a fill."""
        if not self._sums[k]:
            return {}
        if self._lines[k]:
            return {field.STORE: int(self.bound.frames[k, field.STORE]) | 1}
        self.fill(address, bytes_)
        return {}

    def fill(self, address: int, bytes_: int) -> None:
        """Add a row that sets memory to zero."""
        self.add_plain({field.COUNT: bytes_, field.Y_BAR: address}, kernel_table.address_of(zero_fill))

    def add_plain(self, fields: Mapping[int, int], kernel: int) -> None:
        """Add a row of no op, whose frame has these fields alone."""
        self.add(-1, fields, kernel)

    def parameters(self, values: Sequence[int] | np.ndarray) -> int:
        """Return the address of parameters."""
        self._kept.append(np.array(values, np.int64))
        return int(self._kept[-1].ctypes.data)

    def zeros(self, bytes_: int) -> int:
        """Return the address of zeros, for operands without a tangent."""
        if bytes_ not in self._zeros:
            self._zeros[bytes_] = self.parameters([0] * (bytes_ // 8 + 1))
        return self._zeros[bytes_]

    def made(self) -> InstructionStream:
        """Return the stream."""
        blank = InstructionStream(np.zeros((1, field.FIELDS), np.int64))
        stream = joined([self.bound, blank]).taking(self._taken)
        if self._fields:
            rows, fields, values = np.array(self._fields, np.int64).T
            stream.frames[rows, fields] = values
        for row, kernel in self._kernels:
            stream.op[row], stream.direction[row] = NONE, RUN_FORWARD
            stream.kernels[row] = kernel
            stream.elements[row] = stream.frames[row, field.COUNT]
        stream.kept += self._kept
        return stream
