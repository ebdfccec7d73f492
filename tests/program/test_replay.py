"""A replay gives what running the function anew gives, at other inputs than the recorded ones."""

import gc
import pickle
import tracemalloc
from collections import namedtuple

import numpy as np
import pytest

import tapegrad as tg

WEIGHTS = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
COUNTS = np.arange(4)
SMALL = np.array([0.5, -0.25, 2.0, 1.0], np.float32)
ROWS = np.array([2, 0, 2, -1])
MASK = np.array([True, False, True, True])


def write_basic(x):
    y = x * 2
    y[1:, ::2] = y[0, 0] * x[:2, ::2]
    y[0] += 1.5
    return tg.sum(y * x)


def write_advanced(x):
    y = tg.sin(x)
    y[[0, 2], [1, 1]] = x[0, :2]
    y[:, MASK] *= 2
    return tg.sum(y * y)


def write_mask(x):
    y = x.copy()
    y[WEIGHTS > 0] = 0.0
    return tg.sum(y * x)


def write_into_fresh(x):
    out = tg.zeros((3, 4))
    for i in range(3):
        out[i] = x[i] * i
        out[i, 0] = tg.exp(out[i, 1])
    return tg.sum(out * x)


def write_through_view(x):
    y = x * 1.0
    column = y[:, 1]
    before = tg.sum(column)
    column[...] = column**2
    return tg.sum(y) * before


def write_to_argument(x):
    x[0] = x[1] * x[2]
    x *= 3.0
    return tg.sum(x * x)


def changing_temporary(x):
    hot = np.zeros(4)
    total = 0.0
    for i in range(4):
        hot[:] = 0.0
        hot[i] = i + 1.0
        total = total + tg.sum(tg.sin(x) * hot)
    return total


def traced_logic(x):
    inside = (x > -0.5) & (x < 1.0)
    outside = ~inside | (x == 0.25)
    return tg.sum(tg.where(inside ^ outside, x**2, tg.where(outside, tg.exp(x), -x)))


def recurrence(x):
    total = x[0]
    for row in x:
        total = tg.tanh(total + row * 0.5)
    return tg.mean(total)


FUNCTIONS = {
    "chain": lambda x: tg.sum(tg.exp(-(x**2)) * tg.cos(x) / (1.5 + tg.sin(x))),
    "shared": lambda x: (lambda y: tg.sum(y * y + y * x))(tg.sin(x) * x),
    "broadcast": lambda x: tg.sum(x[:, None, :1] * x[None] - tg.mean(x, axis=0, keepdims=True)),
    "reductions": lambda x: (
        tg.sum(tg.max(x, axis=1) * tg.min(x, axis=-1)) + tg.prod(x) + tg.mean(tg.cumsum(x, 1))
    ),
    "matmul": lambda x: tg.sum((x @ x.T @ WEIGHTS) ** 2) + tg.dot(x[0], x[1]),
    "gather": lambda x: tg.sum(x[:, ROWS] ** 2) + tg.sum(x[[0, 0, 1]] * 3.0),
    "mask": lambda x: tg.sum(x[:, MASK] ** 3),
    "concatenate": lambda x: tg.sum(tg.concatenate([x, x[::-1] ** 2], axis=1)[:, ::3] * 2.0),
    "stack": lambda x: tg.sum(tg.stack([x, tg.sin(x), WEIGHTS], axis=1) ** 2),
    "views": lambda x: tg.sum(x.T.reshape(2, 6)[:, ::-2] * x.ravel()[1:7].reshape(2, 3)),
    "closure": lambda x: tg.sum(x * WEIGHTS + COUNTS) + tg.sum(x @ SMALL),
    "where": lambda x: tg.sum(tg.where(x > 0, tg.sqrt(tg.absolute(x)), 0.0)),
    "constant": lambda x: tg.sum(tg.ones((3, 4)) * x) * tg.full((), 2.0),
    "detach": lambda x: tg.sum(x.detach() * x),
    "identity": lambda x: tg.sum(x),
    "element": lambda x: x[1, 2],
    "unused": lambda x: tg.sum(x[0]) * 0.0 + x[2, 3],
    "numpy": lambda x: np.sum(np.sin(x) * np.asarray(WEIGHTS)),
    "float32 inside": lambda x: tg.sum(x.astype(np.float32) ** 2).astype(float),
    "logic": traced_logic,
    "recurrence": recurrence,
    "temporary": changing_temporary,
    "write basic": write_basic,
    "write advanced": write_advanced,
    "write mask": write_mask,
    "write fresh": write_into_fresh,
    "write view": write_through_view,
    "write argument": write_to_argument,
}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_replay_is_the_function_run_anew(name, dtype, rng):
    function = FUNCTIONS[name]
    plain, replayed = tg.value_and_grad(function), tg.value_and_grad(tg.jit(function))
    values = tg.jit(function)
    tolerance = 1e-12 if dtype == np.float64 else 2e-5
    for scale in (1.0, 0.3, -2.0, 1.0):
        x = (rng.uniform(-1, 1, (3, 4)) * scale).astype(dtype)
        kept = x.copy()
        (value, gradient), (value2, gradient2) = plain(x), replayed(x)
        np.testing.assert_allclose(value2, value, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(gradient2, gradient, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(values(x), value, rtol=tolerance, atol=tolerance)
        assert value2.dtype == value.dtype
        assert gradient2.dtype == gradient.dtype == dtype
        assert type(value2) is type(value)
        assert np.array_equal(x, kept)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (3, 0), (2, 0, 2)])
