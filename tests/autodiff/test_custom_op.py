"""Ops of the user's own: what they compute, what they refuse, and what their failures leave behind."""

import enum
import gc
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tapegrad as tg
from helpers.table_loops import grouped
from tapegrad.autodiff.custom import call as calls
from tapegrad.frontend.tensor.modes import EAGER

X = np.array([0.3, -1.2, 2.0])
W = np.array([[0.5, 1.5, -1.0], [2.0, 0.1, 0.7]])


def derivative(f: Callable[..., Any], *args: np.ndarray, by: int = 0) -> np.ndarray:
    """The gradient of a scalar function by complex steps (Squire and Trapp 1998)."""
    gradient = np.zeros_like(args[by])
    for index in np.ndindex(args[by].shape):
        stepped = [np.array(arg, complex) for arg in args]
        stepped[by][index] += 1e-30j
        gradient[index] = np.imag(f(*stepped)) / 1e-30
    return gradient


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class Frozen:
    first: Any
    second: Any


@dataclass(frozen=True)
class Uncompared:
    first: Any
    second: Any = field(compare=False)


class Text(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


class Alike:
    """Objects that say that they are equal."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def __hash__(self) -> int:
        return 0


# --- some ops --------------------------------------------------------------------------------------------------


def cube_forward(x: np.ndarray) -> np.ndarray:
    return x * x * x


def cube_vjp(y_bar: Any, y: Any, x: Any) -> Any:
    return 3 * x * x * y_bar


def cube_jvp(x_dots: Any, y: Any, x: Any) -> Any:
    return 3 * x * x * x_dots[0]


def affine_forward(w: Any, x: Any, b: Any) -> Any:
    return w @ x + b


def affine_vjp(y_bar: Any, y: Any, w: Any, x: Any, b: Any) -> Any:
    return np.outer(y_bar, x), w.T @ y_bar, y_bar.sum()


def polar_forward(x: Any, y: Any) -> Any:
    return np.sqrt(x * x + y * y), np.arctan2(y, x)[None]


def polar_vjp(bars: Any, outputs: Any, x: Any, y: Any) -> Any:
    (r_bar, angle_bar), (r, _) = bars, outputs
    return r_bar * x / r - angle_bar[0] * y / r**2, r_bar * y / r + angle_bar[0] * x / r**2


cube = tg.custom_op("cube", cube_forward, cube_vjp, cube_jvp)
affine = tg.custom_op("affine", affine_forward, affine_vjp)
polar = tg.custom_op("polar", polar_forward, polar_vjp)


def of_cube(x: Any) -> Any:
    return tg.sum(tg.sin(cube(tg.exp(x))) * x)


def of_affine(w: Any, x: Any) -> Any:
    return tg.sum(affine(w * w, tg.sin(x), tg.sum(x)) ** 2)


def of_polar(x: Any, y: Any) -> Any:
    r, angle = polar(x * 2, y)
    return tg.sum(r * r * y) + tg.sum(tg.cos(angle) * x)


def plain_polar(x: Any, y: Any) -> Any:
    """`of_polar` in NumPy's functions that take complex numbers."""
    square = 4 * x * x + y * y
    return np.sum(square * y) + np.sum(2 * x / np.sqrt(square) * x)


PLAIN = {
    of_cube: lambda x: np.sum(np.sin(np.exp(x) ** 3) * x),
    of_affine: lambda w, x: np.sum((w * w @ np.sin(x) + np.sum(x)) ** 2),
    of_polar: plain_polar,
}
CASES = [
    pytest.param(of_cube, (X / 4,), id="one-input"),
    pytest.param(of_affine, (W, X), id="several-inputs"),
    pytest.param(of_polar, (X, X[::-1].copy() + 0.5), id="several-outputs"),
]


@pytest.mark.parametrize("replayed", [False, True], ids=["eager", "replayed"])
@pytest.mark.parametrize(("function", "args"), CASES)
def test_gradients_are_those_of_complex_steps(function: Any, args: Any, replayed: bool) -> None:
    argnums = tuple(range(len(args)))
    both = tg.value_and_grad(tg.jit(function) if replayed else function, argnums)
    both(*[arg + 1 for arg in args])  # what is recorded is not what is checked
    value, gradients = both(*args)
    np.testing.assert_allclose(value, PLAIN[function](*args), rtol=1e-14)
    for k, gradient in enumerate(gradients):
        np.testing.assert_allclose(gradient, derivative(PLAIN[function], *args, by=k), rtol=1e-12)


def test_backward_goes_through() -> None:
    w, x = tg.tensor(W), tg.tensor(X)
    y = affine(w, x, 1.0)
    assert isinstance(y, tg.Tensor)
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad, 2 * W.T @ (W @ X + 1), rtol=1e-14)
    np.testing.assert_allclose(w.grad, 2 * np.outer(W @ X + 1, X), rtol=1e-14)


def test_constants_give_constants() -> None:
    assert cube(X).constant
    assert cube(2.0).item() == 8
    with tg.no_grad():
        assert cube(tg.tensor(X)).constant
    assert all(t.constant for t in polar(X, X))


def test_gradients_accumulate_and_the_graph_is_freed() -> None:
    x = tg.tensor(X)
    y = cube(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    np.testing.assert_allclose(x.grad, 6 * X * X)
    with pytest.raises(tg.FreedGraphError):
        y.backward()
    y = cube(x).sum()
    y.backward(accumulate=False)
    np.testing.assert_allclose(x.grad, 3 * X * X)


def test_gradients_of_some_inputs_only() -> None:
    x, b = tg.tensor(X), tg.tensor(2.0)
    h = x * 2
    affine(tg.tensor(W), cube(h), b).sum().backward(inputs=[h])
    assert x.grad is None
    assert b.grad is None
    np.testing.assert_allclose(h.grad, W.sum(0) * 12 * X * X)


def test_intermediate_gradients() -> None:
    x = tg.tensor(X)
    h = x * 1
    y = cube(h)
    y.sum().backward()
    np.testing.assert_array_equal(y.grad, np.ones(3))
    np.testing.assert_allclose(h.grad, 3 * X * X)


def test_a_decorator_and_derivatives_that_follow() -> None:
    @tg.custom_op("twice")
    def twice(x: Any) -> Any:
        """Twice as much."""
        return 2 * x

    @twice.define_vjp
    def vjp(y_bar: Any, y: Any, x: Any) -> Any:
        return 2 * y_bar

    assert twice.__doc__ == "Twice as much."
    assert tg.grad(lambda x: tg.sum(twice(x)))(X).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="has a vjp already"):
        twice.define_vjp(vjp)


