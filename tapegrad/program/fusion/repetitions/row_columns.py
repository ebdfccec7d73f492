"""Rows of a stream as columns: one row object for all that differ in nothing but addresses, and the addresses.

Of a long stream that is hundreds of times less work than an object a row.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.segments.extremes import JOININGS
from tapegrad.engine.codegen.segments.segment import FORWARD, REVERSE, SUM, TANGENT
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.lines.fill import zero_fill
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.engine.tape.fields.layout import DTYPE_COUNT
from tapegrad.program.fusion.grouping.accesses import rows_of
from tapegrad.program.fusion.grouping.nests import POINTED
from tapegrad.program.fusion.grouping.rows import CLEAR, ROLES, DisjointMemory, StreamRow
from tapegrad.program.fusion.repetitions.distinct import distinct
from tapegrad.program.streams.stream import MADE_UP, InstructionStream

_KINDS = (
    "",
    CLEAR,
    FORWARD,
    REVERSE,
    TANGENT,
    SUM,
)  # whose accesses depend on nothing but the row's own frame


class Memory(DisjointMemory, Protocol):
    """The memory that a stream is bound on, in pieces that do not touch."""

    def all_around(self, addresses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first bytes and the ends of the pieces that made-up addresses lie in."""


class RowColumns:
    """Rows of a stream.

    Parameters
    ----------
    stream, memory
        The stream, and the memory that it is bound on.

    Attributes
    ----------
    stream
        The stream.
    samples, sample
        A row for each set of rows that differ in nothing but addresses, and for each row the number of its set.
    first
        The first access of each row, and the number of all accesses behind them.
    row, mode, start, stop
        The row of each access, how it touches memory, and the bytes, (accesses,) int64.
    """

    def __init__(self, stream: InstructionStream, memory: Memory) -> None:
        self.stream = stream
        chosen, self.sample = distinct(_without_addresses(stream))
        self.samples: list[StreamRow] = rows_of(stream.taking(chosen), memory, with_lists=False)
        counts = np.array([len(row.accesses) for row in self.samples], np.int64)[self.sample]
        self.first = np.concatenate([[0], np.cumsum(counts)])
        self.row = np.repeat(np.arange(len(stream)), counts)
        self.mode, self.start, self.stop = np.zeros((3, len(self.row)), np.int64)
        order, ends = np.argsort(self.sample, kind="stable"), np.cumsum(np.bincount(self.sample)).tolist()
        for k, (begin, end) in enumerate(with_pauses(pairwise([0, *ends]))):
            self._enter(self.samples[k], stream.frames[chosen[k]], order[begin:end], memory)

    def _enter(self, sample: StreamRow, frame: np.ndarray, rows: np.ndarray, memory: Memory) -> None:
        """Enter the accesses of all rows like a sample, which has this frame."""
        for k, access in enumerate(sample.accesses):
            at, begin = self.first[rows] + k, field.X + access.role % ROLES
            addresses = self.stream.frames[rows, begin]
            self.mode[at] = access.mode
            if sample.kind == "":  # the whole piece of memory that an operand lies in
                self.start[at], self.stop[at] = memory.all_around(addresses)
            else:
                self.start[at] = addresses + (access.start - int(frame[begin]))
                self.stop[at] = self.start[at] + (access.stop - access.start)

    @property
    def are_plain(self) -> bool:
        """True if no row needs memory of its own, has loops around its line, or depends on how its operands overlap."""
        if any(row.kind not in _KINDS or (row.kind and row.loops) for row in self.samples):
            return False
        codes = np.unique(self.stream.op[self.stream.op >= 0]).tolist()
        return all(kernel_table.row(code).fused_as not in JOININGS for code in codes)

    def describe(self, rows: Sequence[StreamRow], accesses: slice) -> bool:
        """Return whether these accesses are those of rows, as they are found one by one."""
        found = [(each.mode, each.start, each.stop) for row in rows for each in row.accesses]
        known = (each[accesses].tolist() for each in (self.mode, self.start, self.stop))
        return found == list(zip(*known, strict=True))

    def rows(self, numbers: range, memory: Memory) -> list[StreamRow]:
        """Return some rows, one behind another, as objects."""
        taken = self.stream.taking(np.arange(numbers.start, numbers.stop))
        return rows_of(taken, memory, with_lists=False)


def _without_addresses(stream: InstructionStream) -> np.ndarray:
    """Return for each row all that its accesses depend on but addresses, (rows, k) int64."""
    frames = stream.frames
    addresses = frames[:, field.X : field.Y_BAR + 1]
    clears = (stream.op < 0) & (stream.kernels == kernel_table.address_of(zero_fill))
    columns = [
        stream.op * DTYPE_COUNT + stream.variant,
        stream.direction * 2 + clears,
        np.packbits(addresses != 0, axis=1)[:, 0],
        np.packbits(addresses >= MADE_UP, axis=1)[:, 0],
        *frames[:, [field.COUNT, *range(field.STRIDE, field.STORE + 1)]].T,
        *_numbered_parameters(stream),
    ]
    return np.stack([each.astype(np.int64, copy=False) for each in columns], 1)


def _numbered_parameters(stream: InstructionStream) -> list[np.ndarray]:
    """Return numbers of what the frame of each row points to: outer loops, steps from tangent to tangent, matrices."""
    kinds = ((are_such(stream), at, read) for are_such, at, read in POINTED)
    return [
        _numbered(own, [read(each) for each in with_pauses(stream.frames[own, at].tolist())])
        for own, at, read in kinds
        if own.any()
    ]


def _numbered(own: np.ndarray, keys: Sequence[list[int]]) -> np.ndarray:
    """Return numbers from 1 on of the keys of its own rows, the same for equal ones; 0 for the others."""
    known: dict[tuple[int, ...], int] = {}
    found = np.zeros(len(own), np.int64)
    found[own] = [known.setdefault(tuple(key), 1 + len(known)) for key in keys]
    return found
