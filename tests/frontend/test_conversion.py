"""Ways out of the graph: what a transform is differentiating does not become a number; elsewhere float() warns."""

import array
import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.table_loops import grouped

PLAIN = {
    "float": float,
    "item": lambda t: t.item(),
    "math": math.exp,
    "complex": complex,
    "np.float64": np.float64,
    "np.float32": np.float32,
    "np.asarray": np.asarray,
    "np.array of a list": lambda t: np.array([t, t]),
    "np.full": lambda t: np.full(3, t),
    "numpy": lambda t: t.numpy(),
    "data": lambda t: t.data,
    "an element": lambda t: np.zeros((2, 2)).__setitem__((0, 1), t),
    "an element of no dimensions": lambda t: np.zeros(()).__setitem__((), t),
    "an element of single precision": lambda t: np.zeros(2, np.float32).__setitem__(0, t),
    "an element of complex numbers": lambda t: np.zeros(2, complex).__setitem__(0, t),
    "a row": lambda t: np.zeros((2, 2)).__setitem__(0, t),
    "all": lambda t: np.zeros((2, 2)).__setitem__(slice(None), t),
    "by a mask": lambda t: np.zeros((2, 2)).__setitem__(np.eye(2) > 0, t),
    "by numbers": lambda t: np.zeros((2, 2)).__setitem__([0, 1], t),
    "fill": lambda t: np.zeros(3).fill(t),
    "flat": lambda t: setattr(np.zeros(3), "flat", t),
    "array.array": lambda t: array.array("d", [t]),
    "isclose": lambda t: math.isclose(t, 1.0),
    "tensor": tg.tensor,
}
ONLY_EAGERLY = {
    "int": int,
    "an element of integers": lambda t: np.zeros(2, int).__setitem__(0, t),
    "backward": lambda t: (t * t).backward(),
}
OTHER_ERRORS = {
    "pickle": pickle.dumps,
    "memoryview": memoryview,
}
STAY = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy of a list": lambda t: copy.deepcopy([t, {"a": t}]),
    "str": str,
    "repr": repr,
    "f-string": lambda t: f"{t}",
    "format": lambda t: f"{t:.3f}",
    "tolist": lambda t: t.tolist(),
    "%": lambda t: "%f" % t,  # noqa: UP031
    "bool": bool,
    "compare": lambda t: t > 1.0,
    "isfinite": np.isfinite,
    "max": lambda t: max(t, 1.0),
    "shape": lambda t: (t.shape, t.ndim, t.dtype, len(t.reshape(1))),
    "astype float": lambda t: t.astype(np.float32),
    "astype bool": lambda t: t.astype(bool),
    "astype int": lambda t: t.astype(int),
}
X = np.array([1.5, 0.5])
EAGERLY = {
    "grad": lambda f: tg.grad(f)(X),
    "value_and_grad": lambda f: tg.value_and_grad(f)(X),
    "vjp": lambda f: tg.vjp(f, X),
    "jvp": lambda f: tg.jvp(f, (X,), (X,)),
    "hvp": lambda f: tg.hvp(f)(X, X),
    "grad of grad": lambda f: tg.grad(lambda x: tg.sum(tg.grad(f)(x)))(X),
    "grad of jvp": lambda f: tg.grad(lambda x: tg.jvp(f, (x,), (X,))[1])(X),
    "of Tensors": lambda f: tg.grad(f)(tg.tensor(X)),
    "inside another": lambda f: tg.grad(lambda y: y * tg.sum(tg.grad(f)(X)))(2.0),
    "closed over": lambda f: tg.grad(lambda x: tg.grad(lambda y: y * f(x))(2.0))(X),
}
RECORDING = {
    "jit": lambda f: tg.jit(f)(X),
    "grad of jit": lambda f: tg.grad(tg.jit(f))(X),
    "jacobian": lambda f: tg.jacobian(f)(X),
    "jacrev": lambda f: tg.jacrev(f)(X),
    "hessian": lambda f: tg.hessian(f)(X),
    "check_grads": lambda f: tg.check_grads(f, (X,)),
    "minimize": lambda f: tg.optimize.minimize(f, X),
}


def through(use):
    """A function of which an intermediate result is used somehow."""

    def function(x):
        y = tg.sum(x * x)
        use(y)
        return y * x[0]

    return function


def right():
    return tg.grad(through(str))(X).tolist() == [3 * X[0] ** 2 + X[1] ** 2, 2 * X[0] * X[1]]


@grouped("use")
@daily("transform", always=lambda use: use == "float")
@pytest.mark.parametrize("transform", [*EAGERLY, *RECORDING])
@pytest.mark.parametrize("use", PLAIN)
def test_what_is_being_differentiated_does_not_become_a_number(use, transform):
    with pytest.raises(tg.TracedValueError, match="where"):
        {**EAGERLY, **RECORDING}[transform](through(PLAIN[use]))
    assert right()


@pytest.mark.parametrize("transform", EAGERLY)
@pytest.mark.parametrize("use", ONLY_EAGERLY)
def test_what_only_a_replay_can_guard(use, transform):
    with pytest.raises(tg.TracedValueError, match=r"stop_gradient\(t\), or"):
        EAGERLY[transform](through(ONLY_EAGERLY[use]))
    assert right()


