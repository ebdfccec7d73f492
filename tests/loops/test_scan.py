"""`scan`: the same as the loop in Python, in every mode, order and dtype."""

import gc

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.loops.loop_op import LoopOp

MATRIX = np.random.default_rng(7).normal(size=(2, 2)) / 2


def unrolled(f, init, xs, length=None, reverse=False, **_):
    """Do what `scan` does in Python; of sequences that are one array or a tuple, and results likewise."""
    count = length if xs is None else len(xs[0] if isinstance(xs, tuple) else xs)
    carry, ys = init, [None] * count
    for t in reversed(range(count)) if reverse else range(count):
        x = None if xs is None else tuple(each[t] for each in xs) if isinstance(xs, tuple) else xs[t]
        carry, ys[t] = f(carry, x)
    if not count or ys[0] is None:
        return carry, None
    if isinstance(ys[0], tuple):
        return carry, tuple(tg.stack([y[k] for y in ys]) for k in range(len(ys[0])))
    return carry, tg.stack(ys)


def recurrence(scan, p, n=5, **options):
    """A scalar carry, elements and results."""
    last, ys = scan(lambda c, x: (tg.sin(c * p[0] + x), c * p[1]), p[2], np.linspace(0.1, 1.0, n), **options)
    return last + tg.sum(ys**2)


def vectors(scan, p, n=4, **options):
    """A vector and a number in the carry, two sequences, of which one is differentiated by."""

    def body(carry, element):
        u, total = carry
        x, k = element
        u = MATRIX @ u + p[:2] * x
        return (u, total + u[0] * k), (u, total)

    xs = (tg.stack([p[0] * t for t in range(n)]), np.arange(n))
    (u, total), (us, totals) = scan(body, (np.ones(2), 0.0), xs, **options)
    return tg.sum(u) + total + tg.sum(us * us) + tg.sum(totals * totals)


def without_elements(scan, p, n=6, **options):
    """A matrix product with a Tensor of the function around, no elements, no results."""
    matrix = tg.stack([p[:2], p[1:3]])
    u, _ = scan(lambda u, _: (tg.tanh(matrix @ u), None), np.array([0.3, -0.2]), None, n, **options)
    return tg.sum(u * u)


def integers(scan, p, n=5, **options):
    """Integers and booleans in carry, elements and results."""

    def body(carry, k):
        value, count, odd = carry
        value = value * p[0] + tg.where(odd, p[1], p[2]) * k
        return (value, count + k, ~odd), count

    start = (0.5, np.int64(0), np.bool_(True))
    (value, count, odd), counts = scan(body, start, np.arange(n), **options)
    return value * count + tg.sum(counts * value) + odd


def branches(scan, p, n=7, **options):
    """A branch that some iterations take, and others do not."""

    def body(c, x):
        y = c * p[0] if c > 0.5 else c + x * p[1]
        return y, y * p[2]

    last, ys = scan(body, 0.1, np.linspace(0.1, 0.4, n), **options)
    return last + tg.sum(ys)


def nested(scan, p, n=3, **options):
    """A loop in a loop; the inner one takes Tensors of the outer one and of the function."""

    def outer(c, x):
        scale = c * p[0]
        inner, ys = scan(lambda u, w: (u * scale + w * p[1], u), c + x, np.array([0.1, 0.2]))
        return inner, tg.sum(ys)

    last, ys = scan(outer, p[2], np.linspace(0.0, 1.0, n), **options)
    return last + tg.sum(ys)


def writes(scan, p, n=4, **options):
    """Writes in place to the carry and to arrays of the body."""

    def body(u, x):
        work = tg.zeros(3)
        work[1:] = u
        u[0] = u[1] * p[0]
        u += x
        return u + tg.sum(work) * p[1], work

    last, ys = scan(body, tg.array(np.array([0.5, 0.25])), np.linspace(0.0, 1.0, n), **options)
    return tg.sum(last) + tg.sum(ys * ys)


