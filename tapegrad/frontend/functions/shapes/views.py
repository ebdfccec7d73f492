"""Views with elements reversed or rotated, axes moved, or dimensions added."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tapegrad.frontend.indexing.indexing import getitem
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.shape import broadcast_to, expand_dims, reshape, swapaxes
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, view_of
from tapegrad.frontend.words.derived_docs import like

_ALL, _BACKWARDS = slice(None), slice(None, None, -1)


# --- order -----------------------------------------------------------------------------------------------------


def flip(m: Any, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Return the elements in reverse order along axes.

    Parameters
    ----------
    m : Tensor or array_like
        Input.
    axis : int or tuple of int, optional
        Axes to reverse; negative ones count from the last. All by default.

    Returns
    -------
    Tensor
        A view of `m`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.flip(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    Tensor([[2., 1.],
            [4., 3.]])
    """
    x = as_numbers(m, "numpy.flip")
    if axis is None:
        return getitem(x, (_BACKWARDS,) * x.ndim)
    ndim = x.ndim
    if type(axis) is int and 0 <= axis < ndim:
        return getitem(x, (*(_ALL,) * axis, _BACKWARDS))
    axes = normalize_axis_tuple(axis, ndim)
    return getitem(x, tuple([_BACKWARDS if k in axes else _ALL for k in range(ndim)]))


def fliplr(m: Any) -> Tensor:
    """Return the elements in reverse order along the second axis.

    Parameters
    ----------
    m : Tensor or array_like
        Array of two dimensions or more.

    Returns
    -------
    Tensor
        A view of `m`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fliplr(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[2., 1.],
            [4., 3.]])
    """
    x = as_numbers(m, "numpy.fliplr")
    if x.ndim < 2:
        raise ValueError(f"numpy.fliplr: shape {x.shape} has no second axis")
    return getitem(x, (_ALL, _BACKWARDS))


@like(
    fliplr,
    ("second axis", "first axis"),
    ("two dimensions", "one dimension"),
    examples=""">>> tg.flipud(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
Tensor([[3., 4.],
        [1., 2.]])""",
)
def flipud(m: Any) -> Tensor:
    x = as_numbers(m, "numpy.flipud")
    if x.ndim < 1:
        raise ValueError("numpy.flipud: a 0-dimensional Tensor has no first axis")
    return getitem(x, (_BACKWARDS,))


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    """Return a plane of the input turned by a multiple of 90 degrees.

    Parameters
    ----------
    m : Tensor or array_like
        Array of two dimensions or more.
    k : int, default 1
        Number of rotations by 90 degrees, from the first axis towards the second.
    axes : tuple of two int, default (0, 1)
        The axes of the plane.

    Returns
    -------
    Tensor
        A view of `m`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.rot90(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[2., 4.],
            [1., 3.]])
    """
    x = as_numbers(m, "numpy.rot90")
    ndim = x.ndim
    first, second = axes if axes == (0, 1) and ndim > 1 else normalize_axis_tuple(axes, ndim)
    k %= 4
    if k == 2:
        return flip(x, (first, second))
    if k == 0:
        return getitem(x, ())
    return swapaxes(flip(x, second), first, second) if k == 1 else flip(swapaxes(x, first, second), second)


# --- axes ------------------------------------------------------------------------------------------------------


