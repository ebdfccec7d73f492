"""A recording as columns of numbers says the same as the objects of its entries."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.inspection.tape_view import TapeView, read_tape
from tapegrad.engine.inspection.view_columns import numbered
from tapegrad.program.recording.signature import flatten_args
from tapegrad.program.traces.trace import Trace

X = np.array([0.3, -1.2, 0.8, 0.0, 2.1, -0.4])
FUNCTIONS = {
    "views": lambda x: tg.sum(x[1:] * x[:-1] - x[::-1][1:].T[::1]),
    "dimensions": lambda x: tg.sum(x.reshape(2, 3) @ x.reshape(3, 2) + tg.sum(x)),
    "written to": lambda x: _written(tg.sin(x)) * 2,
    "parameters": lambda x: tg.concatenate([x[[0, 2]], tg.cumsum(x)]) + tg.exp(x[0]) * tg.exp(x[0]),
    "dtypes": lambda x: tg.where(x > 0, x.astype(np.float32), 0) * tg.floor(x),
}


def _written(y):
    y[2:4] = y[:2]
    return y


def read(function) -> TapeView:
    return read_tape(Trace(function, flatten_args((X,), {})).recording)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_columns_say_what_objects_say(function):
    tape = read(function)
    columns = tape.columns
    again = TapeView(
        tuple(tape.instructions),
        dict(tape.slots),
        dict(tape.buffers),
        tape.inputs,
        tape.outputs,
        True,
        0,
        None,
    )
    for name in ("op", "result", "operands", "written", "read", "buffer", "bytes", "flags"):
        assert np.array_equal(getattr(columns, name), getattr(again.columns, name)), name
    assert tape.live == again.live
    for i in tape.live:
        assert columns.written[i] == tape.written[i] == tape.result(i).buffer
        assert [b for b in columns.read[i] if b >= 0] == tape.read[i] == [x.buffer for x in tape.operands(i)]
    for number, slot in tape.slots.items():
        line = columns.line[number]
        assert columns.views.contiguous[line] == slot.contiguous
        assert columns.views.bytes[line] == slot.view.nbytes
        for other, another in tape.slots.items():
            alike = columns.views.number[line] == columns.views.number[columns.line[other]]
            assert alike == (slot.view == another.view)


def test_lines_have_one_number_where_they_are_equal(rng):
    columns = rng.integers(-3, 3, (3, 200)) * np.array([[1], [1 << 40], [7]])
    found = numbered(list(columns))
    lines = list(map(tuple, columns.T.tolist()))
    assert len(set(found.tolist())) == len(set(lines)) == found.max() + 1
    assert len(set(zip(found.tolist(), lines, strict=True))) == len(set(lines))
