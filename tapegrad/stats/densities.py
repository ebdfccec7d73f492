"""The continuous distributions, in their standard forms."""

import math
from typing import Any

from tapegrad.stats.continuous import Continuous
from tapegrad.stats.functions import (
    absolute,
    arctan2,
    betainc,
    betaincc,
    betaln,
    cosh,
    erf,
    exp,
    expit,
    expm1,
    gammainc,
    gammaincc,
    gammaln,
    half_step,
    log,
    log1mexp,
    log1mexp_of_exp,
    log1p,
    log_betainc,
    log_betaincc,
    log_expit,
    log_gammainc,
    log_gammaincc,
    log_ndtr,
    log_stdtr,
    logit,
    masked_multiply,
    ndtr,
    ndtri,
    normal_exponent,
    power,
    sqrt,
    square,
    stdtr,
    tan,
    where,
    xlog1py,
    xlogy,
)
from tapegrad.stats.parameters import positive, real

_LOG_2, _LOG_PI = math.log(2.0), math.log(math.pi)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF = math.sqrt(0.5)
_FROM_0 = (0.0, math.inf)
_FAR = 1e15  # to which 1 adds nothing

# --- on the whole line -------------------------------------------------------------------------------------------

norm = Continuous(
    name="norm",
    log_density=lambda z: normal_exponent(z, 0.0, 1.0),
    exponent=normal_exponent,
    cumulative=ndtr,
    survival=lambda z: ndtr(-z),
    log_cumulative=log_ndtr,
    log_survival=lambda z: log_ndtr(-z),
    quantile=ndtri,
)


def _log_density_of_t(z: Any, df: Any) -> Any:
    """Compute the density by one function for the step from ``gammaln(df / 2)`` to that of ``df + 1``: it is small."""
    return half_step(0.5 * df) - _HALF_LOG_2PI - (0.5 * df + 0.5) * log1p(square(z) / df)


t = Continuous(
    name="t",
    shapes={"df": positive},
    log_density=_log_density_of_t,
    cumulative=lambda z, df: stdtr(df, z),
    survival=lambda z, df: stdtr(df, -z),
    log_cumulative=lambda z, df: log_stdtr(df, z),
    log_survival=lambda z, df: log_stdtr(df, -z),
)


def _log_density_of_cauchy(z: Any) -> Any:
    """Far out by the logarithm, for the square can overflow."""
    size = absolute(z)
    return -_LOG_PI - where(size > _FAR, 2.0 * log(size), log1p(square(z)))


def _quantile_of_cauchy(q: Any) -> Any:
    """Compute the quantile by the distance from the nearer end, which can be small, or from the median."""
    at_end = where(q < 0.5, -1.0 / tan(math.pi * q), 1.0 / tan(math.pi * (1.0 - q)))
    from_median = q - 0.5
    return where(absolute(from_median) < 0.25, tan(math.pi * from_median), at_end)


cauchy = Continuous(
    name="cauchy",
    log_density=_log_density_of_cauchy,
    cumulative=lambda z: arctan2(1.0, -z) / math.pi,
    survival=lambda z: arctan2(1.0, z) / math.pi,
    quantile=_quantile_of_cauchy,
)

laplace = Continuous(
    name="laplace",
    log_density=lambda z: -absolute(z) - _LOG_2,
    cumulative=lambda z: where(z < 0, 0.5 * exp(z), 1.0 - 0.5 * exp(-z)),
    survival=lambda z: where(z > 0, 0.5 * exp(-z), 1.0 - 0.5 * exp(z)),
    log_cumulative=lambda z: where(z < 0, z - _LOG_2, log1p(-0.5 * exp(-z))),
    log_survival=lambda z: where(z > 0, -z - _LOG_2, log1p(-0.5 * exp(z))),
    quantile=lambda q: where(q < 0.5, log(2.0 * q), -log(2.0 - 2.0 * q)),
)

logistic = Continuous(
    name="logistic",
    log_density=lambda z: log_expit(z) + log_expit(-z),
    cumulative=expit,
    survival=lambda z: expit(-z),
    log_cumulative=log_expit,
    log_survival=lambda z: log_expit(-z),
    quantile=logit,
)

gumbel_r = Continuous(
    name="gumbel_r",
    log_density=lambda z: -z - exp(-z),
    log_cumulative=lambda z: -exp(-z),
    survival=lambda z: -expm1(-exp(-z)),
    log_survival=lambda z: log1mexp_of_exp(-z),
    quantile=lambda q: -log(-log(q)),
)

