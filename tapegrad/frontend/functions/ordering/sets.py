"""Sets of elements; of equal elements, the first keeps the gradient.

Complex numbers are ordered by their real parts, equal ones by their imaginary parts, as in NumPy, which finds the
elements to keep; they are taken by number.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.guarded_results import call_guarded
from tapegrad.frontend.functions.ordering.selection import take
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.indexing.indexing import pick
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import ravel
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like


def _select(function: Callable[..., np.ndarray], name: str, *arrays: Any) -> Tensor:
    """Return the elements of several arrays selected by a function of the flat arrays, which returns numbers."""
    lines = [ravel(as_numbers(each, name)) for each in arrays]
    numbers = call_guarded(function, *lines)
    together = lines[0] if len(lines) == 1 else concatenate(lines)
    return pick(together, numbers, numbers.shape)


def _firsts(array: np.ndarray) -> np.ndarray:
    """Return the number of the first of each of the different elements, in their ascending order."""
    return np.unique(array, return_index=True)[1]


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the different elements, in ascending order.

    Parameters
    ----------
    ar : Tensor or array_like
        Input; flattened, unless `axis` is given.
    return_index : bool, default False
        Also return the indices of the first occurrences.
    return_inverse : bool, default False
        Also return the indices that build `ar` from the result.
    return_counts : bool, default False
        Also return how often each element occurs.
    axis : int, optional
        Axis whose slices are compared.
    equal_nan : bool, default True
        Whether all nan are one element.
    sorted : bool, default True
        Accepted because ``numpy.unique`` has it: the result is always sorted.

    Returns
    -------
    Tensor, or tuple of it and arrays of indices
        The gradient of an element flows to its first occurrence.

    Notes
    -----
    The shape depends on the elements: while a function is being recorded, the indices become a guard.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([3.0, 1.0, 3.0])
    >>> values, counts = tg.unique(x, return_counts=True)
    >>> values, counts
    (Tensor([1., 3.]), array([1, 2]))
    >>> values.backward()
    >>> x.grad
    array([1., 1., 0.])
    """
    x = as_numbers(ar, "numpy.unique")

    def indices(array: np.ndarray) -> Any:
        return np.unique(array, True, True, True, axis, equal_nan=equal_nan)[1:]

    first, inverse, counts = call_guarded(indices, x)
    values = take(x, first, axis)
    asked = (return_index, return_inverse, return_counts)
    others = [array for array, wanted in zip((first, inverse, counts), asked, strict=True) if wanted]
    return (values, *others) if others else values


def union1d(ar1: Any, ar2: Any) -> Tensor:
    """Return the different elements of two arrays, in ascending order.

    Parameters
    ----------
    ar1, ar2 : Tensor or array_like
        Input; flattened.

    Returns
    -------
    Tensor
        The gradient of an element flows to its first occurrence.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.union1d(tg.tensor([3.0, 1.0]), [2.0, 3.0])
    Tensor([1., 2., 3.])
    """
    return _select(lambda a, b: _firsts(np.concatenate([a, b])), "numpy.union1d", ar1, ar2)


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the elements that two arrays have in common, in ascending order.

    Parameters
    ----------
    ar1, ar2 : Tensor or array_like
        Input; flattened.
    assume_unique : bool, default False
        Whether the elements of each array are known to be different.
    return_indices : bool, default False
        Also return the indices of the elements in `ar1` and in `ar2`.

    Returns
    -------
    Tensor, or tuple of it and two arrays of indices
        The gradient flows to the first occurrences in `ar1`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.intersect1d(tg.tensor([3.0, 1.0]), [2.0, 3.0])
    Tensor([3.])
    """
    x, y = (ravel(as_numbers(each, "numpy.intersect1d")) for each in (ar1, ar2))

    def indices(a: np.ndarray, b: np.ndarray) -> Any:
        return np.intersect1d(a, b, assume_unique, True)[1:]

    first, second = call_guarded(indices, x, y)
    values = pick(x, first, first.shape).astype(np.result_type(x.dtype, y.dtype), copy=False)
    return (values, first, second) if return_indices else values


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """Return the elements of an array that are not in another one.

    Parameters
    ----------
    ar1, ar2 : Tensor or array_like
        Input; flattened.
    assume_unique : bool, default False
        Whether the elements of each array are known to be different. If so, the order is that of `ar1`, otherwise it
        is ascending.

    Returns
    -------
    Tensor
        The gradient flows to the first occurrences in `ar1`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.setdiff1d(tg.tensor([3.0, 1.0]), [2.0, 3.0])
    Tensor([1.])
    """
    x, y = (ravel(as_numbers(each, "numpy.setdiff1d")) for each in (ar1, ar2))

    def numbers(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        own = np.arange(a.size) if assume_unique else _firsts(a)
        return own[~np.isin(a[own], b)]

    kept = call_guarded(numbers, x, y)
    return pick(x, kept, kept.shape)


@like(
    setdiff1d,
    ("different. If so, the order is that of `ar1`, otherwise it\n    is ascending.", "different."),
    ("occurrences in `ar1`.", "occurrences."),
    summary="Return the elements that are in one of two arrays only, in ascending order.",
    examples=">>> tg.setxor1d(tg.tensor([3.0, 1.0]), [2.0, 3.0])\nTensor([1., 2.])",
)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:

    def numbers(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        own = [np.arange(each.size) if assume_unique else _firsts(each) for each in (a, b)]
        kept = np.concatenate([own[0], own[1] + a.size])
        values = np.concatenate([a, b])[kept]
        order = np.argsort(values, kind="stable")
        values, kept = values[order], kept[order]
        new = np.concatenate(([True], values[1:] != values[:-1], [True]))
        return kept[new[1:] & new[:-1]]

    return _select(numbers, "numpy.setxor1d", ar1, ar2)


FUNCTIONS = {function.__name__: function for function in (unique, union1d, intersect1d, setdiff1d, setxor1d)}
