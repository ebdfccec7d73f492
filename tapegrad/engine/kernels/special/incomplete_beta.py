"""Derivatives of the regularized incomplete beta function I(a, b, x) by `a` and `b`, relative to a power of x and 1-x.

With the density f of the beta distribution, that by `a` is the integral of ``(log(t) - m) * f(t)`` from 0 to x, where m
is ``digamma(a) - digamma(a+b)``, and minus the integral from x to 1: that from 0 to 1 is 0. The factor of f changes its
sign once. The integral that does not contain this point has a positive or a negative integrand, and nothing cancels. By
the symmetry ``I(a, b, x) = 1 - I(b, a, 1-x)`` the derivative by `b` is that by `a` at other arguments.

Each integral is a hypergeometric series, whose terms are differentiated (DLMF 8.17.8; Boik and Robison-Cox 1998 take a
continued fraction). Where the series is long, the integral is taken by `gauss_legendre` over the logarithm of
``t/(1-t)``, up to where the integrand is negligible or the series is short.

Differentiated by nothing, the same integral is I(a, b, x), of whose ratio to the density its logarithm is made far out.
"""

import math
from typing import NamedTuple

from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.special.digamma import digamma_rise, trigamma, trigamma_fall
from tapegrad.engine.kernels.special.factors import LOG_NEARLY_ALL, NEARLY_ALL, ibeta_fac, ibeta_log_fac
from tapegrad.engine.kernels.special.gauss_legendre import NEGLIGIBLE, RULE

_MAX_TERMS = 1000
_MAX_RATIO = 0.7  # largest ratio of terms of a series that is short
_MAX_PANEL = 4.0  # longest interval of the rule; singularities are at the distance pi from the real axis
# What is differentiated by: the parameter of the share that vanishes along the integral, or of the one that grows
_VANISHING, _GROWING, _VANISHING_TWICE, _GROWING_TWICE, _BOTH, _NOTHING = range(6)


class _Side(NamedTuple):
    """An integral from x to 0 or to 1, along which one of the shares t and 1-t vanishes, and the other one grows.

    Attributes
    ----------
    p, q
        The parameters of the vanishing and of the growing share.
    u, v
        The shares at x.
    kind
        What is differentiated by.
    """

    p: float
    q: float
    u: float
    v: float
    kind: int


@noinline
def _shift(p: float, q: float) -> float:
    """Return ``1/p - 1/(p+q)``: what is left out of a mean whose square cancels against the spread."""
    return q / (p + q) / p


@noinline
def _spread_less_square(p: float, q: float) -> float:
    """Return ``trigamma(p+q) - trigamma(p)`` and the square of the shift, which is large for small `p`."""
    return -2.0 * _shift(p, q) / (p + q) - trigamma_fall(p + 1.0, q)


@noinline
def _weight(kind: int, vanishing: float, growing: float, spread: float, shift: float) -> float:
    """Return the factor of the density, given the logarithms of the shares less their means, and less a shift."""
    if kind == _VANISHING:
        return vanishing
    if kind == _GROWING:
        return growing
    if kind == _BOTH:
        return vanishing * growing + spread
    if kind == _NOTHING:
        return 1.0
    distance = vanishing if kind == _VANISHING_TWICE else growing
    return distance * (distance + 2.0 * shift) + spread


@noinline
def _log(share: float, rest: float) -> float:
    return math.log(share) if share < 0.5 else math.log1p(-rest)


# --- series ---------------------------------------------------------------------------------------------------------


@noinline
def _is_short(side: _Side) -> bool:
    """Return whether few terms of the series matter, by the largest ratio of two of them."""
    return side.u * max(1.0, (side.p + side.q) / (side.p + 1.0)) <= _MAX_RATIO


@noinline
def _first_distance(side: _Side) -> float:
    """Return the factor of the first term; the series is of one sign where it is not positive."""
    return _log(side.u, side.v) + digamma_rise(side.p + 1.0, side.q - 1.0)


@noinline
def _growing(side: _Side) -> tuple[float, float]:
    """Return the logarithm of the growing share less its mean, as far as the kind needs it, and the shift."""
    p, q, kind = side.p, side.q, side.kind
    if kind == _GROWING_TWICE:
        return _log(side.v, side.u) + digamma_rise(q + 1.0, p), _shift(q, p)
    left_out = kind in (_VANISHING, _VANISHING_TWICE, _NOTHING)
    return 0.0 if left_out else _log(side.v, side.u) + digamma_rise(q, p), 0.0


@noinline
def _first_spread(side: _Side) -> float:
    p, q, kind = side.p, side.q, side.kind
    if kind == _BOTH:
        return trigamma(p + q)
    return -trigamma_fall(p + 1.0, q - 1.0) if kind == _VANISHING_TWICE else _spread_less_square(q, p)


