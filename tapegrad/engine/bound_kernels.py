"""Kernel selection for bound instructions: the kernel specialised to the frame, or the general one.

A frame shows contiguous and scalar operands, and which cotangents are written.
"""

import functools
import itertools

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.codegen.rows.case import Case, FrameFacts
from tapegrad.engine.codegen.rows.rows import fields_read
from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.inspection.view_columns import numbered
from tapegrad.engine.kernel_table import DIRECTIONS, DTYPE_NAMES
from tapegrad.engine.kernels.language.frame import COUNT, FIELDS, STORE, STRIDE, X_BAR, Y_STRIDE
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.ops import ROWS, Op

_NO_FACTS = -1
_AT_ONCE = 4096  # rows
_BITS = np.array([1, 2, 4])


def chosen(keys: np.ndarray, frames: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the address of the kernel for each row of all frames, and how many fields of the frame it reads.

    `keys` holds their op, dtype and direction codes.
    """
    parts = [slice(k, k + _AT_ONCE) for k in range(0, len(rows), _AT_ONCE)]
    facts = np.zeros(len(rows), np.int64)
    for part in parts:  # in parts, so that temporaries stay in the CPU cache
        facts[part] = _facts(keys[:, part], frames[rows[part]])
    op, dtype, direction = keys
    where = numbered([(op * len(DTYPE_NAMES) + dtype) * len(DIRECTIONS) + direction, facts])
    first = np.zeros(int(where.max(initial=NONE)) + 1, np.int64)
    first[where] = np.arange(len(where))  # or any other
    found = [_load(*each) for each in zip(*keys[:, first].tolist(), facts[first].tolist(), strict=True)]
    return np.array(found, np.int64).reshape(-1, 2)[where]


@functools.cache
def _load(op: int, dtype: int, direction: int, facts: int) -> tuple[int, int]:
    row, address, name = ROWS[op], 0, DIRECTIONS[direction]
    if facts != _NO_FACTS and isinstance(row, Op):
        with compiler.compiling:
            address = emitter.address(Case(row, DTYPE_NAMES[dtype]), name, FrameFacts.of_code(facts))
    if address:
        return address, fields_read(name)
    return kernel_table.load_code(op, dtype, direction), FIELDS


@functools.cache
def _element_bytes() -> np.ndarray:
    """Return the bytes of an element by op, dtype and role: three operands, the result. 0 where there is none."""
    table = np.zeros((len(ROWS), len(DTYPE_NAMES), 4), np.int64)
    for code, row in enumerate(ROWS):
        if isinstance(row, Op) and row.kind == "elementwise":
            for dtype in row.dtypes:
                case, bytes_ = Case(row, dtype), table[code, DTYPE_NAMES.index(dtype)]
                for role in (*range(row.arity), 3):
                    bytes_[role] = case.element_of(role).bytes
                bytes_[[*row.boolean_operands, *[3][: row.predicate]]] = 1
    return table


@functools.cache
def _differentiable() -> np.ndarray:
    """Return the operands of each op that have cotangents, as bits."""
    of_ops = [row.differentiable_operands if isinstance(row, Op) else () for row in ROWS]
    return np.array([sum(1 << j for j in operands) for operands in of_ops])


def _facts(keys: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Return the code of the facts of each row's frame."""
    op, dtype, direction = keys
    bytes_, count = _element_bytes()[op, dtype], frames[:, COUNT]
    single = count == 1
    strides = frames[:, STRIDE : Y_STRIDE + 1]
    adjacent = (strides == bytes_) | (bytes_ == 0) | single[:, None]
    scalar = (strides == 0) & ~adjacent
    scalar[:, 3] = False
    scalars = scalar[:, :3] @ _BITS
    reverse = DIRECTIONS.index("reverse")
    wanted = ((frames[:, X_BAR : X_BAR + 3] != 0) @ _BITS) & _differentiable()[op]
    wanted[direction != reverse] = 0
    known = (adjacent | scalar).all(axis=1) & (bytes_[:, 3] > 0) & (count > 0) & (direction <= reverse)
    in_turns = (wanted & scalars != 0) | ~_overlapping(bytes_, frames)
    known &= (direction != reverse) | ((wanted != 0) & in_turns)
    code = FrameFacts(single.astype(np.int64), scalars, wanted, frames[:, STORE] & wanted).code
    return np.where(known, code, _NO_FACTS)


def _overlapping(bytes_: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Return whether cotangents of a row overlap, as those of ``x[1:] * x[:-1]``: they are added to in turns."""
    found = np.zeros(len(frames), bool)
    for j, k in itertools.combinations(range(3), 2):
        one, other = frames[:, X_BAR + j], frames[:, X_BAR + k]
        between = np.abs(one - other)
        alike = (between == 0) & (bytes_[:, j] == bytes_[:, k])
        reaches = np.where(one < other, bytes_[:, j], bytes_[:, k])
        found |= (one != 0) & (other != 0) & ~alike & (between < frames[:, COUNT] * reaches)
    return found
