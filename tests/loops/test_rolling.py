"""Loops of plain Python, rolled up: the same as the instructions that they stand for, in every mode and order."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from tapegrad.program.rolling import roller
from tapegrad.program.rolling.section import Section
from tapegrad.program.rolling.stretches import Stretch, stretches

N = 23
DATA = np.random.default_rng(3).normal(size=N)
ROWS = np.random.default_rng(4).normal(size=(N, 2))
TABLE = np.random.default_rng(5).normal(size=(N, N, 2))
MATRIX = np.random.default_rng(6).normal(size=(2, 2)) / 2
LEAF = tg.tensor([0.3, -0.2])
P = np.array([0.6, 0.3, 0.2, 0.9])


def lotka(y, p):
    return tg.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])


def runge_kutta(p):
    y, h = np.array([1.0, 0.5]), 0.05
    for _ in range(N):
        k1 = lotka(y, p)
        k2 = lotka(y + 0.5 * h * k1, p)
        k3 = lotka(y + 0.5 * h * k2, p)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + lotka(y + h * k3, p))
    return tg.sum(y**2)


def alike_lines(p):
    """The lines of an iteration look alike: the period by the look is half an iteration."""
    a, b = 1.0, 0.5
    for _ in range(N):
        a, b = a + 0.05 * (p[0] * a - p[1] * a * b), b + 0.05 * (p[2] * a * b - p[3] * b)
    return a + 2 * b


def literals(p):
    """GARCH: Python reads the data."""
    s, total = 1.0, 0.0
    for t in range(N):
        total = total + np.log(s) + DATA[t] ** 2 / s
        s = p[0] + p[1] * DATA[t] ** 2 + p[2] * s
    return total


def rows_of_data(p):
    x = p[:2]
    for t in range(N):
        x = tg.tanh(x) * p[2:] + ROWS[t]
    return tg.sum(x)


def rows_of_large_arrays(p):
    """Rows of more elements than are copied are read where they lie."""
    x = p[0]
    for t in range(8):
        x = tg.mean(tg.tanh(LARGE[t] * x + p[1]))
    return x


LARGE = np.random.default_rng(7).normal(size=(8, 5000))


def parts_of_an_argument(p):
    x = tg.exp(tg.linspace(0.0, 1.0, N + 5) * p[0])
    total = p[1]
    for t in range(N):
        total = tg.tanh(total + x[t] * x[t + 2] + tg.sum(x[t : t + 4]))
    return total


def steps_backwards(p):
    x = tg.exp(tg.linspace(0.0, 1.0, 2 * N + 1) * p[0])
    total = p[1]
    for t in range(N - 1, -1, -1):
        total = tg.sin(total * x[2 * t + 1] + p[2])
    return total


def written_array(p):
    out = tg.zeros(N)
    for t in range(1, N):
        out[t] = p[0] * out[t - 1] + p[1]
    return tg.sum(out * DATA)


def written_rows(p):
    """Two lags, rows, and elements that are read before they are written."""
    out = tg.ones((N, 2)) * p[3]
    for t in range(2, N):
        out[t] = tg.tanh(out[t - 1] * p[0] - out[t - 2] * p[1] + out[t] * p[2])
    return tg.sum(out * ROWS)


def written_columns(p):
    out = tg.zeros((2, N))
    for t in range(1, N):
        out[:, t] = MATRIX @ out[:, t - 1] + p[:2]
    return tg.sum(out * ROWS.T)


def written_twice(p):
    out = tg.zeros((N, 2))
    for t in range(1, N):
        out[t, 0] = tg.sin(out[t - 1, 1] + p[0])
        out[t, 1] = out[t, 0] * p[1] + out[0, 1]
    return tg.sum(out * ROWS)


def written_as_a_whole(p):
    """An explicit scheme for the heat equation, in place."""
    u = tg.linspace(0.0, 1.0, 7) ** 2
    for _ in range(N):
        u[1:-1] += 0.2 * p[0] * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[0] * p[1]
    return tg.sum(u**2)


def stacked(p):
    found, y = [], p[:2]
    for _ in range(N):
        y = tg.tanh(y * p[1]) + p[2]
        found.append(y)
    return tg.sum(tg.stack(found) * ROWS)


def stacked_numbers(p):
    found, y = [], p[0]
    for _ in range(N):
        y = tg.tanh(y * p[1])
        found.append(y * p[2])
    return tg.sum(tg.array(found) * DATA) + found[3]


def kalman(p):
    step, noise = tg.array([[1.0, p[0]], [0.0, p[1]]]), tg.array([[p[2], 0.0], [0.0, p[2]]])
    seen, x, spread, total = np.array([1.0, 0.0]), np.zeros(2), np.eye(2), 0.0
    for t in range(N):
        x, spread = step @ x, step @ spread @ step.T + noise
        v, s = ROWS[t, 0] - seen @ x, seen @ spread @ seen + p[3]
        gain = spread @ seen / s
        x, spread = x + gain * v, spread - tg.outer(gain, seen @ spread)
        total = total + np.log(s) + v * v / s
    return total


def one_after_the_other(p):
    """The second loop reads what the first has stacked, backwards; the third goes along both."""
    first, y = [], p[0]
    for t in range(N):
        y = tg.tanh(y * p[1] + DATA[t])
        first.append(y)
    second, z = [], p[2]
    for t in range(N):
        z = tg.sin(z + first[N - 1 - t])
        second.append(z * 2)
    total = 0.0
    for a, b in zip(first, second, strict=True):
        total = total + a * b
    return total


def nested(p):
    total = p[0]
    for i in range(N):
        inner = total * p[1]
        for k in range(9):
            inner = tg.tanh(inner + TABLE[i, k, 0] * p[2])
        total = tg.sin(total + inner)
    return total


def branches(p):
    x = p[0]
    for t in range(N):
        if x > -5:
            x = tg.sin(x * 2) + DATA[t] * p[1]
        x = tg.where(x > 0.2, x * p[2], x)
    return x


def leaf_of_the_function_around(p):
    x = p[:2]
    for _ in range(N):
        x = tg.sin(x * LEAF + p[2])
    return tg.sum(x)


def lags(p):
    a = b = c = p[0]
    for t in range(N):
        a, b, c = tg.tanh(a * p[1] + c * p[2] + DATA[t]), a, b
    return a * b + c


def counted(p):
    """Gathers by a fixed list, products, and sums over axes."""
    x = tg.outer(p[:3], p[1:])
    for _ in range(N):
        x = tg.sin(x[[2, 0, 1]] @ x.T * 0.3 + tg.sum(x, axis=0))
    return tg.sum(x)


@tg.custom_op("twisted", differentiable=True)
def twisted(x, y):
    return x * np.cos(y)


@twisted.define_vjp
def twisted_vjp(z_bar, z, x, y):
    return z_bar * tg.cos(y), -z_bar * x * tg.sin(y)


@twisted.define_jvp
def twisted_jvp(dots, z, x, y):
    return dots[0] * tg.cos(y) - x * tg.sin(y) * dots[1]


def _steps(p):
    y, found = p * 1.0, []
    for _ in range(N):
        y = tg.sin(y) * 0.9
        found.append(y)
    return found


def written_results(p):
    """One iteration's result is written to after the loop: the others lie in the same memory."""
    found = _steps(p)
    w, u = found[5], found[6]
    w[0] = w[1] * p[2]
    u[[1, 2]] = p[0]
    return tg.sum(w * w) + tg.sum(u**3)


