"""Kernels of lines against NumPy, on raw frames: variances, sums of exponentials, recurrences, orders."""

import numpy as np
import pytest

from helpers.kernel_frames import DTYPES, add_or_store, both_dtypes, lines, one_stride, rng, run
from tapegrad.engine.kernels.lines import cross, deviations, logsumexp, recurrence, sorting
from tapegrad.ops.structural.lines import ArgextremeParams, ArgsortParams, CrossParams, RecurrenceParams

REDUCTIONS = {
    "deviations": (deviations, lambda x: np.sum((x - x.mean()) ** 2), lambda x: 2 * (x - x.mean())),
    "logsumexp": (logsumexp, lambda x: np.log(np.sum(np.exp(x))), lambda x: np.exp(x) / np.sum(np.exp(x))),
}
reductions = pytest.mark.parametrize("op", REDUCTIONS)


def tolerance(dtype):
    return {"rtol": 1e-12, "atol": 1e-12} if dtype == "f64" else {"rtol": 1e-5, "atol": 1e-5}


# --- reductions --------------------------------------------------------------------------------------------------


@both_dtypes
@reductions
@pytest.mark.parametrize("count", [1, 2, 3, 7, 515])
def test_reduction(op, dtype, count):
    module, value, _ = REDUCTIONS[op]
    for x in lines(DTYPES[dtype], count):
        y = np.array([np.nan], x.dtype)
        assert run(module, f"{op}_forward_{dtype}", count, x=[x], y=y, stride=one_stride(x)) == 0
        np.testing.assert_allclose(y[0], value(x.astype(float)), **tolerance(dtype))