def test_scalars_and_empty_arrays(shape, rng):
    def function(x):
        return (
            tg.sum(tg.sin(x) * x)
            + tg.sum(x.reshape(-1)[::-1])
            + tg.sum(tg.concatenate([x.ravel(), x.ravel()]))
        )

    plain, replayed = tg.value_and_grad(function), tg.value_and_grad(tg.jit(function))
    for _ in range(3):
        x = rng.normal(size=shape)
        (value, gradient), (value2, gradient2) = plain(x), replayed(x)
        assert value == value2
        assert np.shape(gradient2) == shape
        np.testing.assert_array_equal(gradient, gradient2)


def test_results_of_every_kind(rng):
    inner = np.ones(2)
    outside = tg.tensor([3.0, 4.0])

    def function(x):
        y = x * 2
        return {
            "input": x, "view of input": x[1:], "result": y, "view": y[::-1], "again": y, "transposed": x.T,
            "number": 3, "text": "t", "nothing": None, "array": inner, "tensor": outside, "zeros": tg.zeros(2),
            "truth": y > 0.5, "truths": (y > 0.5)[::2] if False else ~(y > 0.5), "sum": tg.sum(y),
            "tuple": (y + 1, [y + 2]),
        }  # fmt: skip

    f = tg.jit(function)
    for _ in range(3):
        x = rng.normal(size=(4,))
        result = f(x)
        y = x * 2
        expected = {
            "input": x, "view of input": x[1:], "result": y, "view": y[::-1], "again": y, "transposed": x,
            "array": [1, 1], "tensor": [3, 4], "zeros": [0, 0], "truth": y > 0.5, "truths": y <= 0.5, "sum": y.sum(),
        }  # fmt: skip
        for name, array in expected.items():
            np.testing.assert_allclose(result[name], array)
        assert (result["number"], result["text"], result["nothing"]) == (3, "t", None)
        assert isinstance(result["sum"], np.float64)
        assert result["truth"].dtype == bool
        np.testing.assert_allclose(result["tuple"][0], y + 1)
        np.testing.assert_allclose(result["tuple"][1][0], y + 2)
        arrays = [v for v in result.values() if isinstance(v, np.ndarray)]
        for k, a in enumerate(arrays):
            assert not np.shares_memory(a, x)
            assert not any(np.shares_memory(a, b) for b in arrays[k + 1 :])
            a[...] = 0  # what is returned belongs to the caller
    assert np.array_equal(inner, [1, 1])
    assert np.array_equal(outside.data, [3, 4])


def test_returned_truths_do_not_branch(rng):
    recordings = []
    f = tg.jit(lambda x: (recordings.append(1), x > 0)[1])
    for _ in range(300):
        x = rng.normal(size=20)
        assert np.array_equal(f(x), x > 0)
    assert len(recordings) == 1


def test_integer_arguments_that_are_returned():
    f = tg.jit(lambda n, b: (n, b))
    for k in range(300):
        n, b = f(np.arange(3) + k, np.array([k % 2 == 0]))
        assert n.tolist() == [k, k + 1, k + 2]
        assert b.tolist() == [k % 2 == 0]


