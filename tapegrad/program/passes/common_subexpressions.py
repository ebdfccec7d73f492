"""Common subexpression elimination: an instruction with the op and the operands of an earlier one is dropped.

Value numbering over the whole recording (Cocke and Schwartz 1970, "Programming Languages and Their Compilers"). No
buffer is written after it has been read, for an in-place write goes to a new one, so two instructions of the same op
on the same operands compute the same.
"""

from ctypes import string_at
from dataclasses import replace
from hashlib import blake2b

import numpy as np

from tapegrad.engine.inspection.tape_columns import Columns
from tapegrad.engine.inspection.tape_entries import Buffers
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.inspection.view_columns import numbered
from tapegrad.engine.sweep.replays import passes
from tapegrad.engine.tape.fields.layout import DEAD_OP, DIFFERENTIABLE, EXTERNAL, NONE, TRACED
from tapegrad.ops import COPY
from tapegrad.program.passes.op_facts import ALWAYS_RUN, COMMUTATIVE, LISTS

_DIGESTED = 64  # bytes of a list that is known by a digest, if it is longer


def eliminate_common_subexpressions(tape: TapeView) -> TapeView:
    """Mark instructions dead that repeat an earlier one; their slots move to the buffer of the earlier one."""
    columns = tape.columns
    replacement = np.arange(len(columns.bytes))
    _share_scalars(tape, replacement)
    _share_arrays(tape, replacement)
    _share_lists(tape, replacement)
    views = int(columns.views.number.max(initial=0)) + 1
    rows = _rows(tape, views)
    known = np.full(1 << (2 * len(rows) + 1).bit_length(), NONE)
    tables = replacement.ctypes.data, views, known.ctypes.data, len(known) - 1
    passes.number_values(rows.ctypes.data, len(rows), *tables)
    if (replacement == np.arange(len(replacement))).all():
        return tape
    dropped = rows[:, passes.TREATMENT] == passes.DROPPED
    return replace(
        tape,
        instructions=columns.instructions.with_ops(np.where(dropped, DEAD_OP, columns.op)),
        slots=columns.slots.with_buffers(replacement[columns.slots.lines[:, 1]]),
    )


def _share_scalars(tape: TapeView, replacement: np.ndarray) -> None:
    """Replace constant scalars of the tape that have the same bytes by one of them."""
    columns, lines = tape.columns, Buffers.of(tape.buffers).lines
    number, primal, bytes_, flags, content = lines[:, [0, 1, 3, 8, 9]].T
    owned = (primal != 0) & (flags & (EXTERNAL | DIFFERENTIABLE) == 0) & (bytes_ <= 8)
    owned &= columns.writers[number] == 0
    contents = np.zeros(len(columns.bytes), np.int64)
    contents[number] = content
    may = np.zeros(len(columns.bytes), np.bool_)
    may[number[owned]] = True
    buffer, dtype, ndim = columns.slots.lines[:, 1:4].T
    slots = np.flatnonzero((ndim == 0) & may[buffer])
    buffers = buffer[slots]
    alike = numbered([dtype[slots], columns.bytes[buffers], contents[buffers]])
    _, first, which = np.unique(alike, return_index=True, return_inverse=True)
    replacement[buffers] = buffers[first][which]


def _addresses_of_constants(tape: TapeView) -> np.ndarray:
    """Return by buffer where arrays from outside lie that are no arguments, and that nothing writes; 0 for others."""
    columns, lines = tape.columns, Buffers.of(tape.buffers).lines
    number, primal, bytes_, flags = lines[:, [0, 1, 3, 8]].T
    fixed = (flags & (EXTERNAL | DIFFERENTIABLE | TRACED) == EXTERNAL) & (columns.writers[number] == 0)
    addresses = np.zeros(len(columns.bytes), np.int64)
    addresses[number[fixed & (bytes_ > 0)]] = primal[fixed & (bytes_ > 0)]
    return addresses


def _share_arrays(tape: TapeView, replacement: np.ndarray) -> None:
    """Replace constants that were made of one array, or of views alike, by the first of them.

    A function that names an array of its closure twice has two. They are told by address, bytes and view, where the
    recording has ended: one whose array was written to since then lies elsewhere, with the contents that it was used
    with. The memory of arguments is another one in each replay.
    """
    columns, addresses = tape.columns, _addresses_of_constants(tape)
    buffers, slots = np.unique(
        columns.slots.lines[:, 1], return_index=True
    )  # the slots that they entered with
    constant = addresses[buffers] != 0
    buffers, slots = buffers[constant], slots[constant]
    alike = numbered([addresses[buffers], columns.bytes[buffers], columns.views.number[slots]])
    _, first, which = np.unique(alike, return_index=True, return_inverse=True)
    replacement[buffers] = buffers[first][which]


