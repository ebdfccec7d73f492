"""The von Mises distribution, whose probabilities are integrals.

They are computed by Gauss and Legendre's rule, from the half circle's end or from where the density has become
negligible. So small probabilities keep their digits, for every concentration, and derivatives by all parameters follow.
"""

import math
from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions.exponentials import logsumexp
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.recording.shape import expand_dims
from tapegrad.stats.continuous import Continuous
from tapegrad.stats.functions import (
    arcsin,
    cosm1,
    exp,
    i0e,
    log,
    log1p,
    maximum,
    minimum,
    rint,
    sin,
    sqrt,
    square,
    where,
)
from tapegrad.stats.parameters import is_number, not_negative

_LOG_2PI, _2PI = math.log(2.0 * math.pi), 2.0 * math.pi
_NODES, _WEIGHTS = (each / 2 for each in np.polynomial.legendre.leggauss(40))
_NEGLIGIBLE = 45.0  # the logarithm of what is left out
_JUST_ABOVE_0 = 1e-37  # also as a float32


def _scaled_i0(kappa: Any) -> Any:
    """``exp(-kappa) * i0(kappa)``, at 0 with the derivative towards positive numbers: `i0e` has a kink there."""
    return i0e(kappa + _JUST_ABOVE_0)


def _log_density(z: Any, kappa: Any) -> Any:
    return kappa * cosm1(z) - _LOG_2PI - log(_scaled_i0(kappa))


def _nodes(z: Any, kappa: Any) -> tuple[Any, Any, Any]:
    """Return nodes of the integral up to `z`, which is between -pi and 0: exponents, weights, and its length."""
    far = minimum(square(sin(0.5 * z)) + 0.5 * _NEGLIGIBLE / maximum(kappa, 1.0), 1.0)
    low = (-2.0 * arcsin(sqrt(far))).detach()
    shares, weights = (_NODES + 0.5).astype(low.dtype), _WEIGHTS.astype(low.dtype)
    length = z - low
    along = expand_dims(z, -1) - expand_dims(length, -1) * shares
    return _column(kappa) * cosm1(along), weights, length


def _column(value: Any) -> Any:
    return value if is_number(value) else expand_dims(value, -1)


def _left(z: Any, kappa: Any) -> Any:
    """Return the probability from -pi to `z`, which is between -pi and 0."""
    exponents, weights, length = _nodes(z, kappa)
    return sum(weights * exp(exponents), -1) * length / (_2PI * _scaled_i0(kappa))


def _log_left(z: Any, kappa: Any) -> Any:
    exponents, weights, length = _nodes(z, kappa)
    return logsumexp(exponents + np.log(weights), -1) + log(length) - _LOG_2PI - log(_scaled_i0(kappa))


def _turned(z: Any) -> tuple[Any, Any]:
    """Return an angle between -pi and pi, and the turns that lead to it: each adds 1 to the probability."""
    z = where(z == math.inf, math.pi, where(z == -math.inf, -math.pi, z))
    turns = rint(z / _2PI)
    return z - _2PI * turns, turns


def _to_the_left(angle: Any) -> Any:
    """Return an angle, or its mirror image; at 0 with a derivative, which the absolute value has not."""
    return where(angle < 0, angle, -angle)


def _cumulative(z: Any, kappa: Any) -> Any:
    angle, turns = _turned(z)
    left = _left(_to_the_left(angle), kappa)
    return where(angle < 0, left, 1.0 - left) + turns


def _log_cumulative(z: Any, kappa: Any) -> Any:
    """Beyond half a turn that of a number which is no probability, as in SciPy."""
    angle, turns = _turned(z)
    log_left = _log_left(_to_the_left(angle), kappa)
    near = where(angle < 0, log_left, log1p(-exp(log_left)))
    return where(turns == 0, near, log(exp(near) + turns))


vonmises = Continuous(
    name="vonmises",
    shapes={"kappa": not_negative},
    log_density=_log_density,
    cumulative=_cumulative,
    survival=lambda z, kappa: _cumulative(-z, kappa),
    log_cumulative=_log_cumulative,
    log_survival=lambda z, kappa: _log_cumulative(-z, kappa),
)
