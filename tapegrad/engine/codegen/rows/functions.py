"""Mathematics as functions of vectors, each compiled once for a machine, and calls of them."""

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.operations import halves, joined, narrowed, widened
from tapegrad.engine.codegen.ir.sums import PARTS
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.mathematics import MATHEMATICS

CONVENTION = "fastcc"  # vectors are passed and given back in registers


def arity(name: str) -> int:
    """Return the number of a function's arguments."""
    return MATHEMATICS[name].__code__.co_argcount


def _results(name: str, type_: Type) -> str:
    return f"{{ {type_}, {type_} }}" if name == "sincos" else str(type_)


def symbols(target: Target) -> dict[str, tuple[str, int]]:
    """Return the functions by their symbols: the name of each, and the lanes of its vectors."""
    return {
        _symbol(name, target, n): (name, n) for name in MATHEMATICS for n in {1, PARTS.lanes, target.lanes}
    }


def _symbol(name: str, target: Target, lanes: int) -> str:
    return target.symbol(name) if lanes == target.lanes else target.symbol(name, "of", lanes)


def define(name: str, target: Target, lanes: int = 0) -> Body:
    """Define the function of a page of the mathematics, of vectors with as many lanes as the target has by default."""
    type_ = Type("double", lanes or target.lanes)
    arguments = ", ".join(f"{type_} %x{j}" for j in range(arity(name)))
    symbol = _symbol(name, target, type_.lanes)
    body = Body(target, f'define {CONVENTION} {_results(name, type_)} @"{symbol}"({arguments}) noinline')
    given = MATHEMATICS[name](*(body.named(type_, f"%x{j}") for j in range(arity(name))))
    body.ret(_packed(body, given) if isinstance(given, tuple) else given)
    return body


def _packed(body: Body, values: tuple[Value, ...]) -> Value:
    type_ = Type(_results("sincos", values[0].type))
    packed = body.named(type_, "poison")
    for index, value in enumerate(values):
        packed = body.emit(type_, f"insertvalue {packed}, {value}, {index}")
    return packed


def call(name: str, *arguments: Value) -> Value:
    """Call a function of the mathematics on vectors of float64; float32 is computed in float64 and rounded."""
    if arguments[0].type.element == "float":
        return narrowed(call(name, *map(widened, arguments)))
    if arguments[0].type.lanes > arguments[0].body.target.lanes:
        return joined(*(call(name, *half) for half in zip(*map(halves, arguments), strict=True)))
    return arguments[0].body.emit(arguments[0].type, _call(name, arguments))


def call_sincos(x: Value) -> tuple[Value, Value]:
    """Sine and cosine by one call."""
    if x.type.element == "float":
        sine, cosine = call_sincos(widened(x))
        return narrowed(sine), narrowed(cosine)
    if x.type.lanes > x.body.target.lanes:
        sines, cosines = zip(*map(call_sincos, halves(x)), strict=True)
        return joined(*sines), joined(*cosines)
    both = x.body.emit(Type(_results("sincos", x.type)), _call("sincos", (x,)))
    sine, cosine = (x.body.emit(x.type, f"extractvalue {both}, {index}") for index in range(2))
    return sine, cosine


def _call(name: str, arguments: tuple[Value, ...]) -> str:
    body = arguments[0].body
    type_ = arguments[0].type
    symbol = _symbol(name, body.target, type_.lanes)
    return body.call(_results(name, type_), f'@"{symbol}"', arguments, CONVENTION)
