"""Compiled functions called in functions of Numba's."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

import tapegrad as tg


def rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def branching(x: Any) -> Any:
    return tg.sum(x**2) if x[0] > 0 else tg.sum(x) * 3


X = np.linspace(0.5, 1.5, 6)
GRADIENT = tg.compile(tg.value_and_grad(rosenbrock), X)


@numba.njit
def call(h, x, g):
    return h(x, g)


@numba.njit(parallel=True)
def over_all(h, xs, gs, values):
    for i in numba.prange(len(xs)):
        values[i] = h(xs[i], gs[i])


@numba.njit
def over_own(xs, gs):
    return [GRADIENT(xs[i], gs[i]) for i in range(len(xs))]


@numba.njit
def making(h, *args):
    return h(*args)


POINTS = np.random.default_rng(0).normal(size=(500, 6))


def test_values_and_gradients_of_many_points() -> None:
    for function in (rosenbrock, lambda x: tg.sum(tg.exp(-(x**2)))):  # the same machine code for both
        h = tg.compile(tg.value_and_grad(function), X)
        gradients, values = np.empty_like(POINTS), np.empty(len(POINTS))
        over_all(h, POINTS, gradients, values)
        for k in range(0, 500, 37):
            value, gradient = h(POINTS[k])
            assert values[k] == value
            np.testing.assert_array_equal(gradients[k], gradient)
    assert len(over_all.signatures) == 1


@pytest.mark.parametrize("failing", [0, 7])
def test_a_failure_in_any_chunk_of_a_prange_is_counted_and_leaves_nan(failing: int) -> None:
    """Numba drops exceptions of other threads' chunks, and goes on without the rest of the chunk."""
    h = tg.compile(tg.value_and_grad(branching), X)
    points = np.ones((8, 6))
    points[failing] = -1.0
    gradients, values = np.full((8, 6), np.nan), np.full(8, np.nan)
    assert h.last_failure() == ""
    with contextlib.suppress(SystemError):
        over_all(h, points, gradients, values)
    assert h.last_failure().endswith("if x[0] > 0 else tg.sum(x) * 3")
    for _ in range(2):
        gradients[failing] = 7.0
        with pytest.raises(tg.UnrecordedWayError):
            call(h, points[failing], gradients[failing])
        assert np.isnan(gradients[failing]).all()
        assert np.isnan(values[failing])
    assert h.last_failure().startswith("3 calls failed, last at ")


def test_other_failures_are_counted_too() -> None:
    h = tg.compile(lambda a: tg.linalg.inv(a), np.eye(2))
    found = np.zeros((2, 2))
    with pytest.raises(np.linalg.LinAlgError):
        call(h, np.zeros((2, 2)), found)
    assert np.isnan(found).all()
    assert h.last_failure() == "1 call failed: a matrix is singular"
    with pytest.raises(np.linalg.LinAlgError):
        call(h, np.zeros((2, 2)), found)
    assert h.last_failure() == "2 calls failed, the last one: a matrix is singular"


def test_a_global() -> None:
    gradients = np.empty_like(POINTS)
    values = over_own(POINTS, gradients)
    assert values[3] == GRADIENT(POINTS[3])[0]
    np.testing.assert_array_equal(gradients[3], GRADIENT(POINTS[3])[1])


@pytest.mark.parametrize(
    ("function", "args", "given"),
    [
        (tg.grad(rosenbrock), (X,), (X,)),
        (tg.jacobian(lambda x: tg.sin(x[:2]) * x[0]), (X,), (X,)),
        (lambda x, n, b, s: (x * n, tg.sum(x) * s, n, b), (X, np.int64(2), np.bool_(True), 1.5), None),
        (lambda x: tg.sum(x) * x, (np.ones((2, 3), np.float32),), None),
        (lambda a, b: a * b, (2.0, 3.0), (2, np.array(3.0))),
        (tg.hvp(rosenbrock), (X, X), None),
    ],
)
def test_without_arrays_for_results_it_returns_new_ones(function: Any, args: Any, given: Any) -> None:
    h = tg.compile(function, args)
    found, expected = making(h, *(args if given is None else given)), h(*args)
    for a, b in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


