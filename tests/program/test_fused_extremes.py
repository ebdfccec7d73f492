"""Largest and smallest elements in segments give the rows' bits: along lines, across them, and of whole tables."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import daily
from helpers.segments import assert_same, segments_alike
from tapegrad.program.fusion.grouping.extremes import LONGEST_ALONE
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.special import logsumexp

DTYPES = (np.float64, np.float32)


def _largest_of_rows(x: Any, w: Any) -> Any:
    """What lies side by side becomes one; both the table and the extremes are used again."""
    table = tg.square(x) * w - x
    best = tg.max(table, axis=1, keepdims=True)
    return tg.sum(tg.sin(best) * best) + tg.sum((table - best) * w)


def _smallest_of_columns(x: Any, w: Any) -> Any:
    """What is an element of one line each becomes one, twice over."""
    table = x * w
    low, high = tg.min(table, axis=0), tg.max(table, axis=0)
    return tg.sum(low * high) + tg.sum(tg.where(table > low, table - high, w))


def _of_all(x: Any, w: Any) -> Any:
    table = tg.abs(x) * w
    return tg.max(table) - tg.min(table) * 3.0 + tg.sum(tg.max(x - w, axis=0) * tg.max(x, axis=0))


def _added_to(x: Any, w: Any) -> Any:
    """Contributions to the elements come before those of the extremes, and after."""
    y = x * w
    total = tg.sum(y * y) + tg.sum(tg.max(y, axis=1)) * tg.sum(tg.min(y, axis=0)[:1])
    return total + tg.sum(y * tg.cos(y))


def _of_three_dimensions(x: Any, w: Any) -> Any:
    planes = x[:, None] * tg.cos(x[None, :, :]) + w
    inner = tg.sum(tg.max(planes, axis=2)) + tg.sum(tg.min(planes, axis=1) * w)
    return (
        inner + tg.sum(tg.max(planes, axis=0)) + tg.sum(tg.max(planes, axis=(0, 2))) * tg.min(tg.sin(planes))
    )


def _of_single_vectors(x: Any, w: Any) -> Any:
    """The loop goes through lines that a vector each holds."""
    moved = (x + tg.max(x * -0.5, axis=0)).T
    return tg.sum(moved * tg.max(tg.negative(-moved))) + tg.sum(w)


def _of_parts(x: Any, w: Any) -> Any:
    """Views whose lines are further apart than they are long, overlap, or are written to."""
    part = x[1:, 3:-2] * 2.0
    moved = x[:-1, 5:]
    part[0, :-1] = moved[-1, 1:]
    return tg.sum(tg.max(part - moved, axis=0)) + tg.max(part) + tg.sum(tg.min(x[:, ::-1] * w, axis=1))


def _softmax(x: Any, w: Any) -> Any:
    """Largest elements beside sums of exponentials, and the hand-written form."""
    z = x * w
    shifted = z - tg.max(z, axis=1, keepdims=True)
    own = shifted - tg.log(tg.sum(tg.exp(shifted), axis=1, keepdims=True))
    return tg.sum(own * tg.sin(x)) + tg.sum(logsumexp(z, axis=1) * tg.max(z, axis=1))


TABLES = (
    (_largest_of_rows, (5, 300)),
    (_largest_of_rows, (300, 5)),
    (_largest_of_rows, (4200, 20)),
    (_smallest_of_columns, (3, 70)),
    (_smallest_of_columns, (40, 257)),
    (_of_all, (33, 64)),
    (_of_all, (4200, 5)),
    (_added_to, (18, 66)),
    (_of_three_dimensions, (5, 66)),
    (_of_single_vectors, (1200, 8)),
    (_of_single_vectors, (1200, 16)),
    (_of_parts, (4, 77)),
    (_softmax, (300, 3)),
    (_softmax, (4200, 19)),
)


def _specials(x: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """The same with ties, zeros of both signs, infinities, and what is not a number; whole lines of one of them."""
    tied, signed = np.round(x), np.where(x > 0.3, x, 0.0 * x)
    infinite, broken = x.copy(), x.copy()
    infinite[rng.random(x.shape) < 0.2] = np.inf
    infinite[rng.random(x.shape) < 0.3] = -np.inf
    infinite[1] = infinite[..., -1] = -np.inf
    broken[rng.random(x.shape) < 0.02] = np.nan
    broken[-1] = np.nan
    return [x, tied, signed, infinite, broken, np.zeros_like(x)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@daily("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("function", "shape"), TABLES)
def test_of_tables(function: Any, shape: tuple[int, int], dtype: Any) -> None:
    rng = np.random.default_rng(shape[1])
    x, w = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1]).astype(dtype)
    inputs = [(each, w) for each in _specials(x, rng)]
    segments_alike(function, [*inputs, (x, np.zeros_like(w)), (-x, np.abs(w) * 0.0)], ("value", "gradient"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 63, 300, LONGEST_ALONE, LONGEST_ALONE + 1])
def test_of_lines(n: int, dtype: Any) -> None:
    """A line is one vector, or many; of the longest the rows stay."""

    def function(x: Any, s: Any) -> Any:
        y = tg.sin(x) * s
        best = tg.max(y)
        return tg.sum((y - best) * x) * tg.min(y) + best * tg.max(x[: n // 2 + 1] * s) * tg.sum(y)

    rng = np.random.default_rng(n)
    x = rng.normal(size=n).astype(dtype)
    lines = _specials(np.stack([x, x]), rng)
    inputs = [(line[0], s) for line in lines for s in (dtype(0.7), dtype(-0.0), dtype(np.inf))]
    segments_alike(function, inputs, ("value", "gradient"))


@pytest.mark.parametrize("shape", [(3, 66), (70, 4)])
def test_in_all_derivatives(shape: tuple[int, int]) -> None:
    """Tangents of extremes are rows that stay beside the segments."""
    rng = np.random.default_rng(5)
    x, w = np.round(rng.normal(size=shape), 1), rng.normal(size=shape[1])
    for function in (_largest_of_rows, _smallest_of_columns):
        segments_alike(function, [(x, w)], ("tangent", "jacobian", "hessian", "product"))


def test_values_alone_are_those_of_numpy() -> None:
    rng = np.random.default_rng(6)
    f = tg.jit(lambda x, w: (tg.max(x * w, axis=0), tg.min(x * w, axis=1), tg.max(x * w)), fuse=True)
    for x in _specials(rng.normal(size=(40, 130)), rng)[:4]:
        w = rng.normal(size=130)
        for ours, own in zip(f(x, w), (np.max(x * w, 0), np.min(x * w, 1), np.max(x * w)), strict=True):
            np.testing.assert_array_equal(ours, own)


def test_in_parts_and_in_threads() -> None:
    """Tables so large that threads share a segment, by elements of the lines, and by steps of the loop around them."""
    rng = np.random.default_rng(7)
    cases = [(rng.normal(size=(12, 20_000)), axis) for axis in (0, 1, None)]
    for x, axis in cases:
        x = np.round(x, 2)

        def function(x: Any, axis: Any = axis) -> Any:
            return tg.sum(tg.exp(-tg.max(tg.tanh(x) * x, axis=axis)))

        rows, fused = (tg.value_and_grad(tg.jit(function, fuse=fuse)) for fuse in (False, True))
        with ThreadPoolExecutor(2) as pool:
            for found in pool.map(fused, [x] * 4):
                assert_same(found, rows(x))


def test_a_loop_over_few_lines_is_written_out() -> None:
    """Of a few columns all is one segment, extremes and their derivatives included: nothing between is stored."""
    x, w = np.random.default_rng(4).normal(size=(5000, 3)), np.array([0.3, -0.7, 0.1])
    f = tg.jit(lambda x, w: tg.sum(tg.max(tg.sin(x * w), axis=1)), fuse=True)
    tg.grad(f, 1)(x, w)
    (whole,) = [each for each in f.tape(x, w).segments if each.computes == "value_and_grad"]
    assert "v2 = max(v2, v1.1)" in whole.arithmetic
    assert "v1.2_bar = where(v1.2==v2, v2_bar/t0, 0)" in whole.arithmetic


@pytest.mark.usefixtures("plain_memory")
def test_of_many_lines_none_is_stored() -> None:
    x, w = np.random.default_rng(4).normal(size=5000), np.linspace(1.0, 2.0, 30)
    f = tg.jit(lambda x, w: tg.sum(tg.max(tg.sin(x[:, None] * w), axis=1)), fuse=True)
    f(x, w)
    table, *_ = f.tape(x, w).segments
    assert "v2 = max(v2, v1)" in table.arithmetic
    trace, _ = f.run(f.arguments((x, w), {}), ProgramSpec())
    assert trace.program(ProgramSpec()).bytes < 10 * x.nbytes
