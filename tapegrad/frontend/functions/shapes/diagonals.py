"""Diagonals and triangles of matrices."""

import functools
import operator
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.functions.shapes.embedding import among_integers, among_zeros
from tapegrad.frontend.recording.elementwise import where
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import ravel
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, view_of
from tapegrad.frontend.words.derived_docs import like

_MAX_CACHED_ELEMENTS = 4096  # elements up to which the mask of a triangle is cached


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return a diagonal of a matrix, or of each matrix in a stack.

    Parameters
    ----------
    a : Tensor or array_like
        Array of two dimensions or more.
    offset : int, default 0
        Which diagonal: positive above the main one, negative below.
    axis1, axis2 : int, default 0 and 1
        The axes of the matrices. Their diagonals are along the last axis of the result.

    Returns
    -------
    Tensor
        A view of `a`, which cannot be written to.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.diagonal(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([1., 4.])
    """
    x = as_numbers(a, "numpy.diagonal")
    return view_of(x, x.data_or_traced().diagonal(offset, axis1, axis2))


def diag(v: Any, k: int = 0) -> Tensor:
    """Return a diagonal of a matrix, or make a matrix that has a vector as a diagonal.

    Parameters
    ----------
    v : Tensor or array_like
        A matrix or a vector.
    k : int, default 0
        Which diagonal: positive above the main one, negative below.

    Returns
    -------
    Tensor
        Of a matrix a view, which cannot be written to. Of a vector a square matrix with zeros elsewhere.

    Raises
    ------
    ValueError
        If `v` has neither one dimension nor two.

    Examples
    --------
    >>> import tapegrad as tg
    >>> d = tg.diag(tg.tensor([1.0, 2.0]))
    >>> d
    Tensor([[1., 0.],
            [0., 2.]])
    >>> tg.diag(d)
    Tensor([1., 2.])
    """
    x = as_numbers(v, "numpy.diag")
    shape = x.shape
    if len(shape) == 1:
        return _on_diagonal(x, k)
    if len(shape) != 2:
        raise ValueError(f"numpy.diag: a Tensor of shape {shape} is neither a vector nor a matrix")
    return diagonal(x, k)


def _on_diagonal(x: Tensor, k: int) -> Tensor:
    """Return a matrix of zeros with a vector on a diagonal."""
    n = x.shape[0] + abs(k)
    if x.dtype.kind not in DIFFERENTIABLE_KINDS:
        numbers = np.arange(x.shape[0])
        return among_integers(x, np.zeros((n, n), x.dtype), (numbers + max(-k, 0), numbers + max(k, 0)))
    return among_zeros(x, (n, n), max(k, -k * n), (n + 1,), "numpy.diag")


@like(
    diag,
    ("A matrix or a vector.", "Elements in C order."),
    ("Of a matrix a view, which cannot be written to. Of a vector a square", "A square"),
    summary="Make a matrix that has all elements of the input on a diagonal.",
    raises="",
    examples=">>> tg.diagflat([[1.0], [2.0]])\nTensor([[1., 0.],\n        [0., 2.]])",
)
def diagflat(v: Any, k: int = 0) -> Tensor:
    return _on_diagonal(ravel(as_numbers(v, "numpy.diagflat")), k)


def tril(m: Any, k: int = 0) -> Tensor:
    """Return the lower triangle of a matrix, with zeros above it.

    Parameters
    ----------
    m : Tensor or array_like, shape (..., m, n)
        A matrix or a stack of matrices. A vector is taken as every row of a square matrix.
    k : int, default 0
        The last diagonal that is kept: positive above the main one, negative below.

    Returns
    -------
    Tensor, shape (..., m, n)
        A copy.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tril(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[1., 0.],
            [3., 4.]])
    """
    x = as_numbers(m, "numpy.tril")
    return where(_triangle(x, k, "numpy.tril"), x, _zero(x))


@like(
    tril,
    ("the lower triangle of a matrix, with zeros above", "the upper triangle of a matrix, with zeros below"),
    ("The last diagonal", "The first diagonal"),
    examples=""">>> tg.triu(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
Tensor([[1., 2.],
        [0., 4.]])""",
)
def triu(m: Any, k: int = 0) -> Tensor:
    x = as_numbers(m, "numpy.triu")
    return where(_triangle(x, operator.index(k) - 1, "numpy.triu"), _zero(x), x)


def _triangle(x: Tensor, k: int, name: str) -> np.ndarray:
    """Return the mask of the lower triangle of the matrices."""
    shape, k = x.shape, operator.index(k)
    if not shape:
        raise ValueError(f"{name}: a 0-dimensional Tensor has no triangles")
    rows, columns = (shape * 2)[-2:]
    return (
        _small_triangle(rows, columns, k)
        if rows * columns <= _MAX_CACHED_ELEMENTS
        else np.tri(rows, columns, k, bool)
    )


@functools.lru_cache(64)
def _small_triangle(rows: int, columns: int, k: int) -> np.ndarray:
    mask = np.tri(rows, columns, k, bool)
    mask.flags.writeable = False
    return mask


def _zero(x: Tensor) -> Any:
    return 0.0 if x.dtype.kind in DIFFERENTIABLE_KINDS else np.zeros((), x.dtype)


FUNCTIONS = {function.__name__: function for function in (diagonal, diag, diagflat, tril, triu)}

bind_methods(diagonal=diagonal)
