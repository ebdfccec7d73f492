"""Derivatives of the regularized incomplete gamma function P(a, x) by `a`, relative to ``x**a * exp(-x) / gamma(a)``.

With the density f of the gamma distribution, the first one is the integral of ``(log(t) - digamma(a)) * f(t)`` from 0
to x, and minus the integral from x on: that over all t is 0. The factor of f changes its sign once. The integral that
does not contain this point has a positive or a negative integrand, and nothing cancels. Of the second derivative the
factor is ``(log(t) - digamma(a))**2 - trigamma(a)``.

The integral from 0 is a series, whose terms ``x**n / gamma(a+n+1)`` are differentiated (DLMF 8.7.1; Moore, Algorithm
AS 187, 1982). Where the series is long, or the other integral is due, the integrals are taken by `gauss_legendre` over
the logarithm of t.

With the factor 1 the same integrals are P(a, x) and ``1 - P(a, x)``, relative to the same: their logarithms are made of
that, which are ordinary numbers far out, where they themselves have no floats.
"""

import math
from typing import NamedTuple

from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.special.digamma import digamma_less_log, trigamma
from tapegrad.engine.kernels.special.factors import LOG_NEARLY_ALL, NEARLY_ALL, igam_fac, igam_log_fac
from tapegrad.engine.kernels.special.gauss_legendre import NEGLIGIBLE, RULE

