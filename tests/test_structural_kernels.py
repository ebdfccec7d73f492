"""The hand-written kernels against NumPy, exact reasoning and mpmath, on raw frames."""

import ctypes
import functools
import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest

from tapegrad import compiler, library
from tapegrad.kernels import accumulate, cast, frame, guard, index, matmul, prod, reduce, region, scan

DTYPES = {"f64": np.float64, "f32": np.float32}
both_dtypes = pytest.mark.parametrize("dtype", ["f64", "f32"])
add_or_store = pytest.mark.parametrize("store", [0, 1], ids=["add", "store"])
OUT_OF_RANGE = 2
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@functools.cache
def loops():
    library.ensure(["dgemm", "sgemm", "dgemv", "sgemv"])
    return library.table()


@functools.cache
def compiled(module, name):
    return _SIGNATURE(compiler.compile_kernel(getattr(module, name)))


def at(array):
    return 0 if array is None else array.ctypes.data


def run(
    module, name, count=0, x=(), y=None, x_bar=(), y_bar=None, stride=0, y_stride=0, store=0, params=None
):
    words = np.zeros(frame.WORDS, np.int64)
    words[frame.COUNT] = count
    words[frame.X : frame.X + len(x)] = [at(a) for a in x]
    words[frame.X_BAR : frame.X_BAR + len(x_bar)] = [at(a) for a in x_bar]
    words[frame.Y], words[frame.Y_BAR] = at(y), at(y_bar)
    words[frame.STRIDE], words[frame.Y_STRIDE], words[frame.STORE] = stride, y_stride, store
    if params is not None:
        params = np.array(params, np.int64)
        words[frame.PARAMS] = params.ctypes.data
    return compiled(module, name)(words.ctypes.data, loops())


def rng():
    return np.random.default_rng(20)


def lines(dtype, count, seed=0):
    """The same numbers as a contiguous, a spread, a reversed and an unaligned line."""
    dtype = np.dtype(dtype)
    data = np.random.default_rng(seed).standard_normal(count).astype(dtype)
    spread, reversed_ = np.zeros(3 * count + 1, dtype)[: 3 * count : 3], np.zeros(count, dtype)[::-1]
    odd = np.zeros(count, np.dtype([("pad", "i1"), ("value", dtype)]))["value"]
    for line in (spread, reversed_, odd):
        line[...] = data
    return [data, spread, reversed_, odd]


def one_stride(line):
    return line.strides[0]


# accumulate


@both_dtypes
@add_or_store
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 100, 1000])
def test_accumulate_adds_or_writes_a_line(dtype, store, count):
    for y_bar in lines(DTYPES[dtype], count, seed=1):
        for x_bar in lines(DTYPES[dtype], count, seed=2):
            want = y_bar.copy() if store else x_bar + y_bar
            strides = {"stride": one_stride(x_bar), "y_stride": one_stride(y_bar)}
            name = f"accumulate_{dtype}"
            assert run(accumulate, name, count, x_bar=[x_bar], y_bar=y_bar, store=store, **strides) == 0
            np.testing.assert_array_equal(x_bar, want)


