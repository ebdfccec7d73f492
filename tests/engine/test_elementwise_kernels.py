"""The elementwise kernels against the texts that they were made from, and against NumPy."""

import itertools

import numpy as np
import pytest

from helpers.daily import daily
from helpers.elementwise_kernels import (
    DIFFERENTIABLE,
    DTYPES,
    ROWS,
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
from tapegrad.engine.kernels.language.frame import COUNT, STORE, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.engine.runtime import library_loops
from tapegrad.ops import BY_NAME, Op

daily_rows = daily(among=in_double, always=is_first_of_arity)
COUNTS = (0, 1, 2, 7, 8, 15, 16, 17, 255, 256, 257, 1000)


def forward(
    op: Op, dtype: str, operands: list[np.ndarray], layouts: list[str]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The kernel's result, and the operands as it saw them."""
    count = len(operands[0])
    placed = [Strided.of(x, layout) for x, layout in zip(operands, layouts, strict=False)]
    y = Strided.of(np.zeros(count, bool if op.predicate else DTYPES[dtype]), layouts[len(operands)])
    fields = {COUNT: count, Y: y.address, Y_STRIDE: y.stride}
    for j, operand in enumerate(placed):
        fields |= {X + j: operand.address, STRIDE + j: operand.stride}
    run(kernel(op, "forward", dtype), fields)
    assert y.is_untouched_outside()
    return y.view.copy(), [operand.view.copy() for operand in placed]


def within(result: np.ndarray, expected: np.ndarray, places: int, sizes: np.ndarray) -> None:
    """Assert that results are right to so many units in the last place, of `sizes` where these are larger."""
    scale = np.spacing(np.maximum(np.abs(expected), sizes).astype(expected.dtype))
    assert (np.abs(result - expected) <= places * scale).all()


def _larger_operand(op: Op, operands: list[np.ndarray]) -> np.ndarray:
    """Where a function is a sum whose terms cancel, the larger one, otherwise 0."""
    return np.max(np.abs(operands), axis=0) if op.name.startswith("logaddexp") else np.zeros(len(operands[0]))


@grouped("op")
@daily_rows
@pytest.mark.parametrize(("op", "dtype"), ROWS)
def test_forward_kernel_is_the_primal(op: Op, dtype: str) -> None:
    for count, layouts in itertools.product(COUNTS, layouts_of(op)):
        result, seen = forward(op, dtype, random_operands(op, dtype, count), layouts)
        expected = text_values(op, seen)["y"]
        if op.predicate:
            np.testing.assert_array_equal(result, expected)
        elif count:
            assert expected.dtype == result.dtype
            within(result, expected, 4 if op.ufunc else 16, _larger_operand(op, seen))  # SciPy's erfc: 12 off


@grouped("op")
@daily_rows
@pytest.mark.parametrize(("op", "dtype"), DIFFERENTIABLE)
@pytest.mark.parametrize("store", [False, True], ids=["add", "store"])
def test_reverse_kernel_is_the_partials(op: Op, dtype: str, store: bool) -> None:
    eps = np.finfo(DTYPES[dtype]).eps
    for count, layouts, wanted in itertools.product(COUNTS, layouts_of(op), wanted_operands(op)):
        operands = random_operands(op, dtype, count)
        bar = np.random.default_rng(count + 1).normal(size=count).astype(DTYPES[dtype])
        results, partials, seen = reverse(op, dtype, operands, bar, layouts, store, wanted)
        for j in range(op.arity):
            if wanted >> j & 1:
                added = partials[j].astype(np.float64) * seen
                scale = np.abs(added) + (0 if store else 3.0) + (np.abs(seen) * size_of_terms(op))
                if layouts[j] == "broadcast" and count:
                    added, scale = added.sum(), scale.sum()
                expected = added if store else added + 3.0
                assert (np.abs(results[j] - expected) <= 40 * eps * scale).all(), (count, layouts, wanted)
            else:
                assert (np.isnan(results[j]) if store else results[j] == 3.0).all()


@grouped("op")
@daily_rows
@pytest.mark.parametrize(("op", "dtype"), ROWS)
def test_special_values_forward(op: Op, dtype: str) -> None:
    operands = special_operands(op, dtype)
    result, _ = forward(op, dtype, operands, ["adjacent"] * 4)
    with np.errstate(all="ignore"):
        expected = getattr(np, op.ufunc)(*operands) if op.ufunc else text_values(op, operands)["y"]
    np.testing.assert_allclose(result, expected, rtol=8 * float(np.finfo(DTYPES[dtype]).eps))


@grouped("op")
@daily_rows
@pytest.mark.parametrize(("op", "dtype"), DIFFERENTIABLE)
def test_special_values_reverse(op: Op, dtype: str) -> None:
    if is_noise_at_special_values(op, dtype):
        pytest.skip("nothing but rounding errors of float32 is left there")
    operands = special_operands(op, dtype)
    ones = np.ones(len(operands[0]), DTYPES[dtype])
    wanted = wanted_operands(op)[-1]
    results, partials, _ = reverse(op, dtype, operands, ones, ["adjacent"] * 4, True, wanted)
    for j in range(op.arity):
        if wanted >> j & 1:
            np.testing.assert_allclose(results[j], partials[j], rtol=40 * float(np.finfo(DTYPES[dtype]).eps))


@grouped("op")
@daily_rows
@pytest.mark.parametrize(("op", "dtype"), DIFFERENTIABLE)
def test_zero_cotangent_contributes_zero(op: Op, dtype: str) -> None:
    operands = special_operands(op, dtype)
    zeros = np.zeros(len(operands[0]), DTYPES[dtype])
    wanted = wanted_operands(op)[-1]
    for layout in ("adjacent", "double"):
        results, _, _ = reverse(op, dtype, operands, zeros, [layout] * 4, False, wanted)
        for j in range(op.arity):
            if wanted >> j & 1:
                assert (results[j] == 3.0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_unselected_side_gets_no_cotangent_of_infinity(dtype: str) -> None:
    infinite = np.full(2, np.inf, DTYPES[dtype])
    operands = [np.array([True, False]), np.ones(2, DTYPES[dtype]), np.ones(2, DTYPES[dtype])]
    results, _, _ = reverse(BY_NAME["where"], dtype, operands, infinite, ["adjacent"] * 4, True, 6)
    np.testing.assert_array_equal(results[1], [np.inf, 0.0])
    np.testing.assert_array_equal(results[2], [0.0, np.inf])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [7, 300])
def test_same_operand_twice(dtype: str, count: int) -> None:
    x, bar = (np.random.default_rng(count).normal(size=count).astype(DTYPES[dtype]) for _ in range(2))
    x_bar = np.full(count, np.nan, DTYPES[dtype])
    fields = {COUNT: count, X: x.ctypes.data, X + 1: x.ctypes.data, X_BAR: x_bar.ctypes.data, STORE: 1}
    fields |= {X_BAR + 1: x_bar.ctypes.data, Y_BAR: bar.ctypes.data, Y_STRIDE: x.itemsize}
    run(kernel(BY_NAME["multiply"], "reverse", dtype), fields | {STRIDE: x.itemsize, STRIDE + 1: x.itemsize})
    np.testing.assert_allclose(x_bar, 2 * x * bar, rtol=1e-6)


def test_float32_sums_are_accurate() -> None:
    count = 1_000_000
    bar, x_bar = np.full(count, 0.1, np.float32), np.zeros(1, np.float32)
    fields = {COUNT: count, X_BAR: x_bar.ctypes.data, Y_BAR: bar.ctypes.data, Y_STRIDE: 4, STRIDE + 1: 4}
    run(kernel(BY_NAME["add"], "reverse", "f32"), fields)
    np.testing.assert_allclose(x_bar[0], bar.astype(np.float64).sum(), rtol=1e-7)


def test_library_refuses_a_loop_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(library_loops.SIGNATURES, "invert", "d->d")
    with pytest.raises(library_loops.LibraryError, match="has no loop 'd->d'"):
        library_loops.ensure(["invert"])