def written_results_of_all_iterations(p):
    total = 0.0
    for w in _steps(p):
        w[1:3] = w[:2] * w[3]
        total = total + tg.sum(w**3 * p)
    return total


def written_and_carried(p):
    w, u, total = tg.sin(p), p * 1.0, 0.0
    for _ in range(N):
        v = tg.sin(p)
        total = total + p[1] * w[0]
        u[0] = u[1] * p[0]
    return tg.sum(v * v) + tg.sum(u) + total


def users_ops(p):
    x = p[0]
    for t in range(N):
        x = twisted(x, p[1] + DATA[t])
    return x


CASES = [
    runge_kutta, alike_lines, literals, rows_of_data, rows_of_large_arrays, parts_of_an_argument, steps_backwards,
    written_array, written_rows, written_columns, written_twice, written_as_a_whole, stacked, stacked_numbers, kalman,
    one_after_the_other, nested, branches, leaf_of_the_function_around, lags, counted, written_results,
    written_results_of_all_iterations, written_and_carried, users_ops,
]  # fmt: skip


def loops_of(tape):
    return str(tape.text).count(" times")


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_a_loop_is_what_it_stands_for(f):
    rolled, unrolled = tg.jit(f, roll=True), tg.jit(f, roll=False)
    for p in (P, P * 1.1):
        assert rolled(p) == unrolled(p)
        for transform in (tg.grad, tg.hessian):
            mine, its = transform(rolled)(p), transform(unrolled)(p)
            np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-11)
        direction = np.array([0.3, -0.1, 0.7, 0.2])
        np.testing.assert_allclose(
            tg.jvp(rolled, (p,), (direction,)), tg.jvp(unrolled, (p,), (direction,)), rtol=1e-9, atol=1e-11
        )
    assert loops_of(rolled.tape(P)) >= 1
    assert len(rolled.tape(P)) < len(unrolled.tape(P))


