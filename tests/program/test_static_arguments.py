"""Fixed arguments: which they are, when two are the same, how many recordings are kept; structures of arguments."""

import collections
import copy
import dataclasses
import decimal
import enum
import functools
import pickle
import warnings

import numpy as np
import pytest

import tapegrad as tg

Pair = collections.namedtuple("Pair", "a b")
Other = collections.namedtuple("Other", "a b")


class Number(int):
    pass


@dataclasses.dataclass(frozen=True)
class Settings:
    power: int
    scale: float = dataclasses.field(default=1.0, compare=False)


class Lenient:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __repr__(self):
        return f"Lenient({self.k})"  # it names tests, which every process must call the same


class Kind(enum.IntEnum):
    ONE = 1


def described(value):
    """A number that tells what a function sees."""
    if isinstance(value, Settings):
        return value.power * value.scale
    if isinstance(value, Lenient):
        return value.k
    text = f"{type(value).__qualname__} {value!r} {[type(part) for part in value] if isinstance(value, tuple) else ''}"
    return float(sum((k + 1) * ord(letter) for k, letter in enumerate(text)))


SAME_BUT_DIFFERENT = [
    (1, True, Number(1), Kind.ONE), (0.0, -0.0, 0, False), (1.0, 1, np.float64(1), np.float32(1)),
    ((1, 2), Pair(1, 2), Other(1, 2)), ((1, 2.0), (1.0, 2), (True, 2)), ((0.0,), (-0.0,)),
    (Settings(2, 1.0), Settings(2, 3.0)), (Lenient(1.0), Lenient(2.0)), (1 + 0j, 1, complex(1, -0.0)),
    (decimal.Decimal("1.0"), decimal.Decimal("1.00")), (range(3), (0, 1, 2)), (frozenset({1}), frozenset({True})),
    ("a", b"a"), (None, False), (float("nan"), 0.0), ((Settings(2, 1.0),), (Settings(2, 3.0),)),
]  # fmt: skip


@pytest.mark.parametrize("values", SAME_BUT_DIFFERENT, ids=str)
def test_equal_values_that_differ_do_not_share(values):
    function = lambda x, k: x * described(k)  # noqa: E731
    replayed = tg.value_and_grad(tg.jit(function, static_argnums=1))
    for _ in range(2):
        for value in values:
            assert replayed(2.0, value) == (2 * described(value), described(value))


@pytest.mark.parametrize(
    "value", [float("nan"), (float("nan"), 1), "text", Settings(2), (1, (2, Pair(3, None)))], ids=str
)
def test_equal_values_share(value):
    replayed = tg.jit(lambda x, k: x * described(k), static_argnums=1)
    for _ in range(4):
        replayed(2.0, copy.deepcopy(value))
    assert len(list(replayed.traces)) == 1


def test_objects_that_are_equal_without_being_static():
    replayed = tg.jit(lambda x, s: x * described(s))
    assert [replayed(1.0, s) for s in (Settings(2, 1.0), Settings(2, 3.0), Lenient(5.0), Lenient(6.0))] == [
        2,
        6,
        5,
        6,
    ]


POWER = {
    "argnums": {"static_argnums": 1},
    "negative": {"static_argnums": (-1,)},
    "argnames": {"static_argnames": "n"},
}


@pytest.mark.parametrize("name", POWER)
def test_static_arguments_in_every_transform(name):
    def power(x, n):
        assert isinstance(n, float)
        return tg.sum(x**n)

    f, x = tg.jit(power, **POWER[name]), np.array([1.0, 2.0])
    for n in (2.0, 3.0, 2.0):
        assert f(x, n) == f(x, n=n) == np.sum(x**n)
        np.testing.assert_allclose(tg.grad(f)(x, n), n * x ** (n - 1))
        np.testing.assert_allclose(tg.value_and_grad(f)(x, n=n)[1], n * x ** (n - 1))
        np.testing.assert_allclose(tg.jacobian(f)(x, n), n * x ** (n - 1))
        np.testing.assert_allclose(tg.hessian(f)(x, n), np.diag(n * (n - 1) * x ** (n - 2)))
        np.testing.assert_allclose(tg.hvp(f)(x, n, np.ones(2)), n * (n - 1) * x ** (n - 2))
    with pytest.raises(TypeError, match="static"):
        tg.grad(f, 1)(x, 2.0)
    again = pickle.loads(pickle.dumps(tg.jit(described_power, **POWER[name])))
    assert again(x, 2.0) == copy.deepcopy(f)(x, 2.0) == 5


def described_power(x, n):
    assert isinstance(n, float)
    return tg.sum(x**n)


