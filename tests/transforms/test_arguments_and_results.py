"""What transforms take and hand on, and what the functions may return: the same for plain and recorded ones."""

import types

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.table_loops import grouped

X = np.array([0.5, 2.0])
PREPARE = {"plain": lambda f: f, "jit": tg.jit}


# --- results that do not depend on the argument -------------------------------------------------------------------

CONSTANTS = {
    "inf": np.inf,
    "-inf": -np.inf,
    "float": 3.0,
    "int": 3,
    "NumPy float": np.float64(2.5),
    "NumPy single": np.float32(2.5),
    "NumPy int": np.int64(4),
    "array": np.array(1.5),
    "array of integers": np.array(7),
    "Tensor": tg.tensor(2.0, constant=True),
    "integer Tensor": tg.tensor(2),
    "leaf": tg.tensor(2.0),
}
RETURNS = {
    **{name: lambda x, value=value: value for name, value in CONSTANTS.items()},
    "sum of ones": lambda x: tg.sum(tg.ones(3)),
    "sum of an array": lambda x: tg.sum(np.ones(3)),
    "count": lambda x: tg.sum(x > 1.0),
    "detached": lambda x: tg.sum(x.detach()),
    "stopped": lambda x: tg.sum(tg.stop_gradient(x)),
    "zero times": lambda x: tg.sum(x) * 0.0,
}
FIRST = {
    "grad": lambda f, x: tg.grad(f)(x),
    "value_and_grad": lambda f, x: tg.value_and_grad(f)(x)[1],
    "vjp": lambda f, x: tg.vjp(f, x)[1](1.0)[0],
    "jacobian": lambda f, x: tg.jacobian(f)(x),
    "jacfwd": lambda f, x: tg.jacfwd(f)(x),
    "jacrev": lambda f, x: tg.jacrev(f)(x),
    "jit of grad": lambda f, x: tg.jit(tg.grad(f))(x),
    "hvp": lambda f, x: tg.hvp(f)(x, x),
    "grad of grad": lambda f, x: tg.grad(lambda y: tg.sum(tg.grad(f)(y)))(x),
    "jvp of grad": lambda f, x: tg.jvp(tg.grad(f), (x,), (x,))[1],
    "vjp of grad": lambda f, x: tg.vjp(tg.grad(f), x)[1](x)[0],
    "grad of vjp": lambda f, x: tg.grad(lambda y: tg.sum(tg.vjp(f, y)[1](1.0)[0]))(x),
    "of Tensors": lambda f, x: tg.grad(f)(tg.tensor(x)).data,
    "jacobian of Tensors": lambda f, x: tg.jacobian(f)(tg.tensor(x)).data,
}


@grouped("returns")
@pytest.mark.filterwarnings("ignore:jit.* was called with a Tensor:tapegrad.RecordingWarning")
@daily("prepare")
@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize("transform", FIRST)
@pytest.mark.parametrize("returns", RETURNS)
def test_what_depends_on_nothing_has_the_gradient_zero(returns, transform, prepare):
    f = PREPARE[prepare](RETURNS[returns])
    for x in (X, X.astype(np.float32), X):
        found = FIRST[transform](f, x)
        assert found.dtype == x.dtype
        assert found.tolist() == [0, 0]


@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize("returns", RETURNS)
def test_values_of_what_depends_on_nothing(returns, prepare):
    function = RETURNS[returns]
    expected = function(tg.tensor(X))
    expected = expected.item() if isinstance(expected, tg.Tensor) else expected
    f = PREPARE[prepare](function)
    for _ in range(2):
        values = tg.value_and_grad(f)(X)[0], tg.vjp(f, X)[0], tg.jvp(f, (X,), (X,))[0]
        assert [value.item() if hasattr(value, "item") else value for value in values] == [expected] * 3
        assert not any(isinstance(value, tg.Tensor) for value in values)
    assert tg.jvp(f, (X,), (X,))[1] == 0
    hessian = tg.hessian(f)(X)
    assert hessian.shape == (2, 2)
    assert not hessian.any()


