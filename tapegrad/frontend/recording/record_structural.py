"""Recording of structural ops: allocate the result, append the instruction. Callers have checked the parameters."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language.status import NO_REAL_RESULT
from tapegrad.engine.status import checked, raise_for
from tapegrad.engine.sweep.eager import eager, eager_joining, eager_lines, eager_matrices, eager_products
from tapegrad.engine.tape import slots, views
from tapegrad.engine.tape.fields.layout import E_DTYPES, E_KERNEL, E_PARALLEL, E_SHAPES, E_STATUS, NONE
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES, Tape
from tapegrad.frontend.recording.lists import held_tensor, holds_tensors
from tapegrad.frontend.recording.record import (
    FLOATS,
    as_float,
    constant_slot,
    list_as_tensor,
    read_now,
    small_copy,
)
from tapegrad.frontend.recording.running import load_kernel
from tapegrad.frontend.tensor.anomaly import watch
from tapegrad.frontend.tensor.array_checks import check_dtype, complex_seen, plain, refuse_complex
from tapegrad.frontend.tensor.modes import EAGER, thread
from tapegrad.frontend.tensor.tensor import Tensor, allocate, from_array, from_slot, is_tensor
from tapegrad.ops import CODES, COPY


def as_tensor(value: Any, name: str) -> Tensor:
    """Return an operand of a structural op: a Tensor itself, a list of Tensors joined, other values as a constant.

    Complex numbers are refused: functions that take them call `as_numbers`.
    """
    x = as_numbers(value, name)
    if complex_seen[0] and x.dtype.kind == "c":
        refuse_complex(x.dtype, name)
    return x


def as_numbers(value: Any, name: str) -> Tensor:
    """Return an operand as `as_tensor` does, complex numbers, too."""
    if is_tensor(value):
        return value
    if type(value) is np.ndarray and value.dtype in FLOATS:
        tape = thread.mode.tape
        made = small_copy(value) if tape is EAGER else None
        return as_float(value, value.dtype, tape, True) if made is None else made
    made = small_copy(np.array(value)) if type(value) is float and thread.mode.tape is EAGER else None
    if made is not None:
        return made
    if holds_tensors(value):
        return list_as_tensor(value, name)
    if (held := held_tensor(value)) is not None:
        return held
    array = plain(value, name)
    check_dtype(array.dtype, name, takes_complex=True)
    if array.dtype.kind not in DIFFERENTIABLE_KINDS:
        return from_array(read_now(value), constant=True)
    return as_float(array, array.dtype.newbyteorder("="), thread.mode.tape, True)


def record_out(
    tape: Tape,
    code: int,
    result: int,
    operands: list[int],
    params: Any,
    name: str,
    differentiate: bool,
) -> None:
    """Run and record an op into an existing result slot."""
    fields = kernel_table.params_fields(code, params)
    record_fields(tape, code, result, operands, fields, name, differentiate)


def record_fields(
    tape: Tape,
    code: int,
    result: int,
    operands: list[int],
    fields: tuple[int, ...],
    name: str,
    differentiate: bool,
) -> None:
    """`record_out` with the fields of the parameters."""
    a, b, c = (*operands, -1, -1)[:3]
    status = eager.record_out(tape.header, code, result, a, b, c, fields, differentiate)
    if status == E_KERNEL:
        load_kernel(tape, code, operands)
        status = eager.record_out(tape.header, code, result, a, b, c, fields, differentiate)
    if status < 0:
        raise_for(status, name, [])
    watch(tape, result, name)


def record_new(
    code: int, operands: Sequence[Tensor], shape: tuple[int, ...], params: Any, name: str, dtype: Any = None
) -> Tensor:
    """Run and record an op with a new result, in C order, of the first operand's dtype by default."""
    mode = thread.mode
    tape = mode.tape
    result = allocate(tape, dtype or operands[0].dtype, shape, name)
    record_out(
        tape, code, result._slot, [x._slot_on(tape) for x in operands], params, name, mode.differentiate
    )
    return result


def in_common_dtype(*operands: Tensor) -> list[Tensor]:
    """Return operands in the dtype that all of them promote to."""
    if all(x.dtype == operands[0].dtype for x in operands):
        return list(operands)
    dtype = np.result_type(*[x.dtype for x in operands])
    return [x.astype(dtype, copy=False) for x in operands]


# --- ops recorded in one call of the engine, which finds shapes and parameters and makes the views that it needs ------

Call = Callable[..., int]  # an entry point of `engine.sweep.eager`
_UNFIT, _NOT_REAL = (E_DTYPES, E_SHAPES), E_STATUS - NO_REAL_RESULT


def _loaded(missing: int, code: int, x: Tensor) -> bool:
    """Load what the engine lacks for an op of `x`. Return whether the call should be repeated."""
    if missing == E_KERNEL:
        factors = kernel_table.row(code).factors
        for each in (code, COPY, *([CODES[factors[1]]] if factors else [])):
            kernel_table.load_code(each, DTYPE_CODES[x.dtype], 0)
    elif missing == E_PARALLEL:
        kernel_table.load_driver()
    return missing in (E_KERNEL, E_PARALLEL)


