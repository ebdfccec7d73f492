"""power of complex numbers: whole exponents by multiplication, as NumPy does it, others by ``exp(w*log(z))``.

The logarithm and its product with the exponent are pairs: the result is as good as the product's error in units of 1.
"""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import absolute, integer, rint, select
from tapegrad.engine.codegen.ir.pairs import Pair, fast_two_sum, two_product, two_sum
from tapegrad.engine.codegen.mathematics.complex_numbers.arithmetic import divide
from tapegrad.engine.codegen.mathematics.complex_numbers.exponentials import exp_of_sums, is_rare
from tapegrad.engine.codegen.mathematics.complex_numbers.logarithms import scaled_square
from tapegrad.engine.codegen.mathematics.complex_numbers.rare_lanes import Parts, by_library, exceeds
from tapegrad.engine.codegen.mathematics.exponential import LN2_HIGH, LN2_LOW
from tapegrad.engine.codegen.mathematics.inverse_trigonometric import arctan2_pair
from tapegrad.engine.codegen.mathematics.power import precise_logarithm

_NAN, _LARGEST = float("nan"), 1.7976931348623157e308
_MAX_FACTORS, _BITS = 100.0, 7  # whole exponents are smaller, and have so many bits


def power(re: Value, im: Value, re2: Value, im2: Value) -> Parts:
    """Compute power. To the exponent 0 it is 1, and of 0 it is 0, or NaN if the exponent's real part is negative."""
    body, z, w = re.body, (re, im), (re2, im2)
    is_whole = (rint(re2).equal(re2) & im2.equal(0.0)) & (absolute(re2) < _MAX_FACTORS)
    is_zero = re.equal(0.0) & im.equal(0.0)
    by_factors = _by_factors(z, select(is_whole, re2, 0.0))
    others = ~(is_whole | is_zero)

    def otherwise() -> Parts:
        values = _by_logarithm(z, w)
        return select(others, values[0], by_factors[0]), select(others, values[1], by_factors[1])

    values = body.unless_all(body.any(others), by_factors, otherwise)
    nothing, one = select(re2 > 0.0, 0.0, re2.like(_NAN)), re2.equal(0.0) & im2.equal(0.0)
    real, imaginary = (select(is_zero, nothing, value) for value in values)
    return select(one, 1.0, real), select(one, 0.0, imaginary)


def _multiply(z: Parts, w: Parts) -> Parts:
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def _chosen(condition: Value, z: Parts, w: Parts) -> Parts:
    return select(condition, z[0], w[0]), select(condition, z[1], w[1])


def _by_factors(z: Parts, exponent: Value) -> Parts:
    """Multiply by the squares whose bits the exponent has; in other order for 1, 2 and 3, as NumPy does."""
    one, nothing = exponent.like(1.0), exponent.like(0.0)
    bits, total, factor = integer(absolute(exponent)), (one, nothing), z
    for bit in range(_BITS):
        total = _chosen((bits << (63 - bit)) < 0, _multiply(total, factor), total)
        factor = _multiply(factor, factor)
    total = _chosen(exponent < 0.0, divide(one, nothing, *total), total)
    square = _multiply(z, z)
    for number, product in ((1.0, z), (2.0, square), (3.0, _multiply(z, square))):
        total = _chosen(exponent.equal(number), product, total)
    return total


def _by_logarithm(z: Parts, w: Parts) -> Parts:
    square, back = scaled_square(*z)
    size, turn = _half(_logarithm(square, back)), arctan2_pair(z[1], z[0])
    real = _sum(_times(w[0], size), _times(-w[1], turn))
    imaginary = _sum(_times(w[0], turn), _times(w[1], size))
    values = exp_of_sums(real, imaginary)
    nothing = w[0] * turn.high + w[1] * size.high  # 0 with the sign that a pair does not keep
    values = values[0], select(imaginary.high.equal(0.0), nothing, values[1])
    rare = exceeds(*_pairwise(z)) | exceeds(*_pairwise(w)) | is_rare(real.high, imaginary.high)
    return by_library("cpow", rare, (*z, *w), values)


def _logarithm(square: Pair, back: Value) -> Pair:
    """Compute the logarithm of a square that `scaled_square` gives, to about 2**-64 unless it is nearly 0."""
    high, low = precise_logarithm(square.high)
    s = two_sum(high, back * LN2_HIGH)
    return fast_two_sum(s.high, s.low + (low + (square.low / square.high + back * LN2_LOW)))


def _half(x: Pair) -> Pair:
    return Pair(x.high * 0.5, x.low * 0.5)


def _times(x: Value, y: Pair) -> Pair:
    p = two_product(x, y.high)
    return Pair(p.high, p.low + x * y.low)


def _sum(x: Pair, y: Pair) -> Pair:
    s = two_sum(x.high, y.high)
    return fast_two_sum(s.high, s.low + (x.low + y.low))


def _pairwise(z: Parts) -> tuple[Value, float, Value, float]:
    return z[0], _LARGEST, z[1], _LARGEST
