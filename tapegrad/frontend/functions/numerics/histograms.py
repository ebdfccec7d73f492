"""Counts: of nonzero elements, of elements in bins, of integers; sums of weights by integer."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.guarded_results import call_guarded, is_computed, is_recording
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.indexing.indexing import scatter_add
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.record import cast, read_now
from tapegrad.frontend.tensor.array_checks import real_numbers
from tapegrad.frontend.tensor.modes import current, no_grad
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.array_like import Axis
from tapegrad.frontend.words.numpy_docs import HISTOGRAMS, describe


def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Count the elements along axes that are not zero.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to count.
    axis : int or tuple of int, optional
        Axes to count along; all by default.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.

    Returns
    -------
    int or numpy.ndarray of int
        While a function is being recorded, a Tensor of integers that each replay computes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.count_nonzero(tg.tensor([0.0, 5.0, 6.0]))
    np.int64(2)
    """
    if not (is_recording() and is_computed(a) and a.dtype.kind in "fcb"):
        return call_guarded(np.count_nonzero, a, axis, keepdims=keepdims)
    with no_grad():
        ones = select(a, np.ones(()), np.zeros(()))  # float64 is exact for these counts
        return cast(sum(ones, axis, keepdims=keepdims), np.dtype(np.int64), current()[0])


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Count how often each number occurs among integers that are not negative, or sum the weights there.

    Parameters
    ----------
    x : Tensor or array_like of int
        Numbers, in one dimension. A recording guards them.
    weights : Tensor or array_like, optional
        Weight of each number, in the shape of `x`.
    minlength : int, default 0
        The least extent of the result.

    Returns
    -------
    numpy.ndarray or Tensor
        The counts as an array; the sums of weights as a Tensor, through which their gradient flows.

    Raises
    ------
    ValueError
        If a number is negative, or the shapes differ.

    Examples
    --------
    >>> import tapegrad as tg
    >>> weights = tg.tensor([1.0, 2.0, 3.0])
    >>> tg.bincount([0, 2, 2], weights)
    Tensor([1., 0., 5.])
    """
    if not is_tensor(weights):
        return call_guarded(np.bincount, x, weights, minlength)
    numbers = read_now(x)
    count = len(np.bincount(numbers, weights.data_or_traced(), minlength))  # raises NumPy's errors too
    return scatter_add(weights.astype(np.float64, copy=False), numbers, (count,))


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    """Count the elements in bins.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to count.
    bins : int, str or array_like, default 10
        Number of bins, method for their choice, or their edges, as for ``numpy.histogram``.
    range : tuple of float, optional
        Ends of the outermost bins.
    density : bool, optional
        Whether the result is a density, whose integral is 1.
    weights : array_like, optional
        Weight of each element.

    Returns
    -------
    tuple of numpy.ndarray
        The counts and the edges: plain numbers, through which no gradient flows.

    Raises
    ------
    UnsupportedError
        For weights that have a gradient.

    Notes
    -----
    While a function is being recorded, the result becomes a guard: a replay computes it again, and other data
    are replayed as long as it is the same.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.histogram(tg.tensor([1.0, 2.0, 2.5]), bins=[0.0, 2.0, 4.0])[0]
    array([1, 2])
    """
    _refuse_weights("numpy.histogram", weights)
    return call_guarded(np.histogram, real_numbers(a, "numpy.histogram"), bins, range, density, weights)


def _refuse_weights(name: str, weights: Any) -> None:
    """Raise for weights whose gradient would be lost."""
    if is_tensor(weights) and not weights.constant:
        raise UnsupportedError(
            f"{name}: weights that have a gradient are not supported; find the bins with digitize, and sum the weights"
            " with bincount(bins, weights)"
        )


def _of_counts(name: str) -> Callable[..., Any]:
    """Wrap a NumPy function that counts in bins; a recording guards its result."""
    function: Callable[..., Any] = getattr(np, name)

    @functools.wraps(function)
    def of_counts(*args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
        _refuse_weights(f"numpy.{name}", given.get("weights"))
        real_numbers(args, f"numpy.{name}")
        return call_guarded(function, *args, **kwargs)

    describe(of_counts, name)
    return of_counts


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (count_nonzero, bincount, histogram)},
    **{name: _of_counts(name) for name in HISTOGRAMS},
}
