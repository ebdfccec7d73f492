"""Rows of a table by a list of numbers inside of segments: the bits of the rows, and the errors of a bad list."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.segments import segments_alike

DTYPES = (np.float64, np.float32)


class Program:
    """A function of tables whose rows lists name: differences, products, sums and functions of what is taken."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.rows, self.length = int(rng.integers(1, 40)), int(rng.choice([1, 1, 2, 3, 5, 10, 17]))
        self.count = int(rng.choice([0, 7, 64, 65, 130, 999, 2500]))
        self.lists = [self._listed(rng) for _ in range(3)]
        self._steps = rng.integers(0, 1 << 20, (6, 3)).tolist()

    def _listed(self, rng: np.random.Generator) -> Any:
        low = -self.rows if rng.random() < 0.5 else 0
        found = rng.integers(low, self.rows, self.count)
        return np.sort(found) if rng.random() < 0.5 else found

    def table(self, x: Any) -> Any:
        whole = tg.reshape(x[: self.rows * self.length], (self.rows, self.length))
        return whole[:, 0] if self.length == 1 else whole

    def __call__(self, x: Any, s: Any) -> Any:
        tables = [self.table(x), tg.sin(self.table(x)) * s]
        taken = [table[each] for table in tables for each in self.lists]
        for step in self._steps:
            taken.append(self._joined(*(taken[k % len(taken)] for k in step[:2]), step[2]))
        total = s
        for k, each in enumerate(taken[3:]):
            inner = tg.sum(each, axis=-1) if k % 2 and self.length > 1 else each
            total = total + tg.sum(inner * inner) * (0.1 + 0.05 * k)
        return total + tg.sum(x * x)

    @staticmethod
    def _joined(a: Any, b: Any, choice: int) -> Any:
        kinds = (
            lambda: a - b,
            lambda: a * b,
            lambda: a / (1.5 + b * b),
            lambda: tg.maximum(a, b),
            lambda: tg.cos(a),
        )
        return kinds[choice % len(kinds)]()


def drawn(seed: int, dtype: Any) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=40 * 17).astype(dtype)
    special = x.copy()
    special[rng.random(x.size) < 0.02] = rng.choice([0.0, -0.0, np.inf, np.nan, 1e300, 5e-324])
    return [(each.astype(dtype), dtype(0.75)) for each in (x, special)]


@daily(every=4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    ways = ("gradient", "tangent") if seed % 3 else ("product",)
    with np.errstate(all="ignore"):
        segments_alike(Program(seed), drawn(seed, DTYPES[seed // 2 % 2]), ways)


# --- lists that are arguments ----------------------------------------------------------------------------------------


def apart(x: Any, first: Any, second: Any) -> Any:
    """The sum of squares of differences, and where the first of them lie."""
    d = tg.reshape(x, (-1, 3))[first] - tg.reshape(x, (-1, 3))[second]
    return tg.sum(tg.sum(d * d, axis=1) ** 2) + tg.sum(tg.sin(x)[first])


def lists(count: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(count)
    return rng.integers(0, 50, count), rng.integers(-50, 50, count)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [64, 2000, 20_001])
def test_other_lists_than_the_first_ones(count: int, dtype: Any) -> None:
    x = np.random.default_rng(1).normal(size=150).astype(dtype)
    fused, rows = (tg.value_and_grad(tg.jit(apart, fuse=fuse)) for fuse in (True, False))
    for _ in range(3):
        pairs = lists(count)
        value, gradient = fused(x, *pairs)
        expected, slopes = rows(x, *pairs)
        assert value == expected
        np.testing.assert_array_equal(gradient, slopes)


@pytest.mark.parametrize("bad", [50, -51, 2**62, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("place", [0, 777, 1999])
def test_lists_that_name_a_row_which_is_not_there(bad: int, place: int) -> None:
    """Raise, in every position of a vector and in both lists, and compute rightly afterwards."""
    x, pairs = np.random.default_rng(1).normal(size=150), lists(2000)
    f = tg.value_and_grad(tg.jit(apart, fuse=True))
    value, gradient = f(x, *pairs)
    kept = gradient.copy()
    for which in (0, 1):
        wrong = [each.copy() for each in pairs]
        wrong[which][place] = bad
        with pytest.raises(IndexError, match="row that does not exist"):
            f(x, *wrong)
        np.testing.assert_array_equal(gradient, kept)
        again, slopes = f(x, *pairs)
        assert again == value
        np.testing.assert_array_equal(slopes, kept)


def test_a_guard_before_a_list_fails_first() -> None:
    """A branch chooses the table: the list of the other one names rows that this one has not."""

    def chosen(x: Any, y: Any, list_: Any) -> Any:
        long = tg.sum(y) > 0
        return tg.sum((y if long else x)[list_] ** 2)

    x, y, list_ = np.arange(5.0), np.arange(200.0), np.arange(100)
    f = tg.jit(chosen, fuse=True)
    assert f(x, -y, list_ % 5) == np.sum(x[list_ % 5] ** 2)
    assert f(x, y, list_) == np.sum(y[list_] ** 2)


@pytest.mark.parametrize("count", [2, 4, 6, 8, 9])
def test_a_short_table_is_read_whole_as_well(count: int) -> None:
    """A vector holds the table, or one element of it, beside the elements that a list names."""
    list_ = np.arange(count)[::-1] // 2
    functions = [lambda x, s: tg.sum(x * x + x[list_] * s), lambda x, s: tg.sum(x[list_] * x + x[0] * s)]
    inputs = [(np.linspace(-1.0, 2.0, count), np.array(2.0)), (np.linspace(3.0, 1.0, count), np.array(-1.0))]
    for function in functions:
        segments_alike(function, inputs, ("value", "gradient", "tangent", "hessian"))


# --- what is in segments ---------------------------------------------------------------------------------------------


def test_elements_are_taken_inside_of_the_segment() -> None:
    x, pairs = np.random.default_rng(1).normal(size=150), lists(2000)
    f = tg.jit(apart, fuse=True)
    f(x, *pairs)
    check, *_, whole = map(str, f.tape(x, *pairs).segments)
    assert "check x0[3*x1]" in check
    assert "x0[3*x1+2]" in whole
    assert "x0[3*x2]" in whole


def test_programs_over_other_tables_have_recipes_of_their_own() -> None:
    """Frames name the rows of a table behind an address, which recipes have to tell apart."""
    list_, x = np.arange(100) % 4, np.arange(24.0)

    def squares(rows: int) -> Any:
        return tg.jit(lambda x: tg.sum(x[:rows][list_ - rows] ** 2), fuse=True)

    for rows in (24, 8, 12, 4):
        assert squares(rows)(x) == np.sum(x[:rows][list_ - rows] ** 2)


def test_lanes() -> None:
    """Rows of a table for each of many instances."""
    list_ = np.random.default_rng(2).integers(-6, 6, 80)
    x = np.random.default_rng(3).normal(size=(9, 6))
    f = tg.jit(lambda x: tg.sum(tg.sin(x[list_]) ** 2), fuse=True)
    values, gradients = tg.vmap(tg.value_and_grad(f))(x)
    for k, each in enumerate(x):
        value, gradient = tg.value_and_grad(f)(each)
        np.testing.assert_allclose(values[k], value, rtol=1e-14)
        np.testing.assert_allclose(gradients[k], gradient, rtol=1e-13, atol=1e-14)
