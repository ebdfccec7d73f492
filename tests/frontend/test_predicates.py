"""Functions that only look at values: NumPy's answers in eager code, guards in a recording, nothing to a gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.elementwise_rows import in_double
from helpers.table_loops import grouped

# Inputs whose outcomes differ in one or another of the functions below, and two that agree in most.
VECTORS = [
    np.array(values)
    for values in (
        [1.0, 2.0, 3.0],
        [1.1, 2.1, 3.1],
        [3.0, -1.0, 2.0],
        [0.0, 0.0, -0.0],
        [np.nan, 1.0, np.nan],
        [np.inf, -np.inf, 2.0],
        [2.0, 2.0, 1.0],
        [1.0, 2.0, 3.0],
    )
]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


PLAIN = np.array([1.0, 2.5, 4.0])
FLAGS = np.array([True, False, True])

# Called with NumPy, or with tapegrad in its place, and an array or a Tensor.
ANYWHERE: dict[str, Callable[[Any, Any], Any]] = {
    "any": lambda np_, x: np_.any(x),
    "any of mask": lambda np_, x: np_.any(x <= 0),
    "any along": lambda np_, x: np_.any(np_.reshape(x, (3, 1)) > 1, axis=0, keepdims=True),
    "any where": lambda np_, x: np_.any(x, where=FLAGS),
    "any of nothing": lambda np_, x: np_.any(x[:0]),
    "all": lambda np_, x: np_.all(x),
    "all of mask": lambda np_, x: np_.all(np_.isfinite(x)),
    "all along": lambda np_, x: np_.all(np_.reshape(x, (1, 3)) > 1, axis=(0,)),
    "all where": lambda np_, x: np_.all(x > 1, where=FLAGS),
    "all of nothing": lambda np_, x: np_.all(x[:0], axis=0),
    "argmax": lambda np_, x: np_.argmax(x),
    "argmin": lambda np_, x: np_.argmin(x),
    "argmax along": lambda np_, x: np_.argmax(np_.reshape(x, (3, 1)), axis=0, keepdims=True),
    "argmin along": lambda np_, x: np_.argmin(np_.reshape(x, (3, 1)), axis=-2),
    "argmax of mask": lambda np_, x: np_.argmax(x > 1),
    "argmax backwards": lambda np_, x: np_.argmax(x[::-1], 0),
    "allclose": lambda np_, x: np_.allclose(x, PLAIN, atol=0.6),
    "allclose nan": lambda np_, x: np_.allclose(x, x, equal_nan=True),
    "allclose reversed": lambda np_, x: np_.allclose([1, 2, 3], x, rtol=0.2),
    "isclose": lambda np_, x: np_.isclose(x, 2.0),
    "isclose infinite": lambda np_, x: np_.isclose(x, np.inf),
    "isclose nan": lambda np_, x: np_.isclose(x, x[::-1], equal_nan=True),
    "isclose integers": lambda np_, x: np_.isclose(np.array([1, 2, 4]), x, atol=0.2),
    "array_equal": lambda np_, x: np_.array_equal(x, np.array([1.0, 2.0, 3.0])),
    "array_equal nan": lambda np_, x: np_.array_equal(x, x, equal_nan=True),
    "array_equal other shape": lambda np_, x: np_.array_equal(x, x[:2]),
    "array_equiv": lambda np_, x: np_.array_equiv(x, 0.0),
    "array_equiv other shape": lambda np_, x: np_.array_equiv(x, x[:2]),
    "count_nonzero": lambda np_, x: np_.count_nonzero(x),
    "count_nonzero along": lambda np_, x: np_.count_nonzero(
        np_.reshape(x, (3, 1)) > 1, axis=1, keepdims=True
    ),
    "nonzero": lambda np_, x: np_.nonzero(x),
    "nonzero backwards": lambda np_, x: np_.nonzero((x > 1)[::-1]),
    "flatnonzero": lambda np_, x: np_.flatnonzero(x > 1),
    "argwhere": lambda np_, x: np_.argwhere(x),
    "searchsorted": lambda np_, x: np_.searchsorted(PLAIN, x),
    "searchsorted in": lambda np_, x: np_.searchsorted(x, 2.2, side="right"),
    "digitize": lambda np_, x: np_.digitize(x, PLAIN),
    "argsort": lambda np_, x: np_.argsort(x),
    "argsort stable": lambda np_, x: np_.argsort(np_.reshape(x, (3, 1)), axis=0, stable=True),
    "argpartition": lambda np_, x: np_.argpartition(x, 1),
    "lexsort": lambda np_, x: np_.lexsort((x, x[::-1])),
    "isin": lambda np_, x: np_.isin(x, [1.0, 2.0]),
    "signbit": lambda np_, x: np_.signbit(x),
    "isposinf": lambda np_, x: np_.isposinf(x),
    "isneginf": lambda np_, x: np_.isneginf(x),
    "logical_and": lambda np_, x: np_.logical_and(x, x > 1),
    "logical_or": lambda np_, x: np_.logical_or(x, FLAGS),
    "logical_xor": lambda np_, x: np_.logical_xor(FLAGS, x),
    "logical_not": lambda np_, x: np_.logical_not(x),
    "iscomplex": lambda np_, x: np_.iscomplex(x),
    "isreal": lambda np_, x: np_.isreal(x),
    "shape": lambda np_, x: np_.shape(x),
    "ndim": lambda np_, x: np_.ndim(x),
    "size": lambda np_, x: (np_.size(x), np_.size(x, 0)),
    "iscomplexobj": lambda np_, x: np_.iscomplexobj(x),
    "isrealobj": lambda np_, x: np_.isrealobj(x),
    "result_type": lambda np_, x: np_.result_type(x, np.float32),
    "can_cast": lambda np_, x: np_.can_cast(x, np.float32),
    "common_type": lambda np_, x: np_.common_type(x, np.zeros(1, int)),
    "min_scalar_type": lambda np_, x: np_.min_scalar_type(x[0]) if np.isfinite(x.size) else None,
    "shares_memory": lambda np_, x: (np_.shares_memory(x, x[1:]), np_.shares_memory(x, x * 1)),
    "may_share_memory": lambda np_, x: np_.may_share_memory(x[:1], x[1:]),
    "tril_indices_from": lambda np_, x: np_.tril_indices_from(np_.broadcast_to(x, (3, 3)), -1),
    "diag_indices_from": lambda np_, x: np_.diag_indices_from(np_.broadcast_to(x, (3, 3))),
    "array_repr": lambda np_, x: np_.array_repr(x),
    "array_str": lambda np_, x: np_.array_str(x),
    "array2string": lambda np_, x: np_.array2string(x, precision=2),
}
# What NumPy has, or a method, only.
NUMPY_ONLY: dict[str, Callable[[Any], Any]] = {
    "isscalar": np.isscalar,
    "iterable": lambda x: (np.iterable(x), np.iterable(x[0] * 1 if np.ndim(x) > 1 else x)),
    "matrix_rank": lambda x: np.linalg.matrix_rank(np.where(np.isfinite(x), x, 0.0).reshape(1, 3)),
    "logical_or.reduce": np.logical_or.reduce,
    "logical_and.reduce": lambda x: np.logical_and.reduce(x > 1, axis=None, keepdims=True),
    "bitwise": lambda x: (FLAGS & (x > 1)) | (FLAGS ^ (x > 2)),
    "invert": lambda x: np.invert(x > 1),
    ".any": lambda x: (x > 2).any(),
    ".all": lambda x: x.all(axis=0, keepdims=True),
    ".argmax": lambda x: x.argmax(),
    ".argmin": lambda x: x.argmin(axis=0),
    ".argsort": lambda x: x.argsort(stable=True),
    ".argpartition": lambda x: x.argpartition(0),
    ".nonzero": lambda x: x.nonzero(),
    ".searchsorted": lambda x: x.searchsorted([1.5, 2.5]),
    "in": lambda x: (2.0 in x, np.nan in x),
}
LOOKS: dict[str, Callable[[Any], Any]] = {
    **{f"np.{name}": lambda x, f=f: f(np, x) for name, f in ANYWHERE.items()},
    **{f"tg.{name}": lambda x, f=f: f(tg if isinstance(x, tg.Tensor) else np, x) for name, f in ANYWHERE.items()},
    **NUMPY_ONLY,
}  # fmt: skip


def flat(outcome: Any) -> list[Any]:
    """An outcome as plain NumPy."""
    if isinstance(outcome, tuple):
        return [part for each in outcome for part in flat(each)]
    return [
        np.asarray(outcome) if isinstance(outcome, bool | np.ndarray | np.generic | tg.Tensor) else outcome
    ]


def assert_same(found: Any, expected: Any) -> None:
    for a, b in zip(flat(found), flat(expected), strict=True):
        if isinstance(b, np.ndarray):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_array_equal(a, b)
        else:
            assert a == b


@grouped("name")
@daily(among=in_double)
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_eagerly_it_is_what_numpy_says(name: str, dtype: Any) -> None:
    for vector in VECTORS:
        x = vector.astype(dtype)
        assert_same(LOOKS[name](tg.tensor(x)), LOOKS[name](x))
        assert_same(LOOKS[name](tg.tensor(x) * 1), LOOKS[name](x))


@grouped("name")
@daily(among=in_double)
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_replay_says_the_same(name: str, dtype: Any) -> None:
    replayed = tg.jit(LOOKS[name])
    for vector in VECTORS:
        x = vector.astype(dtype)
        assert_same(replayed(x), LOOKS[name](x))


def weight(outcome: Any) -> float:
    """A number that depends on an outcome."""
    parts = [
        np.sum(part, dtype=float) if isinstance(part, np.ndarray | bool | int) else len(str(part))
        for part in flat(outcome)
    ]
    return 1.0 + float(np.sum(parts))


@pytest.mark.filterwarnings("ignore:invalid value")
@daily(every=2)
@pytest.mark.parametrize("name", LOOKS)
def test_in_derivatives_it_is_a_constant(name: str) -> None:
    look = LOOKS[name]

    def f(x: Any) -> Any:
        return tg.sum(x**3) * weight(look(x))

    direction = np.array([1.0, 0.0, -1.0])
    for function, vectors in ((f, VECTORS[1:2]), (tg.jit(f), (VECTORS[0], VECTORS[2], VECTORS[6]))):
        for x in vectors:
            w = weight(look(x))
            np.testing.assert_allclose(tg.grad(function)(x), 3 * w * x**2)
            np.testing.assert_allclose(tg.hessian(function)(x), np.diag(6 * w * x))
            np.testing.assert_allclose(tg.hvp(function)(x, direction), 6 * w * x * direction)
            np.testing.assert_allclose(tg.jvp(function, (x,), (direction,))[1], 3 * w * x**2 @ direction)


@pytest.mark.parametrize(
    "name", ["any of mask", "all of mask", "argmax", "allclose", "count_nonzero", "argsort"]
)
def test_in_nested_transforms(name: str) -> None:
    look = ANYWHERE[name]

    def f(x: Any) -> Any:
        return tg.sum(x**3) * weight(look(np, x))

    def through(x: Any) -> Any:
        return tg.sum(tg.grad(f)(x) * x)

    replayed = tg.jit(through)
    for x in (VECTORS[0], VECTORS[1], VECTORS[2]):
        w = weight(ANYWHERE[name](np, x))
        for function in (through, replayed):
            np.testing.assert_allclose(tg.grad(function)(x), 9 * w * x**2)


ONCE_AN_OUTCOME = (
    "any of mask",
    "all of mask",
    "argmax",
    "allclose",
    "count_nonzero",
    "argsort",
    "signbit",
    "nonzero",
)


@pytest.mark.parametrize("name", ONCE_AN_OUTCOME)
def test_the_outcome_is_guarded_and_not_the_data(name: str, rng: np.random.Generator) -> None:
    """There is one recording for each outcome, however the data change."""
    recorded = []

    def f(x: Any) -> Any:
        recorded.append(x)
        return tg.sum(x) * weight(ANYWHERE[name](np, x))

    replayed = tg.value_and_grad(tg.jit(f))
    points = [np.array(p) for p in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 3.0, -2.0], [0.0, 2.0, 3.0])]
    outcomes = {repr(flat(ANYWHERE[name](np, p))) for p in points}
    for _ in range(5):
        for p in points:
            near = p * (1 + 0.01 * rng.random())
            np.testing.assert_allclose(replayed(near)[1], np.full(3, weight(ANYWHERE[name](np, p))))
    assert len(recorded) == len(outcomes)


CLOSED_OVER = (
    "any",
    "all",
    "argmax",
    "allclose",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "argsort",
    "isin",
    "signbit",
)


@pytest.mark.parametrize("name", CLOSED_OVER)
def test_what_is_closed_over_is_looked_at_in_every_replay(name: str) -> None:
    closed = tg.asarray(VECTORS[0].copy(), constant=True)
    replayed = tg.jit(lambda x: tg.sum(x) * weight(ANYWHERE[name](np, closed)))
    for vector in (VECTORS[0], VECTORS[2], VECTORS[6], VECTORS[1]):
        closed.data[...] = vector
        assert replayed(np.ones(1)) == pytest.approx(weight(ANYWHERE[name](np, vector)))


def test_arguments_that_are_not_supported_in_a_recording_say_so() -> None:
    for function in (np.any, np.all, np.argmax, np.isposinf):
        x = np.ones(3)
        out = np.empty((3,) if function is np.isposinf else (), int if function is np.argmax else bool)
        np.testing.assert_array_equal(function(tg.tensor(x), out=out), function(x))
        with pytest.raises(tg.UnsupportedError, match="out"):
            tg.jit(lambda x, f=function, out=out: tg.sum(x) * f(x, out=out))(x)


def test_numpys_errors_come_through() -> None:
    for call, error in (
        (lambda x: np.any(x, axis=3), ValueError),
        (lambda x: np.argmax(x[:0]), ValueError),
        (lambda x: np.argmin(x, axis=1), ValueError),
        (lambda x: np.argsort(x, axis=1), ValueError),
        (lambda x: np.allclose(x, x[:2]), ValueError),
        (lambda x: np.searchsorted(x, 1.0, side="up"), ValueError),
        (lambda x: np.nanargmax(x * np.nan), ValueError),
        (lambda x: np.any(x, where=np.ones((2, 2), bool)), ValueError),
    ):
        for given in (np.ones(3), tg.ones(3)):
            with pytest.raises(error):
                call(given)
        with pytest.raises(error):
            tg.jit(call)(np.ones(3))
