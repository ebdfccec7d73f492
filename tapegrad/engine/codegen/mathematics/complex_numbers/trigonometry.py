"""sin, cos, tan, sinh, cosh and tanh of complex numbers, from those of the real and the imaginary part.

The circular ones are the hyperbolic ones with real and imaginary part exchanged. The quotient of tanh has a
denominator without cancellation, ``sinh(re)**2 + cos(im)**2`` (Kahan 1987), and its factors are pairs.
"""

from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import (
    absolute,
    copysign,
    fma,
    power_of_two,
    select,
    smaller,
)
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, product, quotient, two_sum
from tapegrad.engine.codegen.mathematics.complex_numbers.exponentials import times_power
from tapegrad.engine.codegen.mathematics.complex_numbers.rare_lanes import Parts, by_library, exceeds
from tapegrad.engine.codegen.mathematics.exponential import exp_pair
from tapegrad.engine.codegen.mathematics.hyperbolic import SINH
from tapegrad.engine.codegen.mathematics.polynomial import polynomial
from tapegrad.engine.codegen.mathematics.trigonometric import LARGEST, moderate_sincos, moderate_sincos_pairs

_BEYOND = 1400.0
_ONE = 350.0  # beyond, tanh is 1 to the last bit, and the square of sinh may be infinite


class _Hyperbolic(NamedTuple):
    """Hyperbolic sine and cosine of the absolute value, both times ``2**-k``."""

    sine: Pair
    cosine: Pair
    k: Value


def _hyperbolic(x: Value, limit: float) -> _Hyperbolic:
    """Return both for numbers up to a limit."""
    size = smaller(absolute(x), limit)
    high, low, k = exp_pair(size)
    inverse = 1.0 / high
    decayed = power_of_two(smaller(2.0 * k, 1000.0) * -1.0) * fma(-(inverse * inverse), low, inverse)
    difference, total = fast_two_sum(high, -decayed), fast_two_sum(high, decayed)
    unit = power_of_two(1.0 - smaller(k, 2.0))
    z = size * size
    small = fast_two_sum(size * unit, size * unit * z * polynomial(z, SINH))
    near = size < 1.0
    sine = Pair(select(near, small.high, difference.high), select(near, small.low, difference.low + low))
    return _Hyperbolic(sine, Pair(total.high, total.low + low), k - 1.0)


def sinh(re: Value, im: Value) -> Parts:
    h, (s, c) = _hyperbolic(re, _BEYOND), moderate_sincos(im)
    values = times_power(copysign(h.sine.value, re), c, h.k), times_power(h.cosine.value, s, h.k)
    return by_library("csinh", exceeds(re, _BEYOND, im, LARGEST), (re, im), values)


def cosh(re: Value, im: Value) -> Parts:
    h, (s, c) = _hyperbolic(re, _BEYOND), moderate_sincos(im)
    values = times_power(h.cosine.value, c, h.k), times_power(copysign(h.sine.value, re), s, h.k)
    return by_library("ccosh", exceeds(re, _BEYOND, im, LARGEST), (re, im), values)


def tanh(re: Value, im: Value) -> Parts:
    """Compute ``sinh(re)*cosh(re)`` and ``sin(im)*cos(im)``, both over ``sinh(re)**2 + cos(im)**2``."""
    h = _hyperbolic(re, _ONE)
    unit = power_of_two(h.k)
    sinh_, cosh_ = (Pair(x.high * unit, x.low * unit) for x in (h.sine, h.cosine))
    sin_, cos_ = moderate_sincos_pairs(im)
    squares = product(sinh_, sinh_), product(cos_, cos_)
    s = two_sum(squares[0].high, squares[1].high)
    below = Pair(s.high, s.low + (squares[0].low + squares[1].low))
    real, imaginary = (quotient(product(*each), below).value for each in ((sinh_, cosh_), (sin_, cos_)))
    values = copysign(real, re), select(im.equal(0.0), im, imaginary)
    return by_library("ctanh", exceeds(re, _ONE, im, LARGEST), (re, im), values)


def sin(re: Value, im: Value) -> Parts:
    return sinh(im, re)[::-1]


def cos(re: Value, im: Value) -> Parts:
    return cosh(-im, re)


def tan(re: Value, im: Value) -> Parts:
    return tanh(im, re)[::-1]
