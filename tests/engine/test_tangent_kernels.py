"""The tangent kernels of elementwise ops: partials times tangents, and the bilinear form of the reverse kernels."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from helpers.daily import daily
from helpers.elementwise_kernels import (
    DIFFERENTIABLE,
    DTYPES,
    LAYOUTS,
    Strided,
    kernel,
    layouts_of,
    random_operands,
    reverse,
    run,
    special_operands,
    text_values,
    wanted_operands,
)
from helpers.elementwise_rows import in_double, is_first_of_arity
from helpers.magnitudes import is_noise_at_special_values, size_of_terms
from helpers.table_loops import grouped
from helpers.texts_by_numpy import evaluate_numpy
from tapegrad.engine.kernels.language.frame import COUNT, PARAMS, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.ops import Op

COUNTS = (0, 1, 2, 4, 5, 17, 256, 300)
every_row = pytest.mark.parametrize(("op", "dtype"), DIFFERENTIABLE)
daily_rows = daily(among=in_double, always=is_first_of_arity)


@dataclass
class Tangents:
    """Several tangents of one operand: rows of a larger array, each in the layout of the operand."""

    whole: np.ndarray
    views: list[np.ndarray]

    @classmethod
    def of(cls, values: np.ndarray, layout: str) -> "Tangents":
        placed = [Strided.of(row, layout) for row in values]
        size = len(placed[0].whole)
        whole = np.concatenate([row.whole for row in placed])
        first = placed[0]
        offset = (first.address - first.whole.ctypes.data) // whole.itemsize
        views = [
            np.lib.stride_tricks.as_strided(whole[k * size + offset :], values.shape[1:], (first.stride,))
            for k in range(len(values))
        ]
        return cls(whole, views)

    @property
    def address(self) -> int:
        return int(self.views[0].ctypes.data)

    @property
    def step(self) -> int:
        return len(self.whole) // len(self.views) * self.whole.itemsize

    def values(self) -> np.ndarray:
        return np.array(self.views)


@dataclass
class Outcome:
    """What a tangent kernel wrote, and what it was given, as it saw it."""

    y_dot: np.ndarray
    x_dots: list[np.ndarray]
    partials: list[np.ndarray]

    def terms(self) -> np.ndarray:
        """Partial times tangent by operand, tangent and element; zero times anything is zero."""
        with np.errstate(all="ignore"):
            products = [p * dot for p, dot in zip(self.partials, self.x_dots, strict=True)]
        zero = [(p == 0) | (dot == 0) for p, dot in zip(self.partials, self.x_dots, strict=True)]
        return np.where(zero, 0.0, products)


def tangent(
    op: Op, dtype: str, operands: list[np.ndarray], dots: list[np.ndarray | None], layouts: list[str],
    one: bool = False,
) -> Outcome:  # fmt: skip
    """Run a tangent kernel on tangents of shape (tangents, count), `None` for absent ones."""
    count = len(operands[0])
    tangents = next(len(dot) for dot in dots if dot is not None)
    placed = [Strided.of(x, layout) for x, layout in zip(operands, layouts, strict=False)]
    values = text_values(op, [operand.view for operand in placed])
    y = Strided.of(np.broadcast_to(values["y"], (count,)).astype(DTYPES[dtype]), layouts[op.arity])
    y_dot = Tangents.of(np.full((tangents, count), np.nan, DTYPES[dtype]), layouts[op.arity])
    x_dots = [
        None if dot is None else Tangents.of(dot, layout) for dot, layout in zip(dots, layouts, strict=False)
    ]
    read = frozenset[str]().union(*(op.needs(j) for j, dot in enumerate(dots) if dot is not None))
    fields = {COUNT: count, Y: y.address * ("y" in read), Y_BAR: y_dot.address, Y_STRIDE: y.stride}
    steps = np.zeros(5, np.int64)
    steps[0], steps[4] = tangents, y_dot.step
    for j, operand in enumerate(placed):
        fields |= {X + j: operand.address * (f"x{j}" in read), STRIDE + j: operand.stride}
        dot = x_dots[j]
        if dot is not None:
            fields[X_BAR + j], steps[1 + j] = dot.address, dot.step
    before = y_dot.whole.copy()
    run(kernel(op, "tangent", dtype), fields | {PARAMS: 0 if one else steps.ctypes.data})
    after = y_dot.values().copy()
    for view in y_dot.views:
        view[...] = np.nan
    np.testing.assert_array_equal(y_dot.whole, before)  # nothing was written elsewhere
    partials = [np.broadcast_to(evaluate_numpy(text, **values), (count,)) for text in op.partials]
    zeros = np.zeros((tangents, count), DTYPES[dtype])
    return Outcome(after, [zeros if dot is None else dot.values() for dot in x_dots], partials)


def random_dots(op: Op, dtype: str, tangents: int, count: int, wanted: int) -> list[np.ndarray | None]:
    rng = np.random.default_rng(count + 7)
    drawn = [rng.standard_normal((tangents, count)).astype(DTYPES[dtype]) for _ in range(op.arity)]
    return [dot if wanted >> j & 1 else None for j, dot in enumerate(drawn)]


def subsets(op: Op) -> list[int]:
    """Bit masks of all sets of operands that have tangents."""
    everything = wanted_operands(op)[-1]
    return [mask for mask in range(1, 8) if mask & everything == mask]


def check(op: Op, dtype: str, count: int, tangents: int, layouts: list[str], wanted: int, one: bool) -> None:
    dots = random_dots(op, dtype, tangents, count, wanted)
    outcome = tangent(op, dtype, random_operands(op, dtype, count), dots, layouts, one)
    terms = outcome.terms()
    sizes = np.abs(terms) + np.abs(outcome.x_dots) * size_of_terms(op)
    bound = 40 * float(np.finfo(DTYPES[dtype]).eps) * sizes.sum(0)
    # Every element is written to one place, the last one stays
    if layouts[op.arity] == "broadcast" and count:
        terms = terms[:, :, -1:]
    assert (np.abs(outcome.y_dot - terms.sum(0)) <= bound).all(), (count, tangents, layouts, wanted)


@grouped("op")
@daily_rows
@every_row
def test_tangent_kernel_is_the_partials(op: Op, dtype: str) -> None:
    for count, wanted in itertools.product(COUNTS, subsets(op)):
        for tangents, layouts in zip(itertools.cycle((1, 1, 3)), layouts_of(op), strict=False):
            check(op, dtype, count, tangents, layouts, wanted, one=tangents == 1)
        for tangents in (1, 3, 9):
            check(op, dtype, count, tangents, ["adjacent"] * 4, wanted, one=False)
        for layout in LAYOUTS[1:]:
            check(op, dtype, count, 3, [layout] * op.arity + ["adjacent"], wanted, one=False)


@grouped("op")
@daily("dot", among=in_double, always=is_first_of_arity)
@every_row
@pytest.mark.parametrize("dot", [0.0, 1.0, np.inf])
def test_zero_rules_of_tangents(op: Op, dtype: str, dot: float) -> None:
    if dot and is_noise_at_special_values(op, dtype):
        pytest.skip("nothing but rounding errors of float32 is left there")
    operands = special_operands(op, dtype)
    for wanted, tangents in itertools.product(subsets(op), (1, 2)):
        full = np.full((tangents, len(operands[0])), dot, DTYPES[dtype])
        dots = [full if wanted >> j & 1 else None for j in range(op.arity)]
        outcome = tangent(op, dtype, operands, dots, ["adjacent"] * 4)
        with np.errstate(all="ignore"):
            expected = outcome.terms().sum(0)
            sizes = np.abs(outcome.terms()).sum(0)
        finite = np.isfinite(expected)  # where terms cancel, the sum is as good as the terms
        bound = 80 * float(np.finfo(DTYPES[dtype]).eps) * sizes[finite]
        assert (np.abs(outcome.y_dot[finite] - expected[finite]) <= bound).all()
        np.testing.assert_array_equal(outcome.y_dot[~finite], expected[~finite])


@grouped("op")
@daily("tangents", among=in_double, always=is_first_of_arity)
@every_row
@pytest.mark.parametrize("tangents", [1, 2])
def test_without_any_tangent_zeros_are_written(op: Op, dtype: str, tangents: int) -> None:
    y_dot = np.full((tangents, 5), np.nan, DTYPES[dtype])
    params = np.array([tangents, 0, 0, 0, y_dot.strides[0]], np.int64)
    fields = {COUNT: 5, Y_BAR: y_dot.ctypes.data, Y_STRIDE: y_dot.itemsize, PARAMS: params.ctypes.data}
    run(kernel(op, "tangent", dtype), fields)
    assert (y_dot == 0).all()


@grouped("op")
@daily_rows
@every_row
def test_tangents_and_cotangents_pair_to_one_number(op: Op, dtype: str) -> None:
    count, wanted = 60, wanted_operands(op)[-1]
    operands, layouts = random_operands(op, dtype, count), ["adjacent"] * 4
    bar = np.random.default_rng(3).standard_normal(count).astype(DTYPES[dtype])
    dots = random_dots(op, dtype, 1, count, wanted)
    outcome = tangent(op, dtype, operands, dots, layouts, one=True)
    bars, _, _ = reverse(op, dtype, operands, bar, layouts, True, wanted)
    pairs = [
        (x_bar.astype(float), dot[0].astype(float))
        for x_bar, dot in zip(bars, dots, strict=True)
        if dot is not None
    ]
    backwards = sum(float(x_bar @ dot) for x_bar, dot in pairs)
    size = sum(float(np.abs(x_bar) @ np.abs(dot)) for x_bar, dot in pairs)
    forwards = float(bar.astype(float) @ outcome.y_dot[0].astype(float))
    assert abs(forwards - backwards) <= 40 * float(np.finfo(DTYPES[dtype]).eps) * size


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tangent_may_be_written_over_its_operand(dtype: str) -> None:
    op = next(row.values[0] for row in DIFFERENTIABLE if row.values[0].arity == 1)
    dot = np.ones((3, 300), DTYPES[dtype])
    steps = np.array([3, dot.strides[0], 0, 0, dot.strides[0]], np.int64)
    x = np.linspace(0.1, 0.9, 300).astype(DTYPES[dtype])
    partial = evaluate_numpy(op.partials[0], **text_values(op, [x]))
    y = text_values(op, [x])["y"].astype(DTYPES[dtype])
    fields = {COUNT: 300, X: x.ctypes.data, Y: y.ctypes.data, X_BAR: dot.ctypes.data, Y_BAR: dot.ctypes.data}
    fields |= {STRIDE: x.itemsize, Y_STRIDE: x.itemsize, PARAMS: steps.ctypes.data}
    run(kernel(op, "tangent", dtype), fields)
    np.testing.assert_allclose(dot, np.broadcast_to(partial, dot.shape), rtol=1e-6)