@daily(every=4)
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_it_is_a_loop_over_lanes_and_in_compiled_code(f):
    rolled, unrolled = tg.jit(f, roll=True), tg.jit(f, roll=False)
    lanes = np.stack([P, P * 1.1, P * 0.9])
    mine, its = (getattr(tg.vmap(g)(lanes), "data", None) for g in (rolled, unrolled))
    np.testing.assert_allclose(mine, its, rtol=1e-13)
    if f is not users_ops:
        compiled = tg.compile(tg.value_and_grad(rolled), P)
        value, gradient = compiled(P * 1.1)
        assert value == unrolled(P * 1.1)
        np.testing.assert_allclose(gradient, tg.grad(unrolled)(P * 1.1), rtol=1e-9, atol=1e-11)


def test_arrays_of_the_function_around_are_read_anew():
    rows, large, number = ROWS.copy(), LARGE.copy(), np.array(0.5)

    def f(p):
        x = p[0]
        for t in range(8):
            x = tg.mean(tg.tanh(large[t] * x + p[1])) + rows[t, 0] * number + tg.sum(rows[t] * x)
        return x

    rolled = tg.jit(f, roll=True)
    assert rolled(P) == f(P)
    assert loops_of(rolled.tape(P)) == 1
    for array in (rows, large, number):
        array *= 0.7
        np.testing.assert_allclose(rolled(P), f(P), rtol=1e-14)
        np.testing.assert_allclose(tg.grad(rolled)(P), tg.grad(f)(P), rtol=1e-12)


def test_a_branch_that_another_iteration_takes_is_recorded():
    def f(p):
        x = p[0]
        for _ in range(12):
            x = tg.sin(x * 2) * p[1] if x > 0.5 else x + p[2]
        return x

    rolled = tg.jit(lambda p: f(p), roll=True)
    for p in (
        [0.6, 1.0, 0.9],
        [9.0, 1.0, 0.9],
        [0.1, 0.5, 0.2],
        [0.1, 0.5, -0.2],
        [0.6, 1.0, 0.9],
        [0.1, 0.5, 0.0],
    ):
        p = np.array(p)
        assert rolled(p) == f(p)
        np.testing.assert_allclose(tg.grad(rolled)(p), tg.grad(f)(p), rtol=1e-12)


def test_a_loop_keeps_nothing_of_what_it_was_found_in():
    def f(p):
        x = p[0]
        for _ in range(4000):
            x = tg.tanh(x * p[1] + p[2])
        return x

    rolled, unrolled = (tg.jit(f, roll=choice) for choice in (True, False))
    assert rolled(P) == unrolled(P)
    mine, its = (jit.traces.bytes for jit in (rolled, unrolled))
    assert mine < its / 20


def test_a_profile_names_the_lines_of_loops():
    def f(p):
        y = tg.exp(p[0])
        for t in range(N):
            y = tg.tanh(y * p[1] + DATA[t])
        return y * 2

    rolled = tg.jit(f, roll=True)
    text = str(rolled.profile(P))
    assert "y = tg.tanh(y * p[1] + DATA[t])" in text
    assert "recorded other instructions" not in text


def test_results_of_all_iterations_and_of_the_last():
    def f(p):
        y, found = p[:2], []
        for t in range(N):
            y = tg.tanh(y * p[2:] + ROWS[t])
            found.append(y)
        return tg.stack(found), y, found[3] * 2, y[0]

    mine, its = tg.jit(f, roll=True), tg.jit(f, roll=False)
    assert all(np.array_equal(a, b) for a, b in zip(mine(P), its(P), strict=True))
    whole = tg.jacobian(tg.jit(lambda p: f(p)[0], roll=True))(P)
    np.testing.assert_allclose(whole, tg.jacobian(lambda p: f(p)[0])(P), rtol=1e-9, atol=1e-12)


def test_float32_stays_float32():
    def f(p):
        x = p[0]
        for t in range(N):
            x = tg.sin(x * p[1] + np.float32(0.25 * t))
        return x

    p = P.astype(np.float32)
    mine, its = tg.jit(f, roll=True), tg.jit(f, roll=False)
    assert mine(p).dtype == np.float32
    assert mine(p) == its(p)
    np.testing.assert_allclose(tg.grad(mine)(p), tg.grad(its)(p), rtol=1e-5)


