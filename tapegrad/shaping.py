"""Views: reshape, transpose and their like. They share memory, and cost nothing in either sweep."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.ops import CODES
from tapegrad.record import cast, unary
from tapegrad.state import current
from tapegrad.storage import from_array, is_tensor, view_of
from tapegrad.structural import as_tensor

if TYPE_CHECKING:
    from tapegrad.tensor import Tensor

_COPY = CODES["positive"]


def _through_numpy(x: "Tensor", view: np.ndarray) -> "Tensor":
    """The Tensor that shows what NumPy made of `x`'s memory."""
    return view_of(x, view)


def _tensor(a: Any, name: str) -> "Tensor":
    """A Tensor of any dtype."""
    if is_tensor(a):
        return a  # type: ignore[no-any-return]
    array = np.asarray(a)
    return as_tensor(array, name) if array.dtype.kind == "f" else from_array(array, constant=True)


def contiguous(x: "Tensor") -> "Tensor":
    """A copy in C order, recorded."""
    return unary(_COPY, x) if x.dtype.kind == "f" else cast(x, x.dtype, current()[0])


def reshape(a: Any, /, shape: int | Iterable[int]) -> "Tensor":
    """The same elements in another shape: a view where the memory allows it, otherwise a recorded copy.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.reshape(tg.arange(4.0), (2, -1)).shape
    (2, 2)
    """
    x = _tensor(a, "reshape")
    target = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    array = x.data_or_traced()
    view = array.reshape(target)
    if math.prod(array.shape) and not np.shares_memory(view, array):
        x = contiguous(x)
        view = x.data_or_traced().reshape(target)
    return _through_numpy(x, view)


def ravel(a: Any) -> "Tensor":
    """All elements in one dimension: a view if they lie side by side in C order, otherwise a recorded copy."""
    x = _tensor(a, "ravel")
    return reshape(x if x.data_or_traced().flags.c_contiguous else contiguous(x), -1)


def transpose(a: Any, axes: Iterable[int] | None = None) -> "Tensor":
    """Dimensions in another order, reversed by default."""
    x = _tensor(a, "transpose")
    return _through_numpy(x, np.transpose(x.data_or_traced(), None if axes is None else tuple(axes)))


def swapaxes(a: Any, axis1: int, axis2: int) -> "Tensor":
    """Two dimensions exchanged."""
    x = _tensor(a, "swapaxes")
    return _through_numpy(x, np.swapaxes(x.data_or_traced(), axis1, axis2))


def moveaxis(a: Any, source: Any, destination: Any) -> "Tensor":
    """Dimensions moved to other places."""
    x = _tensor(a, "moveaxis")
    return _through_numpy(x, np.moveaxis(x.data_or_traced(), source, destination))


def squeeze(a: Any, axis: int | tuple[int, ...] | None = None) -> "Tensor":
    """Dimensions of extent 1 left out."""
    x = _tensor(a, "squeeze")
    return _through_numpy(x, np.squeeze(x.data_or_traced(), axis))


def expand_dims(a: Any, axis: int | tuple[int, ...]) -> "Tensor":
    """Dimensions of extent 1 put in."""
    x = _tensor(a, "expand_dims")
    return _through_numpy(x, np.expand_dims(x.data_or_traced(), axis))


def broadcast_to(a: Any, shape: int | tuple[int, ...]) -> "Tensor":
    """Elements repeated along new or extended dimensions, without copying them."""
    x = _tensor(a, "broadcast_to")
    return _through_numpy(x, np.broadcast_to(x.data_or_traced(), shape))


FUNCTIONS = {
    function.__name__: function
    for function in (reshape, ravel, transpose, swapaxes, moveaxis, squeeze, expand_dims, broadcast_to)
}


class ShapeMethods:
    """Views as methods of a Tensor."""

    __slots__ = ()

    @property
    def T(self) -> "Tensor":
        """Dimensions in reverse order."""
        return transpose(self)

    def reshape(self, *shape: Any) -> "Tensor":
        """The same elements in another shape, given as a tuple or as separate numbers."""
        return reshape(self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> "Tensor":
        """All elements in one dimension."""
        return ravel(self)

    def flatten(self) -> "Tensor":
        """All elements in one dimension, always a copy."""
        return reshape(contiguous(self), -1)  # type: ignore[arg-type]

    def transpose(self, *axes: Any) -> "Tensor":
        """Dimensions in another order, given as a tuple or as separate numbers."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return transpose(self, order or None)

    def swapaxes(self, axis1: int, axis2: int) -> "Tensor":
        """Two dimensions exchanged."""
        return swapaxes(self, axis1, axis2)

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> "Tensor":
        """Dimensions of extent 1 left out."""
        return squeeze(self, axis)
