"""power: ``exp(y*log(x))``, the logarithm and the product as pairs.

The result is as good as the product's error in units of 1, and the product is up to 700: ten bits more than float64
has are needed, and carried. The logarithm is ``2 artanh(s)`` with ``s = f/(2+f)``, whose first terms are pairs.
"""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import (
    absolute,
    bits,
    copysign,
    fma,
    from_bits,
    is_nan,
    rint,
    select,
)
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, product, quotient, two_product
from tapegrad.engine.codegen.mathematics.exponential import LN2_HIGH, LN2_LOW, exp_of_sum
from tapegrad.engine.codegen.mathematics.logarithm import INFINITY, NAN, reduced
from tapegrad.engine.codegen.mathematics.polynomial import polynomial

# (2*artanh(s)/s - 2 - 2*s**2/3)/s**4 as a polynomial in s**2, for s up to 0.1716: to 2**-70 of artanh(s)
SERIES = (
    0.4, 0.2857142857142857, 0.22222222222222157, 0.18181818181846549, 0.15384615378367542,
    0.13333334122905927, 0.11764645233976624, 0.10529191230770499, 0.09441859426041632, 0.09971798821577771,
)  # fmt: skip
_TWO_THIRDS, _TWO_THIRDS_REST = 0.6666666666666666, 3.700743415417188e-17
_BEYOND = 1100.0  # exp is 0 or infinite


def precise_logarithm(x: Value) -> Pair:
    """Compute the logarithm of a positive finite number to about 2**-64."""
    k, f = reduced(x)
    below = fast_two_sum(2.0, f)
    s = quotient(Pair(f, f.like(0.0)), below)
    square = two_product(s.high, s.high)
    z = Pair(square.high, fma(s.high + s.high, s.low, square.low))
    u = fast_two_sum(_TWO_THIRDS, z.high * polynomial(z.high, SERIES))
    w = product(s, product(z, Pair(u.high, u.low + _TWO_THIRDS_REST)))
    t = fast_two_sum(s.high + s.high, w.high)
    h = fast_two_sum(k * LN2_HIGH, t.high)
    return Pair(h.high, h.low + (fma(k, LN2_LOW, t.low) + ((s.low + s.low) + w.low)))


def power(x: Value, y: Value) -> Value:
    """Compute power to 1.3 units in the last place."""
    size = absolute(x)
    logarithm = precise_logarithm(size)
    p = two_product(y, logarithm.high)
    beyond = absolute(p.high) > _BEYOND
    high = select(beyond, copysign(p.high.like(_BEYOND), p.high), p.high)
    value = exp_of_sum(high, select(beyond, 0.0, fma(y, logarithm.low, p.low)))
    value = _of_limits(size, y, value)
    whole = rint(y).equal(y)
    odd = whole & rint(y * 0.5).unequal(y * 0.5)
    sign_bit = bits(x) & -(2**63)
    value = select(odd, from_bits(bits(value) | sign_bit), value)
    value = select((x < 0.0) & ~whole & (size < INFINITY), NAN, value)
    value = select(is_nan(x) | is_nan(y), NAN, value)
    return select(x.equal(1.0) | y.equal(0.0), 1.0, value)


def _of_limits(size: Value, y: Value, value: Value) -> Value:
    """`value`, but where a factor or the exponent is 0 or infinite."""
    decays = y < 0.0
    value = select(size.equal(0.0), select(decays, INFINITY, y.like(0.0)), value)
    value = select(size.equal(INFINITY), select(decays, 0.0, y.like(INFINITY)), value)
    return select(size.equal(1.0), 1.0, value)
