"""`in_place_of_scipy` for NumPy's converters, and for `@njit` functions that get Tensors."""

import math
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numpy import array as numpys_array
from numpy import asarray

import tapegrad as tg
from tapegrad.errors import TracedValueError, UnsupportedError

X = np.array([0.5, 1.5, -0.25])
ORIGINALS = {
    name: getattr(np, name) for name in ("array", "asarray", "asanyarray", "ascontiguousarray", "require")
}


def rates(x: Any) -> Any:
    x = np.asarray(x, dtype=float)
    return np.sum(x**2) * asarray(x).flatten()[0]


def rotation(x: Any) -> Any:
    matrix = np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]])
    return np.sum((matrix @ numpys_array([x[1], 2.0])) ** 3)


def copied(x: Any) -> Any:
    y = np.array(x, float, copy=True)
    y[0] = y[0] * y[1]
    z = np.ascontiguousarray(x[::-1])
    z *= 2
    return np.sum(y * z) + np.sum(np.asanyarray(x)) + np.sum(np.require(x, requirements="C"))


@numba.njit
def spring(a: Any, b: Any) -> Any:
    return a * b + math.sin(a)


@numba.njit
def energy(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        if x[k] > 0:
            total += spring(x[k], x[1]) ** 2
    return total


@numba.njit("float64(float64)")
def declared(a: Any) -> Any:
    return a * a


def compiled(x: Any) -> Any:
    return energy(x) + spring(x[0], 2.0)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "rates": rates,
    "rotation": rotation,
    "copied": copied,
    "njit": compiled,
}


def differences(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """Return central differences of fourth order, of a function of plain arrays."""
    steps, weights = 1e-3 * np.array([1, -1, 2, -2]), np.array([8, -8, -1, 1]) / 12e-3
    return np.array([weights @ [function(x + h * e) for h in steps] for e in np.eye(len(x))])


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_as_they_are(name: str) -> None:
    function = PROGRAMS[name]
    with pytest.raises((TracedValueError, UnsupportedError)):
        tg.grad(function)(X)
    recorded = tg.value_and_grad(tg.jit(function))
    with tg.in_place_of_scipy():
        assert function(X) == pytest.approx(PROGRAMS[name](X))
        for derivative in (tg.value_and_grad(function), recorded):
            value, gradient = derivative(X)
            assert value == pytest.approx(float(function(X)), rel=1e-13)
            np.testing.assert_allclose(gradient, differences(function, X), rtol=1e-8, atol=1e-10)
        x = tg.tensor(X)
        function(x).backward()
        np.testing.assert_allclose(x.grad, gradient, rtol=1e-13)
    moved = 1.25 * X  # a replay outside
    np.testing.assert_allclose(recorded(moved)[1], differences(function, moved), rtol=1e-8, atol=1e-10)
    with pytest.raises((TracedValueError, UnsupportedError)):
        tg.grad(function)(X)


def test_another_way_of_a_branch_is_recorded_inside() -> None:
    recorded = tg.value_and_grad(tg.jit(compiled))
    with tg.in_place_of_scipy():
        for x in (X, -X, 2 * X):
            np.testing.assert_allclose(recorded(x)[1], differences(compiled, x), rtol=1e-8, atol=1e-10)


def test_all_is_as_before_when_a_context_ends() -> None:
    with tg.in_place_of_scipy():
        assert np.asarray is not ORIGINALS["asarray"]
        with tg.in_place_of_scipy():
            assert type(np.array(X)) is np.ndarray
    assert all(getattr(np, name) is original for name, original in ORIGINALS.items())
    assert asarray is ORIGINALS["asarray"]
    with pytest.raises(UnsupportedError, match="@njit"):
        energy(tg.tensor(X))


def test_plain_arrays_and_other_threads_get_numpys() -> None:
    errors = list[BaseException]()

    def outside() -> None:
        try:
            np.asarray(tg.tensor(X))
        except BaseException as error:
            errors.append(error)

    with tg.in_place_of_scipy():
        for value in (X, [1, 2], 3.0, [X, X], "text", [[1.0], [2.0]], np.float32(1)):
            result = np.array(value)
            assert type(result) is np.ndarray
            np.testing.assert_array_equal(result, ORIGINALS["array"](value))
        assert np.array(X, dtype=np.float32).dtype == np.float32
        assert np.asarray(X) is X
        thread = threading.Thread(target=outside)
        thread.start()
        thread.join()
    assert len(errors) == 1, "the Tensor has a gradient, which an array would lose"


def test_numba_compiles_functions_with_converters_inside() -> None:
    @numba.njit
    def total(x: Any) -> Any:
        return np.sum(np.asarray(x)) + np.array([1.0, 2.0])[1]

    with tg.in_place_of_scipy():
        assert total(X) == pytest.approx(X.sum() + 2)
        assert tg.grad(total)(X) == pytest.approx(np.ones(3))


def test_integers_and_objects_are_no_derivatives() -> None:
    with tg.in_place_of_scipy():
        with pytest.raises(UnsupportedError):
            tg.grad(lambda x: np.array([x[0], "text"], dtype=object)[0])(X)
        with pytest.raises(TypeError, match="No matching definition"):
            tg.grad(lambda x: declared(x[0]))(X)
        gradient = tg.grad(lambda x: np.sum(x * np.asarray(x, dtype=int)))(X + 1)
    np.testing.assert_array_equal(gradient, np.floor(X + 1))


def test_copies_are_asked_for_in_numpys_ways() -> None:
    mode = np._CopyMode
    with tg.in_place_of_scipy():
        for copy in (mode.IF_NEEDED, mode.ALWAYS, True, None):
            gradient = tg.grad(lambda x, copy=copy: np.sum(np.array(x, copy=copy) ** 2))(X)
            np.testing.assert_array_equal(gradient, 2 * X)


class Library:
    """What cffi makes of a library of C: its class says that it is a module."""

    __class__ = type(math)  # type: ignore[assignment]
    value = 2.0


def test_objects_that_say_that_they_are_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "a_library_of_c", library)  # type: ignore[arg-type]
    recorded = tg.grad(tg.jit(lambda x: np.sum(np.asarray(x) * library.value)))
    with tg.in_place_of_scipy():
        np.testing.assert_array_equal(recorded(X), [2.0, 2.0, 2.0])
        library.value = 3.0
        np.testing.assert_array_equal(recorded(X), [3.0, 3.0, 3.0])


