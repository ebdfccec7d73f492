"""Functions that generated text calls where NumPy has none of the same meaning.

They take arrays, numbers and Tensors. Of arrays and numbers they return such: shapes and positions stay known while a
graph is recorded.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse  # noqa: TID253  this module itself is imported late

from tapegrad import linalg
from tapegrad.frontend.conversions.creation import array
from tapegrad.frontend.tensor.tensor import is_tensor

_LOG_2 = math.log(2.0)


def cast(x: Any, dtype: str) -> Any:
    """Return x in a dtype."""
    return x.astype(dtype) if hasattr(x, "astype") else np.asarray(x, dtype)[()]


def reshape(x: Any, shape: Any) -> Any:
    """Return x in a shape that is a vector."""
    return np.reshape(x, tuple(int(n) for n in shape))


def join_dims(x: Any, first: int, count: int) -> Any:
    """Return x with `count` axes, from `first` on, as one."""
    shape = np.shape(x)
    stop = first + count
    return np.reshape(x, (*shape[:first], math.prod(shape[first:stop]), *shape[stop:]))


def split_dims(x: Any, extents: Any, axis: int) -> Any:
    """Return x with several axes in place of one."""
    shape = np.shape(x)
    return np.reshape(x, (*shape[:axis], *(int(n) for n in extents), *shape[axis + 1 :]))


def make_vector(dtype: str, *elements: Any) -> Any:
    """Return a vector of scalars."""
    if any(map(is_tensor, elements)):
        return cast(np.stack([np.reshape(each, ()) for each in elements]), dtype)
    return np.array(elements, dtype)


def split(x: Any, axis: int, sizes: Any) -> Any:
    """Return the parts of x with these sizes along an axis."""
    if sum(int(n) for n in sizes) != np.shape(x)[axis]:
        raise ValueError(
            f"split: the sizes {[int(n) for n in sizes]} do not add up to the {np.shape(x)[axis]} elements of axis"
            f" {axis}"
        )
    return tuple(np.split(x, [int(n) for n in np.cumsum(sizes)[:-1]], axis=axis))


def specify_shape(x: Any, *shape: Any) -> Any:
    """Return x if it has a shape; `None` stands for any extent."""
    for extent, expected in zip(np.shape(x), shape, strict=True):
        if expected is not None and extent != int(expected):
            raise ValueError(f"an array of shape {np.shape(x)} where the graph says {shape}")
    return x


def set_at(x: Any, y: Any, index: Any) -> Any:
    """Return a copy of x with y at an index; of repeated positions the last one counts."""
    result = _copied(x, y)
    result[index] = y
    return result


def add_at(x: Any, y: Any, index: Any) -> Any:
    """Return a copy of x with y added at an index, as often as a position is repeated."""
    result = _copied(x, y)
    np.add.at(result, index, y)
    return result


def add_once_at(x: Any, y: Any, index: Any) -> Any:
    """Return a copy of x with y added at an index without repeated positions."""
    result = _copied(x, y)
    result[index] += y
    return result


def fill_diagonal(x: Any, y: Any) -> Any:
    """Return a copy of x with y on the diagonal."""
    return set_at(x, y, (np.arange(min(np.shape(x))),) * np.ndim(x))


def _copied(x: Any, y: Any) -> Any:
    """Return a copy that y can be written to."""
    if is_tensor(x):
        return x.copy()
    return array(x, constant=None) if is_tensor(y) else np.array(x)


def dense(x: Any) -> Any:
    """Return a sparse matrix as an array."""
    return x.toarray() if scipy.sparse.issparse(x) else x


def lu(a: Any, permute_l: bool, p_indices: bool) -> Any:
    """Return SciPy's LU factorization; the permutation as a matrix, as positions or within the lower factor."""
    factors = linalg.lu(a, permute_l=permute_l)
    return (np.argmax(factors[0], axis=-1), *factors[1:]) if p_indices else factors


def permutation(pivots: Any, inverse: bool) -> Any:
    """Return the order of rows that the exchanges of an LU factorization leave, or its inverse."""
    order = np.arange(len(pivots)) + 0 * pivots
    for i in range(len(pivots)):
        pair = np.stack([0 * pivots[i] + i, pivots[i]])
        order[pair] = order[pair[::-1]]
    return order if inverse else np.argsort(order)


def check(x: Any, message: str, *conditions: Any) -> Any:
    """Return x where all conditions hold, else nan; conditions on arrays that do not hold are errors.

    nan is what a sampler counts as a divergence, as it counts the exception that PyTensor raises.
    """
    open_ones = []
    for condition in conditions:
        if is_tensor(condition):
            open_ones.append(condition)
        elif not np.all(condition):
            raise ValueError(f"a condition of the graph on constants does not hold: {message}")
    if not open_ones:
        return x
    scalars = [condition if condition.ndim == 0 else np.all(condition) for condition in open_ones]
    holds: Any = scalars[0]
    for condition in scalars[1:]:
        holds = holds & condition
    return np.where(holds, x, np.nan)


def log_add_exp(*xs: Any) -> Any:
    """Return the logarithm of the sum of exponentials of several arrays."""
    return functools.reduce(np.logaddexp, xs)


def log1mexp(x: Any) -> Any:
    """Return log(1 - exp(x)) for x < 0, to all digits (Mächler 2012)."""
    return np.where(x < -_LOG_2, np.log1p(-np.exp(x)), np.log(-np.expm1(x)))


def round_away(x: Any) -> Any:
    """Round halves away from zero."""
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def choose(condition: Any, count: int, *branches: Any) -> Any:
    """Return the first or the last `count` values, by a number; of Tensors elementwise."""
    if is_tensor(condition):
        chosen = tuple(
            np.where(condition != 0, yes, no)
            for yes, no in zip(branches[:count], branches[count:], strict=True)
        )
    else:
        chosen = branches[:count] if condition else branches[count:]
    return chosen if count > 1 else chosen[0]


def over_batch(function: Callable[..., Any], core_ndims: Sequence[int], *values: Any) -> Any:
    """Call a function of cores for each element of a batch; stack its results.

    Parameters
    ----------
    function
        A function of arrays that returns an array, or a tuple.
    core_ndims
        The number of last axes of each operand that belong to its cores.
    *values
        Operands, whose first axes are the batch. They broadcast.
    """
    batches = [np.shape(x)[: np.ndim(x) - n] for x, n in zip(values, core_ndims, strict=True)]
    batch = np.broadcast_shapes(*batches)
    spread = [
        np.broadcast_to(x, batch + np.shape(x)[np.ndim(x) - n :])
        for x, n in zip(values, core_ndims, strict=True)
    ]
    found = [function(*(x[index] for x in spread)) for index in np.ndindex(batch)]
    if isinstance(found[0], tuple | list):
        return tuple(_stacked(list(each), batch) for each in zip(*found, strict=True))
    return _stacked(found, batch)


def _stacked(found: list[Any], batch: tuple[int, ...]) -> Any:
    return np.reshape(np.stack(found), batch + np.shape(found[0]))
