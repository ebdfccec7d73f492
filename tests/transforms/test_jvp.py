"""Forward mode: `jvp` eager and replayed, Jacobians by columns, against Jacobians by rows."""

import threading

import numpy as np
import pytest

import tapegrad as tg
from helpers.compositions.sample import Sample
from helpers.daily import random_seeds
from tapegrad.program.programs import jacobian_columns
from tapegrad.program.streams.spec import JACFWD, JACREV

PREPARE = {"plain": lambda f: f, "jit": tg.jit}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def write_region(x):
    y = x * 2
    y[1:, 0] = x[0, 2:] * x[1, 2]
    y[:, 1] *= y[:, 0]
    return y


def write_constants(x):
    y = tg.ones((3, 4)) * 2
    y[1] = x[0]
    y[2, 1:3] = 5.0
    z = x * x
    z[::2] = 1.0
    return y * z


def write_rows(x):
    y = x * x
    y[[2, 0]] = x[:2] * 3
    z = tg.zeros(4)
    z[[1, 3, 1]] = x[0, :3]
    return y @ z


def branches(x):
    return tg.sin(x) if tg.sum(x) > 0 else x * x


FUNCTIONS = {
    "unary": (lambda x: tg.sin(x) * tg.exp(x) + tg.sqrt(x * x + 1), (3, 4)),
    "binary": (lambda x: tg.maximum(x, x[::-1]) / (1 + x**2), (3, 4)),
    "where": (lambda x: tg.where(x > 0.2, x * x, -x), (3, 4)),
    "broadcast": (lambda x: x[:, :1] * x[1] + x[2, 3], (3, 4)),
    "scalars": (lambda x: x[0, 0] * tg.exp(-x[0, 1] * np.linspace(0, 1, 5)) + x[1, 2] ** 2, (3, 4)),
    "scalar": (lambda x: tg.sin(x) * x, ()),
    "sum": (lambda x: tg.sum(x * x, axis=0) + tg.sum(x) + tg.sum(x, axis=1)[0], (3, 4)),
    "mean": (lambda x: tg.mean(x * x, axis=1, keepdims=True) * x, (3, 4)),
    "prod": (lambda x: tg.prod(x * x, axis=1), (3, 4)),
    "extremes": (lambda x: tg.max(x * x, axis=0) + tg.min(tg.sin(x)), (3, 4)),
    "cumsum": (lambda x: tg.cumsum(x * x, axis=1), (3, 4)),
    "matmul": (lambda x: (x @ x.T) @ (np.ones(3) + x[0, 0]), (3, 4)),
    "matmul by constants": (lambda x: np.arange(6.0).reshape(2, 3) @ x, (3, 4)),
    "gather": (lambda x: (x * x)[[2, 0, 2, 2]], (3, 4)),
    "concatenate": (lambda x: tg.concatenate([x[0] * 2, np.ones(2), x[1, :1] * x[2, 0], x[2, 3:]]), (3, 4)),
    "stack": (lambda x: tg.stack([x * 2, tg.ones((3, 4)), x * x], axis=1), (3, 4)),
    "views": (lambda x: tg.transpose(x * x)[::-1, 1:].reshape(2, 4) * x.T[:2, :1], (3, 4)),
    "write a region": (write_region, (3, 4)),
    "write and constants": (write_constants, (3, 4)),
    "write rows": (write_rows, (3, 4)),
    "branch": (branches, (3, 4)),
    "identity": (lambda x: x, (3, 4)),
    "view of the input": (lambda x: x[::2, None], (5,)),
    "constant": (lambda x: tg.ones((2, 2)) * 3 + 0 * x[0, 0].detach(), (3, 4)),
    "empty argument": (lambda x: tg.concatenate([x, tg.ones(2) * tg.sum(x)]), (0,)),
    "empty result": (lambda x: x[:0] * 2, (3,)),
    "even and odd": (lambda x: x[::2] * 2 + x[1::2] * tg.sin(x[::2]), (40,)),
    "detached": (lambda x: x.detach() * x, (3, 4)),
}


