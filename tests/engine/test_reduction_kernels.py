"""Kernels that reduce a line, against NumPy, exact reasoning and mpmath, on raw frames."""

import mpmath
import numpy as np
import pytest

from helpers.kernel_frames import DTYPES, accumulate, add_or_store, both_dtypes, lines, one_stride, rng, run
from helpers.structural_kernels import MODULES, SPECIAL_LINES, forward, reverse
from helpers.table_loops import grouped

# accumulate


@both_dtypes
@add_or_store
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 100, 1000])
def test_accumulate_adds_or_writes_a_line(dtype, store, count):
    for y_bar in lines(DTYPES[dtype], count, seed=1):
        for x_bar in lines(DTYPES[dtype], count, seed=2):
            want = y_bar.copy() if store else x_bar + y_bar
            strides = {"stride": one_stride(x_bar), "y_stride": one_stride(y_bar)}
            assert accumulate(dtype, count, x_bar=[x_bar], y_bar=y_bar, store=store, **strides) == 0
            np.testing.assert_array_equal(x_bar, want)


@both_dtypes
@add_or_store
@pytest.mark.parametrize("count", [1, 5, 300])
def test_accumulate_spreads_one_element(dtype, store, count):
    y_bar = np.array([3.5], DTYPES[dtype])
    for x_bar in lines(DTYPES[dtype], count):
        want = np.full(count, 3.5) if store else x_bar + y_bar
        accumulate(
            dtype,
            count,
            x_bar=[x_bar],
            y_bar=y_bar,
            stride=one_stride(x_bar),
            store=store,
        )
        np.testing.assert_array_equal(x_bar, want)


@both_dtypes
@add_or_store
@pytest.mark.parametrize("count", [0, 1, 3, 8, 255, 256, 257, 5000])
def test_accumulate_sums_into_one_element(dtype, store, count):
    for y_bar in lines(DTYPES[dtype], count):
        x_bar = np.array([2], DTYPES[dtype])
        accumulate(
            dtype,
            count,
            x_bar=[x_bar],
            y_bar=y_bar,
            y_stride=one_stride(y_bar),
            store=store,
        )
        want = np.sum(y_bar.astype(np.longdouble)) + (0 if store else 2)
        np.testing.assert_allclose(x_bar[0], float(want), rtol=4e-7 if dtype == "f32" else 1e-13)


@pytest.mark.parametrize(("dtype", "rtol"), [("f64", 4e-16), ("f32", 1e-7)])
def test_long_sums_are_accurate(dtype, rtol):
    y_bar = rng().uniform(0, 1, 2_000_000).astype(DTYPES[dtype])
    x_bar = np.zeros(1, DTYPES[dtype])
    accumulate(
        dtype,
        y_bar.size,
        x_bar=[x_bar],
        y_bar=y_bar,
        y_stride=y_bar.itemsize,
        store=1,
    )
    np.testing.assert_allclose(x_bar[0], float(np.sum(y_bar.astype(np.longdouble))), rtol=rtol)


@pytest.mark.parametrize("count", [2, 1000])
@pytest.mark.parametrize(
    ("first", "last", "want"), [(np.inf, 1, np.inf), (np.inf, -np.inf, np.nan), (np.nan, 1, np.nan)]
)
def test_sums_pass_inf_and_nan_on(count, first, last, want):
    y_bar, x_bar = np.ones(count), np.zeros(1)
    y_bar[0], y_bar[-1] = first, last
    accumulate("f64", count, x_bar=[x_bar], y_bar=y_bar, y_stride=8)
    np.testing.assert_equal(x_bar[0], want)


# prod, max and min of a line


@grouped("values")
@both_dtypes
@pytest.mark.parametrize("op", ["max", "min", "prod"])
@pytest.mark.parametrize("values", SPECIAL_LINES, ids=str)
def test_reductions_of_special_lines(op, dtype, values):
    x = np.array(values, DTYPES[dtype])
    np.testing.assert_array_equal(forward(op, x)[0], getattr(np, op)(x))


@both_dtypes
@pytest.mark.parametrize("op", ["max", "min", "prod"])
@pytest.mark.parametrize("count", [1, 2, 9, 100])
def test_reductions_of_any_line(op, dtype, count):
    for x in lines(DTYPES[dtype], count):
        want = getattr(np, op)(x.astype(np.float64))
        np.testing.assert_allclose(forward(op, x)[0], want, rtol=3e-7 if dtype == "f32" else 1e-13)


@pytest.mark.parametrize(("op", "want"), [("max", -np.inf), ("min", np.inf), ("prod", 1.0)])
def test_reductions_of_nothing(op, want):
    assert forward(op, np.empty(0))[0] == want


