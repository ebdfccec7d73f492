"""sin, cos, both at once, and tan.

``x = q*pi/2 + r`` with a whole number q and r as a pair, pi/2 in three parts (Cody, Waite 1980); every part is
subtracted with one rounding, so that this is right to the last bit up to 2**45. Beyond, the C library computes the
few elements that are so large. The polynomials for r are those of fdlibm's ``k_sin.c`` and ``k_cos.c`` (Sun
Microsystems 1993).
"""

from collections.abc import Sequence
from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import MAGIC, absolute, bits, fma, from_bits, select
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, quotient, two_product
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.mathematics.polynomial import polynomial


def by_library(name: str, rare: Value, x: Value, value: Value) -> Value:
    """`value`, but in the lanes where `rare` holds what the C library's function `name` gives for `x`."""
    return x.body.unless(x.body.any(rare), value, lambda: select(rare, _each(name, x), value))


def all_by_library(names: Sequence[str], rare: Value, x: Value, values: Sequence[Value]) -> tuple[Value, ...]:
    """Replace rare lanes of several functions of `x` by the C library's values; one test serves all functions."""
    pairs = list(zip(names, values, strict=True))
    return x.body.unless_all(
        x.body.any(rare), values, lambda: [select(rare, _each(name, x), value) for name, value in pairs]
    )


def _each(name: str, x: Value) -> Value:
    """Call the C library's function for every lane."""
    body, result = x.body, x
    scalar = Type(x.type.element)
    for lane in range(x.type.lanes):
        element = body.emit(scalar, f"extractelement {x}, i32 {lane}")
        computed = body.emit(scalar, body.call(str(scalar), f"@{name}", [element]))
        result = body.emit(x.type, f"insertelement {result}, {computed}, i32 {lane}")
    return result


_TWO_OVER_PI = 0.6366197723675814
_PI_HALVES = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
LARGEST = 2.0**45
_LINEAR = 1e-8  # up to here tan(x) is x

# sin(r)/r - 1 and cos(r) - 1 + r**2/2 by r**2 and r**4, as polynomials in r**2, for |r| <= pi/4: to 2**-58
SINE = (
    -0.16666666666666632, 0.00833333333332249, -0.0001984126982985795, 2.7557313707070068e-06,
    -2.5050760253406863e-08, 1.58969099521155e-10,
)  # fmt: skip
COSINE = (
    0.0416666666666666, -0.001388888888887411, 2.480158728947673e-05, -2.7557314351390663e-07,
    2.087572321298175e-09, -1.1359647557788195e-11,
)  # fmt: skip


class _ReducedAngle(NamedTuple):
    """``x = q*pi/2 + r - lost``, and an integer whose two low bits are those of q."""

    r: Value
    lost: Value
    quadrant: Value


def _reduced(x: Value) -> _ReducedAngle:
    first, second, third = _PI_HALVES
    shifted = fma(x, _TWO_OVER_PI, MAGIC)
    q = shifted - MAGIC
    a = fma(-q, first, x)
    w = q * second
    r = a - w
    lost = fma(q, third, fma(q, second, -w)) - ((a - r) - w)
    return _ReducedAngle(r, lost, bits(shifted))


def _sine(angle: _ReducedAngle) -> Value:
    """Compute the sine of an angle. Where r is zero, 0.0 and not -0.0 is subtracted, so that zeros keep their signs."""
    r = angle.r
    z = r * r
    return r - fma(z * r, -polynomial(z, SINE), angle.lost)


def _cosine(angle: _ReducedAngle) -> Value:
    r = angle.r
    z = r * r
    start = fma(z, -0.5, 1.0)
    rest = fma(r, angle.lost, fma(z, -0.5, 1.0 - start))
    return start + fma(z * z, polynomial(z, COSINE), rest)


def moderate_sincos(x: Value) -> tuple[Value, Value]:
    """Sine and cosine of what is not beyond `LARGEST`."""
    angle = _reduced(x)
    s, c = _sine(angle), _cosine(angle)
    half, turned = angle.quadrant << 62, angle.quadrant << 63  # bits 1 and 0 of the quadrant as signs
    odd = _is_odd(angle)
    return _signed(select(odd, c, s), half), _signed(select(odd, s, c), half ^ turned)


def _is_odd(angle: _ReducedAngle) -> Value:
    return (angle.quadrant << 63) < 0


def moderate_sincos_pairs(x: Value) -> tuple[Pair, Pair]:
    """Sine and cosine, each as a pair of about 57 bits, of what is not beyond `LARGEST`. The sine of -0.0 is 0."""
    angle = _reduced(x)
    s, c, odd = _sine_pair(angle), _cosine_pair(angle), _is_odd(angle)
    half, turned = angle.quadrant << 62, angle.quadrant << 63
    sine = [_signed(select(odd, *each), half) for each in zip(c, s, strict=True)]
    cosine = [_signed(select(odd, *each), half ^ turned) for each in zip(s, c, strict=True)]
    return Pair(*sine), Pair(*cosine)


def _signed(x: Value, sign: Value) -> Value:
    """`x` with its sign changed where the highest bit of an integer is 1."""
    return from_bits(bits(x) ^ (sign & -(2**63)))


def _is_huge(x: Value) -> Value:
    return absolute(x) > LARGEST


def sincos(x: Value) -> tuple[Value, Value]:
    """Sine and cosine, to 0.9 units in the last place."""
    sine, cosine = all_by_library(("sin", "cos"), _is_huge(x), x, moderate_sincos(x))
    return sine, cosine


def sin(x: Value) -> Value:
    return by_library("sin", _is_huge(x), x, moderate_sincos(x)[0])


def cos(x: Value) -> Value:
    return by_library("cos", _is_huge(x), x, moderate_sincos(x)[1])


def tan(x: Value) -> Value:
    """Compute the quotient of both as pairs; in odd quadrants ``-cos/sin``."""
    angle = _reduced(x)
    s, c, odd = _sine_pair(angle), _cosine_pair(angle), _is_odd(angle)
    above = Pair(select(odd, -c.high, s.high), select(odd, -c.low, s.low))
    below = Pair(select(odd, s.high, c.high), select(odd, s.low, c.low))
    value = select(absolute(x) < _LINEAR, x, quotient(above, below).value)
    return by_library("tan", _is_huge(x), x, value)


def _sine_pair(angle: _ReducedAngle) -> Pair:
    """Compute the sine to about 57 bits, with the rounding errors of the square and of the first two terms."""
    r = angle.r
    square, first = two_product(r, r), SINE[0]
    cube = two_product(square.high, r)
    term = cube.high * first
    lost = fma(fma(square.low, r, cube.low), first, fma(cube.high, first, -term))
    start = fast_two_sum(r, term)
    rest = fma(cube.high * square.high, polynomial(square.high, SINE[1:]), lost - angle.lost)
    return fast_two_sum(start.high, start.low + rest)


def _cosine_pair(angle: _ReducedAngle) -> Pair:
    """Compute the cosine to about 57 bits, likewise."""
    r = angle.r
    square = two_product(r, r)
    start = fma(square.high, -0.5, 1.0)
    lost = fma(r, angle.lost, fma(square.low, -0.5, fma(square.high, -0.5, 1.0 - start)))
    return fast_two_sum(start, fma(square.high * square.high, polynomial(square.high, COSINE), lost))
