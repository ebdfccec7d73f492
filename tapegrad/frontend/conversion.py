"""Ways out of the graph: plain numbers and arrays, copies, and other dtypes.

In eager code they are allowed where they are explicit. While a function is being recorded, a value that depends on
its arguments is guarded (a replay stops where it is another one, and that way is recorded, too) or refused.
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.engine.tape import memory
from tapegrad.engine.tape.layout import NONE
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.errors import LostGradientWarning, TracedValueError, UnsupportedError
from tapegrad.frontend import modes
from tapegrad.frontend.modes import thread
from tapegrad.frontend.record import as_boolean, cast, unary, watch_now
from tapegrad.frontend.shape import check_order, contiguous
from tapegrad.frontend.tensor import check_dtype, from_array
from tapegrad.ops import CODES

if TYPE_CHECKING:
    from tapegrad.frontend.tensor_class import Tensor

_COPY, _TRUTH = CODES["positive"], CODES["truth_guard"]
_LOST = (
    "float() of a Tensor that a gradient can flow back from gives a constant (assigning it to an element of a NumPy"
    " array and math functions call it, too): compute with the Tensor itself, or write t.item() if a number is meant"
)


def guarded_array(tensor: Any) -> np.ndarray:
    """The contents of a recorded Tensor, guarded byte for byte."""
    array = tensor.data_or_traced()
    if array.dtype not in DTYPE_CODES and tensor._base is not None:
        guarded_array(tensor._base)  # more than is used, which at worst records anew without need
        return array.copy()  # type: ignore[no-any-return]
    if not array.flags.c_contiguous:
        tensor = contiguous(tensor)
        array = tensor.data_or_traced()
    tape = tensor._tape
    seen = tape.widened(array)
    tape.guard_bytes(DTYPE_CODES[seen.dtype], tensor._slot_on(tape), seen)
    return array.copy()  # type: ignore[no-any-return]


def plain_array(tensor: Any, what: str) -> np.ndarray:
    """The contents as NumPy sees them: guarded while recording; floats that depend on an argument are refused."""
    guarded = tensor._recorded() and tensor.dtype.kind != "f"
    if tensor._traced() and not guarded:
        tensor._refuse(what)
    tensor.check_escape(what)
    return _looked_at(tensor)


def _looked_at(tensor: Any) -> np.ndarray:
    """The contents, of which nothing is taken out but what becomes of a branch; guarded while recording."""
    if tensor._recorded():
        return guarded_array(tensor)
    array: np.ndarray = tensor.data_or_traced()
    watch_now(array)
    return array


def _one_element(tensor: Any, what: str) -> None:
    if tensor.size != 1:
        raise TypeError(f"{what} of a Tensor of shape {tensor.shape}: only one of size one can be converted")


class EscapeMethods:
    """Conversions of a Tensor."""

    __slots__ = ()

    def item(self, *index: Any) -> Any:
        """The one element, or the one at an index, as a Python number.

        Raises
        ------
        ValueError
            Without an index, if there is not exactly one element.
        TracedValueError
            While the function that computed it is being recorded.
        """
        if not index and self.size != 1:  # type: ignore[attr-defined]
            raise ValueError(
                f"item() of a Tensor of shape {self.shape}: only one of size one can be converted; give an index"  # type: ignore[attr-defined]
            )
        return plain_array(self, "item()").item(*index)

    def __float__(self) -> float:
        _one_element(self, "float()")
        number = float(plain_array(self, "float()").item())
        if modes.current() == (modes.EAGER, True) and not thread.leaves and not self.constant:  # type: ignore[attr-defined]
            warnings.warn(_LOST, LostGradientWarning, stacklevel=2)
        return number

    def __int__(self) -> int:
        _one_element(self, "int()")
        if self._traced() and self.dtype.kind == "f":  # type: ignore[attr-defined]
            return _guarded_int(self)
        return int(plain_array(self, "int()").item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.shape:  # type: ignore[attr-defined]
            raise TypeError("only a Tensor of integers that has no dimensions can be an index")
        return int(plain_array(self, "index").item())

    def __bool__(self) -> bool:
        if self.size != 1:  # type: ignore[attr-defined]
            raise ValueError(
                f"the truth value of a Tensor of shape {self.shape} is ambiguous; use where()"  # type: ignore[attr-defined]
            )
        if not self._traced():  # type: ignore[attr-defined]
            return bool(_looked_at(self).item())
        truth = bool(self.data_or_traced().item())  # type: ignore[attr-defined]
        tape, code = self._tape, DTYPE_CODES[self._describe().dtype]  # type: ignore[attr-defined]
        tape.guard(_TRUTH, code, self._slot_on(tape), np.array([truth], np.int64), bytes([truth]))  # type: ignore[attr-defined]
        return truth

    def numpy(self) -> np.ndarray:
        """The primal as a NumPy array on the same memory; the same as `data`."""
        return self.escaped("numpy()")  # type: ignore[attr-defined, no-any-return]

    def tolist(self) -> Any:
        """Elements as nested lists of Python numbers."""
        return plain_array(self, "tolist()").tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.dtype.kind == "f" and not self._traced():  # type: ignore[attr-defined]
            self.check_escape("np.asarray()")  # type: ignore[attr-defined]
            _, differentiate = modes.current()
            if differentiate and not self.constant:  # type: ignore[attr-defined]
                raise TypeError(
                    "NumPy asks for this Tensor as a plain array, which would lose its gradient: call .data,"
                    " .detach() or .item() to leave the graph, or use a function of tapegrad"
                )
        array = plain_array(self, "np.asarray()")
        if copy is False and dtype is not None and np.dtype(dtype) != array.dtype:
            raise ValueError("a copy is needed to convert the dtype")
        return (
            np.array(array, dtype, copy=bool(copy))
            if copy
            else array.astype(dtype or array.dtype, copy=False)
        )

    def __reduce__(self) -> Any:
        if self._traced():  # type: ignore[attr-defined]
            self._refuse("a copy or a pickle")  # type: ignore[attr-defined]
        if self._slot >= 0 and not self.constant and self._describe()[memory.D_PRODUCER] != NONE:  # type: ignore[attr-defined]
            raise TypeError(
                "a Tensor that was computed cannot be pickled, or copied by the module copy, for the graph would not go"
                " with it: pickle or copy its detach(), which is a constant, or tensor(t.data), which is a new leaf;"
                " its copy() goes on with the graph"
            )
        return _rebuild, (self.data, self.constant)  # type: ignore[attr-defined]

    def __copy__(self) -> "Tensor":
        _, (array, constant) = self.__reduce__()
        return from_array(array.copy(), constant)

    @modes.restoring
    def detach(self) -> "Tensor":
        """A constant with a copy of the contents: no gradient flows through it."""
        if self.dtype.kind != "f":  # type: ignore[attr-defined]
            return contiguous(self)  # type: ignore[arg-type]
        with modes.no_grad():
            return unary(_COPY, self)  # type: ignore[arg-type]

    def copy(self, order: str = "C") -> "Tensor":
        """A copy on memory of its own; the gradient flows through."""
        check_order(order, "copy")
        return contiguous(self)  # type: ignore[arg-type]

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> "Tensor":
        """Elements converted to another dtype; to integers and booleans without a gradient.

        Parameters
        ----------
        dtype
            float64 or float32, or integers or booleans; always taken in the machine's byte order.
        order, casting, subok, copy
            As for ``numpy.ndarray.astype``.
        """
        target = np.dtype(dtype).newbyteorder("=")
        check_dtype(target, "astype")
        check_order(order, "astype")
        own: np.dtype[Any] = self.dtype  # type: ignore[attr-defined]
        if not np.can_cast(own, target, casting):
            raise TypeError(f"astype: cannot convert {own} to {target} according to the rule {casting!r}")
        if target == own:
            return self.copy() if copy else self  # type: ignore[return-value]
        tape = modes.current()[0]
        if target.kind == "f" or own.kind != "f":
            return cast(self, target, tape)  # type: ignore[arg-type]
        if target.kind == "b":
            if tape.recording:
                return as_boolean(self, tape)
            return from_array(self.data_or_traced().astype(bool), constant=True)  # type: ignore[attr-defined]
        if self._traced():  # type: ignore[attr-defined]
            raise UnsupportedError(
                f"astype({target}) of a value that is being recorded: use floor(), rint() or trunc(), which stay in"
                " floating point"
            )
        return from_array(plain_array(self, f"astype({target})").astype(target), constant=True)


def _rebuild(array: np.ndarray, constant: bool) -> "Tensor":
    """A Tensor from what a pickle holds."""
    return from_array(array, constant)


def _guarded_int(tensor: Any) -> int:
    """int() of a recorded float: guarded by its integer part."""
    whole = unary(CODES["trunc"], tensor)
    array = whole.data_or_traced()
    tape = tensor._tape
    assert tensor._tape is thread.tape
    if not np.isfinite(array).all():
        raise TracedValueError(f"int() of {array.item()} while a function is being recorded")
    tape.guard_bytes(DTYPE_CODES[array.dtype], whole._slot, array)
    return int(array.item())