def number(value):
    """Return a result as an array, whether it is a Tensor or not."""
    return value.data if isinstance(value, tg.Tensor) else np.asarray(value)


CASES = [recurrence, vectors, without_elements, integers, branches, nested, writes]
P = np.array([0.7, -0.3, 0.4])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_the_loop(case, reverse):
    expected = case(unrolled, P, reverse=reverse)
    found = case(tg.scan, P, reverse=reverse)
    assert np.array_equal(number(found), number(expected))
    replayed = tg.jit(lambda p: case(tg.scan, p, reverse=reverse))
    assert np.array_equal([replayed(P), replayed(P)], [number(expected)] * 2)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "transform",
    [
        pytest.param(tg.grad, id="grad"),
        pytest.param(lambda f: tg.grad(tg.jit(f)), id="grad of jit"),
        pytest.param(lambda f: tg.jit(tg.grad(f)), id="jit of grad"),
        pytest.param(lambda f: lambda p: tg.jvp(f, (p,), (np.array([1.0, -2.0, 0.5]),))[1], id="jvp"),
        pytest.param(tg.jacfwd, id="jacfwd"),
        pytest.param(tg.hessian, id="hessian"),
        pytest.param(lambda f: tg.jit(tg.hessian(f)), id="jit of hessian"),
        pytest.param(lambda f: lambda p: tg.hvp(f)(p, np.ones(3)), id="hvp"),
        pytest.param(lambda f: lambda p: tg.compile(tg.value_and_grad(f), p)(p)[1], id="compile"),
        pytest.param(lambda f: lambda p: tg.vmap(f)(np.stack([p, p / 2])), id="vmap"),
        pytest.param(lambda f: lambda p: tg.vmap(tg.grad(f))(np.stack([p, p / 2])), id="vmap of grad"),
    ],
)
def test_derivatives_are_those_of_the_loop(case, transform):
    expected = transform(lambda p: case(unrolled, p))(P)
    found = transform(lambda p: case(tg.scan, p))
    assert found(P) == pytest.approx(expected, rel=1e-12, abs=1e-13)
    assert found(P) == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("case", CASES)
def test_backward_accumulates(case):
    p, q = tg.tensor(P), tg.tensor(P)
    for _ in range(2):
        case(tg.scan, p).backward()
        case(unrolled, q).backward()
    assert p.grad == pytest.approx(q.grad, rel=1e-12)


@pytest.mark.parametrize("case", [recurrence, vectors, branches, nested])
def test_third_derivatives(case):
    def third(scan):
        def along(f):
            return lambda p: tg.sum(tg.grad(f)(p) * np.array([1.0, 0.5, -1.0]))

        return tg.grad(along(along(lambda p: case(scan, p, 3))))(P)

    assert third(tg.scan) == pytest.approx(third(unrolled), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("case", [recurrence, without_elements, integers, branches])
def test_few_iterations(case, n):
    if n == 0 and case in (recurrence, integers, branches):
        last, ys = tg.scan(lambda c, x: (c * x, (c, x + 1)), P[0], np.zeros((0, 2))[:, 0])
        assert (last, ys[0].shape, ys[1].shape) == (P[0], (0,), (0,))
        assert tg.grad(lambda c: tg.scan(lambda c, x: (c * x, c), c, np.zeros(0))[0] * 2)(3.0) == 2.0
        return
    found = tg.value_and_grad(lambda p: case(tg.scan, p, n))(P)
    expected = tg.value_and_grad(lambda p: case(unrolled, p, n))(P)
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], rel=1e-13)


@pytest.mark.parametrize("checkpoint", ["sqrt", 1, 2, 3, 7, 10, 11, 12, 50])
@pytest.mark.parametrize("case", CASES)
def test_every_number_of_stored_carries_gives_the_same_bits(case, checkpoint):
    expected = tg.grad(lambda p: case(tg.scan, p, 11))(P)
    found = tg.grad(lambda p: case(tg.scan, p, 11, checkpoint=checkpoint))
    assert np.array_equal(found(P), expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [256, 263])
