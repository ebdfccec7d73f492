"""`while_loop`, `fori_loop`, `cond` and `switch`."""

import functools
import subprocess
import sys
import threading

import numpy as np
import pytest

import tapegrad as tg


def square_root(a):
    """Newton's iteration: the number of steps depends on `a`."""
    return tg.while_loop(lambda x: abs(x * x - a) > 1e-13 * a, lambda x: 0.5 * (x + a / x), 0.5 * (a + 1.0))


def kepler(eccentricity, anomaly):
    """Kepler's equation by Newton's iteration."""

    def improve(carry):
        angle, _ = carry
        step = (angle - eccentricity * tg.sin(angle) - anomaly) / (1 - eccentricity * tg.cos(angle))
        return angle - step, step

    return tg.while_loop(lambda carry: abs(carry[1]) > 1e-14, improve, (anomaly, 1.0), max_steps=50)[0]


A = np.array([0.25, 2.0, 9.0, 1e4])


@pytest.mark.parametrize(
    "wrap", [lambda f: f, tg.jit, lambda f: tg.compile(f, 2.0)], ids=["eager", "jit", "compile"]
)
def test_one_recording_for_every_number_of_steps(wrap):
    values = wrap(lambda a: square_root(a))
    assert [float(values(float(a))) for a in A] == pytest.approx(np.sqrt(A), rel=1e-12)
    if hasattr(values, "explain"):
        assert len(values.explain()) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: tg.grad(square_root),
        lambda: tg.grad(tg.jit(square_root)),
        lambda: tg.jit(tg.grad(square_root)),
        lambda: tg.compile(tg.grad(square_root), 2.0),
        lambda: lambda a: tg.jvp(square_root, (a,), (1.0,))[1],
        lambda: lambda a: tg.vmap(tg.grad(square_root))(np.array([a, 2.0, a * 3]))[0],
    ],
    ids=["grad", "grad of jit", "jit of grad", "compile", "jvp", "vmap"],
)
def test_first_derivatives(make):
    gradient = make()
    assert [float(gradient(float(a))) for a in A] == pytest.approx(0.5 / np.sqrt(A), rel=1e-9)


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_second_derivatives(wrap):
    second = wrap(tg.grad(tg.grad(square_root)))
    forward = wrap(lambda a: tg.jvp(tg.grad(square_root), (a,), (1.0,))[1])
    expected = -0.25 * A**-1.5
    assert [float(second(float(a))) for a in A] == pytest.approx(expected, rel=1e-7)
    assert [float(forward(float(a))) for a in A] == pytest.approx(expected, rel=1e-7)


def parts(p, loop):
    """Condition and body index Tensors of the function around."""
    q = p * 1.0

    def body(c):
        return tg.sin(c[0] * q[0]) + q[2:][0] * q[1], c[1] + 0.3

    return loop(lambda c: c[1] < q[1:][0], body, (p[0], 0.0))[0]


def plain(condition, body, carry):
    while condition(carry):
        carry = body(carry)
    return carry


@pytest.mark.parametrize(
    "transform",
    [
        tg.hessian,
        lambda f: tg.hessian(tg.jit(f)),
        lambda f: tg.jit(tg.hessian(f)),
        lambda f: tg.jit(lambda p: tg.grad(f)(p)),
        lambda f: tg.jit(tg.grad(lambda p: tg.sum(tg.grad(f)(p) * np.array([1.0, 2.0, -1.0])))),
        lambda f: tg.jacobian(tg.hessian(f)),
    ],
)
def test_one_recording_for_each_order(transform):
    found, expected = (transform(lambda p, loop=loop: parts(p, loop)) for loop in (tg.while_loop, plain))
    for p in (np.array([0.7, 1.1, 0.4]), np.array([0.5, 2.9, 0.3])):
        assert found(p) == pytest.approx(expected(p), rel=1e-12, abs=1e-13)
    if hasattr(found, "explain"):
        assert len(found.explain()) <= 1


def test_instances_take_steps_of_their_own():
    assert tg.vmap(square_root)(A) == pytest.approx(np.sqrt(A), rel=1e-12)
    assert tg.vmap(tg.grad(square_root))(A) == pytest.approx(0.5 / np.sqrt(A), rel=1e-9)


