"""Loads and stores of elements in lines of memory."""

from dataclasses import dataclass

from tapegrad.engine.emitter.body import Body, Value
from tapegrad.engine.emitter.types import I64, Type

POINTER = Type("ptr")


@dataclass(frozen=True)
class Line:
    """Elements of one type at a stride in bytes."""

    base: Value
    stride: Value
    element: Type


def moved(base: Value, by: Value) -> Value:
    """An address that so many bytes are added to."""
    return base.body.emit(POINTER, f"getelementptr i8, {base}, {by}")


@dataclass(frozen=True)
class Cotangent:
    """A line that contributions are added to, or written where it is `stored`; or one element, that gets their sum."""

    line: Line
    stored: Value
    summed: bool = False


def is_null(address: Value) -> Value:
    return address.body.emit(Type("i1"), f"icmp eq {address}, null")


def element_at(base: Value, element: Type, index: Value) -> Value:
    """The address of an element of adjacent ones."""
    return base.body.emit(POINTER, f"getelementptr {element}, {base}, {index}")


def word(base: Value, index: int, type_: Type = I64) -> Value:
    """A word that nobody writes meanwhile."""
    place = element_at(base, I64, base.body.constant(I64, index))
    return base.body.emit(type_, f"load {type_}, {place}, align 8")


def pointer_word(base: Value, index: int) -> Value:
    return word(base, index, POINTER)


def load(place: Value, type_: Type, mask: Value | None = None, missing: Value | None = None) -> Value:
    """A vector or an element; in the lanes where the mask is false what is `missing`, and there nothing is read."""
    if mask is None:
        return place.body.load(type_, f"load {type_}, {place}, align {type_.bytes}")
    body = place.body
    other = missing or body.named(type_, "zeroinitializer")
    align = body.constant(Type("i32"), type_.bytes)
    name = f"@llvm.masked.load.{type_.suffix}.p0"
    return body.load(type_, body.call(str(type_), name, [place, align, mask, other]))


def store(value: Value, place: Value, mask: Value | None = None) -> None:
    """Write a vector or an element, in the lanes where the mask is true."""
    body, type_ = value.body, value.type
    if mask is None:
        body.do(f"store {value}, {place}, align {type_.bytes}")
        return
    align = body.constant(Type("i32"), type_.bytes)
    body.do(body.call("void", f"@llvm.masked.store.{type_.suffix}.p0", [value, place, align, mask]))


def scratch(body: Body, element: Type, count: int) -> Value:
    """Room on the stack for adjacent elements."""
    return body.on_stack(f"[{count} x {element}]")