def _share_lists(tape: TapeView, replacement: np.ndarray) -> None:
    """Replace lists of integers with the same contents by the first of them.

    Each use of one index makes a list of rows. They are fixed: where one is of the user's, a guard compares it.
    """
    columns, addresses = tape.columns, _addresses_of_constants(tape)
    live, read = columns.live, columns.read[columns.live]
    listed = (LISTS[columns.op[live], None] >> np.arange(read.shape[1])) & 1 == 1
    plain = read[~listed & (read >= 0)]
    addresses[replacement[plain]] = 0  # the contents may be data, which each replay reads anew
    slots = columns.operands[live][listed]
    slots = slots[columns.all_of(slots)]
    buffers = np.unique(replacement[columns.buffer[slots]])
    buffers = buffers[addresses[buffers] != 0]
    sizes, counts = np.unique(columns.bytes[buffers], return_counts=True)
    known: dict[bytes, int] = {}
    first = np.arange(len(replacement))
    for buffer in buffers[np.isin(columns.bytes[buffers], sizes[counts > 1])].tolist():
        contents = string_at(int(addresses[buffer]), int(columns.bytes[buffer]))
        key = contents if len(contents) <= _DIGESTED else blake2b(contents).digest()
        first[buffer] = known.setdefault(key, buffer)
    replacement[:] = first[replacement]


def _rows(tape: TapeView, views: int) -> np.ndarray:
    """Return the instructions in the form that `engine.sweep.replays.passes` numbers by value."""
    columns = tape.columns
    rows = np.empty((len(columns.op), passes.VALUE_FIELDS), np.int64)
    result, written = columns.line[columns.result], columns.written
    derivative = columns.flags[written] & DIFFERENTIABLE
    known, params = parameters(columns)
    rows[:, passes.KEY] = numbered([columns.op, columns.views.number[result], derivative, params])
    rows[:, passes.OWN] = written
    at = columns.views.number[columns.line[columns.operands]]
    rows[:, passes.OPERAND :] = np.where(columns.read >= 0, columns.read * views + at, NONE)
    stays = np.zeros(len(columns.bytes), np.bool_)
    stays[columns.buffer[list(tape.outputs)]] = True
    once = (columns.op >= 0) & (columns.writers[written] == 1)
    numbers = once & ~ALWAYS_RUN[columns.op] & known
    copies = once & ~stays[written] & _is_copy(columns)
    treatments = np.where(COMMUTATIVE[columns.op], passes.COMMUTATIVE, 0) + passes.NUMBER
    treatments += np.where(stays[written], passes.STAYS, 0)
    rows[:, passes.TREATMENT] = np.where(copies, passes.PASS, np.where(numbers, treatments, passes.LEAVE))
    return rows


def parameters(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each instruction's parameters are known, and numbers that are equal if the parameters are."""
    lines, pool = columns.instructions.lines, columns.instructions.pool
    address, position, length = lines[:, 5], lines[:, 7], lines[:, 8]
    numbers, first = np.zeros(len(lines), np.int64), 1
    for fields in np.unique(length[length > 0]).tolist():
        at = np.flatnonzero(length == fields)
        found = numbered([*pool[position[at, None] + np.arange(fields)].T])
        numbers[at] = first + found
        first += int(found.max()) + 1
    return (address == 0) | (length > 0), numbers


def _is_copy(columns: Columns) -> np.ndarray:
    """Return which instructions only copy a whole buffer."""
    found: np.ndarray = columns.op == COPY
    at = np.flatnonzero(found)
    operand, result = columns.operands[at, 0], columns.result[at]
    same = columns.all_of(operand) & columns.all_of(result)
    bytes_, flags = (column[columns.buffer[[operand, result]]] for column in (columns.bytes, columns.flags))
    same &= (bytes_[0] == bytes_[1]) & ((flags[0] ^ flags[1]) & DIFFERENTIABLE == 0)
    found[at] = same
    return found
