"""In-place writes in recordings: versions of a buffer share memory where they can, and stay apart where they must."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.inspection.tape_view import read_tape
from tapegrad.frontend.tensor.modes import thread
from tapegrad.ops import CODES
from tapegrad.program.recording.signature import flatten_args
from tapegrad.program.streams.spec import VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.traces.trace import Trace

N, STEPS = 4000, 12
STEP = 1e-30


def zeros(x):
    return tg.zeros(N) if isinstance(x, tg.Tensor) else np.zeros(N, x.dtype)


def linear(x):
    """Nothing reads old contents."""
    out = zeros(x)
    for i in range(1, STEPS):
        out[i] = 0.5 * x[i] + 0.25 * out[i - 1]
    return np.sum(out * out)


def recurrence(x):
    """Old contents are read, of elements that are written no more."""
    out = zeros(x)
    out[0] = x[0]
    for i in range(1, STEPS):
        out[i] = np.sin(x[i] * out[i - 1])
    return np.sum(out * x[1])


def value_from_the_same_memory(x):
    out = zeros(x)
    out[:STEPS] = x
    for _ in range(3):
        out[1 : STEPS + 1] = out[:STEPS]
        out[:3] = out[2::-1]
    return np.sum(out * out)


def overwriting(x):
    """What is overwritten is read by reverse rules: each version has memory of its own."""
    out = zeros(x)
    out[:STEPS] = x
    for i in range(1, STEPS - 1):
        out[i] = out[i - 1] * out[i + 1]
    return np.sum(out * out)


def rows_named_twice(x):
    out = zeros(x)
    for i in range(STEPS - 2):
        out[[i, i + 1, i]] = x[i : i + 3] * 2.0
    return np.sum(out * out)


def read_after_the_write(x):
    """An alias of old contents is a copy, which is computed with once they are overwritten."""
    out = zeros(x)
    out[:STEPS] = x * 2.0
    kept = out.copy()
    out[...] = out * 0.5
    out[0] = 3.0
    return np.sum(kept * out)


def two_arrays(x):
    a, b = zeros(x), zeros(x)
    for i in range(1, STEPS):
        a[i] = x[i] + b[i - 1]
        b[i] = a[i] * 0.5 + a[i - 1]
    return np.sum(a * a + b)


FUNCTIONS = (
    linear, recurrence, value_from_the_same_memory, overwriting, rows_named_twice, read_after_the_write, two_arrays,
)  # fmt: skip
POINTS = np.random.default_rng(3).uniform(0.3, 1.3, (3, STEPS))


def slope(function, x):
    return np.array([function(x + STEP * 1j * e).imag for e in np.eye(STEPS)]) / STEP


@pytest.mark.parametrize("function", FUNCTIONS)
def test_replays_agree_with_numpy(function):
    replayed, eager = tg.value_and_grad(tg.jit(function)), tg.value_and_grad(function)
    values, tangents = tg.jit(function), tg.jvp
    for x in POINTS:
        value, gradient = replayed(x)
        assert value == pytest.approx(function(x.astype(complex)).real, rel=1e-13)
        assert values(x) == value
        assert np.allclose(gradient, slope(function, x), rtol=1e-12, atol=1e-13)
        assert np.array_equal(gradient, eager(x)[1])
        assert tangents(tg.jit(function), (x,), (POINTS[0],))[1] == pytest.approx(gradient @ POINTS[0])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_within_recordings_read_earlier_versions(function):
    x, v = POINTS[1], POINTS[0]
    expected = slope(function, x)
    assert np.allclose(tg.jit(tg.grad(function))(x), expected, rtol=1e-12, atol=1e-13)
    along = tg.jit(lambda x: tg.jvp(function, (x,), (v,))[1])(x)
    assert along == pytest.approx(expected @ v, rel=1e-12)


def test_a_recording_keeps_what_writes_overwrite_and_no_more():
    """It has no copy of each version, which would take memory that grows with the square of the steps."""

    def function(x):
        out = zeros(x)
        out[0] = x[0]
        for i in range(1, 100):
            out[i] = np.sin(x[1] * out[i - 1])
        return np.sum(out)

    assert _whole_arrays_behind(function) <= 3
    assert _whole_arrays_behind(tg.grad(function)) <= 4  # the cotangent


def _whole_arrays_behind(function):
    """Return how many arrays of N numbers a recording holds once a function has run in it."""
    found = []

    def counting(x):
        result = function(x)
        tape = read_tape(thread.mode.recorder)
        found.append(sum(buffer.bytes == 8 * N and buffer.primal != 0 for buffer in tape.buffers.values()))
        return result

    tg.jit(counting)(POINTS[0])
    return found[0]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_jacobians_in_both_modes(function):
    def vector(x):
        return function(x) * x[:2]

    x = POINTS[1]
    reverse, forward = tg.jacobian(tg.jit(vector))(x), tg.jacobian(tg.jit(vector), mode="forward")(x)
    assert np.allclose(reverse, forward, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("plain_memory")
@pytest.mark.parametrize(("function", "primals"), [(linear, 2), (recurrence, 2), (overwriting, STEPS)])
def test_versions_share_memory_where_nothing_is_lost(function, primals):
    found = Trace(function, flatten_args((POINTS[0],), {})).program(ProgramSpec(VALUE_AND_GRAD, (0,)))
    assert found.bytes < (primals + 3) * 8 * N


@pytest.mark.usefixtures("plain_memory")
@pytest.mark.parametrize("function", [linear, recurrence, two_arrays])
def test_gradients_within_recordings_write_in_place(function):
    """A step copies neither the array nor its cotangent: time and memory grow with the steps, not with their square."""
    found = Trace(tg.grad(function), flatten_args((POINTS[0],), {})).program(ProgramSpec())
    assert found.bytes < 3 * 8 * N
    columns = found.tape.columns
    of_whole = columns.bytes[columns.written[columns.live]] == 8 * N
    others = columns.op[columns.live][of_whole] != CODES["write"]
    assert np.count_nonzero(others) <= 3
