"""Values of a plain function's expressions: one number, several numbers, or a value known while it is translated."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from tapegrad.engine.kernels.language import numba_internals, types
from tapegrad.engine.kernels.language.llvm_types import converted, unpacked

I64, I32, U8, I1 = (ir.IntType(bits) for bits in (64, 32, 8, 1))
F64, F32 = ir.DoubleType(), ir.FloatType()
C128, C64 = (ir.LiteralStructType([part, part]) for part in (F64, F32))
_KNOWN: dict[type, ir.Type] = {
    bool: I1,
    np.bool_: I1,
    int: I64,
    np.int64: I64,
    np.int32: I32,
    np.uint8: U8,
    float: F64,
    np.float64: F64,
    np.float32: F32,
    complex: C128,
    np.complex128: C128,
    np.complex64: C64,
}
_PART_OF = {C128: F64, C64: F32}


class NotPlainError(Exception):
    """A function says something that is not translated here. Numba compiles it."""


class Constant(NamedTuple):
    """A Python object: a number, a function, a class, a module."""

    object: Any


class Record(NamedTuple):
    """A tuple, of a class of named tuples or of none."""

    make: type | None
    items: tuple[Any, ...]


class RecordType(NamedTuple):
    """The types of the items of a `Record`."""

    make: type | None
    items: tuple[Any, ...]


# A value is one of LLVM's, a `Constant` or a `Record`; a kind is one of LLVM's types, `None`, or a `RecordType`.


def is_number(value: Any) -> bool:
    """Return whether a value is one number, known or not."""
    if isinstance(value, Constant):
        return isinstance(value.object, int | float | complex | np.integer | np.inexact)
    return isinstance(value, ir.Value)


def materialized(value: Any) -> Any:
    """Emit the numbers of a value that are known; tuples that are known become records."""
    if isinstance(value, Record):
        return Record(value.make, tuple(map(materialized, value.items)))
    if not isinstance(value, Constant):
        return value
    known = value.object
    if type(known) in _KNOWN:
        kind = _KNOWN[type(known)]
        if kind in _PART_OF:
            return ir.Constant(kind, [_PART_OF[kind](float(part)) for part in (known.real, known.imag)])
        return kind(float(known) if kind in (F64, F32) else int(known))
    if isinstance(known, tuple):
        make = type(known) if hasattr(known, "_fields") else None
        return Record(make, tuple(materialized(Constant(item)) for item in known))
    raise NotPlainError(f"{known!r} as a value")


def kind_of(value: Any) -> Any:
    """Return the kind of a materialized value."""
    if isinstance(value, Record):
        return RecordType(value.make, tuple(map(kind_of, value.items)))
    return None if value is None else value.type


def common(one: Any, other: Any) -> Any:
    """Return the kind that values of both kinds can have."""
    if one == other:
        return one
    if isinstance(one, RecordType) and isinstance(other, RecordType) and len(one.items) == len(other.items):
        if one.make is other.make:
            return RecordType(one.make, tuple(map(common, one.items, other.items)))
    elif _PART_OF.keys() & {one, other} and one in _NUMBERS and other in _NUMBERS:
        return C64 if {one, other} <= {C64, F32} else C128
    elif one in _NUMBERS and other in _NUMBERS:
        return F64 if F64 in (one, other) or F32 in (one, other) else I64
    raise NotPlainError("values of different kinds in one variable")


def cast(builder: ir.IRBuilder, value: Any, kind: Any) -> Any:
    """Cast a materialized value to another kind that is `common` to it and others."""
    if isinstance(value, Record):
        if not isinstance(kind, RecordType) or len(kind.items) != len(value.items):
            raise NotPlainError("a tuple in place of another")
        return Record(
            value.make, tuple(cast(builder, *pair) for pair in zip(value.items, kind.items, strict=True))
        )
    if value is None or isinstance(kind, RecordType | None):
        raise NotPlainError("nothing, or a tuple, in place of a number")
    if not _fits(value.type, kind):
        raise NotPlainError(f"{value.type} as {kind}")
    return converted(builder, value, kind)


def _fits(given: ir.Type, kind: ir.Type) -> bool:
    """Return whether numbers of a type may be cast to another one: to as many bits at least, integers to all floats."""
    if kind in _PART_OF:
        return _fits(_PART_OF.get(given, given), _PART_OF[kind])
    integers = (I1, U8, I32, I64)
    wider = {I64: integers, F64: (*integers, F32), F32: integers}
    return given == kind or given in wider.get(kind, ())


def is_complex(value: Any) -> bool:
    """Return whether a materialized value is a complex number."""
    return isinstance(value, ir.Value) and value.type in _PART_OF


def parts_of(builder: ir.IRBuilder, number: Any) -> tuple[Any, Any]:
    """Emit the real and the imaginary part of a number."""
    if is_complex(number):
        return builder.extract_value(number, 0), builder.extract_value(number, 1)
    return number, number.type(0)


def of_parts(builder: ir.IRBuilder, real: Any, imag: Any) -> Any:
    """Emit the complex number of two floats of one type."""
    kind = C128 if real.type == F64 else C64
    made = builder.insert_value(ir.Constant(kind, ir.Undefined), real, 0)
    return builder.insert_value(made, imag, 1)


# --- several fields -----------------------------------------------------------------------------------------------


def fields_of(whole: Any) -> Iterator[Any]:
    """Flatten a materialized value to its numbers, or a kind to their types, nested tuples included."""
    if isinstance(whole, Record | RecordType):
        for item in whole.items:
            yield from fields_of(item)
    else:
        yield whole


def of_fields(kind: Any, fields: Iterator[Any]) -> Any:
    """Build the value of this kind from its numbers."""
    if isinstance(kind, RecordType):
        return Record(kind.make, tuple(of_fields(item, fields) for item in kind.items))
    return next(fields)


# --- Numba's types -----------------------------------------------------------------------------------------------

_NUMBERS: dict[ir.Type, str] = {
    I64: "int64",
    I32: "int32",
    U8: "uint8",
    I1: "boolean",
    F64: "float64",
    F32: "float32",
    C128: "complex128",
    C64: "complex64",
}
_VECTORS: dict[ir.Type, Any] = {}  # those that intrinsics have returned


@functools.cache
def kinds() -> dict[Any, ir.Type]:
    """Return the kind of numbers of each of Numba's types."""
    return {getattr(types, name): kind for kind, name in _NUMBERS.items()}


