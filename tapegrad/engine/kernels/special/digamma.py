"""Digamma and trigamma functions of positive numbers, and their differences without cancellation.

From `_FAR` on they are asymptotic series (DLMF 5.11.2 and 5.15.8), before that the recurrence leads there. Each term of
a difference over a step is a multiple of the step.
"""

import math

from tapegrad.engine.kernels.language.inlining import noinline

_FAR = 12.0  # from where on seven terms are right to the last place
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # B(2), B(4), ...
_OF_DIGAMMA = tuple(number / (2 * k) for k, number in enumerate(_BERNOULLI, start=1))
_DIGAMMA_FROM_LAST, _TRIGAMMA_FROM_LAST = _OF_DIGAMMA[::-1], _BERNOULLI[::-1]


@noinline
def _log_less_series(x: float) -> float:
    """Return ``log(x) - digamma(x)`` for large `x`."""
    r, total = 1.0 / (x * x), 0.0
    for coefficient in _DIGAMMA_FROM_LAST:
        total = r * (total + coefficient)
    return 0.5 / x + total


@noinline
def digamma(x: float) -> float:
    """Return the digamma function of a positive number."""
    below = 0.0
    while x < _FAR:
        below += 1.0 / x
        x += 1.0
    return math.log(x) - _log_less_series(x) - below


@noinline
def trigamma(x: float) -> float:
    """Return the derivative of the digamma function of a positive number."""
    below = 0.0
    while x < _FAR:
        below += 1.0 / (x * x)
        x += 1.0
    r, total = 1.0 / (x * x), 0.0
    for coefficient in _TRIGAMMA_FROM_LAST:
        total = r * (total + coefficient)
    return below + (1.0 + total) / x + 0.5 * r


@noinline
def digamma_less_log(a: float, x: float) -> float:
    """Return ``digamma(a) - log(x)``, for large `a` without the cancellation of the logarithms."""
    if a < _FAR:
        return digamma(a) - math.log(x)
    distance = (x - a) / a
    ratio = math.log1p(distance) if abs(distance) < 0.5 else math.log(x / a)
    return -ratio - _log_less_series(a)


@noinline
def digamma_rise(x: float, step: float) -> float:
    """Return ``digamma(x + step) - digamma(x)`` where both are of positive numbers."""
    near = 0.0
    while min(x, x + step) < _FAR:
        near += step / (x * (x + step))
        x += 1.0
    u, v = 1.0 / x, 1.0 / (x + step)
    sums, power, total = 1.0, v * v, 0.0
    for coefficient in _OF_DIGAMMA:
        total += coefficient * sums
        sums = u * u * sums + power
        power *= v * v
    return near + math.log1p(step * u) + step * u * v * (0.5 + (u + v) * total)


@noinline
def trigamma_fall(x: float, step: float) -> float:
    """Return ``trigamma(x) - trigamma(x + step)`` where both are of positive numbers."""
    near = 0.0
    while min(x, x + step) < _FAR:
        u, v = 1.0 / x, 1.0 / (x + step)
        near += step * u * v * (u + v)
        x += 1.0
    u, v = 1.0 / x, 1.0 / (x + step)
    sums, power, total = u * u + u * v + v * v, v * (u + v), 1.0 + 0.5 * (u + v)
    for coefficient in _BERNOULLI:
        total += coefficient * sums
        power *= v * v
        sums = u * u * sums + power
    return near + step * u * v * total
