"""Views: reshape, transpose and their like. They share memory, and cost nothing in either sweep."""

import math
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.array_checks import plain
from tapegrad.frontend.modes import current
from tapegrad.frontend.record import cast, unary
from tapegrad.frontend.record_structural import as_tensor
from tapegrad.frontend.tensor import Tensor, bind_methods, from_array, is_tensor, view_of
from tapegrad.ops import CODES

_COPY = CODES["positive"]


def _through_numpy(x: Tensor, view: np.ndarray) -> Tensor:
    """The Tensor that shows what NumPy made of `x`'s memory."""
    return view_of(x, view)


def _tensor(a: Any, name: str) -> Tensor:
    """A Tensor of any dtype."""
    if is_tensor(a):
        return a
    array = plain(a, name)
    return as_tensor(array, name) if array.dtype.kind == "f" else from_array(array, constant=True)


def contiguous(x: Tensor) -> Tensor:
    """A copy in C order, recorded."""
    return unary(_COPY, x) if x.dtype.kind == "f" else cast(x, x.dtype, current()[0])


def check_order(order: Any, name: str) -> None:
    """Refuse a layout that a result would have to be given: elements of Tensors lie in C order."""
    if order not in (None, "K", "A", "C"):
        raise UnsupportedError(
            f"{name}: memory order {order!r} of a Tensor is not supported; results are in C order"
        )


def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Tensor:
    """The same elements in another shape: a view where the memory allows it, otherwise a recorded copy.

    Parameters
    ----------
    a
        Tensor or array.
    shape
        Integer or tuple of integers, one of which may be -1.
    order
        Which elements are neighbours: "C", "F" or "A", as for ``numpy.reshape``.
    copy
        ``True``: always copy. ``False``: raise `ValueError` instead of copying.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.reshape(tg.arange(4.0), (2, -1)).shape
    (2, 2)
    """
    x = _tensor(a, "reshape")
    array = x.data_or_traced()
    view = array.reshape(shape, order=order)
    if order != "C" and _is_by_columns(array, order):
        turned = transpose(x) if array.ndim > 1 else x
        return transpose(reshape(turned, view.shape[::-1], copy=copy))
    needed = bool(math.prod(array.shape)) and not np.shares_memory(view, array)
    if needed and copy is False:
        raise ValueError("reshape: the elements cannot be seen in this shape without a copy")
    if needed or copy:
        x = x.copy()
        view = x.data_or_traced().reshape(view.shape)
    return _through_numpy(x, view)


def _is_by_columns(array: np.ndarray, order: str) -> bool:
    """Whether an order means that the first index varies fastest."""
    return order == "F" or (order == "A" and array.flags.fnc)


def ravel(a: Any, order: str = "C") -> Tensor:
    """All elements in one dimension: a view if they lie side by side in C order, otherwise a recorded copy."""
    x = _tensor(a, "ravel")
    if order == "K" and not x.data_or_traced().flags.forc:
        raise UnsupportedError(
            "ravel: order 'K' of a Tensor whose elements do not lie side by side is not supported"
        )
    if order != "C":
        return reshape(x, -1, "A" if order == "K" else order)
    return reshape(x if x.data_or_traced().flags.c_contiguous else contiguous(x), -1)


def transpose(a: Any, axes: Any = None) -> Tensor:
    """Dimensions in another order, reversed by default."""
    x = _tensor(a, "transpose")
    return _through_numpy(x, np.transpose(x.data_or_traced(), axes))


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """Two dimensions exchanged."""
    x = _tensor(a, "swapaxes")
    return _through_numpy(x, np.swapaxes(x.data_or_traced(), axis1, axis2))


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other places."""
    x = _tensor(a, "moveaxis")
    return _through_numpy(x, np.moveaxis(x.data_or_traced(), source, destination))


def squeeze(a: Any, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Dimensions of extent 1 left out."""
    x = _tensor(a, "squeeze")
    return _through_numpy(x, np.squeeze(x.data_or_traced(), axis))


def expand_dims(a: Any, axis: int | tuple[int, ...]) -> Tensor:
    """Dimensions of extent 1 put in."""
    x = _tensor(a, "expand_dims")
    return _through_numpy(x, np.expand_dims(x.data_or_traced(), axis))


def broadcast_to(array: Any, shape: int | tuple[int, ...], subok: bool = False) -> Tensor:
    """Elements repeated along new or extended dimensions, without copying them."""
    x = _tensor(array, "broadcast_to")
    return _through_numpy(x, np.broadcast_to(x.data_or_traced(), shape))


FUNCTIONS = {
    function.__name__: function
    for function in (reshape, ravel, transpose, swapaxes, moveaxis, squeeze, expand_dims, broadcast_to)
}


def _reshape_method(a: Tensor, *shape: Any, order: str = "C", copy: bool | None = None) -> Tensor:
    """The same elements in another shape, given as a tuple or as separate numbers."""
    if not shape:
        raise TypeError("reshape() takes the new shape; write reshape(()) for a 0-dimensional Tensor")
    return reshape(a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def _transpose_method(a: Tensor, *axes: Any) -> Tensor:
    """Dimensions in another order, given as a tuple or as separate numbers."""
    if len(axes) > 1:
        return transpose(a, axes)
    return transpose(a, axes[0] if axes else None)


def _flatten(a: Tensor, order: str = "C") -> Tensor:
    """All elements in one dimension, always a copy."""
    flat = ravel(a, order)
    return contiguous(flat) if np.may_share_memory(flat.data_or_traced(), a.data_or_traced()) else flat


bind_methods(
    T=property(transpose, doc="Dimensions in reverse order."),
    reshape=_reshape_method,
    ravel=ravel,
    flatten=_flatten,
    transpose=_transpose_method,
    swapaxes=swapaxes,
    squeeze=squeeze,
)