@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize("argument", [{"a": 1.0, "b": [X, 2.0]}, [X, X], (1.0,)])
def test_zeros_have_the_structure_of_the_argument(argument, prepare):
    f = PREPARE[prepare](lambda p: np.inf)
    value, gradient = tg.value_and_grad(f)(argument)
    assert value == np.inf
    other = tg.value_and_grad(lambda p: tg.sum(tg.ones(2)))(argument)[1]
    assert repr(gradient) == repr(other)
    assert repr(tg.vjp(f, argument)[1](1.0)[0]) == repr(other)
    assert repr(tg.jacobian(f)(argument)) == repr(other)


def guarded(p):
    """The head of every likelihood."""
    if p[1] <= 0:
        return np.inf
    return tg.sum((p[0] - 1.0) ** 2 / p[1]) + tg.log(p[1])


@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize("first", [1.0, -1.0])
def test_guards_that_return_a_constant_are_taken_as_the_argument_says(first, prepare):
    """In any order, and in each transform: a way that returns a number is left when it is not the one."""
    f = PREPARE[prepare](guarded)
    both, hessian, product = tg.value_and_grad(f), tg.hessian(f), tg.hvp(f)
    v = np.array([1.0, 2.0])
    for sign in (first, -first, first, -first):
        p = np.array([0.5, sign * 2.0])
        value, gradient = both(p)
        wanted = np.array([-0.5, 0.4375]) if sign > 0 else np.zeros(2)
        curved = np.array([[1.0, 0.25], [0.25, -0.1875]]) if sign > 0 else np.zeros((2, 2))
        assert value == (pytest.approx(0.125 + np.log(2)) if sign > 0 else np.inf)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-14)
        np.testing.assert_allclose(tg.vjp(f, p)[1](1.0)[0], wanted, rtol=1e-14)
        np.testing.assert_allclose(tg.jvp(f, (p,), (v,))[1], wanted @ v, rtol=1e-14)
        for jacobian in (tg.jacobian(f), tg.jacfwd(f), tg.jacrev(f)):
            np.testing.assert_allclose(jacobian(p), wanted, rtol=1e-14)
        np.testing.assert_allclose(hessian(p), curved, rtol=1e-14)
        np.testing.assert_allclose(product(p, v), curved @ v, rtol=1e-14)


# --- results that have no derivative -----------------------------------------------------------------------------

REFUSED = {
    "None": lambda x: None,
    "string": lambda x: "loss",
    "function": lambda x: tg.sum,
    "objects": lambda x: np.array([None, 1.0]),
    "object": lambda x: object(),
}
OF_ANY = {
    **{name: FIRST[name] for name in ("grad", "value_and_grad", "jacobian", "jacrev", "hvp", "of Tensors")},
    "hessian": lambda f, x: tg.hessian(f)(x),
    "vjp": lambda f, x: tg.vjp(f, x),
    "jvp": lambda f, x: tg.jvp(f, (x,), (x,)),
    "jvp of Tensors": lambda f, x: tg.jvp(f, (tg.tensor(x),), (x,)),
    "vjp of Tensors": lambda f, x: tg.vjp(f, tg.tensor(x)),
    "vjp of a structure": lambda f, x: tg.vjp(lambda y: {"a": y, "b": f(y)}, x),
    "jvp of a structure": lambda f, x: tg.jvp(lambda y: [y, f(y)], (x,), (x,)),
}


@grouped("returns")
@pytest.mark.filterwarnings("ignore:jit.* was called with a Tensor:tapegrad.RecordingWarning")
@daily("prepare")
@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize("transform", OF_ANY)
@pytest.mark.parametrize("returns", REFUSED)
def test_results_without_a_derivative_are_refused(returns, transform, prepare):
    f = PREPARE[prepare](REFUSED[returns])
    for _ in range(2):
        with pytest.raises(TypeError, match="the function returned"):
            OF_ANY[transform](f, X)