@pytest.mark.parametrize("how", PREPARE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_directions_columns_and_rows_agree(name, how, rng):
    function, shape = FUNCTIONS[name]
    f = PREPARE[how](function)
    by_columns, by_rows = tg.jacfwd(f), tg.jacrev(f)
    for scale in (1.0, -0.5):
        x, v = np.asarray(rng.uniform(0.1, 1, shape) * scale), np.asarray(rng.normal(size=shape))
        rows = np.asarray(by_rows(x))
        np.testing.assert_allclose(by_columns(x), rows, rtol=1e-12, atol=1e-13)
        value, tangent = tg.jvp(f, (x,), (v,))
        assert np.shape(value) == np.shape(tangent) == rows.shape[: rows.ndim - x.ndim]
        np.testing.assert_allclose(value, tg.jit(function)(x), rtol=1e-14)
        along = rows.reshape(*np.shape(value), x.size) @ v.reshape(-1)
        np.testing.assert_allclose(tangent, along, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns_in_chunks(name, rng, monkeypatch):
    monkeypatch.setattr(jacobian_columns, "_MAX_SINGLE_STREAM_SEEDS", 0)
    monkeypatch.setattr(jacobian_columns, "_ONE_STREAM_BYTES", 0)
    monkeypatch.setattr(jacobian_columns, "_CHUNK_BYTES", 500)
    function, shape = FUNCTIONS[name]
    by_columns, by_rows = tg.jacfwd(tg.jit(function)), tg.jacrev(tg.jit(function))
    for _ in range(2):
        x = np.asarray(rng.uniform(0.1, 1, shape))
        np.testing.assert_allclose(by_columns(x), by_rows(x), rtol=1e-12, atol=1e-13)


def test_several_arguments_in_chunks(rng, monkeypatch):
    monkeypatch.setattr(jacobian_columns, "_MAX_SINGLE_STREAM_SEEDS", 0)
    monkeypatch.setattr(jacobian_columns, "_ONE_STREAM_BYTES", 0)
    monkeypatch.setattr(jacobian_columns, "_CHUNK_BYTES", 200)
    f = tg.jit(lambda a, x, k: tg.tanh(a @ x) * k + a[0, 0])
    a, x, k = rng.normal(size=(5, 3)), rng.normal(size=3), 2.0
    for first, second in zip(tg.jacfwd(f, (0, 2, 1))(a, x, k), tg.jacrev(f, (0, 2, 1))(a, x, k), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("how", PREPARE)
@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f4", "f8"), ("f8", "f4")])
def test_dtypes(how, dtypes, rng):
    f = PREPARE[how](lambda x, y: tg.sin(x) * y + x[0])
    x, y = rng.uniform(size=3).astype(dtypes[0]), rng.uniform(size=3).astype(dtypes[1])
    columns, rows = tg.jacfwd(f, (0, 1))(x, y), tg.jacrev(f, (0, 1))(x, y)
    for column, row, dtype in zip(columns, rows, dtypes, strict=True):
        assert column.dtype == row.dtype == dtype
        np.testing.assert_allclose(column, row, rtol=1e-5, atol=1e-6)
    value, tangent = tg.jvp(f, (x, y), (np.ones(3), np.zeros(3)))
    assert value.dtype == tangent.dtype == np.result_type(*dtypes)
    np.testing.assert_allclose(tangent, rows[0].sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("how", PREPARE)
def test_structures(how):
    def function(p, y):
        return {"a": [p["u"] * y, p["v"][0]], "b": (tg.sum(p["u"]), 3.0, y > 0), "c": tg.ones(2)}

    p, y = {"u": np.array([1.0, 2.0]), "v": [np.float64(4.0)]}, 5.0
    p_dot, y_dot = {"u": np.array([1.0, 0.0]), "v": [0.5]}, 2.0
    value, tangent = tg.jvp(PREPARE[how](function), [p, y], [p_dot, y_dot])
    assert value["a"][0].tolist() == [5, 10]
    assert tangent["a"][0].tolist() == [7, 4]
    assert tangent["a"][1] == 0.5
    assert tangent["b"][0] == 1
    assert tangent["b"][1] == 0
    assert value["b"][1] == 3
    assert not tangent["b"][2]
    assert tangent["c"].tolist() == [0, 0]


@pytest.mark.parametrize("how", PREPARE)
def test_one_tensor_returned_twice_and_views_of_it(how):
    value, tangent = tg.jvp(
        PREPARE[how](lambda x: (x, x, x[1:], x * 2)), (np.array([1.0, 2.0]),), (np.ones(2),)
    )
    assert [v.tolist() for v in value] == [[1, 2], [1, 2], [2], [2, 4]]
    assert [t.tolist() for t in tangent] == [[1, 1], [1, 1], [1], [2, 2]]


@pytest.mark.parametrize("how", PREPARE)
@pytest.mark.parametrize(
    ("primals", "directions", "error", "match"),
    [
        (
            (np.ones(2),),
            (np.ones(3),),
            ValueError,
            r"argument 0 has shape \(3,\), but the argument shape \(2,\)",
        ),
        ((np.ones(2), 1.0), (np.ones(2),), ValueError, "2 primals, but 1 tangents"),
        (([1.0],), ((1.0,),), ValueError, "argument 0 has another structure"),
        ((np.ones(2),), (np.ones(2, int),), TypeError, "int64"),
        ((np.arange(2),), (np.ones(2),), TypeError, "int64"),
        (({"a": 1.0}, 2), (({"a": 1.0}), 1.0), TypeError, "int"),
        (np.ones(2), np.ones(2), TypeError, "tuple or a list"),
    ],
)
def test_arguments_that_do_not_fit(how, primals, directions, error, match):
    with pytest.raises(error, match=match):
        tg.jvp(PREPARE[how](lambda *args: tg.ones(2)), primals, directions)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_modes(mode, rng):
    x = rng.normal(size=3)
    f = tg.jit(lambda x: tg.concatenate([tg.sin(x), x * x]))
    for _ in range(3):
        np.testing.assert_allclose(
            tg.jacobian(f, mode=mode)(x), np.vstack([np.diag(np.cos(x)), np.diag(2 * x)]), rtol=1e-13
        )


def test_unknown_mode():
    with pytest.raises(ValueError, match="'backward'"):
        tg.jacobian(tg.sin, mode="backward")


def test_auto_takes_the_fewer_sweeps():
    def kinds(f):
        return {p.kind for way in f.traces for p in way._programs}

    tall, wide = tg.jit(lambda x: tg.concatenate([x, x])), tg.jit(lambda x: x[:1] * 2)
    tg.jacobian(tall)(np.ones(3))
    tg.jacobian(wide)(np.ones(3))
    assert (kinds(tall), kinds(wide)) == ({JACFWD}, {JACREV})


def test_gradients_that_tensors_show_are_left_alone():
    w = tg.tensor([1.0, 2.0])
    tg.sum(w * w).backward()
    _, tangent = tg.jvp(
        lambda x: tg.concatenate([w, x]) * tg.sum(w * x), (np.ones(2),), (np.array([1.0, 0.0]),)
    )
    assert tangent.tolist() == [1, 2, 4, 1]
    assert w.grad.tolist() == [2, 4]
    loss = tg.sum(w * w)
    tg.jvp(lambda x: x * loss, (1.0,), (1.0,))
    loss.backward()
    assert w.grad.tolist() == [4, 8]


def test_a_closure_over_a_freed_graph_is_constant():
    w = tg.tensor([1.0, 2.0])
    y = w * w
    tg.sum(y).backward()
    assert tg.jvp(lambda x: tg.sum(x * y), (np.ones(2),), (np.ones(2),))[1] == 5


def test_the_function_may_write_to_its_arguments():
    def function(x):
        x[0] = x[1] * 3
        x *= 2
        return x

    x = np.array([1.0, 2.0])
    for f in (function, tg.jit(function)):
        value, tangent = tg.jvp(f, (x,), (np.array([5.0, 7.0]),))
        assert value.tolist() == [12, 4]
        assert tangent.tolist() == [42, 14]
    assert x.tolist() == [1, 2]


def test_zero_tangents_do_not_meet_infinite_partials():
    for f in (tg.sqrt, tg.jit(tg.sqrt)):
        with np.errstate(all="raise"):
            assert tg.jvp(f, (np.array([0.0, 4.0]),), (np.array([0.0, 1.0]),))[1].tolist() == [0, 0.25]


@pytest.mark.parametrize("how", PREPARE)
def test_users_ops(how):
    cube = tg.custom_op(
        "cubed",
        lambda x: x**3,
        lambda y_bar, y, x: 3 * x**2 * y_bar,
        lambda x_dots, y, x: 3 * x**2 * x_dots[0],
    )
    f = PREPARE[how](lambda x: (cube(x) * x, x))
    x = np.array([1.0, 2.0])
    value, tangent = tg.jvp(f, (x,), (np.array([1.0, 0.5]),))
    assert value[0].tolist() == [1, 16]
    assert tangent[0].tolist() == [4, 16]
    np.testing.assert_allclose(tg.jacfwd(tg.jit(lambda x: cube(x) * x))(x), np.diag(4 * x**3))


def test_large_arrays(rng):
    x, v = rng.normal(size=200_000), rng.normal(size=200_000)

    def function(x):
        return tg.sin(x) * x[::-1] * x[7] + tg.sum(x), tg.sum(tg.exp(-x * x))

    for f in (function, tg.jit(function)):
        _, (first, second) = tg.jvp(f, (x,), (v,))
        expected = (
            (np.cos(x) * v * x[::-1] + np.sin(x) * v[::-1]) * x[7] + np.sin(x) * x[::-1] * v[7] + v.sum()
        )
        np.testing.assert_allclose(first, expected, rtol=1e-9, atol=1e-9)
        assert second == pytest.approx(np.sum(-2 * x * v * np.exp(-x * x)), rel=1e-9)


def test_tall_jacobian_of_large_arrays(rng):
    t = rng.uniform(size=50_000)
    f = tg.jit(lambda b: tg.concatenate([b[0] * tg.exp(-b[1] * t) + tg.sum(b), tg.cumsum(b[2] * t * b[3])]))
    b = rng.uniform(0.5, 1, 4)
    result = tg.jacfwd(f)(b)
    decay = np.exp(-b[1] * t)
    np.testing.assert_allclose(result[: t.size, 1], -b[0] * t * decay + 1, rtol=1e-12)
    np.testing.assert_allclose(result[t.size :, 3], np.cumsum(b[2] * t), rtol=1e-9)
    assert not result[t.size :, :2].any()


@random_seeds(0, 60, 4)
def test_dot_products_of_random_programs(seeds):
    """``y_bar . J x_dot``, by a forward sweep, is ``J^T y_bar . x_dot``, by a reverse one."""
    for seed in seeds:
        sample = Sample(seed, 25)
        directions = sample.directions()
        _, dots = tg.jvp(sample.vector, sample.inputs, directions)
        bars = sample.rng.normal(size=dots.shape)
        _, pull = tg.vjp(sample.vector, *sample.inputs)
        products = [np.sum(g * d) for g, d in zip(pull(bars), directions, strict=True)]
        scale = max(1.0, np.sum(np.abs(bars * dots)), np.sum(np.abs(products)))
        assert np.sum(bars * dots) == pytest.approx(np.sum(products), abs=1e-8 * scale), sample
        replayed = tg.jvp(tg.jit(sample.vector), sample.inputs, directions)[1]
        np.testing.assert_allclose(replayed, dots, rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("how", PREPARE)
def test_threads(how, rng):
    f = PREPARE[how](lambda x: tg.concatenate([tg.sin(x) * x[0], x * x]))
    jacobian = tg.jacfwd(f)
    inputs = rng.normal(size=(4, 20, 3))
    results = [[] for _ in inputs]

    def work(k):
        for x in inputs[k]:
            results[k].append((tg.jvp(f, (x,), (np.ones(3),))[1], jacobian(x)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for xs, found in zip(inputs, results, strict=True):
        assert len(found) == len(xs)
        for x, (tangent, columns) in zip(xs, found, strict=True):
            np.testing.assert_allclose(columns[3:], 2 * np.diag(x), rtol=1e-14)
            np.testing.assert_allclose(columns.sum(axis=1), tangent, rtol=1e-12)


def test_the_short_way_of_one_array_is_left_for_what_does_not_fit():
    f = tg.jit(lambda x: tg.sum(x**3) if x[0] > 0 else tg.sum(x) * x)
    x, v = np.array([1.0, 2.0]), np.array([1.0, 10.0])
    for _ in range(3):
        assert tg.jvp(f, (x,), (v,)) == (9, 123)
    value, tangent = tg.jvp(f, (-x,), (v,))
    assert value.tolist() == [3, 6]
    assert tangent.tolist() == [-14, -52]
    assert tg.jvp(f, (x[:1],), (v[:1],)) == (1, 3)
    assert tg.jvp(f, (x.astype(np.float32),), (v,))[1].dtype == np.float32
    with pytest.raises(ValueError, match=r"shape \(1,\)"):
        tg.jvp(f, (x,), (v[:1],))
    assert tg.grad(lambda y: tg.jvp(f, (y,), (v,))[1])(x).tolist() == [6, 120]
    tangents = [tg.jvp(f, (x * k,), (v,))[1] for k in (1.0, 2.0)]
    assert tangents == [123, 492]