@pytest.mark.parametrize("transform", ["grad", "jit"])
@pytest.mark.parametrize("use", OTHER_ERRORS)
def test_what_no_tensor_does(use, transform):
    with pytest.raises(TypeError):
        {**EAGERLY, **RECORDING}[transform](through(OTHER_ERRORS[use]))


@grouped("use")
@daily("transform", always=lambda use: use == "bool")
@pytest.mark.parametrize("transform", [*EAGERLY, "jit", "jacobian", "hessian"])
@pytest.mark.parametrize("use", STAY)
def test_what_only_looks_is_allowed(use, transform):
    {**EAGERLY, **RECORDING}[transform](through(STAY[use]))


def test_formatted_printing_shows_the_number():
    seen = []
    tg.grad(through(lambda t: seen.append(f"{t:.2f}")))(X)
    assert seen == ["2.50"]


@grouped("use")
@daily("transform", always=lambda use: use == "float")
@pytest.mark.parametrize("transform", EAGERLY)
@pytest.mark.parametrize("use", [name for name in PLAIN if name != "backward"])
def test_what_is_not_being_differentiated_is_free(use, transform):
    outside = tg.tensor(2.0, constant=True)

    def function(x):
        for free in (outside, tg.stop_gradient(x[0]), x[1].detach()):
            PLAIN[use](free * 1.0)
        with tg.no_grad():
            PLAIN[use](x[0] * 1.0)
        return tg.sum(x * x)

    EAGERLY[transform](function)


def test_a_leaf_of_nobody_is_free_inside_a_transform():
    w = tg.tensor([1.0, 2.0])
    assert tg.grad(lambda x: x * float((w * w)[1]) + x * w[0].item())(3.0) == 5


def test_views_and_written_tensors_are_seen_through():
    def view(x):
        return float(x[1:][0]) * x[0]

    def written(x):
        y = tg.zeros(2)
        y[0] = x[1]
        return float(y[0]) * x[0]

    for function in (view, written):
        with pytest.raises(tg.TracedValueError):
            tg.grad(function)(X)


def test_the_error_is_raised_at_the_users_line():
    def function(x):
        plain = np.zeros(2)
        plain[0] = x[0]  # here
        return tg.sum(x * plain)

    for transform in (tg.grad, tg.jit, tg.jacobian, lambda f: lambda x: tg.jvp(f, (x,), (x,))):
        with pytest.raises(tg.TracedValueError, match="float") as caught:
            transform(function)(X)
        assert any("here" in str(entry.statement) for entry in caught.traceback)


def test_other_errors_of_elements_are_numpys():
    def function(x):
        np.zeros(2)[0] = x  # two elements into one

    with pytest.raises((TypeError, ValueError)):
        tg.grad(function)(X)
    with pytest.raises(ValueError, match="mine"):
        tg.grad(lambda x: int("1", base=0) and _fail())(X)


def _fail():
    raise ValueError("mine")


# --- without a transform ------------------------------------------------------------------------------------------

CONVERSIONS = {
    "float": float,
    "math": math.exp,
    "complex": complex,
    "an element": lambda t: np.zeros((2, 2)).__setitem__((0, 1), t),
    "fill": lambda t: np.zeros(3).fill(t),
}


@pytest.mark.parametrize("use", CONVERSIONS)
def test_float_warns_where_a_gradient_could_flow(use):
    x = tg.tensor(X)
    for value in (x[0], x[0] * 2, tg.sum(x)):
        with pytest.warns(tg.LostGradientWarning, match=r"item\(\)") as caught:
            CONVERSIONS[use](value)
        assert [each.filename for each in caught] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            CONVERSIONS[use](value.detach())
            CONVERSIONS[use](value > 0 if use == "float" else value.detach())
            with tg.no_grad():
                CONVERSIONS[use](value)
            value.item()


def test_float_warns_once_a_line():
    x = tg.tensor(X)
    plain = np.zeros(5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for k in range(5):
            plain[k] = x[0] * k
        for k in range(5):
            plain[k] = x[1] * k
    lines = [each.lineno for each in caught]
    assert len(lines) == 2
    assert lines[1] == lines[0] + 2
    assert issubclass(tg.LostGradientWarning, UserWarning)


def test_numbers_in_a_recording_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tg.jit(lambda x: x * float(tg.ones(2)[0]))(2.0) == 2
        w = tg.tensor([3.0])
        assert tg.value_and_grad(tg.jit(lambda x: x * float(w[0])))(2.0) == (6, 3)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda t: copy.deepcopy({"a": [t, t]})["a"][1]])
def test_a_copy_inside_of_a_transform_stays_in_the_graph(copied):
    def f(x):
        y = copied(x)
        y[0] = 3.0 * x[1]
        return tg.sum(y * y) + tg.sum(copied(x * x))

    expected = [2 * X[0], 2 * 9 * X[1] + 2 * X[1] + 2 * X[1]]
    for found in (
        tg.grad(f)(X),
        tg.grad(tg.jit(f))(X),
        tg.jacobian(f)(X),
        tg.jvp(f, (X,), (np.array([1.0, 0.0]),))[1],
    ):
        np.testing.assert_allclose(found, expected if np.ndim(found) else expected[0])
    assert tg.jit(f)(X) == f(tg.stop_gradient(tg.tensor(X)))
    leaf = tg.tensor(X)
    assert copied(leaf) is not leaf
    with pytest.raises(TypeError, match=r"t\.copy\(\)"):  # outside, it would lose the graph
        copied(leaf * leaf)
