"""The Tensor: NumPy's face over a slot of the tape."""

from typing import Any

import numpy as np

from tapegrad.autodiff.backward import BackwardMethods
from tapegrad.errors import TracedValueError
from tapegrad.frontend.conversion import EscapeMethods
from tapegrad.frontend.creation import tensor
from tapegrad.frontend.elementwise import ElementwiseMethods
from tapegrad.frontend.indexing import IndexMethods
from tapegrad.frontend.linalg import ProductMethods
from tapegrad.frontend.numpy_protocols import ProtocolMethods
from tapegrad.frontend.predicates import PredicateMethods
from tapegrad.frontend.reductions import ReductionMethods
from tapegrad.frontend.shape import ShapeMethods
from tapegrad.frontend.tensor import Storage, set_tensor_class


class Tensor(
    Storage,
    ElementwiseMethods,
    ReductionMethods,
    ShapeMethods,
    IndexMethods,
    ProductMethods,
    EscapeMethods,
    PredicateMethods,
    BackwardMethods,
    ProtocolMethods,
):
    """An array that remembers how it was computed.

    Make one with `tapegrad.tensor`, compute with it as with a NumPy array, and call `backward` on the result.

    Parameters
    ----------
    data, dtype, constant, copy
        As for `tapegrad.tensor`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.Tensor([1.0, 2.0])
    >>> (x**2).backward()
    >>> x.grad
    array([2., 4.])
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, dtype: Any = None, **arguments: Any) -> "Tensor":
        # Tensors are made by from_slot and from_array through `object.__new__`; this is the user's way in.
        return tensor(data, dtype, **arguments)

    def __repr__(self) -> str:
        try:
            array = None if self._traced() else self.data_or_traced()
        except TracedValueError:
            array = None
        if array is None:
            return f"Tensor(shape={self.shape}, dtype={self.dtype}, being recorded)"
        text = np.array2string(array, separator=", ", prefix="Tensor(", suffix=")")
        own = array.dtype in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))
        shape = "" if array.size or array.ndim == 1 else f", shape={array.shape}"
        return f"Tensor({text})" if own and array.size else f"Tensor({text}{shape}, dtype={array.dtype})"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.size != 1:
            raise TypeError(
                f"a format is for one number, and this Tensor has shape {self.shape}; format its elements"
            )
        if self._traced():
            return format(self.item(), spec)  # an error that says why
        return format(self.data_or_traced().item(), spec)


set_tensor_class(Tensor)
