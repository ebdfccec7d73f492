"""Instruction streams: bound instructions with what each row is, in the order of execution."""

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad.engine import bound_kernels, kernel_table
from tapegrad.engine.inspection.narrow_columns import RarelyRead
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.lines.fill import zero_fill
from tapegrad.engine.sweep.binding.bind import OUTER_FIELDS
from tapegrad.engine.sweep.derivatives import bind_recording
from tapegrad.engine.tape.fields.layout import (
    BROADCAST_SUM,
    DTYPE_COUNT,
    ELEMENTWISE,
    NONE,
    OP_KIND,
    OP_LINEAR,
    OP_THRESHOLD,
    OPAQUE,
)

# A made-up address has the number of its range above this bit: 1 is the workspace, 2 binding 0, ...
RANGE_SHIFT = 48
WORKSPACE = 1 << RANGE_SHIFT
MADE_UP = WORKSPACE  # addresses from here on are made up
CONTINUED = -1  # in place of a kernel: the fields belong to the frame of the row before

RUN_FORWARD, RUN_REVERSE, RUN_TANGENT = range(3)  # directions of kernels, as in `kernel_table.DIRECTIONS`
_DIRECTIONS = len(kernel_table.DIRECTIONS)
_COLUMNS = ("frames", "number", "op", "variant", "direction", "elements", "kernels", "fields", "thresholds")


def binding_address(number: int) -> int:
    """Return the made-up address of a binding."""
    return (2 + number) << RANGE_SHIFT


def pointed_fields(address: int, count: int) -> list[int]:
    """Return the fields that a frame points to, at an address that is not made up."""
    return list((ctypes.c_int64 * count).from_address(address))


class InstructionStream(RarelyRead):
    """Rows: each a kernel, its frame, its parallel threshold, and what it is.

    The addresses in a frame are those that its kernel reads or writes.

    Attributes
    ----------
    frames
        Sixteen fields of each row, int64.
    number
        The instruction of the tape that each row was bound to, -1 for none.
    op, variant, direction
        Op code, dtype code and direction of each row's kernel; an op code of -1 for a kernel that is not an op's. The
        tangent of a linear op is its forward kernel, on tangents.
    elements
        How many elements each row goes through.
    kernels, thresholds
        Address of each kernel, and the number of elements from which it runs on several threads. Those of ops are 0
        until `load_kernels`. CONTINUED where sixteen fields were too few for the frame of the row before.
    fields
        How many fields of each frame the kernel reads, the first ones: sixteen if that is not known.
    kept
        Memory that the frames point to.
    segments
        The segments that were made of rows, as they are shown.
    """

    def __init__(self, frames: np.ndarray, kept: Iterable[np.ndarray] = ()) -> None:
        count = len(frames)
        self.frames = frames
        self.number, self.op = np.full(count, NONE), np.full(count, NONE)
        self.variant, self.direction = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.elements = frames[:, field.COUNT].copy()
        self.kernels, self.thresholds = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.fields = np.full(count, field.FIELDS)
        self.kept = list(kept)
        self.segments: list[Any] = []

    def __len__(self) -> int:
        return len(self.frames)

    def taking(self, rows: Sequence[int] | np.ndarray) -> "InstructionStream":
        """Return the stream of some rows, in this order; each of them any number of times."""
        at = np.asarray(rows, np.int64)
        taken = InstructionStream(self.frames[at], self.kept)
        for name in _COLUMNS:
            setattr(taken, name, getattr(self, name)[at])
        return taken

    def inserting(
        self, other: "InstructionStream", before: Sequence[int] | np.ndarray
    ) -> "InstructionStream":
        """Insert the rows of another stream, each before the row of that number."""
        if len(other) == 0:
            return self
        order = np.insert(np.arange(len(self)), before, len(self) + np.arange(len(other)))
        return joined([self, other]).taking(order)

    def load_kernels(self) -> None:
        """Load the kernels of ops, and choose from how many elements on each row runs on several threads."""
        lacking = np.flatnonzero(self.kernels == 0)
        keys = np.stack([self.op[lacking], self.variant[lacking], self.direction[lacking]])
        self.kernels[lacking], self.fields[lacking] = bound_kernels.chosen(keys, self.frames, lacking).T
        self.thresholds[lacking] = parallel_thresholds(self.op[lacking], self.elements[lacking])
        if self.thresholds.any():
            kernel_table.load_driver()

    def expect_kernels(self) -> None:
        """Announce the kernels that will be loaded, before the first one is compiled."""
        kernel_table.expect(_keys(self._names()[self.kernels == 0]).values())

    def _names(self) -> np.ndarray:
        """Return a number for each row that tells its kernel from others."""
        found: np.ndarray = (self.op * DTYPE_COUNT + self.variant) * _DIRECTIONS + self.direction
        return found


