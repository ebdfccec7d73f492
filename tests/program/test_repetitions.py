"""Long streams: what is made of their distinct windows is what the pass makes of all rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.segments import assert_same
from tapegrad.program.fusion import recipes, streams
from tapegrad.program.fusion.grouping import accesses, scalars, spaces
from tapegrad.program.fusion.grouping.repeats import windows_of
from tapegrad.program.fusion.repetitions import distinct as distinct_rows
from tapegrad.program.fusion.repetitions.distinct import distinct
from tapegrad.program.fusion.repetitions.overlaps import Overlaps, ReadSpans
from tapegrad.program.fusion.repetitions.row_columns import RowColumns

DATA = np.random.default_rng(3).normal(size=(200, 6))
TABLE = np.random.default_rng(4).normal(size=(2, 2))


@pytest.fixture(autouse=True)
def no_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "read", lambda key: None)
    monkeypatch.setattr(recipes, "write", lambda *args: None)


def _lotka_volterra(x: Any, steps: int = 30) -> Any:
    u, v = x[0], x[1]

    def rates(u: Any, v: Any) -> Any:
        return x[2] * u - 0.4 * u * v, 0.1 * u * v - x[3] * v

    for _ in range(steps):
        k, m = rates(u, v)
        half_k, half_m = rates(u + 0.05 * k, v + 0.05 * m)
        u, v = u + 0.1 * half_k, v + 0.1 * half_m
    return u * v


def _garch(x: Any, steps: int = 90) -> Any:
    h, total = x[0] * x[0], 0.0
    for y in DATA[:steps, 0].tolist():
        h = x[1] + x[2] * y * y + x[3] * h
        total = total + tg.log(h) + y * y / h
    return total


def _of_vectors(x: Any) -> Any:
    h, total = x * x, 0.0
    for y in DATA[:60]:
        h = 0.1 + 0.2 * y[:4] * y[:4] + x * h
        total = total + tg.sum(tg.log(h) + y[2:] * y[2:] / h)
    return total


def _of_overlapping_views(x: Any) -> Any:
    total, z = 0.0, tg.concatenate([tg.sin(x * k) for k in range(1, 20)])
    for k in range(60):
        total = total + tg.sum(z[k : k + 5] * z[k + 1 : k + 6]) * tg.exp(-z[k])
    return total


def _of_writes(x: Any) -> Any:
    z = tg.zeros(90)
    z[0] = x[0]
    for k in range(1, 90):
        z[k] = tg.sin(z[k - 1]) * x[1] + z[k - 1]
    return tg.sum(z * z)


def _of_small_matrices(x: Any) -> Any:
    p, total, state = tg.eye(2) * x[0], 0.0, tg.ones(2) * x[1]
    for y in DATA[:40, 0].tolist():
        p = TABLE @ p @ TABLE.T * 0.3 + x[0]
        s, gain = p[0, 0] + x[1], p[:, 0] / (p[0, 0] + x[1])
        state = TABLE @ state * 0.2 + gain * (y - state[0])
        p = p - gain[:, None] * p[0]
        total = total + tg.log(s) + state[0] ** 2 / s
    return total


def _of_stacks(x: Any) -> Any:
    u = x[:2]
    for _ in range(60):
        u = u + 0.01 * tg.stack([u[0] * x[2] - u[0] * u[1], u[0] * u[1] - u[1] * x[3]])
    return tg.sum(u)


def _of_long_lines(x: Any) -> Any:
    a = tg.concatenate([x] * 600)
    for _ in range(60):
        a = tg.where(a > 0.3, a * 0.9, a + tg.exp(-a)) + x[0] * 0.01
    return tg.sum(a)


def _of_extremes(x: Any) -> Any:
    a = x
    for _ in range(60):
        a = tg.maximum(a * 0.99, x) + 0.1 * tg.max(a)
    return tg.sum(a)


def _drawn(seed: int) -> Callable[[Any], Any]:
    """Return a loop over drawn steps, which read, overwrite and add up parts of what came before."""
    rng = np.random.default_rng(seed)
    steps = [(int(rng.integers(5)), *rng.integers(0, 4, 3).tolist()) for _ in range(rng.integers(4, 12))]

    def f(x: Any) -> Any:
        values, memory = [x, x * 0.5, tg.sin(x), tg.cos(x)], tg.zeros(40)
        for k in range(40):
            for kind, i, j, to in steps:
                a, b = values[i], values[j]
                if kind == 0:
                    values[to] = 0.3 * a * b
                elif kind == 1:
                    values[to] = tg.tanh(a[j] * b + 0.1)
                elif kind == 2:
                    memory[k % 30 : k % 30 + 4] = a * 0.7
                    values[to] = memory[k % 28 : k % 28 + 4] + b * 0.1
                elif kind == 3:
                    values[to] = tg.tanh(tg.sum(a) * b)
                else:
                    values[to] = tg.where(a > 0.1 * i, a, b * 0.9)
        return sum(tg.sum(value) for value in values) + tg.sum(memory)

    f.__name__ = f"drawn_{seed}"  # by which the case is named
    return f


PROGRAMS = [
    _lotka_volterra,
    _garch,
    _of_vectors,
    _of_overlapping_views,
    _of_writes,
    _of_small_matrices,
    _of_stacks,
    _of_long_lines,
    _of_extremes,
    *map(_drawn, range(4)),
]
CASES = [
    *((function, tg.value_and_grad) for function in PROGRAMS),
    *((function, tg.jacrev) for function in (_of_overlapping_views, _of_writes, *PROGRAMS[-2:])),
    *((function, tg.jacfwd) for function in (_lotka_volterra, _of_stacks, PROGRAMS[-1])),
]
X = np.array([0.7, 0.4, 0.3, 0.5])


def _units(function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, least: int) -> list[Any]:
    """Return the results of a function, and the units of its streams; windows are told apart from so many rows on."""
    found: list[Any] = []
    assembled = streams.assembled

    def noted(stream: Any, units: Any, outside: Any) -> Any:
        found.append(units)
        return assembled(stream, units, outside)

    monkeypatch.setattr(streams, "assembled", noted)
    monkeypatch.setattr(streams, "MIN_ROWS", least)
    results = function(X)
    monkeypatch.setattr(streams, "assembled", assembled)
    return [results, found]


@pytest.mark.parametrize(("function", "transform"), CASES)
def test_units_are_those_of_the_pass_on_all_rows(
    function: Callable[[Any], Any], transform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "_CALL_NS", 0.0)  # what pays in one window may not pay in all of them
    monkeypatch.setattr(
        spaces, "_MAX_CUT_ELEMENTS", 0
    )  # what has loops in one window may have none in another
    own, found = _units(transform(tg.jit(function, fuse=True)), monkeypatch, 256)
    expected, units = _units(transform(tg.jit(function, fuse=True)), monkeypatch, 1 << 60)
    assert found == units
    assert_same(own, expected)
    assert_same(own, transform(tg.jit(function, fuse=False))(X))


@pytest.mark.parametrize("element_ns", [0.4, 0.0])
@pytest.mark.parametrize(("function", "transform"), CASES)
def test_results_are_those_of_rows(
    function: Callable[[Any], Any], transform: Any, element_ns: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With arrays written out where that pays, and wherever it is possible."""
    monkeypatch.setattr(scalars, "_ELEMENT_NS", element_ns)
    assert_same(transform(tg.jit(function, fuse=True))(X), transform(tg.jit(function, fuse=False))(X))


