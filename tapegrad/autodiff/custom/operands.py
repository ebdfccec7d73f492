"""What a user's op is called with, made into the operands of an instruction."""

from typing import Any

import numpy as np

from tapegrad.autodiff.custom.packing import Part, common_dtype
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.array_checks import check_dtype, plain
from tapegrad.frontend.joining import concatenate
from tapegrad.frontend.record import as_float, run
from tapegrad.frontend.shape import contiguous, reshape
from tapegrad.frontend.tensor import Tensor, from_array, from_slot, is_tensor
from tapegrad.ops import CODES

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
        values: list[Any] = [value if is_tensor(value) else _array(value, name) for value in args]
        if float in map(type, args):
            values = _with_numbers(values, args)
        self.inputs = tuple(
            [Part.of(value.data_or_traced() if is_tensor(value) else value) for value in values]
        )
        self.dtypes = {part.dtype for part in self.inputs if part.dtype.kind == "f"}
        floats, rest = [], []
        for value, part in zip(values, self.inputs, strict=True):
            if part.dtype.kind == "f":
                floats.append(_flat(value, tape))
            else:
                rest.append(_flat_rest(value, tape))
        self.x, self.rest = _joined(floats), _joined(rest)
        self.x_array, self.rest_array = self.x.data_or_traced(), self.rest.data_or_traced()

    @property
    def version(self) -> int:
        """How often the float operands have been written to in place."""
        return (self.x if self.x._base is None else self.x._base)._version

    def check_version(self, before: int) -> None:
        """Make sure that `forward` has not written to the operands in place."""
        if self.version != before:
            raise RuntimeError(
                f"custom op {self._name!r}: an input was written to in place while forward was running"
            )


def _array(value: Any, name: str) -> np.ndarray:
    array = plain(value, f"custom op {name!r}")
    check_dtype(array.dtype, f"custom op {name!r}")
    entry_point = np.dtype(array.dtype.type)  # see Part.of
    return array.view(entry_point) if array.dtype == entry_point else array


def _with_numbers(values: list[Any], args: tuple[Any, ...]) -> list[Any]:
    """The operands, Python's floats in the dtype of the other float operands."""
    decide = [
        v.dtype for v, a in zip(values, args, strict=True) if v.dtype.kind == "f" and type(a) is not float
    ]
    dtype = common_dtype(decide or [_FLOAT64])
    return [v.astype(dtype) if type(a) is float else v for v, a in zip(values, args, strict=True)]


def _flat(value: Any, tape: Tape) -> Tensor:
    """A float operand in one dimension."""
    tensor = value if is_tensor(value) else as_float(value, np.dtype(value.dtype.type), tape, True)
    array = tensor.data_or_traced()
    flat = tensor if array.ndim == 1 else reshape(tensor, -1)
    return flat if array.flags.c_contiguous or flat.data_or_traced().flags.c_contiguous else contiguous(flat)


def _flat_rest(value: Any, tape: Tape) -> Tensor:
    """An operand of integers or booleans, in one dimension of float64. A replay converts what it then finds."""
    if not is_tensor(value):
        return _flat(as_float(value, _FLOAT64, tape, False), tape)
    if not tape.recording:
        return _flat(from_array(value.data.astype(_FLOAT64), constant=True), tape)
    return _flat(from_slot(tape, run(tape, _CAST, [value._slot_on(tape)], False)), tape)


_NOTHING = from_array(np.empty(0), constant=True)


def _joined(pieces: list[Tensor]) -> Tensor:
    if not pieces:
        return _NOTHING
    return pieces[0] if len(pieces) == 1 else concatenate(pieces)
