"""Recording of elementwise ops: operands of any kind in, a Tensor out."""

import functools
import sys
from collections.abc import Callable
from typing import Any
from typing import cast as cast_type

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.reference import compute, evaluate_numpy
from tapegrad.engine.status import raise_for
from tapegrad.engine.sweep.eager import eager
from tapegrad.engine.tape import slots
from tapegrad.engine.tape.fields.layout import C128, F32, F64, NONE
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES, Tape
from tapegrad.foreign import has_own_operators, is_data_array, is_sparse, is_sparse_tensor, is_xarray
from tapegrad.frontend.recording.computed_integers import (
    as_computed_float,
    is_computed_integer,
    record_integers,
)
from tapegrad.frontend.recording.lists import (
    held_tensor,
    holds_tensors,
    in_numbers,
    joined,
    parts_of_list,
    stacked,
)
from tapegrad.frontend.recording.running import run
from tapegrad.frontend.tensor import native_slots
from tapegrad.frontend.tensor.anomaly import watch
from tapegrad.frontend.tensor.array_checks import (
    can_change,
    check_dtype,
    complex_seen,
    plain,
    refuse_complex,
    refuse_lost_parts,
)
from tapegrad.frontend.tensor.modes import EAGER, Mode, current, thread, watch_now
from tapegrad.frontend.tensor.recorder import Recorder
from tapegrad.frontend.tensor.tensor import Tensor, copy_of, from_array, from_slot, is_tensor
from tapegrad.ops import BY_NAME, CODES, Op, choose_row

_NUMBERS = (float, int)
_CASTS = tuple([CODES[f"cast_{name}"] for name in kernel_table.DTYPE_NAMES])  # by dtype code
_BOOLEAN, _DOUBLE, _SINGLE_COMPLEX = np.dtype(np.bool_), np.dtype(np.float64), np.dtype(np.complex64)
_slots_are_due = [True]  # the thread that pops it writes the slots
_left_to_python = [None] * 1024  # operators of recordings before that: 3 us each, the slots take 5 ms
FLOATS = frozenset((np.dtype(np.float64), np.dtype(np.float32)))
_NUMBERS_OF_ROWS = (*_NUMBERS, complex)  # types of Python's numbers that take the dtype of what they meet
OWN = frozenset((Tensor, np.ndarray, float, int, np.float64))  # classes that xarray does not handle
MAX_COPIED_ELEMENTS = 4096  # elements that are copied in less time than an array takes to enter the tape


# --- operands without conversion -------------------------------------------------------------------------------
# The engine refuses operands that have to be converted, or loaded, first: they go to `apply`.


def unary(code: int, x: Tensor, as_operator: bool = False) -> Tensor:
    """Record an op of one Tensor."""
    mode = thread.mode
    tape = mode.tape
    slot = NONE
    if x._tape is tape:
        own, base = x._slot, x._base
        if base is not None and x._version != base._version:
            own = x._slot_on(tape)
        slot = eager.record_elementwise(tape.header, code, own, NONE, NONE, mode.differentiate)
        if slot >= 0 and not _slots_are_due and (not mode.observed if as_operator else mode.anomaly is None):
            return from_slot(tape, slot)
    return finished(mode, code, slot, as_operator, (x,))


def binary(
    code: int, as_operator: bool = False, is_reflected: bool = False
) -> Callable[[Tensor, Any], Tensor]:
    """Make the function or operator method that records ``op(x, other)``, or ``op(other, x)`` if reflected."""

    def record(x: Tensor, other: Any) -> Tensor:
        mode = thread.mode
        tape = mode.tape
        slot = NONE
        if x._tape is tape:
            own, base = x._slot, x._base
            if base is not None and x._version != base._version:
                own = x._slot_on(tape)
            kind = type(other)
            if kind is Tensor:
                if other._tape is tape and not is_reflected:
                    second, base = other._slot, other._base
                    if base is not None and other._version != base._version:
                        second = other._slot_on(tape)
                    slot = eager.record_elementwise(tape.header, code, own, second, NONE, mode.differentiate)
            elif kind is float or kind is int:
                slot = eager.record_with_number(
                    tape.header, code, own, other, is_reflected, mode.differentiate
                )
            else:
                slot = beside_constant(mode, code, own, other, is_reflected)
            if (
                slot >= 0
                and not _slots_are_due
                and (not mode.observed if as_operator else mode.anomaly is None)
            ):
                return from_slot(tape, slot)
        return finished(mode, code, slot, as_operator, (other, x) if is_reflected else (x, other))

    return record


