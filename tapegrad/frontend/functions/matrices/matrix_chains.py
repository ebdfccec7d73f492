"""Products of several matrices: chains of different ones, and powers."""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.functions.matrices.matrices import inverse
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.tensor import Tensor, from_array

Splits = tuple[tuple[int, ...], ...]


def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """Multiply a chain of matrices, in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of Tensor or array_like
        Two matrices or more. The first may be a vector, taken as a row, and the last one, taken as a column.
    out : Tensor or numpy.ndarray, optional
        Destination of the result.

    Returns
    -------
    Tensor
        Without the dimensions that vectors do not have.

    Raises
    ------
    ValueError
        For fewer than two arrays, and if extents differ.

    References
    ----------
    T. H. Cormen et al., Introduction to Algorithms, chapter 15.2.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.multi_dot([tg.ones((2, 30)), tg.ones((30, 4)), tg.ones(4)])
    Tensor([120., 120.])
    """
    name = "numpy.linalg.multi_dot"
    factors = [as_numbers(each, name) for each in arrays]
    if len(factors) < 2:
        raise ValueError(f"{name}: a chain has two matrices or more, not {len(factors)}")
    first, last = factors[0], factors[-1]
    kept = first.shape[:-1] + last.shape[1:]
    factors[0] = reshape(first, (1, first.size)) if first.ndim == 1 else first
    factors[-1] = reshape(last, (last.size, 1)) if last.ndim == 1 else last
    _check_chain([x.shape for x in factors], name)
    splits = _best_splits((*(x.shape[0] for x in factors), factors[-1].shape[1]))
    result = reshape(_multiplied(factors, splits, 0, len(factors) - 1), kept)
    return result if out is None else deliver(result, out, name=name)


def _check_chain(shapes: list[tuple[int, ...]], name: str) -> None:
    given = ", ".join(map(str, shapes))
    if any(len(shape) != 2 for shape in shapes):
        raise ValueError(f"{name}: matrices must have two dimensions, not shapes {given}")
    for k, ((_, columns), (rows, _)) in enumerate(itertools.pairwise(shapes)):
        if columns != rows:
            raise ValueError(
                f"{name}: shapes {given} not aligned: {columns} (axis 1 of matrix {k}) != {rows} (axis 0 of matrix"
                f" {k + 1})"
            )


@functools.lru_cache(256)
def _best_splits(extents: tuple[int, ...]) -> Splits:
    """Return the best split of each part of the chain: the one of least cost."""
    count = len(extents) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + extents[i] * extents[k + 1] * extents[j + 1], k)
                for k in range(i, j)
            )
    return tuple(map(tuple, split))


def _multiplied(factors: list[Tensor], splits: Splits, i: int, j: int) -> Tensor:
    if i == j:
        return factors[i]
    k = splits[i][j]
    return matmul(_multiplied(factors, splits, i, k), _multiplied(factors, splits, k + 1, j))


def matrix_power(a: Any, n: int) -> Tensor:
    """Return square matrices multiplied by themselves.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.
    n : int
        Exponent; a negative one multiplies inverses. The power 0 is the identity, a constant.

    Returns
    -------
    Tensor, shape (..., m, m)
        Computed by repeated squaring.

    Raises
    ------
    LinAlgError
        If the matrices are not square, or one is singular and `n` negative.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.matrix_power(tg.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    Tensor([[1., 5.],
            [0., 1.]])
    """
    x, exponent = as_numbers(a, "numpy.linalg.matrix_power"), operator.index(n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError(
            f"numpy.linalg.matrix_power: matrices must be square, not of shape {x.shape}"
        )
    if exponent < 0:
        x, exponent = inverse(x, "numpy.linalg.matrix_power"), -exponent
    if exponent == 0:
        return from_array(np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), constant=True)
    return x.copy() if exponent == 1 else _power(x, exponent)


def _power(x: Tensor, exponent: int) -> Tensor:
    """Multiply the squarings of the matrix selected by the bits of the exponent."""
    if exponent == 1:
        return x
    half = _power(x, exponent // 2)
    square = matmul(half, half)
    return matmul(square, x) if exponent % 2 else square


LINALG = {"multi_dot": multi_dot, "matrix_power": matrix_power}