def test_views_and_other_layouts() -> None:
    w = tg.tensor(W)
    cube(w.T[::-1, ::2]).sum().backward()
    expected = np.zeros_like(W)
    expected[::2] = 3 * W[::2] ** 2
    np.testing.assert_allclose(w.grad, expected)
    empty = tg.tensor(np.empty((0, 2)))
    cube(empty).sum().backward()
    assert empty.grad.shape == (0, 2)


def test_an_output_can_be_written_to() -> None:
    x = tg.tensor(X)
    r, angle = polar(x, np.ones(3))
    r[0] = 5.0
    assert r.data[0] == 5
    (r.sum() + angle.sum() * 0).backward()
    expected = X / np.hypot(X, 1)
    expected[0] = 0
    np.testing.assert_allclose(x.grad, expected)


def test_writing_to_an_input_meanwhile_is_refused() -> None:
    x = tg.tensor(X)

    def forward(a: Any) -> Any:
        x[0] = 1.0
        return a * 1

    with pytest.raises(RuntimeError, match=r"'writer'.*in place"):
        tg.custom_op("writer", forward, cube_vjp)(x)


# --- dtypes, integers, static arguments ------------------------------------------------------------------------


@pytest.mark.parametrize("replayed", [False, True], ids=["eager", "replayed"])
@pytest.mark.usefixtures("uncertified")
def test_float32(replayed: bool) -> None:
    seen = []

    def vjp(y_bar: Any, y: Any, x: Any) -> Any:
        seen.append({y_bar.dtype, y.dtype, x.dtype})
        return cube_vjp(y_bar, y, x)

    op = tg.custom_op("cube32", cube_forward, vjp)
    function = tg.jit(lambda x: tg.sum(op(x))) if replayed else lambda x: tg.sum(op(x))
    value, gradient = tg.value_and_grad(function)(X.astype(np.float32))
    assert value.dtype == gradient.dtype == np.float32
    assert seen == [{np.dtype(np.float32)}]
    np.testing.assert_allclose(gradient, 3 * X * X, rtol=1e-6)


@pytest.mark.parametrize("replayed", [False, True], ids=["eager", "replayed"])
def test_both_float_dtypes(replayed: bool) -> None:
    def forward(x: Any, y: Any) -> Any:
        assert (x.dtype, y.dtype) == (np.float32, np.float64)
        return x * 2, y * 3

    def vjp(bars: Any, outputs: Any, x: Any, y: Any) -> Any:
        assert [bar.dtype for bar in bars] == [np.float32, np.float64]
        return bars[0] * np.float32(2), bars[1] * 3

    op = tg.custom_op("both", forward, vjp)

    def function(x: Any, y: Any) -> Any:
        a, b = op(x, y)
        assert (a.dtype, b.dtype) == (np.float32, np.float64)
        return tg.sum(a * b)

    gradients = tg.grad(tg.jit(function) if replayed else function, (0, 1))(X.astype(np.float32), X)
    assert [g.dtype for g in gradients] == [np.float32, np.float64]
    np.testing.assert_allclose(gradients, [6 * X, 6 * X], rtol=1e-6)


def pick_forward(x: Any, index: Any, mask: Any, *, scale: float = 1.0) -> Any:
    assert index.dtype == np.int64
    assert mask.dtype == bool
    return np.where(mask, x[index], 0.0) * scale


def pick_vjp(y_bar: Any, y: Any, x: Any, index: Any, mask: Any, *, scale: float = 1.0) -> Any:
    x_bar = np.zeros_like(x)
    np.add.at(x_bar, index, np.where(mask, y_bar, 0.0) * scale)
    return x_bar, None, None


pick = tg.custom_op("pick", pick_forward, pick_vjp)
MASK = np.array([True, True, False, True])


def test_integers_and_booleans() -> None:
    index = np.array([2, 0, 1, 2])
    gradient = tg.grad(lambda x: tg.sum(pick(x, index, MASK, scale=3.0)))(X)
    np.testing.assert_array_equal(gradient, [3, 0, 6])


def test_a_replay_reads_integers_as_they_are_then() -> None:
    index, mask = np.array([2, 0, 1, 2]), MASK.copy()
    outside = tg.jit(lambda x: tg.sum(pick(x, index, mask)))
    inside = tg.jit(lambda x, index, mask: tg.sum(pick(x, index, mask)))
    for rows, flags in (([2, 0, 1, 2], MASK), ([0, 0, 0, 0], ~MASK), ([1, 1, 0, 2], MASK[::-1])):
        index[:], mask[:] = rows, flags
        expected = pick_vjp(np.ones(4), None, X, np.array(rows), flags)[0]
        np.testing.assert_array_equal(tg.grad(outside)(X), expected)
        np.testing.assert_array_equal(tg.grad(inside)(X, np.array(rows), flags), expected)
    assert len(list(inside.traces)) == 1


@pytest.mark.parametrize("transform", [lambda f: f, tg.jit], ids=["eager", "replayed"])
def test_arrays_that_are_constants(transform: Any) -> None:
    """A replay reads constant arrays in place: of either byte order, from a pickle, or not contiguous."""
    others = [X.copy(), X.astype(">f8"), pickle.loads(pickle.dumps(X)), np.repeat(X, 2)[::2]]
    for b in others:
        f = transform(lambda x, b=b: tg.sum(affine(W, x, 1.0) ** 2) + tg.sum(polar(x, b)[0]))
        gradient = 2 * W.T @ (W @ X + 1) + X / np.hypot(X, X)
        np.testing.assert_allclose(tg.grad(f)(X), gradient)
    others[0][:] = 0
    f = transform(lambda x: tg.sum(polar(x, others[0])[0]))
    np.testing.assert_allclose(tg.grad(f)(X), np.sign(X))
    others[0][:] = X
    np.testing.assert_allclose(tg.grad(f)(X), X / np.hypot(X, X))