@both_dtypes
@add_or_store
@pytest.mark.parametrize(
    ("op", "values", "shares"),
    [
        ("max", [1, 3, 2], [0, 1, 0]),
        ("min", [1, 3, 2], [1, 0, 0]),
        ("max", [3, 1, 3, 3, 3], [0.25, 0, 0.25, 0.25, 0.25]),
        ("min", [-0.0, 0.0, 1], [0.5, 0.5, 0]),
        ("max", [np.nan, 5, np.nan], [0.5, 0, 0.5]),
        ("min", [np.inf, np.inf], [0.5, 0.5]),
        ("max", [-np.inf], [1]),
    ],
)
def test_extremes_share_equally_among_ties(op, values, shares, dtype, store):
    x = np.array(values, DTYPES[dtype])
    for line in (x, np.repeat(x, 2)[::2], x[::-1].copy()[::-1]):
        x_bar = reverse(op, line, 8.0, store)
        np.testing.assert_array_equal(x_bar, 8 * np.array(shares) + (0 if store else 0.5))


@add_or_store
@pytest.mark.parametrize("op", ["max", "prod"])
def test_zero_cotangent_contributes_zero(op, store):
    x = np.array([np.inf, np.nan, 1e300, 1e300])
    np.testing.assert_array_equal(reverse(op, x, 0.0, store), np.full(4, 0.0 if store else 0.5))


@add_or_store
@pytest.mark.parametrize(("op", "want"), [("max", 6.0), ("prod", 3 * 4 * 6.0)])
def test_reductions_of_a_broadcast_operand(op, want, store):
    x, x_bar = np.array([2.0]), np.array([1.0])
    y = np.array([2.0 if op == "max" else 8.0])
    name = f"{op}_reduce_reverse_f64"
    run(
        MODULES[op],
        name,
        3,
        x=[x],
        y=y,
        x_bar=[x_bar],
        y_bar=np.array([6.0]),
        store=store,
    )
    assert x_bar[0] == want + (0 if store else 1)


def exact_prod_partials(x):
    """The product of all other elements, at 60 digits and any exponent, rounded once."""
    with mpmath.workdps(60):
        numbers = [mpmath.mpf(float(v)) for v in x]
        return [float(mpmath.fprod(numbers[:i] + numbers[i + 1 :])) for i in range(len(numbers))]


@both_dtypes
@add_or_store
@pytest.mark.parametrize(
    "values",
    [
        [3.0],
        [2.0, -3.0, 5.0],
        [2.0, 0.0, 5.0],
        [0.0, 5.0, 0.0],
        [0.0],
        [1e30, 1e30, 1e-30, 1e-30, 2.0],
        [1e-30, 1e-30, 1e30, 1e30, 0.0],
        [1e-38, 1e-10, 1e20, 1e25],
    ],
    ids=str,
)
def test_prod_partials_are_right_with_zeros_and_detours(values, dtype, store):
    x = np.array(values, DTYPES[dtype])
    for line in (x, np.repeat(x, 3)[::3], x[::-1].copy()[::-1]):
        want = np.array(exact_prod_partials(x)).astype(x.dtype)
        got = reverse("prod", line, 1.0, store, before=0)
        np.testing.assert_allclose(got, want, rtol=3e-7 if dtype == "f32" else 1e-14)


@pytest.mark.parametrize(
    "values",
    [
        [1e200, 1e200, 1e-200, 1e-200, 1.5],
        [1e-200, 1e-200, 1e200, 1e200, 3.0],
        [1e-320, 1e160, 1e160, 7.0],
        [1e300, 1e300, 2.0],
        [5e-324, 5e-324, 5e-324],
    ],
    ids=str,
)
def test_prod_partials_survive_overflow_and_underflow_on_the_way(values):
    x = np.array(values)
    np.testing.assert_allclose(reverse("prod", x, 1.0, store=1), exact_prod_partials(x), rtol=1e-14)


@pytest.mark.parametrize(
    "values", [[], [0.0], [np.nan], [np.inf], [1e300, 1e-300], [1e-300] * 2 + [1e300] * 2], ids=str
)
@pytest.mark.parametrize("at", [0, 300, 590])
def test_product_of_a_line_in_lanes(values, at):
    x = rng().uniform(0.9, 1.1, 600)  # more than one block that is multiplied in lanes
    x[at : at + len(values)] = values
    with np.errstate(all="ignore"):
        want = np.multiply.accumulate(x)[-1]
    np.testing.assert_allclose(forward("prod", x), want, rtol=1e-13)


def test_prod_partials_with_inf_and_nan():
    np.testing.assert_equal(reverse("prod", np.array([np.inf, 2.0, 3.0]), 1.0, 1), [6, np.inf, np.inf])
    np.testing.assert_equal(reverse("prod", np.array([np.nan, 2.0]), 1.0, 1), [2, np.nan])


@both_dtypes
@pytest.mark.parametrize("count", [2, 30, 900])
def test_prod_partials_of_long_lines(count, dtype):
    x = rng().uniform(0.2, 1.5, count).astype(DTYPES[dtype])
    got = reverse("prod", x, 1.0, store=1)
    tiny = np.finfo(DTYPES[dtype]).tiny
    np.testing.assert_allclose(got, exact_prod_partials(x), rtol=3e-7 if dtype == "f32" else 1e-12, atol=tiny)
