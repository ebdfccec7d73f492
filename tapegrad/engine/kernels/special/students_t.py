"""Derivatives of the distribution function of Student's t by the degrees of freedom, relative to the density f.

With ``h`` the derivative of ``log(f)`` by the degrees of freedom v, the first one is the integral of ``h*f`` from 0 to
t, and minus the integral from t on: that over all positive numbers is 0. The factor h changes its sign once. The
integral that does not contain this point has a positive or a negative integrand, and nothing cancels. Of the second
derivative the factor is ``h**2 + dh/dv``.

The integrals are taken by `gauss_legendre` over u, where ``t = sqrt(v)*sinh(u)``. From `_FAR` on they are elementary.
"""

import math
from typing import NamedTuple

from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.special.factors import ibeta_log_fac
from tapegrad.engine.kernels.special.gauss_legendre import NEGLIGIBLE, RULE
from tapegrad.engine.kernels.special.incomplete_beta import half_of_student

_FAR = 20.0  # of u, from where on exp(-2*u) adds nothing to 1
_MAX_PANEL = 2.5  # longest interval of the rule; singularities are at the distance pi/2 from the real axis
_SERIES_FROM = 32.0  # of v, from where on the series below are right to the last place
_MAX_SQUARE = 1e30  # of t**2 / v, from where on 1 adds nothing to it
_NORMAL = 1e30  # degrees of freedom, from where on the distribution is the normal one
_FAR_RATIO = 1e10  # of t to the root of v, from where on the density is a power
_NEAR = 1e-17  # of t, up to where probabilities are those of 0
_LOG_2 = math.log(2.0)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_SERIES = tuple((4**k - 1) * number / k for k, number in enumerate(_BERNOULLI, start=1))[::-1]
_SERIES_BY_V = tuple((4**k - 1) * number * 2.0 for k, number in enumerate(_BERNOULLI, start=1))[::-1]


class _ScoreConstant(NamedTuple):
    """The constant of h, which depends on v only: ``digamma(v/2+1/2) - digamma(v/2) - 1/v``.

    Attributes
    ----------
    v
        The degrees of freedom.
    a, a_by_v
        The constant and its derivative.
    less, less_by_v
        The constant less 1/v, and its derivative.
    """

    v: float
    a: float
    a_by_v: float
    less: float
    less_by_v: float


@noinline
def _score_constant(v: float) -> _ScoreConstant:
    """Return the constants: the recurrence leads to the series (DLMF 5.11.2)."""
    z, near, near_by_v = 0.5 * v + 1.0, 0.0, 0.0
    while 2.0 * z < _SERIES_FROM:
        term = 0.25 / (z * (z + 0.5) * (z + 1.0))
        near += term
        near_by_v -= 0.5 * term * (1.0 / z + 1.0 / (z + 0.5) + 1.0 / (z + 1.0))
        z += 1.0
    w, far, far_by_v = 0.25 / (z * z), 0.0, 0.0
    for coefficient in _SERIES:
        far = w * (far + coefficient)
    for coefficient in _SERIES_BY_V:
        far_by_v = w * (far_by_v + coefficient)
    near, near_by_v = near + far, near_by_v - 0.5 * far_by_v / z
    z = 0.5 * v
    first = 0.25 / (z * (z + 0.5) * (z + 1.0))
    first_by_v = -0.5 * first * (1.0 / z + 1.0 / (z + 0.5) + 1.0 / (z + 1.0))
    below = 2.0 * (z + 0.5) * (z + 1.0)
    less = -(z + 1.5) / below
    less_by_v = 0.5 * ((z + 1.5) * (4.0 * z + 3.0) / below - 1.0) / below
    return _ScoreConstant(v, near + first, near_by_v + first_by_v, near + less, near_by_v + less_by_v)


