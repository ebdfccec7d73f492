"""Methods that stand for those of SciPy's classes in copied code, where these integrate, find roots or call C."""

import functools
import math
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.special import kve
from tapegrad.stats.circular import vonmises
from tapegrad.stats.distribution import Function
from tapegrad.stats.functions import log_share
from tapegrad.stats.generic.elements import constant
from tapegrad.stats.generic.substitutes import has_tensors, refuse, where
from tapegrad.stats.parameters import is_number

METHODS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
_integral = refuse("it integrates the density numerically, or finds a root")
NUMERICAL = dict.fromkeys(("_cdfvec", "_ppfvec", "vecentropy", "generic_moment"), _integral)
_MAX_TERMS = 1e6  # of a sum of probabilities


@functools.cache
def own_methods() -> dict[type, dict[str, Any]]:
    """Return methods by the class of SciPy whose own they replace."""
    from scipy import stats

    by_difference = refuse("it takes differences of the distribution function")
    public: dict[str, Any] = {name: _public(name) for name in METHODS}
    return {
        stats.rv_continuous.__mro__[-2]: {
            "__call__": _freeze,
            "freeze": _freeze,
            "_support_mask": _support_mask,
        },
        stats.rv_continuous: {
            **public,
            "_pdf": lambda self, *args: by_difference(),
            "_logcdf": lambda self, *args: log_share(self._cdf(*args), self._sf(*args)),
            "_logsf": lambda self, *args: log_share(self._sf(*args), self._cdf(*args)),
        },
        stats.rv_discrete: {**public, "_cdf": _sum_of_probabilities},
        type(stats.vonmises): {"_cdf": lambda self, x, kappa: vonmises.cdf(x, kappa)},
        type(stats.kappa4): {"_argcheck": lambda self, h, k: (h == h) & (k == k)},
        type(stats.geninvgauss): {"_logpdf": _log_density_of_geninvgauss},
        type(stats.genhyperbolic): {"_logpdf": _log_density_of_genhyperbolic, "_pdf": _by_logarithm},
        type(stats.ncx2): {"_pdf": _by_logarithm},
        type(stats.hypergeom): {"_pmf": _by_logarithm},
    }


def _public(name: str) -> Function:
    def method(self: Any, *args: Any, **kwds: Any) -> Any:
        return getattr(self._family, name)(*args, **kwds)

    return method


class Parametrised:
    """A distribution with parameters, in copied code."""

    def __init__(self, family: Any, *args: Any, **kwds: Any) -> None:
        self._family, self._args, self._kwds = family, args, kwds

    def __getattr__(self, name: str) -> Function:
        if name not in METHODS:
            raise AttributeError(name)
        return lambda x: getattr(self._family, name)(x, *self._args, **self._kwds)


def _freeze(self: Any, *args: Any, **kwds: Any) -> Parametrised:
    return Parametrised(self._family, *args, **kwds)


def _by_logarithm(self: Any, *args: Any) -> Any:
    return np.exp(self._logpmf(*args) if hasattr(self, "_logpmf") else self._logpdf(*args))


def _support_mask(self: Any, x: Any, *args: Any) -> Any:
    """Return where a number is in the support; infinity is not."""
    low, high = self._get_support(*args)
    from_low = x > low if is_number(low) and low == -math.inf else x >= low
    to_high = x < high if is_number(high) and high == math.inf else x <= high
    return (
        from_low & to_high
        if is_number(low) and is_number(high)
        else from_low & to_high & (np.abs(x) < math.inf)
    )


def _sum_of_probabilities(self: Any, x: Any, *args: Any) -> Any:
    """Add up probabilities from the first to that of each number."""
    low, x = constant(self._get_support(*args)[0]), constant(x)
    if has_tensors(low, x) or np.size(low) > 1 or not np.max(x - low) < _MAX_TERMS:
        raise UnsupportedError(
            "it adds up as many probabilities as the variable says, which must be a constant"
        )
    terms = np.arange(np.min(low), np.max(np.floor(x)) + 1.0)
    numbers, *args = np.broadcast_arrays(np.floor(x), *args)  # type: ignore[assignment]  # NumPy's are arrays
    rows = [np.repeat(value, terms.size) for value in args]
    chances = np.reshape(self._pmf(np.tile(terms, numbers.size), *rows), (numbers.size, terms.size))
    return np.sum(where(terms <= numbers[:, None], chances, 0.0), -1)


def _log_density_of_geninvgauss(self: Any, x: Any, p: Any, b: Any) -> Any:
    return (p - 1.0) * np.log(x) - 0.5 * b * (x + 1.0 / x) - np.log(2.0 * kve(p, b)) + b


def _log_density_of_genhyperbolic(self: Any, x: Any, p: Any, a: Any, b: Any) -> Any:
    root, length = np.sqrt((a - b) * (a + b)), np.hypot(1.0, x)
    constants = (
        p * np.log(root) - 0.5 * np.log(2.0 * np.pi) - (p - 0.5) * np.log(a) - np.log(kve(p, root)) + root
    )
    return constants + (p - 0.5) * np.log(length) + np.log(kve(p - 0.5, a * length)) - a * length + b * x
