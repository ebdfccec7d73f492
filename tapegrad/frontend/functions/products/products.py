"""Inner, outer and tensor products of vectors and arrays."""

import functools
from typing import Any

from numpy.lib.array_utils import normalize_axis_tuple

from tapegrad.frontend.conversions.complex_views import conjugate
from tapegrad.frontend.functions.products.contraction import plan_of_axes, run
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import ravel, reshape
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods

Axes = tuple[int, ...]


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Return the dot product of two Tensors.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., k)
        Left operand; its last axis is summed over.
    b : Tensor or array_like, shape (..., k, n) or (k,)
        Right operand; its second-to-last axis, or its only one, is summed over.
    out : Tensor or numpy.ndarray, optional
        Destination of the result.

    Returns
    -------
    Tensor
        Shape ``a.shape[:-1] + b.shape[:-2] + b.shape[-1:]``, or ``a.shape[:-1]`` if `b` is a vector. If an operand
        is 0-dimensional, it is ``a * b``.

    Raises
    ------
    ValueError
        If the extents that are summed over differ.

    See Also
    --------
    matmul : Differs in that leading dimensions broadcast.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.dot(tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0]))
    Tensor(11.)
    """
    x, y = as_numbers(a, "numpy.dot"), as_numbers(b, "numpy.dot")
    if x.ndim == 0 or y.ndim == 0:
        result = x * y
    elif x.size == 1 == y.size:
        result = _product_of_one_element(x, y, 1)
    elif y.ndim <= 2:
        result = matmul(x, y)
    else:
        result = _contracted(x, y, (x.ndim - 1,), (y.ndim - 2,), "numpy.dot")
    return result if out is None else deliver(result, out, name="numpy.dot")


def inner(a: Any, b: Any, /) -> Tensor:
    """Compute the inner product over the last axes of two Tensors.

    Parameters
    ----------
    a, b : Tensor or array_like
        Their last extents agree. A number multiplies the other operand.

    Returns
    -------
    Tensor
        Shape ``a.shape[:-1] + b.shape[:-1]``.

    Raises
    ------
    ValueError
        If the last extents differ.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.inner(tg.tensor([1.0, 2.0]), [[1.0, 0.0], [3.0, 4.0]])
    Tensor([ 1., 11.])
    """
    x, y = as_numbers(a, "numpy.inner"), as_numbers(b, "numpy.inner")
    ndims = x.ndim, y.ndim
    if 0 in ndims:
        return x * y
    if ndims == (1, 1) and x.size == y.size > 1:
        return matmul(x, y)
    return _contracted(x, y, (ndims[0] - 1,), (ndims[1] - 1,), "numpy.inner")


def vdot(a: Any, b: Any, /) -> Tensor:
    """Compute the dot product of all elements of two Tensors.

    Parameters
    ----------
    a, b : Tensor or array_like
        They have equally many elements, which are taken in C order. Of complex numbers, those of `a` are conjugated.

    Returns
    -------
    Tensor
        Without dimensions.

    Raises
    ------
    ValueError
        If the numbers of elements differ.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.vdot(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.ones((2, 2)))
    Tensor(10.)
    """
    x, y = as_numbers(a, "numpy.vdot"), as_numbers(b, "numpy.vdot")
    if x.size != y.size:
        raise ValueError(f"numpy.vdot: operands of shapes {x.shape} and {y.shape} differ in size")
    return matmul(conjugate(_flat(x)), _flat(y))


def _flat(x: Tensor) -> Tensor:
    return x if x.ndim == 1 else ravel(x)


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Compute the outer product of the elements of two Tensors.

    Parameters
    ----------
    a, b : Tensor or array_like
        Operands of any shape, which are flattened.
    out : Tensor or numpy.ndarray, optional
        Destination of the result.

    Returns
    -------
    Tensor, shape (a.size, b.size)
        ``out[i, j] = a[i] * b[j]``.

    See Also
    --------
    tensordot : Keeps the dimensions of the operands with ``axes=0``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.outer(tg.tensor([1.0, 2.0]), [1.0, 10.0])
    Tensor([[ 1., 10.],
            [ 2., 20.]])
    """
    x, y = as_numbers(a, "numpy.outer"), as_numbers(b, "numpy.outer")
    result = reshape(x, (-1 if x.size else 0, 1)) * _flat(y)
    return result if out is None else deliver(result, out, name="numpy.outer")


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Compute sums of products of elements over chosen axes of two Tensors.

    Parameters
    ----------
    a, b : Tensor or array_like
        Operands.
    axes : int or pair of int or sequences of int, default 2
        The axes of `a` and those of `b` that are summed over, in pairs; or how many of the last of `a` and the first of
        `b`.

    Returns
    -------
    Tensor
        Has the other axes of `a`, then those of `b`.

    Raises
    ------
    ValueError
        If the extents of a pair differ.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tensordot(tg.ones((2, 3, 4)), tg.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
    (2, 5)
    """
    x, y = as_numbers(a, "numpy.tensordot"), as_numbers(b, "numpy.tensordot")
    x_shape, y_shape = x.shape, y.shape
    if type(axes) is int and 0 <= axes <= min(len(x_shape), len(y_shape)):
        own, others = tuple(range(len(x_shape) - axes, len(x_shape))), tuple(range(axes))
        return _contracted(x, y, own, others, "numpy.tensordot")
    own, others = _pairs(axes, len(x_shape))
    if len(own) != len(others):
        raise ValueError(f"numpy.tensordot: {len(own)} axes of one operand and {len(others)} of the other")
    x_axes, y_axes = (normalize_axis_tuple(each, t.ndim, "axes") for each, t in ((own, x), (others, y)))
    return _contracted(x, y, x_axes, y_axes, "numpy.tensordot")


def _pairs(axes: Any, ndim: int) -> tuple[Axes, Axes]:
    """Return the axes of both operands that an argument `axes` names."""
    if hasattr(axes, "__index__"):
        count = int(axes)
        return tuple(range(ndim - count, ndim)), tuple(range(count))
    own, others = axes
    return _several(own), _several(others)


def _several(axes: Any) -> Axes:
    return (int(axes),) if hasattr(axes, "__index__") else tuple(axes)


def _contracted(x: Tensor, y: Tensor, x_axes: Axes, y_axes: Axes, name: str) -> Tensor:
    """Sum over pairs of axes: one product of the operands as matrices."""
    x_shape, y_shape = x.shape, y.shape
    if [x_shape[k] for k in x_axes] != [y_shape[k] for k in y_axes]:
        raise ValueError(f"{name}: axes {x_axes} of {x_shape} and {y_axes} of {y_shape} differ in extent")
    if x.size == 1 == y.size:
        return _product_of_one_element(x, y, len(x_axes))
    result: Tensor = run(plan_of_axes((x_shape, y_shape), x_axes, y_axes), [x, y])
    return result


def _product_of_one_element(x: Tensor, y: Tensor, pairs: int) -> Tensor:
    """Return the product of arrays of one element, without the paired axes; it may be -0.0, as in NumPy."""
    return reshape(x * y, (1,) * (x.ndim + y.ndim - 2 * pairs))


def kron(a: Any, b: Any) -> Tensor:
    """Compute the Kronecker product: the second Tensor, scaled by each element of the first.

    Parameters
    ----------
    a, b : Tensor or array_like
        If one has fewer dimensions, dimensions of extent 1 are put in front of it.

    Returns
    -------
    Tensor
        Each extent is the product of the operands'.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.kron(tg.tensor([1.0, 10.0]), [1.0, 2.0, 3.0])
    Tensor([ 1.,  2.,  3., 10., 20., 30.])
    """
    x, y = as_numbers(a, "numpy.kron"), as_numbers(b, "numpy.kron")
    left, right, shape = _shapes_of_kron(x.shape, y.shape)
    return reshape(reshape(x, left) * reshape(y, right), shape)


@functools.lru_cache(256)
def _shapes_of_kron(shape: Axes, other: Axes) -> tuple[Axes, Axes, Axes]:
    """Return the shapes of the factors, with separate dimensions, and that of the product."""
    ndim = max(len(shape), len(other))
    own, others = ((1,) * (ndim - len(each)) + each for each in (shape, other))
    left = tuple(e for extent in own for e in (extent, 1))
    right = tuple(e for extent in others for e in (1, extent))
    return left, right, tuple(e * f for e, f in zip(own, others, strict=True))


FUNCTIONS = {function.__name__: function for function in (dot, inner, vdot, outer, tensordot, kron)}
bind_methods(dot=dot)
