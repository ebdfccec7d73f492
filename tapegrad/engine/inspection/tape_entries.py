"""The entries of a copied tape: columns of numbers, from which Python's objects are made where one is asked for.

Passes and programs work on the columns, for a recording may have millions of entries; the verifier and printing ask
for the objects.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from tapegrad.engine.inspection.view_columns import Views
from tapegrad.engine.runtime.lazy import lazy
from tapegrad.engine.tape.copy_tape import BUFFER_FIELDS, INSTRUCTION_FIELDS, SLOT_FIELDS
from tapegrad.engine.tape.fields.layout import DEAD_OP, DIFFERENTIABLE, MAX_NDIM, NONE
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPES

_UNKNOWN = np.dtype("V1")  # of a slot whose dtype code does not exist


class TapeEntry(NamedTuple):
    """An instruction: op code (negative: dead), slots, address of the parameters, mark, the parameters themselves."""

    op: int
    result: int
    operands: tuple[int, ...]
    address: int = 0
    mark: int = 0
    params: tuple[int, ...] = ()


class Slot(NamedTuple):
    """A slot: a view on a buffer. Dtype code, dimensions and references are those of the columns."""

    buffer: int
    dtype: int
    ndim: int
    address: int  # of extents and strides
    refs: int
    view: View

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.view.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides in bytes."""
        return self.view.strides

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.view.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.view.itemsize

    @property
    def contiguous(self) -> bool:
        """True if the elements are contiguous in C order."""
        return self.view.contiguous


class Buffer(NamedTuple):
    """A buffer: memory of a primal and a cotangent, and who needs it."""

    primal: int
    cotangent: int
    bytes: int
    users: int
    tensor_refs: int
    saved_for_backward: int
    producer: int
    flags: int
    content: int  # the first eight bytes, if there are no more
    in_history: int = 0  # 1: its contents, those before an in-place write, are in a history

    @property
    def differentiable(self) -> bool:
        """True if derivatives flow through the buffer."""
        return self.flags & DIFFERENTIABLE != 0


class TapeEntries(Sequence[TapeEntry]):
    """Instructions by number.

    Parameters
    ----------
    lines
        A line of fields for each: op, result, three operands, address of the parameters, mark, and where the parameters
        are in `pool`, and how many.
    """

    def __init__(self, lines: np.ndarray, pool: np.ndarray) -> None:
        self.lines = lines
        self.pool = pool

    @lazy
    def _objects(self) -> tuple[TapeEntry, ...]:
        return tuple(map(self._made, self.lines.tolist()))

    def _made(self, line: list[int]) -> TapeEntry:
        op, result, a, b, c, address, mark, position, length = line
        operands = (a, b, c) if c != NONE else (a, b) if b != NONE else (a,) if a != NONE else ()
        params = self.pool[position : position + length].tolist() if length else ()
        return TapeEntry(op, result, operands, address, mark, tuple(params))

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, i: int) -> TapeEntry: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[TapeEntry]: ...
    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice) or "_objects" in vars(self):
            return self._objects[i]
        return self._made(self.lines[i].tolist())

    def __iter__(self) -> Iterator[TapeEntry]:
        return iter(self._objects)

    @classmethod
    def of(cls, instructions: Sequence[TapeEntry]) -> "TapeEntries":
        """Return the instructions that may be objects, as columns."""
        if isinstance(instructions, TapeEntries):
            return instructions
        lines, pool = [], list[int]()
        for each in instructions:
            operands = (*each.operands, NONE, NONE, NONE)[:3]
            lines.append((*each[:2], *operands, *each[3:5], len(pool), len(each.params)))
            pool += each.params
        return cls(np.array(lines, np.int64).reshape(-1, INSTRUCTION_FIELDS), np.array(pool, np.int64))

    def only(self, numbers: np.ndarray) -> "TapeEntries":
        """Return the entries with all dead but some."""
        ops = np.full(len(self.lines), DEAD_OP)
        ops[numbers] = self.lines[numbers, 0]
        return self.with_ops(ops)

    def with_ops(self, ops: np.ndarray) -> "TapeEntries":
        """Return the entries with other op codes."""
        lines = self.lines.copy()
        lines[:, 0] = ops
        return TapeEntries(lines, self.pool)


