"""Constant folding: what is computed of numbers that are the same in each replay is computed once.

Numbers that only the recording has are such: an array that the function has made, as `arange` does. So are arrays whose
contents a guard compares. Another array that the function closes over is none, for each replay reads it where it lies.
"""

from collections.abc import Iterator, Mapping, Sequence
from ctypes import string_at
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.inspection.tape_entries import Buffers
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.tape.fields.layout import DIFFERENTIABLE, EXTERNAL, NONE, TRACED
from tapegrad.frontend.tensor.array_checks import UNSHARED, reference_counts
from tapegrad.ops import CODES
from tapegrad.program.passes.common_subexpressions import parameters
from tapegrad.program.passes.op_facts import ALWAYS_RUN

_GUARD = CODES["guard"]
# Of a result that is larger than its operands: a replay may compute it as fast as it would read it.
_MAX_GROWN_BYTES = 4096


class FoldedConstants(NamedTuple):
    """Constants in the place of instructions.

    Attributes
    ----------
    instructions
        Numbers of those that replays do not run.
    slots
        The results of theirs that others read.
    arrays
        The values of these results.
    """

    instructions: np.ndarray
    slots: tuple[int, ...]
    arrays: tuple[np.ndarray, ...]


NOTHING = FoldedConstants(np.zeros(0, np.int64), (), ())


def find_constant_instructions(tape: TapeView, owners: Mapping[int, Any]) -> np.ndarray:
    """Return the numbers of the instructions that compute the same in each replay, given who has which buffer."""
    columns, live = tape.columns, tape.columns.live
    written, read = columns.written[live], columns.read[live]
    may = ~ALWAYS_RUN[columns.op[live]] & (columns.flags[written] & (TRACED | DIFFERENTIABLE) == 0)
    may &= (columns.writers[written] == 1) & columns.all_of(columns.result[live])
    may &= ~np.isin(written, columns.buffer[list(tape.outputs)])
    sizes = np.where(read >= 0, columns.bytes[read], 0).sum(1)
    may &= columns.bytes[written] <= np.maximum(sizes, _MAX_GROWN_BYTES)
    if not may.any():
        return NOTHING.instructions
    may &= parameters(columns)[0][live]
    fixed, found = _fixed_buffers(tape, owners), []
    for k in np.flatnonzero(may).tolist():
        if all(fixed[buffer] for buffer in read[k].tolist() if buffer != NONE):
            fixed[written[k]] = True
            found.append(int(live[k]))
    return np.array(found, np.int64)


def _fixed_buffers(tape: TapeView, owners: Mapping[int, Any]) -> np.ndarray:
    """Return by buffer whether each replay finds the same there.

    So it does in numbers on the tape, in arrays that nobody else has, and in what a guard compares.
    """
    columns, lines = tape.columns, Buffers.of(tape.buffers).lines
    number, primal, bytes_, flags = lines[:, [0, 1, 3, 8]].T
    is_constant = np.zeros(len(columns.bytes), np.bool_)
    is_constant[number] = (flags & (DIFFERENTIABLE | TRACED) == 0) & (primal != 0)
    is_constant &= columns.writers == 0
    fixed = np.zeros_like(is_constant)
    fixed[number[flags & EXTERNAL == 0]] = True
    for buffer, count in zip(owners, reference_counts(owners.values()), strict=True):
        fixed[buffer] = count <= UNSHARED and _owns_its_memory(owners[buffer])
    for begin, length in _guarded_memory(tape):
        fixed[number[(primal == begin) & (bytes_ <= length)]] = True
    return fixed & is_constant


def _guarded_memory(tape: TapeView) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of the constants that guards compare, if they are what the guards expect."""
    columns = tape.columns
    for i in columns.live[columns.op[columns.live] == _GUARD].tolist():
        (length, expected), (slot,) = tape.instructions[i].params, tape.operands(i)
        buffer = tape.buffers[slot.buffer]
        begin = buffer.primal + slot.view.offset
        is_constant = buffer.primal and buffer.flags & (EXTERNAL | TRACED) == EXTERNAL
        if is_constant and string_at(begin, length) == string_at(expected, length):
            yield begin, length


def _owns_its_memory(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.base is None


def only_constants(tape: TapeView, numbers: np.ndarray) -> TapeView:
    """Return a tape of some instructions, whose outputs are those of their results that other instructions read."""
    columns = tape.columns
    others = np.setdiff1d(columns.live, numbers)
    is_read = np.zeros(len(columns.bytes) + 1, np.bool_)  # with an entry for operands that are absent
    is_read[columns.read[others]] = True
    slots = columns.result[numbers[is_read[columns.written[numbers]]]]
    return replace(
        tape, instructions=columns.instructions.only(numbers), inputs=(), outputs=tuple(slots.tolist())
    )


def fold(tape: TapeView, constants: FoldedConstants) -> TapeView:
    """Put constants in the place of the instructions that compute them."""
    if not len(constants.instructions):
        return tape
    columns, lines = tape.columns, Buffers.of(tape.buffers).lines.copy()
    at = np.searchsorted(lines[:, 0], columns.buffer[list(constants.slots)])
    lines[at, 1] = [array.ctypes.data for array in constants.arrays]
    lines[at, 7], lines[at, 8] = NONE, EXTERNAL
    lines[at, 9] = _contents(constants.arrays)
    return replace(
        tape,
        instructions=columns.instructions.only(np.setdiff1d(columns.live, constants.instructions)),
        buffers=Buffers(lines),
        kept=(*tape.kept, *constants.arrays),
    )


def _contents(arrays: Sequence[np.ndarray]) -> list[int]:
    """Return the first eight bytes of those that have no more."""
    return [
        int.from_bytes(array.tobytes().ljust(8, b"\0"), "little", signed=True) if array.nbytes <= 8 else 0
        for array in arrays
    ]
