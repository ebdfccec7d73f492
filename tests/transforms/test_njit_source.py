"""Functions of Numba's are recorded from their Python source, with the functions that they call."""

import importlib
import math
import sys
from math import exp
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import tapegrad as tg
from tapegrad.program.dataflow.points_to import inside

SCALE = 3.0


@numba.njit
def kepler(mean, eccentricity):
    """Newton's iteration, a scalar loop."""
    e = mean
    for _ in range(6):
        e -= (e - eccentricity * math.sin(e) - mean) / (1 - eccentricity * math.cos(e))
    return e


@numba.njit
def _soft(x):
    return x if x > 0 else exp(x) - 1


@numba.njit
def loop(x):
    total = 0.0
    for i in range(len(x)):
        total += _soft(x[i]) * SCALE
    return total


@numba.njit
def filled(x, n):
    out = np.zeros(n)
    for i in numba.prange(n):
        out[i] = np.sqrt(x[i]) * math.atan2(x[i], 2.0) + math.pow(x[0], 2)
    return np.sum(out) + np.linalg.norm(x)


@numba.njit
def factorial(n, x):
    return x if n == 0 else x * factorial(n - 1, x)


@numba.njit
def whole(x):
    return x * math.floor(x) + math.lgamma(x) + math.pi


def made(power):
    @numba.njit
    def inner(x):
        return x**power

    @numba.njit
    def outer(x):
        return inner(x) * math.fabs(x) + np.arctan(x)

    return outer


@numba.njit
def swapped(x):
    y = x.copy()
    a = y[0]
    y[0] = y[1] * 2
    y[1] = a
    before = a
    a += 5
    first, second, third = y
    y *= 3
    y[2] += before
    return np.sum(y * np.arange(3)) + first * second + a * before + third


@numba.njit
def doubled(x):
    y, total = x * 1.0, 0.0
    for i, v in enumerate(y):
        y[i] = 2 * v
        if i < 2:
            y[i + 1] += v
        total += v * i
    for v, w in zip(y, x):  # noqa: B905  Numba knows no strict
        y[0] += v
        total += v * w
    return total + np.sum(y)


@numba.njit
def root(a, tolerance=1e-14):
    """Newton's iteration until it stands still, and functions of several numbers."""
    low, high = min(a, 2.0), max(a, 1.0)
    y, step = 0.5 * (low + high), 1.0
    while abs(step) > tolerance:
        step = (y * y - a) / (2 * y)
        y -= step
    pair = np.array([y, a])
    return np.dot(pair, pair) if not math.isnan(y) else 0.0


@numba.njit
def inner_of_numpy(x):
    return np.sin(x) + np.sum(np.array([1.0]))


@numba.njit
def others_of_numpy(x):
    """It mentions other names of NumPy's, and of a module in it, than those that it calls."""
    return inner_of_numpy(x) * np.cos(x) + np.linalg.det(np.eye(2)) * deeper_of_numpy(x)


@numba.njit
def deeper_of_numpy(x):
    return np.linalg.norm(np.array([3.0, 4.0])) * np.tanh(x) * math.exp(x)


X = np.array([0.5, 1.5, 0.7])
CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (kepler, (1.2, 0.4)),
    (loop, (X - 1,)),
    (loop, (X,)),
    (filled, (X, 3)),
    (lambda x: factorial(3, x), (1.5,)),
    (whole, (2.5,)),
    (doubled, (X,)),
    (root, (3.0,)),
    (swapped, (X,)),
    (made(3), (0.7,)),
    (others_of_numpy, (0.7,)),
]


@pytest.mark.parametrize(("function", "args"), CASES)
def test_value_and_gradient_of_compiled_functions(function: Any, args: Any) -> None:
    if function.__name__ == "<lambda>":
        function, args = factorial, (3, *args)
    number = 1 if function is factorial else 0
    f = tg.jit(function)
    value, gradient = tg.value_and_grad(f, number)(*args)
    np.testing.assert_allclose(value, function(*args), rtol=1e-13)
    np.testing.assert_allclose(f(*args), function(*args), rtol=1e-13)

    def of_one(x: Any) -> Any:
        return function(*(x if k == number else arg for k, arg in enumerate(args)))

    x, found = args[number], []
    for d in np.eye(np.size(x)).reshape(-1, *np.shape(x)) * 1e-6:
        found.append((of_one(x + d[()]) - of_one(x - d[()])) / 2e-6)
    np.testing.assert_allclose(np.ravel(gradient), found, rtol=1e-6)
    np.testing.assert_allclose(tg.grad(function, number)(*args), gradient, rtol=1e-13)  # eagerly
    np.testing.assert_allclose(
        tg.compile(tg.value_and_grad(function, number), args)(*args)[1], gradient, rtol=1e-13
    )


def test_branches_are_guards() -> None:
    f = tg.grad(tg.jit(loop))
    for x in (X, -X, X, np.array([1.0, -1.0, 2.0]), -X):
        np.testing.assert_allclose(f(x), np.where(x > 0, SCALE, SCALE * np.exp(x)))


def test_decorated_by_both() -> None:
    @tg.jit
    @numba.njit
    def f(x):
        return math.tanh(x) * x

    assert f(0.5) == pytest.approx(math.tanh(0.5) * 0.5)
    assert tg.jit(f) is f
    assert f.__name__ == "f"


def test_what_python_cannot_trace_says_what_to_write() -> None:
    @numba.njit
    def f(x):
        return float(x) * 2

    with pytest.raises(tg.TracedValueError, match="float"):
        tg.grad(f)(1.0)


@pytest.mark.filterwarnings("ignore:jit.* was called with a Tensor:tapegrad.RecordingWarning")
@pytest.mark.parametrize(
    "transform", [lambda f: f(tg.tensor(0.5)), lambda f: tg.grad(lambda x: f(x) * 2)(0.5)]
)
@pytest.mark.parametrize("function", [_soft, numba.njit(lambda x: x)])
def test_a_call_with_a_tensor_says_what_to_write(function: Any, transform: Any) -> None:
    with pytest.raises(tg.UnsupportedError, match=r"tapegrad\.jit\((_soft|f)\)\(t\)"):
        transform(function)
    assert transform(tg.jit(function)) is not None


def test_what_numba_keeps_of_a_function_is_not_gone_through() -> None:
    """It leads to all that Numba has compiled, which took half a minute after some thousand functions."""
    assert list(inside(_soft)) == [_soft.py_func]


def test_functions_that_write_are_recorded_as_they_were_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are recorded from their text, which may have been changed since."""
    text = "import numba\n\n@numba.njit\ndef total(x):\n    y = x.copy()\n    y[0] = 5.0\n    return y.sum() * 2.0\n"
    file = tmp_path / "edited_kernel.py"
    file.write_text(text)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    total = importlib.import_module("edited_kernel").total
    monkeypatch.delitem(sys.modules, "edited_kernel")
    file.write_text(text.replace("* 2.0", "* 3.0"))
    with pytest.raises(TypeError, match="has changed since it was imported"):
        tg.grad(total)(np.ones(3))
    file.write_text(text)
    np.testing.assert_array_equal(tg.grad(total)(np.ones(3)), [0.0, 2.0, 2.0])