gumbel_l = Continuous(
    name="gumbel_l",
    log_density=lambda z: z - exp(z),
    cumulative=lambda z: -expm1(-exp(z)),
    log_cumulative=log1mexp_of_exp,
    log_survival=lambda z: -exp(z),
    quantile=lambda q: log(-log1p(-q)),
)

# --- from 0 on ---------------------------------------------------------------------------------------------------

expon = Continuous(
    name="expon",
    support=_FROM_0,
    log_density=lambda z: -z,
    cumulative=lambda z: -expm1(-z),
    log_cumulative=log1mexp,
    log_survival=lambda z: -z,
    quantile=lambda q: -log1p(-q),
)

gamma = Continuous(
    name="gamma",
    shapes={"a": positive},
    support=_FROM_0,
    log_density=lambda z, a: xlogy(a - 1.0, z) - z - gammaln(a),
    cumulative=lambda z, a: gammainc(a, z),
    survival=lambda z, a: gammaincc(a, z),
    log_cumulative=lambda z, a: log_gammainc(a, z),
    log_survival=lambda z, a: log_gammaincc(a, z),
)

invgamma = Continuous(
    name="invgamma",
    shapes={"a": positive},
    support=_FROM_0,
    log_density=lambda z, a: where(z == 0, -math.inf, -(a + 1.0) * log(z) - 1.0 / z - gammaln(a)),
    cumulative=lambda z, a: where(z == 0, 0.0, gammaincc(a, 1.0 / z)),
    survival=lambda z, a: where(z == 0, 1.0, gammainc(a, 1.0 / z)),
    log_cumulative=lambda z, a: where(z == 0, -math.inf, log_gammaincc(a, 1.0 / z)),
    log_survival=lambda z, a: where(z == 0, 0.0, log_gammainc(a, 1.0 / z)),
)

chi2 = Continuous(
    name="chi2",
    shapes={"df": positive},
    support=_FROM_0,
    log_density=lambda z, df: xlogy(0.5 * df - 1.0, 0.5 * z) - 0.5 * z - gammaln(0.5 * df) - _LOG_2,
    cumulative=lambda z, df: gammainc(0.5 * df, 0.5 * z),
    survival=lambda z, df: gammaincc(0.5 * df, 0.5 * z),
    log_cumulative=lambda z, df: log_gammainc(0.5 * df, 0.5 * z),
    log_survival=lambda z, df: log_gammaincc(0.5 * df, 0.5 * z),
)


def _log_density_of_f(z: Any, dfn: Any, dfd: Any) -> Any:
    """Compute the density by ``z * dfn/dfd``, which is a ratio of two chi-squared variables."""
    ratio, n, d = dfn / dfd, 0.5 * dfn, 0.5 * dfd
    return xlogy(n - 1.0, z) + n * log(ratio) - (n + d) * log1p(ratio * z) - betaln(n, d)


def _share_of_f(near: Any, far: Any) -> Any:
    """Make a probability of two functions, of which one is given a small number where the other's is close to 1."""

    def probability(z: Any, dfn: Any, dfd: Any) -> Any:
        ratio, n, d = dfn / dfd * z, 0.5 * dfn, 0.5 * dfd
        return where(ratio < 1, near(n, d, ratio / (1.0 + ratio)), far(d, n, 1.0 / (1.0 + ratio)))

    return probability


f = Continuous(
    name="f",
    shapes={"dfn": positive, "dfd": positive},
    support=_FROM_0,
    log_density=_log_density_of_f,
    cumulative=_share_of_f(betainc, betaincc),
    survival=_share_of_f(betaincc, betainc),
    log_cumulative=_share_of_f(log_betainc, log_betaincc),
    log_survival=_share_of_f(log_betaincc, log_betainc),
)


def _log_density_of_lognorm(z: Any, s: Any) -> Any:
    """At 0, where the logarithm is infinite, the density is 0."""
    y = log(z)
    return where(y == -math.inf, -math.inf, normal_exponent(y, 0.0, s) - y - log(s))


lognorm = Continuous(
    name="lognorm",
    shapes={"s": positive},
    support=_FROM_0,
    log_density=_log_density_of_lognorm,
    cumulative=lambda z, s: ndtr(log(z) / s),
    survival=lambda z, s: ndtr(-log(z) / s),
    log_cumulative=lambda z, s: log_ndtr(log(z) / s),
    log_survival=lambda z, s: log_ndtr(-log(z) / s),
    quantile=lambda q, s: exp(s * ndtri(q)),
)


def _log_density_of_weibull_min(z: Any, c: Any) -> Any:
    """Compute the density by one logarithm, whose slope is cheap; it may be infinite where the shape is 1."""
    y = log(z)
    return masked_multiply(c - 1.0, y) - exp(c * y) + log(c)