def filled(x: Any) -> Any:
    out, total = np.zeros(3), np.zeros_like(np.ones(3))
    for k in range(3):
        out[k] = x[k] ** 2
    matrix, turned = np.full((2, 2), x[0]), np.eye(2)
    turned[0, 1] = x[1]
    total[1:] = x[:2]
    total += x
    chosen = np.zeros(2, dtype=int)
    chosen[0] = 1
    return np.sum(out) + np.sum(matrix @ turned) + np.sum(total**2) + out[chosen[0]]


@numba.vectorize
def product(a: Any, b: Any) -> Any:
    return a * b if a > 0 else -b


def of_ufuncs(x: Any) -> Any:
    return np.sum(product(x, 2.0)) + product(x[0], x[1]) + np.sum(product(x[:, None], np.ones((1, 2))))


@pytest.mark.parametrize("function", [filled, of_ufuncs])
def test_arrays_that_are_written_into_and_ufuncs_of_numba(function: Callable[[Any], Any]) -> None:
    recorded = tg.value_and_grad(tg.jit(function))
    with tg.in_place_of_scipy(creation=True):
        assert type(np.zeros(3)) is np.ndarray, "nothing is recorded here"
        for derivative in (recorded, tg.value_and_grad(function)):
            value, gradient = derivative(X)
            assert value == pytest.approx(float(function(X)), rel=1e-13)
            np.testing.assert_allclose(gradient, differences(function, X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(recorded(1.25 * X)[1], differences(function, 1.25 * X), rtol=1e-8, atol=1e-10)


def test_creation_is_asked_for() -> None:
    def program(x: Any) -> Any:
        out = np.zeros(3)
        out[1] = x[0]
        return np.sum(out)

    @tg.in_place_of_scipy(creation=True)
    def slope() -> Any:
        with tg.in_place_of_scipy():  # one inside leaves it as it is
            return tg.grad(program)(X)

    np.testing.assert_array_equal(slope(), [1.0, 0.0, 0.0])
    with tg.in_place_of_scipy(), pytest.raises(TracedValueError, match="zeros"):
        tg.grad(program)(X)


def test_ufuncs_of_numba_are_refused_outside() -> None:
    with pytest.raises(UnsupportedError, match="product"):
        tg.grad(lambda x: product(x[0], x[1]))(X)


OF_LISTS: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: np.sum([x[0] * 2, x[1] ** 2]) + np.prod([x[0], 3.0, x[2]]) + np.mean((x[0], x[1])),
    "extremes": lambda x: np.max([x[0], x[1]]) * np.min([x[0], x[2]]) + np.ptp([x[1], x[2]]),
    "lists of lists": lambda x: np.sum([[x[0], 1.0], [x[1], x[2]]], axis=0)[1] * np.std([x[0], x[1]]),
    "products": lambda x: (
        np.dot([x[0], x[1]], [2.0, x[2]]) + np.cross([x[0], 1.0, 2.0], [x[1], x[2], 0.5])[1]
    ),
    "order": lambda x: (
        np.sort([x[1], x[0], x[2]])[0] * 2 + np.cumsum([x[0], x[1]])[1] + np.median([*x[:2], x[2]])
    ),
    "a branch": lambda x: x[0] if np.all([x[0] > 0, x[1] > x[2]]) else x[1],
}


@pytest.mark.parametrize("name", OF_LISTS)
def test_functions_of_lists(name: str) -> None:
    function = OF_LISTS[name]
    recorded = tg.value_and_grad(tg.jit(function))
    with tg.in_place_of_scipy():
        for derivative in (recorded, tg.value_and_grad(function)):
            value, gradient = derivative(X)
            assert value == pytest.approx(float(function(X)), rel=1e-13)
            np.testing.assert_allclose(gradient, differences(function, X), rtol=1e-7, atol=1e-9)
        for place in (-X, X):
            np.testing.assert_allclose(recorded(place)[1], differences(function, place), rtol=1e-7, atol=1e-9)


NUMBAS_TABLES = """
import numba, numpy as np, tapegrad as tg
with tg.in_place_of_scipy(creation=True):
    inside = numba.njit(lambda x: np.sum(x) * np.empty_like(x).size / 2 + np.zeros(2)[0] + np.eye(2)[0, 0])
    assert inside(np.ones(2)) == 3.0
    assert tg.grad(inside)(np.ones(2)).tolist() == [1.0, 1.0]
outside = numba.njit(lambda x: np.sum(np.zeros_like(x)) + np.full_like(x, 2.0)[0] + np.mean(np.array([1.0])))
assert outside(np.ones(2)) == 3.0
"""


def test_numbas_tables_are_filled_inside_and_read_outside() -> None:
    """Numba enters its functions in tables when it first compiles one."""
    done = subprocess.run([sys.executable, "-c", NUMBAS_TABLES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