class Slots(Mapping[int, Slot]):
    """Slots in use, by number.

    Parameters
    ----------
    lines
        A line of fields for each: number, buffer, dtype code, dimensions, offset, address of extents and strides,
        references, and where extents and strides are in `pool`.
    """

    def __init__(self, lines: np.ndarray, pool: np.ndarray) -> None:
        self.lines = lines
        self.pool = pool

    @lazy
    def _objects(self) -> dict[int, Slot]:
        return {line[0]: self._made(line) for line in self.lines.tolist()}

    def _made(self, line: list[int]) -> Slot:
        _, buffer, dtype, ndim, offset, address, refs, position = line
        known = ndim if address != 0 and 0 < ndim <= MAX_NDIM else 0
        fields = self.pool[position : position + 2 * known].tolist() if known else ()
        numpy_dtype = DTYPES[dtype] if 0 <= dtype < len(DTYPES) else _UNKNOWN
        view = View(offset, tuple(fields[:known]), tuple(fields[known:]), numpy_dtype)
        return Slot(buffer, dtype, ndim, address, refs, view)

    def __getitem__(self, number: int) -> Slot:
        if "_objects" in vars(self):
            return self._objects[number]
        at = int(np.searchsorted(self.lines[:, 0], number))
        if at == len(self.lines) or self.lines[at, 0] != number:
            raise KeyError(number)
        return self._made(self.lines[at].tolist())

    def __iter__(self) -> Iterator[int]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def of(cls, slots: Mapping[int, Slot]) -> "Slots":
        """Return the slots that may be objects, as columns."""
        if isinstance(slots, Slots):
            return slots
        lines, pool = [], list[int]()
        for number, slot in sorted(slots.items()):
            numbers = (slot.buffer, slot.dtype, slot.ndim, slot.view.offset, slot.address, slot.refs)
            lines.append((number, *numbers, len(pool)))
            pool += (*slot.shape, *slot.strides)
        return cls(np.array(lines, np.int64).reshape(-1, SLOT_FIELDS), np.array(pool, np.int64))

    def buffers_seen_as(self, *dtypes: int) -> np.ndarray:
        """Return the buffer of each slot that has one of these dtype codes."""
        found: np.ndarray = self.lines[np.isin(self.lines[:, 2], dtypes), 1]
        return found

    def with_buffers(self, buffers: np.ndarray) -> "Slots":
        """Return the slots on other buffers."""
        lines = self.lines.copy()
        lines[:, 1] = buffers
        moved = Slots(lines, self.pool)
        vars(moved)["views"] = self.views
        return moved

    @lazy
    def views(self) -> Views:
        """Views of the slots on their buffers, by line."""
        return Views(self.lines, self.pool)


class Buffers(Mapping[int, Buffer]):
    """Buffers in use, by number.

    Parameters
    ----------
    lines
        A line of fields for each: number, and what a `Buffer` has.
    """

    def __init__(self, lines: np.ndarray) -> None:
        self.lines = lines

    @lazy
    def _objects(self) -> dict[int, Buffer]:
        return {line[0]: Buffer(*line[1:]) for line in self.lines.tolist()}

    def __getitem__(self, number: int) -> Buffer:
        return self._objects[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def of(cls, buffers: Mapping[int, Buffer]) -> "Buffers":
        """Return the buffers that may be objects, as columns."""
        if isinstance(buffers, Buffers):
            return buffers
        lines = [(number, *buffer) for number, buffer in sorted(buffers.items())]
        return cls(np.array(lines, np.int64).reshape(-1, BUFFER_FIELDS))