@pytest.mark.parametrize("case", CASES)
def test_several_iterations_at_a_time(case, n, reverse):
    """Long loops of short bodies take chunks of iterations, and then the rest."""
    p = P / 2
    found = tg.value_and_grad(lambda p: case(tg.scan, p, n, reverse=reverse))(p)
    expected = tg.value_and_grad(lambda p: case(unrolled, p, n, reverse=reverse))(p)
    assert found[0] == pytest.approx(expected[0], rel=1e-14)
    assert found[1] == pytest.approx(expected[1], rel=1e-11, abs=1e-13)


def test_fused_bodies_give_the_bits_of_rows(monkeypatch):
    def f(p):
        return recurrence(tg.scan, p, 100) + vectors(tg.scan, p / 4, 100)

    fused = tg.value_and_grad(f)(P)
    monkeypatch.setenv("TAPEGRAD_FUSE", "0")
    by_rows = tg.value_and_grad(f)(P)
    assert np.array_equal(fused[0], by_rows[0])
    assert np.array_equal(fused[1], by_rows[1])


def test_float32_stays_float32():
    p = P.astype(np.float32)

    def f(scan, p):
        last, ys = scan(lambda c, x: (c * p[0] + x, c * x), p[1], np.linspace(0, 1, 5, dtype=np.float32))
        return last + tg.sum(ys)

    value, gradient = tg.value_and_grad(lambda p: f(tg.scan, p))(p)
    expected = tg.value_and_grad(lambda p: f(unrolled, p))(p)
    assert (value.dtype, gradient.dtype) == (np.float32, np.float32)
    assert value == expected[0]
    assert gradient == pytest.approx(expected[1], rel=1e-6)


def test_tangents_of_float32_beside_integers():
    """Loops with a counter or a condition hold all of their numbers in double precision."""
    single = np.array([0.9, 0.5, 0.7], np.float32)
    for name, function in {
        "fori": lambda x: tg.fori_loop(0, 3, lambda k, c: c * np.roll(c, 1), x),
        "while": lambda x: tg.while_loop(lambda c: c[0] > 0.1, lambda c: c * x, x),
        "cond": lambda x: tg.cond(x[0] > 0, lambda: x**2, lambda: x),
    }.items():
        expected = tg.jacrev(function)(single.astype(float))
        for found in (
            tg.jvp(function, (single,), (np.ones(3, np.float32),))[1],
            tg.jacobian(function, sparse=True)(single) @ np.ones(3, np.float32),
        ):
            assert found.dtype == np.float32, name
            np.testing.assert_allclose(found, expected.sum(axis=1), rtol=1e-5, err_msg=name)


def test_float32_and_float64_side_by_side():
    def f(scan, p):
        def body(carry, x):
            small, large = carry
            return (small * x, large + small.astype(np.float64) * p[0]), small

        (small, large), ys = scan(body, (np.float32(0.5), p[1]), np.ones(3, np.float32))
        return large + tg.sum(ys) + small

    found = tg.value_and_grad(lambda p: f(tg.scan, p))(P)
    expected = tg.value_and_grad(lambda p: f(unrolled, p))(P)
    assert found[0] == expected[0]
    assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize("loop", ["scan", "fori_loop", "while_loop"])
