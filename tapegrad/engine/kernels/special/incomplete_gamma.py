"""Derivatives of the regularized incomplete gamma function P(a, x) by `a`, relative to ``x**a * exp(-x) / gamma(a)``.

With the density f of the gamma distribution, the first one is the integral of ``(log(t) - digamma(a)) * f(t)`` from 0
to x, and minus the integral from x on: that over all t is 0. The factor of f changes its sign once. The integral that
does not contain this point has a positive or a negative integrand, and nothing cancels. Of the second derivative the
factor is ``(log(t) - digamma(a))**2 - trigamma(a)``.

The integral from 0 is a series, whose terms ``x**n / gamma(a+n+1)`` are differentiated (DLMF 8.7.1; Moore, Algorithm
AS 187, 1982). Where the series is long, or the other integral is due, the integrals are taken by `gauss_legendre` over
the logarithm of t.
"""

import math
from typing import NamedTuple

from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.special.digamma import digamma_less_log, trigamma
from tapegrad.engine.kernels.special.gauss_legendre import NEGLIGIBLE, RULE

_MAX_SERIES_X = 30.0  # of x, up to which the series has few terms for any a
_MAX_TERMS = 1000


class _Integral(NamedTuple):
    """An integral from x to either side, relative to the integrand's factor at x.

    Attributes
    ----------
    a, x
        The arguments of the function.
    start, spread
        ``log(x) - digamma(a)`` and ``trigamma(a)``; at ``a+1`` for small `a`.
    shift
        What `start` lacks: ``1/a`` for small `a`, else 0.
    second
        Whether it is the second derivative.
    """

    a: float
    x: float
    start: float
    spread: float
    shift: float
    second: bool


@noinline
def _weight(distance: float, shift: float, spread: float, second: bool) -> float:
    """Return the factor of the density, given ``log(t) - digamma(a)`` less a shift.

    The square of the shift, which is large for small `a`, cancels exactly against trigamma.
    """
    return distance * (distance + 2.0 * shift) - spread if second else distance + shift


@noinline
def _integrand(integral: _Integral, s: float) -> float:
    """Return the integrand at ``t = x * exp(s)``."""
    rise = integral.a * s - integral.x * math.expm1(s)
    return _weight(integral.start + s, integral.shift, integral.spread, integral.second) * math.exp(rise)


@noinline
def _over(integral: _Integral, end: float) -> float:
    """Integrate over `s` from 0 to `end`, which may be negative; the sign is that of an increasing `s`."""
    middle, total = 0.5 * end, 0.0
    for node, weight in RULE:
        step = node * middle
        total += weight * (_integrand(integral, middle - step) + _integrand(integral, middle + step))
    return total * abs(middle)


@noinline
def _left(integral: _Integral) -> float:
    """Integrate from 0 to x: `s` is bounded from below by ``exp(-s) - 1 + s >= s**2 / (2 + s)``."""
    a, x = integral.a, integral.x
    b = 2.0 * (a - x) - NEGLIGIBLE
    root = math.sqrt(b * b + 8.0 * a * NEGLIGIBLE)
    end = 4.0 * NEGLIGIBLE / (b + root) if b > 0.0 else (root - b) / (2.0 * a)
    return _over(integral, -end)


@noinline
def _right(integral: _Integral) -> float:
    """Integrate from x on: `s` is bounded from above by ``exp(s) - 1 >= s + s**2 / 2``."""
    a, x = integral.a, integral.x
    distance = x - a
    end = 2.0 * NEGLIGIBLE / (distance + math.sqrt(distance * distance + 2.0 * x * NEGLIGIBLE))
    return _over(integral, math.log1p((NEGLIGIBLE + a * end) / x))


@noinline
def _series(a: float, x: float, second: bool) -> float:
    """Sum the terms of the integral from 0 to x."""
    distance, spread = -digamma_less_log(a + 1.0, x), trigamma(a + 1.0) if second else 0.0
    term, total, n = 1.0, 0.0, 0
    while n < _MAX_TERMS:
        total += term * _weight(distance, 0.0, spread, second)
        n += 1
        r = 1.0 / (a + n)
        term *= x * r
        if term * (1.0 + distance * distance) < 1e-17 * abs(total) or term == 0.0:
            break
        distance -= r
        spread -= r * r
    return total / a


@noinline
def _relative(a: float, x: float, second: bool) -> float:
    """Return a derivative relative to ``x**a * exp(-x) / gamma(a)``."""
    if not (a > 0.0 and x >= 0.0):
        return math.nan
    if max(a, x) == math.inf:
        return 0.0
    if x <= 0.7 * (a + 1.0) or (x <= _MAX_SERIES_X and x <= a + 1.5):
        return _series(a, x, second)
    distance, is_small = -digamma_less_log(a, x), a < 1.0
    start, shift = (-digamma_less_log(a + 1.0, x), 1.0 / a) if is_small else (distance, 0.0)
    spread = trigamma(a + 1.0 if is_small else a) if second else 0.0
    integral = _Integral(a, x, start, spread, shift, second)
    return _left(integral) if distance <= 0.0 else -_right(integral)


@noinline
def igam_a(a: float, x: float) -> float:
    """Return the derivative of P(a, x) by `a`, divided by ``x**a * exp(-x) / gamma(a)``: it is negative."""
    return _relative(a, x, False)


@noinline
def igam_aa(a: float, x: float) -> float:
    """Return the second derivative by `a`, divided likewise."""
    return _relative(a, x, True)