def _power_of_weibull_min(z: Any, c: Any) -> Any:
    """Compute the power. A NaN to the power of 0 is 1, and 0 is no shape."""
    return power(z, where(c > 0, c, math.nan))


weibull_min = Continuous(
    name="weibull_min",
    shapes={"c": positive},
    support=_FROM_0,
    log_density=_log_density_of_weibull_min,
    cumulative=lambda z, c: -expm1(-_power_of_weibull_min(z, c)),
    log_cumulative=lambda z, c: log1mexp_of_exp(where(c > 0, c, math.nan) * log(z)),
    log_survival=lambda z, c: -_power_of_weibull_min(z, c),
    quantile=lambda q, c: power(-log1p(-q), 1.0 / c),
)

halfnorm = Continuous(
    name="halfnorm",
    support=_FROM_0,
    log_density=lambda z: normal_exponent(z, 0.0, 1.0) + _LOG_2,
    cumulative=lambda z: erf(_SQRT_HALF * z),
    survival=lambda z: 2.0 * ndtr(-z),
    log_survival=lambda z: where(z < 1, log1p(-erf(_SQRT_HALF * z)), log_ndtr(-z) + _LOG_2),
    quantile=lambda q: -ndtri(0.5 - 0.5 * q),
)

halfcauchy = Continuous(
    name="halfcauchy",
    support=_FROM_0,
    log_density=lambda z: _log_density_of_cauchy(z) + _LOG_2,
    cumulative=lambda z: arctan2(z, 1.0) * (2.0 / math.pi),
    survival=lambda z: arctan2(1.0, z) * (2.0 / math.pi),
    quantile=lambda q: where(
        q < 0.5, tan(0.5 * math.pi * q), 1.0 / tan(0.5 * math.pi * where(q < 0.5, 0.5, 1.0 - q))
    ),
)

rayleigh = Continuous(
    name="rayleigh",
    support=_FROM_0,
    log_density=lambda z: where(z == math.inf, -math.inf, log(z) - 0.5 * square(z)),
    cumulative=lambda z: -expm1(-0.5 * square(z)),
    log_cumulative=lambda z: log1mexp_of_exp(2.0 * log(z) - _LOG_2),
    log_survival=lambda z: -0.5 * square(z),
    quantile=lambda q: sqrt(-2.0 * log1p(-q)),
)

# --- between other ends ------------------------------------------------------------------------------------------

pareto = Continuous(
    name="pareto",
    shapes={"b": positive},
    support=(1.0, math.inf),
    log_density=lambda z, b: log(b) - (b + 1.0) * log(z),
    cumulative=lambda z, b: -expm1(-b * log(z)),
    log_cumulative=lambda z, b: log1mexp(b * log(z)),
    log_survival=lambda z, b: -b * log(z),
    quantile=lambda q, b: exp(-log1p(-q) / b),
)

uniform = Continuous(
    name="uniform",
    support=(0.0, 1.0),
    log_density=lambda z: z - z,
    cumulative=lambda z: z,
    survival=lambda z: 1.0 - z,
    log_survival=lambda z: log1p(-z),
    quantile=lambda q: q,
)

beta = Continuous(
    name="beta",
    shapes={"a": positive, "b": positive},
    support=(0.0, 1.0),
    log_density=lambda z, a, b: xlogy(a - 1.0, z) + xlog1py(b - 1.0, -z) - betaln(a, b),
    cumulative=lambda z, a, b: betainc(a, b, z),
    survival=lambda z, a, b: betaincc(a, b, z),
    log_cumulative=lambda z, a, b: log_betainc(a, b, z),
    log_survival=lambda z, a, b: log_betaincc(a, b, z),
)


def _log_mass(a: Any, b: Any) -> Any:
    """Return the logarithm of the normal distribution's probability between `a` and `b`, on whichever side they are."""
    right = a > 0
    low, high = where(right, -b, a), where(right, -a, b)
    below = log_ndtr(high)
    left = where(below == -math.inf, below, below + log1mexp(below - log_ndtr(low)))
    wide = where(high <= 0, left, log1p(-ndtr(low) - ndtr(-high)))
    width, middle = b - a, 0.5 * (a + b)
    is_narrow = (width > 0) & (
        width * (1 + absolute(middle)) < 1
    )  # the difference of two probabilities cancels
    return where(is_narrow, _log_mass_of_narrow(middle, width), wide)


