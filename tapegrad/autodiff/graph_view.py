"""The part of a tape that lies between some results and some inputs, as Python sees it."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.sweep import subgraph
from tapegrad.engine.sweep.bind_recording import hold
from tapegrad.engine.tape import memory
from tapegrad.engine.tape.layout import DIFFERENTIABLE, E_FREED, F32, NONE
from tapegrad.engine.tape.memory import (
    D_BUFFER,
    D_BYTES,
    D_DTYPE,
    D_FLAGS,
    D_GEOMETRY,
    D_NDIM,
    D_OFFSET,
    D_PRODUCER,
    DESCRIPTION_WORDS,
)
from tapegrad.engine.tape.tape import DTYPES, Tape
from tapegrad.errors import FreedGraphError
from tapegrad.frontend.arrays import show
from tapegrad.frontend.tensor import Tensor, from_slot

FREED = (
    "backward through a part of the graph that an earlier backward() has freed; pass retain_graph=True to the"
    " earlier one"
)
FREED_MEANWHILE = (
    "the graph was freed while it was being differentiated: by backward() in another thread, in a hook, or in the vjp"
    " of a custom op; pass retain_graph=True to that one, or compute with detach() and the arrays that are given"
)
_FEW = 64  # entries for which there is room at once


class Instruction(NamedTuple):
    """An instruction by its slots.

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
    """Where the elements of a slot lie in its buffer."""

    buffer: int
    bytes: int  # of the buffer
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    differentiable: bool
    number: float | None = None  # that a constant scalar of the engine's own is

    @classmethod
    def of(cls, tape: Tape, slot: int) -> "Geometry":
        words = np.empty(DESCRIPTION_WORDS, np.int64)
        memory.describe(tape.header, slot, id(words), 0, 0)
        ndim = int(words[D_NDIM])
        known = words[: D_GEOMETRY + 2 * ndim].tolist()
        literal = ndim == 0 and known[D_FLAGS] == 0 and known[D_PRODUCER] == NONE and known[D_DTYPE] <= F32
        return cls(
            known[D_BUFFER],
            known[D_BYTES],
            known[D_OFFSET],
            tuple(known[D_GEOMETRY : D_GEOMETRY + ndim]),
            tuple(known[D_GEOMETRY + ndim :]),
            DTYPES[known[D_DTYPE]],
            known[D_FLAGS] & DIFFERENTIABLE != 0,
            _number(tape, slot) if literal else None,
        )

    @property
    def place(self) -> tuple[Any, ...]:
        """What two slots on one buffer must share to be the same elements."""
        return self.offset, self.shape, self.strides

    @property
    def overlaps(self) -> bool:
        """Whether an element is seen more than once, as in a broadcast."""
        return 0 in self.strides and any(
            s == 0 and e > 1 for s, e in zip(self.strides, self.shape, strict=True)
        )

    @property
    def elements(self) -> int:
        """Elements of the buffer."""
        return self.bytes // self.dtype.itemsize

    @property
    def in_order(self) -> bool:
        """Whether its elements lie side by side in C order."""
        expected = self.dtype.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return 0 in self.shape
            expected *= extent
        return True

    @property
    def whole(self) -> bool:
        """Whether it is all elements of the buffer in C order."""
        return self.in_order and math.prod(self.shape) == self.elements


def _number(tape: Tape, slot: int) -> float | None:
    """What a scalar holds; `None` if it has been let go, because no derivative reads it."""
    array = show(tape, slot, False)
    return None if array is None else float(array)


def tensor_on(tape: Tape, slot: int) -> Tensor:
    """Another Tensor on a slot."""
    hold(tape.header, slot)
    return from_slot(tape, slot)


def slot_numbers(slots: Iterable[int] | None) -> np.ndarray | None:
    """Slots as the engine takes them."""
    return None if slots is None else np.fromiter(slots, np.int64)


def id_of(array: np.ndarray | None) -> int:
    """What the engine knows an array by; 0 if there is none."""
    return 0 if array is None else id(array)


@contextmanager
def entries_of(tape: Tape, roots: list[int], wanted: np.ndarray | None) -> Iterator[np.ndarray]:
    """The entries of the instructions from the slots `wanted` (`None`: from anywhere) to the slots `roots`.

    Their slots are held meanwhile.

    Raises
    ------
    FreedGraphError
        Where an earlier sweep has freed a part.
    """
    at = np.array(roots, np.int64)
    entries, found = np.empty((_FEW, subgraph.ENTRY_WORDS), np.int64), 0
    try:
        found = subgraph.list_graph(tape.header, id(at), id_of(wanted), id(entries), len(entries))
        while found > len(entries):
            entries, found = np.empty((found, subgraph.ENTRY_WORDS), np.int64), 0
            found = subgraph.list_graph(tape.header, id(at), id_of(wanted), id(entries), len(entries))
        if found == E_FREED:
            raise FreedGraphError(FREED)
        yield entries[:found]
    finally:
        subgraph.release_listed(tape.header, id(entries), found if found <= len(entries) else 0)
        tape.drop_orphans()


@contextmanager
def listed(tape: Tape, roots: list[int], wanted: list[int] | None) -> Iterator[list[Instruction]]:
    """The instructions of `entries_of`."""
    with entries_of(tape, roots, slot_numbers(wanted)) as entries:
        yield [_instruction(row) for row in entries.tolist()]


def _instruction(row: list[int]) -> Instruction:
    op, result, a, b, c, params = row[: subgraph.G_SHOWN]
    operands = (a, b, c) if c >= 0 else (a,) if b < 0 else (a, b)
    buffers = row[subgraph.G_SHOWN : subgraph.G_INDEX]
    shown = tuple(pair for pair in zip(buffers, (result, a, b, c), strict=True) if pair[0] != NONE)
    return Instruction(op, result, operands, params, shown)
