"""Powers divided by gamma functions: the densities of the gamma and beta distributions, times their variables.

They are computed by the distance from the mode, which keeps the digits of large parameters (Loader 2000).
"""

import math

from tapegrad.engine.kernels.language.inlining import noinline

NEARLY_ALL = 0.9  # share from which on it is what the other one lacks to 1
LOG_NEARLY_ALL = math.log(NEARLY_ALL)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_STIRLING_FROM = 30.0  # from where on five terms of Stirling's series are right to the last place
_STIRLING = (1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)  # DLMF 5.11.1, from the last term


@noinline
def _remainder(x: float) -> float:
    """Return ``lgamma(x) - (x-1/2)*log(x) + x - log(2*pi)/2``."""
    if x < _STIRLING_FROM:
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - _HALF_LOG_2PI
    r, total = 1.0 / (x * x), 0.0
    for coefficient in _STIRLING:
        total = r * total + coefficient
    return total / x


@noinline
def _less_log(distance: float, x: float, mode: float) -> float:
    """Return ``distance - log(x/mode)`` where ``distance = x/mode - 1``; near 0 by a series of the inverse tangent."""
    if distance > 1.0:
        return distance - math.log1p(distance)
    if abs(distance) > 0.2:
        ratio = x / mode
        return distance - (math.log(ratio) if ratio > 1e-290 else math.log(x) - math.log(mode))
    s = distance / (2.0 + distance)
    square, total, n = s * s, 0.0, 19
    while n > 1:
        total = square * (total + 1.0 / n)
        n -= 2
    return s * (distance - 2.0 * total)


@noinline
def _igam_exponent(a: float, x: float) -> float:
    """Return minus the logarithm of `igam_fac`, less that of ``sqrt(a)``."""
    return a * _less_log((x - a) / a, x, a) + _remainder(a) + _HALF_LOG_2PI


@noinline
def igam_fac(a: float, x: float) -> float:
    """Return ``x**a * exp(-x) / gamma(a)``."""
    if not (a > 0.0 and x > 0.0) or max(a, x) == math.inf:
        return 0.0 if a >= 0.0 and x >= 0.0 else math.nan
    return math.sqrt(a) * math.exp(-_igam_exponent(a, x))


@noinline
def igam_log_fac(a: float, x: float) -> float:
    """Return the logarithm of `igam_fac`."""
    if not (a > 0.0 and x > 0.0) or max(a, x) == math.inf:
        return -math.inf if a >= 0.0 and x >= 0.0 else math.nan
    return 0.5 * math.log(a) - _igam_exponent(a, x)


@noinline
def _ibeta_exponent(a: float, b: float, x: float, y: float) -> float:
    """Return minus the logarithm of `ibeta_fac`, less that of ``sqrt(a * b / (a+b))``."""
    total, distance = a + b, x * b - y * a
    powers = a * _less_log(distance / a, x, a / total) + b * _less_log(-distance / b, y, b / total)
    return powers + _remainder(a) + _remainder(b) - _remainder(total) + _HALF_LOG_2PI


@noinline
def ibeta_fac(a: float, b: float, x: float) -> float:
    """Return ``x**a * (1-x)**b / beta(a, b)``."""
    y = 1.0 - x
    if not (a > 0.0 and b > 0.0 and x > 0.0 and y > 0.0) or max(a, b) == math.inf:
        return 0.0 if a >= 0.0 and b >= 0.0 and x >= 0.0 and y >= 0.0 else math.nan
    return math.sqrt(a / (a + b) * b) * math.exp(-_ibeta_exponent(a, b, x, y))


@noinline
def ibeta_log_fac(a: float, b: float, x: float, y: float) -> float:
    """Return the logarithm of ``x**a * y**b / beta(a, b)`` where x and y are positive and add up to 1."""
    return 0.5 * math.log(a / (a + b) * b) - _ibeta_exponent(a, b, x, y)
