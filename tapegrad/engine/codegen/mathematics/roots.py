"""hypot and cbrt."""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import (
    absolute,
    bits,
    copysign,
    fma,
    from_bits,
    integer,
    rint,
    select,
    sqrt,
)
from tapegrad.engine.codegen.ir.pairs import fast_two_sum, two_product
from tapegrad.engine.codegen.mathematics.polynomial import polynomial

_INFINITY = float("inf")
# m**(-1/3) for m from 1/2 to 4, to 4e-4 of it: where Newton's iteration begins
INVERSE_CUBE_ROOT = (
    1.7680141136629928, -1.408116420713092, 0.91458139395146, -0.33071336088848224, 0.06074500997090662,
    -0.004418689130220484,
)  # fmt: skip


def hypot(x: Value, y: Value) -> Value:
    """Compute the root of the sum of both squares as a pair, scaled to the middle of float64's range first."""
    a, b = absolute(x), absolute(y)
    swapped = a < b
    a, b = select(swapped, b, a), select(swapped, a, b)
    large, small = a > 2.0**500, a < 2.0**-500
    scale = select(large, 2.0**-600, select(small, 2.0**600, a.like(1.0)))
    back = select(large, 2.0**600, select(small, 2.0**-600, a.like(1.0)))
    first, second = two_product(a * scale, a * scale), two_product(b * scale, b * scale)
    s = fast_two_sum(first.high, second.high)
    root = sqrt(s.high)
    rest = fma(-root, root, s.high) + (s.low + (first.low + second.low))
    value = root + rest / select(root.equal(0.0), 1.0, 2.0 * root)
    infinite = absolute(x).equal(_INFINITY) | absolute(y).equal(_INFINITY)
    return select(infinite, _INFINITY, value * back)


def cbrt(x: Value) -> Value:
    """``2**j * cbrt(m)``: the inverse root by Newton's iteration, its last step with the cube as a pair."""
    size = absolute(x)
    tiny = size < 2.0**-1022
    i = bits(select(tiny, size * 2.0**54, size))
    exponent = from_bits((i >> 52) | 0x4330000000000000) - (2.0**52 + 1023.0)
    j = rint(exponent * (1.0 / 3.0))
    m = from_bits(i - (integer(3.0 * j) << 52))
    inverse = polynomial(m, INVERSE_CUBE_ROOT)
    for _ in range(3):
        inverse = fma(inverse * (1.0 / 3.0), fma(-m * inverse, inverse * inverse, 1.0), inverse)
    y = m * inverse * inverse
    square = two_product(y, y)
    cube = two_product(square.high, y)
    rest = (m - cube.high) - fma(square.low, y, cube.low)
    y = fma(rest * (1.0 / 3.0), inverse * inverse, y)
    value = from_bits(bits(y) + (integer(select(tiny, j - 18.0, j)) << 52))
    regular = (size > 0.0) & (size < _INFINITY)
    return select(regular, copysign(value, x), x)