def test_tangents_of_float32_beside_float64(loop):
    """A loop holds both as float64, and so it does its tangents on Tensors."""
    x, v = np.array([0.3, -0.4, 1.0]), np.array([1.0, 0.5, -2.0])

    def f(x):
        z = x.astype(np.float32)
        return {
            "scan": lambda: tg.scan(lambda c, e: (np.sin(c), c * e), z, x)[0],
            "fori_loop": lambda: tg.fori_loop(0, 5, lambda i, c: np.sin(c), z),
            "while_loop": lambda: tg.while_loop(
                lambda c: c[0] < 2.5, lambda c: (c[0] + 1.0, np.sin(c[1])), (0.0, z)
            )[1],
        }[loop]()

    def plain(x):
        for _ in range(5 if loop == "fori_loop" else 3):
            x = np.sin(x)
        return x

    slope = (plain(x + 1e-4) - plain(x - 1e-4)) / 2e-4
    curvature = (plain(x + 1e-3) - 2 * plain(x) + plain(x - 1e-3)) / 1e-6
    np.testing.assert_allclose(tg.jvp(f, (x,), (v,))[1], slope * v, rtol=1e-5)
    for product in (
        tg.hvp(lambda x: np.sum(f(x)))(x, v),
        tg.grad(lambda x: np.sum(tg.jvp(f, (x,), (v,))[1]))(x),
        tg.grad(lambda x: np.sum(tg.grad(lambda y: np.sum(f(y)))(x) * v))(x),
    ):
        np.testing.assert_allclose(product, curvature * v, rtol=1e-4)


def test_structures_are_kept():
    def body(carry, x):
        return {"a": carry["a"] + x["k"], "b": [carry["b"][0] * 2, None]}, {
            "y": (x["k"], None),
            "z": carry["a"],
        }

    last, ys = tg.scan(body, {"a": 1.0, "b": [np.ones(2), None]}, {"k": np.arange(3.0), "none": None})
    assert last["a"] == 4.0
    assert last["b"][0].tolist() == [8.0, 8.0]
    assert last["b"][1] is None
    assert ys["y"][1] is None
    assert ys["y"][0].tolist() == [0.0, 1.0, 2.0]
    assert ys["z"].tolist() == [1.0, 1.0, 2.0]


def test_a_loop_without_operands():
    last, ys = tg.scan(lambda c, x: (None, 1.5), None, length=3)
    assert last is None
    assert ys.tolist() == [1.5, 1.5, 1.5]


def test_python_numbers_take_the_dtype_of_the_result():
    last, _ = tg.scan(lambda c, x: (c + x, None), 0, np.array([0.5, 0.25]))
    assert (last.dtype, last) == (np.float64, 0.75)


def test_arguments_are_not_written_to():
    start, p = tg.tensor(np.array([1.0, 2.0])), tg.tensor(2.0)

    def body(u, _):
        u *= p
        return u, None

    last, _ = tg.scan(body, start, length=3)
    assert start.tolist() == [1.0, 2.0]
    assert last.tolist() == [8.0, 16.0]
    tg.sum(last).backward()
    assert start.grad.tolist() == [8.0, 8.0]
    assert p.grad == 3 * 4 * 3.0


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit])
@pytest.mark.parametrize(
    "loop",
    [
        lambda x: tg.fori_loop(0, 2, lambda k, c: x, 0.0),
        lambda x: tg.scan(lambda c, k: (x, 0.0), 0.0, np.arange(3.0))[0],
        lambda x: tg.mean(tg.scan(lambda c, k: (c, x), 0.0, np.arange(3.0))[1]),
        lambda x: tg.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, x), (0.0, 0.0))[1],
        lambda x: tg.cond(x > 0, lambda: x, lambda: -x),
    ],
)
def test_a_tensor_from_outside_as_it_is_returned(loop, wrap):
    f = wrap(lambda p: loop(p * p) ** 2)
    assert tg.grad(f)(2.0) == 32
    assert tg.jvp(f, (2.0,), (1.0,)) == (16, 32)
    assert tg.hessian(f)(2.0) == 48
    assert tg.jvp(tg.grad(f), (2.0,), (1.0,)) == (32, 48)


def test_parts_of_a_tensor_from_outside():
    """An index makes a new Tensor each time that the body is called."""

    def f(p):
        return tg.scan(lambda c, _: (c * p[0] + p[1:][1] * p[0], None), p[2], length=4)[0]

    def plain(p):
        c = p[2]
        for _ in range(4):
            c = c * p[0] + p[1:][1] * p[0]
        return c

    assert tg.hessian(f)(P) == pytest.approx(tg.hessian(plain)(P), rel=1e-12)


def written(c, i):
    c = c.copy()
    c[i] = c * 2
    return c


