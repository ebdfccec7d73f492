"""Inverse trigonometric and hyperbolic functions of complex numbers.

arcsin and arccos are those of Hull, Fairgrieve and Tang (ACM TOMS 23, 1997), without their branches: real and
imaginary parts are an angle and a log1p throughout. arctanh is Kahan's (1987). The others are these with real and
imaginary part exchanged. What is too large or small for them is left to the C library.
"""

from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import absolute, copysign, fma, select, sqrt
from tapegrad.engine.codegen.mathematics.complex_numbers.rare_lanes import Parts, by_library, exceeds
from tapegrad.engine.codegen.mathematics.inverse_trigonometric import arctan2
from tapegrad.engine.codegen.mathematics.logarithm import log1p_of_positive

_HUGE, _TINY = 2.0**500, 2.0**-900


class _Ellipse(NamedTuple):
    """Differences of the ellipse with foci -1 and 1 through ``x + i*y``; its half axes are A and ``sqrt(A*A - 1)``.

    Attributes
    ----------
    root
        ``sqrt(A*A - x*x)``.
    size
        ``log(A + sqrt(A*A - 1))``.
    rare
        Whether numbers are too large, or too close to a focus.
    """

    root: Value
    size: Value
    rare: Value


def _ellipse(re: Value, im: Value) -> _Ellipse:
    """Return what describes an ellipse, from differences without cancellation."""
    x, y = absolute(re), absolute(im)
    beyond, distance = x + 1.0, absolute(x - 1.0)
    square = y * y
    r, s = sqrt(fma(beyond, beyond, square)), sqrt(fma(distance, distance, square))
    s = select(distance.equal(0.0), y, s)
    first, second = r + beyond, s + distance
    rare = exceeds(re, _HUGE, im, _HUGE) | ((second < _TINY) & (y > 0.0))
    second = select(second.equal(0.0), 1.0, second)
    half = (r + s) * 0.5
    inverse = 1.0 / first
    steep = (inverse + 1.0 / second) * 0.5
    flat = fma(square, inverse, select(x.equal(1.0) & y.equal(0.0), 0.0, second)) * 0.5
    inside = x < 1.0
    root = sqrt(select(inside, flat, steep) * (half + x)) * select(inside, 1.0, y)
    wide = select(inside, square * steep, flat)
    narrow = sqrt(select(inside, steep, flat) * (half + 1.0)) * select(inside, y, y.like(1.0))
    return _Ellipse(root, log1p_of_positive(wide + narrow), rare)


def arcsin(re: Value, im: Value) -> Parts:
    ellipse = _ellipse(re, im)
    values = copysign(arctan2(absolute(re), ellipse.root), re), copysign(ellipse.size, im)
    return by_library("casin", ellipse.rare, (re, im), values)


def arccos(re: Value, im: Value) -> Parts:
    ellipse = _ellipse(re, im)
    values = arctan2(ellipse.root, re), copysign(ellipse.size, -im)
    return by_library("cacos", ellipse.rare, (re, im), values)


def arccosh(re: Value, im: Value) -> Parts:
    ellipse = _ellipse(re, im)
    values = ellipse.size, copysign(arctan2(ellipse.root, re), im)
    return by_library("cacosh", ellipse.rare, (re, im), values)


def arcsinh(re: Value, im: Value) -> Parts:
    return arcsin(im, re)[::-1]


def arctanh(re: Value, im: Value) -> Parts:
    """Compute a quarter of ``log1p(4*x/((1-x)**2 + y*y))``, and half the angle of ``(1-x)*(1+x) - y*y + 2*i*y``."""
    x, y = absolute(re), absolute(im)
    near, square = 1.0 - x, y * y
    below = fma(near, near, square)
    rare = exceeds(re, _HUGE, im, _HUGE) | (below < _TINY)
    real = log1p_of_positive(4.0 * x / below) * 0.25
    turn = arctan2(y + y, fma(near, 1.0 + x, -square)) * 0.5
    return by_library("catanh", rare, (re, im), (copysign(real, re), copysign(turn, im)))


def arctan(re: Value, im: Value) -> Parts:
    return arctanh(im, re)[::-1]