@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize(
    "transform", ["grad", "value_and_grad", "jacobian", "jacrev", "hvp", "of Tensors", "hessian"]
)
@pytest.mark.parametrize("result", [1j, np.ones(2, complex)], ids=["number", "array"])
def test_gradients_of_complex_results_are_refused(result, transform, prepare):
    with pytest.raises(TypeError, match=r"the result is complex128; take `\.real`"):
        OF_ANY[transform](PREPARE[prepare](lambda x: result), X)


@pytest.mark.parametrize("prepare", PREPARE)
def test_a_missing_return_is_named(prepare):
    with pytest.raises(TypeError, match=r"grad: the function returned None .*return statement"):
        tg.grad(PREPARE[prepare](lambda x: None))(X)


# --- vjp of all kinds of results ---------------------------------------------------------------------------------

KINDS = {
    "float": lambda x, n: x * 2,
    "integers that pass": lambda x, n: n,
    "booleans": lambda x, n: x > 1,
    "number": lambda x, n: 3.0,
    "the argument": lambda x, n: x,
    "a view": lambda x, n: x[::-1],
    "constant": lambda x, n: tg.ones(2),
    "mixed": lambda x, n: (x, n, 2, {"a": x * x, "b": x > 1}, x),
    "integers and floats": lambda x, n: [n, x * n],
    "nothing": lambda x, n: (),
}


@pytest.mark.parametrize("kind", KINDS)
def test_pullbacks_of_plain_and_recorded_functions_agree(kind):
    n = np.array([3, 5])
    results = []
    for prepare in PREPARE.values():
        f = prepare(KINDS[kind])
        value, pullback = tg.vjp(lambda x, f=f: f(x, n), X) if prepare is not tg.jit else _of_first(f, n)
        bars = [np.full(np.shape(leaf), k + 1.0) for k, leaf in enumerate(flat(value))]
        results.append((flat(value), pullback(fill(value, bars))))
    (plain, by_plain), (replayed, by_replay) = results
    for a, b in zip([*plain, *by_plain], [*replayed, *by_replay], strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def _of_first(f, n):
    return tg.vjp(tg.jit(lambda x: f.function(x, n)), X)


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple | list) else [value]


def fill(value, bars):
    """A structure like `value`, of the arrays in `bars`, in order."""
    if isinstance(value, dict):
        return {key: fill(part, bars) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)([fill(part, bars) for part in value])
    return bars.pop(0)


# --- cotangents and tangents -------------------------------------------------------------------------------------

NO_NUMBERS = {
    "complex": 1j,
    "complex array": np.ones(2) * 1j,
    "string": "a",
    "None": None,
    "objects": np.array([None, 1]),
}


@pytest.mark.filterwarnings("ignore:jit.* was called with a Tensor:tapegrad.RecordingWarning")
@pytest.mark.parametrize("prepare", PREPARE)
@pytest.mark.parametrize("bad", NO_NUMBERS)
def test_cotangents_and_tangents_must_be_real(bad, prepare):
    bad = NO_NUMBERS[bad]
    f = PREPARE[prepare](lambda x: x * x)
    _, pullback = tg.vjp(f, X)
    _, of_tensors = tg.vjp(f, tg.tensor(X))
    for call in (
        lambda: pullback(bad),
        lambda: of_tensors(bad),
        lambda: tg.jvp(f, (X,), (bad,)),
        lambda: tg.jvp(f, (tg.tensor(X),), (bad,)),
        lambda: tg.hvp(lambda x: tg.sum(f(x)))(X, bad),
        lambda: tg.grad(lambda x: tg.sum(tg.vjp(f, x)[1](bad)[0]))(X),
        lambda: (tg.tensor(X) * 2).backward(bad) if bad is not None else pullback(bad),
    ):
        with pytest.raises(TypeError, match=r"real numbers|gradient of dtype"):
            call()
    assert pullback(np.array([1, 2]))[0].tolist() == [1, 8]
    assert pullback([1.0, 2.0] if prepare == "neither" else np.array([True, False]))[0].tolist() == [1, 0]


# --- arguments ----------------------------------------------------------------------------------------------------


class Series:
    """Something that is no array."""

    def __init__(self, values):
        self.values = values