@pytest.mark.parametrize(
    ("body", "others"),
    [
        (lambda c, i: c + tg.sin(c[i]), ([3, 2, 1, 0], [0, 0, 1, 1])),
        (lambda c, i: c + tg.sin(c[(i + 1) % 4]) * i, ([3, 2, 1, 0], [0, 0, 1, 1])),
        (lambda c, i: tg.where(i > 1, c * 2, c), ([3, 2, 1, 0], [0, 0, 1, 1])),
        (lambda c, i: c + tg.take(c, i), ([3, 2, 1, 0], [0, 0, 1, 1])),
        (lambda c, i: c * np.asarray(i), ([3, 2, 1, 0], [0, 0, 1, 1])),
        (lambda c, i: c * i.astype(float), ([3, 2, 1, 0], [0, 0, 1, 1])),
        (written, ([3, 2, 1, 0], [1, 0, 3, 2])),
        (lambda c, i: c * (2.0 if int(i) > 2 else 3.0), (1, 5)),
        (lambda c, i: c + c[i], (1, 2)),
        (lambda c, i: c + tg.sum(c[:i]), (1, 2)),
        (lambda c, i: c * 2 if i else c * 3, (True, False)),
    ],
)
def test_integers_from_outside_are_those_of_each_call(body, others):
    x = np.array([0.1, 0.2, 0.3, 0.4])
    f = tg.jit(lambda x, i: tg.scan(lambda c, _: (body(c, i), None), x, length=3)[0])

    def plain(x, i):
        for _ in range(3):
            x = body(x, i)
        return x

    for i in (*others, *others):
        given = np.array(i) if isinstance(i, list) else np.asarray(i)[()]
        assert np.array_equal(f(x, given), tg.jit(plain)(x, given))
        expected = tg.jacobian(plain)(x, given)
        assert tg.jacobian(f)(x, given) == pytest.approx(expected, rel=1e-13)
        assert tg.jit(tg.jacobian(f))(x, given) == pytest.approx(expected, rel=1e-13)


def test_row_numbers_out_of_range_are_refused():
    f = tg.jit(lambda x, i: tg.scan(lambda c, _: (c + c[i], None), x, length=3)[0])
    x = np.ones(4)
    f(x, np.array([0, 1, 2, 3]))
    with pytest.raises(IndexError):
        f(x, np.array([0, 1, 2, 4]))


def test_arrays_of_the_closure_are_read_where_they_lie():
    weights = np.array([1.0, 2.0])
    f = tg.jit(lambda x: tg.scan(lambda c, _: (c + tg.sum(weights) * x, None), 0.0, length=3)[0])
    assert f(1.0) == 9.0
    weights[0] = 5.0
    assert f(1.0) == 21.0


def test_a_body_that_has_changed_is_refused():
    scale = [2.0]
    x = tg.tensor(3.0)
    y, _ = tg.scan(lambda c, _: (c * scale[0] * x, None), 1.0, length=2)
    scale[0] = 5.0
    with pytest.raises(RuntimeError, match=r"has changed since the loop was run.*pass it as an argument"):
        y.backward(create_graph=True)


def test_linear_algebra_that_fails_names_the_iteration():
    matrices = np.stack([np.eye(2), np.eye(2) * 2, np.zeros((2, 2)), np.eye(2)])
    with pytest.raises(np.linalg.LinAlgError, match="scan, iteration 2: a matrix is singular"):
        tg.scan(lambda c, a: (tg.linalg.solve(a, c), None), np.ones(2), matrices)


def test_a_reverse_run_that_fails_names_the_iteration():
    matrices = np.stack([np.eye(2), np.eye(2) * 2, np.zeros((2, 2)), np.eye(2)])

    def f(x):
        return tg.scan(lambda c, a: (c + tg.linalg.slogdet(a * x)[1], None), 1.0, matrices)[0]

    assert f(1.0) == -np.inf
    with pytest.raises(np.linalg.LinAlgError, match="scan, iteration 2: a matrix is singular"):
        tg.grad(f)(1.0)


