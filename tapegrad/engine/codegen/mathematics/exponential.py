"""exp, exp2, expm1, and the exponential as a pair.

``x = k*ln2 + r`` with a whole number k and ``|r| <= ln2/2``, ln2 in two parts (Cody, Waite 1980): then ``exp(x) =
2**k * exp(r)``, and a polynomial is enough for r. The shape of expm1 is that of fdlibm's ``s_expm1.c``, whose
correction is carried along as a pair instead.
"""

from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import between, copysign, fma, power_of_two, rint, scaled, select
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, two_product, two_sum
from tapegrad.engine.codegen.mathematics.polynomial import polynomial

LOG2_E = 1.4426950408889634
# ln2 = LN2_HIGH + LN2_LOW; the first has 42 bits, so that its products with exponents are exact
LN2_HIGH, LN2_LOW = 0.6931471805598903, 5.497923018708371e-14
_LN2, _LN2_REST = 0.6931471805599453, 2.3190468138462996e-17

# (exp(r) - 1 - r)/r**2 for |r| <= 0.3466, to 2**-58 of exp(r)
EXPONENTIAL = (
    0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.0013888888888883748,
    0.00019841269874820627, 2.4801587325547743e-05, 2.7557255400206422e-06, 2.75572736431103e-07,
    2.5105217004720745e-08, 2.0914686968086876e-09,
)  # fmt: skip
# (exp(r) - 1 - r - r**2/2)/r**3 for the same r, to 2**-59
TAIL = (
    0.16666666666666666, 0.04166666666666667, 0.008333333333333333, 0.0013888888888883748,
    0.00019841269841266415, 2.4801587325547743e-05, 2.7557319239957097e-06, 2.75572736431103e-07,
    2.5052078002329456e-08, 2.0914686968086876e-09, 1.6084327883952603e-10,
)  # fmt: skip


class Exponential(NamedTuple):
    """``(high + low) * 2**k``, the high part between 0.7 and 1.5."""

    high: Value
    low: Value
    k: Value

    def in_place(self) -> Pair:
        """Return the pair times its power of two, for k from -1022 to 1023; below that, rounded to denormals."""
        return Pair(scaled(self.high, self.k), scaled(self.low, self.k))


def _reduced(x: Value, low: Value | None = None) -> tuple[Value, Value, Value]:
    """k, and ``x + low - k*ln2`` as a pair."""
    k = rint(x * LOG2_E)
    a = fma(-k, LN2_HIGH, x)
    w = k * LN2_LOW
    r = a - w
    rest = (a - r) - w
    return (k, r, rest) if low is None else (k, *fast_two_sum(r, rest + low))


def exp(x: Value) -> Value:
    """Compute exp to 0.9 units in the last place."""
    return exp_of_sum(between(x, -760.0, 720.0))


def exp_below_one(x: Value) -> Value:
    """Compute exp of no positive number, with the bits of `exp`."""
    return exp_of_sum(select(x < -760.0, -760.0, x))


def exp_of_sum(x: Value, low: Value | None = None) -> Value:
    """``exp(x + low)`` for `x` from -1400 to 1400."""
    return scaled(*exp_in_parts(x, low))


def exp_in_parts(x: Value, low: Value | None = None) -> tuple[Value, Value]:
    """``exp(x + low)`` for `x` from -1400 to 1400: m between 0.7 and 1.5 and a whole number k, of ``m * 2**k``."""
    k, r, rest = _reduced(x, low)
    return 1.0 + (r + fma(r * r, polynomial(r, EXPONENTIAL), rest)), k


def exp2(x: Value) -> Value:
    """``2**k * exp(r*ln2)``, the product as a pair."""
    limited = between(x, -1100.0, 1100.0)
    k = rint(limited)
    r = limited - k
    p = two_product(r, r.like(_LN2))
    tail = fma(p.high * p.high, polynomial(p.high, EXPONENTIAL), fma(r, _LN2_REST, p.low))
    return scaled(1.0 + (p.high + tail), k)


def _minus_one(r: Value, rest: Value) -> Pair:
    """``exp(r + rest) - 1`` as a pair."""
    square = two_product(r, r)
    half = square.high * 0.5
    tail = fma(square.high * r, polynomial(r, TAIL), fma(square.low, 0.5, fma(rest, r, rest)))
    high = r + half
    return Pair(high, (half - (high - r)) + tail)


def exp_pair(x: Value, low: Value | None = None) -> Exponential:
    """``exp(x + low)`` to about 2**-62, for `x` from -1400 to 1400."""
    k, r, rest = _reduced(x, low)
    p = _minus_one(r, rest)
    s = fast_two_sum(1.0, p.high)
    high, rest = fast_two_sum(s.high, s.low + p.low)
    return Exponential(high, rest, k)


def expm1_pair(x: Value) -> Pair:
    """``exp(x) - 1`` for `x` from -700 to 700."""
    k, r, rest = _reduced(x)
    p, t = _minus_one(r, rest), power_of_two(k)
    lowered = two_sum(t, -1.0)
    s = two_sum(p.high * t, lowered.high)
    return fast_two_sum(s.high, s.low + fma(p.low, t, lowered.low))


def expm1(x: Value) -> Value:
    """Compute expm1 to 0.7 units in the last place. Above 50 it is exp."""
    small = expm1_pair(between(x, -50.0, 51.0)).value
    return copysign(select(x > 50.0, exp(x), small), x)