@noinline
def _series(side: _Side) -> float:
    """Sum the series of the integral."""
    p, q, u, kind = side.p, side.q, side.u, side.kind
    vanishing = 0.0 if kind in (_GROWING, _GROWING_TWICE, _NOTHING) else _first_distance(side)
    growing, shift = _growing(side)
    spread = _first_spread(side) if _GROWING < kind < _NOTHING else 0.0
    term, total, n = 1.0, 0.0, 0
    while n < _MAX_TERMS:
        weight = _weight(kind, vanishing, growing, spread, shift)
        total += term * weight
        above, below = 1.0 / (p + q + n), 1.0 / (p + 1.0 + n)
        term *= u * (p + q + n) * below
        n += 1
        if term * (1.0 + abs(weight)) < 1e-17 * abs(total) or term == 0.0:
            break
        vanishing += above - below
        growing += above
        spread += (below * below if kind == _VANISHING_TWICE else 0.0) - above * above
    return total / p


# --- integrals ------------------------------------------------------------------------------------------------------


@noinline
def _logs(side: _Side, s: float) -> tuple[float, float]:
    """Return how far the logarithm of the vanishing share falls along `s`, and how far that of the other one rises."""
    if side.v < 0.5:
        fall = math.log1p(side.v * math.expm1(s))
        return fall, s - fall
    rise = -math.log1p(side.u * math.expm1(-s))
    return s - rise, rise


@noinline
def _end(side: _Side) -> float:
    """Return where the integrand is negligible: by Newton's method on a convex function, from a quadratic model."""
    p, q, u, v = side.p, side.q, side.u, side.v
    slope = p * v - q * u
    s = 2.0 * NEGLIGIBLE / (slope + math.sqrt(slope * slope + 2.0 * NEGLIGIBLE * (p + q) * u * v))
    s = max(s, NEGLIGIBLE / p)
    for _ in range(4):
        fall, rise = _logs(side, s)
        s += (NEGLIGIBLE - p * fall + q * rise) / (p - (p + q) * u * math.exp(-fall))
    return s


@noinline
def _integrand(side: _Side, s: float, start: tuple[float, float, float, float]) -> float:
    fall, rise = _logs(side, s)
    vanishing, growing, spread, shift = start
    weight = _weight(side.kind, vanishing - fall, growing + rise, spread, shift)
    return weight * math.exp(side.q * rise - side.p * fall)


@noinline
def _panel(side: _Side, middle: float, half: float, start: tuple[float, float, float, float]) -> float:
    total = 0.0
    for node, weight in RULE:
        step = node * half
        total += weight * (_integrand(side, middle - step, start) + _integrand(side, middle + step, start))
    return total * half


@noinline
def _start(side: _Side) -> tuple[float, float, float, float]:
    """Return the logarithms of the shares less their means, the spread and the shift, as far as the kind needs them."""
    p, q, u, v, kind = side.p, side.q, side.u, side.v, side.kind
    if kind == _VANISHING_TWICE:
        return _log(u, v) + digamma_rise(p + 1.0, q), 0.0, _spread_less_square(p, q), _shift(p, q)
    growing, shift = _growing(side)
    if kind == _GROWING_TWICE:
        return 0.0, growing, _spread_less_square(q, p), shift
    vanishing = 0.0 if kind in (_GROWING, _NOTHING) else _log(u, v) + digamma_rise(p, q)
    return vanishing, growing, trigamma(p + q) if kind == _BOTH else 0.0, 0.0


@noinline
def _integral(side: _Side) -> float:
    """Integrate up to where the integrand is negligible, or the series of the rest is short."""
    p, q, u, v = side.p, side.q, side.u, side.v
    short = _MAX_RATIO * min(1.0, (p + 1.0) / (p + q))
    up_to = math.log(u / v) - math.log(short / (1.0 - short))
    rises = side.kind == _NOTHING and p * v < q * u  # hardly, for small q: what is negligible is not found
    end = math.inf if rises else _end(side)
    is_cut = end > up_to
    end = min(end, up_to)
    panels = 1 + int(end / _MAX_PANEL)
    half, total, start = 0.5 * end / panels, 0.0, _start(side)
    for k in range(panels):
        total += _panel(side, (2 * k + 1) * half, half, start)
    if is_cut:
        fall, rise = _logs(side, end)
        rest = _Side(p, q, short, 1.0 - short, side.kind)
        total += math.exp(q * rise - p * fall) * _series(rest)
    return total


@noinline
def _along(side: _Side) -> float:
    return _series(side) if _is_short(side) else _integral(side)


@noinline
def _is_left(a: float, b: float, x: float, y: float) -> bool:
    """Return whether the integral from 0 to x is of one sign, or its series is short and so."""
    left = _Side(a, b, x, y, _VANISHING)
    if x == 0.0 or y == 0.0:
        return x == 0.0
    return (_is_short(left) and _first_distance(left) <= 0.0) or _log(x, y) + digamma_rise(a, b) <= 0.0