def _branches_on_sums(scan, p):
    """What an iteration returns goes into the carry, on which a branch depends."""

    def body(c, x):
        v = np.sin(c) * p
        c = c + v * x
        return (c * 0.3 + v if c[0] > 0.9 else c * 1.01), v

    last, vs = scan(body, p, np.cos(np.arange(70.0)))
    return np.sum(last**2) + np.sum(vs**3)


def _by_numpy(body, init, xs):
    carry, ys = init, []
    for x in xs:
        carry, y = body(carry, x)
        ys.append(y)
    return carry, np.array(ys)


def test_an_unknown_branch_leaves_cotangents_as_they_are():
    """A pullback of another branch than the iteration's has added to none of them when its guard fails."""
    p, offenders = np.array([0.9, 0.5]), []
    expected = [_branches_on_sums(_by_numpy, p + 1e-30j * d).imag * 1e30 for d in np.eye(2)]
    for name, transform in {
        "grad": tg.grad,
        "grad of jit": lambda f: tg.grad(tg.jit(f)),
        "jit of grad": lambda f: tg.jit(tg.grad(f)),
        "jacobian": tg.jacobian,
        "compile": lambda f: tg.compile(tg.grad(f), p),
        "vmap": lambda f: lambda p: tg.vmap(tg.grad(f))(np.stack([p / 2, p]))[1],
    }.items():
        found = transform(lambda p: _branches_on_sums(tg.scan, p))(p)
        if not np.allclose(found, expected, rtol=1e-11):
            offenders.append(f"{name}: {found} for {expected}")
    assert not offenders, "\n".join(offenders)


def _empty_carry(p, n):
    return tg.scan(lambda c, _: (c * p, c), np.zeros(0), length=n)[0]


LOOPS_OF_NOTHING = {
    "no carry and no elements": lambda p, n: tg.scan(lambda c, _: (c, None), (), length=n)[1] or 0.0,
    "no carry, results": lambda p, n: tg.sum(tg.scan(lambda c, x: (None, x * p), None, np.zeros(n))[1]),
    "a carry of nothing": lambda p, n: tg.sum(_empty_carry(p, n)),
    "elements of nothing": lambda p, n: tg.scan(lambda c, x: (c, x * p), 0.0, np.zeros((n, 0)))[0],
    "a matrix of nothing": lambda p, n: tg.sum(tg.fori_loop(0, n, lambda i, c: c * p + i, np.zeros((0, 2)))),
    "fori_loop": lambda p, n: tg.fori_loop(0, n, lambda i, c: c, ()) or 0.0,
    "while_loop": lambda p, n: tg.while_loop(lambda c: p < n - 1000, lambda c: c, ()) or 0.0,
}


@pytest.mark.parametrize("n", [0, 1, 300])
def test_loops_of_nothing(n):
    offenders = []
    for name, loop in LOOPS_OF_NOTHING.items():

        def f(p, loop=loop):
            return p * p + loop(p, n)

        for transform in (tg.grad, lambda f: tg.grad(tg.jit(f)), lambda f: tg.jit(tg.grad(f))):
            if transform(f)(1.5) != 3.0:
                offenders.append(name)
    assert not offenders


def test_many_branches_are_too_many():
    def body(c, _):
        k = 0
        while c > k:
            k += 1
        return c + 1.0, k

    assert tg.scan(body, 0.5, length=20)[1].tolist() == list(range(1, 21))
    with pytest.raises(RuntimeError, match="more than 32 branches"):
        tg.scan(body, 0.5, length=100)