def unary_operator(code: int) -> Callable[[Tensor], Tensor]:
    """Make the method that computes ``op x``."""

    def operate(self: Tensor) -> Tensor:
        return unary(code, self, True)

    return operate


def finished(mode: Mode, code: int, slot: int, as_operator: bool, operands: tuple[Any, ...]) -> Tensor:
    """Finish a call whose operands the engine has refused, or whose result is watched.

    Operators leave arrays of xarray to xarray, which knows their dimensions, sparse matrices to those, and quantities
    with units to their classes. In a recording, Python numbers alone give a weak number again.
    """
    if as_operator and slot < 0 and not OWN.issuperset(map(type, operands)):
        if any(map(_knows_more, operands)):
            return cast_type(Tensor, NotImplemented)
        if len(operands) == 2 and any(map(is_sparse, operands)):
            return cast_type(Tensor, _operate_on_sparse(code, operands))
    if _slots_are_due and mode.anomaly is None:
        _write_slots_once(mode)
    result = apply_to_any(code, *operands) if slot < 0 else _watched(mode, from_slot(mode.tape, slot), code)
    return as_plain_number(result, operands) if as_operator else result


# The function that computes an operator of a Tensor and a sparse matrix of SciPy: of a room above this one.
of_sparse_operands: list[Callable[[int, tuple[Any, Any]], Any]] = []


def _operate_on_sparse(code: int, operands: Any) -> Any:
    """Compute an operator of a Tensor and a sparse matrix of SciPy."""
    if not of_sparse_operands:
        assert sys.modules["tapegrad.sparse"].SparseArray  # executes the module, which is imported late
    return of_sparse_operands[0](code, operands)


def _knows_more(operand: Any) -> bool:
    """Return whether an operand has operators of its own that take Tensors."""
    has_own = not is_tensor(operand) and not is_sparse(operand) and has_own_operators(operand)
    return has_own or is_xarray(operand) or is_sparse_tensor(operand)


def _write_slots_once(mode: Mode) -> None:
    """Have operators of Tensors computed in C, from the first one of an eager Tensor on.

    A process that only records short functions, and replays them, needs none of it.
    """
    if mode.tape is not EAGER and _left_to_python:
        del _left_to_python[-1:]
        return
    try:
        _slots_are_due.pop()
    except IndexError:  # another thread was faster
        return
    native_slots.write_slots()


def as_plain_number(result: Tensor, operands: tuple[Any, ...]) -> Tensor:
    """Mark a result of plain numbers alone as a plain number: the float arguments of a recorded function are weak."""
    tape = thread.mode.recorder
    if tape is not None and all(type(each) in _NUMBERS or tape.is_weak(each) for each in operands):
        tape.weak.add(result._slot)
    return result


def _watched(mode: Mode, result: Tensor, code: int) -> Tensor:
    """Return a result, checked if the thread is in `detect_anomaly`."""
    if mode.anomaly is not None:
        mode.anomaly.recorded(mode.tape, result._slot, kernel_table.op_name(code))
    return result


# --- operands of any kind --------------------------------------------------------------------------------------


