"""Cotangent flow of a reverse stream: the first writer of each cotangent, and those passed on without a copy."""

from collections.abc import Sequence

import numpy as np

from tapegrad.engine.inspection.tape_columns import Columns, first_of_each
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.program.passes.op_facts import IN_PLACE, PASSES_ON

_OPERANDS = np.arange(3)


class CotangentFlow:
    """Cotangents on their way through instructions.

    Parameters
    ----------
    instructions
        Those of a reverse stream, the last first.
    operands
        By instruction, the operands that cotangents flow to, a bit each.
    seeded, wrt
        The buffers whose cotangents are there at first, and those of the inputs.

    Attributes
    ----------
    wanted, first
        For each of the instructions, the operands that its kernel has a cotangent for, and those whose cotangent it
        is the first to reach, a bit each.
    fresh
        Buffers whose cotangents need memory, in the order in which they are reached.
    taken, taken_from
        Buffers whose cotangents lie where that of another one was, and which that is; its own has not moved. Several
        lie there if none of them changes.
    untouched
        Inputs whose cotangents no instruction reaches.
    """

    def __init__(
        self,
        tape: TapeView,
        instructions: np.ndarray,
        operands: np.ndarray,
        seeded: Sequence[int],
        wrt: Sequence[int],
    ) -> None:
        columns = tape.columns
        self.instructions, count = instructions, len(columns.bytes)
        elsewhere, is_seeded = marked([*seeded, *wrt], count), marked(seeded, count)
        # One entry for each operand of each instruction, in the order of the stream
        at, j = np.nonzero(operands[instructions, None] >> _OPERANDS & 1)
        i = instructions[at]
        buffers = columns.read[i, j]
        first = first_of_each(buffers, count) & ~is_seeded[buffers]
        takes = first & ~elsewhere[buffers] & ~elsewhere[columns.written[i]] & _may_take(columns, i, j)
        several = np.flatnonzero(takes)[1:][np.diff(at[takes]) == 0]
        takes[several] = (
            False  # one operand of each instruction, and others where all of them stay as they are
        )
        once = np.bincount(buffers, minlength=count)[buffers] == 1
        takes[_that_share(several, takes, buffers, columns.written[i], once & ~IN_PLACE[columns.op[i]])] = (
            True
        )
        kernel = ~takes | IN_PLACE[columns.op[i]]
        self.wanted = np.bincount(at, kernel << j, len(instructions)).astype(np.int64)
        self.first = np.bincount(at, (first & ~takes) << j, len(instructions)).astype(np.int64)
        self.fresh = buffers[first & ~takes & ~elsewhere[buffers]]
        self.taken, self.taken_from = buffers[takes], _roots(buffers[takes], columns.written[i[takes]])
        is_seeded[buffers] = True
        self.untouched = np.array(
            [buffer for buffer in dict.fromkeys(wrt) if not is_seeded[buffer]], np.int64
        )


def marked(numbers: Sequence[int], count: int) -> np.ndarray:
    """Return a mask of `count` entries with these numbers set."""
    found = np.zeros(count, np.bool_)
    found[np.array(numbers, np.int64)] = True
    return found


def _may_take(columns: Columns, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return whether the cotangent of instruction i's result can become that of operand `j` in the same memory."""
    found: np.ndarray = (j == 0) & IN_PLACE[columns.op[i]]
    passes_on = np.flatnonzero(PASSES_ON[columns.op[i]] >> j & 1)
    i, j = i[passes_on], j[passes_on]
    operand, result = columns.operands[i, j], columns.result[i]
    read, written = columns.read[i, j], columns.written[i]
    number, line = columns.views.number, columns.line
    alike = (number[line[operand]] == number[line[result]]) & (columns.bytes[read] == columns.bytes[written])
    alone = (columns.read[i] == read[:, None]).sum(axis=1) == 1
    whole = columns.all_in_some_order_of(result)
    found[passes_on] |= whole & alike & alone & (columns.writers[written] == 1)
    return found


def _that_share(
    entries: np.ndarray, takes: np.ndarray, to: np.ndarray, from_: np.ndarray, constant: np.ndarray
) -> np.ndarray:
    """Return those of some entries whose operands can take over what another operand takes over as well.

    Parameters
    ----------
    entries
        Numbers of entries: further operands of an instruction.
    takes
        The entries that take over.
    to, from_
        The buffers of the operand and of the result.
    constant
        Whether nothing is added to the operand's cotangent, and no kernel changes it. It must be so for all cotangents
        in the same memory.
    """
    entries = entries[constant[entries]]
    if len(entries) == 0:
        return entries
    trial = takes.copy()
    trial[entries] = True
    members = np.flatnonzero(trial)
    root = _roots(to[members], from_[members])
    changes = np.zeros(int(root.max()) + 1, np.bool_)
    changes[root[~constant[members]]] = True
    sharing: np.ndarray = entries[~changes[root[np.searchsorted(members, entries)]]]
    return sharing


def _roots(taken: np.ndarray, taken_from: np.ndarray) -> np.ndarray:
    """Follow what is taken over from what has itself been taken over, to where it was at first."""
    size = max(int(taken.max(initial=0)), int(taken_from.max(initial=0))) + 1
    origin = np.arange(size)
    origin[taken] = taken_from
    while (origin[origin] != origin).any():
        origin = origin[origin]
    found: np.ndarray = origin[taken]
    return found
