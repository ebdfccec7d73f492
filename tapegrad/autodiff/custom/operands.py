"""Operands of a custom op: its arguments, packed for one instruction."""

from typing import Any

import numpy as np

from tapegrad.autodiff.custom.packing import ArraySpec, common_dtype
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.conversions.complex_views import complex_dtype, is_complex, pairs_of, part_dtype
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.record import as_float
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.recording.running import run
from tapegrad.frontend.recording.shape import in_c_order, reshape
from tapegrad.frontend.tensor.array_checks import check_dtype, plain
from tapegrad.frontend.tensor.tensor import Tensor, from_array, from_slot, is_tensor
from tapegrad.ops import CODES

_CAST = CODES["cast_f64"]
_FLOAT64 = np.dtype(np.float64)
_NUMBERS = frozenset({float, complex})


class Operands:
    """Packed arguments: floats and complex numbers in one Tensor, all others in a second one of float64.

    Attributes
    ----------
    inputs
        Shapes and dtypes of the arguments.
    x, rest
        The two Tensors, flat and contiguous.
    dtypes
        The dtypes of the floats in `x`.
    """

    def __init__(self, name: str, args: tuple[Any, ...], tape: Tape) -> None:
        if not args:
            raise TypeError(f"custom op {name!r}: call it with at least one array or number")
        self._name = name
        values = [value if is_tensor(value) else _operand(value, f"custom op {name!r}") for value in args]
        if not _NUMBERS.isdisjoint(map(type, args)):
            values = _with_numbers(values, args)
        self.inputs = tuple(
            [ArraySpec.of(value.data_or_traced() if is_tensor(value) else value) for value in values]
        )
        self.dtypes = {spec.packed_dtype for spec in self.inputs if spec.is_differentiable}
        floats, rest = [], []
        for value, spec in zip(values, self.inputs, strict=True):
            if spec.is_differentiable:
                floats.append(_flat(value, tape))
            else:
                rest.append(_flat_rest(value, tape))
        self.x, self.rest = _packed(floats), _packed(rest)
        self.x_array, self.rest_array = self.x.data_or_traced(), self.rest.data_or_traced()

    @property
    def version(self) -> int:
        """Number of in-place writes to the float arguments so far."""
        return (self.x if self.x._base is None else self.x._base)._version

    def check_version(self, before: int) -> None:
        """Raise if `forward` has written to its arguments in place."""
        if self.version != before:
            raise RuntimeError(
                f"custom op {self._name!r}: an input was written to in place while forward was running"
            )


def _operand(value: Any, name: str) -> Any:
    """Convert an argument that is no Tensor to an array, or a list of Tensors to a Tensor."""
    if holds_tensors(value):
        return as_tensor(value, name)
    array = plain(value, name)
    check_dtype(array.dtype, name, takes_complex=True)
    dtype = np.dtype(array.dtype.type)  # compare dtypes by identity, see ArraySpec.of
    return array.view(dtype) if array.dtype == dtype else array


def _with_numbers(values: list[Any], args: tuple[Any, ...]) -> list[Any]:
    """Cast Python's floats and complex numbers to the promoted precision of the other arguments."""
    pairs = list(zip(values, args, strict=True))
    others = [part_dtype(v.dtype) for v, a in pairs if v.dtype.kind in "fc" and type(a) not in _NUMBERS]
    dtype = common_dtype(others or [_FLOAT64])
    dtypes = {float: dtype, complex: complex_dtype(dtype)}
    return [v.astype(dtypes[type(a)]) if type(a) in dtypes else v for v, a in pairs]


def _flat(value: Any, tape: Tape) -> Tensor:
    """Return an argument of floats or complex numbers as a flat, contiguous Tensor of floats."""
    tensor = value if is_tensor(value) else as_float(value, np.dtype(value.dtype.type), tape, True)
    if is_complex(tensor):
        tensor = pairs_of(tensor)
    return in_c_order(tensor if tensor.ndim == 1 else reshape(tensor, -1))


def _flat_rest(value: Any, tape: Tape) -> Tensor:
    """Return integers or booleans as a flat Tensor of float64. Each replay casts the values of its own call."""
    if not is_tensor(value):
        return _flat(as_float(value, _FLOAT64, tape, False), tape)
    if not tape.recording:
        return _flat(from_array(value.data.astype(_FLOAT64), constant=True), tape)
    return _flat(from_slot(tape, run(tape, _CAST, [value._slot_on(tape)], False)), tape)


_EMPTY = from_array(np.empty(0), constant=True)


def _packed(pieces: list[Tensor]) -> Tensor:
    if not pieces:
        return _EMPTY
    return pieces[0] if len(pieces) == 1 else concatenate(pieces)
