"""Elliptic integrals of powers of the sine: all derivatives of Legendre's integrals by the parameter m.

With ``d = 1 - m*sin(t)**2`` they are the integrals from 0 to phi of ``sin(t)**(2*p) * d**(-p-1/2)``, of which that of
``p = 0`` is the first kind, and of ``sin(t)**(2*p) * d**(1/2-p)``, the second kind. The derivative by m is the integral
of ``p+1``, times ``p+1/2`` or ``p-1/2``.

With ``tan(t) = s = sinh(u)`` the integrands are powers of s and of ``1 + (1-m)*s**2``, for every m up to 1, and are
taken by `gauss_legendre` over intervals of u whose lengths are at most the distances of their singularities.
"""

import math

import numpy as np

from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.special.gauss_legendre import RULE

_MAX_PANEL = 2.5  # longest interval of the rule; singularities are at the distance pi/2 from the real axis
_FAR = 1e15  # of phi, from where on the rest of the last turn is rounded away


@noinline
def _integrand(u: float, rest: float, p: float, kind: int) -> float:
    s = math.sinh(u)
    square = s * s
    root = math.sqrt(1.0 + rest * square)
    power = math.pow(square / (root * root), p)
    return power / root if kind == 1 else power * root / (1.0 + square)


@noinline
def _over(begin: float, end: float, rest: float, p: float, kind: int) -> float:
    middle, half, total = 0.5 * (begin + end), 0.5 * (end - begin), 0.0
    for node, weight in RULE:
        step = node * half
        total += weight * (
            _integrand(middle - step, rest, p, kind) + _integrand(middle + step, rest, p, kind)
        )
    return total * half


@noinline
def _from_zero(tangent: float, rest: float, p: float, kind: int) -> float:
    """Integrate to a positive angle, at most pi/2."""
    end = math.asinh(tangent)
    step = min(1.0 / math.sqrt(max(rest, 1.0)), _MAX_PANEL)
    begin, total = 0.0, 0.0
    while begin < end:
        last = min(begin + max(step, min(begin, _MAX_PANEL)), end)
        total += _over(begin, last, rest, p, kind)
        begin = last
    return total


@noinline
def _integral(phi: float, m: float, p: float, kind: int) -> float:
    if math.isnan(phi + m) or m > 1.0:
        return math.nan
    if m == -math.inf:
        return 0.0 if kind == 1 or p > 0.0 else (math.inf if phi > 0.0 else -math.inf)
    turns, angle = phi / math.pi, 0.0
    if abs(phi) < _FAR:
        turns = np.rint(turns)
        angle = phi - turns * math.pi
    if turns != 0.0 and m == 1.0 and (kind == 1 or p > 0.0):
        return math.inf if phi > 0.0 else -math.inf
    rest = 1.0 - m
    total = _from_zero(math.tan(abs(angle)), rest, p, kind)
    total = -total if angle < 0.0 else total
    return total + (2.0 * turns * _from_zero(1.6e16, rest, p, kind) if turns != 0.0 else 0.0)


@noinline
def elliptic_first(phi: float, m: float, p: float) -> float:
    """Return the integral of ``sin(t)**(2*p) * (1 - m*sin(t)**2)**(-p-1/2)`` from 0 to `phi`."""
    return _integral(phi, m, p, 1)


@noinline
def elliptic_second(phi: float, m: float, p: float) -> float:
    """Return the integral of ``sin(t)**(2*p) * (1 - m*sin(t)**2)**(1/2-p)`` from 0 to `phi`."""
    return _integral(phi, m, p, 2)
