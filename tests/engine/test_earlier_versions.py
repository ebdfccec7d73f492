"""Nothing is computed from an earlier version of memory, nor written to it: another thread may have a slot of one."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine import kernel_table
from tapegrad.engine.sweep.eager import eager, eager_joining, eager_lines, eager_products, eager_rows, writes
from tapegrad.engine.tape import slots, views
from tapegrad.engine.tape.fields.layout import E_DTYPES, E_SUPERSEDED, F64, NONE
from tapegrad.frontend.tensor.modes import EAGER
from tapegrad.ops import CODES

_NUMBERS = np.arange(3)
_OTHER = np.ones(3)
_TAPE = EAGER.header

# What is called with a slot of three elements on an earlier version, and one of the same shape that is no such.
CALLS = {
    "elementwise": lambda old, new: eager.record_elementwise(_TAPE, CODES["add"], new, old, NONE, True),
    "with a number": lambda old, new: eager.record_with_number(_TAPE, CODES["add"], old, 2.0, 0, True),
    "with an array": lambda old, new: eager.record_with_array(_TAPE, CODES["add"], old, id(_OTHER), F64, 0, True),
    "sum": lambda old, new: eager_lines.record_lines(_TAPE, CODES["sum"], old, 1, 0, True),
    "max": lambda old, new: eager_lines.record_lines(_TAPE, CODES["max_reduce"], old, 1, 0, True),
    "scan": lambda old, new: eager_lines.record_lines(_TAPE, CODES["cumsum"], old, 1, 1, True),
    "product": lambda old, new: eager_products.record_product(_TAPE, CODES["matmul"], new, old, True),
    "rows": lambda old, new: eager_rows.record_rows(_TAPE, CODES["gather"], old, id(_NUMBERS), 1, True),
    "joined": lambda old, new: eager_joining.record_joined(_TAPE, (new, old), 0, 0, True),
    "laid out": lambda old, new: eager_joining.record_laid_out(_TAPE, (new, old), F64, (6,), True),
    "write to": lambda old, new: _with_target(old, lambda t: writes.write(_TAPE, CODES["write"], old, t, new, True)),
    "write of": lambda old, new: _with_target(new, lambda t: writes.write(_TAPE, CODES["write"], new, t, old, True)),
    "write of a number": lambda old, new: _with_target(
        old, lambda t: writes.write_number(_TAPE, CODES["write"], old, t, 2.0, True)
    ),
    "write to rows": lambda old, new: _with_rows(
        lambda rows: writes.write_rows(_TAPE, CODES["scatter_write"], old, rows, new, True)
    ),
    "Python's write": lambda old, new: writes.begin_write(_TAPE, old, old, 0),
}  # fmt: skip


def _with_target(slot, write):
    """The outcome of a write that should be refused, and so leaves its target to the caller."""
    target = slots.view_again(_TAPE, slot, slot)
    outcome = write(target)
    slots.drop(_TAPE, target)
    return outcome


def _with_rows(write):
    rows = tg.tensor(_NUMBERS)
    return write(rows._slot_on(EAGER))


@pytest.mark.parametrize("call", CALLS)
def test_earlier_versions_are_refused(call):
    for op in (
        "add",
        "sum",
        "max_reduce",
        "cumsum",
        "matmul",
        "gather",
        "positive",
        "write",
        "scatter_write",
    ):
        kernel_table.load_code(CODES[op], F64, 0)
    x, y = tg.tensor([1.0, 2.0, 3.0]), tg.tensor([4.0, 5.0, 6.0])
    squares = x * x + y
    old = x._slot
    x[0] = 5.0
    assert x._slot != old
    assert CALLS[call](old, y._slot) == E_SUPERSEDED
    before = len(EAGER), EAGER.column("refs").sum()
    assert CALLS[call](old, y._slot) == E_SUPERSEDED
    assert (len(EAGER), EAGER.column("refs").sum()) == before
    squares.backward()
    np.testing.assert_array_equal(y.grad, np.ones(3))


@pytest.mark.parametrize("call", [name for name in CALLS if not name.startswith("write")])
def test_slots_that_were_let_go_are_refused(call):
    x, y = tg.tensor([1.0, 2.0, 3.0]), tg.tensor([4.0, 5.0, 6.0])
    freed = slots.view_again(_TAPE, x._slot_on(EAGER), x._slot)
    y._slot_on(EAGER)
    slots.drop(_TAPE, freed)
    before = len(EAGER), EAGER.column("refs").sum()
    assert CALLS[call](freed, y._slot) in (E_SUPERSEDED, E_DTYPES)
    for view in (views.view_reversed(_TAPE, freed), views.view_index(_TAPE, freed, 0)):
        assert view == E_DTYPES
    assert slots.view_again(_TAPE, freed, x._slot) == E_SUPERSEDED
    assert (len(EAGER), EAGER.column("refs").sum()) == before
