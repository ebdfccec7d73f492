"""Snapshots of the reverse run: no schedule runs fewer iterations again (Griewank and Walther 2000).

Their bits are those of stored carries, whoever runs the iterations again, and however long the pieces are.
"""

import math

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.loops import table

P = np.array([0.35, -0.15, 0.2])
calls = 0


@tg.custom_op("counted", vjp=lambda y_bar, y, x: y_bar)
def counted(x):
    global calls
    calls += 1
    return x.copy()


def fewest(count: int, snapshots: int) -> int:
    """Evaluate the formula for the least number of iterations, the first snapshot being the beginning."""
    repetitions = 0
    while math.comb(snapshots + repetitions, snapshots) < count:
        repetitions += 1
    return repetitions * count - math.comb(snapshots + repetitions, snapshots + 1) if repetitions else 0


@pytest.mark.parametrize(
    ("snapshots", "kept"), [*((count, True) for count in (1, 2, 3, 5, 8, 20)), (2, False), (8, False)]
)
def test_the_number_of_iterations_is_the_least(snapshots, kept, monkeypatch):
    """The forward run is the schedule's first descent, and one iteration more, if it stores the snapshots."""
    global calls
    if not kept:
        monkeypatch.setattr(table, "_MAX_STORED_BYTES", 0)
    for count in (1, 2, 3, 4, 5, 7, 10, 11, 20, 21, 22, 40, 57, 100, 231):
        x = tg.tensor(0.5)
        y, _ = tg.scan(lambda c, _: (counted(c) * 1.5, None), x, length=count, checkpoint=snapshots)
        calls = 0
        y.backward()
        # Each iteration runs once more for its own pullback; the first call records nothing that is counted
        again = calls - count
        assert again == fewest(count, snapshots) - (count - 1 if kept else 0), count
        assert x.grad == pytest.approx(1.5**count)


def test_memory_is_that_of_the_snapshots():
    """A gradient over carries of 80 MB in all with 20 of them."""
    tracked = np.ones(10_000)
    gradient = tg.grad(
        lambda p: tg.sum(tg.scan(lambda u, _: (u * p, None), tracked, length=1000, checkpoint=20)[0])
    )
    assert gradient(0.999) == pytest.approx(10_000 * 1000 * 0.999**999)


def straight(p, n, **options):
    """Elements that are differentiated by, stacked results, a leaf of the carry that no iteration reads."""

    def body(carry, x):
        a, _, c = carry
        return (tg.sin(a * p[1] + x), c * x, tg.stack([c[1] * p[2], a])), a * x

    init = (p[2], np.zeros(2), p[:2])
    (a, b, c), ys = tg.scan(body, init, p[0] * np.linspace(0.0, 1.0, n), **options)
    return a + tg.sum(b) + tg.sum(c**2) + tg.sum(ys**2)


def by_programs(p, n, **options):
    """A branch, which the kernels with the loop inside do not have."""

    def body(c, x):
        return (tg.sin(c * p[0] + x) if c > 0.1 else tg.exp(-c) * p[0]), c * p[0]

    c, ys = tg.scan(body, p[2], np.linspace(0.0, 1.0, n), **options)
    return c + tg.sum(ys**2)


def nested(p, n, **options):
    """A loop in a loop, each with snapshots."""

    def body(c, x):
        return tg.scan(lambda d, _: (tg.sin(d * p[1]) + x, None), c * p[0], length=9, **options)[0], None

    return tg.scan(body, p[2], np.linspace(0.0, 1.0, n), **options)[0]


CASES = [straight, by_programs, nested]


@pytest.mark.parametrize("case", CASES)
def test_bits_are_those_of_stored_carries(case, monkeypatch):
    n = 40 if case is nested else 90
    expected = {back: _derivatives(lambda p, back=back: case(p, n, reverse=back)) for back in (False, True)}
    for checkpoint, back, patches in (
        (4, False, {}),
        ("sqrt", False, {}),
        (4, False, {"_MAX_STORED_BYTES": 0}),  # nothing is stored by the forward run
        (4, True, {"_WATCH_OPERATIONS": 1}),  # each iteration is a piece
    ):
        with monkeypatch.context() as patched:
            for name, value in patches.items():
                patched.setattr(table, name, value)
            found = _derivatives(lambda p, c=checkpoint, b=back: case(p, n, checkpoint=c, reverse=b))
        for one, other in zip(found, expected[back], strict=True):
            np.testing.assert_array_equal(one, other)


def _derivatives(f):
    """Return derivatives by one reverse run, and by several after one forward run."""
    return tg.grad(tg.jit(f))(P), tg.jacobian(tg.jit(lambda p: tg.stack([f(p), f(p) * p[0]])))(P)


@pytest.mark.parametrize("case", CASES)
def test_bits_in_lanes_and_in_compiled_code(case):
    points = P + np.linspace(0.0, 0.1, 5)[:, None]
    gradient = tg.grad(tg.jit(lambda p: case(p, 30)))
    expected = np.stack([gradient(p) for p in points])
    of_snapshots = tg.grad(lambda p: case(p, 30, checkpoint=3))
    np.testing.assert_array_equal(tg.vmap(of_snapshots)(points), expected)
    np.testing.assert_array_equal(tg.compile(of_snapshots, P)(points[1]), expected[1])


@pytest.mark.parametrize("turns", [1, 31, 32, 33, 34, 70])
@pytest.mark.parametrize("options", [{}, {"checkpoint": 3}])
def test_bits_of_loops_that_a_condition_ends(turns, options, monkeypatch):
    monkeypatch.setattr(table, "_STORED_ITERATIONS", 32)

    def by_condition(p):
        def body(carry):
            k, a, _ = carry
            return k + 1.0, tg.sin(a * p[1] + k), k * p[0]

        k, a, b = tg.while_loop(lambda carry: carry[0] < turns, body, (0.0, p[2], p[0]), **options)
        return k + a * b

    def unrolled(p):
        a = p[2]
        for k in range(turns):
            a, b = tg.sin(a * p[1] + float(k)), float(k) * p[0]
        return turns + a * b

    found = tg.value_and_grad(tg.jit(by_condition))(P)
    expected = tg.value_and_grad(tg.jit(unrolled, roll=False))(P)
    assert found[0] == expected[0]
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)


def test_a_guarded_array_that_has_changed_is_noticed():
    weights = np.array([0.5, 0.25])

    def f(p):
        body = lambda c, _: (c * p + float(np.sum(weights)), None)  # noqa: E731
        return tg.scan(body, 0.0, length=100, checkpoint=5)[0]

    gradient = tg.grad(tg.jit(f))
    for scale in (1.0, 2.0):
        weights[...] = scale * np.array([0.5, 0.25])
        total, slope = 0.0, 0.0
        for _ in range(100):
            total, slope = total * 0.5 + scale * 0.75, slope * 0.5 + total
        assert gradient(0.5) == pytest.approx(slope, rel=1e-13)


def test_a_loop_without_a_carry():
    gradient = tg.grad(lambda x: tg.sum(tg.scan(lambda c, e: (c, e**2), (), x, checkpoint=2)[1]))
    np.testing.assert_array_equal(gradient(np.arange(5.0)), 2 * np.arange(5.0))
