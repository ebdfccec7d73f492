"""Loops over complex numbers, against the same loop of Python."""

import numpy as np
import pytest

import tapegrad as tg

COMPLEX = [np.complex128, np.complex64]
MATRIX = 0.4 * np.array([[1, 2j, 0.1], [0.5, 1 - 1j, 0.2], [0.1j, 0.3, 0.9]])
OPERATORS = (0, 1, 2, 3)


def unrolled(body, carry, xs):
    """Return what `scan` does, by a loop of Python."""
    ys = []
    for x in xs:
        carry, y = body(carry, x)
        ys.append(y)
    return carry, tg.stack(ys) if ys else np.zeros((0, 3), xs.dtype)


def evolved(run):
    """Return a function with complex and real operands: first carry, elements, two from the function around."""

    def loss(z, xs, matrix, rate):
        def step(carry, x):
            u, total = carry
            u = matrix @ u * np.exp(1j * x.real) + x * np.conj(u) * rate
            u = u + rate * np.fft.ifft(np.fft.fft(u) * matrix[0])
            return (u, total + rate * abs(u).sum()), u * np.conj(x)

        (u, total), ys = run(step, (z, 0 * rate), xs)
        return (abs(u) ** 2).sum() + total + (abs(ys) ** 2).sum() + (u * matrix[1]).sum().real

    return loss


def operands(rng, dtype, count):
    """Return operands of `evolved`."""
    z, xs = (random(rng, dtype, n) for n in (3, count))
    real = np.float64 if dtype == np.complex128 else np.float32
    return z, 0.5 * xs, MATRIX.astype(dtype), real(0.3)


def random(rng, dtype, *shape):
    numbers = rng.normal(size=(2, *shape))
    return (numbers[0] + 1j * numbers[1] if np.dtype(dtype).kind == "c" else numbers[0]).astype(dtype)


