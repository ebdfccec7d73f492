"""sin, cos, both at once, and tan.

``x = q*pi/2 + r`` with a whole number q and r as a pair, pi/2 in three parts (Cody, Waite 1980); every part is
subtracted with one rounding, so that this is right to the last bit up to 2**45. Beyond, the C library computes the
few elements that are so large. The polynomials for r are those of fdlibm's ``k_sin.c`` and ``k_cos.c`` (Sun
Microsystems 1993).
"""

from typing import NamedTuple

from tapegrad.engine.emitter.body import Value
from tapegrad.engine.emitter.mathematics.pairs import Pair, fast_two_sum, quotient
from tapegrad.engine.emitter.mathematics.polynomial import polynomial
from tapegrad.engine.emitter.mathematics.rare import by_library
from tapegrad.engine.emitter.operations import absolute, bits, fma, from_bits, integer, rint, select

_TWO_OVER_PI = 0.6366197723675814
_PI_HALVES = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_LARGEST = 2.0**45
_LINEAR = 1e-8  # up to here sin(x) and tan(x) are x

# sin(r)/r - 1 and cos(r) - 1 + r**2/2 by r**2 and r**4, as polynomials in r**2, for |r| <= pi/4: to 2**-58
SINE = (
    -0.16666666666666632, 0.00833333333332249, -0.0001984126982985795, 2.7557313707070068e-06,
    -2.5050760253406863e-08, 1.58969099521155e-10,
)  # fmt: skip
COSINE = (
    0.0416666666666666, -0.001388888888887411, 2.480158728947673e-05, -2.7557314351390663e-07,
    2.087572321298175e-09, -1.1359647557788195e-11,
)  # fmt: skip


class _Angle(NamedTuple):
    """``x = quadrant*pi/2 + r + rest``."""

    r: Value
    rest: Value
    quadrant: Value


def _reduced(x: Value) -> _Angle:
    first, second, third = _PI_HALVES
    q = rint(x * _TWO_OVER_PI)
    a = fma(-q, first, x)
    w = q * second
    r = a - w
    rest = ((a - r) - w) - fma(q, third, fma(q, second, -w))
    return _Angle(r, rest, integer(q))


def _sine(angle: _Angle) -> Pair:
    r = angle.r
    z = r * r
    return fast_two_sum(r, fma(z * r, polynomial(z, SINE), angle.rest))


def _cosine(angle: _Angle) -> Pair:
    r = angle.r
    z = r * r
    half = z * 0.5
    start = 1.0 - half
    return fast_two_sum(start, ((1.0 - start) - half) + fma(z * z, polynomial(z, COSINE), -(r * angle.rest)))


def _is_odd(angle: _Angle) -> Value:
    return (angle.quadrant & 1).unequal(0)


def _signed(x: Value, quadrant: Value) -> Value:
    """`x` with its sign changed in quadrants 2 and 3."""
    return from_bits(bits(x) ^ ((quadrant & 2) << 62))


def _both(x: Value) -> tuple[Value, Value]:
    """Sine and cosine of what is not huge."""
    angle = _reduced(x)
    s, c, odd = _sine(angle).high, _cosine(angle).high, _is_odd(angle)
    sine = _signed(select(odd, c, s), angle.quadrant)
    return select(absolute(x) < _LINEAR, x, sine), _signed(select(odd, s, c), angle.quadrant + 1)


def _is_huge(x: Value) -> Value:
    return absolute(x) > _LARGEST


def sincos(x: Value) -> tuple[Value, Value]:
    """Sine and cosine, to 0.8 units in the last place."""
    sine, cosine = _both(x)
    return by_library("sin", _is_huge(x), x, sine), by_library("cos", _is_huge(x), x, cosine)


def sin(x: Value) -> Value:
    return by_library("sin", _is_huge(x), x, _both(x)[0])


def cos(x: Value) -> Value:
    return by_library("cos", _is_huge(x), x, _both(x)[1])


def tan(x: Value) -> Value:
    """The quotient of both as pairs; in odd quadrants ``-cos/sin``."""
    angle = _reduced(x)
    s, c, odd = _sine(angle), _cosine(angle), _is_odd(angle)
    above = Pair(select(odd, -c.high, s.high), select(odd, -c.low, s.low))
    below = Pair(select(odd, s.high, c.high), select(odd, s.low, c.low))
    value = select(absolute(x) < _LINEAR, x, quotient(above, below).value)
    return by_library("tan", _is_huge(x), x, value)
