"""Search in sorted arrays: `searchsorted` and `digitize`, of plain numbers or as instructions."""

from typing import Any

import numpy as np

from tapegrad.frontend.conversions.guarded_results import call_guarded, is_computed, is_recording
from tapegrad.frontend.functions.ordering.selection import take
from tapegrad.frontend.functions.reductions.predicates import all as every
from tapegrad.frontend.functions.reductions.predicates import any as some
from tapegrad.frontend.recording.record_structural import as_tensor, record_new
from tapegrad.frontend.recording.shape import in_c_order
from tapegrad.frontend.tensor.array_checks import real_numbers
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops import CODES
from tapegrad.ops.structural.lines import SearchParams

_SEARCH = CODES["searchsorted"]
_INT64 = np.dtype(np.int64)
_SIDES = ("left", "right")


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Return where elements would have to be inserted to keep the order.

    Parameters
    ----------
    a : Tensor or array_like
        Numbers in ascending order, in one dimension.
    v : Tensor or array_like
        Elements to insert.
    side : {'left', 'right'}, default 'left'
        Before or behind equal elements.
    sorter : array_like of int, optional
        Indices that sort `a`, if it is not sorted.

    Returns
    -------
    int or numpy.ndarray of int
        Plain numbers, through which no gradient flows. While a function is being recorded, a Tensor of integers that
        each replay computes, and that others can be indexed with.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.searchsorted(tg.tensor([1.0, 2.0, 3.0]), 2.5)
    np.int64(2)
    """
    if not (is_recording() and (is_computed(a) or is_computed(v))):
        a, v = real_numbers(a, "searchsorted"), real_numbers(v, "searchsorted")
        return call_guarded(np.searchsorted, a, v, side, sorter)
    if side not in _SIDES:
        raise ValueError(f"numpy.searchsorted: side must be 'left' or 'right', not {side!r}")
    numbers = as_tensor(a, "numpy.searchsorted")
    if numbers.ndim != 1:
        raise ValueError(f"numpy.searchsorted: numbers of shape {numbers.shape} are not in one dimension")
    if sorter is not None:
        if np.shape(sorter) != numbers.shape:
            raise ValueError("numpy.searchsorted: the sorter must be as long as the numbers")
        numbers = take(numbers, sorter)
    return insertion_points(numbers, as_tensor(v, "numpy.searchsorted"), side == "right")


def insertion_points(numbers: Tensor, values: Tensor, right: bool) -> Tensor:
    """Find insertion positions among sorted numbers by an instruction; behind equal ones if `right`."""
    dtype = np.result_type(numbers.dtype, values.dtype)
    if dtype.kind != "f":
        dtype = _INT64
    with no_grad():
        numbers, values = (_ready(x, dtype) for x in (numbers, values))
        params = SearchParams(numbers.size, int(right))
        return record_new(_SEARCH, [numbers, values], values.shape, params, "searchsorted", _INT64)


def _ready(x: Tensor, dtype: np.dtype[Any]) -> Tensor:
    return in_c_order(x.astype(dtype, copy=False))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return the number of the bin that each element belongs to.

    Parameters
    ----------
    x : Tensor or array_like
        Elements.
    bins : Tensor or array_like
        Ends of the bins, ascending or descending, in one dimension.
    right : bool, default False
        Whether the end of a bin on the right belongs to it, instead of that on the left.

    Returns
    -------
    int or numpy.ndarray of int
        Plain numbers, through which no gradient flows. While a function is being recorded, a Tensor of integers that
        each replay computes; whether bins that it computes ascend is a guard.

    Raises
    ------
    ValueError
        If the bins are not in order.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.digitize(tg.tensor([0.5, 1.5]), [0.0, 1.0, 2.0])
    array([1, 2])
    """
    if not (is_recording() and (is_computed(x) or is_computed(bins))):
        return call_guarded(np.digitize, real_numbers(x, "digitize"), real_numbers(bins, "digitize"), right)
    ends, values = as_tensor(bins, "numpy.digitize"), as_tensor(x, "numpy.digitize")
    if ends.ndim != 1:
        raise ValueError(f"numpy.digitize: bins of shape {ends.shape} are not in one dimension")
    with no_grad():
        if not some(ends[1:] < ends[:-1]):
            return insertion_points(ends, values, not right)
        if not every(ends[1:] <= ends[:-1]):
            raise ValueError("numpy.digitize: bins must ascend or descend")
        return ends.size - insertion_points(ends[::-1], values, not right)


FUNCTIONS = {function.__name__: function for function in (searchsorted, digitize)}


@like(
    searchsorted,
    ("integers that\n    each replay computes, and that others can be indexed with.", "integers."),
    summary="Return where the elements of `v` would have to be inserted to keep the order.",
    parameters="""v : array_like
    Elements to insert.
side : {'left', 'right'}, default 'left'
    Before or behind equal elements.
sorter : array_like of int, optional
    Indices that sort the Tensor, if it is not sorted.""",
    see_also="tapegrad.searchsorted : The same as a function.",
    examples=">>> tg.tensor([1.0, 2.0, 3.0]).searchsorted(2.5)\nnp.int64(2)",
)
def _searchsorted_method(a: Tensor, v: Any, side: str = "left", sorter: Any = None) -> Any:
    return searchsorted(a, v, side, sorter)


bind_methods(searchsorted=_searchsorted_method)
