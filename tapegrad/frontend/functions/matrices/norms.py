"""Norms of vectors and matrices."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tapegrad.frontend.conversions.complex_views import imag_part, is_complex, part_dtype, real_part
from tapegrad.frontend.functions.matrices.decompositions import singular_values
from tapegrad.frontend.functions.matrices.matrices import as_inexact
from tapegrad.frontend.functions.reductions import extremes, reductions
from tapegrad.frontend.functions.reductions.lines import root_of_sum
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.shape import expand_dims, moveaxis
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.array_like import Axis

_absolute, _sqrt = ELEMENTWISE["absolute"], ELEMENTWISE["sqrt"]


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Compute the norm of a vector or a matrix.

    Parameters
    ----------
    x : Tensor or array_like
        Elements. Without `axis` and `ord` they may have any shape.
    ord : int, float, inf, -inf, 'fro' or 'nuc', optional
        Which norm, as for ``numpy.linalg.norm``; by default the root of the sum of squares. 2, -2 and 'nuc' of matrices
        are the largest, the smallest, and the sum of their singular values.
    axis : int or tuple of int, optional
        The axis of vectors, or both axes of matrices.
    keepdims : bool, default False
        Keep these axes with extent 1.

    Returns
    -------
    Tensor
        Without these axes.

    Raises
    ------
    ValueError
        If there is no such norm of vectors, or of matrices.
    LinAlgError
        If singular values do not converge.

    Notes
    -----
    The derivatives of the norm of zeros are 0.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([3.0, 4.0])
    >>> tg.linalg.norm(x).backward()
    >>> x.grad
    array([0.6, 0.8])
    """
    elements = as_inexact(x, "linalg.norm")
    if axis is None and ord is None:
        return _root_of_squares(elements, None, keepdims)
    if type(axis) is int:
        return _of_vectors(elements, ord, axis, keepdims, "numpy.linalg.norm")
    axes = tuple(range(elements.ndim)) if axis is None else normalize_axis_tuple(axis, elements.ndim, "axis")
    if len(axes) == 1:
        return _of_vectors(elements, ord, axes[0], keepdims, "numpy.linalg.norm")
    if len(axes) == 2:
        return _of_matrices(elements, ord, axes, keepdims, "numpy.linalg.norm")
    raise ValueError(
        f"numpy.linalg.norm: axis must be one axis or two, not {axes}; x has shape {elements.shape}"
    )


def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """Compute the norm of vectors.

    Parameters
    ----------
    x : Tensor or array_like
        Elements.
    axis : int or tuple of int, optional
        The axes whose elements are a vector; all by default.
    keepdims : bool, default False
        Keep these axes with extent 1.
    ord : int, float, inf or -inf, default 2
        Which norm, as for ``numpy.linalg.vector_norm``.

    Returns
    -------
    Tensor
        Without these axes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.vector_norm(tg.tensor([[3.0, 4.0], [0.0, 0.0]]), axis=1)
    Tensor([5., 0.])
    """
    elements = as_inexact(x, "linalg.vector_norm")
    axes = axis if axis is None or hasattr(axis, "__index__") else tuple(axis)
    return _of_vectors(elements, ord, axes, keepdims, "numpy.linalg.vector_norm")


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Compute the norm of matrices.

    Parameters
    ----------
    x : Tensor or array_like, shape (..., m, n)
        Matrices.
    keepdims : bool, default False
        Keep the last two axes with extent 1.
    ord : {'fro', 'nuc', 1, -1, 2, -2, inf, -inf}, default 'fro'
        Which norm, as for ``numpy.linalg.matrix_norm``.

    Returns
    -------
    Tensor
        Without the last two axes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.matrix_norm(tg.tensor([[3.0, 0.0], [0.0, 4.0]]))
    Tensor(5.)
    """
    elements = as_inexact(x, "linalg.matrix_norm")
    axes = normalize_axis_tuple((-2, -1), elements.ndim, "axis")
    return _of_matrices(elements, ord, axes, keepdims, "numpy.linalg.matrix_norm")


def squares(x: Tensor) -> Tensor:
    """Return the squares of numbers, or of the sizes of complex ones."""
    if not is_complex(x):
        return x * x
    real, imag = real_part(x), imag_part(x)
    return real * real + imag * imag


def _root_of_squares(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    total = reductions.sum(squares(x), axis, None, None, keepdims)
    return root_of_sum(total, _sqrt(total))


def _of_vectors(x: Tensor, ord: Any, axis: Any, keepdims: bool, name: str) -> Tensor:
    if ord is None or ord == 2:
        return _root_of_squares(x, axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"{name}: unknown norm {ord!r} of vectors")
    if ord == 0:
        return reductions.sum(
            select(_absolute(x), *(np.asarray(each, part_dtype(x.dtype)) for each in (1, 0))),
            axis,
            keepdims=keepdims,
        )
    size = _absolute(x)
    if ord in (np.inf, -np.inf):
        return _extreme(size, ord, axis, keepdims)
    if ord == 1:
        return reductions.sum(size, axis, keepdims=keepdims)
    total = reductions.sum(size**ord, axis, keepdims=keepdims)
    root: Tensor = total ** (1.0 / ord)
    return root_of_sum(total, root) if ord > 0 else root


def _extreme(sizes: Tensor, ord: float, axis: Any, keepdims: bool) -> Tensor:
    """Return the maximum (0 if empty) for a positive `ord`, otherwise the minimum."""
    if ord < 0:
        return extremes.min(sizes, axis, keepdims=keepdims)
    return extremes.max(sizes, axis, keepdims=keepdims, initial=None if sizes.size else 0.0)


def _of_matrices(x: Tensor, ord: Any, axes: tuple[int, ...], keepdims: bool, name: str) -> Tensor:
    if ord in (None, "fro", "f"):
        return _root_of_squares(x, axes, keepdims)
    if ord in ("nuc", 2, -2):
        return _of_singular_values(x, ord, axes, keepdims, name)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"{name}: unknown norm {ord!r} of matrices")
    summed, compared = axes if abs(ord) == 1 else axes[::-1]
    sums = reductions.sum(_absolute(x), summed)
    result = _extreme(sums, ord, compared - (compared > summed), False)
    return expand_dims(result, axes) if keepdims else result


def _of_singular_values(x: Tensor, ord: Any, axes: tuple[int, ...], keepdims: bool, name: str) -> Tensor:
    last = (x.ndim - 2, x.ndim - 1)
    values = singular_values(x if axes == last else moveaxis(x, axes, last), name)
    result = reductions.sum(values, -1) if ord == "nuc" else _extreme(values, ord, -1, False)
    return expand_dims(result, axes) if keepdims else result


LINALG = {"norm": norm, "vector_norm": vector_norm, "matrix_norm": matrix_norm}
