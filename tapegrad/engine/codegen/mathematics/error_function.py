"""erf and erfc.

``erfc(x) = exp(-x**2) * P(q)/(1+2x)`` for ``x >= 0`` with ``q = (x-4)/(x+4)``: what is left to the polynomial is
between 1 and 1.3, whatever x is (Shepherd, Laframboise, Math. Comp. 36, 1981). The square is taken as a pair, and so
is the exponential.
"""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import absolute, between, copysign, fma, scaled, select
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, quotient, two_product, two_sum
from tapegrad.engine.codegen.mathematics.exponential import exp_of_sum, exp_pair
from tapegrad.engine.codegen.mathematics.polynomial import polynomial

# (1 + 2x) * exp(x**2) * erfc(x) as a polynomial in q, for x from 0 to 28: to 2**-57
COMPLEMENT = (
    1.2329951186255526, -0.1396211168405625, 0.015379652102620026, 0.06809705425469169,
    -0.10103906603632402, 0.09373283499839011, -0.0663303658116766, 0.03716751553676304,
    -0.016197734065523037, 0.005031969984538271, -0.0007577732236198569, -0.00019925672650649988,
    0.0001506213330981676, -2.4399140026230927e-05, -1.1220862532112395e-05, 5.709726919509662e-06,
    2.9122339980031853e-07, -8.258523423432054e-07, 7.831050091974026e-08, 1.1119076968712332e-07,
    -2.111120061783681e-08, -1.5496311015661568e-08, 3.3392273267201993e-09, 2.0902127402466088e-09,
    -2.7473925934455696e-10, -1.7775320787553467e-10,
)  # fmt: skip
# exp(x**2) * erfc(x) as a polynomial in (x-3)/(x+3), for x from 1 to 6: to 2**-57 of 1 once exp is taken off
FAR = (
    0.17900115118138996, -0.32623356004303716, 0.24560380171233195, -0.15011593650078744,
    0.07166583719774874, -0.024392499318273194, 0.004269136347508256, 0.0007077464443901538,
    -0.0005970623517093284, 4.525472635483354e-05, 6.406182073530546e-05, -1.284889451252353e-05,
    -8.008021319412685e-06, 2.023603179641757e-06, 1.2801900862962662e-06,
)  # fmt: skip
# erf(x)/x - 1 as a polynomial in x**2, for |x| <= 1: to 2**-58
NEAR_0 = (
    0.1283791670955126, -0.37612638903183754, 0.1128379167095512, -0.02686617064512984,
    0.0052239776254232985, -0.000854832702193483, 0.00012055332902888736, -1.4925647567519332e-05,
    1.6462045441468418e-06, -1.6364642158167616e-07, 1.4792401209404813e-08, -1.216456005728345e-09,
    8.709045129053106e-11, -4.230945824295338e-12,
)  # fmt: skip


def _complement(size: Value) -> tuple[Pair, Value]:
    """``erfc(size)`` by ``2**k``, and k."""
    q = quotient(two_sum(size, -4.0), two_sum(size, 4.0))
    first, *others = COMPLEMENT
    slope = polynomial(q.high, others)
    p = fast_two_sum(first, q.high * slope)
    above = Pair(p.high, fma(q.low, slope, p.low))
    square = two_product(size, size)
    high, low, k = exp_pair(-square.high, -square.low)
    scaled_above = two_product(above.high, high)
    total = Pair(scaled_above.high, scaled_above.low + fma(above.low, high, above.high * low))
    s = two_sum(2.0 * size, 1.0)
    return quotient(total, s), k


def erfc(x: Value) -> Value:
    """Compute erfc to 1.5 units in the last place; near 0 it is ``1 - erf(x)``."""
    size = absolute(x)
    pair, k = _complement(between(size, 0.0, 28.0))
    right = scaled(pair.value, k)
    s = fast_two_sum(2.0, -scaled(pair.high, k))
    left = s.high + (s.low - scaled(pair.low, k))
    t = two_sum(x.like(1.0), -x)
    middle = t.high + (t.low - x * polynomial(x * x, NEAR_0))
    return select(size < 0.5, middle, select(x < 0.0, left, right))


def erf(x: Value) -> Value:
    """Compute erf to 0.9 units in the last place: above 1, where it is nearly 1, by its complement."""
    size = absolute(x)
    far = between(size, 1.0, 6.0)
    square = two_product(far, far)
    q = (far - 3.0) / (far + 3.0)
    complement = polynomial(q, FAR) * exp_of_sum(-square.high, -square.low)
    near = fma(size, polynomial(size * size, NEAR_0), size)
    return copysign(select(size < 1.0, near, 1.0 - complement), x)
