"""The part of a tape that lies between some results and some inputs, as Python sees it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad.errors import FreedGraphError
from tapegrad.locks import lock
from tapegrad.storage import from_slot, show
from tapegrad.sweep import graph, reverse
from tapegrad.sweep.program import hold
from tapegrad.tape import contents
from tapegrad.tape.contents import (
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
from tapegrad.tape.layout import DIFFERENTIABLE, E_FREED, F32, NONE
from tapegrad.tape.tape import DTYPES, Tape

if TYPE_CHECKING:
    from tapegrad.tensor import Tensor

FREED = (
    "backward through a part of the graph that an earlier backward() has freed; pass retain_graph=True to the"
    " earlier one"
)
FREED_MEANWHILE = (
    "the graph was freed while it was being differentiated: by backward() in another thread, in a hook, or in the vjp"
    " of a custom op; pass retain_graph=True to that one, or compute with detach() and the arrays that are given"
)
_ASKING = lock()  # held while buffers are flagged as wanted


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
        contents.describe(tape.header, slot, id(words), 0, 0)
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
    def whole(self) -> bool:
        """Whether it is all elements of the buffer in C order."""
        expected = self.dtype.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return expected == self.bytes


def _number(tape: Tape, slot: int) -> float | None:
    """What a scalar holds; `None` if it has been let go, because no derivative reads it."""
    array = show(tape, slot, False)
    return None if array is None else float(array)


def tensor_on(tape: Tape, slot: int) -> "Tensor":
    """Another Tensor on a slot."""
    hold(tape.header, slot)
    return from_slot(tape, slot)


@contextmanager
def asking(tape: Tape, slots: Iterable[int]) -> Iterator[None]:
    """Flag the buffers of some slots as those whose derivatives are asked for."""
    wanted = list(slots)
    with _ASKING:
        for slot in wanted:
            reverse.set_wanted(tape.header, slot, 1)
        try:
            yield
        finally:
            for slot in wanted:
                reverse.set_wanted(tape.header, slot, 0)


@contextmanager
def listed(tape: Tape, roots: list[int], wanted: list[int] | None) -> Iterator[list[Instruction]]:
    """The instructions from the slots `wanted` (`None`: from anywhere) to the slots `roots`, kept alive meanwhile.

    Raises
    ------
    FreedGraphError
        Where an earlier sweep has freed a part.
    """
    at = np.array(roots, np.int64)
    capacity, found = 0, 64
    while found > capacity:
        capacity = found
        entries = np.empty((capacity, graph.ENTRY_WORDS), np.int64)
        arguments = (tape.header, id(at), len(roots), wanted is not None, id(entries), capacity)
        with asking(tape, wanted) if wanted else nullcontext():
            found = graph.list_graph(*arguments)
        if found == E_FREED:
            raise FreedGraphError(FREED)
    try:
        yield [_instruction(row) for row in entries[:found].tolist()]
    finally:
        graph.release_listed(tape.header, id(entries), found)
        tape.drop_orphans()


def _instruction(row: list[int]) -> Instruction:
    op, result, a, b, c, params = row[: graph.G_SHOWN]
    operands = (a, b, c) if c >= 0 else (a,) if b < 0 else (a, b)
    shown = tuple(
        pair for pair in zip(row[graph.G_SHOWN :], (result, a, b, c), strict=True) if pair[0] != NONE
    )
    return Instruction(op, result, operands, params, shown)
