"""Constant folding: what is computed of numbers that only the recording has is computed once.

NumPy is the oracle of values, complex steps through it that of gradients.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.inspection.tape_view import read_tape
from tapegrad.program.passes.constant_folding import find_constant_instructions

N = 12
X = np.cos(np.arange(1.0, 1 + N) ** 2)


def of_numbers(x: Any, numpy: Any, k: Any) -> Any:
    return (x[(2 * k + 1) % N] - x[(k * k) % N]) ** 2 * (k + 1.0) * numpy.exp(x[k])


def plain(x: np.ndarray) -> Any:
    return sum(of_numbers(x, np, k) for k in range(N))


def over_lanes(x: Any) -> Any:
    return tg.sum(tg.vmap(lambda k: of_numbers(x, tg, k))(tg.arange(N)))


def gradient_of_plain(x: np.ndarray) -> np.ndarray:
    return np.array([plain(x + 1e-30j * e).imag / 1e-30 for e in np.eye(N)])


def folded(function: Any, *args: Any) -> int:
    """Return how many instructions replays of a function do not run."""
    f = tg.jit(function)
    f(*args)
    constants = f.tape(*args).folded
    assert constants is not None
    return len(constants.instructions)


@pytest.mark.parametrize("fuse", [False, True])
def test_values_and_gradients(fuse: bool) -> None:
    f = tg.jit(over_lanes, fuse=fuse)
    for x in (X, X[::-1].copy()):
        np.testing.assert_allclose(f(x), plain(x), rtol=1e-14)
        np.testing.assert_allclose(tg.grad(f)(x), gradient_of_plain(x), rtol=1e-13, atol=1e-14)
        tangent = tg.jvp(f, (x,), (np.cos(x),))[1]
        np.testing.assert_allclose(tangent, gradient_of_plain(x) @ np.cos(x), rtol=1e-13)
        lanes = tg.vmap(f)(np.stack([x, 2 * x]))
        np.testing.assert_allclose(lanes, [plain(x), plain(2 * x)], rtol=1e-13)


def test_numbers_that_only_the_recording_has_are_computed_once() -> None:
    assert folded(over_lanes, X) >= 5
    assert folded(lambda x: x * 2.0, X) == 0


def test_arrays_that_others_have_are_read_at_each_replay() -> None:
    mine, kept = np.arange(float(N)), list[Any]()

    def of_mine(x: Any) -> Any:
        return tg.sum(x * tg.sin(mine))

    def of_a_view(x: Any) -> Any:
        return tg.sum(x * tg.sin(mine.T))

    def of_what_is_kept(x: Any) -> Any:
        made = np.arange(float(N))
        kept.append(made)
        return tg.sum(x * tg.sin(made))

    for function in (of_mine, of_a_view):
        f = tg.jit(function)
        for _ in range(3):
            np.testing.assert_allclose(f(X), np.sum(X * np.sin(mine)), rtol=1e-13)
            mine[:] = np.roll(mine, 1)
    assert folded(of_mine, X) == 0
    f = tg.jit(of_what_is_kept)
    for _ in range(3):
        np.testing.assert_allclose(f(X), np.sum(X * np.sin(np.arange(N))), rtol=1e-13)
        kept[-1][:] = 0.0


@pytest.mark.parametrize("is_called_first", [True, False])
def test_arrays_whose_contents_are_compared_are_constants(is_called_first: bool) -> None:
    """They change and change back: a replay whose guards hold has the numbers that belong to them."""
    mine = np.arange(float(N))

    def function(x: Any) -> Any:
        return tg.sum(x * tg.sin(mine)) * np.sum(mine[:3])

    assert folded(function, X) == 1
    f = tg.jit(function)
    if is_called_first:
        f(X)
    f.tape(X)  # recorded, and otherwise no program is made before the array has changed
    for shift in (1, -1, 2, -2, 0):
        mine[:] = np.roll(mine, shift)
        np.testing.assert_allclose(f(X), np.sum(X * np.sin(mine)) * np.sum(mine[:3]), rtol=1e-13)
        np.testing.assert_allclose(tg.grad(f)(X), np.sin(mine) * np.sum(mine[:3]), rtol=1e-13, atol=1e-15)


def test_what_a_guard_does_not_find_is_no_constant() -> None:
    """The program of a recording may be made when an array has changed already."""
    mine = np.arange(float(N))
    recording = tg.jit(lambda x: tg.sum(x * tg.sin(mine)) * np.sum(mine[:3])).tape(X)
    found = []
    for shift in (0, 1, -1):
        mine[:] = np.roll(mine, shift)
        found.append(len(find_constant_instructions(read_tape(recording), recording.owners)))
    assert found == [1, 0, 1]


def test_a_result_that_is_constant_is_computed() -> None:
    f = tg.jit(lambda x: (x * 2.0, tg.vmap(lambda k: 2 * k + 1)(tg.arange(5))))
    for x in (X, 2 * X):
        doubled, odd = f(x)
        np.testing.assert_array_equal(doubled, 2 * x)
        np.testing.assert_array_equal(odd, [1, 3, 5, 7, 9])


def test_of_what_depends_on_an_argument_or_begins_a_derivative_nothing_is_folded() -> None:
    assert folded(lambda x, k: tg.vmap(lambda k: x[(2 * k) % N])(k), X, np.arange(N)) == 0
    gradient = tg.jit(lambda x: x * tg.grad(lambda y: tg.sum(y**3))(tg.tensor(np.arange(float(N)))))
    np.testing.assert_allclose(gradient(X), X * 3 * np.arange(N) ** 2, rtol=1e-14)


def test_results_larger_than_their_operands_are_computed() -> None:
    def of_an_outer_product(x: Any) -> Any:
        return tg.sum(x[0] * tg.vmap(lambda k: k * tg.arange(3000) + 1)(tg.arange(10)))

    f = tg.jit(of_an_outer_product)
    np.testing.assert_allclose(f(X), X[0] * (np.outer(np.arange(10), np.arange(3000)) + 1).sum(), rtol=1e-13)
    arrays = f.tape(X).folded.arrays
    assert max((array.nbytes for array in arrays), default=0) <= 10 * 8


def test_an_index_that_does_not_exist_is_an_error_as_before() -> None:
    with pytest.raises(IndexError):
        tg.jit(lambda x: tg.vmap(lambda k: x[k + 1])(tg.arange(N)))(X)


def test_files_have_what_is_folded(tmp_path: Path) -> None:
    compiled = tg.compile(tg.jit(over_lanes), X)
    compiled.save(tmp_path / "f.tape")
    loaded = tg.load(tmp_path / "f.tape")
    for x in (X, 2 * X):
        np.testing.assert_array_equal(loaded(x), compiled(x))
        np.testing.assert_allclose(loaded(x), plain(x), rtol=1e-14)