def apply(code: int, *operands: Any) -> Tensor:
    """Record an elementwise op of operands of any kind: Tensors, arrays, numbers, nested lists.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    UnsupportedError
        For dtypes that are not supported.
    """
    mode = thread.mode
    numbers = len(operands) == 2 and mode.anomaly is None and np.float64 in map(type, operands)
    if numbers or (len(operands) > 1 and not mode.observed):
        slot = (_of_two if len(operands) == 2 else _of_three)(mode, code, *operands)
        if slot >= 0:
            return from_slot(mode.tape, slot)
    row = kernel_table.row(code)
    assert isinstance(row, Op)
    values = [
        value if is_tensor(value) or type(value) in _NUMBERS_OF_ROWS else _operand(value, row)
        for value in operands
    ]
    tape = mode.tape
    floats = [value for j, value in enumerate(values) if j not in row.boolean_operands]
    kinds: list[Any] = [type(value) if type(value) in _NUMBERS_OF_ROWS else value.dtype for value in floats]
    if row.takes_real and all(map(_is_integral, kinds)):
        return _without_tape(row, values)
    if mode.recorder is not None:
        weak = mode.recorder.is_weak
        kinds = [
            (complex if _is_complex(value) else float) if weak(value) else kind
            for value, kind in zip(floats, kinds, strict=True)
        ]
    dtype = promoted(*kinds)
    if not row.takes_real:
        dtype = promoted(_DOUBLE if _is_integral(dtype) else dtype, _SINGLE_COMPLEX)
    if dtype.kind == "c":
        return _apply_to_complex(row, values, dtype)
    check_dtype(dtype, row.name)
    tensors = [
        as_boolean(value, tape)
        if j in row.boolean_operands
        else as_float(value, dtype, tape, _is_read(row, j))
        for j, value in enumerate(values)
    ]
    slot = run(tape, code, [t._slot_on(tape) for t in tensors], mode.differentiate)
    if slot < 0:
        raise_for(slot, row.name, [t.shape for t in tensors])
    return _watched(mode, from_slot(tape, slot), code)


def _apply_to_complex(row: Op, values: list[Any], dtype: np.dtype[Any]) -> Tensor:
    """Record an op of operands of which some are complex; real ones stay real where a row takes them so."""
    check_dtype(dtype, row.name, takes_complex=True)
    chosen = choose_row(
        row, tuple([j not in row.boolean_operands and _is_complex(x) for j, x in enumerate(values)])
    )
    if chosen is None:
        refuse_complex(dtype, row.name)
    own, mode = BY_NAME[chosen.name], thread.mode
    assert isinstance(own, Op)
    values = values[::-1] if chosen.swapped else values
    part = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
    tensors = [
        as_boolean(x, mode.tape)
        if j in own.boolean_operands
        else as_float(x, part if j in own.real_operands else dtype, mode.tape, _is_read(own, j))
        for j, x in enumerate(values)
    ]
    code = CODES[own.name]
    slot = run(mode.tape, code, [t._slot_on(mode.tape) for t in tensors], mode.differentiate)
    if slot < 0:
        raise_for(slot, row.name, [t.shape for t in tensors])
    return _watched(mode, from_slot(mode.tape, slot), code)


def _is_complex(value: Any) -> bool:
    """Return whether an operand, a Tensor, an array or a number, is complex."""
    return type(value) is complex or (type(value) not in _NUMBERS and value.dtype.kind == "c")


def _is_integral(kind: Any) -> bool:
    """Return whether a dtype, or a type of Python's numbers, has no derivatives."""
    if isinstance(kind, type):
        return kind is int
    return kind.kind not in DIFFERENTIABLE_KINDS


def apply_to_any(code: int, *operands: Any) -> Any:
    """Record an op like `apply`; with operands of xarray the result is an xarray object too."""
    if holds_data_arrays(operands):
        row = kernel_table.row(code)
        if isinstance(row, Op) and row.ufunc is not None:
            return apply_by_xarray(getattr(np, row.ufunc), operands)
    return apply(code, *operands)


def holds_data_arrays(operands: tuple[Any, ...]) -> bool:
    """Return whether some operand is an array of xarray."""
    return not OWN.issuperset(map(type, operands)) and any(map(is_data_array, operands))


