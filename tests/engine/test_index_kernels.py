"""Kernels that read and write rows and regions, against NumPy's indexing, on raw frames."""

import numpy as np
import pytest

from helpers.kernel_frames import DTYPES, SOURCES, both_dtypes, rng, run
from helpers.table_loops import grouped
from tapegrad.engine.kernels.indexing import index, locate, region
from tapegrad.engine.kernels.language.status import OUT_OF_RANGE
from tapegrad.engine.kernels.lines import integers, search
from tapegrad.ops.params import Region
from tapegrad.ops.structural.indexing import (
    GatherParams,
    LocateParams,
    ScatterAddParams,
    ScatterWriteParams,
    WriteParams,
)
from tapegrad.ops.structural.lines import SearchParams

# gather


def sources(dtype):
    """Six rows of distinct numbers: of four, of one and of none."""
    data = (rng().permutation(24).reshape(6, 4) % (2 if dtype == np.bool_ else 24)).astype(dtype)
    return [data, data[:, 2:3].copy(), data[:, :0].copy()]


@pytest.mark.parametrize("dtype", SOURCES)
@pytest.mark.parametrize("rows", [[], [2], [0, 5, 5, -1, -6, 3]], ids=str)
def test_gather(dtype, rows):
    rows = np.array(rows, np.int64)
    for x in sources(SOURCES[dtype]):
        y = np.zeros((rows.size, x.shape[1]), x.dtype)
        assert (
            run(index, f"gather_forward_{dtype}", rows.size, x=[x, rows], y=y, params=GatherParams(*x.shape))
            == 0
        )
        np.testing.assert_array_equal(y, x[rows])


@both_dtypes
def test_gather_reverse_accumulates_repeated_rows(dtype):
    rows = np.array([0, 5, 5, -1, -6, 3])
    for x_bar in sources(DTYPES[dtype]):
        y_bar = rng().integers(0, 100, (rows.size, x_bar.shape[1])).astype(x_bar.dtype)
        want = x_bar.copy()
        np.add.at(want, rows, y_bar)
        frame_ = {"x": [None, rows], "x_bar": [x_bar], "y_bar": y_bar, "params": GatherParams(*x_bar.shape)}
        assert run(index, f"gather_reverse_{dtype}", rows.size, **frame_) == 0
        np.testing.assert_array_equal(x_bar, want)


@both_dtypes
@pytest.mark.parametrize("rows", [[], [0, 5, 5, -1, -6, 3, 5]], ids=str)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 20])
def test_rows_as_columns(dtype, length, rows):
    """The rows in the order of the list are the transposed array in memory, of gather and of its transpose."""
    rows = np.array(rows, np.int64)
    x = rng().normal(size=(6, length)).astype(DTYPES[dtype])
    columns = rng().normal(size=(length, rows.size)).astype(x.dtype)
    params, y = GatherParams(6, length, 1), np.empty_like(columns)
    assert run(index, f"gather_forward_{dtype}", rows.size, x=[x, rows], y=y, params=params) == 0
    np.testing.assert_array_equal(y, x[rows].T)
    want, x_bar = x.copy(), x.copy()
    np.add.at(want, rows, columns.T)
    frame_ = {"x": [None, rows], "x_bar": [x_bar], "y_bar": columns, "params": params}
    assert run(index, f"gather_reverse_{dtype}", rows.size, **frame_) == 0
    np.testing.assert_array_equal(x_bar, want)
    params, sums = ScatterAddParams(6, length, 1), np.full_like(x, 9.0)
    assert (
        run(index, f"scatter_add_forward_{dtype}", rows.size, x=[columns, rows], y=sums, params=params) == 0
    )
    want = np.zeros_like(x)
    np.add.at(want, rows, columns.T)
    np.testing.assert_array_equal(sums, want)
    for store, before in ((0, columns), (1, np.zeros_like(columns))):
        bar = columns.copy()
        frame_ = {"x": [None, rows], "x_bar": [bar], "y_bar": x, "params": params, "store": store}
        assert run(index, f"scatter_add_reverse_{dtype}", rows.size, **frame_) == 0
        np.testing.assert_array_equal(bar, before + x[rows].T)


@pytest.mark.parametrize("bad", [6, -7, 2**62, 2**63 - 1, -(2**63)])
def test_indexes_out_of_range_write_nothing(bad):
    rows, x, guard_ = np.array([1, bad]), np.ones((6, 4)), np.full((2, 4), 9.0)
    y, buffer = guard_.copy(), np.full((6, 4), 9.0)
    params = GatherParams(*x.shape)
    assert run(index, "gather_forward_f64", 2, x=[x, rows], y=y, params=params) == OUT_OF_RANGE
    assert (
        run(index, "gather_reverse_f64", 2, x=[x, rows], x_bar=[buffer], y_bar=x, params=params)
        == OUT_OF_RANGE
    )
    operands = [x, guard_, rows]
    params = ScatterWriteParams(*x.shape, 8)
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
    return WriteParams(buffer.size, Region(offset, region.shape, region.strides, value.strides))


def values_for(shape, dtype):
    """Values to write: full, transposed in memory, one element, one broadcast along the first dimension."""
    full = np.asarray(5 * rng().standard_normal(shape), dtype)
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


