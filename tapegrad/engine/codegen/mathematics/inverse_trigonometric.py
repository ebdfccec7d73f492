"""arctan, arctan2, arcsin, arccos.

The arctangent of a ratio is reduced by pi/4 or pi/2 so that a polynomial is needed for angles up to pi/8 only, by one
division, whose rounding is carried along: the idea of fdlibm's ``s_atan.c``. The arcsine above 1/2 is that of
``sqrt((1-x)/2)``, as in its ``e_asin.c``.
"""

from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.ir.operations import absolute, copysign, fma, is_nan, select, sqrt
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, quotient, two_sum
from tapegrad.engine.codegen.mathematics.polynomial import polynomial

_INFINITY, NAN = float("inf"), float("nan")
_PI, _PI_REST = 3.141592653589793, 1.2246467991473532e-16
_HALF_PI, _HALF_PI_REST = 1.5707963267948966, 6.123233995736766e-17
_QUARTER_PI, _QUARTER_PI_REST = 0.7853981633974483, 3.061616997868383e-17
_TAN_EIGHTH_PI = 0.41421356237309503

# (arctan(t)/t - 1)/t**2 as a polynomial in t**2, for t up to tan(pi/8): to 2**-58 of arctan(t)
ARCTANGENT = (
    -0.3333333333333333, 0.19999999999999804, -0.14285714285659828, 0.11111111105155447,
    -0.09090908753500877, 0.0769229637503214, -0.06666424885738213, 0.05878928997834294,
    -0.052304542706467005, 0.045515932206103844, -0.03457056198101202, 0.016285756854760313,
)  # fmt: skip
# (arcsin(s)/s - 1)/s**2 as a polynomial in s**2, for s up to 1/2: to 2**-58 of arcsin(s)
ARCSINE = (
    0.16666666666666666, 0.07500000000000118, 0.044642857142551895, 0.03038194447553234,
    0.02237215744350722, 0.017352816540325496, 0.01396378001220357, 0.011566459612121669,
    0.009621842970100282, 0.009319560794767446, 0.0030448799094556773, 0.019554513336123378,
    -0.01924167174674304, 0.02961201126495512,
)  # fmt: skip


class _ThreePartSum(NamedTuple):
    """The sum of three parts, each far smaller than the one before."""

    base: Value
    high: Value
    low: Value


def _of_ratio(a: Value, b: Value) -> _ThreePartSum:
    """``arctan(a/b)`` of numbers that are not negative, not both 0, finite, and not near the limits of float64."""
    small, large = a <= b * _TAN_EIGHTH_PI, b < a * _TAN_EIGHTH_PI
    difference, total = two_sum(a, -b), two_sum(a, b)

    def chosen(one: Operand, other: Operand, between: Value) -> Value:
        return select(small, one, select(large, other, between))

    above = Pair(chosen(a, -b, difference.high), chosen(0.0, 0.0, difference.low))
    below = Pair(chosen(b, a, total.high), chosen(0.0, 0.0, total.low))
    t, rest = quotient(above, below)
    z = t * t
    quarter = t.like(_QUARTER_PI), t.like(_QUARTER_PI_REST)
    base, more = chosen(0.0, _HALF_PI, quarter[0]), chosen(0.0, _HALF_PI_REST, quarter[1])
    return _ThreePartSum(base, t, fma(z * t, polynomial(z, ARCTANGENT), rest + more))


def arctan(x: Value) -> Value:
    """Compute arctan to 0.8 units in the last place."""
    size = absolute(x)
    one = x.like(1.0)
    huge = size > 1e20  # pi/2, to the last bit
    angle = _of_ratio(select(huge, 1.0, size), select(huge, 0.0, one))
    s = fast_two_sum(angle.base, angle.high)
    return copysign(s.high + (s.low + angle.low), x)


def arctan2(y: Value, x: Value) -> Value:
    """Compute the angle of the point (x, y)."""
    return copysign(_size_of_angle(y, x).value, y)


def arctan2_pair(y: Value, x: Value) -> Pair:
    """Compute the angle of the point (x, y) to about 2**-58."""
    size, sign = _size_of_angle(y, x), copysign(x.like(1.0), y)
    return Pair(sign * size.high, sign * size.low)


def _size_of_angle(y: Value, x: Value) -> Pair:
    """Compute the absolute value of an angle, scaled to the middle of float64's range first."""
    a, b = absolute(y), absolute(x)
    larger = select(a < b, b, a)
    scale = select(larger < 2.0**400, 2.0**600, x.like(0.25))
    up, right = a.equal(_INFINITY), b.equal(_INFINITY)
    a, b = _finite(a * scale, up, right), _finite(b * scale, right, up)
    b = select(larger.equal(0.0), 1.0, b)
    angle = _of_ratio(a, b)
    s = fast_two_sum(angle.base, angle.high)
    rest = s.low + angle.low
    t = two_sum(x.like(_PI), -s.high)
    left = copysign(x.like(1.0), x) < 0.0
    high, low = select(left, t.high, s.high), select(left, t.low + (_PI_REST - rest), rest)
    return Pair(select(is_nan(x) | is_nan(y), NAN, high), low)


def _finite(size: Value, infinite: Value, other: Value) -> Value:
    """1 for infinity, and 0 beside it."""
    return select(infinite, 1.0, select(other, 0.0, size))


def _arcsine_tail(z: Value) -> Value:
    return z * polynomial(z, ARCSINE)


def _of_half_complement(size: Value) -> tuple[Pair, Value]:
    """``s = sqrt((1 - size)/2)`` as a pair, and its square."""
    z = fma(size, -0.5, 0.5)
    s = sqrt(z)
    below = select(s.equal(0.0), 1.0, 2.0 * s)
    return Pair(s, fma(-s, s, z) / below), z


def arcsin(x: Value) -> Value:
    size = absolute(x)
    (s, rest), z = _of_half_complement(size)
    t = two_sum(x.like(_HALF_PI), -2.0 * s)
    large = t.high + (t.low + (_HALF_PI_REST - 2.0 * fma(s, _arcsine_tail(z), rest)))
    small = fma(size, _arcsine_tail(size * size), size)
    return copysign(select(size < 0.5, small, large), x)


def arccos(x: Value) -> Value:
    size = absolute(x)
    (s, rest), z = _of_half_complement(size)
    near = fma(s, _arcsine_tail(z), rest)
    above = 2.0 * (s + near)
    t = two_sum(x.like(_PI), -2.0 * s)
    below = t.high + (t.low + (_PI_REST - 2.0 * near))
    m = two_sum(x.like(_HALF_PI), -x)
    middle = m.high + (m.low + (_HALF_PI_REST - x * _arcsine_tail(x * x)))
    return select(size < 0.5, middle, select(x < 0.0, below, above))
