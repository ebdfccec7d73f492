"""Lanes for which vector code is not worth its while: the C library computes them, one after the other."""

from collections.abc import Sequence

from tapegrad.engine.emitter.body import Value
from tapegrad.engine.emitter.operations import select
from tapegrad.engine.emitter.types import Type


def by_library(name: str, rare: Value, x: Value, value: Value) -> Value:
    """`value`, but in the lanes where `rare` holds what the C library's function `name` gives for `x`."""
    return x.body.unless(x.body.any(rare), value, lambda: select(rare, _each(name, x), value))


def all_by_library(names: Sequence[str], rare: Value, x: Value, values: Sequence[Value]) -> tuple[Value, ...]:
    """The same of several functions of `x`; whether a lane is rare is asked once."""
    pairs = list(zip(names, values, strict=True))
    return x.body.unless_all(
        x.body.any(rare), values, lambda: [select(rare, _each(name, x), value) for name, value in pairs]
    )


def _each(name: str, x: Value) -> Value:
    """The C library's function of every lane."""
    body, result = x.body, x
    scalar = Type(x.type.element)
    for lane in range(x.type.lanes):
        element = body.emit(scalar, f"extractelement {x}, i32 {lane}")
        computed = body.emit(scalar, body.call(str(scalar), f"@{name}", [element]))
        result = body.emit(x.type, f"insertelement {result}, {computed}, i32 {lane}")
    return result