_MAX_SERIES_X = 30.0  # of x, up to which the series has few terms for any a
_MAX_TERMS = 1000
_MAX_PANEL = 4.0  # longest interval of the rule from x on, for small x


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
    order
        Order of the derivative; 0 for the share itself.
    """

    a: float
    x: float
    start: float
    spread: float
    shift: float
    order: int


@noinline
def _weight(distance: float, shift: float, spread: float, order: int) -> float:
    """Return the factor of the density, given ``log(t) - digamma(a)`` less a shift.

    The square of the shift, which is large for small `a`, cancels exactly against trigamma.
    """
    if order == 0:
        return 1.0
    return distance * (distance + 2.0 * shift) - spread if order == 2 else distance + shift


@noinline
def _integrand(integral: _Integral, s: float) -> float:
    """Return the integrand at ``t = x * exp(s)``."""
    rise = integral.a * s - integral.x * math.expm1(s)
    return _weight(integral.start + s, integral.shift, integral.spread, integral.order) * math.exp(rise)


@noinline
def _over(integral: _Integral, begin: float, end: float) -> float:
    """Integrate over `s`; the sign is that of an increasing `s` if `end` is less than `begin`."""
    middle, half, total = 0.5 * (begin + end), 0.5 * (end - begin), 0.0
    for node, weight in RULE:
        step = node * half
        total += weight * (_integrand(integral, middle - step) + _integrand(integral, middle + step))
    return total * abs(half)


@noinline
def _left(integral: _Integral) -> float:
    """Integrate from 0 to x: `s` is bounded from below by ``exp(-s) - 1 + s >= s**2 / (2 + s)``."""
    a, x = integral.a, integral.x
    b = 2.0 * (a - x) - NEGLIGIBLE
    root = math.sqrt(b * b + 8.0 * a * NEGLIGIBLE)
    end = 4.0 * NEGLIGIBLE / (b + root) if b > 0.0 else (root - b) / (2.0 * a)
    return _over(integral, 0.0, -end)


@noinline
def _right(integral: _Integral) -> float:
    """Integrate from x on: `s` is bounded from above by ``exp(s) - 1 >= s + s**2 / 2``."""
    a, x = integral.a, integral.x
    distance = x - a
    end = 2.0 * NEGLIGIBLE / (distance + math.sqrt(distance * distance + 2.0 * x * NEGLIGIBLE))
    end = math.log1p((NEGLIGIBLE + a * end) / x)
    panels = 1 + int(end / _MAX_PANEL)
    total = 0.0
    for k in range(panels):
        total += _over(integral, end * k / panels, end * (k + 1) / panels)
    return total


@noinline
def _series(a: float, x: float, order: int) -> float:
    """Sum the terms of the integral from 0 to x."""
    distance = -digamma_less_log(a + 1.0, x) if order > 0 else 0.0
    spread = trigamma(a + 1.0) if order == 2 else 0.0
    term, total, n = 1.0, 0.0, 0
    while n < _MAX_TERMS:
        total += term * _weight(distance, 0.0, spread, order)
        n += 1
        r = 1.0 / (a + n)
        term *= x * r
        if term * (1.0 + distance * distance) < 1e-17 * abs(total) or term == 0.0:
            break
        distance -= r
        spread -= r * r
    return total / a


@noinline
def _has_short_series(a: float, x: float) -> bool:
    return x <= 0.7 * (a + 1.0) or (x <= _MAX_SERIES_X and x <= a + 1.5)


@noinline
def _relative(a: float, x: float, order: int) -> float:
    """Return a derivative relative to ``x**a * exp(-x) / gamma(a)``."""
    if not (a > 0.0 and x >= 0.0):
        return math.nan
    if max(a, x) == math.inf:
        return 0.0
    if _has_short_series(a, x):
        return _series(a, x, order)
    distance, is_small = -digamma_less_log(a, x), a < 1.0
    start, shift = (-digamma_less_log(a + 1.0, x), 1.0 / a) if is_small else (distance, 0.0)
    spread = trigamma(a + 1.0 if is_small else a) if order == 2 else 0.0
    integral = _Integral(a, x, start, spread, shift, order)
    return _left(integral) if distance <= 0.0 else -_right(integral)


@noinline
def igam_a(a: float, x: float) -> float:
    """Return the derivative of P(a, x) by `a`, divided by ``x**a * exp(-x) / gamma(a)``: it is negative."""
    return _relative(a, x, 1)


@noinline
def igam_aa(a: float, x: float) -> float:
    """Return the second derivative by `a`, divided likewise."""
    return _relative(a, x, 2)


@noinline
def _has_left(a: float, x: float) -> bool:
    """Return whether the integral from 0 to x is taken itself, and not what it lacks to 1."""
    return x <= a or _has_short_series(a, x)


@noinline
def _over_left(a: float, x: float) -> float:
    """Return P(a, x) divided by ``x**a * exp(-x) / gamma(a)``."""
    return _series(a, x, 0) if _has_short_series(a, x) else _left(_Integral(a, x, 0.0, 0.0, 0.0, 0))


@noinline
def _over_right(a: float, x: float) -> float:
    """Return ``1 - P(a, x)`` divided likewise."""
    return _right(_Integral(a, x, 0.0, 0.0, 0.0, 0))


@noinline
def igam_left(a: float, x: float) -> float:
    """Return ``x**a * exp(-x) / gamma(a)`` divided by P(a, x)."""
    if not (a > 0.0 and x > 0.0) or max(a, x) == math.inf:
        return (0.0 if x == math.inf else a) if a >= 0.0 and x >= 0.0 else math.nan
    if _has_left(a, x):
        return 1.0 / _over_left(a, x)
    factor = igam_fac(a, x)
    return factor / (1.0 - factor * _over_right(a, x))


@noinline
def igam_right(a: float, x: float) -> float:
    """Return ``x**a * exp(-x) / gamma(a)`` divided by ``1 - P(a, x)``."""
    if not (a > 0.0 and x > 0.0) or max(a, x) == math.inf:
        return (0.0 if a == math.inf else x) if a >= 0.0 and x >= 0.0 else math.nan
    if _has_left(a, x):
        factor = igam_fac(a, x)
        share = factor * _over_left(a, x)
        if share < NEARLY_ALL:
            return factor / (1.0 - share)
    return 1.0 / _over_right(a, x)


@noinline
def log_gammainc(a: float, x: float) -> float:
    """Return the logarithm of P(a, x)."""
    if not (a > 0.0 and x > 0.0) or max(a, x) == math.inf:
        if not (a >= 0.0 and x >= 0.0) or min(a, x) == math.inf or max(a, x) == 0.0:
            return math.nan
        return 0.0 if x == math.inf or a == 0.0 else -math.inf
    log_factor = igam_log_fac(a, x)
    if _has_left(a, x):
        share = log_factor + math.log(_over_left(a, x))
        if share < LOG_NEARLY_ALL:
            return share
    return math.log1p(-math.exp(log_factor) * _over_right(a, x))


@noinline
def log_gammaincc(a: float, x: float) -> float:
    """Return the logarithm of ``1 - P(a, x)``."""
    if not (a > 0.0 and x > 0.0) or max(a, x) == math.inf:
        if not (a >= 0.0 and x >= 0.0) or min(a, x) == math.inf or max(a, x) == 0.0:
            return math.nan
        return -math.inf if x == math.inf or a == 0.0 else 0.0
    log_factor = igam_log_fac(a, x)
    if _has_left(a, x):
        share = math.exp(log_factor) * _over_left(a, x)
        if share < NEARLY_ALL:
            return math.log1p(-share)
    return log_factor + math.log(_over_right(a, x))