def test_small_integer_dtypes_keep_theirs() -> None:
    seen = []

    def forward(x: Any, n: Any) -> Any:
        seen.append((n.dtype, n.tolist()))
        return x * 1

    op = tg.custom_op("integers", forward, lambda y_bar, y, x, n: (y_bar, None))
    op(tg.tensor(X), np.array([1, 255], np.uint8))
    op(tg.tensor(X), tg.tensor([1, -2]))
    op(tg.tensor(X), 7)
    assert seen == [(np.uint8, [1, 255]), (np.int64, [1, -2]), (np.int64, 7)]
    with pytest.raises(ValueError, match=r"'integers': integers must be smaller than 2\*\*53"):
        op(X, 2**53 + 1)


def test_static_arguments_that_are_equal_are_not_the_same() -> None:
    seen: list[Any] = []

    def forward(x: Any, by: Any) -> Any:
        return x * 1

    def vjp(y_bar: Any, y: Any, x: Any, by: Any) -> Any:
        seen.append(by)
        return y_bar

    op = tg.custom_op("statics", forward, vjp)
    statics = [
        *(
            1,
            1.0,
            True,
            np.float32(1),
            np.float64(1),
            np.int64(1),
            np.bool_(True),
            1 + 0j,
            Decimal(1),
            Decimal("1.0"),
        ),
        *(0.0, -0.0, np.float32(0.0), np.float32(-0.0), 0j, complex(0.0, -0.0), complex(-0.0, 0.0)),
        *((1,), (1.0,), Pair(1, -0.0), Pair(1, 0.0), (1, 0.0), frozenset({1}), frozenset({True})),
        *(Frozen(1, 0.0), Frozen(1, -0.0), Frozen(1.0, 0.0), Uncompared(1, "a"), Uncompared(1, "b")),
        *(
            "one",
            Text("one"),
            b"one",
            None,
            Colour.RED,
            Colour.RED.value,
            Fraction(1),
            range(1),
            range(0, 1, 2),
        ),
        *(Alike(1), Alike(2), np.dtype("f8"), np.float64),
    ]
    for by in statics:
        op(tg.tensor(X), by=by).sum().backward()
    assert [(type(by), repr(by)) for by in seen] == [(type(by), repr(by)) for by in statics]


@pytest.mark.parametrize(
    ("by", "message"),
    [([1], "must be hashable"), (X, "pass the array 'by' by position"), (tg.tensor(X), "by position")],
    ids=["list", "array", "Tensor"],
)
def test_static_arguments_must_be_static(by: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"'cube': keyword arguments .*{message}|'cube'.*{message}"):
        cube(X, by=by)


# --- what is wrong is said -------------------------------------------------------------------------------------

WRONG_FORWARD = [
    (lambda x: np.arange(3), TypeError, "output 0 of forward is ndarray of dtype int64"),
    (lambda x: x.astype(np.longdouble), TypeError, "dtype longdouble|dtype float128"),
    (lambda x: None, TypeError, "output 0 of forward is None"),
    (lambda x: "text", TypeError, "output 0 of forward is str"),
    (lambda x: (), ValueError, "returned no arrays"),
]


@pytest.mark.parametrize(("forward", "error", "message"), WRONG_FORWARD)
def test_wrong_outputs(forward: Any, error: Any, message: str) -> None:
    op = tg.custom_op("wrong", forward, cube_vjp)
    with pytest.raises(error, match=f"custom op 'wrong': .*{message}"):
        op(X)


WRONG_VJP = [
    (lambda y_bar, y, x: y_bar[:2], ValueError, r"cotangent 0 of vjp has shape \(2,\) instead of \(3,\)"),
    (lambda y_bar, y, x: y_bar.sum(), ValueError, r"shape \(\) instead of \(3,\)"),
    (lambda y_bar, y, x: (y_bar, y_bar), ValueError, "vjp returned 2 cotangents instead of 1"),
    (lambda y_bar, y, x: y_bar.astype(np.float32), TypeError, "dtype float32 instead of float64"),
    (lambda y_bar, y, x: y_bar * 1j, TypeError, "dtype complex128 instead of float64"),
    (lambda y_bar, y, x: "text", TypeError, "is str of dtype"),
]


@pytest.mark.parametrize("replayed", [False, True], ids=["eager", "replayed"])
@pytest.mark.parametrize(("vjp", "error", "message"), WRONG_VJP)
def test_wrong_cotangents(vjp: Any, error: Any, message: str, replayed: bool) -> None:
    op = tg.custom_op("wrong", cube_forward, vjp)
    function = tg.jit(lambda x: tg.sum(op(x))) if replayed else lambda x: tg.sum(op(x))
    with pytest.raises(error, match=f"custom op 'wrong': .*{message}"):
        tg.grad(function)(X)


def test_wrong_cotangents_of_several_inputs() -> None:
    op = tg.custom_op("two", lambda x, n: x * n, lambda y_bar, y, x, n: y_bar)
    with pytest.raises(TypeError, match="returned ndarray instead of a tuple of 2 cotangents"):
        op(tg.tensor(X), 2).sum().backward()


@pytest.mark.parametrize("replayed", [False, True], ids=["eager", "replayed"])
@pytest.mark.parametrize("differentiable", [False, True])
@pytest.mark.parametrize(
    "given", [lambda *both: both, lambda x_bar, n_bar: (x_bar, None)], ids=["all", "None"]
)
def test_cotangents_of_integers_are_ignored(given: Any, differentiable: bool, replayed: bool) -> None:
    def vjp(y_bar: Any, y: Any, x: Any, n: Any) -> Any:
        return given(y_bar * 3.0 * n * x**2, np.float64(np.pi))

    op = tg.custom_op("times", lambda x, n: x**3 * n, vjp, differentiable=differentiable)
    function = (tg.jit if replayed else lambda f: f)(lambda x, n: tg.sum(op(x, n)))
    for n in (2, np.array(5), True, 2.0):
        np.testing.assert_allclose(tg.grad(function)(X, n), 3 * n * X**2)
        if differentiable and not isinstance(n, np.ndarray):
            np.testing.assert_allclose(tg.hessian(function)(X, n), np.diag(6 * n * X))


