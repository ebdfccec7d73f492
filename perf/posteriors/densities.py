"""Log densities, added up over all elements, up to constants."""

from typing import Any

import numpy as np


def _added(xp: Any, term: Any, count: int) -> Any:
    """Return the sum of a term over `count` elements, of which it may be one number for all."""
    return xp.sum(term) if np.shape(term) else count * term


def normal(xp: Any, x: Any, mean: Any = 0.0, sd: Any = 1.0) -> Any:
    """Return the log density of normal distributions."""
    return -0.5 * xp.sum(((x - mean) / sd) ** 2) - _added(xp, xp.log(sd), np.size(x))


def log_normal(xp: Any, log_x: Any, log_median: Any, sd: Any) -> Any:
    """Return the log density of lognormal distributions, by the logarithms of their variables."""
    return normal(xp, log_x, log_median, sd) - xp.sum(log_x)


def cauchy(xp: Any, x: Any, scale: float) -> Any:
    """Return the log density of Cauchy distributions about 0."""
    return -xp.sum(xp.log1p((x / scale) ** 2))


def student(xp: Any, x: Any, degrees: float, mean: float, scale: float) -> Any:
    """Return the log density of a Student distribution."""
    return -0.5 * (degrees + 1) * xp.log1p(((x - mean) / scale) ** 2 / degrees)


def gamma(xp: Any, x: Any, shape: float, rate: float) -> Any:
    """Return the log density of a gamma distribution."""
    return (shape - 1) * xp.log(x) - rate * x