MEMORY = np.random.default_rng(1).normal(size=12)
CONSTANT = MEMORY[3:9]


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (tg.cumsum(x) * CONSTANT + CONSTANT[::-1], tg.sin(x) * CONSTANT),
        lambda x: (CONSTANT, tg.sin(x) * 2.0),
        lambda x: (x, tg.sum(tg.cos(CONSTANT[::2])) * x),
        tg.value_and_grad(lambda x: tg.sum(x[1:] * CONSTANT[:-1] * x[:-1])),
    ],
)
def test_results_in_the_memory_of_operands(function: Any, fuse: bool) -> None:
    """The input and arrays of the closure are read as they are before the call, wherever results go."""
    h = tg.compile(function, X, fuse=fuse)
    expected = [each for each in h(X) if np.ndim(each)]
    before, x = MEMORY.copy(), X.copy()
    for memory in (x, MEMORY[2:8], CONSTANT, MEMORY[5:11]):
        for k in range(len(expected)):
            results = [np.empty(6) for _ in expected]
            results[k] = memory
            making(h, x, *results)
            np.testing.assert_array_equal(results, expected)
            x[:], MEMORY[:] = X, before


def test_a_result_that_is_not_wanted() -> None:
    assert call(GRADIENT, X, None) == GRADIENT(X)[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:5], X.copy()), "input 0 of a compiled function has another shape"),
        ((X, X[:5].copy()), "result 1 of a compiled function has another shape"),
        ((np.zeros(0), X.copy()), "another shape"),
    ],
)
def test_other_shapes_are_errors(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(GRADIENT, *arguments)


def read_only() -> np.ndarray:
    array = np.zeros(6)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (X.astype(np.float32), X.copy()),
            "input 0 of a compiled function is a float64 array of 1 dimensions",
        ),
        ((X, np.zeros(6, np.int64)), "result 1 .* is a float64 array"),
        ((X, np.zeros((2, 3))), "result 1 .* is a float64 array of 1 dimensions"),
        ((np.zeros(12)[::2], X.copy()), "C-contiguous"),
        ((X, np.zeros(12)[::2]), "C-contiguous"),
        ((X, read_only()), "read-only"),
        ((X, 3.0), "result 1 .* is a float64 array"),
        ((1.0, X.copy()), "input 0 .* is a float64 array"),
    ],
)
def test_other_arguments_are_refused_when_the_caller_is_compiled(arguments: Any, message: str) -> None:
    with pytest.raises(TypingError, match=message):
        call(GRADIENT, *arguments)
    assert call(GRADIENT, read_only(), np.zeros(6)) == GRADIENT(np.zeros(6))[0]


def test_another_number_of_arguments_is_refused() -> None:
    with pytest.raises(TypingError, match="takes 1 arguments, or 2 with arrays for the results, but got 3"):
        making(GRADIENT, X, X, X)


def test_a_way_that_no_example_went_is_an_exception() -> None:
    ways = np.array([1.0, 2.0]), np.array([-1.0, 2.0])
    h, g = tg.compile(tg.value_and_grad(branching), ways[0]), np.zeros(2)
    with pytest.raises(tg.UnrecordedWayError, match="example"):
        call(h, ways[1], g)
    assert call(h, ways[0], g) == 5
    both = tg.compile(tg.value_and_grad(branching), *ways)
    assert [call(both, way, g) for way in (*ways, *ways)] == [5, 3, 5, 3]


def test_errors_of_instructions_are_exceptions() -> None:
    h = tg.compile(lambda a: tg.linalg.inv(a), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="matrix"):
        making(h, np.zeros((2, 2)))

    @tg.custom_op("odd", vjp=lambda y_bar, y, x: y_bar)
    def odd(x: Any) -> Any:
        if x[0] < 0:
            raise ZeroDivisionError
        return x

    h = tg.compile(lambda x: odd(x), np.ones(2))
    with pytest.raises(RuntimeError, match="custom op"):
        making(h, -np.ones(2))
    np.testing.assert_array_equal(making(h, np.ones(2)), np.ones(2))


@numba.njit(nogil=True)
def many(h, x, times):
    g, total = np.empty_like(x), np.zeros_like(x)
    for _ in range(times):
        h(x, g)
        total += g
    return total


def test_threads_share_one_function() -> None:
    many(GRADIENT, X, 1)
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = many(GRADIENT, X + k, 300)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(8):
        np.testing.assert_array_equal(found[k], many(GRADIENT, X + k, 300))


SCRIPT = """
import sys, numba, numpy as np, tapegrad as tg

@numba.njit(cache=True)
def call(h, x, g):
    return h(x, g)

power = int(sys.argv[1])
h, g = tg.compile(tg.value_and_grad(lambda x: tg.sum(x**power)), np.ones(2)), np.zeros(2)
print(call(h, np.array([1.0, 2.0]), g), g.tolist(), sum(call.stats.cache_hits.values()))
"""


def test_a_caller_is_kept_between_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    printed = [
        subprocess.run([sys.executable, script, power], capture_output=True, text=True, check=True).stdout
        for power in ("2", "3")
    ]
    assert printed == ["5.0 [2.0, 4.0] 0\n", "9.0 [3.0, 12.0] 1\n"]