def test_returned_outside_tensor_is_read_where_it_lies():
    outside = tg.tensor([1.0, 2.0])
    f = tg.jit(lambda x: (tg.sum(x * outside), outside))
    f(np.ones(2))
    outside[...] = 5.0
    value, tensor = f(np.ones(2))
    assert value == 10
    assert tensor.tolist() == [5, 5]


# --- structures and signatures ----------------------------------------------------------------------------------

Point = namedtuple("Point", "x y")


def structured(p, w=None, *, k=1):
    total = tg.sum(p["a"] * p["b"][0]) + tg.sum(p["b"][1].x ** 2) * p["b"][1].y
    return total * k if w is None else total + tg.sum(w) * k


def test_structures_of_arguments(rng):
    for _ in range(3):
        p = {
            "a": rng.normal(size=3),
            "b": [rng.normal(size=3), Point(rng.normal(size=2), float(rng.normal()))],
        }
        w = rng.normal(size=4)
        for arguments, keywords in [((p,), {}), ((p, w), {}), ((p, w), {"k": 3}), ((p,), {"w": w, "k": 2})]:
            value, gradient = tg.value_and_grad(structured)(*arguments, **keywords)
            value2, gradient2 = tg.value_and_grad(tg.jit(structured))(*arguments, **keywords)
            assert value == pytest.approx(value2, rel=1e-14)
            assert list(gradient2) == ["a", "b"]
            assert type(gradient2["b"][1]) is Point
            assert isinstance(gradient2["b"][1].y, np.float64)
            for a, b in zip(leaves(gradient), leaves(gradient2), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-13)


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, list | tuple) else [value]