def test_outputs_that_change_from_call_to_call() -> None:
    size = np.array([3])
    op = tg.custom_op("unsteady", lambda x: x[: size[0]] * 1, cube_vjp)
    function = tg.jit(op)
    function(X)
    size[0] = 2
    with pytest.raises(
        ValueError, match=r"'unsteady': output 0 of forward has shape \(2,\) instead of \(3,\)"
    ):
        function(X)


def test_stated_shapes() -> None:
    op = tg.custom_op("stated", cube_forward, cube_vjp, shape=lambda shape: shape)
    assert op(X).shape == (3,)
    op = tg.custom_op("misstated", cube_forward, cube_vjp, shape=lambda shape: (2,))
    with pytest.raises(
        ValueError, match=r"'misstated': forward returned arrays of shapes \(3,\), .* states \(2,\)"
    ):
        op(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tg.custom_op(np.sin, np.cos), "first argument is the name"),
        (lambda: tg.custom_op("op", 3), "'op': forward must be a function"),
        (lambda: tg.custom_op("op", np.sin, vjp=3), "'op': vjp must be a function"),
        (lambda: cube(), "'cube': call it with at least one array"),
        (lambda: cube("text"), "'cube'.*not supported"),
        (lambda: cube(np.array([1], np.clongdouble)), "'cube'.*clongdouble"),
    ],
)
def test_nonsense_is_refused(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_without_a_vjp() -> None:
    op = tg.custom_op("plain", cube_forward)
    assert op(2.0).item() == 8
    with pytest.raises(tg.UnsupportedError, match="'plain' has no vjp"):
        op(tg.tensor(X)).sum().backward()


# --- exceptions ------------------------------------------------------------------------------------------------


class Failure(Exception):
    """Exception of the functions below."""


class Failing:
    """An op that raises where it is told to."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.where = ""
        self.op = tg.custom_op("failing", self.forward, self.vjp)

    def forward(self, x: Any) -> Any:
        if self.where == "forward":
            raise self.error or Failure("sorry")
        return x * 2

    def vjp(self, y_bar: Any, y: Any, x: Any) -> Any:
        if self.where == "vjp":
            raise self.error or Failure("sorry")
        return 2 * y_bar


def test_an_exception_in_forward() -> None:
    failing = Failing()
    failing.where = "forward"
    x = tg.tensor(X)
    with pytest.raises(Failure, match="sorry") as caught:
        failing.op(x * 1)
    assert caught.value.__notes__ == ["raised by the forward of custom op 'failing'"]
    failing.where = ""
    failing.op(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_an_exception_in_vjp_leaves_gradients_and_graph() -> None:
    failing = Failing()
    x, b = tg.tensor(X), tg.tensor(1.0)
    h = cube(x)
    y = failing.op(h * b)
    loss = (y * y).sum() + b * 3
    h.sum().backward(retain_graph=True)
    before = [t.grad.copy() for t in (x, h)]
    failing.where = "vjp"
    for options in ({}, {"inputs": [x]}, {"accumulate": False}):
        with pytest.raises(Failure) as caught:
            loss.backward(**options)
        assert caught.value.__notes__ == ["raised by the vjp of custom op 'failing'"]
        np.testing.assert_array_equal([x.grad, h.grad], before)
        assert b.grad is None
        assert loss.grad is None
    failing.where = ""
    tg.check_tape()
    loss.backward()
    h_bar = 8 * X**3
    np.testing.assert_allclose(h.grad, before[1] + h_bar)
    np.testing.assert_allclose(x.grad, before[0] + 3 * X * X * h_bar)


@pytest.mark.parametrize("where", ["forward", "vjp"])
@pytest.mark.parametrize("error", [Failure("sorry"), KeyboardInterrupt()], ids=lambda e: type(e).__name__)
def test_an_exception_in_a_replay(where: str, error: BaseException) -> None:
    failing = Failing()
    both = tg.value_and_grad(tg.jit(lambda x: tg.sum(failing.op(x) ** 2)))
    both(X)
    failing.where, failing.error = where, error
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            both(X)
        assert caught.value is error
    failing.where = ""
    np.testing.assert_allclose(both(X)[1], 8 * X)


def test_an_anomaly_names_the_op() -> None:
    op = tg.custom_op("infinite", lambda x: x / 0.0, cube_vjp)
    with (
        tg.detect_anomaly(),
        np.errstate(divide="ignore"),
        pytest.raises(FloatingPointError, match="infinite gave inf"),
    ):
        op(tg.tensor(X))


# --- what a function may do meanwhile --------------------------------------------------------------------------


def test_functions_that_differentiate_themselves() -> None:
    rate = tg.tensor(2.0)

    def vjp(y_bar: Any, y: Any, x: Any) -> Any:
        gradient = tg.grad(lambda x: tg.sum(tg.sin(x) * y_bar))(x)
        t = tg.tensor(x)
        tg.sum(t * rate).backward(inputs=[t])
        assert t.grad.tolist() == [2.0] * 3
        assert tg.grad(tg.jit(lambda x: tg.sum(x * x)))(x).tolist() == (2 * x).tolist()
        return gradient

    op = tg.custom_op("sine", lambda x: tg.sin(x), vjp)
    for function in (lambda x: tg.sum(op(op(x)) * rate), tg.jit(lambda x: tg.sum(op(op(x)) * 2))):
        np.testing.assert_allclose(tg.grad(function)(X), 2 * np.cos(np.sin(X)) * np.cos(X))
    assert rate.grad is None


def test_many_operations_in_the_middle_of_a_sweep() -> None:
    """The columns grow and would be squeezed, and results of the graph lose their last Tensor."""
    x = tg.tensor(X)
    shown: list[Any] = []

    def vjp(y_bar: Any, y: Any, x: Any) -> Any:
        shown.clear()
        kept = [tg.tensor(1.0) * k for k in range(3000)]
        del kept
        return 2 * y_bar

    op = tg.custom_op("busy", lambda x: x * 2, vjp)
    a = tg.sin(x)
    b = op(a)
    shown += [a * 3, b]
    loss = (b * shown[0]).sum()
    del a, b
    loss.backward()
    np.testing.assert_allclose(x.grad, 12 * np.sin(X) * np.cos(X))
    tg.check_tape()


def meanwhile(action: Callable[[], Any]) -> Any:
    """An op that passes its operand on, during whose vjp something is done."""

    def vjp(y_bar: Any, y: Any, x: Any) -> Any:
        action()
        return y_bar

    return tg.custom_op("meanwhile", lambda x: x * 1, vjp)


def test_differentiating_the_graph_that_is_being_differentiated() -> None:
    x = tg.tensor(X)
    h = tg.sin(x)
    loss = meanwhile(lambda: (h * 2).sum().backward(retain_graph=True))(h).sum()
    loss.backward()
    np.testing.assert_allclose(x.grad, 3 * np.cos(X))
    with pytest.raises(tg.FreedGraphError):
        loss.backward()


def test_a_sweep_within_the_same_sweep() -> None:
    x, depth = tg.tensor(X), [2]

    def again() -> None:
        if depth[0]:
            depth[0] -= 1
            loss.backward(retain_graph=True)

    loss = meanwhile(again)(x * 2).sum()
    loss.backward()
    assert x.grad.tolist() == [6, 6, 6]


@pytest.mark.parametrize("retain_graph", [False, True])
@pytest.mark.parametrize("write", [False, True], ids=["", "written to"])
@pytest.mark.parametrize("hooked", [False, True], ids=["vjp", "hook"])
def test_freeing_the_graph_that_is_being_differentiated(
    hooked: bool, write: bool, retain_graph: bool
) -> None:
    x = tg.tensor(X)
    h = x * 1
    y = tg.exp(h)
    other = y.sum()

    def free() -> None:
        other.backward()
        if write:
            h[...] = 1.0
            y[...] = 1.0

    z = y * 2 if hooked else meanwhile(free)(y * 2)
    handle = z.register_hook(lambda _: free()) if hooked else None
    loss = tg.sin(z).sum()
    with pytest.raises(tg.FreedGraphError, match="freed while it was being differentiated"):
        loss.backward(retain_graph=retain_graph)
    np.testing.assert_allclose(x.grad, np.exp(X))
    assert z.grad is None
    assert handle is None or handle.remove() is None
    tg.check_tape()


def test_arrays_are_read_only_and_may_be_kept() -> None:
    kept: list[np.ndarray] = []

    def forward(x: Any) -> Any:
        kept.append(x)
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1.0
        return x

    def vjp(y_bar: Any, y: Any, x: Any) -> Any:
        kept.extend([y_bar, y, x])
        return y_bar

    op = tg.custom_op("identity", forward, vjp)
    gradient = tg.grad(tg.jit(lambda x, op=op: tg.sum(op(x) * x)))
    for k in range(3):
        np.testing.assert_allclose(gradient(X + k), 2 * (X + k))
    contents = [array.copy() for array in kept]
    gradient(X * 0)
    del op, gradient
    gc.collect()
    for array, content in zip(kept, contents, strict=False):
        np.testing.assert_array_equal(array, content)


# --- forward mode and higher derivatives -----------------------------------------------------------------------

slope = tg.custom_op(
    "slope",
    lambda y_bar, y, x: 3 * x * x * y_bar,
    lambda z_bar, z, y_bar, y, x: (3 * x * x * z_bar, None, 6 * x * y_bar * z_bar),
    lambda dots, z, y_bar, y, x: 3 * x * x * dots[0] + 6 * x * dots[2] * y_bar,
)
on_tensors = tg.custom_op("on Tensors", cube_forward, cube_vjp, cube_jvp, differentiable=True)
by_ops = tg.custom_op("by ops", cube_forward, slope, cube_jvp)
EITHER = pytest.mark.parametrize("transform", [lambda f: f, tg.jit], ids=["eager", "replayed"])


@EITHER
@pytest.mark.parametrize("op", [cube, on_tensors, by_ops], ids=["arrays", "Tensors", "ops"])
def test_forward_mode(op: Any, transform: Any) -> None:
    f = transform(lambda x: op(tg.sin(x)) * x)
    expected = np.diag(3 * np.sin(X) ** 2 * np.cos(X) * X + np.sin(X) ** 3)
    value, y_dot = tg.jvp(f, (X,), (X + 1,))
    np.testing.assert_allclose(value, np.sin(X) ** 3 * X)
    np.testing.assert_allclose(y_dot, expected @ (X + 1))
    np.testing.assert_allclose(tg.jacfwd(f)(X), expected, atol=1e-15)
    np.testing.assert_allclose(tg.jacobian(f)(X), expected, atol=1e-15)


@EITHER
def test_forward_mode_with_several_inputs_and_outputs(transform: Any) -> None:
    def jvp(x_dots: Any, outputs: Any, x: Any, n: Any, w: Any) -> Any:
        assert x_dots[1] is None
        return x_dots[0] * n, np.sum(x_dots[2] * w) * 2

    op = tg.custom_op("several", lambda x, n, w: (x * n, np.sum(w * w)), None, jvp)
    f = transform(lambda x, w: op(x, 3, w))
    _, (a_dot, b_dot) = tg.jvp(f, (X, W), (X, W))
    np.testing.assert_allclose(a_dot, 3 * X)
    np.testing.assert_allclose(b_dot, 2 * np.sum(W * W))


@EITHER
@pytest.mark.parametrize("op", [on_tensors, by_ops], ids=["Tensors", "ops"])
def test_second_derivatives(op: Any, transform: Any) -> None:
    f = transform(lambda x: tg.sum(op(x) * x))
    np.testing.assert_allclose(tg.hessian(f)(X), np.diag(12 * X * X), atol=1e-14)
    np.testing.assert_allclose(tg.hvp(f)(X, X), 12 * X**3)
    twice = tg.grad(lambda x: tg.sum(tg.grad(f)(x)))
    np.testing.assert_allclose(twice(X), 12 * X * X)


def test_create_graph() -> None:
    x = tg.tensor(X)
    (on_tensors(x) * x).sum().backward(create_graph=True)
    gradient = x.grad
    x.null_grad()
    gradient.sum().backward()
    np.testing.assert_allclose(x.grad, 12 * X * X)


@pytest.mark.filterwarnings("ignore:jit.* was called with a Tensor:tapegrad.RecordingWarning")
@EITHER
def test_without_second_derivatives(transform: Any) -> None:
    f = transform(lambda x: tg.sum(cube(x)))
    x = tg.tensor(X)
    f(x).backward(create_graph=True)
    np.testing.assert_allclose(x.grad.data, 3 * X * X)
    x.null_grad()
    for ask in (tg.hessian(f), tg.grad(lambda x: tg.sum(tg.grad(f)(x)))):
        with pytest.raises(
            tg.UnsupportedError, match=r"'cube': its vjp cannot be differentiated.*differentiable=True"
        ):
            ask(X)


def test_without_a_jvp() -> None:
    op = tg.custom_op("backwards", cube_forward, cube_vjp)
    np.testing.assert_allclose(tg.jacobian(op)(X), np.diag(3 * X * X))
    for f in (op, tg.jit(op)):
        with pytest.raises(tg.UnsupportedError, match="'backwards' has no jvp, which forward mode asks for"):
            tg.jvp(f, (X,), (X,))


def test_compiled_tangents() -> None:
    op = tg.custom_op("compiled", numba.njit(cube_forward), numba.njit(cube_vjp), numba.njit(cube_jvp))
    f = tg.jit(lambda x: op(x * 2))
    for x in (X, X + 1, X + 2):
        np.testing.assert_allclose(tg.jvp(f, (x,), (X,))[1], 24 * x * x * X)


# --- replays ---------------------------------------------------------------------------------------------------


def test_jacobian_of_a_replay() -> None:
    jacobian = tg.jacobian(tg.jit(lambda x: cube(x) * 2))
    for x in (X, X + 1):
        np.testing.assert_allclose(jacobian(x), np.diag(6 * x * x))


def test_a_printed_tape_names_the_op() -> None:
    f = tg.jit(lambda x, index, mask: pick(cube(x), index, mask))
    text = str(f.tape(X, np.array([0, 1, 2, 0]), MASK))
    assert "= cube(x0)" in text
    assert "pick(" in text
    assert "custom" not in text


def test_threads() -> None:
    def work(k: int) -> None:
        x = X + k
        for _ in range(20):
            np.testing.assert_allclose(replayed(x, X), derivative(PLAIN[of_polar], x, X))
            t = tg.tensor(x)
            of_cube(t / 8).backward()
            np.testing.assert_allclose(t.grad, derivative(PLAIN[of_cube], x / 8) / 8, rtol=1e-9)

    replayed = tg.grad(tg.jit(of_polar))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_threads_on_one_graph() -> None:
    entered, go = threading.Event(), threading.Event()

    def vjp(y_bar: Any, y: Any, x: Any) -> Any:
        entered.set()
        assert go.wait(300)
        return 2 * y_bar

    x = tg.tensor(X)
    loss = tg.custom_op("slow", lambda x: x * 2, vjp)(x * 1).sum()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(loss.backward, retain_graph=True)
        assert entered.wait(300)
        second = pool.submit(loss.backward, retain_graph=True)
        y = cube(tg.tensor(X)).sum()
        y.backward()  # of no concern to them
        go.set()
        first.result(300)
        second.result(300)
    assert x.grad.tolist() == [4, 4, 4]


# --- functions compiled by Numba -------------------------------------------------------------------------------


@numba.njit
def swing_forward(x, t, n):
    if x[0] > 100:
        raise ValueError("too large")
    return np.sin(x) * t[()] * n.sum(), x.sum()


@numba.njit
def swing_vjp(bars, outputs, x, t, n):
    x_bar = np.cos(x) * t[()] * n.sum() * bars[0] + bars[1][()]
    t_bar = (np.sin(x) * n.sum() * bars[0]).sum()
    x[0] = np.nan  # its own copy
    return x_bar, np.array(t_bar), None


swing = tg.custom_op("swing", swing_forward, swing_vjp)
N = np.array([1, 2])


def of_swing(x: Any, t: Any) -> Any:
    a, b = swing(x, t, N)
    return tg.sum(a * a) * b


def test_compiled_functions() -> None:
    expected = [
        derivative(lambda x, t: np.sum((np.sin(x) * t * 3) ** 2) * np.sum(x), X, np.array(0.7), by=by)
        for by in (0, 1)
    ]
    for function in (of_swing, tg.jit(of_swing)):
        for _ in range(3):
            gradients = tg.grad(function, (0, 1))(X, 0.7)
            for gradient, e in zip(gradients, expected, strict=True):
                np.testing.assert_allclose(gradient, e, rtol=1e-12)


def test_compiled_functions_are_called_without_python() -> None:
    both = tg.value_and_grad(tg.jit(of_cube_compiled))
    before = set(calls._calls)
    both(X / 4)
    (call,) = [calls._calls[cell] for cell in set(calls._calls) - before]
    assert call.descriptor[0] != 0
    assert call.descriptor[1] != 0
    call.functions.forward = None
    value, gradient = both(X / 5)
    np.testing.assert_allclose(value, PLAIN[of_cube](X / 5))
    np.testing.assert_allclose(gradient, derivative(PLAIN[of_cube], X / 5), rtol=1e-12)


compiled_cube = tg.custom_op("compiled cube", numba.njit(cube_forward), numba.njit(cube_vjp))


def of_cube_compiled(x: Any) -> Any:
    return tg.sum(tg.sin(compiled_cube(tg.exp(x))) * x)


def test_an_exception_of_a_compiled_function() -> None:
    f = tg.jit(of_swing)
    f(X, 1.0)
    f(X, 1.0)
    with pytest.raises(ValueError, match="too large") as caught:
        f(X + 200, 1.0)
    assert caught.value.__notes__ == ["raised by the forward of custom op 'swing'"]
    assert np.isfinite(f(X, 1.0))


# --- Tensors that a function closes over -----------------------------------------------------------------------


def closing_over(w: Any, read: Any) -> Any:
    """An op that computes with a Tensor which is not its argument."""
    return tg.custom_op("closing", lambda x: x * read(w), vjp=lambda y_bar, y, x: y_bar)


READS = {
    "itself": lambda w: w,
    "a function of it": tg.exp,
    "an array": np.asarray,
    "a sum": lambda w: tg.sum(w) * np.ones(3),
    "its elements": lambda w: w.tolist(),
    "its data": lambda w: w.data,
    "a number": lambda w: float(w[0]),
    "an item": lambda w: w[0].item(),
}
DIFFERENTIATED = {
    "grad": lambda f: tg.grad(f)(X),
    "value_and_grad": lambda f: tg.value_and_grad(f)(X),
    "grad of a recording": lambda f: tg.grad(tg.jit(f))(X),
    "vjp": lambda f: tg.vjp(f, X),
    "jvp": lambda f: tg.jvp(f, (X,), (X,)),
    "jacobian": lambda f: tg.jacobian(f)(X),
    "hessian": lambda f: tg.hessian(f)(X),
    "hvp": lambda f: tg.hvp(f)(X, X),
    "jit": lambda f: tg.jit(f)(X),
    "backward": lambda f: f(tg.tensor(X)).backward(),
    "create_graph": lambda f: f(tg.tensor(X)).backward(create_graph=True),
    "grad in no_grad": tg.no_grad()(lambda f: tg.grad(f)(X)),
}


@grouped("way")
@pytest.mark.parametrize("way", DIFFERENTIATED)
@pytest.mark.parametrize("read", READS)
def test_a_function_that_closes_over_what_is_differentiated(read: str, way: str) -> None:
    if read in ("its elements", "its data", "a number", "an item") and way in ("backward", "create_graph"):
        pytest.skip("with backward() these are the explicit ways out of the graph")
    with pytest.raises(TypeError, match=r"closing|gradient|recorded|differentiated") as caught:
        DIFFERENTIATED[way](lambda w: tg.sum(closing_over(w, READS[read])(w * 2.0)))
    assert "closing" in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_a_function_that_closes_over_a_constant() -> None:
    w = tg.tensor(X, constant=True)
    f = closing_over(w, READS["itself"])
    np.testing.assert_array_equal(tg.grad(lambda x: tg.sum(f(x)))(X), np.ones(3))
    detached = closing_over(tg.tensor(X), lambda w: w.detach())
    np.testing.assert_array_equal(tg.grad(lambda x: tg.sum(detached(x)))(X), np.ones(3))


# --- large integers --------------------------------------------------------------------------------------------


@numba.njit
def shifted(x: Any, k: Any) -> Any:
    return x + (k - (2**53 - 8))


@numba.njit
def shifted_vjp(y_bar: Any, y: Any, x: Any, k: Any) -> Any:
    return y_bar, None


@pytest.mark.parametrize("compiled", [False, True])
def test_integers_are_exact_or_refused(compiled: bool) -> None:
    op = tg.custom_op(
        "shifted", *((shifted, shifted_vjp) if compiled else (shifted.py_func, shifted_vjp.py_func))
    )
    f = tg.value_and_grad(tg.jit(lambda x, k: tg.sum(op(x, k))))
    for _ in range(3):  # by Python, and then without
        value, gradient = f(np.zeros(2), np.array([2**53 - 7, 2**53 - 1]))
        assert value == 8
        assert gradient.tolist() == [1, 1]
    for large in (2**53, 2**53 + 1, -(2**53), 2**62):
        with pytest.raises(ValueError, match=r"'shifted': integers must be smaller than 2\*\*53"):
            f(np.zeros(2), np.array([0, large]))
        with pytest.raises(ValueError, match=r"'shifted': integers must be smaller than 2\*\*53"):
            op(tg.tensor([0.0, 0.0]), np.array([0, large]))


# --- second derivatives without a jvp ----------------------------------------------------------------------------

by_tensors = tg.custom_op(
    "by tensors", lambda x, w: w * x**3,
    vjp=lambda y_bar, y, x, w: (3 * w * x**2 * y_bar, x**3 * y_bar), differentiable=True,
)  # fmt: skip
product_rule = tg.custom_op(
    "product rule", lambda y_bar, y, x, w: (3 * w * x**2 * y_bar, x**3 * y_bar),
    vjp=lambda bars, _, y_bar, y, x, w: (
        3 * w * x**2 * bars[0] + x**3 * bars[1],
        None,
        6 * w * x * y_bar * bars[0] + 3 * x**2 * y_bar * bars[1],
        3 * x**2 * y_bar * bars[0],
    ),
    differentiable=True,
)  # fmt: skip
by_an_op = tg.custom_op("by an op", lambda x, w: w * x**3, vjp=product_rule)
on_arrays = tg.custom_op(
    "on arrays", lambda x, w: w * x**3, vjp=lambda y_bar, y, x, w: (3 * w * x**2 * y_bar, x**3 * y_bar)
)
DIRECTION = np.array([1.0, -2.0, 0.5])

SECOND = {
    "hessian": lambda f: tg.hessian(f)(X),
    "hvp": lambda f: tg.hvp(f)(X, DIRECTION),
    "hvp again": lambda f: [tg.hvp(f)(X + k, DIRECTION) for k in range(3)],
    "jacobian of grad": lambda f: tg.jacobian(tg.grad(f))(X),
    "of Tensors": lambda f: tg.hessian(f)(tg.tensor(X)).data,
    "hvp of Tensors": lambda f: tg.hvp(f)(tg.tensor(X), DIRECTION).data,
    "inside grad": lambda f: tg.grad(lambda x: tg.sum(tg.hvp(f)(x, DIRECTION)))(X),
    "recorded": lambda f: tg.jit(lambda x: tg.hvp(f)(x, DIRECTION))(X),
    "of a structure": lambda f: tg.hvp(lambda p: f(p["a"]) * p["b"])(
        {"a": X, "b": 2.0}, {"a": DIRECTION, "b": 3.0}
    )["a"],
    "of several arguments": lambda f: tg.hvp(lambda a, b: f(a) * b, argnums=(1, 0))(X, 2.0, (3.0, DIRECTION))[
        1
    ],
}


def of_op(op: Any) -> Any:
    return lambda x: tg.sum(op(tg.sin(x), tg.exp(x)) * x)


@pytest.mark.filterwarnings("ignore:jit.* was called with a Tensor:tapegrad.RecordingWarning")
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("op", [by_tensors, by_an_op])
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_backwards_where_there_is_no_forward_mode(
    name: str, op: Any, jitted: bool
) -> None:
    wrap = tg.jit if jitted else (lambda f: f)
    found = SECOND[name](wrap(of_op(op)))
    np.testing.assert_allclose(found, SECOND[name](of_op(lambda x, w: w * x**3)), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", ["hessian", "hvp", "jacobian of grad"])
def test_second_derivative_of_a_vjp_on_arrays(name: str, jitted: bool) -> None:
    wrap = tg.jit if jitted else (lambda f: f)
    with pytest.raises(tg.UnsupportedError, match=r"'on arrays'.*vjp cannot be differ.*differentiable=True"):
        SECOND[name](wrap(of_op(on_arrays)))


@pytest.mark.parametrize("jitted", [False, True])
def test_jacobian_goes_backwards_where_there_is_no_forward_mode(jitted: bool) -> None:
    def function(x: Any) -> Any:
        return tg.concatenate([on_arrays(x, x), x])

    found = tg.jacobian(tg.jit(function) if jitted else function)(X)
    np.testing.assert_allclose(found, np.vstack([np.diag(4 * X**3), np.eye(3)]))
    with pytest.raises(tg.UnsupportedError, match="'on arrays' has no jvp"):
        tg.jacfwd(function)(X)


# --- memory ----------------------------------------------------------------------------------------------------


def test_nothing_is_left_behind() -> None:
    def work(count: int) -> None:
        for k in range(count):
            x = tg.tensor(X)
            pick(x, np.array([0, 1, 2, k % 3]), MASK, scale=float(k)).sum().backward()
            cube(x)

    work(200)
    gc.collect()
    slots, buffers, known = len(EAGER.column("buffer")), len(EAGER.column("bytes")), len(calls._calls)
    # Not the traced memory, in which what the op remembers is new when tracing begins: it would seem to grow.
    before = sys.getallocatedblocks()
    work(1_000)
    gc.collect()
    assert sys.getallocatedblocks() - before < 500  # an object left behind by each would be 1,000
    assert len(calls._calls) <= known + 2
    assert len(EAGER.column("buffer")) <= slots + 20
    assert len(EAGER.column("bytes")) <= buffers + 20


def test_an_op_goes_with_its_last_instruction() -> None:
    gc.collect()  # what other tests have left goes first
    before = len(calls._calls)
    op = tg.custom_op("short-lived", cube_forward, cube_vjp)
    y = op(tg.tensor(X))
    f = tg.jit(op)
    f(X)
    assert len(calls._calls) == before + 1
    del op
    y.sum().backward()
    del f, y
    gc.collect()
    assert len(calls._calls) == before


# --- the worked example ----------------------------------------------------------------------------------------


def lotka_volterra(t: float, state: np.ndarray, p: np.ndarray) -> np.ndarray:
    prey, predators = state
    return np.array([p[0] * prey - p[1] * prey * predators, p[2] * prey * predators - p[3] * predators])


def adjoint(t: float, extended: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The state, its adjoint and the gradient by the parameters, backwards in time."""
    state, a = extended[:2], extended[2:4]
    prey, predators = state
    by_state = np.array([[p[0] - p[1] * predators, -p[1] * prey], [p[2] * predators, p[2] * prey - p[3]]])
    by_p = np.array([[prey, -prey * predators, 0, 0], [0, 0, prey * predators, -predators]])
    return np.concatenate([lotka_volterra(t, state, p), -a @ by_state, -a @ by_p])


TIGHT = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}


