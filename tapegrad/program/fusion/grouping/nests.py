"""The loops around a row: those of its frame, and those over many tangents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.segments.segment import FORWARD, REVERSE, TANGENT
from tapegrad.engine.codegen.segments.vectors import lanes
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.tape.fields.layout import MATMUL, OP_KIND
from tapegrad.ops import CODES
from tapegrad.ops.structural.indexing import GatherParams
from tapegrad.ops.structural.matrices import MatmulParams
from tapegrad.program.streams.stream import InstructionStream, is_elementwise, pointed_fields

KINDS = (FORWARD, REVERSE, TANGENT)  # by the numbers of directions
_MIN_LONG_LINE = 64  # elements of a line that outer loops always go around
_MIN_FILLED_PART = 0.9  # minimum part of the lanes of a shorter line that have elements
MAX_SEEDS = 16  # maximum of tangents that a segment computes one by one
_ALONE = (1, 0, 0, 0, 0)


def is_long(count: int) -> bool:
    """Return whether a line of so many elements is worth a loop around it: nearly all lanes have elements."""
    width = lanes(host())
    return count >= _MIN_LONG_LINE or (
        count >= width and count >= _MIN_FILLED_PART * -(-count // width) * width
    )


def is_short(count: int) -> bool:
    """Return whether a vector holds a line of so many elements, and nothing is worth a loop around it."""
    return 1 < count <= lanes(host()) and not is_long(count)


class Nest(NamedTuple):
    """The outer loops of a row: their extents, and the bytes from one step to the next, by role."""

    extents: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]

    def is_long(self, fields: list[int]) -> bool:
        """Return whether a line is worth a loop around it."""
        return not self.extents or is_long(fields[field.COUNT])

    def within(self, extent: int, steps: Sequence[int]) -> "Nest":
        """Return the loops inside of another one."""
        return Nest(
            (extent, *self.extents), tuple((step, *own) for step, own in zip(steps, self.steps, strict=True))
        )


def nest_of(fields: list[int]) -> Nest:
    if fields[field.OUTER] == 0:
        return Nest((), ((),) * 4)
    (loops,) = pointed_fields(fields[field.OUTER], 1)
    found = tuple(pointed_fields(fields[field.OUTER] + 8, 5 * loops))
    extents, *steps = (found[k : k + loops] for k in range(0, 5 * loops, loops))
    return Nest(extents, tuple(steps))


def seeds_of(kind: str, fields: list[int]) -> Sequence[int]:
    """Return how many tangents a row computes, and the bytes from one to the next of each operand and of the result."""
    several = kind == TANGENT and fields[field.PARAMS]
    return pointed_fields(fields[field.PARAMS], len(_ALONE)) if several else _ALONE


def several_tangents(stream: InstructionStream) -> np.ndarray:
    """Return which rows compute several tangents."""
    tangents = (stream.op >= 0) & (stream.direction == KINDS.index(TANGENT))
    found: np.ndarray = tangents & (stream.frames[:, field.PARAMS] != 0) & is_elementwise(stream)
    return found


def seed_counts(stream: InstructionStream) -> np.ndarray:
    """Return how many tangents each row computes; 1 for a row that computes none."""
    found = np.ones(len(stream), np.int64)
    several = several_tangents(stream)
    found[several] = [
        pointed_fields(address, 1)[0] for address in stream.frames[several, field.PARAMS].tolist()
    ]
    return found


def are_products(stream: InstructionStream) -> np.ndarray:
    """Return which rows are products of matrices."""
    found: np.ndarray = (kernel_table.op_column(stream.op, OP_KIND) == MATMUL) & (stream.op >= 0)
    return found


def take_rows(stream: InstructionStream) -> np.ndarray:
    """Return which rows take rows of a table by a list."""
    found: np.ndarray = stream.op == CODES["gather"]
    return found


def have_loops(stream: InstructionStream) -> np.ndarray:
    """Return which rows of ops have outer loops."""
    found: np.ndarray = (stream.op >= 0) & (stream.frames[:, field.OUTER] != 0)
    return found


def _steps_at(address: int) -> list[int]:
    return pointed_fields(address, len(_ALONE))


def _loops_at(address: int) -> list[int]:
    (loops,) = pointed_fields(address, 1)
    return pointed_fields(address, 1 + 5 * loops)


def _matrices_at(address: int) -> list[int]:
    return pointed_fields(address, len(MatmulParams._fields))


def _table_at(address: int) -> list[int]:
    return pointed_fields(address, len(GatherParams._fields))


# What frames point to that fusion reads: which rows do, the field of the address, and what reads the fields there
POINTED = (
    (are_products, field.PARAMS, _matrices_at),
    (several_tangents, field.PARAMS, _steps_at),
    (take_rows, field.PARAMS, _table_at),
    (have_loops, field.OUTER, _loops_at),
)


def loops_of(stream: InstructionStream) -> list[int]:
    """Return the fields of the outer loops of all rows, of several tangents, of tables, and of products of matrices."""
    return [
        each
        for are_such, at, read in POINTED
        for address in stream.frames[are_such(stream), at].tolist()
        for each in read(address)
    ]