OTHERS = {
    "array": np.array([1.0, 2.0]),
    "integers": np.array([1, 0]),
    "mask": np.array([True, False]),
    "size": 3,
    "float": 2.5,
    "string": "name",
    "objects": np.array(["a", None], object),
    "complex": np.ones(2, complex),
    "series": Series([1.0]),
    "list": [1.0, np.ones(2)],
    "dict": {"a": np.ones(2), 3: "b"},
    "None": None,
    "function": np.sin,
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
}
TRANSFORMS = {
    "grad": lambda f: lambda x, other, **kw: tg.grad(f)(x, other, **kw),
    "value_and_grad": lambda f: tg.value_and_grad(f),
    "jacobian": lambda f: tg.jacobian(f),
    "jacrev": lambda f: tg.jacrev(f),
    "hessian": lambda f: tg.hessian(f),
    "hvp": lambda f: lambda x, other, **kw: tg.hvp(f)(x, other, X, **kw),
    "grad of grad": lambda f: tg.grad(lambda x, other, **kw: tg.sum(tg.grad(f)(x, other, **kw))),
    "jacobian of grad": lambda f: tg.jacobian(tg.grad(f)),
    "of Tensors": lambda f: lambda x, other, **kw: tg.grad(f)(tg.tensor(x), other, **kw),
}


@grouped("transform")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("other", OTHERS)
def test_arguments_that_are_not_differentiated_stay_the_very_objects(other, transform):
    given, seen = OTHERS[other], []

    def function(x, other, *, more):
        seen.append((x, other, more))
        return tg.sum(x * x)

    TRANSFORMS[transform](function)(X, given, more=given)
    assert seen
    for x, positional, by_name in seen:
        assert isinstance(x, tg.Tensor)
        assert positional is given
        assert by_name is given


@pytest.mark.parametrize("transform", ["grad", "jacobian", "hessian", "hvp"])
def test_arguments_that_are_not_differentiated_are_used_as_numpys(transform):
    data, mask, labels = np.array([1.0, 3.0]), np.array([True, False]), np.array([1, 0])

    def function(x, data):
        mean = float(data.mean()) * math_of(data[mask])
        return tg.sum(x[labels] * x * data) * mean + tg.sum(x[mask] ** 3) * len(np.unique(labels))

    def math_of(part):
        return float(np.sort(part)[0])

    found = TRANSFORMS[transform](function)(X, data)
    by_hand = lambda x: 2 * (4 * x[0] * x[1]) + 2 * x[0] ** 3  # noqa: E731
    np.testing.assert_allclose(found, TRANSFORMS[transform](lambda x, _: by_hand(x))(X, data), rtol=1e-14)


def test_leaves_that_are_no_floats_are_named():
    with pytest.raises(TypeError, match=r"entry \['n'\]\[1\] of type int"):
        tg.grad(lambda p: p["a"])({"a": 1.0, "n": [2.0, 3]})
    with pytest.raises(TypeError, match=r"entry \['n'\] of dtype int64"):
        tg.vjp(lambda p: p["a"], {"a": 1.0, "n": np.arange(3)})


@grouped("transform")
@pytest.mark.parametrize(
    "transform", [tg.grad, tg.value_and_grad, tg.jacobian, tg.jacfwd, tg.jacrev, tg.hessian, tg.hvp]
)
@pytest.mark.parametrize(
    "argnums", [1.0, "0", True, None, (0, 1.0), (0, None), [True], [[0]], np.array([0, 1])]
)
def test_argnums_are_integers(argnums, transform):
    with pytest.raises(TypeError, match=r"argnums=.*integers"):
        transform(lambda x, y: tg.sum(x * y), argnums)