@noinline
def _curve(share: float, log_cosh_2: float) -> float:
    """Return ``-log(1-x) - x`` at a share x, near 0 by its power series."""
    if share > 0.1:
        return log_cosh_2 - share
    total, n = 0.0, 16
    while n >= 2:
        total = share * (total + 1.0 / n)
        n -= 1
    return share * total


@noinline
def _twice_h(at: _ScoreConstant, share: float, log_cosh_2: float) -> float:
    """Return ``2*h`` given ``t**2 / (v + t**2)`` and ``log1p(t**2 / v)``."""
    return at.a + share / at.v - _curve(share, log_cosh_2)


@noinline
def _weight(at: _ScoreConstant, share: float, log_cosh_2: float, order: int) -> float:
    h = 0.5 * _twice_h(at, share, log_cosh_2)
    if order == 1:
        return h
    return h * h + 0.5 * (at.a_by_v + share * (share * (at.v + 1.0) - 2.0) / (at.v * at.v))


@noinline
def _square_of_sinh(u: float) -> float:
    e = math.expm1(u)
    sinh = 0.5 * (e + e / (e + 1.0))
    return sinh * sinh


@noinline
def _integrand(at: _ScoreConstant, u: float, log_cosh_2: float, order: int) -> float:
    """Return the integrand at `u` relative to the power of cosh where its logarithm is as given."""
    q = _square_of_sinh(u)
    log = math.log1p(q)
    return _weight(at, q / (1.0 + q), log, order) * math.exp(0.5 * at.v * (log_cosh_2 - log))


@noinline
def _over(at: _ScoreConstant, first: float, last: float, log_cosh_2: float, order: int) -> float:
    """Integrate over `u`."""
    panels = 1 + int((last - first) / _MAX_PANEL)
    half, total = 0.5 * (last - first) / panels, 0.0
    for k in range(panels):
        middle = first + (2 * k + 1) * half
        for node, weight in RULE:
            step = node * half
            total += weight * _integrand(at, middle - step, log_cosh_2, order)
            total += weight * _integrand(at, middle + step, log_cosh_2, order)
    return total * half


@noinline
def _from(at: _ScoreConstant, u: float, order: int) -> float:
    """Return the integral from a large `u` on, relative to the power of cosh there."""
    fall = 2.0 * (u - _LOG_2) - 1.0 - at.less
    if order == 2:
        return (0.5 * fall * fall + at.less_by_v + 1.0 / at.v) / (2.0 * at.v)
    return -fall / (2.0 * at.v)


@noinline
def _end(v: float, u: float, log_cosh_2: float) -> float:
    """Return where the integrand is negligible, at most `_FAR`: Newton's method on a convex function."""
    slope = v * math.sqrt(-math.expm1(-log_cosh_2))
    end = u + 2.0 * NEGLIGIBLE / (slope + math.sqrt(slope * slope + 2.0 * NEGLIGIBLE * v))
    for _ in range(2):
        if end < _FAR:
            log = math.log1p(_square_of_sinh(end))
            slope = v * math.sqrt(-math.expm1(-log))
            end += (NEGLIGIBLE - 0.5 * v * (log - log_cosh_2)) / slope
    return min(end, _FAR)


@noinline
def _right(at: _ScoreConstant, u: float, log_cosh_2: float, order: int) -> float:
    """Integrate from `u` on."""
    if u >= _FAR:
        return _from(at, u, order)
    total = _over(at, u, _end(at.v, u, log_cosh_2), log_cosh_2, order)
    rest = math.exp(0.5 * at.v * (log_cosh_2 - 2.0 * (_FAR - _LOG_2)))
    return total + rest * _from(at, _FAR, order) if rest > 0.0 else total


@noinline
def _angle(v: float, size: float) -> tuple[float, float, float]:
    """Return the ratio ``t / sqrt(v)``, and the `u` of it with the logarithm of ``cosh(u)**2``."""
    ratio = size / math.sqrt(v)
    u = math.log1p(ratio + ratio * (ratio / (1.0 + math.hypot(1.0, ratio))))
    return ratio, u, math.log1p(ratio * ratio) if ratio < 1e9 else 2.0 * (u - _LOG_2)