def close(found, expected, dtype):
    """Compare values and dtypes."""
    tolerance = 1e-12 if np.dtype(dtype) in (np.complex128, np.float64) else 2e-5
    for one, other in zip(found, expected, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("count", [0, 1, 7, 70])
def test_scan_is_the_loop_of_python(dtype, count, rng):
    args = operands(rng, dtype, count)
    value, gradient = tg.value_and_grad(evolved(unrolled), argnums=OPERATORS)(*args)
    for f in (evolved(tg.scan), tg.jit(evolved(tg.scan))):
        found = tg.value_and_grad(f, argnums=OPERATORS)(*args)
        close([found[0], *found[1]], [value, *gradient], dtype)
        assert [bar.dtype for bar in found[1]] == [x.dtype for x in args]


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("count", [0, 7])
def test_tangents_and_second_order(dtype, count, rng):
    args = operands(rng, dtype, count)
    dots = tuple(random(rng, x.dtype, *x.shape) for x in args)
    scanned, expected = evolved(tg.scan), evolved(unrolled)
    for f in (scanned, tg.jit(scanned)):
        close(tg.jvp(f, args, dots), tg.jvp(expected, args, dots), dtype)
    by_all = (tg.grad(each, argnums=OPERATORS) for each in (scanned, expected))
    (_, found), (_, known) = (tg.jvp(gradient, args, dots) for gradient in by_all)
    close(found, known, dtype)


def test_elements_in_reverse_are_stacked_where_they_are(rng):
    def step(z, x):
        z = z * x + 1j
        return z, z

    xs = random(rng, np.complex128, 6)
    (last, ys), (known, stacked) = tg.scan(step, 1j, xs, reverse=True), unrolled(step, 1j, xs[::-1])
    close([last, ys], [known, stacked[::-1]], complex)


def test_strided_broadcast_and_scalar_leaves(rng):
    z, xs = random(rng, np.complex128, 3, 2), random(rng, np.complex128, 4, 8)

    def loss(run, z, xs):
        def step(carry, x):
            u, c = carry
            return (u * c + x[:, None], c * 1j + x[0]), np.conj(u[0, 0])

        first = z.T, np.broadcast_to(z[0, 0], ())
        (u, c), ys = run(step, first, xs[:, ::4])
        return abs(u.sum() + c + ys.sum()) ** 2

    both = (0, 1)
    for scan in (tg.scan, lambda *args: tg.jit(lambda z, xs: tg.scan(args[0], z, xs))(*args[1:])):
        found = tg.grad(lambda z, xs, scan=scan: loss(scan, z, xs), argnums=both)(z, xs)
        close(found, tg.grad(lambda z, xs: loss(unrolled, z, xs), argnums=both)(z, xs), complex)


def test_numbers_of_python_become_complex():
    for first in (1, 1.0, 1j):
        last, _ = tg.scan(lambda z, x: (z * x, None), first, np.array([1j, 2.0, 1 + 1j]))
        assert last.dtype == np.complex128
        np.testing.assert_allclose(last, first * 2j * (1 + 1j))
    single, _ = tg.scan(lambda z, x: (x * z.astype(np.complex64), None), 1j, np.ones(3, np.complex64))
    assert single.dtype == np.complex64


def test_carry_and_constants_that_are_handed_on(rng):
    z, c = random(rng, np.complex128, 2), random(rng, np.complex128, 2)

    def loss(z, w):
        def step(carry, _):
            u, kept = carry
            return (kept, w), (u, c, w)  # a carry, an array and a Tensor from outside as they are

        (u, kept), (us, cs, ws) = tg.scan(step, (z, z), length=3)
        return abs(us[0] * us[1] * u + cs[1] * ws.sum(0) * kept).sum()

    expected = tg.grad(lambda z, w: abs(z * z * w + c * 3 * w * w).sum(), argnums=(0, 1))(z, c)
    close(tg.grad(loss, argnums=(0, 1))(z, c), expected, complex)
    close(tg.grad(tg.jit(loss), argnums=(0, 1))(z, c), expected, complex)


@pytest.mark.parametrize("checkpoint", ["sqrt", 3])
def test_checkpoints_have_the_same_gradient(checkpoint, rng):
    args = operands(rng, np.complex128, 30)
    few = evolved(lambda body, carry, xs: tg.scan(body, carry, xs, checkpoint=checkpoint))
    found, known = (tg.grad(tg.jit(f), argnums=OPERATORS)(*args) for f in (few, evolved(tg.scan)))
    for one, other in zip(found, known, strict=True):
        np.testing.assert_array_equal(one, other)


def newton(a, z0):
    """Return a complex root by Newton's method, whose number of iterations is data."""
    return tg.while_loop(lambda z: abs(z * z - a) > 1e-13, lambda z: 0.5 * (z + a / z), z0)


def test_while_loop_has_analytic_derivatives():
    for f in (newton, tg.jit(newton)):
        for a in (2j, -3 + 0.1j, 1.0 + 0.5j):
            root = f(a, 1 + 0.8j)
            np.testing.assert_allclose(root**2, a, rtol=1e-12)
            slope = tg.grad(lambda a, f=f: f(a, 1 + 0.8j), holomorphic=True)(a)
            np.testing.assert_allclose(slope, 0.5 / root, rtol=1e-10)
            second = tg.jvp(tg.grad(lambda a, f=f: f(a, 1 + 0.8j), holomorphic=True), (a,), (0.3 - 1j,))[1]
            np.testing.assert_allclose(second, -0.25 / root**3 * (0.3 - 1j), rtol=1e-8)
            along = tg.jvp(f, (a, 1 + 0.8j), (0.3 - 1j, 0j))[1]
            np.testing.assert_allclose(along, (0.3 - 1j) * slope, rtol=1e-10)


def test_vmap_of_loops(rng):
    a = random(rng, np.complex128, 5)
    starts = np.where(a.imag < 0, 1 - 1j, 1 + 1j)
    found = tg.vmap(newton)(a, starts)
    np.testing.assert_allclose(found**2, a, rtol=1e-12)
    args = operands(rng, np.complex128, 6)
    zs = random(rng, np.complex128, 4, 3)
    slope = tg.grad(evolved(tg.scan), argnums=OPERATORS)
    mapped = tg.vmap(slope, in_axes=(0, None, None, None))(zs, *args[1:])
    each = [slope(z, *args[1:]) for z in zs]
    close(mapped, [np.stack(column) for column in zip(*each, strict=True)], complex)


def test_fori_loop_with_bounds_that_are_data():
    def power(z, n):
        return tg.fori_loop(0, n, lambda i, y: y * z + i, 1.0 + 0j)

    z = 0.3 + 0.8j
    jitted = tg.jit(power)
    for n in (0, 1, 5):
        expected = 1.0 + 0j
        for i in range(n):
            expected = expected * z + i
        np.testing.assert_allclose(jitted(z, np.array(n)), expected, rtol=1e-14)
        np.testing.assert_allclose(power(z, n), expected, rtol=1e-14)
    slope = tg.grad(lambda z: tg.fori_loop(0, 3, lambda i, y: y * z, 1.0), holomorphic=True)(z)
    np.testing.assert_allclose(slope, 3 * z**2, rtol=1e-14)


def test_branches(rng):
    def turned(x, z):
        return tg.cond(x > 0, lambda z: (z * 1j, abs(z)), lambda z: (np.conj(z) * x, z.real), z)

    def loss(x, z):
        w, r = turned(x, z)
        return (abs(w + 1) ** 2).sum() + r.sum()

    z = random(rng, np.complex128, 3)
    jitted = tg.jit(loss)
    for x in (0.7, -0.7):
        for argnum in (0, 1):
            expected = tg.grad(loss, argnum)(x, z)
            np.testing.assert_allclose(tg.grad(jitted, argnum)(x, z), expected, rtol=1e-14)
    kinds = [np.exp, np.conj, lambda z: z * z]
    pick = tg.jit(lambda k, z: tg.switch(k, kinds, z))
    for k, kind in enumerate(kinds):
        np.testing.assert_allclose(pick(k, z), kind(z), rtol=1e-14)
    mapped = tg.vmap(lambda x, z: turned(x, z)[0])(np.array([1.0, -1.0]), z[:2])
    np.testing.assert_allclose(mapped, [1j * z[0], -np.conj(z[1])], rtol=1e-14)


def test_branches_of_the_body_are_recorded_for_each_side():
    def loss(run, z, m):
        def step(u, x):
            u = m * u if abs(u) < 1 else u / (m * 2) * x
            return u, None

        if run is tg.scan:
            return abs(tg.scan(step, z, np.exp(1j * np.arange(9.0)))[0]) ** 2
        for x in np.exp(1j * np.arange(9.0)):
            z, _ = step(z, x)
        return abs(z) ** 2

    args = (0.4 + 0.3j, 1.2 - 0.5j)
    known = tg.grad(lambda *args: loss(None, *args), argnums=(0, 1))(*args)
    for f in (lambda *args: loss(tg.scan, *args), tg.jit(lambda *args: loss(tg.scan, *args))):
        close(tg.grad(f, argnums=(0, 1))(*args), known, complex)


def test_backward_fills_gradients_of_captured_leaves(rng):
    m = tg.tensor(MATRIX)
    z = tg.tensor(random(rng, np.complex128, 3))
    last, _ = tg.scan(lambda u, _: (m @ u, None), z, length=3)
    (abs(last) ** 2).sum().backward()
    known = tg.grad(lambda m, z: (abs(m @ (m @ (m @ z))) ** 2).sum(), argnums=(0, 1))(m.data, z.data)
    close([m.grad, z.grad], known, complex)


def test_spin_precession_is_the_analytic_one():
    """A spin in a field along z, by midpoint rule in 400 steps: <sx> = cos(w t), by the rate -t sin(w t)."""
    count, end = 400, 1.3

    def spin(rate):
        h = end / count

        def step(psi, _):
            turn = np.array([1j, -1j]) * (-0.5 * h) * rate
            return psi * (1 + turn / 2) / (1 - turn / 2), None  # Cayley's form keeps the norm

        psi, _ = tg.scan(step, np.full(2, 0.5**0.5 + 0j), length=count)
        return 2 * (np.conj(psi[0]) * psi[1]).real

    value, slope = tg.value_and_grad(tg.jit(spin))(2.0)
    np.testing.assert_allclose([value, slope], [np.cos(2 * end), -end * np.sin(2 * end)], rtol=2e-5)


def test_compiled_and_saved(tmp_path, rng):
    args = operands(rng, np.complex128, 6)
    slope = tg.grad(evolved(tg.scan), argnums=OPERATORS)
    compiled = tg.compile(slope, args)
    close(compiled(*args), slope(*args), complex)
    compiled.save(tmp_path / "loop.tg")
    close(tg.load(tmp_path / "loop.tg")(*args), slope(*args), complex)


def test_messages_name_complex_leaves():
    with pytest.raises(TypeError, match=r"given \[0\] as float64 \(2,\) and returned complex128 \(2,\)"):
        tg.scan(lambda c, _: ((c[0] * 1j, c[1]), None), (np.ones(2), 1.0), length=3)
    with pytest.raises(TypeError, match=r"given it as complex128 \(\) and returned float64 \(\)"):
        tg.scan(lambda z, _: (abs(z), None), 1 + 1j, length=3)
    with pytest.raises(TypeError, match=r"complex128 \(\) where the first returned complex128 \(\), float64"):
        tg.scan(lambda z, x: (z, x if x > 0 else z), 1j, np.array([1.0, -1.0]))


def test_printed_tapes_show_the_body():
    shown = str(tg.jit(lambda z: tg.scan(lambda u, _: (u * 1j, None), z, length=3)[0]).tape(1 + 1j))
    assert "carry x0 to x0" in shown
    assert "multiply" in shown


def test_writes_to_the_carry_leave_what_came_in(rng):
    first, xs = random(rng, np.complex128, 3), random(rng, np.complex128, 5)

    def loss(run, z, xs):
        def step(u, x):
            u[0] = u[1] * x
            u.imag[2] = 0.5 * u.real[2]
            return u * (1 + 0.1j), u + 0

        u, us = run(step, z * 1, xs)
        return (abs(u) ** 2).sum() + (us**2).sum().real

    both = (0, 1)
    known = tg.grad(lambda *args: loss(unrolled, *args), argnums=both)(first, xs)
    kept = first.copy()
    for f in (lambda *args: loss(tg.scan, *args), tg.jit(lambda *args: loss(tg.scan, *args))):
        close(tg.grad(f, argnums=both)(first, xs), known, complex)
    np.testing.assert_array_equal(first, kept)


def test_special_values_stay_as_they_are():
    """Negative zeros, infinities and nan are handed on bit for bit, and a zero partial stops them."""
    z = np.array([complex(-0.0, 0.0), complex(0.0, -0.0), complex(np.inf, 1.0), complex(np.nan, -np.inf)])
    last, stacked = tg.scan(lambda u, _: (u, u), z, length=2)
    for each in (last, stacked[0], stacked[1]):
        assert np.asarray(each).tobytes() == z.tobytes()
    roots = tg.scan(lambda u, x: (u, np.sqrt(x)), 0.0, np.array([complex(-4, 0.0), complex(-4, -0.0)]))[1]
    np.testing.assert_array_equal(roots, [2j, -2j])

    def guarded(z):
        return tg.scan(lambda u, x: (u + np.where(x != 0, np.sqrt(x), 0), None), 0j, z)[0].real

    np.testing.assert_allclose(tg.grad(guarded)(np.array([0j, 4.0 + 0j])), [0, 0.25])


@pytest.mark.parametrize("dtype", [np.float64, *COMPLEX])
def test_products_of_elements_may_be_compared(dtype, rng):
    """An element is itself in all lanes, and not the first one of its line, whatever LLVM makes of a comparison."""

    def iterated(carry, z):
        t, before, latest, count = carry
        line = z * t
        value = (np.conj(line[0]) * line[1]).real
        both = (value > 0) & (before > 0)
        return t * t.dtype.type(0.9), value, np.where(both, latest, before), count + 1

    def run(z, t):
        return tg.while_loop(lambda carry: carry[3] < 3, lambda carry: iterated(carry, z), (t, t, t, 0))[:3]

    z, t = random(rng, dtype, 2), random(rng, np.zeros(1, dtype).real.dtype, 1)[0]
    known = t, t, t, 0
    for _ in range(3):
        known = iterated(known, z)
    close(tg.jit(run)(z, t), known[:3], np.dtype(t.dtype))
