"""Liveness: the instructions that an output or a guard depends on, and those a derivative flows through.

The compiled sweeps over the eager tape find theirs in `engine.sweep.derivatives.reachability`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.sweep.replays import passes
from tapegrad.engine.tape.fields.layout import DIFFERENTIABLE, OP_READS0, READS_Y
from tapegrad.frontend.recording.unknown_derivatives import no_derivative
from tapegrad.ops import Op
from tapegrad.program.passes.op_facts import GUARD, TAKES, UNKNOWN

_OPERANDS = np.arange(3)
Numbers = Sequence[int] | np.ndarray


class LiveSelection(NamedTuple):
    """Parts of a recording that a program needs.

    Attributes
    ----------
    live
        The instructions that outputs and guards depend on, in order.
    active
        By buffer: whether a derivative flows through it.
    derived, operands
        The instructions that derivatives flow through, in order, and by instruction the operands that they flow from
        or to, a bit each.
    """

    live: np.ndarray
    active: np.ndarray
    derived: np.ndarray
    operands: np.ndarray


def live_instructions(tape: TapeView, outputs: Numbers) -> np.ndarray:
    """Return the instructions that the buffers `outputs`, or a guard, depend on, in order. The others are dead code."""
    rows, needed = _rows(tape), _marks(tape, outputs)
    passes.select(rows.ctypes.data, len(rows), needed.ctypes.data, 0, 0)
    return np.flatnonzero(rows[:, passes.LIVE])


def select(tape: TapeView, outputs: Numbers, inputs: Numbers, differentiated: Numbers) -> LiveSelection:
    """Select the parts needed for the buffers `outputs`, and for derivatives of some by the buffers `inputs`.

    Raises
    ------
    UnsupportedError
        If a derivative is needed that is not known.
    """
    columns = tape.columns
    rows = _rows(tape)
    needed, reached, wanted = (_marks(tape, each) for each in (outputs, inputs, differentiated))
    marks = needed.ctypes.data, reached.ctypes.data, wanted.ctypes.data
    passes.select(rows.ctypes.data, len(rows), *marks)
    live = np.flatnonzero(rows[:, passes.LIVE])
    active = (reached & wanted) != 0
    flowing = (columns.read >= 0) & active[columns.read] & (rows[:, passes.TAKES, None] >> _OPERANDS & 1 != 0)
    flowing &= (active[columns.written] & (rows[:, passes.LIVE] != 0))[:, None]
    operands = flowing @ (1 << _OPERANDS)
    derived = np.flatnonzero(operands)
    _check_known(tape, derived, operands)
    return LiveSelection(live, active, derived, operands)


def _rows(tape: TapeView) -> np.ndarray:
    """Return the instructions in the form that `engine.sweep.replays.passes` selects from."""
    columns = tape.columns
    rows = np.empty((len(columns.op), passes.SELECT_FIELDS), np.int64)
    rows[:, passes.LIVE] = np.where(columns.op < 0, -1, GUARD[columns.op])
    derivative = columns.flags[columns.written] & DIFFERENTIABLE != 0
    rows[:, passes.TAKES] = np.where(derivative, TAKES[columns.op], 0)
    rows[:, passes.WRITTEN] = columns.written
    rows[:, passes.READ :] = columns.read
    return rows


def _marks(tape: TapeView, buffers: Numbers) -> np.ndarray:
    """Return an array of marks, 1 for each of the buffers."""
    marks = np.zeros(len(tape.columns.bytes), np.int64)
    marks[np.asarray(buffers, np.int64)] = 1
    return marks


def _check_known(tape: TapeView, derived: np.ndarray, operands: np.ndarray) -> None:
    unknown = UNKNOWN[tape.columns.op[derived]] & operands[derived]
    for k in np.flatnonzero(unknown)[:1].tolist():
        row = kernel_table.row(int(tape.columns.op[derived[k]]))
        assert isinstance(row, Op)
        raise no_derivative(row, int(unknown[k]).bit_length() - 1)


def saved_slots(tape: TapeView, derived: np.ndarray, operands: np.ndarray) -> np.ndarray:
    """Return the slots whose primals the partials of instructions by some of their operands are computed from."""
    columns = tape.columns
    flowing = operands[derived, None] >> _OPERANDS & 1 != 0
    masks = kernel_table.op_column(columns.op[derived][:, None], OP_READS0 + _OPERANDS)
    reads = np.bitwise_or.reduce(np.where(flowing, masks, 0), axis=1)
    read = columns.operands[derived][reads[:, None] >> _OPERANDS & 1 != 0]
    results = columns.result[derived][reads & READS_Y != 0]
    return np.unique(np.concatenate([read, results]))
