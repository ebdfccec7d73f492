"""Counts: of nonzero elements, of elements in bins, of integers; sums of weights by integer."""

import functools
import inspect
import math
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
from tapegrad.frontend.words.function_names import full_name
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
    weights : Tensor or array_like, optional
        Weight of each element.

    Returns
    -------
    tuple of numpy.ndarray
        The counts and the edges: plain numbers, through which no gradient flows. Sums of weights that have a gradient
        are a Tensor, through which it flows.

    Notes
    -----
    While a function is being recorded, the result becomes a guard, or with weights that have a gradient the bin of each
    element: a replay computes it again, and other data are replayed as long as it is the same.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.histogram(tg.tensor([1.0, 2.0, 2.5]), bins=[0.0, 2.0, 4.0])[0]
    array([1, 2])
    """
    arguments = {"a": a, "bins": bins, "range": range, "density": density, "weights": weights}
    return _counted(np.histogram, arguments)


def _counted(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Return what a NumPy function counts; sum weights that have a gradient by the bins of their elements."""
    name, weights = full_name(function), arguments.get("weights")
    real_numbers(list(arguments.values())[:2], name)
    if not is_tensor(weights) or weights.constant:
        return call_guarded(function, **arguments)
    if function is np.histogram_bin_edges:
        raise UnsupportedError(
            f"{name}: weights that have a gradient are not supported; the edges do not depend on them"
        )
    density = arguments.pop("density", None)
    numbers, edges = call_guarded(_bins(function), **arguments | {"weights": np.zeros(weights.shape)})
    lines = edges[0] if function is np.histogramdd else edges
    shape = [len(line) - 1 for line in lines]
    sums = bincount(numbers, weights.reshape(-1), math.prod(shape) + 1)[:-1].reshape(shape)
    if density:
        sums = sums / sum(sums) / functools.reduce(np.multiply.outer, map(np.diff, lines))
    return (sums.astype(weights.dtype, copy=False) if function is np.histogram else sums, *edges)


def _coordinates(arguments: dict[str, Any]) -> list[np.ndarray]:
    """Return the coordinates of samples along each axis, as NumPy takes them from the arguments."""
    if "a" in arguments:
        return [np.ravel(arguments["a"])]
    if "sample" not in arguments:
        return [np.asarray(arguments["x"]), np.asarray(arguments["y"])]
    samples = arguments["sample"]
    is_table = np.ndim(samples) == 2 and hasattr(samples, "shape")  # a row a sample
    return list(map(np.asarray, samples.T if is_table else np.atleast_2d(samples)))


@functools.cache
def _bins(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function that numbers the bins of samples, behind the last bin those outside, and returns all edges."""

    @functools.wraps(function)
    def bins(*, weights: np.ndarray, **arguments: Any) -> Any:
        _, *edges = function(**arguments, weights=weights)
        numbers, inside = np.zeros(weights.size, np.int64), np.ones(weights.size, bool)
        lines = edges[0] if function is np.histogramdd else edges
        for values, ends in zip(_coordinates(arguments), lines, strict=True):
            inside &= (values >= ends[0]) & (values <= ends[-1])
            last = values == ends[-1]  # is in the bin before
            numbers = numbers * (len(ends) - 1) + np.searchsorted(ends, values, "right") - 1 - last
        return np.where(inside, numbers, math.prod(len(ends) - 1 for ends in lines)), edges

    return bins


def _of_counts(name: str) -> Callable[..., Any]:
    """Wrap a NumPy function that counts in bins; a recording guards its result."""
    function: Callable[..., Any] = getattr(np, name)

    @functools.wraps(function)
    def of_counts(*args: Any, **kwargs: Any) -> Any:
        return _counted(function, dict(inspect.signature(function).bind(*args, **kwargs).arguments))

    describe(of_counts, name)
    return of_counts


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (count_nonzero, bincount, histogram)},
    **{name: _of_counts(name) for name in HISTOGRAMS},
}
