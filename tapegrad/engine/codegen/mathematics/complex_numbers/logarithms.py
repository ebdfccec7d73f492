"""log, log2, log10 and log1p of complex numbers: half the logarithm of the squared absolute value, and the angle.

The square is a pair of 106 bits. So the real part is right near the unit circle, where it is almost 0, too.
"""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import absolute, fma, larger, select
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, two_product, two_sum
from tapegrad.engine.codegen.mathematics.complex_numbers.arithmetic import angle
from tapegrad.engine.codegen.mathematics.complex_numbers.rare_lanes import Parts, by_library
from tapegrad.engine.codegen.mathematics.inverse_trigonometric import arctan2
from tapegrad.engine.codegen.mathematics.logarithm import log_pair

_INFINITY, _LARGEST = float("inf"), 1.7976931348623157e308
_LOG2_E = 1.4426950408889634, 2.0355273740931033e-17
_LOG10_E = 0.4342944819032518, 1.098319650216765e-17


def _sum_of_squares(a: Value, b: Value) -> Pair:
    """``a*a + b*b``, `a` being the larger one: exact but for what is 2**-106 of it even where 1 is subtracted."""
    first, second = two_product(a, a), two_product(b, b)
    s = fast_two_sum(first.high, second.high)
    low = two_sum(first.low, second.low)
    rest = two_sum(s.low, low.high)
    total = fast_two_sum(s.high, rest.high)
    return Pair(total.high, total.low + (rest.low + low.low))


def scaled_square(re: Value, im: Value) -> tuple[Pair, Value]:
    """Return the squared absolute value times a power of 4, and twice the exponent of that, negated, in powers of 2."""
    a, b = absolute(re), absolute(im)
    swapped = a < b
    a, b = select(swapped, b, a), select(swapped, a, b)
    huge, tiny = a > 2.0**500, a < 2.0**-480
    scale = select(huge, 2.0**-600, select(tiny, 2.0**600, a.like(1.0)))
    back = select(huge, 1200.0, select(tiny, -1200.0, a.like(0.0)))
    return _sum_of_squares(a * scale, b * scale), back


def _exceeds_all(re: Value, im: Value) -> Value:
    return ~((absolute(re) <= _LARGEST) & (absolute(im) <= _LARGEST))


def _real_part(square: Pair, back: Value) -> Pair:
    """Return half the logarithm of a square, as `scaled_square` gives it; of 0 it is -inf."""
    high, low = log_pair(*square, back)
    zero = square.high.equal(0.0)
    return Pair(select(zero, -_INFINITY, high * 0.5), select(zero, 0.0, low * 0.5))


def _log(re: Value, im: Value, factor: tuple[float, float] | None) -> Parts:
    """Compute the logarithm, divided by that of a base, of which the reciprocal is given in two parts."""
    real, turn = _real_part(*scaled_square(re, im)), angle(re, im)
    natural = real.value, turn
    if factor is None:
        return by_library("clog", _exceeds_all(re, im), (re, im), natural)
    high, low = factor
    p = two_product(real.high, re.like(high))
    scaled = p.high + select(
        absolute(real.high) < _INFINITY, p.low + fma(real.high, low, real.low * high), 0.0
    )
    rare = _exceeds_all(re, im)
    found = by_library("clog", rare, (re, im), natural)
    return select(rare, found[0] * high, scaled), fma(found[1], high, found[1] * low)


def log(re: Value, im: Value) -> Parts:
    return _log(re, im, None)


def log2(re: Value, im: Value) -> Parts:
    """Compute the logarithm to base 2; of powers of 2 it is exact."""
    return _log(re, im, _LOG2_E)


def log10(re: Value, im: Value) -> Parts:
    return _log(re, im, _LOG10_E)


def log1p(re: Value, im: Value) -> Parts:
    """Compute ``log(1 + z)``, for small real parts by ``2*re + re**2 + im**2``, which is what 1 is added to."""
    near = absolute(re) <= 0.5
    u = two_sum(re.like(1.0), re)
    d, b = absolute(select(near, re, u.high)), absolute(im)
    top = larger(d, b)
    huge, tiny = top > 2.0**500, (top < 2.0**-480) & ~near
    scale = select(huge, 2.0**-600, select(tiny, 2.0**600, d.like(1.0)))
    back = select(huge, 1200.0, select(tiny, -1200.0, d.like(0.0)))
    near, far = near & ~huge, select(huge, 0.0, (u.high + u.high) * u.low)
    first, second = two_product(d * scale, d * scale), two_product(b * scale, b * scale)
    s = two_sum(first.high, second.high)
    t = two_sum(s.high, select(near, re + re, far))
    low = two_sum(s.low, first.low + second.low)
    rest = two_sum(t.low, low.high)
    f = two_sum(t.high, rest.high)
    f = fast_two_sum(f.high, f.low + (rest.low + low.low))
    x = two_sum(f.high, select(near, 1.0, f.high.like(0.0)))
    real = _real_part(Pair(x.high, x.low + f.low), back).value
    return by_library("clog", _exceeds_all(re, im), (re + 1.0, im), (real, arctan2(im, u.high)))