@both_dtypes
@reductions
@add_or_store
@pytest.mark.parametrize("count", [1, 3, 515])
def test_reduction_reverse(op, dtype, count, store):
    module, value, partials = REDUCTIONS[op]
    for x in lines(DTYPES[dtype], count):
        expected = partials(x.astype(float))
        x_bar = np.empty(3 * count + 1, x.dtype)[:: x.strides[0] // x.itemsize or 1][:count]
        if x_bar.strides != x.strides:  # an unaligned line
            x_bar = np.zeros(count, np.dtype([("pad", "i1"), ("value", x.dtype)]))["value"]
        x_bar[...] = 0.5
        y = np.array([value(x.astype(float))], x.dtype)
        fields = {"x": [x], "y": y, "x_bar": [x_bar], "y_bar": np.array([2], x.dtype)}
        assert run(module, f"{op}_reverse_{dtype}", count, stride=one_stride(x), store=store, **fields) == 0
        np.testing.assert_allclose(x_bar, 2 * expected + (0 if store else 0.5), **tolerance(dtype))


@both_dtypes
@reductions
def test_reduction_tangent(op, dtype):
    module, value, partials = REDUCTIONS[op]
    x, x_dot = (rng().standard_normal((2, 20))).astype(DTYPES[dtype])
    y, y_dot = np.array([value(x.astype(float))], x.dtype), np.array([np.nan], x.dtype)
    fields = {"x": [x], "y": y, "x_bar": [x_dot], "y_bar": y_dot, "stride": x.itemsize}
    run(module, f"{op}_tangent_{dtype}", 20, **fields)
    np.testing.assert_allclose(y_dot[0], partials(x.astype(float)) @ x_dot, **tolerance(dtype))
    run(module, f"{op}_tangent_{dtype}", 20, **{**fields, "x_bar": [None]})
    assert y_dot[0] == 0


@reductions
@pytest.mark.parametrize(
    "special", [[], [np.inf, 1.0], [np.nan, 1.0], [-np.inf, -np.inf], [-np.inf, 2.0]], ids=str
)
def test_reduction_of_special_lines(op, special):
    module, value, _ = REDUCTIONS[op]
    x, y = np.array(special), np.array([77.0])
    run(module, f"{op}_forward_f64", x.size, x=[x], y=y, stride=8)
    with np.errstate(all="ignore"):
        expected = value(x) if x.size else {"deviations": 0.0, "logsumexp": -np.inf}[op]
    np.testing.assert_array_equal(y[0], expected)
    x_bar = np.zeros(x.size)
    run(module, f"{op}_reverse_f64", x.size, x=[x], y=y, x_bar=[x_bar], y_bar=np.zeros(1), stride=8, store=1)
    np.testing.assert_array_equal(x_bar, 0.0)  # zero times anything is zero


# --- recurrences -------------------------------------------------------------------------------------------------


def by_loop(a, b):
    y = [b[0]]
    for factor, term in zip(a[1:], b[1:], strict=True):
        y.append(factor * y[-1] + term)
    return np.array(y)


def slope(a, b, a_dot, b_dot):
    """The derivative along a direction, by a complex step."""
    return by_loop(a + 1e-30j * a_dot, b + 1e-30j * b_dot).imag / 1e-30


FACTORS = [[9.0, 0.5, -2.0, 0.0, 3.0], [9.0, 0.0, 0.0, 2.0, 1.0], [9.0, 1.0, -0.5, 2.0, 0.25]]


@both_dtypes
@pytest.mark.parametrize("factors", FACTORS, ids=str)
def test_recurrence_and_its_derivatives(dtype, factors):
    kind = DTYPES[dtype]
    a, (b, a_dot, b_dot, y_bar) = np.array(factors, kind), rng().standard_normal((4, 5)).astype(kind)
    y, y_dot = np.empty(5, kind), np.empty(5, kind)
    strides = {"stride": [a.itemsize] * 2, "y_stride": a.itemsize, "params": RecurrenceParams(0)}

    def call(direction, **arrays):
        return run(recurrence, f"recurrence_{direction}_{dtype}", 5, **arrays, **strides)

    assert call("forward", x=[a, b], y=y) == 0
    np.testing.assert_allclose(y, by_loop(a, b), **tolerance(dtype))
    call("tangent", x=[a, b], y=y, x_bar=[a_dot, b_dot], y_bar=y_dot)
    np.testing.assert_allclose(y_dot, slope(a, b, a_dot, b_dot), **tolerance(dtype))
    for store in (0, 3):
        a_bar, b_bar = np.full(5, 0.5, kind), np.full(5, 0.25, kind)
        call("reverse", x=[a, b], y=y, x_bar=[a_bar, b_bar], y_bar=y_bar, store=store)
        if not store:
            a_bar, b_bar = a_bar - kind(0.5), b_bar - kind(0.25)
        paired = a_bar @ a_dot + b_bar @ b_dot
        np.testing.assert_allclose(paired, y_bar @ y_dot, rtol=1e-4 if dtype == "f32" else 1e-12)
        assert a_bar[0] == 0  # the first factor is not read


@pytest.mark.parametrize("masked", [0, 1])
def test_zero_times_anything_is_zero_in_derivatives_only(masked):
    a, b, y = np.array([1.0, np.inf]), np.zeros(2), np.empty(2)
    strides = {"stride": [8, 8], "y_stride": 8, "params": RecurrenceParams(masked)}
    run(recurrence, "recurrence_forward_f64", 2, x=[a, b], y=y, **strides)
    np.testing.assert_array_equal(y, [0.0, 0.0 if masked else np.nan])


# --- products of vectors in space --------------------------------------------------------------------------------


@both_dtypes
@add_or_store
def test_cross_and_its_derivatives(dtype, store):
    kind = DTYPES[dtype]
    a, b, a_dot, b_dot, y_bar = rng().standard_normal((5, 3)).astype(kind)
    y, y_dot, a_bar, b_bar = np.full((4, 3), 0.5, kind)
    strides = {"stride": [a.itemsize] * 2, "y_stride": a.itemsize}

    def call(direction, **arrays):
        assert run(cross, f"cross_{direction}_{dtype}", 3, **arrays, **strides, params=CrossParams(0)) == 0

    call("forward", x=[a, b], y=y)
    np.testing.assert_allclose(y, np.cross(a, b), **tolerance(dtype))
    call("tangent", x=[a, b], y=y, x_bar=[a_dot, b_dot], y_bar=y_dot)
    np.testing.assert_allclose(y_dot, np.cross(a_dot, b) + np.cross(a, b_dot), **tolerance(dtype))
    call("tangent", x=[a, b], y=y, x_bar=[None, b_dot], y_bar=y_dot)
    np.testing.assert_allclose(y_dot, np.cross(a, b_dot), **tolerance(dtype))
    before = 0 if store else kind(0.5)
    call("reverse", x=[a, b], y=y, x_bar=[a_bar, b_bar], y_bar=y_bar, store=3 * store)
    np.testing.assert_allclose(a_bar - before, np.cross(b, y_bar), **tolerance(dtype))
    np.testing.assert_allclose(b_bar - before, np.cross(y_bar, a), **tolerance(dtype))


@pytest.mark.parametrize("masked", [0, 1])
def test_cross_of_infinite_vectors(masked):
    a, b, y = np.array([np.inf, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.empty(3)
    fields = {"stride": [8, 8], "y_stride": 8, "params": CrossParams(masked)}
    run(cross, "cross_forward_f64", 3, x=[a, b], y=y, **fields)
    np.testing.assert_array_equal(y, [0.0, -np.inf, 0.0 if masked else np.nan])


# --- order -------------------------------------------------------------------------------------------------------


def hard_lines(count, dtype):
    """Lines with ties, with nan, infinities and both zeros."""
    x = rng().integers(-4, 4, (3, count)).astype(dtype)
    if count > 5:
        x[0, 1], x[1, 2], x[2, :5] = np.nan, -0.0, [np.inf, -np.inf, np.nan, np.nan, np.inf]
    return x


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64"])
@pytest.mark.parametrize("count", [0, 1, 2, 16, 17, 33, 64, 1000])
def test_argsort(dtype, count):
    x = rng().integers(-9, 9, (3, count)) << 55 if dtype == "i64" else hard_lines(count, DTYPES[dtype])
    expected = np.argsort(x, axis=-1, kind="stable")
    for through in (0, 1):
        y = np.full(x.shape, -1)
        assert (
            run(
                sorting,
                f"argsort_forward_{dtype}",
                x.size,
                x=[x],
                y=y,
                params=ArgsortParams(3, count, through),
            )
            == 0
        )
        np.testing.assert_array_equal(y, expected + through * count * np.arange(3)[:, None])


@both_dtypes
@pytest.mark.parametrize("count", [1, 2, 17, 1000])
@pytest.mark.parametrize("sign", [1, -1])
def test_argextreme(dtype, count, sign):
    x, y = hard_lines(count, DTYPES[dtype]), np.full(3, -1)
    run(sorting, f"argextreme_forward_{dtype}", x.size, x=[x], y=y, params=ArgextremeParams(3, count, sign))
    np.testing.assert_array_equal(y, (np.argmax if sign == 1 else np.argmin)(x, axis=-1))