def _made(slot: int, operands: list[Tensor], name: str) -> Tensor:
    """Return the Tensor of a result, checked for anomalies; raise if the status is an error."""
    if slot < 0:
        raise_for(slot, name, [x.shape for x in operands])
    watch(thread.mode.tape, slot, name)
    return from_slot(thread.mode.tape, slot)


def record_lines(code: int, x: Tensor, axes: int, keepdims: bool, name: str) -> Tensor:
    """Run and record a reduction over the axes in a bit mask, or a scan along one axis."""
    mode = thread.mode
    tape = mode.tape
    own = x._slot if x._tape is tape and x._base is None else x._slot_on(tape)
    slot = eager_lines.record_lines(tape.header, code, own, axes, keepdims, mode.differentiate)
    if slot >= 0 and mode.anomaly is None:
        return from_slot(tape, slot)
    if _loaded(slot, code, x):
        return record_lines(code, x, axes, keepdims, name)
    return _made(slot, [x], name)


def record_by(call: Call, code: int, x: Tensor, first: Any, second: Any, name: str) -> Tensor | None:
    """Run and record an op of one operand by a call of the engine with two arguments.

    The result is `None` if the engine refuses dtypes or shapes, or if that of a real matrix would be complex; the
    caller raises then, or converts the operand.
    """
    mode = thread.mode
    tape = mode.tape
    own = x._slot if x._tape is tape and x._base is None else x._slot_on(tape)
    slot = call(tape.header, code, own, first, second, mode.differentiate)
    if slot >= 0 and mode.anomaly is None:
        return from_slot(tape, slot)
    if _loaded(slot, code, x):
        return record_by(call, code, x, first, second, name)
    return None if slot in (*_UNFIT, _NOT_REAL) else _made(slot, [x], name)


def record_of_squares(code: int, x: Tensor, numbers: int, name: str) -> Tensor | None:
    """Run and record an op from square matrices to square matrices, or to numbers of each; `None` as in `record_by`."""
    mode = thread.mode
    tape = mode.tape
    own = x._slot if x._tape is tape and x._base is None else x._slot_on(tape)
    slot = eager_matrices.record_of_squares(
        tape.header, code, own, numbers, mode.nan_on_failure, mode.differentiate
    )
    if slot >= 0 and mode.anomaly is None:
        return from_slot(tape, slot)
    if _loaded(slot, code, x):
        return record_of_squares(code, x, numbers, name)
    return None if slot in _UNFIT else _made(slot, [x], name)


def record_two_by(call: Call, code: int, x1: Tensor, x2: Tensor, name: str) -> Tensor | None:
    """Run and record an op of two operands by a call of the engine; `None` as in `record_by`."""
    mode = thread.mode
    tape = mode.tape
    a = x1._slot if x1._tape is tape and x1._base is None else x1._slot_on(tape)
    b = x2._slot if x2._tape is tape and x2._base is None else x2._slot_on(tape)
    slot = call(tape.header, code, a, b, mode.differentiate)
    if slot >= 0 and mode.anomaly is None:
        return from_slot(tape, slot)
    if _loaded(slot, code, x1):
        return record_two_by(call, code, x1, x2, name)
    return None if slot in _UNFIT else _made(slot, [x1, x2], name)


def record_product_of(code: int, x1: Any, x2: Any) -> Tensor | None:
    """Run and record the product of a Tensor and a small eager array; `None` for others, or if shapes do not fit."""
    mode = thread.mode
    tape, is_first = mode.tape, type(x1) is np.ndarray
    x, array = (x2, x1) if is_first else (x1, x2)
    if mode.observed or type(array) is not np.ndarray or type(x) is not Tensor or x._tape is not tape:
        return None
    other = constant_slot(tape.header, array, NONE)
    if other < 0:
        return None
    own = x._slot if x._base is None else x._slot_on(tape)
    a, b = (other, own) if is_first else (own, other)
    slot = eager_products.record_product(tape.header, code, a, b, mode.differentiate)
    slots.drop(tape.header, other)
    return from_slot(tape, slot) if slot >= 0 else None


def record_joined(pieces: list[Tensor], axis: int, is_new: bool, name: str) -> Tensor | None:
    """Join Tensors along an existing or a new axis; `None` if dtypes or shapes do not fit."""
    mode = thread.mode
    tape = mode.tape
    operands = tuple([x._slot if x._tape is tape and x._base is None else x._slot_on(tape) for x in pieces])
    slot = eager_joining.record_joined(tape.header, operands, axis, is_new, mode.differentiate)
    if slot >= 0 and mode.anomaly is None:
        return from_slot(tape, slot)
    if _loaded(slot, COPY, pieces[0]):
        return record_joined(pieces, axis, is_new, name)
    return None if slot in _UNFIT else _made(slot, pieces, name)


def in_shape(result: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Replace a fresh result by one of another shape, which is not a view of it."""
    tape = result._tape
    assert tape is not None
    slot = views.view_shape(tape.header, result._slot, shape)
    if slot < 0:  # empty, or not of floats
        array = result.data_or_traced().reshape(shape)
        code = DTYPE_CODES[array.dtype]
        slot = checked(slots.view_array(tape.header, result._slot, id(array), code), "reshape", shape)
    return from_slot(tape, slot)
