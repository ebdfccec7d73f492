"""Mathematics as functions of vectors, each compiled once for a machine, and calls of them."""

from typing import Any

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.complex_values import ComplexValue, Number, by_parts, parts_of
from tapegrad.engine.codegen.ir.operations import halves, joined, narrowed, widened
from tapegrad.engine.codegen.ir.sums import PARTS
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.mathematics import COMPLEX_MATHEMATICS, MATHEMATICS

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


def _complex_results(name: str, type_: Type) -> str:
    """Return the type of what a function of complex numbers gives: two parts, or one real number."""
    one = COMPLEX_MATHEMATICS[name].__annotations__["return"] is Value
    return str(type_) if one else f"{{ {type_}, {type_} }}"


def complex_symbols(target: Target) -> dict[str, tuple[str, int]]:
    """Return the functions of complex numbers by their symbols: the name of each, and the lanes of its vectors."""
    return {
        _complex_symbol(name, target, n): (name, n)
        for name in COMPLEX_MATHEMATICS
        for n in {1, PARTS.lanes, target.lanes}
    }


def _complex_symbol(name: str, target: Target, lanes: int) -> str:
    return target.symbol("complex", name, "of", lanes)


def define_complex(name: str, target: Target, lanes: int) -> Body:
    """Define a function of complex numbers, whose parts are arguments each, as `define` does one of reals."""
    type_, function = Type("double", lanes), COMPLEX_MATHEMATICS[name]
    count = function.__code__.co_argcount
    arguments = ", ".join(f"{type_} %x{j}" for j in range(count))
    symbol = _complex_symbol(name, target, lanes)
    body = Body(
        target, f'define {CONVENTION} {_complex_results(name, type_)} @"{symbol}"({arguments}) noinline'
    )
    given = function(*(body.named(type_, f"%x{j}") for j in range(count)))
    body.ret(_packed(body, given) if isinstance(given, tuple) else given)
    return body


def call_complex(name: str, *arguments: ComplexValue) -> Any:
    """Call a function of complex numbers on vectors; float32 is computed in float64 and rounded."""
    return _call_complex(name, [part for each in arguments for part in parts_of(each)])


def _call_complex(name: str, parts: list[Value]) -> Number:
    body, type_ = parts[0].body, parts[0].type
    if type_.element == "float":
        return by_parts(narrowed, _call_complex(name, [widened(part) for part in parts]))
    if type_.lanes > body.target.lanes:
        first, second = (_call_complex(name, list(half)) for half in zip(*map(halves, parts), strict=True))
        return by_parts(joined, first, second)
    results = _complex_results(name, type_)
    symbol = _complex_symbol(name, body.target, type_.lanes)
    both = body.emit(Type(results), body.call(results, f'@"{symbol}"', parts, CONVENTION))
    if results == str(type_):
        return Value(body, type_, both.text)
    return ComplexValue(*(body.emit(type_, f"extractvalue {both}, {index}") for index in range(2)))


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