def test_large_integers_are_refused():
    with pytest.raises(OverflowError, match=r"2\*\*53"):
        tg.scan(lambda c, _: (c * 1024, None), np.int64(2), length=6)
    with pytest.raises(OverflowError, match=r"2\*\*53"):
        tg.scan(lambda c, x: (c + x, None), np.int64(2), np.array([2**60]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tg.scan(lambda c, x: c, 0.0, np.ones(3)), TypeError, "must return a pair"),
        (
            lambda: tg.scan(lambda c, x: ((c, c), x), 0.0, np.ones(3)),
            TypeError,
            "another structure",
        ),
        (
            lambda: tg.scan(
                lambda c, x: ({"a": c["a"], "b": tg.ones(3)}, x), {"a": 0.0, "b": np.ones(2)}, np.ones(3)
            ),
            TypeError,
            r"given \['b'\] as float64 \(2,\) and returned float64 \(3,\)",
        ),
        (
            lambda: tg.scan(lambda c, x: (c * 0.5, x), np.arange(3), np.ones(3)),
            TypeError,
            r"as int64 \(3,\) and returned float64 \(3,\)",
        ),
        (lambda: tg.scan(lambda c, x: (c, x), 0.0), ValueError, "neither xs nor length"),
        (lambda: tg.scan(lambda c, x: (c, x), 0.0, np.ones(3), 4), ValueError, "extents 3, 4"),
        (lambda: tg.scan(lambda c, x: (c, x), 0.0, (np.ones(3), np.ones(2))), ValueError, "extents 2, 3"),
        (lambda: tg.scan(lambda c, x: (c, x), 0.0, 1.0), ValueError, "one is a number"),
        (lambda: tg.scan(lambda c, x: (c, x), 0.0, length=-1), ValueError, "negative"),
        (
            lambda: tg.scan(lambda c, x: (c, x), 0.0, np.ones(3), checkpoint=0),
            ValueError,
            "checkpoint must be",
        ),
        (
            lambda: tg.scan(lambda c, x: (c.real, x), 0j, np.ones(3)),
            TypeError,
            r"as complex128 \(\) and returned float64 \(\)",
        ),
        (lambda: tg.scan(3, 0.0, np.ones(3)), TypeError, "scan"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_one_instruction_however_long():
    f = tg.jit(lambda p: tg.scan(lambda c, _: (c * p, None), 1.0, length=100_000)[0])
    assert len(f.tape(0.9999)) < 12
    assert f(0.9999) == pytest.approx(0.9999**100_000, rel=1e-9)
    assert tg.grad(f)(0.9999) == pytest.approx(100_000 * 0.9999**99_999, rel=1e-9)


def test_printed_tapes_show_the_body():
    f = tg.jit(lambda p: tg.scan(lambda c, x: (tg.sin(c) * p, c), 0.5, np.ones(5))[0])
    text = f.tape(2.0).text
    assert "5 times: carry x0 to x0; elements x1 to x1" in text
    assert text.count(" = sin(x0)") == 1
    assert text.index("scan(") < text.index("sin(x0)")
    g = tg.jit(lambda p: tg.while_loop(lambda c: c < 3, lambda c: c * p, 1.0))
    assert "while condition: carry x0 to x0" in g.tape(2.0).text
    assert "less(x0, 3.0)" in g.tape(2.0).text


def test_nothing_stays_of_loops_that_are_no_longer_used():
    def eager():
        k = tg.tensor(0.9)
        tg.scan(lambda c, _: (c * k, None), 1.0, length=10)[0].backward()

    def recorded():
        f = tg.value_and_grad(tg.jit(lambda p: tg.scan(lambda c, _: (c * p, None), 1.0, length=100)[0]))
        f(0.9)
        tg.hessian(f.function)(0.8)

    def alive():
        gc.collect()
        return sum(isinstance(each, LoopOp) for each in gc.get_objects())

    before = alive()
    for _ in range(3):
        eager()
        recorded()
    assert alive() <= before


def test_a_branch_on_a_tensor_from_outside_is_recorded_for_its_value_in_the_replay():
    def doubled(a, scan):
        return scan(lambda c, _: (c * 2 if c * a > 1 else c + 1, c), 1.0, np.arange(4.0))[1]

    function = tg.jit(lambda a: doubled(a, tg.scan))
    for a in (0.01, 5.0, 0.4):
        np.testing.assert_array_equal(function(a), doubled(tg.tensor(a), unrolled).data)