def test_kepler_against_the_implicit_derivative():
    e, m = 0.6, 1.2
    angle = float(kepler(e, m))
    by_e, by_m = tg.grad(kepler, argnums=(0, 1))(e, m)
    bottom = 1 - e * np.cos(angle)
    assert angle - e * np.sin(angle) == pytest.approx(m, abs=1e-15)
    assert (by_e, by_m) == pytest.approx((np.sin(angle) / bottom, 1 / bottom), rel=1e-12)


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 500])
def test_carries_beyond_those_that_are_stored(count):
    def f(p):
        return tg.while_loop(lambda c: c[1] < count, lambda c: (tg.sin(c[0] * p) + p, c[1] + 1), (p * 2, 0))[
            0
        ]

    def plain(p):
        c = p * 2
        for _ in range(count):
            c = tg.sin(c * p) + p
        return c

    for checkpoint_free in (f, tg.jit(f)):
        value, gradient = tg.value_and_grad(checkpoint_free)(0.7)
        expected = tg.value_and_grad(plain)(0.7)
        assert value == expected[0]
        assert gradient == pytest.approx(expected[1], rel=1e-12)


def test_nan_ends_a_loop():
    assert np.isnan(tg.while_loop(lambda x: x > 0, lambda x: x * np.nan, 1.0))


def test_max_steps():
    with pytest.raises(RuntimeError, match="still true after max_steps=10 iterations"):
        tg.while_loop(lambda x: x > 0, lambda x: x + 1, 1.0, max_steps=10)
    assert tg.while_loop(lambda x: x < 11, lambda x: x + 1, 1.0, max_steps=10) == 11.0
    f = tg.jit(lambda x: tg.while_loop(lambda c: c > 0, lambda c: c - 1.0, x, max_steps=10))
    assert f(3.0) == 0.0
    with pytest.raises(RuntimeError, match="still true after max_steps=10 iterations"):
        f(100.0)
    assert f(5.0) == 0.0


ENDLESS = """
import os, signal, threading, time
import tapegrad as tg
signal.signal(signal.SIGINT, signal.default_int_handler)
tg.while_loop(lambda x: x < 3, lambda x: x + 1, 0.0)
f = tg.{wrap}(lambda x: tg.while_loop(lambda c: c > 0, lambda c: {body}, x))
f(-1.0)  # no iteration, but all is compiled
def send():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)
try:
    threading.Thread(target=send).start()
    f(1.0)
except KeyboardInterrupt:
    print("interrupted")
"""