@pytest.mark.parametrize("argnums", [0, 1, 2, -1, (0,), (2, 0), (-1, 0), (0, 1, 2)])
def test_argnums(argnums, rng):
    def function(x, y, z):
        return tg.sum(x * y) + tg.sum(z**2) * x[0]

    f = tg.value_and_grad(tg.jit(function), argnums)
    for _ in range(3):
        args = [rng.normal(size=3) for _ in range(3)]
        _, expected = tg.value_and_grad(function, argnums)(*args)
        _, gradient = f(*args)
        assert isinstance(gradient, tuple) == isinstance(argnums, tuple)
        for a, b in zip(leaves(gradient), leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
        grads = tg.grad(tg.jit(function), argnums)(*args)
        for a, b in zip(leaves(grads), leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("transform", [tg.value_and_grad, tg.jacobian])
@pytest.mark.parametrize("prepare", [tg.jit, lambda f: f])
def test_wrong_arguments(transform, prepare):
    f = transform(prepare(lambda x, n: tg.sum(x) * n), (0, 1))
    with pytest.raises(TypeError, match="int"):
        f(np.ones(2), 3)
    with pytest.raises(TypeError, match="dtype int64"):
        f(np.ones(2), np.arange(2))
    with pytest.raises(ValueError, match="positional"):
        f(np.ones(2))
    with pytest.raises(ValueError, match="twice"):
        transform(prepare(tg.sum), (0, 0))(np.ones(2))
    with pytest.raises(TypeError, match="complex"):
        transform(prepare(tg.sum))(np.ones(2, complex))
    np.testing.assert_allclose(leaves(transform(prepare(tg.sum))(np.ones(2)))[-1], [1, 1])


def test_one_recording_for_each_signature_and_old_ones_are_kept():
    recordings = []

    @tg.jit
    def f(x, n=1, flag=False, name="a"):
        recordings.append((x.shape, x.dtype, n, flag, name))
        return tg.sum(x**n) if flag else tg.sum(x) * n

    calls = [
        ((np.ones(3),), {}), ((np.ones(4),), {}), ((np.ones((2, 2)),), {}), ((np.ones(3, np.float32),), {}),
        ((np.ones(3), 2), {}), ((np.ones(3), 2, True), {}), ((np.ones(3),), {"name": "b"}), ((1.0,), {}),
        ((np.ones(3), 1), {}), ((np.ones(3), True), {}),
    ]  # fmt: skip
    for _ in range(3):
        results = [f(*args, **kwargs) for args, kwargs in calls]
        assert results == [3, 4, 4, 3, 6, 3, 3, 1, 3, 3]
    assert len(recordings) == len(calls)


def test_unused_and_repeated_arguments(rng):
    f = tg.value_and_grad(tg.jit(lambda x, y, z: tg.sum(x * x)), (0, 1, 2))
    x = rng.normal(size=3)
    value, (x_bar, y_bar, z_bar) = f(x, x, np.float32(2.0))
    assert value == pytest.approx(np.sum(x * x))
    np.testing.assert_allclose(x_bar, 2 * x)
    assert np.array_equal(y_bar, np.zeros(3))
    assert z_bar == 0
    assert z_bar.dtype == np.float32
    both = tg.value_and_grad(tg.jit(lambda x, y: tg.sum(x * y)), (0, 1))
    np.testing.assert_allclose(both(x, x)[1], [x, x])


def test_result_that_does_not_depend_on_the_argument():
    for prepare in (tg.jit, lambda f: f):
        value, gradient = tg.value_and_grad(prepare(lambda x: tg.sum(tg.ones(3))))(np.ones(2))
        assert value == 3
        assert gradient.tolist() == [0, 0]
        with pytest.raises(ValueError, match="only a single number has a gradient"):
            tg.grad(prepare(lambda x: x * 2))(np.ones(2))
        with pytest.raises(TypeError, match=r"returned a tuple of 2\. For further outputs"):
            tg.grad(prepare(lambda x: (tg.sum(x), x)))(np.ones(2))
        with pytest.raises(TypeError):
            tg.grad(prepare(lambda x: x[0] > 0))(np.ones(2))


# --- how the arguments lie in memory ----------------------------------------------------------------------------


def misaligned(x):
    memory = np.zeros(x.nbytes + 1, np.uint8)
    array = memory[1:].view(x.dtype).reshape(x.shape)
    array[...] = x
    assert not array.flags.aligned
    return array


class Labelled(np.ndarray):
    pass


LAYOUTS = {
    "as it is": lambda x: x,
    "Fortran order": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "misaligned": misaligned,
    "big-endian": lambda x: x.astype(">f8"),
    "read-only": lambda x: (lambda y: (y.setflags(write=False), y)[1])(x.copy()),
    "unpickled": lambda x: pickle.loads(pickle.dumps(x)),
    "metadata": lambda x: x.astype(np.dtype("f8", metadata={"unit": "m"})),
    "subclass": lambda x: x.view(Labelled),
    "row of one": lambda x: np.lib.stride_tricks.as_strided(x, x.shape, x.strides),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_memory_layouts(name, rng):
    f = tg.jit(lambda x: tg.sum(tg.sin(x) * WEIGHTS))
    vg, jac = tg.value_and_grad(f), tg.jacobian(tg.jit(lambda x: tg.sin(x) * WEIGHTS))
    vg(np.ones((3, 4)))  # the short way is there already
    for _ in range(3):
        x = rng.normal(size=(3, 4))
        value, gradient = vg(LAYOUTS[name](x))
        assert value == pytest.approx(np.sum(np.sin(x) * WEIGHTS), rel=1e-13)
        np.testing.assert_allclose(gradient, np.cos(x) * WEIGHTS, rtol=1e-12)
        assert type(gradient) is np.ndarray
        assert gradient.flags.c_contiguous
        assert f(LAYOUTS[name](x)) == pytest.approx(value, rel=1e-14)
        np.testing.assert_allclose(np.sum(jac(LAYOUTS[name](x)), axis=(0, 1)), gradient, rtol=1e-12)


def test_broadcast_argument():
    gradient = tg.grad(tg.jit(lambda x: tg.sum(x * WEIGHTS)))(np.broadcast_to(2.0, (3, 4)))
    np.testing.assert_allclose(gradient, WEIGHTS)


@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.float32(1.5), np.array(1.5)], ids=repr)
def test_scalars_of_every_kind(x):
    for f in (tg.sin, tg.jit(tg.sin)):
        value, gradient = tg.value_and_grad(f)(x)
        assert value == pytest.approx(np.sin(1.5), rel=1e-6)
        assert gradient == pytest.approx(np.cos(1.5), rel=1e-6)
        assert isinstance(value, np.floating)
        assert type(gradient) is type(value)


def test_lists_are_structures_of_scalars():
    f = tg.value_and_grad(tg.jit(lambda p: p[0] * p[1] ** 2))
    for a, b in [(1.0, 2.0), (3.0, -1.0)]:
        value, gradient = f([a, b])
        assert value == a * b**2
        assert gradient == [b**2, 2 * a * b]


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64, np.longlong, np.bool_])
def test_integer_arrays_are_traced(dtype):
    f = tg.value_and_grad(tg.jit(lambda x, n: tg.sum(x * n)))
    for k in range(3):
        n = np.array([k, 1, 0]).astype(dtype)
        np.testing.assert_allclose(f(np.ones(3), n)[1], n.astype(float))


