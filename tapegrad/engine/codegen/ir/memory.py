"""Loads and stores of elements in lines of memory."""

from dataclasses import dataclass

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.operations import lanes_of
from tapegrad.engine.codegen.ir.types import I64, Type

POINTER = Type("ptr")


@dataclass(frozen=True)
class Line:
    """Elements of one type at a stride in bytes."""

    base: Value
    stride: Value
    element: Type


def moved(base: Value, by: Value) -> Value:
    """Add a number of bytes to an address, or each number of a vector."""
    return base.body.emit(by.type.of("ptr"), f"getelementptr i8, {base}, {by}")


@dataclass(frozen=True)
class Cotangent:
    """A line that contributions are added to, or written where it is `stored`; or one element, that gets their sum."""

    line: Line
    stored: Value
    summed: bool = False

    def parts(self) -> "list[Cotangent]":
        """Return the cotangents of both parts of one complex number; those of a real one are itself."""
        part, line = self.line.element.part, self.line
        if not line.element.is_pair:
            return [self]
        bases = line.base, moved(line.base, line.stride.like(part.bytes))
        return [Cotangent(Line(base, line.stride, part), self.stored, self.summed) for base in bases]


def is_null(address: Value) -> Value:
    return address.body.emit(Type("i1"), f"icmp eq {address}, null")


def element_at(base: Value, element: Type, index: Value) -> Value:
    """Return the address of an element of adjacent ones."""
    return base.body.emit(POINTER, f"getelementptr {element}, {base}, {index}")


def load_field(base: Value, index: int, type_: Type = I64) -> Value:
    """Load a 64-bit field that no other code writes meanwhile."""
    pointer = element_at(base, I64, base.body.constant(I64, index))
    return base.body.emit(type_, f"load {type_}, {pointer}, align 8")


def load_pointer(base: Value, index: int) -> Value:
    return load_field(base, index, POINTER)


def load(pointer: Value, type_: Type, mask: Value | None = None, missing: Value | None = None) -> Value:
    """Load a vector or an element. Masked-off lanes are not read, and hold `missing` (zero by default)."""
    if mask is None:
        return pointer.body.load(type_, f"load {type_}, {pointer}, align {type_.align}")
    body = pointer.body
    other = missing or body.named(type_, "zeroinitializer")
    align = body.constant(Type("i32"), type_.align)
    name = f"@llvm.masked.load.{type_.suffix}.p0"
    return body.load(type_, body.call(str(type_), name, [pointer, align, mask, other]))


def load_from_all(pointers: Value, type_: Type, mask: Value | None = None) -> Value:
    """Load the element at each address of a vector. Masked-off lanes are not read, and hold zero."""
    body = pointers.body
    name = f"@llvm.masked.gather.{type_.suffix}.{pointers.type.suffix.replace('ptr', 'p0')}"
    align = body.constant(Type("i32"), type_.align)
    mask = mask or body.constant(type_.of("i1"), True)
    arguments = [pointers, align, mask, body.named(type_, "zeroinitializer")]
    return body.load(type_, body.call(str(type_), name, arguments))


def store(value: Value, pointer: Value, mask: Value | None = None) -> None:
    """Write a vector or an element, in the lanes where the mask is true; these are the first ones."""
    body, type_ = value.body, value.type
    if mask is None:
        body.do(f"store {value}, {pointer}, align {type_.align}")
    elif body.target.has_masks:
        align = body.constant(Type("i32"), type_.align)
        body.do(body.call("void", f"@llvm.masked.store.{type_.suffix}.p0", [value, pointer, align, mask]))
    elif mask.is_constant:
        _store_pieces(value, pointer, mask.text.count("true"))
    else:
        _store_first(value, pointer, body.bits_of(mask))


def _store_first(value: Value, pointer: Value, bits: Value) -> None:
    """Write all lanes, or the first ones by halves, quarters and so on, by the bits of a mask.

    Processors whose vectors have no masks take twenty times as long for a masked store as for another one, or do one
    lane after the other.
    """
    body, lanes, element = value.body, value.type.lanes, Type(value.type.element)
    whole, pieces, done = body.fresh("whole"), body.fresh("pieces"), body.fresh("done")
    body.do(f"br {bits.equal(-1)}, label %{whole}, label %{pieces}")
    body.begin(whole)
    store(value, pointer)
    body.do(f"br label %{done}")
    body.begin(pieces)
    with body.scope():
        room = scratch(body, element, lanes)
        store(value, room)
        n = body.convert("zext", body.intrinsic("ctpop", bits), "i64")
        for width in halvings(lanes):
            with body.when((n & width).unequal(0)):
                first = n & (-2 * width)
                part = load(element_at(room, element, first), Type(element.element, width))
                store(part, element_at(pointer, element, first))
        body.do(f"br label %{done}")
    body.begin(done)


def _store_pieces(value: Value, pointer: Value, count: int) -> None:
    """Write a number of lanes that is known."""
    element, first = Type(value.type.element), 0
    for width in (value.type.lanes, *halvings(value.type.lanes)):
        if count & width:
            store(
                lanes_of(value, first, width), element_at(pointer, element, pointer.body.constant(I64, first))
            )
            first += width


def halvings(lanes: int) -> list[int]:
    """Half of a number of lanes, a quarter of it, and so on to one."""
    return [lanes >> k for k in range(1, lanes.bit_length())]


def scratch(body: Body, element: Type, count: int) -> Value:
    """Room on the stack for adjacent elements."""
    return body.on_stack(f"[{count} x {element}]")
