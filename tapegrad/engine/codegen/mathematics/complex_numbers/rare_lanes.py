"""Scalar fallback of functions of complex numbers: lanes with rare arguments call the C library one by one.

Its functions have the special values of C99, Annex G, as NumPy's have, which calls them for every element.
"""

from collections.abc import Sequence

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import absolute, select
from tapegrad.engine.codegen.ir.types import Type

Parts = tuple[Value, Value]


def by_library(name: str, rare: Value, arguments: Sequence[Value], values: Parts) -> Parts:
    """Replace the rare lanes of both parts by those of the C library's function `name`."""
    body = rare.body

    def otherwise() -> Parts:
        computed = _each(name, arguments)
        return select(rare, computed[0], values[0]), select(rare, computed[1], values[1])

    re, im = body.unless_all(body.any(rare), values, otherwise)
    return re, im


def exceeds(re: Value, re_limit: float, im: Value, im_limit: float) -> Value:
    """Return whether a part is larger than its limit, or NaN."""
    return ~((absolute(re) <= re_limit) & (absolute(im) <= im_limit))


def _each(name: str, arguments: Sequence[Value]) -> Parts:
    """Call the C library's function, whose complex arguments and result are pairs of registers, for every lane."""
    body, type_ = arguments[0].body, arguments[0].type
    scalar = Type(type_.element)
    pair = f"{{ {scalar}, {scalar} }}"
    re, im = arguments[:2]
    for lane in range(type_.lanes):
        elements = [body.emit(scalar, f"extractelement {x}, i32 {lane}") for x in arguments]
        both = body.emit(Type(pair), body.call(pair, f"@{name}", elements))
        first, second = (body.emit(scalar, f"extractvalue {both}, {index}") for index in range(2))
        re = body.emit(type_, f"insertelement {re}, {first}, i32 {lane}")
        im = body.emit(type_, f"insertelement {im}, {second}, i32 {lane}")
    return re, im