def _keys(names: np.ndarray) -> dict[int, tuple[int, int, int]]:
    """Return the kernels by name, as `kernel_table.load_code` takes them."""
    found = {}
    for name in np.flatnonzero(np.bincount(names)).tolist():
        code, direction = divmod(name, _DIRECTIONS)
        found[name] = (*divmod(code, DTYPE_COUNT), direction)
    return found


def joined(streams: Sequence[InstructionStream]) -> InstructionStream:
    """Concatenate the rows of several streams."""
    kept = [memory for stream in streams for memory in stream.kept]
    found = InstructionStream(np.concatenate([stream.frames for stream in streams]), kept)
    for name in _COLUMNS:
        setattr(found, name, np.concatenate([getattr(stream, name) for stream in streams]))
    return found


def empty_stream() -> InstructionStream:
    """Return a stream without rows."""
    return InstructionStream(np.zeros((0, field.FIELDS), np.int64))


def fills(addresses: Sequence[int] | np.ndarray, bytes_: Sequence[int] | np.ndarray) -> InstructionStream:
    """Return the rows that set memory to zero."""
    frames = np.zeros((len(addresses), field.FIELDS), np.int64)
    frames[:, field.COUNT], frames[:, field.Y_BAR] = bytes_, addresses
    stream = InstructionStream(frames)
    if len(frames):
        stream.kernels[:] = kernel_table.address_of(zero_fill)
    return stream


def bound(header: int, op: np.ndarray, rows: np.ndarray) -> InstructionStream:
    """Bind rows, given as `bind_recording` says, which notes in them what it has found; `op` by instruction."""
    frames = np.zeros((len(rows), field.FIELDS), np.int64)
    kept, done = [], 0
    while done < len(rows):
        loops = np.empty(OUTER_FIELDS + 8 * (len(rows) - done), np.int64)
        done = bind_recording.bind_rows(
            header, rows.ctypes.data, done, len(rows), frames.ctypes.data, loops.ctypes.data, len(loops)
        )
        kept.append(loops)
    has_loops = frames[:, field.OUTER].any()
    stream = InstructionStream(
        frames, kept if has_loops else ()
    )  # room for those of each row is a third of a program
    stream.number = rows[:, bind_recording.ROW_INSTRUCTION]
    stream.op = op[stream.number]
    stream.variant = rows[:, bind_recording.ROW_VARIANT]
    stream.elements = rows[:, bind_recording.ROW_ELEMENTS]
    linear = kernel_table.op_column(stream.op, OP_LINEAR) != 0
    direction = rows[:, bind_recording.ROW_DIRECTION]
    stream.direction = np.where(linear & (direction == RUN_TANGENT), RUN_FORWARD, direction)
    return stream


def parallel_thresholds(op: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Return the elements from which each instruction runs on several threads, 0 for those that stay below."""
    thresholds = kernel_table.op_column(op, OP_THRESHOLD)
    found: np.ndarray = np.where(elements >= np.abs(thresholds), thresholds, 0)
    return found


def sums(stream: InstructionStream) -> np.ndarray:
    """Return which rows are sums whose frame may only add to the result."""
    kinds = kernel_table.op_column(stream.op, OP_KIND)
    found: np.ndarray = (kinds == BROADCAST_SUM) & (stream.op != NONE) & (stream.direction == RUN_FORWARD)
    return found


def is_opaque(stream: InstructionStream) -> np.ndarray:
    """Return which rows are of ops whose kernels iterate over their operands themselves."""
    found: np.ndarray = (kernel_table.op_column(stream.op, OP_KIND) == OPAQUE) & (stream.op != NONE)
    return found


def is_elementwise(stream: InstructionStream) -> np.ndarray:
    """Return which rows are of elementwise ops."""
    found: np.ndarray = (kernel_table.op_column(stream.op, OP_KIND) == ELEMENTWISE) & (stream.op != NONE)
    return found


def is_one_line(stream: InstructionStream) -> np.ndarray:
    """Return which rows go through one line that is not empty: a sum of it can be written."""
    found: np.ndarray = (stream.frames[:, field.OUTER] == 0) & (stream.frames[:, field.COUNT] > 0)
    return found
