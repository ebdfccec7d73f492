"""Moving blocks between lines at any stride and adjacent elements: functions compiled once for a machine.

They are loops over single elements. What they move is computed with in vectors.
"""

from collections.abc import Callable
from functools import partial

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import POINTER, element_at, load, moved, store
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64, Type

_CONVENTION = "fastcc"
_UNROLLED = 4  # elements in an iteration of a loop over single ones
_BOOLEAN = Type("i1")


def call_for(result: str, name: str, element: Type, *arguments: Value) -> str:
    """Write the text of a call of one of these functions."""
    body = arguments[0].body
    return body.call(result, f'@"{body.target.symbol(name, element.suffix)}"', arguments, _CONVENTION)


def begin(target: Target, result: str, name: str, element: Type, arguments: str) -> Body:
    """Begin one of these functions."""
    symbol = target.symbol(name, element.suffix)
    return Body(target, f'define {_CONVENTION} {result} @"{symbol}"({arguments}) noinline')


def _integer(body: Body, number: int) -> Value:
    return body.constant(I64, number)


def _each(n: Value, emit: Callable[[Value], None]) -> None:
    """Emit a loop over `n` elements, four in an iteration."""
    body = n.body
    whole = n & -_UNROLLED
    with body.loop(_integer(body, 0), whole, _UNROLLED) as i:
        for k in range(_UNROLLED):
            emit(i + k)
    with body.loop(whole, n, 1) as i:
        emit(i)


def define_pack(target: Target, element: Type) -> Body:
    """``pack(at, stride, n, scratch)``: where the elements are adjacent or a single one, which may be as they are."""
    body = begin(target, "ptr", "pack", element, "ptr %at, i64 %stride, i64 %n, ptr %scratch")
    at, room = body.named(POINTER, "%at"), body.named(POINTER, "%scratch")
    stride, n = body.named(I64, "%stride"), body.named(I64, "%n")
    ready = stride.equal(element.bytes) | stride.equal(0)

    def copy(i: Value) -> None:
        store(load(moved(at, i * stride), element), element_at(room, element, i))

    _each(body.either(ready, _integer(body, 0), n), copy)
    body.ret(body.either(ready, at, room))
    return body


def define_flush(target: Target, element: Type) -> Body:
    """``flush(scratch, at, stride, n)``: to where elements are not adjacent; nothing where they are."""
    body = begin(target, "void", "flush", element, "ptr %scratch, ptr %at, i64 %stride, i64 %n")
    at, room = body.named(POINTER, "%at"), body.named(POINTER, "%scratch")
    stride, n = body.named(I64, "%stride"), body.named(I64, "%n")

    def copy(i: Value) -> None:
        store(load(element_at(room, element, i), element), moved(at, i * stride))

    _each(body.either(stride.equal(element.bytes), _integer(body, 0), n), copy)
    body.ret("void")
    return body


def define_add(target: Target, element: Type) -> Body:
    """``add(scratch, at, stride, n, stored)``: flush what is `stored`, add the rest; nothing where it is adjacent."""
    body = begin(target, "void", "add", element, "ptr %scratch, ptr %at, i64 %stride, i64 %n, i1 %stored")
    at, room = body.named(POINTER, "%at"), body.named(POINTER, "%scratch")
    stride, n, stored = body.named(I64, "%stride"), body.named(I64, "%n"), body.named(_BOOLEAN, "%stored")

    def add(i: Value) -> None:
        pointer, value = moved(at, i * stride), load(element_at(room, element, i), element)
        store(body.either(stored, value, load(pointer, element) + value), pointer)

    _each(body.either(stride.equal(element.bytes), _integer(body, 0), n), add)
    body.ret("void")
    return body


_F64, _F32, _BYTE = Type("double"), Type("float"), Type("i8")
_PAIRS = _F64.pair, _F32.pair
_Maker = Callable[[Target, Type], Body]
_MADE: tuple[tuple[str, _Maker, tuple[Type, ...]], ...] = (
    ("pack", define_pack, (_F64, _F32, _BYTE, *_PAIRS)),
    ("flush", define_flush, (_F64, _F32, _BYTE, *_PAIRS)),
    ("add", define_add, (_F64, _F32, *_PAIRS)),
)


def functions(target: Target) -> dict[str, Callable[[], Body]]:
    """Return the functions by their symbols."""
    return {
        target.symbol(name, element.suffix): partial(define, target, element)
        for name, define, elements in _MADE
        for element in elements
    }
