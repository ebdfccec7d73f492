"""Reductions, products, indexing, joining, views: Tensors against NumPy and central differences."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.table_loops import grouped
from tapegrad.frontend.tensor.modes import EAGER

SHAPES = [(), (1,), (5,), (3, 4), (2, 1, 3), (2, 3, 4), (0,), (2, 0), (0, 3)]
both_dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def numbers(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return np.asarray(rng().uniform(0.5, 2.0, shape), dtype)


def central_differences(f: Callable[..., Any], xs: list[np.ndarray], j: int, bar: np.ndarray) -> np.ndarray:
    """The gradient of ``sum(bar * f(*xs))`` by operand `j`, in float64."""
    xs = [x.astype(np.float64) for x in xs]
    gradient = np.zeros_like(xs[j])
    h = 1e-6
    for k in range(xs[j].size):
        ends = []
        for step in (h, -h):
            moved = xs[j].copy()
            moved.reshape(-1)[k] += step
            ends.append(float(np.sum(bar * f(*[moved if i == j else x for i, x in enumerate(xs)]))))
        gradient.reshape(-1)[k] = (ends[0] - ends[1]) / (2 * h)
    return gradient


def check(f: Callable[..., Any], numpy_f: Callable[..., Any], *xs: np.ndarray) -> None:
    """Value, dtype and gradients of `f` on Tensors against `numpy_f` on arrays."""
    tensors = [tg.tensor(x) for x in xs]
    y, expected = f(*tensors), np.asarray(numpy_f(*xs))
    assert isinstance(y, tg.Tensor)
    assert y.shape == expected.shape
    assert y.dtype == expected.dtype
    loose = 1e-12 if expected.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(y.data, expected, rtol=loose, atol=loose)
    if y.constant:
        assert expected.dtype.kind != "f" or all(x.dtype.kind != "f" for x in xs)
        return
    bar = np.asarray(rng().normal(size=y.shape))
    y.backward(bar)
    for j, (t, x) in enumerate(zip(tensors, xs, strict=True)):
        if not t.constant:
            assert t.grad is not None
            assert t.grad.dtype == x.dtype
            slack = 1e-8 if x.dtype == np.float64 and expected.dtype == np.float64 else 2e-5
            np.testing.assert_allclose(
                t.grad, central_differences(numpy_f, list(xs), j, bar), rtol=slack, atol=slack
            )


def axes_of(shape: tuple[int, ...]) -> list[Any]:
    """Every kind of axis argument that fits a shape."""
    ndim = len(shape)
    single = list(range(-ndim, ndim))
    several = [(0, 1), (-1, 0), (0, -1)] if ndim > 1 else []
    return [None, (), *single, *[(k,) for k in single], *several, tuple(range(ndim))]


# --- reductions ----------------------------------------------------------------------------------------


def over(shape: tuple[int, ...], axis: Any) -> int:
    """Return the number of elements that are summed into one result."""
    axes = range(len(shape)) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    return math.prod(shape[k] for k in axes)


@grouped("name")
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reduction(name: str, shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    for axis in axes_of(shape):
        if over(shape, axis) == 0 and name not in ("sum", "prod"):
            continue
        for keepdims in (False, True):
            arguments = {"axis": axis, "keepdims": keepdims}
            by_numpy = lambda x, arguments=arguments: getattr(np, name)(x, **arguments)  # noqa: E731
            check(by_numpy, by_numpy, x)
            check(lambda t, arguments=arguments: getattr(tg, name)(t, **arguments), by_numpy, x)
            check(lambda t, arguments=arguments: getattr(t, name)(**arguments), by_numpy, x)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "cumsum"])
def test_reduction_of_float32_and_of_views(name: str) -> None:
    x = numbers(4, 6)
    for view in (lambda x: x.T, lambda x: x[::2, ::-1], lambda x: x[1:3]):
        for axis in (None, 0, 1):
            f = lambda x, view=view, axis=axis: getattr(np, name)(view(x), axis=axis)  # noqa: E731
            check(f, f, x)
            check(f, f, x.astype(np.float32))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
def test_reduction_of_a_broadcast(name: str) -> None:
    f = lambda x: getattr(np, name)(np.broadcast_to(x, (3, 4)), axis=0)  # noqa: E731
    if name in ("max", "min"):
        t = tg.tensor(numbers(4))
        f(t).backward()
        np.testing.assert_allclose(t.grad, np.ones(4))
        return
    check(f, f, numbers(4))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "cumsum"])
def test_reduction_of_integers_and_booleans(name: str) -> None:
    for x in (np.array([[1, 2], [3, 4]]), np.array([True, False]), np.array([3, 4], np.int32)):
        expected = getattr(np, name)(x, axis=0)
        for given in (tg.tensor(x), x):
            y = getattr(tg, name)(given, axis=0)
            assert y.constant
            assert y.dtype == expected.dtype
            np.testing.assert_array_equal(np.asarray(y), expected)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "cumsum"])
def test_nonsense_axes_are_refused(name: str) -> None:
    x = tg.tensor(numbers(2, 3))
    for axis in (2, -3):
        with pytest.raises(np.exceptions.AxisError, match="out of bounds"):
            getattr(x, name)(axis=axis)
    with pytest.raises(TypeError):
        getattr(x, name)(axis=1.5)
    if name != "cumsum":
        with pytest.raises(ValueError, match="repeated axis"):
            getattr(x, name)(axis=(0, 0))
    np.testing.assert_allclose(x.sum().data, x.data.sum())


@pytest.mark.parametrize("name", ["max", "min"])
def test_there_is_no_extreme_of_nothing(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}: zero-size"):
        getattr(tg.zeros((2, 0)), name)(axis=1)
    assert getattr(tg.zeros((0, 3)), name)(axis=1).shape == (0,)


def test_a_mean_of_nothing_is_nan() -> None:
    assert np.isnan(tg.zeros(0).mean().item())


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_share_the_gradient(name: str) -> None:
    x = tg.tensor([[2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 5.0, 5.0]])
    getattr(x, name)(axis=1).backward([4.0, 8.0])
    low = [4.0, 4.0, 0.0, 0.0] if name == "min" else [0.0, 0.0, 4.0, 4.0]
    np.testing.assert_array_equal(x.grad, [[1.0, 1.0, 1.0, 1.0], low])


def test_prod_is_right_where_elements_are_zero() -> None:
    x = tg.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0], [1.0, 2.0, 3.0]])
    x.prod(axis=1).backward()
    np.testing.assert_array_equal(x.grad, [[0.0, 6.0, 0.0], [0.0, 0.0, 0.0], [6.0, 3.0, 2.0]])


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (0,), (2, 0)], ids=str)
def test_cumsum(shape: tuple[int, ...]) -> None:
    for axis in (None, *range(-len(shape), len(shape))):
        f = lambda x, axis=axis: np.cumsum(x, axis=axis)  # noqa: E731
        check(f, f, numbers(*shape))
        check(lambda t, axis=axis: t.cumsum(axis), f, numbers(*shape))


def test_large_reductions() -> None:
    for shape in ((50_000,), (400, 300), (3, 40_000), (40_000, 3)):
        x = numbers(*shape)
        for name in ("sum", "mean", "max"):
            for axis in (None, 0, -1):
                t = tg.tensor(x)
                y = getattr(t, name)(axis=axis)
                np.testing.assert_allclose(y.data, getattr(x, name)(axis=axis), rtol=1e-13)
                y.backward()
                np.testing.assert_allclose(t.grad.sum(), x.size if name == "sum" else y.size, rtol=1e-12)


# --- products ------------------------------------------------------------------------------------------

PRODUCTS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((2, 1), (1, 3)),
    ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
    ((2, 3), (3, 0)), ((0,), (0,)), ((0, 2, 3), (3, 4)), ((4, 0, 3), (4, 3, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), PRODUCTS, ids=str)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = numbers(*a), rng().normal(size=b)
    check(tg.matmul, np.matmul, x, y)
    check(np.matmul, np.matmul, x, y)
    check(lambda x, y: x @ y, np.matmul, x, y)
    check(np.matmul, np.matmul, x.astype(np.float32), y.astype(np.float32))


@pytest.mark.parametrize(("a", "b"), [*PRODUCTS, ((), (3,)), ((2, 3), ())], ids=str)
def test_dot(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = numbers(*a), rng().normal(size=b)
    try:
        np.dot(x, y)
    except ValueError:
        with pytest.raises(ValueError, match=r"dot|matmul"):
            tg.dot(tg.tensor(x), y)
        return
    check(np.dot, np.dot, x, y)
    check(lambda x, y: x.dot(y), np.dot, x, y)


@pytest.mark.parametrize("first", ["f32", "f64", "int", "bool"])
@pytest.mark.parametrize("second", ["f32", "f64", "int", "bool"])
def test_matmul_promotes_as_numpys(first: str, second: str) -> None:
    made = {"f32": np.float32, "f64": np.float64, "int": np.int64, "bool": np.bool_}
    x, y = (2 * numbers(2, 2)).astype(made[first]), (2 * numbers(2, 2)).astype(made[second])
    check(tg.matmul, np.matmul, x, y)
    assert tg.matmul(x, y).dtype == np.matmul(x, y).dtype


def test_matmul_of_views() -> None:
    views = (
        lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x[::2, ::2][:2, :2],
        lambda x: x.T[1:, :3],
    )  # fmt: skip
    for left in views:
        for right in views:
            x, y = numbers(4, 4), rng().normal(size=(4, 4))
            inner = left(x).shape[1]
            f = lambda x, y, left=left, right=right, k=inner: left(x) @ right(y)[:k]  # noqa: E731
            if right(y).shape[0] >= inner:
                check(f, f, x, y)


def test_matmul_of_a_matrix_with_itself() -> None:
    for f in (lambda x: x @ x, lambda x: x.T @ x, lambda x: x @ x.T):
        check(f, f, numbers(3, 3))


def test_matmul_of_broadcast_and_transposed_batches() -> None:
    for f in (
        lambda x, y: np.matmul(np.broadcast_to(x, (4, 2, 3)), y),
        lambda x, y: np.matmul(np.swapaxes(y, 1, 2), np.broadcast_to(x.T, (4, 3, 2))),
    ):
        check(f, f, numbers(2, 3), rng().normal(size=(4, 3, 3)))


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ((2, 3), (2, 3), r"last extent of \(2, 3\).*second-to-last extent of \(2, 3\) differ"),
        ((3,), (4,), r"last extent of \(3,\).*only extent of \(4,\)"),
        ((2, 2, 3), (3, 3, 2), r"leading dimensions of \(2, 2, 3\) and \(3, 3, 2\) do not broadcast"),
        ((), (3,), "at least one dimension"),
    ],
)
def test_matmul_mismatches(a: tuple[int, ...], b: tuple[int, ...], message: str) -> None:
    x = tg.tensor(numbers(*a))
    with pytest.raises(ValueError, match=message):
        x @ numbers(*b)
    x.sum().backward()
    np.testing.assert_array_equal(x.grad, np.ones(a))


def test_matmul_with_arrays_and_lists_on_the_left() -> None:
    x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    for left in (np.eye(2), [[1.0, 0.0], [0.0, 1.0]]):
        y = left @ x
        assert isinstance(y, tg.Tensor)
        np.testing.assert_array_equal(y.data, x.data)


# --- indexing ------------------------------------------------------------------------------------------

BASIC = {
    "1": 1, "-1": -1, "NumPy integer": np.int64(2), ":": slice(None), "1:3": slice(1, 3),
    "::-1": slice(None, None, -1),
    "::2, 1": (slice(None, None, 2), 1), "..., 0": (Ellipsis, 0), "None": None, "1, None, 2": (1, None, 2),
    "...": Ellipsis, "()": (), "empty": slice(2, 2), "2, 1, 0": (2, 1, 0), "beyond": slice(1, 100),
}  # fmt: skip
MASK = np.random.default_rng(1).uniform(size=(4, 3, 2)) > 0.5
ADVANCED = {
    "list": [0, 2], "duplicates": [1, 1, 1], "negative": [-1, 0], "empty list": [],
    "array": np.array([[0, 1], [3, 3]]),
    "mask": MASK, "mask of rows": MASK[:, 0, 0], "mask of rows and columns": MASK[:, :, 0],
    "two arrays": ([0, 1, 3], [2, 0, 0]), "two that broadcast": (np.array([[0], [3]]), np.array([1, 2])),
    "array and slice": ([0, 2], slice(1, 3)), "slice and array": (slice(None), [0, 0, 2]),
    "apart": ([0, 1], slice(None), [1, 0]), "with a number": (2, [0, 2]), "with None": ([0, 1], None),
    "with ...": (Ellipsis, [1, 0, 1]), "mask and number": (MASK[:, 0, 0], 1), "range": range(2),
    "backwards and array": (slice(None, None, -1), [2, 2]), "True": True, "False": False,
    "0-d array": np.array(1), "int32": np.array([1, 2], np.int32), "uint8": np.array([1, 2], np.uint8),
    "no element": np.zeros(0, int), "nobody": np.zeros((4, 3, 2), bool),
    "slices and two": (slice(1), [0, 1], [1, 1]),
}  # fmt: skip


@pytest.mark.parametrize("key", BASIC)
def test_basic_index_is_a_view(key: str) -> None:
    x = tg.tensor(numbers(4, 3, 2))
    before = len(EAGER)
    y = x[BASIC[key]]
    assert len(EAGER) == before
    assert y.base is x
    assert np.shares_memory(y.data, x.data) or y.size == 0
    check(lambda t: t[BASIC[key]] * 1, lambda t: t[BASIC[key]] * 1, numbers(4, 3, 2))


@pytest.mark.parametrize("key", ADVANCED)
@both_dtypes
def test_advanced_index(key: str, dtype: Any) -> None:
    k: Any = ADVANCED[key]
    by_numpy = lambda x: x[[] if isinstance(k, list) and not k else k]  # noqa: E731
    for view in (lambda x: x, lambda x: x[::-1], lambda x: np.swapaxes(x, 0, 2).T.swapaxes(0, 2).T):
        f = lambda x, view=view: view(x)[k]  # noqa: E731
        check(f, lambda x, view=view: by_numpy(view(x)), numbers(4, 3, 2, dtype=dtype))


@pytest.mark.parametrize("key", [*ADVANCED, *BASIC])
def test_index_of_integers(key: str) -> None:
    x = np.arange(24).reshape(4, 3, 2)
    k: Any = {**ADVANCED, **BASIC}[key]
    y = tg.tensor(x)[k]
    assert y.constant
    np.testing.assert_array_equal(np.asarray(y), x[k])


def test_tensors_as_indexes() -> None:
    x = numbers(4, 3)
    check(lambda t: t[tg.tensor([2, 2, 0])], lambda x: x[[2, 2, 0]], x)
    check(lambda t: t[tg.tensor(1), tg.tensor([0, 1])], lambda x: x[1, [0, 1]], x)
    check(lambda t: t[tg.tensor(x > 1)], lambda x: x[numbers(4, 3) > 1], x)
    check(lambda t: t[t > 1], lambda x: x[numbers(4, 3) > 1], x)


def test_duplicates_accumulate() -> None:
    x = tg.tensor([1.0, 2.0, 3.0])
    x[[0, 2, 0, 0]].backward([1.0, 10.0, 100.0, 1000.0])
    np.testing.assert_array_equal(x.grad, [1101.0, 0.0, 10.0])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (4, "out of bounds"), (-5, "out of bounds"), ([0, 4], "out of bounds"), ([-5], "out of bounds"),
        ((0, 0, 0), "too many indices"), (([0], [0], [0]), "too many indices"), (1.5, "only integers"),
        ("name", "only integers"), ([1.5], "integer"), (np.ones(3, bool), "boolean index did not match"),
        (([0, 1], [0, 1, 2]), "broadcast"), ((Ellipsis, Ellipsis), "single ellipsis"),
    ],
)  # fmt: skip
def test_indexes_that_do_not_exist(key: Any, message: str) -> None:
    x = tg.tensor(numbers(4, 3))
    with pytest.raises(IndexError, match=message):
        x[key]
    with pytest.raises((IndexError, ValueError), match=message):
        x[key] = 1.0
    x[1:].sum().backward()
    np.testing.assert_array_equal(x.grad, [[0.0] * 3] + [[1.0] * 3] * 3)


def test_iteration_and_length() -> None:
    x = tg.tensor(numbers(3, 2))
    assert len(x) == 3
    rows = list(x)
    assert [row.shape for row in rows] == [(2,)] * 3
    (rows[0] * rows[2]).sum().backward()
    np.testing.assert_array_equal(x.grad, [x.data[2], [0.0, 0.0], x.data[0]])
    a, b, c = tg.tensor([1.0, 2.0, 3.0])
    assert (a + b + c).item() == 6.0
    assert list(tg.zeros((0, 2))) == []
    for call in (len, iter):
        with pytest.raises(TypeError, match="0-dimensional"):
            call(tg.tensor(1.0))


# --- joining -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([(2,), (3,)], 0), ([(2,), (3,), (0,)], -1), ([(2, 3), (1, 3)], 0), ([(2, 3), (2, 1)], 1),
        ([(2, 3), (2, 2)], -1), ([(2, 3), (4,)], None), ([(2, 1, 2), (2, 3, 2)], 1), ([(3,)], 0),
    ],
    ids=str,
)  # fmt: skip
def test_concatenate(shapes: list[tuple[int, ...]], axis: int | None) -> None:
    f = lambda *xs: np.concatenate(xs, axis=axis)  # noqa: E731
    arrays = [numbers(*shape) for shape in shapes]
    check(f, f, *arrays)
    check(lambda *xs: tg.concatenate(list(xs), axis), f, *arrays)
    check(
        lambda *xs: f(*[x.T for x in xs[::-1]]), lambda *xs: f(*[x.T for x in xs[::-1]]), arrays[0], arrays[0]
    )


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_stack(axis: int) -> None:
    f = lambda *xs: np.stack(xs, axis=axis)  # noqa: E731
    check(f, f, numbers(2, 3), 2 * numbers(2, 3))
    check(lambda x: f(x, x[::-1]), lambda x: f(x, x[::-1]), numbers(2, 3))
    check(lambda *xs: tg.stack(list(xs), axis), f, numbers(2, 3), 2 * numbers(2, 3))


def test_joining_promotes_and_takes_anything() -> None:
    check(
        lambda x, y: tg.concatenate([x, y]),
        lambda x, y: np.concatenate([x, y]),
        numbers(2),
        numbers(3, dtype="f4"),
    )
    x = tg.tensor([1.0, 2.0])
    y = tg.concatenate([x, [3, 4], np.array([True]), x])
    np.testing.assert_array_equal(y.data, [1, 2, 3, 4, 1, 1, 2])
    y.backward(np.arange(7.0))
    np.testing.assert_array_equal(x.grad, [5.0, 7.0])
    np.testing.assert_array_equal(np.asarray(tg.stack([[1, 2], tg.tensor([3, 4])])), [[1, 2], [3, 4]])
    assert tg.stack([[1, 2], [3, 4]]).dtype == np.int64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: tg.concatenate([]), ValueError, "at least one"),
        (lambda x: tg.stack([]), ValueError, "at least one"),
        (lambda x: tg.concatenate([x, x[0]]), ValueError, r"\(2, 3\) and \(3,\)"),
        (lambda x: tg.concatenate([x, x[:, :2]]), ValueError, r"\(2, 3\) and \(2, 2\)"),
        (lambda x: tg.concatenate([x, x], axis=2), np.exceptions.AxisError, "out of bounds"),
        (lambda x: tg.concatenate([x[0, 0]]), ValueError, "0-dimensional"),
        (lambda x: tg.stack([x, x.T]), ValueError, r"\(2, 3\), \(3, 2\)"),
        (lambda x: tg.stack([x, x], axis=3), np.exceptions.AxisError, "out of bounds"),
    ],
)
def test_joining_errors(call: Callable[..., Any], error: type[Exception], message: str) -> None:
    x = tg.tensor(numbers(2, 3))
    with pytest.raises(error, match=message):
        call(x)
    tg.concatenate([x, x]).backward()
    np.testing.assert_array_equal(x.grad, np.full((2, 3), 2.0))


# --- views ---------------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: np.reshape(x, (6, 4)),
    "reshape method": lambda x: x.reshape(4, -1),
    "reshape tuple": lambda x: x.reshape((4, 6)),
    "ravel": np.ravel,
    "ravel method": lambda x: x.ravel(),
    "transpose": np.transpose,
    "transpose axes": lambda x: np.transpose(x, (1, 2, 0, 3)),
    "transpose method": lambda x: x.transpose(3, 0, 1, 2),
    "T": lambda x: x.T,
    "swapaxes": lambda x: np.swapaxes(x, 0, -1),
    "swapaxes method": lambda x: x.swapaxes(1, 3),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "moveaxis of two": lambda x: np.moveaxis(x, (0, 1), (-1, 0)),
    "squeeze": np.squeeze,
    "squeeze axis": lambda x: np.squeeze(x, axis=2),
    "squeeze method": lambda x: x.squeeze(-2),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "expand_dims of two": lambda x: np.expand_dims(x, (0, -1)),
    "broadcast_to": lambda x: np.broadcast_to(x, (5, 2, 3, 3, 4)),
    "several": lambda x: np.squeeze(x.T[::2, :, 1:]).reshape(-1, 2),
}


@pytest.mark.parametrize("name", VIEWS)
@both_dtypes
def test_view(name: str, dtype: Any) -> None:
    x = numbers(2, 3, 1, 4, dtype=dtype)
    t, f = tg.tensor(x), VIEWS[name]
    before = len(EAGER)
    y = f(t)
    if name != "several":
        assert len(EAGER) == before
        assert y.base is t
        assert np.shares_memory(y.data, t.data)
    check(lambda t: f(t) * 1, lambda x: f(x) * x.dtype.type(1), x)
    view_of_integers = f(tg.tensor(np.arange(24).reshape(2, 3, 1, 4)))
    np.testing.assert_array_equal(np.asarray(view_of_integers), f(np.arange(24).reshape(2, 3, 1, 4)))


@pytest.mark.parametrize("name", VIEWS)
def test_view_of_a_result(name: str) -> None:
    f = lambda x: np.exp(VIEWS[name](x * x))  # noqa: E731
    check(f, f, 0.5 * numbers(2, 3, 1, 4))


def test_reshape_of_what_cannot_be_viewed_is_a_recorded_copy() -> None:
    f = lambda x: np.reshape(x.T, (-1,)) * np.arange(6.0)  # noqa: E731
    check(f, f, numbers(2, 3))
    check(lambda x: np.ravel(x[:, ::2]) * 2, lambda x: np.ravel(x[:, ::2]) * 2, numbers(3, 4))
    check(lambda x: x.T.flatten() * 2, lambda x: x.T.flatten() * 2, numbers(3, 4))


def test_views_of_empty_and_single_elements() -> None:
    assert tg.zeros((0, 3)).reshape(3, 0).T.shape == (0, 3)
    check(lambda x: x.reshape(1, 1) * 1, lambda x: x.reshape(1, 1) * 1, numbers())
    check(lambda x: x.reshape(()) * 1, lambda x: x.reshape(()) * 1, numbers(1, 1))
    assert tg.zeros((2, 0)).ravel().shape == (0,)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: x.reshape(4), ValueError),
        (lambda x: x.reshape(-1, -1), ValueError),
        (lambda x: x.transpose(0), ValueError),
        (lambda x: tg.transpose(x, (0, 0)), ValueError),
        (lambda x: tg.swapaxes(x, 0, 2), np.exceptions.AxisError),
        (lambda x: tg.moveaxis(x, 5, 0), np.exceptions.AxisError),
        (lambda x: tg.squeeze(x, 0), ValueError),
        (lambda x: tg.expand_dims(x, 5), np.exceptions.AxisError),
        (lambda x: tg.broadcast_to(x, (3, 2)), ValueError),
    ],
)
def test_views_that_do_not_exist(call: Callable[..., Any], error: type[Exception]) -> None:
    x = tg.tensor(numbers(2, 3))
    with pytest.raises(error):
        call(x)
    x.T.sum().backward()
    np.testing.assert_array_equal(x.grad, np.ones((2, 3)))


# --- NumPy's functions with the arguments that people pass ---------------------------------------------

CALLS: dict[str, Callable[[Any], Any]] = {
    "sum positional": lambda x: np.sum(x, 0),
    "sum out None": lambda x: np.sum(x, axis=1, out=None),
    "sum keepdims": lambda x: np.sum(x, axis=-1, keepdims=True),
    "amax": lambda x: np.amax(x, axis=0),
    "max": np.max,
    "min": lambda x: np.min(x, axis=(0, 1)),
    "add.reduce": np.add.reduce,
    "add.reduce axis None": lambda x: np.add.reduce(x, axis=None),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=1, keepdims=True),
    "multiply.reduce": lambda x: np.multiply.reduce(x, 1),
    "mean": lambda x: np.mean(x, axis=(0, 1), keepdims=True),
    "prod": lambda x: np.prod(x, axis=0),
    "cumsum": lambda x: np.cumsum(x, 0),
    "where": lambda x: np.where(numbers(3, 4) > 1, x, 0),
    "where second": lambda x: np.where(numbers(3, 4) > 1, 0.0, x * 2),
    "where row": lambda x: np.where(np.array([True, False, True, False]), x, -x),
    "clip": lambda x: np.clip(x, 0.75, 1.5),
    "clip low": lambda x: np.clip(x, 1.0, None),
    "clip by name": lambda x: np.clip(x, a_min=None, a_max=1.0),
    "clip min": lambda x: np.clip(x, min=1.0),
    "clip method": lambda x: x.clip(0.75, 1.5),
    "sinc": np.sinc,
    "dot": lambda x: np.dot(x, np.arange(4.0)),
    "zeros_like": lambda x: np.zeros_like(x) + x,
    "stack": lambda x: np.stack((x, x), axis=-1),
    "concatenate": lambda x: np.concatenate((x, np.ones((1, 4)))),
    "array op": lambda x: np.arange(4.0) * x - [[1.0], [2.0], [3.0]],
    "abs": np.abs,
}


@pytest.mark.parametrize("name", CALLS)
def test_numpys_function(name: str) -> None:
    check(CALLS[name], CALLS[name], numbers(3, 4))


def test_inspection_by_numpy() -> None:
    x = tg.tensor(numbers(3, 4))
    assert np.shape(x) == (3, 4)
    assert np.ndim(x) == 2
    assert np.size(x) == 12
