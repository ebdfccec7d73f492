"""log, log2, log10, log1p, and the logarithm as a pair.

``x = 2**k * (1 + f)`` with ``1 + f`` between sqrt(1/2) and sqrt(2); with ``s = f/(2+f)`` it is ``log(1+f) = f - f*f/2
+ s*(f*f/2 + R(s*s))``: fdlibm's ``e_log.c`` (Sun Microsystems 1993), whose polynomial this is.
"""

from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.ir.operations import (
    bits,
    copysign,
    fma,
    from_bits,
    power_of_two,
    select,
    smaller,
)
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, two_product, two_sum
from tapegrad.engine.codegen.mathematics.exponential import LN2_HIGH, LN2_LOW
from tapegrad.engine.codegen.mathematics.polynomial import polynomial

INFINITY, NAN = float("inf"), float("nan")
_SMALLEST_NORMAL = 2.0**-1022
_ONE, _SQRT_HALF = 0x3FF0000000000000, 0x3FE6A09E667F3BCD  # the bits of these numbers

# (log((1+s)/(1-s))/s - 2)/s**2 as a polynomial in s**2, for s up to 0.1716: to 2**-58
SERIES = (
    0.6666666666666735, 0.3999999999940942, 0.2857142874366239, 0.22222198432149784, 0.1818357216161805,
    0.15313837699209373, 0.14798198605116586,
)  # fmt: skip


class _Reduced(NamedTuple):
    """``x = 2**k * (1 + f)``."""

    k: Value
    f: Value


def reduced(x: Value) -> _Reduced:
    """Reduce a positive finite `x`; for others the result is arbitrary."""
    tiny = x < _SMALLEST_NORMAL
    k, f = _of_normal(select(tiny, x * 2.0**54, x))
    return _Reduced(select(tiny, k - 54.0, k), f)


def _of_normal(x: Value) -> _Reduced:
    i = bits(x) + (_ONE - _SQRT_HALF)
    m = from_bits((i & 0x000FFFFFFFFFFFFF) + _SQRT_HALF)
    k = from_bits((i >> 52) | 0x4330000000000000) - (2.0**52 + 1023.0)
    return _Reduced(k, m - 1.0)


def outside(x: Value, result: Value) -> Value:
    """Return `result`, except where no logarithm is finite."""
    result = select(x.equal(0.0), -INFINITY, result)
    result = select(x < 0.0, NAN, result)
    return select(x < INFINITY, result, x)


def log(x: Value) -> Value:
    """Compute log to 0.8 units in the last place."""
    k, f = reduced(x)
    s, half = f / (2.0 + f), (0.5 * f) * f
    z = s * s
    inner = s * (half + z * polynomial(z, SERIES)) + k * LN2_LOW
    return outside(x, k * LN2_HIGH - ((half - inner) - f))


def _of_one_and(f: Value, low: Operand = 0.0) -> Pair:
    """``log(1 + f + low)``, the low part at most a rounding error of ``1 + f``."""
    square = two_product(f, f)
    half, s = square.high * 0.5, f / (2.0 + f)
    z = s * s
    tail = fma(s, half + z * polynomial(z, SERIES), square.low * -0.5)
    if isinstance(low, Value):
        tail = tail + fma(low, square.high - f, low)
    start = fast_two_sum(f, -half)
    return fast_two_sum(start.high, start.low + tail)


def log_pair(x: Value, low: Operand = 0.0, more: Operand = 0.0) -> Pair:
    """``log(x + low) + more*ln2`` to about 2**-58, `low` being at most a rounding error of a positive finite `x`."""
    return _of_reduced(reduced(x), low, more)


def _of_reduced(x: _Reduced, low: Operand, more: Operand = 0.0) -> Pair:
    k, f = x
    if isinstance(low, Value):
        low = low * power_of_two(-smaller(k, 1000.0))
    k = k + more
    rest = _of_one_and(f, low)
    start = fast_two_sum(k * LN2_HIGH, rest.high)
    return Pair(start.high, start.low + fma(k, LN2_LOW, rest.low))


_LOG2_E, _LOG2_E_REST = 1.4426950408889634, 2.0355273740931033e-17
_LOG10_E, _LOG10_E_REST = 0.4342944819032518, 1.098319650216765e-17
_LOG10_2, _LOG10_2_REST = 0.30102999566383914, 1.42050232272661e-13  # the first of 42 bits


def log2(x: Value) -> Value:
    """``k + log(1+f)*log2(e)``: of powers of two exact."""
    k, f = reduced(x)
    p = _times(_of_one_and(f), _LOG2_E, _LOG2_E_REST)
    s = fast_two_sum(k, p.high)
    return outside(x, s.high + (s.low + p.low))


def log10(x: Value) -> Value:
    """``k*log10(2) + log(1+f)*log10(e)``."""
    k, f = reduced(x)
    p = _times(_of_one_and(f), _LOG10_E, _LOG10_E_REST)
    s = fast_two_sum(k * _LOG10_2, p.high)
    return outside(x, s.high + (s.low + fma(k, _LOG10_2_REST, p.low)))


def _times(x: Pair, high: float, low: float) -> Pair:
    p = two_product(x.high, x.high.like(high))
    return Pair(p.high, p.low + fma(x.high, low, x.low * high))


def log1p(x: Value) -> Value:
    """Compute the logarithm of ``1 + x`` as a pair."""
    u = two_sum(x.like(1.0), x)
    return copysign(outside(u.high, log_pair(*u).value), x)


def log1p_of_positive(x: Value) -> Value:
    """Compute log1p of a finite number that is not negative, with the bits of `log1p`; of others it is arbitrary."""
    u = two_sum(x.like(1.0), x)
    return _of_reduced(_of_normal(u.high), u.low).value