def numba_type(value: Any, literal: bool = False) -> Any:
    """Numba's type of a value, as intrinsics ask for it."""
    if isinstance(value, Constant):
        known = value.object
        if isinstance(known, type) and hasattr(known, "_fields"):
            return types.NamedTupleClass(known)
        if literal and type(known) is int:
            return types.literal(known)
        return getattr(types, _NUMBERS[materialized(value).type] if is_number(value) else "unknown")
    if isinstance(value, Record):
        return types.BaseTuple.from_types([numba_type(item) for item in value.items], value.make)
    if value.type in _NUMBERS:
        return getattr(types, _NUMBERS[value.type])
    if value.type not in _VECTORS:
        raise NotPlainError(f"an intrinsic of {value.type}")
    return _VECTORS[value.type]


def as_numba_has_it(builder: ir.IRBuilder, value: Any, wanted: Any) -> Any:
    """Convert a value to the form in which a function takes an argument of one of Numba's types."""
    if isinstance(wanted, types.BaseTuple):
        items = materialized(value).items
        pairs = zip(items, wanted.types, strict=True)
        return numba_internals.cpu_target.target_context.make_tuple(
            builder, wanted, [as_numba_has_it(builder, *pair) for pair in pairs]
        )
    if not is_number(value):
        return ir.Constant(ir.LiteralStructType([]), None)  # a class: it has no value in compiled code
    number = materialized(value)
    if isinstance(number.type, ir.VectorType):
        return number
    if isinstance(wanted, types.Integer):
        if number.type not in (I64, I32, U8, I1):
            raise NotPlainError("a float in place of an integer")
        return converted(builder, number, ir.IntType(wanted.bitwidth))
    kind = kinds()[wanted]
    if (number.type, kind) in ((F64, F32), (C128, C64)):
        return converted(builder, number, kind)
    return cast(builder, number, kind)


def from_numba(builder: ir.IRBuilder, value: Any, kind: Any) -> Any:
    """Convert the result of a function, which is of one of Numba's types, to a value."""
    if kind in (types.void, types.none):
        return None
    if isinstance(kind, types.NamedUniTuple) and kind.dtype == types.int64:
        return Record(kind.instance_class, tuple(unpacked(builder, value)))
    if isinstance(value.type, ir.VectorType):
        _VECTORS[value.type] = kind
        return value
    if isinstance(kind, types.Integer):
        if kind in (types.int64, types.int32, types.uint8):
            return value
        return builder.sext(value, I64) if kind.signed else builder.zext(value, I64)
    if kind in (types.float64, types.float32, types.boolean, types.complex128, types.complex64):
        return value
    raise NotPlainError(f"an intrinsic that returns {kind}")