@pytest.mark.parametrize("prepare", PREPARE)
def test_argnums_as_a_list_or_numpys_integers(prepare):
    f = PREPARE[prepare](lambda x, y: tg.sum(x * y * y))
    y = np.array([3.0, 4.0])
    expected = tg.grad(f, (0, 1))(X, y)
    for argnums in ([0, 1], (np.int64(0), 1), [-2, -1]):
        found = tg.grad(f, argnums)(X, y)
        assert isinstance(found, tuple)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(tg.grad(f, np.int32(1))(X, y), expected[1])
    np.testing.assert_array_equal(tg.hvp(f, [0, 1])(X, y, (X, y))[0], tg.hvp(f, (0, 1))(X, y, (X, y))[0])
    assert len(tg.jacobian(f, [0])(X, y)) == len(tg.hessian(f, [0])(X, y)) == 1


ONE_ELEMENT = {
    "a row times a column": lambda x: x.reshape(1, -1) @ x.reshape(-1, 1) * x[0],
    "a sum that keeps its axis": lambda x: (x**3).sum(keepdims=True),
}


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit])
@pytest.mark.parametrize("name", ONE_ELEMENT)
def test_a_single_number_may_come_in_an_array(name, wrap):
    function = wrap(ONE_ELEMENT[name])
    both = tg.value_and_grad(function)
    points = [np.arange(1.0, 4.0) * k for k in (1, 2, 3)]
    found = [both(x) for x in points]  # results of earlier calls stay as they are
    for (value, gradient), x in zip(found, points, strict=True):
        expected, slope = tg.value_and_grad(lambda x: tg.sum(ONE_ELEMENT[name](x)))(x)
        np.testing.assert_allclose(value.item(), expected)
        assert value.ndim > 0
        np.testing.assert_allclose(gradient, slope)
    hessian = tg.hessian(lambda x: tg.sum(ONE_ELEMENT[name](x)))(points[0])
    np.testing.assert_allclose(tg.hessian(function)(points[0]), hessian)
    np.testing.assert_allclose(tg.hvp(function)(points[0], points[1]), hessian @ points[1])


class Holder:
    def __init__(self):
        self.items = [1]


OUTSIDE = Holder()
MADE = {
    "set": lambda: {1},
    "bytearray": lambda: bytearray(b"a"),
    "object": Holder,
    "object in a set": lambda: {Holder()},
    "array of objects": lambda: np.array([[1], None], dtype=object),
    "iterator": lambda: iter([1, 2]),
    "namespace": lambda: types.SimpleNamespace(outside=OUTSIDE),
}
SAME = {
    "object": lambda: OUTSIDE,
    "class": lambda: Holder,
    "text": lambda: "a",
    "frozen": lambda: frozenset("a"),
}


def with_made(make):
    """A recorded function that returns what is made, as it is called by itself, for gradients and over instances."""

    def function(x):
        return tg.sum(x * x), make()

    recorded = tg.jit(function)
    gradient, mapped = tg.grad(recorded, has_aux=True), tg.vmap(function)
    return {"jit": recorded, "grad": gradient, "vmap": lambda x: mapped(x[None])}


def test_replays_share_no_objects_that_the_function_makes():
    for what, make in MADE.items():
        for name, call in with_made(make).items():
            _, first, second = [call(np.ones(2))[1] for _ in range(3)]
            assert first is not second, (what, name)
            assert type(first) is type(second) is type(make()), (what, name)
    made = with_made(Holder)["jit"]
    made(np.ones(2))[1].items.append(2)
    assert made(np.ones(2))[1].items == [1]
    assert with_made(MADE["namespace"])["jit"](np.ones(2))[1].outside is OUTSIDE


def test_replays_share_what_existed_before():
    for what, make in SAME.items():
        for name, call in with_made(make).items():
            _, first, second = [call(np.ones(2))[1] for _ in range(3)]
            assert first is second, (what, name)
    assert with_made(SAME["object"])["jit"](np.ones(2))[1] is OUTSIDE


def test_objects_that_replays_cannot_return_are_refused():
    recorded = with_made(lambda: (k for k in range(3)))["jit"]
    with pytest.raises(
        tg.UnsupportedError, match="function: the result has an object of type generator that cannot"
    ):
        recorded(np.ones(2))
    with pytest.raises(tg.UnsupportedError, match="type set that holds Tensors"):
        tg.jit(lambda x: (x, {x}))(np.ones(2))
