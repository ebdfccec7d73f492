"""divide, reciprocal, absolute, angle, sign and sqrt of complex numbers.

Quotients are Smith's (Communications of the ACM 5, 1962), rounding for rounding as NumPy computes them.
"""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import absolute as size_of
from tapegrad.engine.codegen.ir.operations import copysign, fma, larger, select
from tapegrad.engine.codegen.ir.operations import sqrt as root_of
from tapegrad.engine.codegen.mathematics.complex_numbers.rare_lanes import Parts, by_library, exceeds
from tapegrad.engine.codegen.mathematics.inverse_trigonometric import arctan2
from tapegrad.engine.codegen.mathematics.roots import hypot

_INFINITY, _NAN, _LARGEST = float("inf"), float("nan"), 1.7976931348623157e308


def divide(re: Value, im: Value, re2: Value, im2: Value) -> Parts:
    """Divide by the larger part first. Divided by 0, each part is divided by 0."""
    straight = size_of(re2) >= size_of(im2)
    large, small = select(straight, re2, im2), select(straight, im2, re2)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    first, second = select(straight, re, im), select(straight, im, re)
    part = first * ratio
    real = (first + second * ratio) * scale
    imaginary = select(straight, second - part, part - second) * scale
    zero, nothing = large.equal(0.0) & small.equal(0.0), size_of(large)
    return select(zero, re / nothing, real), select(zero, im / nothing, imaginary)


def reciprocal(re: Value, im: Value) -> Parts:
    straight = size_of(im) <= size_of(re)
    large, small = select(straight, re, im), select(straight, im, re)
    ratio = small / large
    below = large + small * ratio
    one, other = 1.0 / below, ratio / below
    return select(straight, one, other), -select(straight, other, one)


def absolute(re: Value, im: Value) -> Value:
    """Compute the absolute value to 1 unit in the last place, from the smallest to the largest numbers."""
    return hypot(re, im)


def angle(re: Value, im: Value) -> Value:
    return arctan2(im, re)


def sign(re: Value, im: Value) -> Parts:
    """Divide by the absolute value. 0 has the sign 0, and of infinite numbers only those on an axis have one."""
    scale, _ = _scale(larger(size_of(re), size_of(im)))
    x, y = re * scale, im * scale
    size = root_of(fma(x, x, y * y))
    zero, infinite = size.equal(0.0), size_of(re).equal(_INFINITY) | size_of(im).equal(_INFINITY)
    signs = (select(infinite, limit, select(zero, 0.0, part / size)) for limit, part in (
        (_limit(re, im), x), (_limit(im, re), y),
    ))  # fmt: skip
    real, imaginary = signs
    return real, imaginary


def _scale(top: Value) -> tuple[Value, Value]:
    """Return a power of 4 that brings numbers to the middle of float64's range, and its inverse root."""
    huge, tiny = top > 2.0**500, top < 2.0**-480
    scale = select(huge, 2.0**-600, select(tiny, 2.0**600, top.like(1.0)))
    return scale, select(huge, 2.0**300, select(tiny, 2.0**-300, top.like(1.0)))


def _limit(part: Value, other: Value) -> Value:
    """Return the part of the sign of an infinite number."""
    one = copysign(part.like(1.0), part)
    both = size_of(other).equal(_INFINITY)
    return select(size_of(part).equal(_INFINITY), select(both, _NAN, one), select(both, 0.0, part.like(_NAN)))


def sqrt(re: Value, im: Value) -> Parts:
    """Compute the larger part by the half-angle formula, and the other one by division.

    The cut is the negative axis, on which the sign of the imaginary part, that of its zero too, decides.
    """
    a, b = size_of(re), size_of(im)
    scale, back = _scale(larger(a, b))
    x, y = a * scale, b * scale
    large = root_of((x + root_of(fma(x, x, y * y))) * 0.5) * back
    small = select(large.equal(0.0), 0.0, b / (large + large))
    right = re >= 0.0
    values = select(right, large, small), copysign(select(right, small, large), im)
    return by_library("csqrt", exceeds(re, _LARGEST, im, _LARGEST), (re, im), values)