def test_results_belong_to_the_caller(rng):
    f = tg.value_and_grad(tg.jit(lambda x: tg.sum(x**3)))
    x = rng.normal(size=5)
    expected = 3 * x**2
    value, gradient = f(x)
    kept = float(value)
    x[:] = 0
    second = f(x)
    assert np.array_equal(second[1], np.zeros(5))
    np.testing.assert_allclose(gradient, expected)
    assert value == kept
    gradient[:] = 99
    np.testing.assert_allclose(f(np.ones(5))[1], 3 * np.ones(5))
    g = tg.jit(lambda x: x * 2)
    first = g(np.ones(3))
    g(np.zeros(3))
    assert first.tolist() == [2, 2, 2]


def test_arrays_of_the_closure_are_read_where_they_lie():
    data, counts, rows, mask = np.ones(3), np.arange(3), np.array([0, 1]), np.array([True, False, True])
    narrow, table = np.arange(3, dtype=np.int32), np.array([[0, 9], [2, 9]])
    wide = np.broadcast_to(data[:1], (3,))

    def function(x):
        total = (
            tg.sum(x * data)
            + tg.sum(x * counts)
            + tg.sum(x[rows])
            + tg.sum(x[mask] ** 2)
            + tg.sum(x * narrow)
        )
        total = total + tg.sum(x[table[:, 0]]) + tg.sum(tg.where(mask, x, 0)) + tg.sum(x * wide)
        return total + tg.sum(tg.tensor(data))

    f, plain = tg.value_and_grad(tg.jit(function)), tg.value_and_grad(function)
    x = np.array([1.0, 2.0, 4.0])
    changes = [
        lambda: data.__setitem__(0, 7), lambda: counts.__setitem__(1, 5), lambda: rows.__setitem__(0, 2),
        lambda: mask.__setitem__(0, False), lambda: mask.__setitem__(1, True), lambda: narrow.__setitem__(2, 9),
        lambda: table.__setitem__((1, 0), 1),
    ]  # fmt: skip
    for change in changes:
        for _ in range(2):
            (value, gradient), (value2, gradient2) = plain(x), f(x)
            assert value == value2
            assert np.array_equal(gradient, gradient2)
        change()
    assert f(x)[0] == plain(x)[0]


def test_outside_tensor_that_is_updated_in_place():
    w = tg.tensor([1.0, 2.0])
    f = tg.value_and_grad(tg.jit(lambda x: tg.sum(x * w)))
    for _ in range(3):
        assert np.array_equal(f(np.ones(2))[1], w.data)
        with tg.no_grad():
            w -= 0.5
        w[0] = 3.0 * w[1]


# --- transforms in transforms -----------------------------------------------------------------------------------


def test_jit_of_jit_and_jit_in_jit(rng):
    inner = tg.jit(lambda x: tg.sin(x) * x)
    outer = tg.jit(lambda x: tg.sum(inner(x) ** 2) + tg.sum(inner(np.ones(2))))
    assert tg.jit(outer) is outer
    for _ in range(2):
        x = rng.normal(size=3)
        y = np.sin(x) * x
        value, gradient = tg.value_and_grad(outer)(x)
        assert value == pytest.approx(np.sum(y**2) + 2 * np.sin(1), rel=1e-13)
        np.testing.assert_allclose(gradient, 2 * y * (np.sin(x) + x * np.cos(x)), rtol=1e-12)


def test_jit_called_with_tensors_is_the_function():
    f = tg.jit(lambda x, k: tg.sum(x**2) * k)
    x = tg.tensor([1.0, 2.0])
    y = f(x, 3.0)
    assert isinstance(y, tg.Tensor)
    y.backward()
    assert x.grad.tolist() == [6, 12]
    assert isinstance(f(np.ones(2), k=tg.tensor(2.0)), tg.Tensor)


