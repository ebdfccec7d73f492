"""The skew normal distribution, whose probabilities are Owen's function, or integrals of a tail.

``cdf(z, a)`` is ``ndtr(z) - 2 T(z, a)`` (Azzalini 1985), a difference of near numbers where ``a`` is positive and ``z``
is not far to the right. There Owen's function of the other arguments has positive terms (Owen 1956), and below 0 the
density is integrated: its logarithm is concave, so its slope and a bound of its curvature say how far.
"""

import math
from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.recording.shape import expand_dims
from tapegrad.stats.continuous import Continuous
from tapegrad.stats.functions import (
    erf,
    exp,
    log,
    log_ndtr,
    log_share,
    maximum,
    minimum,
    ndtr,
    normal_exponent,
    owens_t,
    sqrt,
    square,
    where,
)
from tapegrad.stats.parameters import is_number, real

_LOG_2, _SQRT_HALF = math.log(2.0), math.sqrt(0.5)
_NODES, _WEIGHTS = (each / 2 for each in np.polynomial.legendre.leggauss(40))
_NEGLIGIBLE = 45.0  # the logarithm of what is left out
_CURVATURE = 2.0 / math.pi  # the least of the logarithm of `ndtr` below 0, which is that at 0
_FAR, _VERY_FAR = (
    -2.0,
    -1e4,
)  # where ``ndtr`` is close to 1, and where its logarithmic slope is that of a parabola


def _log_density(z: Any, a: Any) -> Any:
    return normal_exponent(z, 0.0, 1.0) + log_ndtr(a * z) + _LOG_2


def _column(value: Any) -> Any:
    return value if is_number(value) else expand_dims(value, -1)


def _log_tail(z: Any, a: Any) -> Any:
    """Return the logarithm of the probability below `z`, by the integral from where the density is negligible."""
    y = a * z
    ratio = where(y < _VERY_FAR, -y, exp(normal_exponent(y, 0.0, 1.0) - log_ndtr(y)))
    slope, curvature = a * ratio - z, 1.0 + _CURVATURE * square(maximum(a, 0.0))
    length = (2.0 * _NEGLIGIBLE / (sqrt(square(slope) + 2.0 * _NEGLIGIBLE * curvature) + slope)).detach()
    shares, weights = (_NODES + 0.5).astype(z.dtype), _WEIGHTS.astype(z.dtype)
    along = expand_dims(z, -1) - expand_dims(length, -1) * shares
    top = _log_density(z, a)
    heights = exp(minimum(_log_density(along, _column(a)) - expand_dims(top, -1), 0.0))
    return where(z == -math.inf, -math.inf, top + log(length * sum(weights * heights, -1)))


def _near(z: Any, a: Any) -> Any:
    """Return the probability by Owen's function, without a difference of near numbers from 0 on, or for ``a < 0``."""
    steep = where(a > 1, a, 1.0)
    of_steep = 2.0 * owens_t(steep * z, 1.0 / steep) + ndtr(steep * z) * erf(_SQRT_HALF * z)
    return where(a > 1, of_steep, ndtr(z) - 2.0 * owens_t(z, a))


def _is_tail(z: Any, a: Any) -> Any:
    return (z < 0) & ((a > 0) | (z < _FAR))


def _cumulative(z: Any, a: Any) -> Any:
    is_tail = _is_tail(z, a)
    return where(is_tail, exp(_log_tail(where(is_tail, z, _FAR), a)), _near(where(is_tail, 0.0, z), a))


def _log_cumulative(z: Any, a: Any) -> Any:
    is_tail = _is_tail(z, a)
    inner = log_share(_near(where(is_tail, 0.0, z), a), _cumulative(-z, -a))
    return where(is_tail, _log_tail(where(is_tail, z, _FAR), a), inner)


skewnorm = Continuous(
    name="skewnorm",
    shapes={"a": real},
    log_density=_log_density,
    cumulative=_cumulative,
    survival=lambda z, a: _cumulative(-z, -a),
    log_cumulative=_log_cumulative,
    log_survival=lambda z, a: _log_cumulative(-z, -a),
)