@tg.custom_op("lotka_volterra")
def population(start: np.ndarray, p: np.ndarray, *, end: float) -> np.ndarray:
    """Prey and predators at time `end`."""
    return solve_ivp(lotka_volterra, (0.0, end), start, args=(p,), **TIGHT).y[:, -1]


@population.define_vjp
def population_vjp(y_bar: Any, y: Any, start: Any, p: Any, *, end: float) -> Any:
    last = np.concatenate([y, y_bar, np.zeros(4)])
    first = solve_ivp(adjoint, (end, 0.0), last, args=(p,), **TIGHT).y[:, -1]
    return first[2:4], first[4:]


def test_an_ode_solve_with_its_adjoint() -> None:
    """The adjoint method (Pontryagin et al. 1962; by this name for networks, Chen et al. 2018)."""
    start, p = np.array([10.0, 5.0]), np.array([1.1, 0.4, 0.1, 0.4])

    def by_complex_steps(start: np.ndarray, p: np.ndarray) -> np.ndarray:
        return solve_ivp(lotka_volterra, (0.0, 3.0), start + 0j, args=(p,), **TIGHT).y[:, -1] @ np.array(
            [1, 2]
        )

    for transform in (tg.grad, lambda f, argnums: tg.grad(tg.jit(f), argnums)):
        gradients = transform(lambda start, p: population(start, p, end=3.0) @ np.array([1.0, 2.0]), (0, 1))(
            start, p
        )
        for k, gradient in enumerate(gradients):
            expected = derivative(by_complex_steps, start, p, by=k)
            np.testing.assert_allclose(gradient, expected, rtol=1e-8)