@pytest.mark.parametrize("transform", [tg.value_and_grad, tg.grad])
@pytest.mark.parametrize("prepare", [tg.jit, lambda f: f])
def test_gradients_take_tensors_and_return_them(transform, prepare):
    f = transform(prepare(lambda x: tg.sum(x**3)))
    gradient = leaves(f(tg.tensor([1.0, 2.0])))[-1]
    assert isinstance(gradient, tg.Tensor)
    assert gradient.data.tolist() == [3, 12]
    assert tg.grad(prepare(lambda x: tg.sum(leaves(f(x))[-1])))(np.array([1.0, 2.0])).tolist() == [6, 12]
    assert isinstance(leaves(f(np.ones(1)))[-1], np.ndarray)


@pytest.mark.parametrize("inside", [tg.jit, lambda f: f])
@pytest.mark.parametrize("outside", [tg.jit, lambda f: f])
def test_functions_inside_may_close_over_what_is_differentiated_outside(inside, outside):
    def product(x):
        return x * tg.grad(inside(lambda y: y * y * x))(3.0)

    def value(x):
        return x * inside(lambda y: y * x)(3.0)

    assert tg.grad(outside(product))(2.0) == 24
    assert tg.grad(outside(value))(2.0) == 12
    assert tg.grad(outside(lambda x: x * tg.grad(inside(lambda y: y * y))(3.0)))(2.0) == 6


def test_gradient_leaves_graphs_of_outside_tensors_alone():
    x = tg.tensor([1.0, 2.0])
    y = x * 2
    assert tg.grad(lambda z: tg.sum(z * y))(np.ones(2)).tolist() == [2, 4]
    y.backward()
    assert x.grad.tolist() == [2, 2]


def test_no_grad_around_and_inside():
    def function(x):
        with tg.no_grad():
            scale = tg.sum(x)
        return tg.sum(x) * scale

    x = np.array([1.0, 2.0])
    with tg.no_grad():
        assert tg.grad(tg.jit(function))(x).tolist() == [3, 3]
        assert tg.grad(function)(x).tolist() == [3, 3]
        assert tg.jacobian(tg.jit(function))(x).tolist() == [3, 3]

    def writes(x):
        y = x * 2
        with tg.no_grad():
            y[0] = 5.0
        return tg.sum(y)

    with pytest.raises(tg.UnsupportedError, match="no_grad"):
        tg.grad(tg.jit(writes))(x)


def test_names_and_methods():
    class Model:
        scale = 2.0

        def __init__(self, power):
            self.power = power

        @tg.jit
        def loss(self, x):
            """Document."""
            return tg.sum(x**self.power) * self.scale

    assert Model.loss.__doc__ == "Document."
    assert tg.grad(Model.loss, 1).__name__ == "loss"
    square, cube = Model(2.0), Model(3.0)
    for _ in range(2):
        assert square.loss(np.full(2, 2.0)) == 16
        assert cube.loss(np.full(2, 2.0)) == 32
        assert tg.grad(square.loss)(np.full(2, 2.0)).tolist() == [8, 8]
    square.power = 1.0
    assert square.loss(np.full(2, 2.0)) == 8
    Model.scale = 1.0
    assert square.loss(np.full(2, 2.0)) == 4
    assert cube.loss(np.full(2, 2.0)) == 16


def test_unhashable_static_arguments_raise():
    class Odd:
        __hash__ = None

    with pytest.raises(tg.UnsupportedError, match="Odd"):
        tg.jit(lambda x, o: tg.sum(x))(np.ones(2), Odd())


def test_a_dropped_function_leaves_no_memory_behind():
    x = np.ones(100_000)

    def once():
        f = tg.value_and_grad(tg.jit(lambda x: tg.sum(tg.sin(x) * x)))
        f(x)

    once()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):
            once()
        gc.collect()
        # That of arrays: segments of tests before may be compiled in the background meanwhile
        arrays = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
        traces = tracemalloc.take_snapshot().filter_traces([arrays]).traces
        assert sum(trace.size for trace in traces) < 2_000_000
    finally:
        tracemalloc.stop()