def apply_by_xarray(ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    """Apply a ufunc to xarray objects that contain Tensors: xarray aligns dimensions by name and keeps labels."""
    return ufunc(*[x.copy(data=_tensor_in(x, ufunc)) if is_data_array(x) else x for x in operands])


def _tensor_in(array: Any, ufunc: np.ufunc) -> Tensor:
    """Return the contents of an xarray object as a Tensor."""
    held = held_tensor(array)
    if held is not None:
        return held
    numbers = plain(array, ufunc.__name__)
    check_dtype(numbers.dtype, ufunc.__name__, takes_complex=True)
    if numbers.dtype.kind in DIFFERENTIABLE_KINDS:
        return as_float(numbers, numbers.dtype.newbyteorder("="), thread.mode.tape, True)
    return from_array(read_now(numbers), constant=True)


def beside_constant(mode: Mode, code: int, own: int, other: Any, is_first: bool) -> int:
    """Call the engine for an op of a slot and a small constant of its dtype; return a negative value for others.

    The constant is an array or a NumPy number.
    """
    kind, header = type(other), mode.tape.header
    if kind is np.float64 and mode.anomaly is None and slots.dtype_of(header, own) == F64:
        return int(eager.record_with_number(header, code, own, other, is_first, mode.differentiate))
    if kind is np.ndarray and mode.anomaly is None:
        dtype = DTYPE_CODES.get(other.dtype, NONE)
        if mode.recorder is not None:
            return (
                _beside_captured(mode, code, own, other, is_first) if _has_dtype(header, own, dtype) else NONE
            )
        return int(eager.record_with_array(header, code, own, id(other), dtype, is_first, mode.differentiate))
    return NONE


def _has_dtype(header: int, slot: int, dtype: int) -> bool:
    """Return whether a slot has a dtype of floats."""
    return dtype in (F32, F64) and bool(slots.dtype_of(header, slot) == dtype)


def _beside_captured(mode: Mode, code: int, own: int, other: np.ndarray, is_first: bool) -> int:
    """Record an op of a slot and an array of its dtype, which each replay reads where it lies; negative on failure."""
    captured = from_array(other, constant=True)
    pair = [captured._slot, own] if is_first else [own, captured._slot]
    return run(mode.tape, code, pair, mode.differentiate)


def _of_two(mode: Mode, code: int, x1: Any, x2: Any) -> int:
    """Call the engine for an op of a Tensor and another operand, in either order; negative for other operands."""
    x, other, is_first = (x1, x2, False) if type(x1) is Tensor else (x2, x1, True)
    if type(x) is not Tensor or x._tape is not mode.tape:
        return NONE
    return beside_constant(mode, code, x._slot_on(mode.tape), other, is_first)


def _of_three(mode: Mode, code: int, *operands: Any) -> int:
    """Call the engine for an op of Tensors, numbers and small arrays of one dtype, and masks; negative for others."""
    tape, header, dtype = mode.tape, mode.tape.header, NONE
    for x in operands:
        if type(x) is Tensor:
            if x._tape is not tape:
                return NONE
            own = slots.dtype_of(header, x._slot)
            dtype = own if own <= F32 or own >= C128 else dtype
    if dtype == NONE:
        return NONE
    given: list[int] = []
    made: list[int] = []
    for x in operands:
        if type(x) is Tensor:
            given.append(x._slot if x._base is None else x._slot_on(tape))
        else:
            made.append(constant_slot(header, x, dtype))
            given.append(made[-1])
    slot = NONE if min(given) < 0 else eager.record_elementwise(header, code, *given, mode.differentiate)
    for each in made:
        if each >= 0:
            slots.drop(header, each)
    return slot


def constant_slot(header: int, value: Any, dtype: int) -> int:
    """Return a slot on a copy of a small array or of a number in a dtype; negative for any other value."""
    kind = type(value)
    if kind is float or kind is int:
        return int(slots.number(header, value, dtype))
    array = np.asarray(value) if kind is np.bool_ else value
    if type(array) is not np.ndarray or array.size > MAX_COPIED_ELEMENTS:
        return NONE
    code = DTYPE_CODES.get(array.dtype, NONE)
    if code == NONE:
        return NONE
    made: int = slots.copy_array(header, id(array), code, 0)
    if made >= 0:
        return made
    in_order = np.array(array, order="C")
    return int(slots.copy_array(header, id(in_order), code, 0))


@functools.cache
def promoted(*kinds: Any) -> np.dtype[Any]:
    """Return the promoted dtype of an op; Python numbers are given as ``float`` or ``int``, and are weak."""
    return np.result_type(*[kind(0) if isinstance(kind, type) else kind for kind in kinds])


def _operand(value: Any, row: Op) -> Any:
    """Convert an operand that is neither a Tensor nor a Python number to an array or a Tensor of a supported dtype."""
    if holds_tensors(value):
        return list_as_tensor(value, row.name)
    if (held := held_tensor(value)) is not None:
        return held
    array = plain(value, row.name)
    check_dtype(array.dtype, row.name, takes_complex=True)
    return array


def _is_read(row: Op, operand: int) -> bool:
    """Return whether any partial reads an operand's primal."""
    return operand in row.keeps_operands


def _without_tape(row: Op, values: list[Any]) -> Tensor:
    """Compute an op of integers and booleans, which are constants: by NumPy in integers, or by the kernel in float64.

    Of indices that each replay computes it is an instruction.
    """
    tape = thread.mode.recorder
    if tape is not None and any(is_computed_integer(value, tape) for value in values):
        if _gives_floats(row) and not row.predicate:
            return apply(CODES[row.name], *[as_computed_float(value, tape) for value in values])
        result = record_integers(row.name, values, tape)
        if result is not None:
            return result
    arrays = [value if type(value) is int else read_now(value) for value in values]
    if _gives_floats(row):  # float64, to give the bits that a recorded instruction gives
        return from_array(compute(row, arrays), constant=True)
    return from_array(_by_numpy(row, arrays), constant=True)


@functools.cache
def _gives_floats(row: Op) -> bool:
    """Return whether the result of an op of integers is a float."""
    return _by_numpy(row, [np.ones((), np.int64)] * row.arity).dtype.kind == "f"


def _by_numpy(row: Op, arrays: list[Any]) -> np.ndarray:
    with np.errstate(all="ignore"):
        if row.ufunc:
            return np.asarray(getattr(np, row.ufunc)(*arrays))
        return np.asarray(evaluate_numpy(row.primal, **{f"x{j}": array for j, array in enumerate(arrays)}))


def read_now(value: Any) -> np.ndarray:
    """Return a value as an array for NumPy to read now; a recording guards its contents."""
    array = np.asarray(value)  # a Tensor's contents are guarded by numpy.asarray
    if isinstance(value, np.ndarray):
        watch_now(array)
    return array


def read_within(value: Any) -> None:
    """Apply `read_now` to all arrays and Tensors in a value, inside lists and tuples too."""
    if thread.mode.recorder is None:
        return
    if is_tensor(value) or isinstance(value, np.ndarray):
        read_now(value)
    elif isinstance(value, list | tuple):
        for part in value:
            read_within(part)


def as_float(value: Any, dtype: np.dtype[Any], tape: Tape, read_later: bool) -> Tensor:
    """Return an operand as a Tensor of a dtype of floats or of complex numbers.

    An array that a reverse rule will read is copied, so that the caller may change it afterwards. A recording does
    not copy it, because each replay reads it anew.
    """
    if is_tensor(value):
        return value if value.dtype == dtype else cast(value, dtype, tape)
    if type(value) in _NUMBERS:
        return from_slot(tape, slots.number(tape.header, float(value), DTYPE_CODES[dtype]))
    if dtype.kind == "f":
        refuse_lost_parts(value, dtype, "a conversion")
    array = np.asarray(value, dtype)
    if tape.recording and isinstance(value, np.ndarray) and value.dtype != dtype:
        return _converted(value, dtype, tape)
    if tape is not EAGER:
        return from_array(array, constant=True)
    copied = small_copy(array)
    if copied is not None:
        return copied
    return from_array(array.copy() if read_later and array is value and can_change(array) else array, True)


def small_copy(array: np.ndarray) -> Tensor | None:
    """Return an eager constant with a C-ordered copy of a small array; `None` for a large one."""
    if array.size > MAX_COPIED_ELEMENTS:
        return None
    made = copy_of(array, constant=True)
    return copy_of(np.array(array, order="C"), constant=True) if made is None else made


def list_as_tensor(value: Any, name: str) -> Tensor:
    """Return a list that contains Tensors as a Tensor; gradients flow to its elements."""
    made = stacked(value)
    if made is not None:
        return made
    numbers = in_numbers(value, name)
    check_dtype(numbers.dtype, name, takes_complex=True)
    if numbers.dtype.kind not in DIFFERENTIABLE_KINDS:
        read_within(value)
        return from_array(numbers, constant=True)
    tape = current()[0]
    parts = [as_float(part, numbers.dtype, tape, False) for part in parts_of_list(value, numbers, name)]
    return joined(parts, numbers.shape, numbers.dtype, name)


def _converted(array: np.ndarray, dtype: np.dtype[Any], tape: Tape) -> Tensor:
    """Convert an array to another dtype in a recording: at each replay, or guarded if there is no kernel for it."""
    if array.dtype in DTYPE_CODES:
        return cast(from_array(array, constant=True), dtype, tape)
    watch_now(array)
    return from_array(array.astype(dtype), constant=True)


def as_boolean(value: Any, tape: Tape) -> Tensor:
    """Return an operand as a Tensor of booleans."""
    if not is_tensor(value):
        return _truth(value, tape)
    if value.dtype.kind in DIFFERENTIABLE_KINDS:
        return apply(CODES["not_equal"], value, 0)
    return value if value.dtype == bool else cast(value, _BOOLEAN, tape)


def _truth(value: Any, tape: Tape) -> Tensor:
    """Return an array or a number as booleans, copied as in `as_float`: the reverse rule reads them."""
    array = np.asarray(value, bool)
    if tape.recording and array is not value:
        read_now(value)
    copied = small_copy(array) if tape is EAGER else None
    if copied is not None:
        return copied
    return from_array(array.copy() if array is value and tape is EAGER else array, constant=True)


def cast(tensor: Tensor, dtype: np.dtype[Any], tape: Tape) -> Tensor:
    """Convert a Tensor to a dtype; its cotangent is converted back.

    NumPy converts integers and booleans; a recording does it by an instruction, or guards them if there is no kernel.
    """
    by_kernel = dtype in DTYPE_CODES and isinstance(tape, Recorder) and _has_kernel(tensor, tape)
    if tensor.dtype.kind not in DIFFERENTIABLE_KINDS and not by_kernel:
        return from_array(read_now(tensor).astype(dtype, order="C"), constant=True)
    if tensor.dtype.kind == "c" and dtype.kind not in "cb":
        refuse_complex(tensor.dtype, f"a conversion to {dtype}")
    if dtype.kind == "c":
        complex_seen[0] = True
    code = _CASTS[DTYPE_CODES[dtype]]
    slot = run(tape, code, [tensor._slot_on(tape)], current()[1])
    if slot < 0:
        raise_for(slot, "astype", [tensor.shape])
    result = from_slot(tape, slot)
    watch(tape, slot, "astype")
    return result


def _has_kernel(tensor: Any, tape: Recorder) -> bool:
    """Return whether the engine stores a Tensor's elements without conversion; it widens narrow integers to 64 bits."""
    if tensor._tape is tape:
        return not tape.wraps(tensor)
    return bool(tensor.dtype in DTYPE_CODES)