def test_wrong_static_arguments():
    f = lambda x, n=1: x * n  # noqa: E731
    for given, error in [
        ({"static_argnums": 2}, ValueError), ({"static_argnums": -3}, ValueError),
        ({"static_argnames": "m"}, ValueError),
        ({"static_argnums": "n"}, TypeError), ({"static_argnums": 1.0}, TypeError), ({"static_argnames": 1}, TypeError),
    ]:  # fmt: skip
        with pytest.raises(error):
            tg.jit(f, **given)
    with pytest.raises(tg.UnsupportedError, match="arrays"):
        tg.jit(f, static_argnums=1)(1.0, np.ones(2))
    with pytest.raises(tg.UnsupportedError, match="hashable"):
        tg.jit(f, static_argnums=1)(1.0, type("Odd", (), {"__hash__": None})())


def test_methods_and_decorators():
    class Model:
        @functools.partial(tg.jit, static_argnames=("n",))
        def loss(self, x, n):
            return x**n

    assert Model().loss(2.0, n=3) == 8


# --- how many recordings are kept ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain_memory")
def test_integers_are_told_about_once_and_never_refused():
    f = tg.jit(lambda x, n: x * n)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert [f(1.0, n) for n in range(400)] == list(range(400))
        assert [tg.grad(f)(1.0, n) for n in range(20)] == list(range(20))
    assert [each.category for each in told] == [tg.RecordingWarning]
    assert "static_argnums" in str(told[0].message)
    assert told[0].filename == __file__


@pytest.mark.parametrize("make", [lambda f: tg.jit(f, static_argnums=1), lambda f: tg.jit(f)])
def test_what_is_static_or_an_array_is_not_told(make):
    f = make(lambda x, n: x * n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(40):
            assert f(1.0, n if f.static.numbers else np.asarray(n)) == n
    assert len(list(f.traces)) == (40 if f.static.numbers else 1)


def test_recordings_used_longest_ago_go_first():
    counts = collections.Counter()

    def function(x, n):
        counts[n] += 1
        return tg.sum(x) * n

    f = tg.jit(function, static_argnums=1, memory=1_000_000)
    x = np.ones(1000)
    for n in range(100):
        assert f(x, n) == 1000 * n
        assert f(x, 0) == 0
    assert counts[0] == 1
    assert 1 < len(list(f.traces)) < 50
    assert f.traces.bytes <= 1_000_000
    assert f(x, 99) == 99_000
    assert counts[99] == 1
    assert f(x, 1) == 1000
    assert counts[1] == 2


# --- structures -----------------------------------------------------------------------------------


class Rows(list):
    pass


class Table(dict):
    pass


A, B = np.array([1.0, 2.0]), np.array([3.0])
STRUCTURES = {
    "OrderedDict": lambda: collections.OrderedDict(b=B, a=A),
    "defaultdict": lambda: collections.defaultdict(list, b=B, a=A),
    "dict": lambda: {"b": B, "a": A}, "subclass of dict": lambda: Table(b=B, a=A), "list": lambda: [A, B],
    "subclass of list": lambda: Rows([A, B]), "deque": lambda: collections.deque([A, B], maxlen=5),
    "namedtuple": lambda: Pair(A, [B]), "mixed keys": lambda: {1: A, "b": B, (2, 3): A},
    "nested": lambda: [collections.OrderedDict(z=Pair(A, B), a=(B,))],
}  # fmt: skip


def leaves(value):
    if isinstance(value, np.ndarray) or not isinstance(value, dict | list | tuple | collections.deque):
        return [value]
    return [leaf for part in (value.values() if isinstance(value, dict) else value) for leaf in leaves(part)]


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("prepare", [tg.jit, lambda f: f])
def test_structures_come_back_as_they_were_given(name, prepare):
    def function(p):
        return sum(tg.sum(leaf**2) for leaf in leaves(p))

    given = STRUCTURES[name]()
    for transform in (tg.grad, tg.jacobian):
        found = transform(prepare(function))(given)
        assert type(found) is type(given)
        if isinstance(given, dict):
            assert list(found) == list(given)
        for gradient, leaf in zip(leaves(found), leaves(given), strict=True):
            np.testing.assert_allclose(gradient, 2 * leaf)
    assert getattr(found, "maxlen", None) == getattr(given, "maxlen", None)
    assert getattr(found, "default_factory", None) == getattr(given, "default_factory", None)


def test_the_order_of_keys_is_no_structure():
    def function(p):
        return tg.sum(p["a"]) * tg.sum(p["b"] ** 2)

    given, dots = {"a": A, "b": B}, {"b": np.ones(1), "a": np.zeros(2)}
    assert tg.jvp(function, (given,), (dots,))[1] == 18
    assert tg.jvp(tg.jit(function), (given,), (dots,))[1] == 18
    assert tg.hvp(function)(given, dots)["b"] == 6
    _, pull = tg.vjp(lambda p: p, given)
    np.testing.assert_allclose(pull({"b": B, "a": A})[0]["a"], A)
    replayed = tg.jit(lambda p: tg.concatenate(list(p.values())))
    assert replayed({"a": A, "b": B}).tolist() == [1, 2, 3]
    assert replayed({"b": B, "a": A}).tolist() == [3, 1, 2]