@grouped("key")
@pytest.mark.parametrize("dtype", SOURCES)
@pytest.mark.parametrize("key", REGIONS, ids=str)
@pytest.mark.parametrize("in_place", [False, True])
def test_write(dtype, key, in_place):
    old = np.round(3 * rng().standard_normal((5, 4, 6))).astype(SOURCES[dtype])
    for value in values_for(old[key].shape, old.dtype):
        x = old.copy()
        y = x if in_place else np.full_like(x, 99)
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


@grouped("key")
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


@pytest.mark.parametrize("dtype", SOURCES)
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("rows", [[], [4], [0, 5, 5, -1, -6, 3]], ids=str)
def test_scatter_write(dtype, in_place, rows):
    rows, old = np.array(rows, np.int64), np.round(3 * rng().standard_normal((6, 4))).astype(SOURCES[dtype])
    full = np.round(3 * rng().standard_normal((rows.size, 4))).astype(old.dtype)
    for value, step in [(full, old.itemsize), (np.array([7], old.dtype), 0)]:
        x, want = old.copy(), old.copy()
        y = x if in_place else np.full_like(x, 99)
        want[rows] = value
        params = ScatterWriteParams(*x.shape, step)
        assert (
            run(index, f"scatter_write_forward_{dtype}", rows.size, x=[x, value, rows], y=y, params=params)
            == 0
        )
        np.testing.assert_array_equal(y, want)


def test_scatter_write_of_a_part_of_the_buffer_itself():
    x, rows = np.arange(12.0).reshape(6, 2), np.array([1, 2, 3])
    params = ScatterWriteParams(*x.shape, 8)
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
    params = ScatterWriteParams(*x_bar.shape, 0 if scalar else x_bar.itemsize)
    frame_ = {"x": [None, None, rows], "x_bar": [x_bar, value_bar], "y_bar": y_bar, "params": params}
    assert run(index, f"scatter_write_reverse_{dtype}", rows.size, store=store, **frame_) == 0
    np.testing.assert_array_equal(x_bar, outside + (0 if store & 1 else 100))
    want = from_rows.sum() if scalar else from_rows
    np.testing.assert_array_equal(value_bar, want + (0 if store & 2 else 200))


# searchsorted, locate, and arithmetic of indices

INTEGERS = np.array([[5, -7, 0, 2**62, -(2**63)], [3, 0, -1, 2**62, -1]])


@pytest.mark.parametrize("dtype", ["f64", "f32", "i64"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_searchsorted(dtype, side, size):
    numbers = np.sort(rng().integers(0, 5, size)).astype(SOURCES[dtype])
    values = np.arange(-1, 6).astype(SOURCES[dtype])
    if dtype != "i64":
        values[0], numbers[size // 2 + 1 :] = np.nan, np.nan
    y = np.full(values.size, -9)
    params = SearchParams(size, int(side == "right"))
    assert (
        run(search, f"searchsorted_forward_{dtype}", values.size, x=[numbers, values], y=y, params=params)
        == 0
    )
    np.testing.assert_array_equal(y, np.searchsorted(numbers, values, side))


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("stride", [0, 1])
def test_locate(mode, stride):
    extent, step = 4, 10
    indices = np.array([0, 3, -1, -4] if mode == "raise" else [0, 3, -1, -9, 4, 11])
    numbers = np.arange(indices.size) * 100 if stride else np.array([7])
    y = np.empty_like(indices)
    params = LocateParams(extent, step, ("raise", "wrap", "clip").index(mode), stride)
    assert run(locate, "locate_forward_i64", indices.size, x=[numbers, indices], y=y, params=params) == 0
    np.testing.assert_array_equal(y, numbers + step * np.take(np.arange(extent), indices, mode=mode))


@pytest.mark.parametrize(
    ("extent", "index", "mode"), [(4, 4, 0), (4, -5, 0), (4, -(2**63), 0), (0, 0, 1), (0, 0, 2)]
)
def test_locate_refuses(extent, index, mode):
    fields = {"x": [np.zeros(1, int), np.array([index])], "y": np.zeros(1, int)}
    assert (
        run(locate, "locate_forward_i64", 1, params=LocateParams(extent, 1, mode, 0), **fields)
        == OUT_OF_RANGE
    )


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "floor_divide", "remainder", "minimum", "maximum",
                                  "less", "less_equal", "equal", "not_equal"])  # fmt: skip
def test_arithmetic_of_integers(name):
    a, b = INTEGERS
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, b)
    y = np.empty_like(expected)
    fields = {"x": [a, b], "y": y, "stride": [8, 8, 0], "y_stride": y.itemsize}
    assert run(integers, f"{name}_forward_i64", a.size, **fields) == 0
    np.testing.assert_array_equal(y, expected)


def test_choice_of_integers():
    (a, b), condition = INTEGERS, np.array([True, False, True, False, False])
    y = np.empty_like(a)
    fields = {"x": [condition, a, b], "y": y, "stride": [1, 8, 8], "y_stride": 8}
    assert run(integers, "where_forward_i64", a.size, **fields) == 0
    np.testing.assert_array_equal(y, np.where(condition, a, b))
