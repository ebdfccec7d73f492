"""What a user's op is called with, made into the operands of an instruction."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.custom.parts import Part
from tapegrad.joining import concatenate
from tapegrad.ops import CODES
from tapegrad.record import as_float, run
from tapegrad.shaping import contiguous, reshape
from tapegrad.storage import check_dtype, from_array, from_slot, is_tensor, plain
from tapegrad.tape.tape import Tape

if TYPE_CHECKING:
    from tapegrad.tensor import Tensor

_CAST = CODES["cast_f64"]
_FLOAT64 = np.dtype(np.float64)


class Operands:
    """Float operands end to end in one Tensor, all others converted to float64 in another.

    Attributes
    ----------
    inputs
        Shapes and dtypes of the operands.
    x, rest
        The two Tensors, contiguous and in one dimension.
    dtypes
        The dtype of the float operands, if there are any.
    """

    def __init__(self, name: str, args: tuple[Any, ...], tape: Tape) -> None:
        if not args:
            raise TypeError(f"custom op {name!r}: call it with at least one array or number")
        self._name = name
        values = [value if is_tensor(value) else _array(value, name) for value in args]
        floats = [value.dtype for value, arg in zip(values, args, strict=True) if _decides(value, arg)]
        number = np.result_type(*floats) if floats else _FLOAT64
        values = [_in_dtype(value, arg, number) for value, arg in zip(values, args, strict=True)]
        self.inputs = tuple(Part(value.shape, _native(value)) for value in values)
        self.x = _joined([_flat(v, tape) for v in values if v.dtype.kind == "f"])
        self.rest = _joined([_flat_rest(v, tape) for v in values if v.dtype.kind != "f"])
        self.x_array, self.rest_array = self.x.data_or_traced(), self.rest.data_or_traced()
        self.dtypes = {part.dtype for part in self.inputs if part.dtype.kind == "f"}

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Make sure that what happens inside does not write to the operands in place."""
        owner = self.x if self.x._base is None else self.x._base
        before = owner._version
        yield
        if owner._version != before:
            raise RuntimeError(
                f"custom op {self._name!r}: an input was written to in place while forward was running"
            )


def _array(value: Any, name: str) -> np.ndarray:
    array = plain(value, f"custom op {name!r}")
    check_dtype(array.dtype, f"custom op {name!r}")
    # Unpickled arrays have dtype objects of their own, by which they seem to be of another dtype.
    return array.view(_native(array)) if array.dtype == _native(array) else array


def _native(value: Any) -> np.dtype[Any]:
    """The dtype of an operand in native byte order, the object that NumPy has one of."""
    return np.dtype(value.dtype.type)


def _decides(value: Any, arg: Any) -> bool:
    """Whether an operand takes part in choosing the dtype of Python's floats."""
    return bool(value.dtype.kind == "f" and type(arg) is not float)


def _in_dtype(value: Any, arg: Any, number: np.dtype[Any]) -> Any:
    return value.astype(number) if type(arg) is float else value


def _flat(value: Any, tape: Tape) -> "Tensor":
    """A float operand in one dimension."""
    tensor = value if is_tensor(value) else as_float(value, _native(value), tape, True)
    flat = tensor if tensor.ndim == 1 else reshape(tensor, -1)
    return flat if flat.data_or_traced().flags.c_contiguous else contiguous(flat)


def _flat_rest(value: Any, tape: Tape) -> "Tensor":
    """An operand of integers or booleans, in one dimension of float64. A replay converts what it then finds."""
    if not is_tensor(value):
        return _flat(as_float(value, _FLOAT64, tape, False), tape)
    if not tape.recording:
        return _flat(from_array(value.data.astype(_FLOAT64), constant=True), tape)
    return _flat(from_slot(tape, run(tape, _CAST, [value._slot_on(tape)], False)), tape)


_NOTHING = from_array(np.empty(0), constant=True)


def _joined(pieces: list["Tensor"]) -> "Tensor":
    if not pieces:
        return _NOTHING
    return pieces[0] if len(pieces) == 1 else concatenate(pieces)