@noinline
def _relative(v: float, t: float, order: int) -> float:
    """Return a derivative divided by the density."""
    if not v > 0.0 or math.isnan(t):
        return math.nan
    if v == math.inf or t == 0.0:
        return 0.0
    if abs(t) == math.inf:
        return t if order == 1 else -t
    at, size = _score_constant(v), abs(t)
    ratio, u, log_cosh_2 = _angle(v, size)
    share = ratio / (ratio + 1.0 / ratio)
    is_left = u < _FAR and _twice_h(at, share, log_cosh_2) >= 0.0
    integral = _over(at, 0.0, u, log_cosh_2, order) if is_left else -_right(at, u, log_cosh_2, order)
    found = math.hypot(math.sqrt(v), size) * integral
    return -found if t < 0.0 else found


@noinline
def student_df(v: float, t: float) -> float:
    """Return the derivative of the distribution function by `v`, divided by the density: it has the sign of t."""
    return _relative(v, t, 1)


@noinline
def student_df_df(v: float, t: float) -> float:
    """Return the second derivative by `v`, divided by the density."""
    return _relative(v, t, 2)


class _Tail(NamedTuple):
    """The share above a positive t.

    Attributes
    ----------
    log_density
        Logarithm of the density at t.
    ratio
        The share divided by the density.
    """

    log_density: float
    ratio: float


@noinline
def _tail(v: float, size: float) -> _Tail:
    """Return the share above a positive t: half of an incomplete beta function."""
    v = min(v, _NORMAL)
    ratio = size / math.sqrt(v)
    if ratio > _FAR_RATIO:
        at_far = ibeta_log_fac(0.5 * v, 0.5, 1.0 / (_FAR_RATIO * _FAR_RATIO), 1.0) - math.log(
            _FAR_RATIO * math.sqrt(v)
        )
        return _Tail(at_far - (v + 1.0) * math.log(ratio / _FAR_RATIO), size / v)
    size = max(size, _NEAR * math.sqrt(min(v, 1.0)))
    total = v + size * size
    share, rest = v / total, size * (size / total)
    log_density = ibeta_log_fac(0.5 * v, 0.5, share, rest) - math.log(size)
    return _Tail(log_density, 0.5 * size * half_of_student(v, share, rest))


@noinline
def log_stdtr(v: float, t: float) -> float:
    """Return the logarithm of the distribution function."""
    if not v > 0.0 or math.isnan(t):
        return math.nan
    if abs(t) == math.inf:
        return min(t, 0.0)
    tail = _tail(v, abs(t))
    beyond = tail.log_density + math.log(tail.ratio)
    return beyond if t <= 0.0 else math.log1p(-math.exp(beyond))


@noinline
def student_left(v: float, t: float) -> float:
    """Return the density divided by the distribution function."""
    if not v > 0.0 or math.isnan(t):
        return math.nan
    if abs(t) == math.inf:
        return math.inf if v == math.inf and t < 0.0 else 0.0
    tail = _tail(v, abs(t))
    if t <= 0.0:
        return 1.0 / tail.ratio
    density = math.exp(tail.log_density)
    return density / (1.0 - density * tail.ratio)


@noinline
def student_score(v: float, t: float) -> float:
    """Return the derivative of the logarithm of the density by `v`."""
    if not v > 0.0 or math.isnan(t):
        return math.nan
    if v == math.inf:
        return 0.0
    q = t * t / v
    if q > _MAX_SQUARE:
        return 0.5 * _twice_h(_score_constant(v), 1.0, 2.0 * math.log(abs(t)) - math.log(v))
    return 0.5 * _twice_h(_score_constant(v), q / (1.0 + q), math.log1p(q))
