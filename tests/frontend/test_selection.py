"""Selection and simple numerics, beside the table of oracles: refusals, integers, outputs, ends and kinks."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

X = np.array([3.0, 1.0, 2.0, 2.5])
Call = Callable[..., Any]

# What NumPy refuses, we refuse by an error of the same kind that names the function.
REFUSED: dict[str, Call] = {
    "take 4": lambda n, x: n.take(x, 4),
    "take -5": lambda n, x: n.take(x, [-5, 0], axis=0),
    "take mode": lambda n, x: n.take(x, [0], mode="wrong"),
    "take along 1": lambda n, x: n.take(x, [0], axis=1),
    "take from nothing": lambda n, x: n.take(x[:0], [0]),
    "take wrapped from nothing": lambda n, x: n.take(x[:0], [0], mode="wrap"),
    "take_along_axis dimensions": lambda n, x: n.take_along_axis(x, np.array([[0]]), axis=0),
    "take_along_axis of floats": lambda n, x: n.take_along_axis(x, np.array([0.5]), axis=0),
    "compress in two dimensions": lambda n, x: n.compress([[True]], x),
    "compress beyond": lambda n, x: n.compress([False] * 4 + [True], x),
    "choose 2": lambda n, x: n.choose([0, 2], [x[:2], x[2:]]),
    "choose shapes": lambda n, x: n.choose([0, 1], [x, x]),
    "select lengths": lambda n, x: n.select([x > 1], [x, x]),
    "select nothing": lambda n, x: n.select([], []),
    "select numbers": lambda n, x: n.select([np.array([1, 0, 1, 0])], [x]),
    "piecewise functions": lambda n, x: n.piecewise(x, [x > 1], [1, 2, 3]),
    "delete 9": lambda n, x: n.delete(x, 9),
    "insert 9": lambda n, x: n.insert(x, 9, 1.0),
    "put 4": lambda n, x: n.put(x, 4, 1.0),
    "place nothing": lambda n, x: n.place(x, x > 1, []),
    "putmask shapes": lambda n, x: n.putmask(x, [True], 1.0),
    "copyto shapes": lambda n, x: n.copyto(x, np.ones(3)),
    "copyto casting": lambda n, x: (
        n.copyto(x, 1.5, casting="no") or n.copyto(x.astype("f4"), X, casting="safe")
    ),
    "fill_diagonal of a line": lambda n, x: n.fill_diagonal(x, 0.0),
    "fill_diagonal of a box": lambda n, x: n.fill_diagonal(x.reshape(2, 2, 1), 0.0),
    "interp lengths": lambda n, x: n.interp(0.5, x, x[1:]),
    "interp nothing": lambda n, x: n.interp(0.5, x[:0], x[:0]),
    "interp dimensions": lambda n, x: n.interp(0.5, x.reshape(2, 2), x.reshape(2, 2)),
    "interp period": lambda n, x: n.interp(0.5, x, x, period=0),
    "convolve nothing": lambda n, x: n.convolve(x, []),
    "convolve dimensions": lambda n, x: n.convolve(x.reshape(2, 2), x),
    "convolve mode": lambda n, x: n.convolve(x, x, "first"),
    "vander dimensions": lambda n, x: n.vander(x.reshape(2, 2)),
    "polyder -1": lambda n, x: n.polyder(x, -1),
    "polyint -1": lambda n, x: n.polyint(x, -1),
    "polyint constants": lambda n, x: n.polyint(x, 3, [1.0, 2.0]),
    "gradient too short": lambda n, x: n.gradient(x[:1]),
    "gradient spacings": lambda n, x: n.gradient(x, 1.0, 2.0),
    "gradient coordinates": lambda n, x: n.gradient(x, x[1:]),
    "gradient order": lambda n, x: n.gradient(x, edge_order=3),
    "searchsorted side": lambda n, x: n.searchsorted(x, x, "wrong"),
    "digitize order": lambda n, x: n.digitize(x, x),
    "apply_along_axis nothing": lambda n, x: n.apply_along_axis(n.sum, 0, x.reshape(4, 1)[:, :0]),
    "apply_over_axes dimensions": lambda n, x: n.apply_over_axes(lambda a, k: a[None, None], x, 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses(name: str) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  NumPy says which
        REFUSED[name](np, X.copy())
    kinds = tuple(kind for kind in expected.type.__mro__ if kind in (IndexError, ValueError, TypeError))
    for call in (REFUSED[name], tg.jit(lambda x: REFUSED[name](tg, x * 1.0))):
        with pytest.raises(kinds):
            call(*((tg, tg.tensor(X)) if call is REFUSED[name] else (X,)))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: np.take(x, 9), "numpy.take: index 9 is out of bounds for axis 0 of extent 4"),
        (lambda x: np.choose([3], [x]), "numpy.choose: index 3 is out of bounds for extent 1"),
        (lambda x: tg.put(np.ones(3), 0, x[0]), "numpy.put: writes into a Tensor, not into ndarray"),
        (lambda x: np.copyto(np.ones(4), x), "numpy.copyto: 'out' is a plain array"),
        (lambda x: np.insert(np.arange(3), 0, x), "numpy.insert: values of float64 lose their gradient"),
        (lambda x: np.polyval(np.poly1d([1.0, 2.0]), x), "poly1d"),
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, writeable=True), "windows overlap"),
        (lambda x: tg.vectorize(lambda v: v, signature="(n)->(n)"), "use apply_along_axis"),
    ],
)
def test_refusals_say_what_to_write(call: Call, said: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError), match=re.escape(said)):
        call(tg.tensor(X))


# Integers are constants, with NumPy's results.
INTEGERS: dict[str, Call] = {
    "take": lambda n, i: n.take(i, [2, 0]),
    "take_along_axis": lambda n, i: n.take_along_axis(i, np.array([1, 0]), axis=0),
    "compress": lambda n, i: n.compress([True, False, True], i),
    "choose": lambda n, i: n.choose(i % 2, [i, -i]),
    "select": lambda n, i: n.select([np.array([True, False, True, True])], [i], 7),
    "delete": lambda n, i: n.delete(i, 1),
    "insert": lambda n, i: n.insert(i, 1, [8, 9]),
    "unique": lambda n, i: n.unique(i),
    "convolve": lambda n, i: n.convolve(i, [1, 2]),
    "vander": lambda n, i: n.vander(i, 3),
    "polyval": lambda n, i: n.polyval(i, 2),
    "polyder": lambda n, i: n.polyder(i),
    "gradient": lambda n, i: n.gradient(i),
    "unwrap": lambda n, i: n.unwrap(3 * i, period=4),
    "interp": lambda n, i: n.interp(1, n.sort(i), i),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_constants(name: str) -> None:
    numbers = np.array([4, 1, 2, 2])
    found, expected = INTEGERS[name](tg, tg.tensor(numbers)), INTEGERS[name](np, numbers)
    assert isinstance(found, tg.Tensor)
    assert found.constant
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.data, expected)


@pytest.mark.parametrize("name", ["put", "place", "putmask", "copyto", "fill_diagonal", "put_along_axis"])
def test_writes_into_integers(name: str) -> None:
    arguments: dict[str, tuple[Any, ...]] = {
        "put": ([0, 3], [7, 8]), "place": ([[1, 0], [0, 1]], [5]), "putmask": ([[1, 0], [0, 1]], [5, 6]),
        "copyto": ([[1], [2]],), "fill_diagonal": ([1, 2],), "put_along_axis": (np.array([[1], [0]]), 9, 1),
    }  # fmt: skip
    ours, theirs = tg.tensor([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]])
    assert getattr(tg, name)(ours, *arguments[name]) is None
    getattr(np, name)(theirs, *arguments[name])
    np.testing.assert_array_equal(ours.data, theirs)


def test_outputs_take_the_gradient() -> None:
    for call in (
        lambda x, out: tg.take(x, [1, 1], out=out),
        lambda x, out: x.take([1, 1], out=out),
        lambda x, out: tg.compress([False, True], x.reshape(2, 2), axis=0, out=out),
        lambda x, out: tg.choose([0, 1], [x[:2], x[2:]], out=out),
    ):
        x, out = tg.tensor(X), None
        expected = call(x, None)
        out = tg.zeros(expected.shape)
        assert call(x, out) is out
        np.testing.assert_array_equal(out.data, expected.data)
        expected.backward()
        gradient = x.grad.copy()
        x.null_grad()
        out.backward()
        np.testing.assert_array_equal(x.grad, gradient)


# --- interpolation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_interpolation_at_the_points_and_beyond(how: Call) -> None:
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([1.0, 5.0, 2.0])
    x = np.array([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, np.inf, np.nan])
    for options in ({}, {"left": -7.0, "right": 9.0}):
        function = how(lambda x, options=options: tg.interp(x, xp, fp, **options))
        np.testing.assert_array_equal(function(x), np.interp(x, xp, fp, **options))
        slopes = tg.grad(lambda x, f=function: tg.sum(f(x)))(x[:-1])
        np.testing.assert_array_equal(slopes, [0, 0, 4, 4, -1.5, -1.5, 0, 0, 0])


@pytest.mark.parametrize("how", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_weights_of_the_points(how: Call) -> None:
    xp, x = np.array([0.0, 1.0, 3.0]), np.array([-1.0, 0.0, 0.25, 2.0, 3.0, 4.0])
    weights = tg.jacobian(how(lambda fp: tg.interp(x, xp, fp)))(np.array([1.0, 5.0, 2.0]))
    expected = [[1, 0, 0], [1, 0, 0], [0.75, 0.25, 0], [0, 0.5, 0.5], [0, 0, 1], [0, 0, 1]]
    np.testing.assert_allclose(weights, expected)


@pytest.mark.parametrize("transform", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_ordinates_may_be_infinite(transform: Call) -> None:
    xp, x = np.arange(5.0), np.array([-1.0, 0.0, 0.25, 1.0, 1.5, 2.0, 2.5, 3.5, 4.0, np.nan])
    function = transform(lambda fp: tg.interp(x, xp, fp))
    assert function(xp * 1.0).shape == x.shape
    for fp in ([-np.inf, 1.0, 2.0, -np.inf, -np.inf], [1.0, np.inf, -np.inf, 3.0, 4.0]):
        np.testing.assert_array_equal(function(np.array(fp)), np.interp(x, xp, fp))


def test_the_ends_may_be_differentiated() -> None:
    gradient = tg.grad(
        lambda low, high: tg.sum(tg.interp([-1.0, 0.5, 2.0], [0.0, 1.0], [0.0, 1.0], low, high)), (0, 1)
    )
    assert gradient(3.0, 4.0) == (1.0, 1.0)


# --- sets, windows, sums of products ---------------------------------------------------------------------------


def test_the_first_of_equal_elements_has_the_gradient() -> None:
    x = tg.tensor([2.0, 1.0, 2.0, np.nan, np.nan])
    values, first, inverse, counts = tg.unique(x, True, True, True)
    expected = np.unique(x.data, True, True, True)
    for found, other in zip((values.data, first, inverse, counts), expected, strict=True):
        np.testing.assert_array_equal(found, other)
    values.backward([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.grad, [2.0, 1.0, 0.0, 3.0, 0.0])


def test_a_replay_finds_the_different_elements_again() -> None:
    function = tg.jit(lambda x: tg.unique(x) * 1.0)
    for x in ([3.0, 1.0, 3.0], [5.0, 2.0, 5.0], [1.0, 2.0, 3.0]):
        np.testing.assert_array_equal(function(np.array(x)), np.unique(x))


@pytest.mark.parametrize(("n", "window"), [(5, 2), (4, 4), (40_000, 30)])
def test_windows_add_up(n: int, window: int) -> None:
    """Also where an instruction is so large that it runs on several threads."""
    x = tg.tensor(np.arange(float(n)))
    windows = tg.sliding_window_view(x, window)
    assert windows.base is x
    with pytest.raises(ValueError, match="read-only"):
        windows[0] = 1.0
    weights = np.random.default_rng(0).standard_normal(windows.shape)
    (windows * weights).backward()
    expected = np.zeros(n)
    for k in range(window):
        expected[k : k + n - window + 1] += weights[:, k]
    np.testing.assert_allclose(x.grad, expected, atol=1e-12)


def test_a_masked_infinity_has_no_gradient() -> None:
    """Zero times anything is zero."""
    x = np.array([0.0, 1.0, 2.0])

    def function(x: Any) -> Any:
        y = tg.convolve(tg.where(x > 0, tg.log(x), 1.0), tg.where(x > 0, tg.sqrt(x), 2.0))
        return tg.sum(y * y)

    for gradient in (
        tg.grad(function),
        tg.grad(tg.jit(function)),
        tg.grad(lambda x: tg.sum(tg.grad(function)(x))),
    ):
        found = gradient(x)
        assert np.isfinite(found).all()
        assert found[0] == 0


@pytest.mark.parametrize("sizes", [(600, 3), (3, 600), (700, 700), (1, 1)], ids=str)
def test_long_lines(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x, v = (rng.standard_normal(n) for n in sizes)
    for name, mode in (
        ("convolve", "full"),
        ("convolve", "same"),
        ("correlate", "valid"),
        ("correlate", "same"),
    ):
        ours, theirs = getattr(tg, name), getattr(np, name)
        np.testing.assert_allclose(ours(x, v, mode).data, theirs(x, v, mode), atol=1e-12)
        x_bar, v_bar = tg.grad(lambda x, v, f=ours, m=mode: tg.sum(f(x, v, m) ** 2), (0, 1))(x, v)
        y = 2 * theirs(x, v, mode)
        d, e = rng.standard_normal(x.size), rng.standard_normal(v.size)
        expected = np.sum(y * (theirs(d, v, mode) + theirs(x, e, mode)))
        assert x_bar @ d + v_bar @ e == pytest.approx(expected, rel=1e-9)


# --- functions of the user's -----------------------------------------------------------------------------------


def test_vectorize() -> None:
    def clipped(x: Any, low: Any = 0.0) -> Any:
        """Limit a number."""
        return x if x > low else low * 1.0

    ours, theirs = tg.vectorize(clipped), np.vectorize(clipped)
    x = np.array([[-1.0, 2.0], [0.5, -3.0]])
    np.testing.assert_array_equal(ours(tg.tensor(x), low=0.25).data, theirs(x, low=0.25))
    assert ours.__doc__ == "Limit a number."
    np.testing.assert_array_equal(tg.grad(lambda x: tg.sum(ours(x) * 3.0))(x), 3.0 * (x > 0))
    both = tg.vectorize(lambda x, y: (x * y, x + y), otypes="dd")(tg.tensor(x), [1.0, 2.0])
    np.testing.assert_array_equal([each.data for each in both], [x * np.array([1, 2]), x + np.array([1, 2])])
    assert tg.vectorize(excluded={1})(lambda x, p: x * p[0])(x, [2.0, 3.0]).shape == (2, 2)
    assert tg.vectorize(clipped, otypes=["f8"])(np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(ValueError, match="otypes"):
        ours(np.zeros(0))


WEAK: dict[str, Any] = {
    "choose": lambda n, x, s: n.choose([0, 1, 1], [x, s]),
    "choose 2": lambda n, x, s: n.choose([0, 1, 1], [x, 2]),
    "choose an element": lambda n, x, s: n.choose([0, 1, 1], [x, n.float64(2.0)]),
    "choose by itself": lambda n, x, s: n.choose(x > 1, [x, 0.1]),
    "select": lambda n, x, s: n.select([x > 1], [x], s),
    "select 2": lambda n, x, s: n.select([x > 1, x < 0], [2, x]),
    "select an element": lambda n, x, s: n.select([x > 1], [x], n.float64(0.1)),
    "where": lambda n, x, s: n.where(x > 1, x, s),
}  # fmt: skip


@pytest.mark.parametrize("name", WEAK)
def test_choices_of_numbers_leave_float32_what_it_is(name: str) -> None:
    x = np.array([0.25, 1.7, -3.3], np.float32)
    expected = WEAK[name](np, x, 0.3)
    loss = lambda x, s: tg.sum(WEAK[name](tg, x, s) * np.float32([1.1, 2.3, 3.7]))  # noqa: E731
    for found in (WEAK[name](tg, tg.tensor(x), 0.3).data, tg.jit(lambda x, s: WEAK[name](tg, x, s))(x, 0.3)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    for gradient in (tg.grad(loss)(x, 0.3), tg.grad(tg.jit(loss))(x, 0.3)):
        taken = np.isclose(expected, x, rtol=1e-6)
        assert gradient.dtype == np.float32
        np.testing.assert_array_equal(gradient, np.where(taken, np.float32([1.1, 2.3, 3.7]), np.float32(0)))
