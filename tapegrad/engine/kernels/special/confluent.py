"""Derivatives of Kummer's confluent hypergeometric function M(a, b, z) by its parameters.

The terms of its power series (DLMF 13.2.2) are differentiated: the series converges everywhere. For negative z it is
that of ``exp(z) * M(b-a, b, -z)`` (DLMF 13.2.39), whose terms do not alternate. Large terms are scaled.
"""

import math
from typing import Any, NamedTuple

from tapegrad.engine.kernels.language.inlining import noinline

_MAX_TERMS = 200_000
_MAX_RISING_TERMS = 10_000  # of a series that does not come to its end: as many as show that it overflows
_MAX_LOSS = 1e8  # of the largest term to the sum
_LARGE, _SCALE, _LOG_SCALE = 1e250, 1e-250, math.log(1e-250)


class _Jet(NamedTuple):
    """A function of a and b with its first and second derivatives."""

    f: float
    a: float
    b: float
    aa: float
    ab: float
    bb: float


@noinline
def _next(t: _Jet, p: float, r: float, scale: float) -> _Jet:
    """Return the term after `t`, which is ``t * p / r * scale`` where p and r rise with a and b."""
    f, a, b = t.f * p, t.a * p + t.f, t.b * p - t.f * p / r
    aa = t.aa * p + 2.0 * t.a
    ab = t.ab * p + t.b - (t.a * p + t.f) / r
    bb = (t.bb - 2.0 * (t.b - t.f / r) / r) * p
    s = scale / r
    return _Jet(f * s, a * s, b * s, aa * s, ab * s, bb * s)


@noinline
def _plus(t: _Jet, u: _Jet) -> _Jet:
    return _Jet(t.f + u.f, t.a + u.a, t.b + u.b, t.aa + u.aa, t.ab + u.ab, t.bb + u.bb)


@noinline
def _times(t: _Jet, factor: float) -> _Jet:
    return _Jet(t.f * factor, t.a * factor, t.b * factor, t.aa * factor, t.ab * factor, t.bb * factor)


@noinline
def _size(t: _Jet) -> float:
    return abs(t.f) + abs(t.a) + abs(t.b) + abs(t.aa) + abs(t.ab) + abs(t.bb)


@noinline
def _is_small(t: _Jet, total: _Jet) -> bool:
    first = abs(t.f) <= 1e-17 * abs(total.f) and abs(t.a) <= 1e-17 * abs(total.a)
    second = abs(t.b) <= 1e-17 * abs(total.b) and abs(t.aa) <= 1e-17 * abs(total.aa)
    return first and second and abs(t.ab) <= 1e-17 * abs(total.ab) and abs(t.bb) <= 1e-17 * abs(total.bb)


@noinline
def _series(a: float, b: float, z: float, log_factor: float) -> _Jet:
    """Return the sum of the series, times ``exp(log_factor)``; nan if it has lost more than half of its digits."""
    term = total = _Jet(1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    largest = 1.0
    ends = abs((a + _MAX_TERMS) * z) <= 0.5 * abs(b + _MAX_TERMS) * _MAX_TERMS
    for k in range(_MAX_TERMS if ends else _MAX_RISING_TERMS):
        p, r = a + k, b + k
        term = _next(term, p, r, z / (k + 1.0))
        total = _plus(total, term)
        size = _size(term)
        if not size < math.inf:
            return _times(total, math.nan)
        largest = max(largest, size)
        if abs(p * z) <= 0.5 * abs(r) * (k + 1.0) and _is_small(term, total):
            return _times(total, math.exp(log_factor) if largest < _MAX_LOSS * _size(total) else math.nan)
        if abs(total.f) > _LARGE:
            term, total, largest = _times(term, _SCALE), _times(total, _SCALE), largest * _SCALE
            log_factor -= _LOG_SCALE
            if log_factor > 1500.0:
                return _times(total, math.inf)
    return _times(total, math.nan)


@noinline
def _derivatives(a: float, b: float, z: float) -> _Jet:
    if not abs(z) < math.inf or math.isnan(a) or math.isnan(b):
        return _Jet(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)
    if z >= 0.0 or (z > -4.0 and abs(a * z) < 4.0):  # terms that alternate, but cancel little
        return _series(a, b, z, 0.0)
    n = _series(b - a, b, -z, z)
    return _Jet(n.f, -n.a, n.a + n.b, n.aa, -n.aa - n.ab, n.aa + 2.0 * n.ab + n.bb)


def _derivative(field: str) -> Any:
    """Make the function that returns one field of `_Jet`, by its name."""
    k = _Jet._fields.index(field)

    def function(a: float, b: float, z: float) -> float:
        return _derivatives(a, b, z)[k]

    function.__name__ = function.__qualname__ = f"hyp1f1_{field}"
    return noinline(function)


hyp1f1_a, hyp1f1_b = _derivative("a"), _derivative("b")
hyp1f1_aa, hyp1f1_ab, hyp1f1_bb = _derivative("aa"), _derivative("ab"), _derivative("bb")
