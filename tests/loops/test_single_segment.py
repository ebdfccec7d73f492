"""Bodies that one kernel runs from the first iteration to the last: the bits of rows, and when that is so."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.segments import kernels_of_bodies
from tapegrad.loops import table

P = np.array([0.35, -0.15, 0.2])


def numbers(scan, p, n, **options):
    """Numbers in the carry, elements that are differentiated by and such that are not, stacked results."""

    def body(carry, element):
        (a, b), (x, y) = carry, element
        return (tg.sin(a * p[1] + x), b * p[2] + a * y), (a * x, tg.stack([b, x]))

    xs = (p[0] * np.linspace(0.0, 1.0, n), np.cos(np.arange(n)))
    (a, b), (first, second) = scan(body, (p[2], 0.3), xs, **options)
    return a + 2 * b + tg.sum(first) + tg.sum(second**2)


def vectors(scan, p, n, **options):
    """A line that is written as a whole and read element by element, products of matrices, arrays of the closure."""
    gain, start = np.array([[0.4, 0.3], [-0.2, 0.5]]), np.array([0.5, -0.5])

    def body(u, x):
        u = gain @ u * tg.exp(p[0]) + tg.stack([u[1] * p[1], x])
        return u, u[0]

    u, ys = scan(body, start, np.sin(np.arange(n)), **options)
    return tg.sum(u) + tg.sum(ys * ys)


def infinities(scan, p, n, **options):
    """Partials that are infinite where the cotangent is zero, in some iterations."""

    def body(c, x):
        root = tg.where(x > 0.5, tg.sqrt(tg.maximum(x - 0.5, 0.0)), 0.0)
        return c * p[0] + root * p[1], root * p[2]

    last, ys = scan(body, p[2], tg.exp(p[0]) * 0.7 * np.linspace(0.0, 1.0, n), **options)
    return last + tg.sum(ys)


def counters(scan, p, n, **options):
    """Integers that are read as floats, in float64."""
    return scan(lambda c, i: (tg.sin(c * p[0] + i * p[1]) * p[2], None), 0.5, np.arange(n), **options)[0]


def narrow(scan, p, n, **options):
    """The same in float32, with a leaf of the carry that no iteration reads."""
    p, xs = p.astype(np.float32), np.linspace(0.0, 1.0, n, dtype=np.float32)
    (a, b), _ = scan(lambda c, x: ((c[0] * p[0] + x, x * p[1]), None), (p[2], p[0]), xs, **options)
    return a * b


def spinor(scan, p, n, **options):
    """A line of complex numbers that is read and written element by element, and stacked results of both kinds."""
    field, strength = np.exp(1j * np.arange(n)), tg.sin(p[1] * np.linspace(0.0, 3.0, n))

    def body(psi, element):
        w, s = element
        turn = tg.exp(1j * p[0] * s)
        psi = tg.stack([psi[0] * turn - p[2] * w * psi[1], psi[1] / turn + s * psi[0]])
        return psi * (0.7 + 0.1j), (psi[0], tg.abs(psi[1]))

    psi, (first, second) = scan(body, np.array([1.0, 0.5j]), (field, strength), **options)
    return tg.sum(tg.abs(psi)) + tg.sum((first * w_of(n)).real) + tg.sum(second)


def w_of(n):
    return np.linspace(1.0, 2.0, n) - 0.5j


def complex_vectors(scan, p, n, **options):
    """Lines of complex numbers as wholes, their parts, and a complex number of the function around."""
    weight = p[0] + 1j * p[1]

    def body(u, x):
        u = tg.sin(u * weight) + x * tg.conj(u) * p[2]
        return u, u.real - 2 * u.imag

    u, ys = scan(body, np.array([0.3 + 0.1j, -0.2j, 0.4]), np.cos(np.arange(n)) + 0j, **options)
    return tg.sum(u.imag) + tg.sum(ys**2)


def complex_number(scan, p, n, **options):
    """A complex number beside a real one, with infinite partials where the cotangent is zero."""

    def body(carry, x):
        z, r = carry
        root = tg.where(x > 0.5, tg.sqrt(tg.maximum(x - 0.5, 0.0)), 0.0)
        return (z * p[0] + root * 1j, r * p[2] + z.real), z

    (z, r), zs = scan(body, (p[1] + 0j, p[2]), tg.exp(p[0]) * 0.7 * np.linspace(0.0, 1.0, n), **options)
    return tg.abs(z) + r + tg.sum(zs.imag)


def complex_narrow(scan, p, n, **options):
    """Complex numbers in single precision."""
    p, xs = p.astype(np.float32), np.exp(0.1j * np.arange(n)).astype(np.complex64)
    z, _ = scan(lambda z, x: (z * p[0] + x * p[1], None), np.complex64(0.3 - 0.2j), xs, **options)
    return tg.abs(z)


def with_counter(p, limit, **options):
    """Leaves without derivatives, one of which others depend on, and several sums for each parameter."""

    def body(carry):
        u, size, count = carry
        size = tg.stop_gradient(0.9 * size + 0.01 * tg.abs(u))
        return tg.sin(u * p[0] + p[1]) * p[2] + size * p[0] * p[1], size, count + 0.1

    return tg.while_loop(lambda carry: carry[2] < limit, body, (p[2], p[0] * 0.5, 0.0), **options)[0]


def by_condition(p, limit, **options):
    """A condition on an element of a vector, and one of the function around."""

    def body(carry):
        u, total = carry
        return tg.stack([tg.sin(u[0] * p[0] + u[1]), u[1] + 0.1]), total + u[0] * p[1]

    start = (np.array([0.3, 0.0]), p[2])
    u, total = tg.while_loop(lambda carry: carry[0][1] < limit + 0 * p[2], body, start, **options)
    return tg.sum(u) + total


def by_parts(p, limit, **options):
    """A condition on a part of an element of a complex vector."""

    def body(carry):
        u, total = carry
        return tg.stack([u[0] * tg.exp(1j * p[0]) * 0.9 + u[1] * p[1], u[1] + 0.1j]), total + u[0].real * p[1]

    start = (np.array([0.3 + 0.2j, 0.0]), p[2])
    u, total = tg.while_loop(lambda carry: carry[0][1].imag < limit + 0 * p[2], body, start, **options)
    return tg.sum(u.real) + tg.sum(u.imag) + total


@pytest.mark.parametrize("limit", [0.0, 1.05, 3.15, 29.95])  # 0, 11, 32 and 300 iterations
@pytest.mark.parametrize("options", [{}, {"checkpoint": 5}, {"max_steps": 300}])
@pytest.mark.parametrize("case", [by_condition, by_parts, with_counter])
def test_bits_are_those_of_rows_where_a_condition_ends_the_loop(case, limit, options, monkeypatch):
    found = tg.value_and_grad(tg.jit(lambda p: case(p, limit, **options)))(P)
    monkeypatch.setenv("TAPEGRAD_FUSE", "0")
    by_rows = tg.value_and_grad(tg.jit(lambda p: case(p, limit, **options)))(P)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in by_rows]


def test_most_iterations_of_a_kernel():
    with pytest.raises(RuntimeError, match="still true after max_steps=99 iterations"):
        by_condition(P, 9.95, max_steps=99)


CASES = [
    numbers, vectors, infinities, counters, narrow, spinor, complex_vectors, complex_number, complex_narrow,
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"checkpoint": 9}])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_bits_are_those_of_rows(case, options, monkeypatch):
    gradient = tg.value_and_grad(tg.jit(lambda p: case(tg.scan, p, 300, **options)))
    made = kernels_of_bodies(monkeypatch)
    found = gradient(P)
    assert len(made) >= (1 if case in (narrow, complex_narrow) else 2) + ("checkpoint" in options)
    monkeypatch.setenv("TAPEGRAD_FUSE", "0")
    count = len(made)
    by_rows = tg.value_and_grad(tg.jit(lambda p: case(tg.scan, p, 300, **options)))(P)
    assert len(made) == count
    assert [each.tobytes() for each in found] == [each.tobytes() for each in by_rows]
    assert np.isfinite(found[1]).all()


def test_what_is_read_as_a_number_and_written_by_a_part_is_no_line_of_a_kernel(monkeypatch):
    """The cotangent of a carry of which an iteration reads the real part alone, and writes both."""

    def value(p):
        def body(z, x):
            return tg.exp(1j * x) * p[0] * z.real + 1j * p[1] * x, z.real

        z, parts = tg.scan(body, p[2] + 0.5j, np.linspace(0.0, 1.0, 70))
        return tg.abs(z) + 0.1 * tg.sum(parts)

    found = tg.value_and_grad(tg.jit(value))(P)
    monkeypatch.setenv("TAPEGRAD_FUSE", "0")
    by_rows = tg.value_and_grad(tg.jit(value))(P)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in by_rows]
    assert (np.abs(found[1]) > 0.01).all()


def test_pieces_between_two_looks_at_interrupts(monkeypatch):
    monkeypatch.setattr(table, "_WATCH_OPERATIONS", 1)  # each iteration is a piece
    f = tg.value_and_grad(tg.jit(lambda p: numbers(tg.scan, p, 80)))
    found = f(P)
    monkeypatch.undo()
    expected = tg.value_and_grad(tg.jit(lambda p: numbers(tg.scan, p, 80)))(P)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]


def test_a_guarded_array_that_has_changed_is_noticed():
    weights = np.array([0.5, 0.25])

    def f(p):
        return tg.scan(lambda c, _: (c * p + float(np.sum(weights)), None), 0.0, length=100)[0]

    recorded = tg.jit(f)
    for scale in (1.0, 2.0):
        weights[...] = scale * np.array([0.5, 0.25])
        total = 0.0
        for _ in range(100):
            total = total * 0.5 + scale * 0.75
        assert recorded(0.5) == total