def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    """Move an axis in front of another; `moveaxis` is easier to read.

    Parameters
    ----------
    a : Tensor or array_like
        Input.
    axis : int
        The axis to move; the others keep their order.
    start : int, default 0
        The axis that it is moved in front of; ``a.ndim`` moves it to the end.

    Returns
    -------
    Tensor
        A view of `a`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.rollaxis(tg.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_numbers(a, "numpy.rollaxis")
    return view_of(x, np.rollaxis(x.data_or_traced(), axis, start)[...])


def matrix_transpose(x: Any, /) -> Tensor:
    """Interchange the last two dimensions.

    Parameters
    ----------
    x : Tensor or array_like, shape (..., m, n)
        A matrix or a stack of matrices.

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
    >>> tg.matrix_transpose(tg.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    operand = as_numbers(x, "numpy.matrix_transpose")
    if operand.ndim < 2:
        raise ValueError(
            f"numpy.matrix_transpose: a Tensor of shape {operand.shape} is neither a matrix nor a stack of matrices"
        )
    return swapaxes(operand, -1, -2)


# --- dimensions ------------------------------------------------------------------------------------------------


def _of_each(raised: Callable[[Tensor], Tensor], arrays: tuple[Any, ...], name: str) -> Any:
    """Expand the inputs to a number of dimensions; return the result alone for a single input."""
    results = [raised(as_numbers(each, name)) for each in arrays]
    return results[0] if len(results) == 1 else tuple(results)


def with_one_dimension(x: Tensor) -> Tensor:
    """Return `atleast_1d` of a Tensor."""
    return x if x.ndim > 0 else reshape(x, 1)


def with_two_dimensions(x: Tensor) -> Tensor:
    """Return `atleast_2d` of a Tensor."""
    return x if x.ndim > 1 else expand_dims(x, 0) if x.ndim == 1 else expand_dims(x, (0, 1))


def with_three_dimensions(x: Tensor) -> Tensor:
    """Return `atleast_3d` of a Tensor."""
    return x if x.ndim > 2 else expand_dims(x, ((0, 1, 2), (0, 2), 2)[x.ndim])


def atleast_1d(*arys: Any) -> Any:
    """Give numbers a dimension; return the rest as it is.

    Parameters
    ----------
    *arys : Tensor or array_like
        Inputs.

    Returns
    -------
    Tensor or tuple of Tensor
        For each input a view with one dimension or more, or the input itself.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.atleast_1d(tg.tensor(3.0))
    Tensor([3.])
    """
    return _of_each(with_one_dimension, arys, "numpy.atleast_1d")


@like(
    atleast_1d,
    ("one dimension", "two dimensions"),
    summary="Give vectors and numbers further dimensions, up to two, in front of their own.",
    examples=">>> tg.atleast_2d(tg.tensor([1.0, 2.0]))\nTensor([[1., 2.]])",
)
def atleast_2d(*arys: Any) -> Any:
    return _of_each(with_two_dimensions, arys, "numpy.atleast_2d")


@like(
    atleast_1d,
    summary="Give matrices, vectors and numbers further dimensions, up to three.",
    returns="""Tensor or tuple of Tensor
    For each input a view with three dimensions or more, or the input itself. A vector of `n` elements is seen in
    shape ``(1, n, 1)``, a matrix in shape ``(m, n, 1)``.""",
    examples=">>> tg.atleast_3d(tg.tensor([1.0, 2.0])).shape\n(1, 2, 1)",
)
def atleast_3d(*arys: Any) -> Any:
    return _of_each(with_three_dimensions, arys, "numpy.atleast_3d")


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Tensor, ...]:
    """Broadcast all inputs to the shape that they have in common.

    Parameters
    ----------
    *args : Tensor or array_like
        Inputs.
    subok : bool, default False
        Accepted because ``numpy.broadcast_arrays`` has it; ignored.

    Returns
    -------
    tuple of Tensor
        Views of the inputs. The cotangent of each is summed over the dimensions that were broadcast.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x, y = tg.broadcast_arrays(tg.tensor([1.0, 2.0]), 0.0)
    >>> x.shape, y.shape
    ((2,), (2,))
    """
    operands = [as_numbers(each, "numpy.broadcast_arrays") for each in args]
    shape = np.broadcast_shapes(*[x.shape for x in operands])
    return tuple([x if x.shape == shape else broadcast_to(x, shape) for x in operands])


FUNCTIONS = {
    function.__name__: function
    for function in (
        flip, fliplr, flipud, rot90, rollaxis, matrix_transpose,
        atleast_1d, atleast_2d, atleast_3d, broadcast_arrays,
    )
}  # fmt: skip

bind_methods(mT=property(matrix_transpose, doc="The last two dimensions interchanged."))