@noinline
def _by(a: float, b: float, x: float, y: float, order: int) -> float:
    """Return a derivative by `a`, of order 1 or 2, or that by `a` and `b` (0), divided by the power of x and y."""
    if not (a > 0.0 and b > 0.0 and x >= 0.0 and y >= 0.0):
        return math.nan
    if max(a, b) == math.inf:
        return 0.0
    if _is_left(a, b, x, y):
        return _along(
            _Side(a, b, x, y, _BOTH if order == 0 else _VANISHING if order == 1 else _VANISHING_TWICE)
        )
    return -_along(_Side(b, a, y, x, _BOTH if order == 0 else _GROWING if order == 1 else _GROWING_TWICE))


@noinline
def ibeta_a(a: float, b: float, x: float) -> float:
    """Return the derivative of I(a, b, x) by `a`, divided by ``x**a * (1-x)**b / beta(a, b)``: it is negative."""
    return _by(a, b, x, 1.0 - x, 1)


@noinline
def ibeta_b(a: float, b: float, x: float) -> float:
    """Return the derivative of I(a, b, x) by `b`, divided likewise: it is positive."""
    return -_by(b, a, 1.0 - x, x, 1)


@noinline
def ibeta_aa(a: float, b: float, x: float) -> float:
    """Return the second derivative by `a`, divided likewise."""
    return _by(a, b, x, 1.0 - x, 2)


@noinline
def ibeta_ab(a: float, b: float, x: float) -> float:
    """Return the derivative by `a` and `b`, divided likewise."""
    return _by(a, b, x, 1.0 - x, 0)


@noinline
def ibeta_bb(a: float, b: float, x: float) -> float:
    """Return the second derivative by `b`, divided likewise."""
    return -_by(b, a, 1.0 - x, x, 2)


@noinline
def _falls(side: _Side) -> bool:
    """Return whether the integrand falls along the integral, or hardly rises."""
    return side.p * side.v >= side.q * side.u or side.q < 1.0 or _is_short(side)


@noinline
def ibeta_left(a: float, b: float, x: float) -> float:
    """Return ``x**a * (1-x)**b / beta(a, b)`` divided by I(a, b, x)."""
    y = 1.0 - x
    if not (a > 0.0 and b > 0.0 and x > 0.0 and y > 0.0) or max(a, b) == math.inf:
        return (a if x == 0.0 else 0.0) if a >= 0.0 and b >= 0.0 and x >= 0.0 and y >= 0.0 else math.nan
    left = _Side(a, b, x, y, _NOTHING)
    if _falls(left):
        return 1.0 / _along(left)
    factor = ibeta_fac(a, b, x)
    return factor / (1.0 - factor * _along(_Side(b, a, y, x, _NOTHING)))


@noinline
def _log_share(a: float, b: float, x: float, y: float) -> float:
    """Return the logarithm of the share of x."""
    left, right, share = _Side(a, b, x, y, _NOTHING), _Side(b, a, y, x, _NOTHING), 0.0
    log_factor = ibeta_log_fac(a, b, x, y)
    if _falls(left):
        share = log_factor + math.log(_along(left))
        if share < LOG_NEARLY_ALL:
            return share
    return math.log1p(-math.exp(log_factor) * _along(right)) if _falls(right) else share


@noinline
def _log_share_within(a: float, b: float, x: float, y: float) -> float:
    """Return the logarithm of I(a, b, x) where ``x + y == 1``; nan beside the domain."""
    if not (a >= 0.0 and b >= 0.0 and x >= 0.0 and y >= 0.0) or max(a, b) == math.inf or min(a, b) == 0.0:
        return math.nan
    if x == 0.0 or y == 0.0:
        return -math.inf if x == 0.0 else 0.0
    return _log_share(a, b, x, y)


@noinline
def log_betainc(a: float, b: float, x: float) -> float:
    """Return the logarithm of I(a, b, x)."""
    return _log_share_within(a, b, x, 1.0 - x)


@noinline
def log_betaincc(a: float, b: float, x: float) -> float:
    """Return the logarithm of ``1 - I(a, b, x)``."""
    return _log_share_within(b, a, 1.0 - x, x)


@noinline
def half_of_student(v: float, share: float, rest: float) -> float:
    """Return I(v/2, 1/2, share) where ``share + rest == 1``, divided by the power of the two."""
    a, near = 0.5 * v, _Side(0.5, 0.5 * v, rest, share, _NOTHING)
    if _is_short(near):
        factor = math.exp(ibeta_log_fac(a, 0.5, share, rest))
        other = factor * _series(near)
        if other < NEARLY_ALL:
            return (1.0 - other) / factor
    return _along(_Side(a, 0.5, share, rest, _NOTHING))
