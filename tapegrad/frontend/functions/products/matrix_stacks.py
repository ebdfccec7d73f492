"""Functions of `numpy.linalg` that differ from those of `numpy`: they work on the last axes, as in the array API."""

from typing import Any

from tapegrad.frontend.functions.products import generalized, linalg, products, vectors
from tapegrad.frontend.functions.shapes import diagonals
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import swapaxes
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like


def outer(x1: Any, x2: Any, /) -> Tensor:
    """Compute the outer product of two vectors.

    Parameters
    ----------
    x1, x2 : Tensor or array_like
        Vectors.

    Returns
    -------
    Tensor
        Shape ``(x1.size, x2.size)``.

    Raises
    ------
    ValueError
        If an operand is no vector.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.outer(tg.tensor([1.0, 2.0]), [1.0, 10.0])
    Tensor([[ 1., 10.],
            [ 2., 20.]])
    """
    a, b = as_numbers(x1, "numpy.linalg.outer"), as_numbers(x2, "numpy.linalg.outer")
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(
            f"numpy.linalg.outer: operands must be vectors, not arrays of shapes {a.shape} and {b.shape}"
        )
    result: Tensor = products.outer(a, b)
    return result


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Compute the cross product of vectors of three components.

    Parameters
    ----------
    x1, x2 : Tensor or array_like
        Vectors along an axis; their other axes broadcast.
    axis : int, default -1
        The axis that the components are along, in the operands and in the result.

    Returns
    -------
    Tensor
        Vectors perpendicular to both.

    Raises
    ------
    ValueError
        If vectors do not have three components.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.cross(tg.tensor([1.0, 0.0, 0.0]), [0.0, 1.0, 0.0])
    Tensor([0., 0., 1.])
    """
    a, b = as_numbers(x1, "numpy.linalg.cross"), as_numbers(x2, "numpy.linalg.cross")
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(
            f"numpy.linalg.cross: vectors must have 3 components along axis {axis}, not shapes {a.shape} and {b.shape}"
        )
    return vectors.cross(a, b, axis=axis)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Return the sums along the diagonals of matrices.

    Parameters
    ----------
    x : Tensor or array_like, shape (..., m, n)
        Matrices.
    offset : int, default 0
        Which diagonal: 0 is the main one, positive ones are above it.
    dtype : data-type, optional
        Dtype in which to sum.

    Returns
    -------
    Tensor
        Without the last two axes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.trace(tg.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    Tensor([5.])
    """
    result: Tensor = vectors.trace(x, offset, -2, -1, dtype)
    return result


@like(
    trace,
    ("\ndtype : data-type, optional\n    Dtype in which to sum.", ""),
    summary="Return the diagonals of matrices.",
    returns="""Tensor
    A view of `x`, which cannot be written to; the diagonals are along the last axis.""",
    examples=">>> tg.linalg.diagonal(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))\nTensor([1., 4.])",
)
def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    return diagonals.diagonal(as_numbers(x, "numpy.linalg.diagonal"), offset, -2, -1)


def matrix_transpose(x: Any, /) -> Tensor:
    """Interchange rows and columns of matrices.

    Parameters
    ----------
    x : Tensor or array_like, shape (..., m, n)
        Matrices.

    Returns
    -------
    Tensor, shape (..., n, m)
        A view of `x`.

    Raises
    ------
    ValueError
        If `x` has fewer than two dimensions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.matrix_transpose(tg.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    matrices = as_numbers(x, "numpy.linalg.matrix_transpose")
    if matrices.ndim < 2:
        raise ValueError(
            f"numpy.linalg.matrix_transpose: matrices have two dimensions, not shape {matrices.shape}"
        )
    return swapaxes(matrices, -1, -2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """Compute sums of products of elements over chosen axes of two Tensors.

    Parameters
    ----------
    x1, x2 : Tensor or array_like
        Operands.
    axes : int or pair of int or sequences of int, default 2
        As for `tapegrad.tensordot`.

    Returns
    -------
    Tensor
        Has the other axes of `x1`, then those of `x2`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.tensordot(tg.ones((2, 3)), tg.ones((3, 5)), axes=1).shape
    (2, 5)
    """
    return products.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Compute dot products of vectors.

    Parameters
    ----------
    x1, x2 : Tensor or array_like
        Vectors along an axis; their other axes broadcast.
    axis : int, default -1
        The axis of the vectors.

    Returns
    -------
    Tensor
        Without that axis.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.vecdot(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), [1.0, 10.0])
    Tensor([21., 43.])
    """
    result: Tensor = generalized.vecdot(x1, x2, axis=axis)
    return result


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """Multiply matrices, vectors, or stacks of matrices.

    Parameters
    ----------
    x1, x2 : Tensor or array_like
        As for `tapegrad.matmul`.

    Returns
    -------
    Tensor
        The product.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.matmul(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), [1.0, 10.0])
    Tensor([21., 43.])
    """
    return linalg.matmul(x1, x2)


LINALG = {
    function.__name__: function
    for function in (outer, cross, trace, diagonal, matrix_transpose, tensordot, vecdot, matmul)
}