# A millisecond, and an instruction
SLOW = "tg.fori_loop(0, 60000, lambda i, e: tg.sin(e) + 2.0, d)"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
@pytest.mark.parametrize(
    ("wrap", "body"),
    [
        ("jit", "c + 1.0"),
        ("grad", "c + 1.0"),
        ("jit", f"tg.fori_loop(0, 300, lambda j, d: {SLOW}, c)"),
    ],
    ids=["jit", "grad", "nested"],
)
def test_endless_loops_are_interrupted(wrap, body):
    program = ENDLESS.format(wrap=wrap, body=body)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_the_condition_may_be_an_integer_and_close_over_tensors():
    def f(a, limit):
        return tg.while_loop(lambda c: c[1] - limit * 0 < 3, lambda c: (c[0] * a, c[1] + 1), (1.0, 0))[0]

    assert tg.grad(f, argnums=(0, 1))(2.0, 5.0) == (12.0, 0.0)
    assert tg.while_loop(lambda c: c, lambda c: c - 1, np.int64(4)) == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: tg.while_loop(lambda x: x > 0, lambda x: x, np.ones(2)),
            TypeError,
            "must return one boolean",
        ),
        (lambda: tg.while_loop(lambda x: x > 0, lambda x: (x, x), 1.0), TypeError, "another structure"),
        (lambda: tg.while_loop(lambda x: x > 0, lambda x: x, 1.0, max_steps=-1), ValueError, "negative"),
        (lambda: tg.fori_loop(0, 2.5, lambda i, x: x, 1.0), TypeError, "must be one integer"),
        (lambda: tg.fori_loop(0, 3, lambda i, x: tg.ones(2), 1.0), TypeError, r"returned float64 \(2,\)"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- fori_loop -----------------------------------------------------------------------------------------------------


def test_bounds_that_are_data():
    f = tg.jit(lambda x, n: tg.fori_loop(0, n, lambda i, y: y * x + i, 1.0))

    def plain(x, n):
        y = 1.0
        for i in range(n):
            y = y * x + i
        return y

    for n in (0, 1, 3, 40):
        assert f(1.1, np.int64(n)) == pytest.approx(plain(1.1, n), rel=1e-14)
        assert tg.grad(f)(1.1, np.int64(n)) == pytest.approx(tg.grad(plain)(1.1, n), rel=1e-12)
    assert len(f.explain()) == 1


def test_numbers_of_a_range():
    taken = tg.fori_loop(2, 6, lambda i, y: y * 10 + i, 0)
    assert (taken, taken.dtype.kind) == (2345, "i")
    assert tg.fori_loop(3, 1, lambda i, y: y + 1, 7.0) == 7.0


def test_numbers_of_a_long_range_are_counted_by_the_carry():
    """An array of them would have as many elements as there are iterations."""
    count, p = 70_000, 0.999

    def f(p):
        return tg.fori_loop(-3, count - 3, lambda i, y: y * p + i * 1e-5, 1.0)

    numbers, after = np.arange(-3, count - 3), np.arange(count - 1, -1, -1.0)
    value = np.sum(p**after * numbers) * 1e-5 + p**count
    slope = np.sum(after * p ** (after - 1) * numbers) * 1e-5 + count * p ** (count - 1)
    replayed = tg.jit(f)
    assert tg.value_and_grad(replayed)(p) == pytest.approx((value, slope), rel=1e-9)
    assert "elements" not in str(replayed.tape(p).text)


# --- cond and switch -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_one_branch_runs(wrap):
    f = wrap(lambda x: tg.cond(x > 0, lambda x: tg.log(x), lambda x: x * x, x))
    for x in (2.0, -3.0, 0.0):
        value, slope = (np.log(x), 1 / x) if x > 0 else (x * x, 2 * x)
        assert float(f(x)) == value
        assert tg.grad(f)(x) == slope
        assert tg.jvp(f, (x,), (1.0,))[1] == slope
    assert tg.grad(tg.grad(f))(2.0) == pytest.approx(-0.25)
    assert tg.vmap(tg.grad(f))(np.array([2.0, -3.0])).tolist() == [0.5, -6.0]


def test_branches_take_structures_and_tensors_from_outside():
    @tg.jit
    def f(x, p):
        found = tg.cond(x[0] > x[1], lambda a: {"s": a * p, "n": 1}, lambda a: {"s": a / p, "n": 2}, x)
        return tg.sum(found["s"]) * found["n"]

    for x in (np.array([2.0, 1.0]), np.array([1.0, 2.0])):
        expected = x.sum() * 3.0 if x[0] > x[1] else x.sum() / 3.0 * 2
        assert f(x, 3.0) == pytest.approx(expected)
        slope = x.sum() if x[0] > x[1] else -x.sum() / 9.0 * 2
        assert tg.grad(f, argnums=1)(x, 3.0) == pytest.approx(slope)
    assert len(f.explain()) == 1


def test_a_failing_branch_that_is_not_taken():
    f = tg.jit(lambda a: tg.cond(a[0, 0] > 1, lambda a: tg.linalg.inv(a), lambda a: a, a))
    assert f(np.eye(2)).tolist() == np.eye(2).tolist()
    singular = np.zeros((2, 2))
    assert f(singular).tolist() == singular.tolist()
    assert f(2 * np.eye(2)).tolist() == (0.5 * np.eye(2)).tolist()


STARTS = (-5.0, 0.2, 1.5, -5.0)  # from the first one branch alone is taken


def _by_scan(body, x):
    return tg.scan(lambda c, _: (body(c), None), x, length=8)[0]


def _by_while_loop(body, x):
    return tg.while_loop(lambda c: c[1] < 8, lambda c: (body(c[0]), c[1] + 1.0), (x, 0.0))[0]


def _by_python(body, x, count=8):
    for _ in range(count):
        x = body(x)
    return x


def _branches_with_operands(loop, p, x):
    """Each branch takes a Tensor of its own from the function around."""
    a, b = p * 2.0, np.sin(p)
    return loop(lambda c: c * 0.5 * a if c.real > 1 else c + b, x)


def _branches_within(loop, p, x):
    """The loop inside takes one of an iteration of the loop around."""
    a = p * 2.0

    def outer(c):
        z = np.sin(c) * p
        return loop(lambda d: d * 0.5 * z if d.real > 1 else d + a * 0.4, c)

    return loop(outer, x)


BRANCHES = [_branches_with_operands, _branches_within]


def _slope(function, p, x):
    return function(_by_python, p + 1e-30j, complex(x)).imag * 1e30


@pytest.mark.parametrize("function", BRANCHES)
@pytest.mark.parametrize("loop", [_by_scan, _by_while_loop])
def test_whichever_branch_comes_first_others_take_tensors_of_their_own(function, loop):
    gradient = tg.grad(functools.partial(function, loop))
    expected, replayed = [_slope(function, 0.8, x) for x in STARTS], tg.jit(gradient)
    assert [replayed(0.8, x) for x in STARTS] == pytest.approx(expected, rel=1e-12)
    assert replayed.traces.count <= 2
    assert tg.vmap(gradient, in_axes=(None, 0))(0.8, np.array(STARTS)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("function", BRANCHES)
def test_second_derivatives_of_branches_with_tensors_of_their_own(function):
    found = tg.jvp(tg.grad(functools.partial(function, _by_scan)), (0.8, 1.5), (1.0, 0.0))[1]
    expected = (_slope(function, 0.8 + 1e-6, 1.5) - _slope(function, 0.8 - 1e-6, 1.5)) / 2e-6
    assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_switch(wrap):
    f = wrap(lambda i, x: tg.switch(i, [tg.sin, tg.cos, lambda x: x**3], x))
    for i, (value, slope) in enumerate(
        [(np.sin(0.5), np.cos(0.5)), (np.cos(0.5), -np.sin(0.5)), (0.125, 0.75)]
    ):
        assert float(f(np.int64(i), 0.5)) == pytest.approx(value, rel=1e-15)
        assert tg.grad(f, argnums=1)(np.int64(i), 0.5) == pytest.approx(slope, rel=1e-15)
    assert float(f(np.int64(-5), 0.5)) == np.sin(0.5)
    assert float(f(np.int64(99), 0.5)) == 0.125


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: tg.cond(x > 0, lambda x: x, lambda x: (x, x), x),
            TypeError,
            "same structure, shapes and dtypes",
        ),
        (lambda x: tg.cond(x > 0, lambda x: x, lambda x: tg.stack([x, x]), x), TypeError, r"float64 \(2,\)"),
        (
            lambda x: tg.cond(x > 0, lambda x: x.astype(np.float32), lambda x: x, x),
            TypeError,
            r"float32 \(\) and .* float64 \(\); write t.astype\(np.float64\)",
        ),
        (lambda x: tg.cond(tg.stack([x, x]) > 0, lambda x: x, lambda x: x, x), TypeError, r"write where\(\)"),
        (lambda x: tg.switch(1.5, [tg.sin], x), TypeError, "one integer"),
        (lambda x: tg.switch(1, [], x), ValueError, "no branches"),
    ],
)
def test_messages_of_branches(call, error, message):
    with pytest.raises(error, match=message):
        tg.jit(call)(1.0)


# --- threads -------------------------------------------------------------------------------------------------------


def test_replays_of_many_threads():
    f = tg.value_and_grad(tg.jit(square_root))
    f(2.0)
    found = {}

    def work(k):
        found[k] = [f(float(k + 2)) for _ in range(200)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, pairs in found.items():
        assert all(pair == pairs[0] for pair in pairs)
        assert pairs[0][0] == pytest.approx(np.sqrt(k + 2.0))
