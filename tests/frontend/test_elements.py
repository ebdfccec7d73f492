"""Elements that are read before a write keep their numbers, as NumPy's scalars do; slices are views.

NumPy is the oracle: each program runs on plain arrays for its value, and on complex ones for its gradient.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import random_seeds

X = np.array([0.7, 1.3, -0.4, 2.1])


def levinson(x: Any) -> Any:
    a = np.copy(x)
    save = a[0]
    a[0] = save + 2.0 * a[1]
    a[1] += 3.0 * save
    return a[0] + a[1]


def swap(x: Any) -> Any:
    y = x * 1.0
    y[0], y[1] = y[1], y[0]
    y[2], y[0], y[1] = y[0], y[1], y[2]
    return y[0] + 10 * y[1] + 100 * y[2]


def listed(x: Any) -> Any:
    y = x * 1.0
    old, first = list(y), {"a": y[0]}
    a, b, *_ = y
    y[:] = 0.0
    return sum(old) + first["a"] * a + b * y[3]


def iterated(x: Any) -> Any:
    """Items are read one after the other: the body of a loop writes to those that come."""
    y, total = x * 1.0, 0.0
    for i, v in enumerate(y):
        y[i] = 2 * v
        y[i - 1] += 0.1 * v
        if i < 3:
            y[i + 1] += v
        total = 1.3 * total + v
    for v, w in zip(y, x, strict=True):
        y[:] = 1.1 * y
        total = total + v * w
    square = np.reshape(y, (2, 2))
    for flat in (square.flat, square.T.flat):
        for v in flat:
            square[...] = 1.2 * square
            total = total * 0.7 + v
    return total


def delayed(x: Any) -> Any:
    line = x * 0.5
    for k in range(4):
        last = line[-1]
        line[1:] = line[:-1].copy()
        line[0] = x[k] + 0.5 * last
    return np.sum(line * x)


def shifted(x: Any) -> Any:
    y = x * 1.0
    old = y[0]
    for i in range(1, len(y)):
        new = y[i]
        y[i] = old + y[i - 1]
        old = new
    return np.sum(y * y)


def trajectory(x: Any) -> Any:
    state, seen = np.zeros_like(x), []
    for k in range(len(x)):
        state[k] = x[k] ** 2
        seen.append(state[k])
    state[:] = 0
    return sum(seen) + np.sum(state)


def of_rows(x: Any) -> Any:
    y = (x * 1.0).reshape(2, 2)
    row, element, other = y[0], y[0, 1], y[0][0]
    y[0] = y[1] * 2  # the row is a view, and shows this
    return np.sum(row) * element + other


def with_ellipsis(x: Any) -> Any:
    y = x * 1.0
    view, element = y[0, ...], y[0]
    y[0] = 5.0 * y[1]
    return view * element


def in_place(x: Any) -> Any:
    y = x * 1.0
    a = b = y[0]
    a += 1.0
    y *= 2.0
    return a * b * y[0]


def gauss(x: Any) -> Any:
    a = np.stack([x, x[::-1] * 2 + 1, np.sin(x), x**2 + 3])
    for k in range(4):
        pivot = a[k, k]
        for j in range(4):
            a[k, j] = a[k, j] / pivot
        for i in range(k + 1, 4):
            factor = a[i, k]
            for j in range(4):
                a[i, j] = a[i, j] - factor * a[k, j]
    return a[3, 3] + a[0, 3] * a[1, 2]


def sorted_by_bubbles(x: Any) -> Any:
    y = x * 1.0
    for i in range(3):
        for j in range(3 - i):
            if np.real(y[j]) > np.real(y[j + 1]):
                y[j], y[j + 1] = y[j + 1], y[j]
    return np.sum(y * np.arange(4))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    each.__name__: each
    for each in (
        levinson, swap, listed, iterated, delayed, shifted, trajectory, of_rows, with_ellipsis, in_place, gauss,
        sorted_by_bubbles,
    )
}  # fmt: skip


def gradient_of(program: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """Return the gradient by complex steps."""
    steps = x + 1e-30j * np.eye(len(x))
    return np.array([np.imag(program(each)) / 1e-30 for each in steps])


def check(program: Callable[[Any], Any], x: np.ndarray) -> None:
    """Compare value and gradient, in every mode, with NumPy's."""
    expected = gradient_of(program, x)
    recorded = tg.jit(program)
    for derivative in (tg.value_and_grad(program), tg.value_and_grad(recorded)):
        for place in (x, 1.1 * x):
            value, gradient = derivative(place)
            np.testing.assert_allclose(value, program(place), rtol=1e-13)
            np.testing.assert_allclose(gradient, gradient_of(program, place), rtol=1e-12, atol=1e-13)
    direction = np.cos(np.arange(len(x)))
    np.testing.assert_allclose(tg.jvp(recorded, (x,), (direction,))[1], expected @ direction, rtol=1e-11)
    t = tg.tensor(x)
    program(t).backward()
    np.testing.assert_allclose(t.grad, expected, rtol=1e-12, atol=1e-13)
    lanes = tg.vmap(tg.grad(program))(np.stack([x, x]))
    np.testing.assert_allclose(lanes, [expected] * 2, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_numpys_values(name: str) -> None:
    check(PROGRAMS[name], X)


class RandomProgram:
    """A program of reads and writes of elements, slices and rows, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.steps = [(rng.integers(8), *rng.integers(6, size=3)) for _ in range(14)]

    def __call__(self, x: Any) -> Any:
        arrays, kept = [x * 1.0, np.concatenate([x[1:], x[:1]]) * 2.0], [x[0], x[1] * 2]
        for kind, i, j, k in self.steps:
            y, other = arrays[i % 2], arrays[(i + 1) % 2]
            if kind == 0:
                kept.append(y[j])
            elif kind == 1:
                y[j] = kept[k % len(kept)] * 0.5 + y[k]
            elif kind == 2:
                y[j], y[k] = y[k], y[j]
            elif kind == 3:
                y[j:] = other[: 6 - j] * 0.7
            elif kind == 4:
                y[j] += kept[k % len(kept)]
            elif kind == 5:
                view = y[1:4]
                view[j % 3] = kept[-1] * kept[k % len(kept)]
                kept.append(view[k % 3])
            elif kind == 6:
                y *= kept[k % len(kept)] * 0.3 + 1.0
            else:
                kept.extend(list(y[j : j + 2]))
        return sum(np.sum(y * np.arange(1.0, 7.0)) for y in arrays) + sum(
            a * b for a, b in itertools.pairwise(kept)
        )


@random_seeds(0, 48, 2)
def test_random_programs_have_numpys_values(seeds: range) -> None:
    for seed in seeds:
        check(RandomProgram(seed), np.random.default_rng(seed).uniform(0.3, 0.9, 6))


def test_gradients_flow_to_the_array_through_writes_without_a_derivative() -> None:
    x = tg.tensor([1.0, 2.0])
    y = x * 3.0
    element = y[0]
    with tg.no_grad():
        y[0] = 7.0
    assert element.item() == 3.0
    (element * y[1]).backward()
    np.testing.assert_array_equal(x.grad, [18.0, 9.0])


def test_constants_and_integers() -> None:
    for array in (np.array([1, 2, 3]), np.array([True, False, True]), np.array([1.0, 2.0, 3.0])):
        t = tg.tensor(array, constant=True)
        plain = array.copy()
        for y in (t, plain):
            y[1] = y[0]
        element, number = t[0], plain[0]
        t[0], plain[0] = (
            plain[2] - 0 if array.dtype != bool else False,
            array[2] if array.dtype != bool else False,
        )
        assert element.item() == number
        np.testing.assert_array_equal(t.data, plain)


def test_slices_elements_of_arguments_and_arrays_of_one_element_are_views() -> None:
    x = tg.tensor([1.0, 2.0, 3.0])
    assert x[0].base is x
    y = x * 1.0
    view, one = y[1:], y[0:1]
    y[0], y[1] = 5.0, 6.0
    np.testing.assert_array_equal(view.data, [6.0, 3.0])
    np.testing.assert_array_equal(one.data, [5.0])
