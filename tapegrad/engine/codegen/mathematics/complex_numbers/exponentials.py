"""exp, exp2, expm1 and sigmoid of complex numbers: ``exp(re) * (cos(im) + i*sin(im))``.

The exponential is kept as a number and a power of two, which come last: so the result is right where it is finite
but ``exp(re)`` is not.
"""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import absolute, between, copysign, fma, power_of_two, rint, select
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, two_product, two_sum
from tapegrad.engine.codegen.mathematics.complex_numbers.arithmetic import divide
from tapegrad.engine.codegen.mathematics.complex_numbers.rare_lanes import Parts, by_library
from tapegrad.engine.codegen.mathematics.exponential import exp_in_parts, expm1_pair
from tapegrad.engine.codegen.mathematics.trigonometric import LARGEST, moderate_sincos, sincos

_INFINITY = float("inf")
_LN2, _LN2_REST = 0.6931471805599453, 2.3190468138462996e-17
_BEYOND = 1400.0  # below, the exponential is 0, whatever it is multiplied with


def exp_of_sums(re: Pair | Value, im: Pair | Value) -> Parts:
    """Compute exp, arguments being pairs or values; real parts up to `_BEYOND`, imaginary ones up to `LARGEST`."""
    b, b_low = im if isinstance(im, Pair) else (im, None)
    s, c = moderate_sincos(b)
    if b_low is not None:
        s, c = fma(c, b_low, s), fma(-s, b_low, c)
    if isinstance(re, Pair):
        return _times_exp(re.high, re.low, c, s)
    # Phases, exponentials of imaginary numbers, take half of the time
    real, imaginary = re.body.unless_all(
        re.body.any(re.unequal(0.0)), (c, s), lambda: _times_exp(re, None, c, s)
    )
    return real, imaginary


def _times_exp(x: Value, low: Value | None, c: Value, s: Value) -> Parts:
    """Return ``exp(x + low)`` times two numbers, for `x` up to `_BEYOND`."""
    below = x < -_BEYOND
    m, k = exp_in_parts(select(below, -_BEYOND, x), None if low is None else select(below, 0.0, low))
    return times_power(m, c, k), times_power(m, s, k)


def times_power(m: Value, x: Value, k: Value) -> Value:
    """``m * x * 2**k`` for a whole number k from -2020 to 2020: half of the power first, for `x` may be denormal."""
    half = rint(k * 0.5)
    return m * power_of_two(half) * x * power_of_two(k - half)


def is_rare(re: Value, im: Value) -> Value:
    """Return whether `exp_of_sums` does not take a number."""
    return ~((re <= _BEYOND) & (absolute(im) <= LARGEST))


def exp(re: Value, im: Value) -> Parts:
    """Compute exp. Real numbers have real results: the sine of 0 is 0 with its sign."""
    return by_library("cexp", is_rare(re, im), (re, im), exp_of_sums(re, im))


def exp2(re: Value, im: Value) -> Parts:
    """Compute ``2**z``: both parts times ln2 as pairs."""
    real, imaginary = exp_of_sums(_times_ln2(select(re < -2100.0, -2100.0, re)), _times_ln2(im))
    values = real, select(im.equal(0.0), im, imaginary)
    return by_library("cexp", is_rare(re, im), (re * _LN2, im * _LN2), values)


def _times_ln2(x: Value) -> Pair:
    p = two_product(x, x.like(_LN2))
    return fast_two_sum(p.high, fma(x, _LN2_REST, p.low))


def expm1(re: Value, im: Value) -> Parts:
    """Compute ``exp(z) - 1``: its real part is ``(exp(re) - 1)*cos(im)`` less twice the squared sine of ``im/2``."""
    (s, c), (half, _) = sincos(im), sincos(im * 0.5)
    m, k = exp_in_parts(between(re, -_BEYOND, _BEYOND))
    e = expm1_pair(between(re, -50.0, 51.0))
    p, q = two_product(e.high, c), two_product(half, half)
    t = two_sum(p.high, q.high * -2.0)
    small = t.high + (t.low + fma(e.low, c, fma(q.low, -2.0, p.low)))
    small = select(small.equal(0.0), copysign(small, re), small)
    real = select(re > 50.0, times_power(m, c, k), small)
    rare = ~((re <= _BEYOND) & (absolute(im) < _INFINITY))
    found = by_library("cexp", rare, (re, im), (real, times_power(m, s, k)))
    return select(rare, found[0] - 1.0, found[0]), found[1]


def sigmoid(re: Value, im: Value) -> Parts:
    """Compute ``1/(1 + exp(-z))`` by the exponential that is not larger than 1."""
    right = re >= 0.0
    e = exp(-absolute(re), select(right, -im, im))
    real, imaginary = divide(select(right, 1.0, e[0]), select(right, 0.0, e[1]), e[0] + 1.0, e[1])
    return real, select(im.equal(0.0), im, imaginary)