@pytest.mark.parametrize("function", [_lotka_volterra, _garch])
def test_rows_are_looked_at_once_however_often_they_repeat(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, row = [0], accesses._row

    def counted(*args: Any) -> Any:
        made[0] += 1
        return row(*args)

    monkeypatch.setattr(accesses, "_row", counted)
    counts = []
    for steps in (60, 180):
        made[0] = 0
        tg.value_and_grad(tg.jit(lambda x, steps=steps: function(x, steps), fuse=True))(X)
        counts.append(made[0])
    assert counts[1] < 1.5 * counts[0]


def test_rows_that_columns_do_not_describe_are_fused_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowColumns, "describe", lambda *args: False)
    function = tg.value_and_grad(tg.jit(_garch, fuse=True))
    _, units = _units(function, monkeypatch, 256)
    _, expected = _units(tg.value_and_grad(tg.jit(_garch, fuse=True)), monkeypatch, 1 << 60)
    assert units == expected


@pytest.mark.parametrize("factor", [None, 0])  # zero: all rows have one hash
def test_distinct_rows(factor: int | None, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    if factor is not None:
        monkeypatch.setattr(distinct_rows, "_factors", lambda count: np.full(count, factor))
    matrix = rng.integers(-1, 2, (50, 3)) << rng.integers(0, 60)
    first, number = distinct(matrix)
    np.testing.assert_array_equal(matrix[first[number]], matrix)
    assert len({tuple(row) for row in matrix.tolist()}) == len(first)
    assert first.tolist() == sorted(first.tolist())


def _intervals(rng: np.random.Generator, longest: int) -> tuple[np.ndarray, np.ndarray]:
    starts = rng.integers(0, 400, 120)
    return starts, starts + rng.integers(1, longest, 120)


@pytest.mark.parametrize("longest", [2, 9, 300])
def test_highest_values_of_what_overlaps(longest: int, rng: np.random.Generator) -> None:
    starts, stops = _intervals(rng, longest)
    overlaps, values = Overlaps(starts, stops), rng.integers(-9, 9, 120)
    assert overlaps.may_be_told()
    meet = (starts[:, None] < stops) & (starts < stops[:, None])
    np.testing.assert_array_equal(overlaps.highest(values), np.where(meet, values, -99).max(1))


@pytest.mark.parametrize("count", [0, 1, 20])
def test_bytes_that_are_read(count: int, rng: np.random.Generator) -> None:
    starts, stops = _intervals(rng, 30)
    spans = ReadSpans(starts[:count], stops[:count])
    expected = ((starts[:, None] < stops[:count]) & (starts[:count] < stops[:, None])).any(1)
    np.testing.assert_array_equal(spans.overlapping(starts, stops), expected)
    found = [spans.overlaps(*each) for each in zip(starts.tolist(), stops.tolist(), strict=True)]
    assert found == expected.tolist()


def test_long_repetitions_are_cut_alike(rng: np.random.Generator) -> None:
    inner = np.tile(rng.integers(0, 9, 37), 5)
    step = np.concatenate([inner, rng.integers(0, 9, 900), inner])
    kinds = np.concatenate([rng.integers(0, 9, 700), np.tile(step, 40), rng.integers(0, 9, 77)])
    found = windows_of(kinds, 512, 128)
    edges = [found[0].start, *(each.stop for each in found)]
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (0, len(kinds))
    assert max(np.diff(edges)) <= 512
    assert len({kinds[each].tobytes() for each in found}) < 12
