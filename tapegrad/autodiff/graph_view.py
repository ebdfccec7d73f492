"""Subgraph of a tape between some results and some inputs, as Python objects."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.sweep.derivatives import bind_recording, subgraph
from tapegrad.engine.tape.fields.layout import DIFFERENTIABLE, E_FREED, NONE
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.memory import D_BUFFER, D_BYTES, D_FLAGS, D_PRODUCER
from tapegrad.engine.tape.tape import Tape
from tapegrad.errors import FreedGraphError
from tapegrad.frontend.conversions.complex_views import part_dtype
from tapegrad.frontend.tensor.arrays import show
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.tensor import Tensor, from_slot

FREED = (
    "backward through a part of the graph that an earlier backward() has freed; pass retain_graph=True to the"
    " earlier one"
)
FREED_MEANWHILE = (
    "the graph was freed while it was being differentiated: by backward() in another thread, in a hook, or in the vjp"
    " of a custom op; pass retain_graph=True to that one, or compute with detach() and the arrays that are given"
)
_INITIAL_ENTRIES = 64  # initial capacity, in entries


class GraphInstruction(NamedTuple):
    """An instruction, given by its slots.

    Attributes
    ----------
    params
        Address of its parameters.
    shown
        Differentiable buffers of its slots that there are Tensors on, and the slots.
    """

    op: int
    result: int
    operands: tuple[int, ...]
    params: int
    shown: tuple[tuple[int, int], ...]


class Geometry(NamedTuple):
    """A slot of a graph: its buffer, and the view of it."""

    buffer: int
    bytes: int  # of the buffer, in elements
    view: View
    differentiable: bool
    number: float | None = None  # value of a constant scalar that the engine owns

    @classmethod
    def of(cls, tape: Tape, slot: int) -> "Geometry":
        """Read what the engine knows of a slot."""
        described = SlotDescription(tape.header, slot)
        view, fields = described.view, described.fields
        flags = fields[D_FLAGS]
        constant = flags == 0 and not view.shape and fields[D_PRODUCER] == NONE and view.dtype.kind == "f"
        number = _number(tape, slot) if constant else None
        return cls(fields[D_BUFFER], fields[D_BYTES], view, flags & DIFFERENTIABLE != 0, number)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.view.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        return self.view.dtype

    @property
    def buffer_size(self) -> int:
        """Number of elements of the buffer."""
        return self.bytes // self.dtype.itemsize

    @property
    def covers_buffer(self) -> bool:
        """True if the view is all elements of the buffer in C order."""
        return self.view.covers(self.bytes)

    @property
    def flat(self) -> "Geometry":
        """View of the whole buffer in one dimension; complex numbers are pairs of floats in it."""
        part = part_dtype(self.dtype)
        return self._replace(view=View.in_c_order((self.bytes // part.itemsize,), part))

    @property
    def in_pairs(self) -> "Geometry":
        """View of complex numbers as pairs of floats along a new last dimension; of others the same view."""
        if self.dtype.kind != "c":
            return self
        own, part = self.view, part_dtype(self.dtype)
        pairs = View(own.offset, (*own.shape, 2), (*own.strides, part.itemsize), part)
        return self._replace(view=pairs)


def _number(tape: Tape, slot: int) -> float | None:
    """Return the value of a scalar, or `None` if it was released because no derivative reads it."""
    array = show(tape, slot, False)
    return None if array is None else float(array)


def tensor_on(tape: Tape, slot: int) -> Tensor:
    """Return a new Tensor on a slot."""
    bind_recording.hold(tape.header, slot)
    return from_slot(tape, slot)


def slot_numbers(slots: Iterable[int] | None) -> np.ndarray | None:
    """Return slots as an array for the engine."""
    return None if slots is None else np.fromiter(slots, np.int64)


def id_of(array: np.ndarray | None) -> int:
    """Return the id by which the engine takes an array, 0 for `None`."""
    return 0 if array is None else id(array)


@contextmanager
def entries_of(tape: Tape, roots: list[int], wanted: np.ndarray | None) -> Iterator[np.ndarray]:
    """List the entries of the instructions from the slots `wanted` to the slots `roots`.

    `None` starts from all leaves. The slots of the entries are held meanwhile.

    Raises
    ------
    FreedGraphError
        If an earlier sweep has freed a part.
    """
    at = np.array(roots, np.int64)
    entries, found = np.empty((_INITIAL_ENTRIES, subgraph.ENTRY_FIELDS), np.int64), 0
    try:
        found = subgraph.list_graph(tape.header, id(at), id_of(wanted), id(entries), len(entries))
        while found > len(entries):
            entries, found = np.empty((found, subgraph.ENTRY_FIELDS), np.int64), 0
            found = subgraph.list_graph(tape.header, id(at), id_of(wanted), id(entries), len(entries))
        if found == E_FREED:
            raise FreedGraphError(FREED)
        yield entries[:found]
    finally:
        subgraph.release_listed(tape.header, id(entries), found if found <= len(entries) else 0)
        tape.drop_orphans()


@contextmanager
def listed(
    tape: Tape, roots: list[int], wanted: list[int] | None, within: set[int] | None = None
) -> Iterator[list[GraphInstruction]]:
    """List the instructions of `entries_of`, as objects: all, or those that write to buffers `within` a set."""
    with entries_of(tape, roots, slot_numbers(wanted)) as entries:
        found = map(_instruction, entries.tolist())
        yield [each for each in found if within is None or Geometry.of(tape, each.result).buffer in within]


def _instruction(row: list[int]) -> GraphInstruction:
    op, result, a, b, c, params = row[: subgraph.G_SHOWN]
    operands = (a, b, c) if c >= 0 else (a,) if b < 0 else (a, b)
    buffers = row[subgraph.G_SHOWN : subgraph.G_INDEX]
    shown = tuple(pair for pair in zip(buffers, (result, a, b, c), strict=True) if pair[0] != NONE)
    return GraphInstruction(op, result, operands, params, shown)