# Positive nodes of the Gauss-Legendre rule of nine points, their weights, and that of 0.
_NODES = (
    (0.3242534234038089, 0.3123470770400029),
    (0.6133714327005904, 0.2606106964029356),
    (0.8360311073266358, 0.18064816069485737),
    (0.9681602395076261, 0.08127438836157416),
)
_WEIGHT_OF_0 = 0.33023935500125984


def _log_mass_of_narrow(middle: Any, width: Any) -> Any:
    """Return the log of a narrow interval's mass relative to its middle, by quadrature of positive terms."""
    total = _WEIGHT_OF_0
    for node, weight in _NODES:
        step = 0.5 * node * width
        total = total + 2 * weight * exp(-0.5 * step * step) * cosh(middle * step)
    return normal_exponent(middle, 0.0, 1.0) + log(0.5 * width * total)


def _log_share_of_mass(part: Any, rest: Any, whole: Any) -> Any:
    """Return the logarithm of a part's share in the whole, by that of the rest if it is less than a half."""
    lacking = rest - whole
    return where((lacking < -_LOG_2) & (lacking > -math.inf), log1mexp(-lacking), part - whole)


# The first coefficients of the series of ``log1p(u) / u``
_LOG1P_SERIES = tuple((-1.0) ** k / (k + 1) for k in range(10))
_MAX_SERIES_ARGUMENT = 0.01


def _reduced(z: Any, c: Any) -> Any:
    """Return ``-log1p(-c z) / c``, the variable of the Gumbel distribution; near ``c == 0`` by its series."""
    u = -masked_multiply(c, z)
    is_small = absolute(u) < _MAX_SERIES_ARGUMENT
    near, small = 0.0, where(is_small, u, 0.0)
    for coefficient in reversed(_LOG1P_SERIES):
        near = near * small + coefficient
    return where(is_small, z * near, -log1p(where(is_small, 1.0, u)) / where(c == 0, 1.0, c))


def _quantile_of_genpareto(q: Any, c: Any) -> Any:
    reduced = -log1p(-q)
    return where(c == 0, reduced, expm1(masked_multiply(c, reduced)) / where(c == 0, 1.0, c))


genpareto = Continuous(
    name="genpareto",
    shapes={"c": real},
    support=(0.0, lambda c: where(c < 0, -1.0 / where(c < 0, c, 1.0), math.inf)),
    log_density=lambda z, c: masked_multiply(-1.0 - c, _reduced(z, -c)),
    cumulative=lambda z, c: -expm1(-_reduced(z, -c)),
    survival=lambda z, c: exp(-_reduced(z, -c)),
    log_cumulative=lambda z, c: log1mexp(_reduced(z, -c)),
    log_survival=lambda z, c: -_reduced(z, -c),
    quantile=_quantile_of_genpareto,
)


def _log_density_of_genextreme(z: Any, c: Any) -> Any:
    """At the end of the support, where both logarithms are infinite, by the power of the distance: 0 for ``c == 1``."""
    reduced, left = _reduced(z, c), log1p(-masked_multiply(c, z))
    at_end = masked_multiply(c - 1.0, math.inf)
    return where(left == -math.inf, at_end, -reduced - left - exp(-reduced))


def _quantile_of_genextreme(q: Any, c: Any) -> Any:
    reduced = -log(-log(q))
    return where(c == 0, reduced, -expm1(-masked_multiply(c, reduced)) / where(c == 0, 1.0, c))


genextreme = Continuous(
    name="genextreme",
    shapes={"c": real},
    support=(
        lambda c: where(c < 0, 1.0 / where(c < 0, c, 1.0), -math.inf),
        lambda c: where(c > 0, 1.0 / where(c > 0, c, 1.0), math.inf),
    ),
    log_density=_log_density_of_genextreme,
    log_cumulative=lambda z, c: -exp(-_reduced(z, c)),
    survival=lambda z, c: -expm1(-exp(-_reduced(z, c))),
    log_survival=lambda z, c: log1mexp_of_exp(-_reduced(z, c)),
    quantile=_quantile_of_genextreme,
)

truncnorm = Continuous(
    name="truncnorm",
    shapes={"a": real, "b": real},
    relation=lambda a, b: a < b,
    support=(lambda a, b: a, lambda a, b: b),
    log_density=lambda z, a, b: normal_exponent(z, 0.0, 1.0) - _log_mass(a, b),
    log_cumulative=lambda z, a, b: _log_share_of_mass(_log_mass(a, z), _log_mass(z, b), _log_mass(a, b)),
    log_survival=lambda z, a, b: _log_share_of_mass(_log_mass(z, b), _log_mass(a, z), _log_mass(a, b)),
)
