"""Views: what `View` says of offset, shape and strides is what NumPy says of the array, and so does compiled code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad as tg
from tapegrad.engine.tape.fields.view import View

_BASE = np.arange(60.0).reshape(3, 4, 5)

ARRAYS = {
    "all of it": _BASE,
    "transposed": _BASE.T,
    "reversed": _BASE[::-1, :, ::-2],
    "a part": _BASE[1:, 2, 1:4],
    "one element": _BASE[1, 2, 3, ...],
    "axes of length one": _BASE[:1, :, :1],
    "rows": _BASE[1:3],
    "no elements": _BASE[:, 1:1],
    "no elements at all": _BASE[3:, :, ::-1],
    "repeated": np.broadcast_to(_BASE[0, 0, :], (2, 5)),
    "repeated and reversed": np.broadcast_to(_BASE[0, ::-1, 1:2], (4, 3)),
    "repeated once": np.broadcast_to(_BASE[0, 0, :1], (1,)),
}


def view_on(array: np.ndarray, base: np.ndarray) -> View:
    return View(array.ctypes.data - base.ctypes.data, array.shape, array.strides, array.dtype)


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_a_view_is_what_numpy_says(array: np.ndarray) -> None:
    view = view_on(array, _BASE)
    assert (view.ndim, view.size, view.itemsize, view.nbytes) == (
        array.ndim, array.size, array.itemsize, array.nbytes,
    )  # fmt: skip
    assert view.contiguous == array.flags.c_contiguous
    low, high = np.lib.array_utils.byte_bounds(array)
    start = _BASE.ctypes.data
    assert view.bounds == ((low - start, high - start) if array.size else (view.offset, view.offset))
    assert view.covers(_BASE.nbytes) == (array.size == 60 and array.flags.c_contiguous)
    places = view_on(array, _BASE).offset + sum(
        (np.indices(array.shape)[d] * array.strides[d] for d in range(array.ndim)), np.zeros(array.shape)
    )
    assert view.overlaps == (len(np.unique(places)) < array.size)


@given(st.lists(st.integers(0, 4), max_size=4), st.sampled_from([np.float64, np.float32, np.bool_]))
def test_c_order_is_numpys(extents: list[int], dtype: type) -> None:
    array = np.empty(tuple(extents), dtype)
    view = View.in_c_order(array.shape, array.dtype, offset=8)
    assert view.contiguous
    assert view.offset == 8
    if array.size:
        assert view.strides == array.strides
    assert view.covers(array.nbytes)


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_compiled_code_reads_the_same_elements(array: np.ndarray) -> None:
    """Bounds decide what memory a slot is on, order what a replay takes as it lies."""
    f = tg.jit(lambda x: x * array)
    np.testing.assert_array_equal(f(np.ones(array.shape)), array)
    np.testing.assert_array_equal(f(np.array(array, order="F")), array * array)
    x = tg.asarray(array)
    np.testing.assert_array_equal((x + x).data, array + array)


def test_axes_are_selected() -> None:
    view = view_on(_BASE, _BASE)
    assert view.select_axes([2, 0]) == view_on(_BASE.T[:, 0], _BASE)
