"""sinh, cosh, tanh and their inverses, from the exponential and the logarithm as pairs."""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import (
    absolute,
    between,
    copysign,
    fma,
    power_of_two,
    scaled,
    select,
    smaller,
    sqrt,
)
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, quotient, two_product, two_sum
from tapegrad.engine.codegen.mathematics.exponential import exp_pair, expm1_pair
from tapegrad.engine.codegen.mathematics.logarithm import INFINITY, NAN, log_pair, outside
from tapegrad.engine.codegen.mathematics.polynomial import polynomial

_LINEAR = 2.0**-28  # up to here arcsinh(x) and arctanh(x) are x
_LOGARITHMIC = 2.0**28  # from here on arcsinh(x) and arccosh(x) are log(2x)

# (sinh(x)/x - 1)/x**2 as a polynomial in x**2, for |x| <= 1: to 2**-58 of sinh(x)
SINH = (
    0.16666666666666666, 0.008333333333333333, 0.0001984126984126984, 2.7557319223985825e-06,
    2.505210838547607e-08, 1.605904382690051e-10, 7.647165414593481e-13, 2.8112909646770106e-15,
    8.309171941866942e-18,
)  # fmt: skip


def _halves(size: Value) -> tuple[Pair, Value, Value]:
    """``exp(size)`` by ``2**k`` as a pair, ``exp(-size)`` by ``2**k``, and k."""
    high, low, k = exp_pair(between(size, 0.0, 720.0))
    inverse = 1.0 / high
    decayed = power_of_two(smaller(2.0 * k, 1000.0) * -1.0) * fma(-(inverse * inverse), low, inverse)
    return Pair(high, low), decayed, k


def sinh(x: Value) -> Value:
    """Near 0 a series, for the difference of both exponentials cancels there."""
    size = absolute(x)
    e, decayed, k = _halves(size)
    s = fast_two_sum(e.high, -decayed)
    large = scaled(s.high + (s.low + e.low), k - 1.0)
    z = size * size
    small = fma(size * z, polynomial(z, SINH), size)
    return copysign(select(size < 1.0, small, large), x)


def cosh(x: Value) -> Value:
    e, decayed, k = _halves(absolute(x))
    s = fast_two_sum(e.high, decayed)
    return scaled(s.high + (s.low + e.low), k - 1.0)


def tanh(x: Value) -> Value:
    """``-t/(t+2)`` with ``t = exp(-2|x|) - 1``."""
    t = expm1_pair(between(absolute(x), 0.0, 22.0) * -2.0)
    s = fast_two_sum(2.0, t.high)
    below = Pair(s.high, s.low + t.low)
    return copysign(quotient(Pair(-t.high, -t.low), below).value, x)


def arcsinh(x: Value) -> Value:
    """``log(x + sqrt(x**2 + 1))``, for large `x` ``log(2x)``."""
    size = absolute(x)
    square = two_product(size, size)
    s = two_sum(square.high, 1.0)
    u = _plus(size, _root(Pair(s.high, s.low + square.low)))
    return copysign(select(size < _LINEAR, size, _of_sum(size, u)), x)


def arccosh(x: Value) -> Value:
    """``log(x + sqrt(x**2 - 1))``, for large `x` ``log(2x)``."""
    square = two_product(x, x)
    s = two_sum(square.high, -1.0)
    u = _plus(x, _root(Pair(s.high, s.low + square.low)))
    return select(x < 1.0, NAN, _of_sum(x, u))


def arctanh(x: Value) -> Value:
    """Half the logarithm of ``(1+x)/(1-x)``."""
    size = absolute(x)
    q = quotient(two_sum(size.like(1.0), size), two_sum(size.like(1.0), -size))
    u = fast_two_sum(*q)
    value = outside(u.high, log_pair(*u).value * 0.5)
    value = select(size < 1.0, value, select(size.equal(1.0), INFINITY, x.like(NAN)))
    return copysign(select(size < _LINEAR, size, value), x)


def _root(x: Pair) -> Pair:
    """Compute the square root of a pair."""
    s = sqrt(x.high)
    below = select(s.equal(0.0), 1.0, 2.0 * s)
    return Pair(s, (fma(-s, s, x.high) + x.low) / below)


def _plus(x: Value, other: Pair) -> Pair:
    s = two_sum(x, other.high)
    return fast_two_sum(s.high, s.low + other.low)


def _of_sum(x: Value, u: Pair) -> Value:
    """Compute the logarithm of `u`, or for large `x` that of ``2x``."""
    large = x > _LOGARITHMIC
    value = log_pair(
        select(large, x, u.high), select(large, 0.0, u.low), select(large, 1.0, x.like(0.0))
    ).value
    return select(x < INFINITY, value, x)