@both_dtypes
@add_or_store
@pytest.mark.parametrize("count", [1, 5, 300])
def test_accumulate_spreads_one_element(dtype, store, count):
    y_bar = np.array([3.5], DTYPES[dtype])
    for x_bar in lines(DTYPES[dtype], count):
        want = np.full(count, 3.5) if store else x_bar + y_bar
        run(
            accumulate,
            f"accumulate_{dtype}",
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
        run(
            accumulate,
            f"accumulate_{dtype}",
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
    run(
        accumulate,
        f"accumulate_{dtype}",
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
    run(accumulate, "accumulate_f64", count, x_bar=[x_bar], y_bar=y_bar, y_stride=8)
    np.testing.assert_equal(x_bar[0], want)


# prod, max and min of a line

SPECIAL_LINES = [
    [1.0],
    [-0.0, 0.0],
    [-1.0, -2.0, -0.5],
    [2.0, 2.0, 1.0, 2.0],
    [1.0, np.nan, 3.0],
    [-np.nan, 3.0],
    [np.nan, np.nan],
    [np.inf, 1.0],
    [-np.inf, 1.0],
    [-np.inf, -np.inf],
    [1e-310, -1e-310, 0.0],
    [3.0, 0.0, 2.0],
    [0.0, 5.0, 0.0],
]


def forward(name, x, count=None):
    y = np.array([77], x.dtype)
    assert (
        run(
            prod if "prod" in name else reduce,
            name,
            x.size if count is None else count,
            x=[x],
            y=y,
            stride=one_stride(x),
        )
        == 0
    )
    return y


@both_dtypes
@pytest.mark.parametrize("op", ["max", "min", "prod"])
@pytest.mark.parametrize("values", SPECIAL_LINES, ids=str)
def test_reductions_of_special_lines(op, dtype, values):
    x = np.array(values, DTYPES[dtype])
    np.testing.assert_array_equal(forward(f"{op}_reduce_forward_{dtype}", x)[0], getattr(np, op)(x))


@both_dtypes
@pytest.mark.parametrize("op", ["max", "min", "prod"])
@pytest.mark.parametrize("count", [1, 2, 9, 100])
def test_reductions_of_any_line(op, dtype, count):
    for x in lines(DTYPES[dtype], count):
        want = getattr(np, op)(x.astype(np.float64))
        np.testing.assert_allclose(
            forward(f"{op}_reduce_forward_{dtype}", x)[0], want, rtol=3e-7 if dtype == "f32" else 1e-13
        )


@pytest.mark.parametrize(("op", "want"), [("max", -np.inf), ("min", np.inf), ("prod", 1.0)])
def test_reductions_of_nothing(op, want):
    assert forward(f"{op}_reduce_forward_f64", np.empty(0))[0] == want


def reverse(op, x, y_bar, store=0, before=0.5, stride=None):
    """The cotangent of a line, which was `before` everywhere."""
    y = forward(f"{op}_reduce_forward_{suffix(x)}", x)
    backing = np.full(x.size * abs(x.strides[0]) // x.itemsize + 1, before, x.dtype)
    x_bar = np.lib.stride_tricks.as_strided(
        backing[x.size * -min(x.strides[0], 0) // x.itemsize :], x.shape, x.strides
    )
    name = f"{op}_reduce_reverse_{suffix(x)}"
    y_bar = np.array([y_bar], x.dtype)
    assert (
        run(
            prod if "prod" in name else reduce,
            name,
            x.size,
            x=[x],
            y=y,
            x_bar=[x_bar],
            y_bar=y_bar,
            stride=x.strides[0],
            store=store,
        )
        == 0
    )
    return x_bar


def suffix(x):
    return "f64" if x.dtype == np.float64 else "f32"


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
        prod if "prod" in name else reduce,
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


# cumsum


@both_dtypes
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_cumsum(dtype, count):
    for x in lines(DTYPES[dtype], count, seed=3):
        for y in lines(DTYPES[dtype], count, seed=4):
            run(
                scan,
                f"cumsum_forward_{dtype}",
                count,
                x=[x],
                y=y,
                stride=one_stride(x),
                y_stride=one_stride(y),
            )
            np.testing.assert_allclose(y, np.cumsum(x), rtol=1e-5 if dtype == "f32" else 1e-12, atol=1e-6)


@both_dtypes
@add_or_store
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_cumsum_reverse(dtype, count, store):
    for y_bar in lines(DTYPES[dtype], count, seed=3):
        for x_bar in lines(DTYPES[dtype], count, seed=4):
            want = np.cumsum(y_bar[::-1])[::-1] + (0 if store else x_bar)
            strides = {"stride": one_stride(x_bar), "y_stride": one_stride(y_bar)}
            run(scan, f"cumsum_reverse_{dtype}", count, x_bar=[x_bar], y_bar=y_bar, store=store, **strides)
            np.testing.assert_allclose(x_bar, want, rtol=1e-5 if dtype == "f32" else 1e-12, atol=1e-6)


@add_or_store
def test_cumsum_of_a_broadcast_operand(store):
    x_bar, y_bar = np.array([10.0]), np.array([1.0, 2.0, 3.0])
    run(scan, "cumsum_reverse_f64", 3, x_bar=[x_bar], y_bar=y_bar, y_stride=8, store=store)
    assert x_bar[0] == 1 + 4 + 9 + (0 if store else 10)


# gather

SOURCES = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "b8": np.bool_}


def sources(dtype):
    """A 6 x 4 matrix of distinct numbers in several layouts, one with no columns to speak of."""
    data = (rng().permutation(24).reshape(6, 4) % (2 if dtype == np.bool_ else 24)).astype(dtype)
    wide = np.zeros((12, 9), dtype)[::2, 1::2]
    wide[...] = data
    return [data, wide, np.asfortranarray(data), data[::-1], data[:, ::-1], data[:, 2:3], data[:, :0]]


def row_params(x, wrap=1):
    return [x.shape[0], x.strides[0], x.shape[1], x.strides[1], wrap]


@pytest.mark.parametrize("dtype", SOURCES)
@pytest.mark.parametrize("rows", [[], [2], [0, 5, 5, -1, -6, 3]], ids=str)
def test_gather(dtype, rows):
    rows = np.array(rows, np.int64)
    for x in sources(SOURCES[dtype]):
        y = np.zeros((rows.size, x.shape[1]), x.dtype)
        assert run(index, f"gather_forward_{dtype}", rows.size, x=[x, rows], y=y, params=row_params(x)) == 0
        np.testing.assert_array_equal(y, x[rows])


@both_dtypes
def test_gather_reverse_accumulates_repeated_rows(dtype):
    rows = np.array([0, 5, 5, -1, -6, 3])
    for x_bar in sources(DTYPES[dtype]):
        y_bar = rng().integers(0, 100, (rows.size, x_bar.shape[1])).astype(x_bar.dtype)
        want = x_bar.copy()
        np.add.at(want, rows, y_bar)
        frame_ = {"x": [None, rows], "x_bar": [x_bar], "y_bar": y_bar, "params": row_params(x_bar)}
        assert run(index, f"gather_reverse_{dtype}", rows.size, **frame_) == 0
        np.testing.assert_array_equal(x_bar, want)


@pytest.mark.parametrize(("bad", "wrap"), [(6, 1), (-7, 1), (-1, 0), (6, 0), (2**62, 1), (-(2**63), 1)])
def test_indexes_out_of_range_write_nothing(bad, wrap):
    rows, x, guard_ = np.array([1, bad]), np.ones((6, 4)), np.full((2, 4), 9.0)
    y, buffer = guard_.copy(), np.full((6, 4), 9.0)
    params = row_params(x, wrap)
    assert run(index, "gather_forward_f64", 2, x=[x, rows], y=y, params=params) == OUT_OF_RANGE
    assert (
        run(index, "gather_reverse_f64", 2, x=[x, rows], x_bar=[buffer], y_bar=x, params=params)
        == OUT_OF_RANGE
    )
    operands = [x, guard_, rows]
    params += [24, 8]
    assert run(index, "scatter_write_forward_f64", 2, x=operands, y=buffer, params=params) == OUT_OF_RANGE
    bars = {"x_bar": [buffer, y], "y_bar": x}
    assert run(index, "scatter_write_reverse_f64", 2, x=operands, params=params, **bars) == OUT_OF_RANGE
    np.testing.assert_array_equal(y, guard_)
    np.testing.assert_array_equal(buffer, 9)


# write

REGIONS = [
    np.s_[2],
    np.s_[1:4],
    np.s_[::2, 1:],
    np.s_[::-1, ::2],
    np.s_[1, 2, 3, ...],
    np.s_[:, 1, ::-2],
    np.s_[...],
    np.s_[2:2],
    np.s_[:, None, 1:3, :, None],
]


def write_params(buffer, key, value):
    region = buffer[key]
    value = np.broadcast_to(value, region.shape)
    offset = region.ctypes.data - buffer.ctypes.data if region.size else 0
    return [buffer.size, offset, region.ndim, *region.shape, *region.strides, *value.strides]


def values_for(shape, dtype):
    """Values to write: full, transposed in memory, one element, one broadcast along the first dimension."""
    full = np.asarray(rng().standard_normal(shape), dtype)
    return [
        full,
        np.asarray(full, order="F"),
        full.ravel()[:1].reshape(()) if full.size else full,
        full[:1] if shape else full,
    ]


def summed_to(array, shape):
    """The sum over the dimensions along which `shape` is broadcast to the array's."""
    array = array.sum(axis=tuple(range(array.ndim - len(shape))))
    broadcast = tuple(d for d, extent in enumerate(shape) if extent == 1 != array.shape[d])
    return array.sum(axis=broadcast, keepdims=True)


@both_dtypes
@pytest.mark.parametrize("key", REGIONS, ids=str)
@pytest.mark.parametrize("in_place", [False, True])
def test_write(dtype, key, in_place):
    old = rng().standard_normal((5, 4, 6)).astype(DTYPES[dtype])
    for value in values_for(old[key].shape, old.dtype):
        x = old.copy()
        y = x if in_place else np.full_like(x, np.nan)
        want = old.copy()
        want[key] = value
        assert (
            run(region, f"write_forward_{dtype}", x=[x, value], y=y, params=write_params(x, key, value)) == 0
        )
        np.testing.assert_array_equal(y, want)
        np.testing.assert_array_equal(x, want if in_place else old)


@pytest.mark.parametrize("in_place", [False, True])
def test_write_of_a_part_of_the_buffer_itself(in_place):
    x = np.arange(10.0)
    y = x if in_place else np.zeros(10)
    run(region, "write_forward_f64", x=[x, x[:-1]], y=y, params=write_params(x, np.s_[1:], x[:-1]))
    np.testing.assert_array_equal(y, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8])


@both_dtypes
@pytest.mark.parametrize("store", [0, 1, 2, 3])
@pytest.mark.parametrize("key", REGIONS, ids=str)
def test_write_reverse(dtype, store, key):
    y_bar = rng().integers(-9, 9, (5, 4, 6)).astype(DTYPES[dtype])
    for value in values_for(y_bar[key].shape, y_bar.dtype):
        x_bar, value_bar = np.full_like(y_bar, 100), np.full_like(value, 200)
        outside = y_bar.copy()
        outside[key] = 0
        want = outside if store & 1 else x_bar + outside
        into_value = summed_to(y_bar[key], value.shape)
        params = write_params(y_bar, key, value)
        kept = y_bar.copy()
        bars = {"x_bar": [x_bar, value_bar], "y_bar": y_bar}
        assert run(region, f"write_reverse_{dtype}", store=store, params=params, **bars) == 0
        np.testing.assert_array_equal(x_bar, want)
        np.testing.assert_array_equal(value_bar, into_value + (0 if store & 2 else 200))
        np.testing.assert_array_equal(y_bar, kept)


def test_write_reverse_of_one_operand_only():
    y_bar, x_bar, value_bar = np.arange(6.0), np.zeros(6), np.zeros(2)
    params = write_params(x_bar, np.s_[1:3], value_bar)
    run(region, "write_reverse_f64", x_bar=[x_bar, None], y_bar=y_bar, params=params)
    run(region, "write_reverse_f64", x_bar=[None, value_bar], y_bar=y_bar, params=params)
    np.testing.assert_array_equal(x_bar, [0, 0, 0, 3, 4, 5])
    np.testing.assert_array_equal(value_bar, [1, 2])


# scatter_write


@both_dtypes
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("rows", [[], [4], [0, 5, 5, -1, -6, 3]], ids=str)
def test_scatter_write(dtype, in_place, rows):
    rows, old = np.array(rows, np.int64), rng().standard_normal((6, 4)).astype(DTYPES[dtype])
    full = rng().standard_normal((rows.size, 4)).astype(old.dtype)
    for value, step in [(full, old.itemsize), (np.array([7], old.dtype), 0)]:
        x, want = old.copy(), old.copy()
        y = x if in_place else np.full_like(x, np.nan)
        want[rows] = value
        params = [*row_params(x), x.size, step]
        assert (
            run(index, f"scatter_write_forward_{dtype}", rows.size, x=[x, value, rows], y=y, params=params)
            == 0
        )
        np.testing.assert_array_equal(y, want)


def test_scatter_write_of_a_part_of_the_buffer_itself():
    x, rows = np.arange(12.0).reshape(6, 2), np.array([1, 2, 3])
    params = [*row_params(x), x.size, 8]
    run(index, "scatter_write_forward_f64", 3, x=[x, x[:3], rows], y=x, params=params)
    np.testing.assert_array_equal(x.ravel(), [0, 1, 0, 1, 2, 3, 4, 5, 8, 9, 10, 11])


@both_dtypes
@pytest.mark.parametrize("store", [0, 1, 2, 3])
@pytest.mark.parametrize("scalar", [False, True])
def test_scatter_write_reverse_follows_the_last_write(dtype, store, scalar):
    rows = np.array([0, 5, 5, -1, -6, 3])  # rows 0 and 5 are written last by entries 4 and 3
    y_bar = rng().integers(-9, 9, (6, 4)).astype(DTYPES[dtype])
    x_bar, value_bar = np.full_like(y_bar, 100), np.full(1 if scalar else (6, 4), 200, y_bar.dtype)
    outside, from_rows = y_bar.copy(), np.zeros_like(y_bar)
    outside[rows] = 0
    from_rows[[4, 3, 5]] = y_bar[[0, 5, 3]]
    params = [*row_params(x_bar), x_bar.size, 0 if scalar else x_bar.itemsize]
    frame_ = {"x": [None, None, rows], "x_bar": [x_bar, value_bar], "y_bar": y_bar, "params": params}
    assert run(index, f"scatter_write_reverse_{dtype}", rows.size, store=store, **frame_) == 0
    np.testing.assert_array_equal(x_bar, outside + (0 if store & 1 else 100))
    want = from_rows.sum() if scalar else from_rows
    np.testing.assert_array_equal(value_bar, want + (0 if store & 2 else 200))


# matmul

SIZES = [
    (1, 1, 1),
    (2, 3, 4),
    (3, 3, 3),
    (8, 9, 10),
    (40, 30, 20),
    (1, 1, 200),
    (1, 30, 20),
    (30, 1, 20),
    (20, 30, 1),
]
SIZES += [(1, 50, 1), (2, 3, 0), (0, 3, 2), (3, 0, 2), (100, 1, 100), (1, 1, 0)]


def matrices(shape, dtype, seed):
    """One matrix with rows contiguous, columns contiguous, and as a part of a larger one."""
    data = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    part = np.zeros((shape[0] + 2, shape[1] + 3), dtype)[1:-1, 1:-2]
    part[...] = data
    return [data, np.asfortranarray(data), part]


def matmul_params(a, b, y):
    return [a.shape[0], b.shape[1], a.shape[1], *a.strides, *b.strides, *y.strides]


@both_dtypes
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_matmul(dtype, size):
    m, n, k = size
    for a in matrices((m, k), DTYPES[dtype], 1):
        for b in matrices((k, n), DTYPES[dtype], 2):
            for y in matrices((m, n), DTYPES[dtype], 3):
                y[...] = np.nan
                assert (
                    run(matmul, f"matmul_forward_{dtype}", x=[a, b], y=y, params=matmul_params(a, b, y)) == 0
                )
                np.testing.assert_allclose(y, a @ b, rtol=1e-4, atol=1e-5 if dtype == "f32" else 1e-13)


@both_dtypes
@pytest.mark.parametrize("store", [0, 1, 2, 3])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_matmul_reverse(dtype, store, size):
    m, n, k = size
    for layout in range(3):
        a = matrices((m, k), DTYPES[dtype], 1)[layout]
        b = matrices((k, n), DTYPES[dtype], 2)[(layout + 1) % 3]
        y_bar = matrices((m, n), DTYPES[dtype], 3)[(layout + 2) % 3]
        a_bar = matrices((m, k), DTYPES[dtype], 4)[layout]
        b_bar = matrices((k, n), DTYPES[dtype], 5)[(layout + 1) % 3]
        want_a, want_b = y_bar @ b.T + (0 if store & 1 else a_bar), a.T @ y_bar + (0 if store & 2 else b_bar)
        if store & 1:
            a_bar[...] = np.nan
        if store & 2:
            b_bar[...] = np.nan
        bars = {"x_bar": [a_bar, b_bar], "y_bar": y_bar}
        params = matmul_params(a, b, y_bar)
        assert run(matmul, f"matmul_reverse_{dtype}", x=[a, b], store=store, params=params, **bars) == 0
        atol = 1e-4 if dtype == "f32" else 1e-12
        np.testing.assert_allclose(a_bar, want_a, rtol=1e-4, atol=atol)
        np.testing.assert_allclose(b_bar, want_b, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("layout", ["both strided", "reversed", "broadcast rows", "broadcast columns"])
def test_matmul_of_matrices_that_blas_cannot_address(layout):
    data = rng().standard_normal((40, 40))
    a = {
        "both strided": data[::2, ::2],
        "reversed": data[:20, 20:][::-1, ::-1],
        "broadcast rows": np.broadcast_to(data[0, :20], (20, 20)),
        "broadcast columns": np.broadcast_to(data[:20, :1], (20, 20)),
    }[layout]
    for b in (data[:20, :20], data[:20, 3:4]):
        y = np.empty((20, b.shape[1]))
        run(matmul, "matmul_forward_f64", x=[a, b], y=y, params=matmul_params(a, b, y))
        np.testing.assert_allclose(y, a @ b, rtol=1e-12, atol=1e-12)


# casts


@pytest.mark.parametrize("count", [0, 1, 5, 100])
@pytest.mark.parametrize("pair", ["f64_f32", "f32_f64", "b8_f64", "b8_f32", "i64_f64", "i64_f32"])
def test_cast(pair, count):
    source, target = (SOURCES[name] for name in pair.split("_"))
    data = np.round(3 * rng().standard_normal(count)).astype(source)
    for x in (data, data[::-1], np.repeat(data, 2)[::2]):
        for y in lines(target, count):
            run(cast, f"cast_{pair}_forward", count, x=[x], y=y, stride=one_stride(x), y_stride=one_stride(y))
            np.testing.assert_array_equal(y, x.astype(target))


@add_or_store
@pytest.mark.parametrize("count", [1, 5, 100])
@pytest.mark.parametrize("pair", ["f64_f32", "f32_f64"])
def test_cast_reverse(pair, count, store):
    operand, result = (DTYPES[name] for name in pair.split("_"))
    for y_bar in lines(result, count, seed=1):
        strides = {"y_stride": one_stride(y_bar)}
        for x_bar in lines(operand, count, seed=2):
            want = y_bar.astype(operand) if store else (x_bar + y_bar.astype(np.float64)).astype(operand)
            strides["stride"] = one_stride(x_bar)
            run(cast, f"cast_{pair}_reverse", count, x_bar=[x_bar], y_bar=y_bar, store=store, **strides)
            np.testing.assert_array_equal(x_bar, want)
        one, strides["stride"] = np.array([2], operand), 0
        run(cast, f"cast_{pair}_reverse", count, x_bar=[one], y_bar=y_bar, store=store, **strides)
        want = y_bar.astype(np.float64).sum() + (0 if store else 2)
        np.testing.assert_allclose(one[0], want, rtol=1e-6)


# guards


def test_guard_compares_bytes():
    seen, expected = np.arange(5.0), np.arange(5.0)
    params = [seen.nbytes, expected.ctypes.data]
    assert run(guard, "guard_forward", x=[seen], params=params) == 0
    expected[4] = np.nextafter(4, 5)
    assert run(guard, "guard_forward", x=[seen], params=params) == 1


@pytest.mark.parametrize("dtype", SOURCES)
@pytest.mark.parametrize("value", [0, 1, 3, -2, -0.0, 1e-40, np.nan, np.inf])
def test_truth_guard(dtype, value):
    if dtype == "i64" and not np.isfinite(value):
        value = 1
    seen = np.array([value]).astype(SOURCES[dtype])
    for expected in (0, 1):
        status = run(guard, f"truth_guard_forward_{dtype}", x=[seen], params=[expected])
        assert status == (bool(seen[0]) != bool(expected))


# The cache

_SECOND_PROCESS = """
import sys
from tapegrad import compiler
from tapegrad.kernels import accumulate, index, matmul
from numba.core.ccallback import CFunc
def refuse(self):
    raise AssertionError("compiled: " + self._pyfunc.__name__)
if sys.argv[1] == "hit":
    CFunc._compile_uncached = refuse
for function in (accumulate.accumulate_f64, index.gather_forward_f64, matmul.matmul_forward_f32):
    compiler.compile_kernel(function)
"""


def test_a_second_process_compiles_nothing(tmp_path):
    environment = {**os.environ, "TAPEGRAD_CACHE_DIR": str(tmp_path)}
    for word in ("miss", "hit"):
        command = [sys.executable, "-c", _SECOND_PROCESS, word]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