def test_integers_are_not_carried_by_loops():
    """A loop holds integers as floats, which are not exact beyond 2**53."""

    def f(p, k):
        x = p[0]
        for _ in range(8):
            k = k * 7 + 1
            x = tg.sin(x + k % 5)
        return x, k

    mine, its = tg.jit(f, roll=True), tg.jit(f, roll=False)
    k = np.array([2**60])
    assert all(np.array_equal(a, b) for a, b in zip(mine(P, k), its(P, k), strict=True))


def test_what_is_no_loop_stays_as_it_is():
    def f(p):
        x = [p[0], p[1], p[2]]
        for a, b in [(0, 1), (1, 2), (0, 2), (2, 1), (1, 0), (2, 0), (0, 1), (2, 1)]:
            x[a] = tg.sin(x[a] * x[b])
        return x[0] + x[1]

    mine, its = tg.jit(f, roll=True), tg.jit(f, roll=False)
    assert mine(P) == its(P)
    assert str(mine.tape(P)) == str(its.tape(P))


def test_loops_within_loops_are_rolled_where_they_are_long(monkeypatch):
    monkeypatch.setattr(roller, "MIN_INSTRUCTIONS", 8)
    monkeypatch.setattr("tapegrad.loops.rolled.MIN_INSTRUCTIONS", 8)
    monkeypatch.setattr("tapegrad.program.traces.trace.MIN_INSTRUCTIONS", 8)
    rolled = tg.jit(lambda p: nested(p))
    assert rolled(P) == nested(P)
    assert loops_of(rolled.tape(P)) >= 2
    np.testing.assert_allclose(tg.grad(rolled)(P), tg.grad(nested)(P), rtol=1e-9)


def test_a_function_is_rolled_where_that_pays():
    def f(p, shape, count):
        x = p[0] * np.ones(shape)
        for _ in range(count):
            x = tg.tanh(x * p[1] + p[2])
        return tg.sum(x)

    for shape, count, loops in (((), 1000, 0), ((), 3000, 1), ((1000,), 3000, 0)):
        jitted = tg.jit(lambda p, shape=shape, count=count: f(p, shape, count))
        assert loops_of(jitted.tape(P)) == loops


def test_the_period_of_a_stretch_is_found():
    kinds = np.array([9, 8, *[1, 2, 3, 1, 4] * 7, 5, 6])
    assert next(stretches(kinds, 0, len(kinds))) == Stretch(2, 5, 7)
    inner = [1, *[2, 3] * 6]
    whole = np.array([7, *inner * 5])
    assert next(stretches(whole, 0, len(whole))) == Stretch(1, 13, 5)
    assert not list(stretches(np.arange(50), 0, 50))


def test_kinds_are_equal_where_instructions_do_the_same():
    recording = tg.jit(
        lambda x: tg.sin(x[0]) + tg.sin(x[1]) * tg.sum(x[:2]) - tg.sum(x[1:3]), roll=False
    ).tape(P)
    kinds = Section(recording).kinds.tolist()
    names = [line.split()[3].split("(")[0] for line in recording.text.split("\n")[1:-1]]
    assert names == ["sin", "sin", "sum", "multiply", "add", "sum", "subtract"]
    assert kinds[0] == kinds[1]
    assert kinds[2] == kinds[5]
    assert len(set(kinds)) == 5


def test_a_function_that_cannot_be_rolled_stays_what_it_is(monkeypatch):
    def fail(*_):
        raise ValueError("no such luck")

    monkeypatch.setattr("tapegrad.loops.rolled.find_loops", fail)
    with pytest.raises(ValueError, match="no such luck"):
        tg.jit(stacked, roll=True)(P)
    monkeypatch.setattr("tapegrad.program.traces.trace.MIN_INSTRUCTIONS", 8)
    monkeypatch.setattr("tapegrad.loops.rolled.MIN_INSTRUCTIONS", 8)
    with pytest.warns(tg.RecordingWarning, match=r"the loops of stacked stay unrolled.*no such luck"):
        assert tg.jit(stacked)(P) == tg.jit(stacked, roll=False)(P)


def test_numbers_that_the_tape_makes_anew_are_the_same(rng):
    """A tape shares its last numbers only: those that all iterations use are made anew between those of the data."""
    data = rng.normal(size=(300, 2))

    def f(p):
        x = p[0]
        for t in range(len(data)):
            x = tg.sin(x * 0.25 + data[t, 0]) * 0.75 + p[1] * data[t, 1] + 0.125
        return x

    mine, its = tg.jit(f, roll=True), tg.jit(f, roll=False)
    assert mine(P) == its(P)
    assert loops_of(mine.tape(P)) == 1
    assert len(mine.tape(P)) < 40
