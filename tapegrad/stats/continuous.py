"""Continuous distributions: what one is made of, and the methods that all of them have."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.stats.distribution import Distribution, Function
from tapegrad.stats.functions import exp, log, where
from tapegrad.stats.parameters import (
    is_number,
    less,
    parse,
    positive,
    usable,
    valid_or_nan,
    validity,
    variable,
)

_INFINITE = (-math.inf, math.inf)


class ContinuousMethods:
    """Methods of a family of continuous distributions, which say how they are computed."""

    _density: Callable[..., Tensor]
    _probability: Callable[..., Tensor]
    _quantile: Callable[..., Tensor]

    def logpdf(self, x: Any, *args: Any, **kwds: Any) -> Tensor:
        """Compute the logarithm of the density.

        Parameters
        ----------
        x : Tensor or array_like
            Where to compute it.
        *args, **kwds
            The shape parameters, `loc` and `scale`: Tensors or array_like, in SciPy's order or by name. They broadcast
            with `x`.

        Returns
        -------
        Tensor
            It is -inf outside of the support, with derivative 0. On an end of the support, where it can be infinite, so
            can be its derivatives.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.norm.logpdf([0.0, 1.0], loc=1.0)
        Tensor([-1.41893853, -0.91893853])
        """
        return self._density("logpdf", x, args, kwds)

    def pdf(self, x: Any, *args: Any, **kwds: Any) -> Tensor:
        """Compute the density.

        Parameters
        ----------
        x : Tensor or array_like
            Where to compute it.
        *args, **kwds
            The shape parameters, `loc` and `scale`, as for `logpdf`.

        Returns
        -------
        Tensor
            It is 0 outside of the support.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.expon.pdf([-1.0, 0.0, 1.0])
        Tensor([0.        , 1.        , 0.36787944])
        """
        return self._density("pdf", x, args, kwds)

    @like(
        pdf,
        ("outside of the support.", "below the support and 1 above it."),
        summary="Compute the probability of values up to `x`.",
        examples=">>> tg.stats.norm.cdf([0.0, 1.0])\nTensor([0.5       , 0.84134475])",
    )
    def cdf(self, x: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._probability("cdf", x, args, kwds, (0.0, 1.0))

    @like(
        cdf,
        ("up to `x`.", "above `x`, accurate where it is small."),
        ("0 below the support and 1 above", "1 below the support and 0 above"),
        examples=">>> tg.stats.norm.sf([0.0, 10.0])\nTensor([5.00000000e-01, 7.61985302e-24])",
    )
    def sf(self, x: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._probability("sf", x, args, kwds, (1.0, 0.0))

    @like(
        cdf,
        ("the probability of values up to `x`.", "the logarithm of `cdf`."),
        ("0 below the support and 1 above", "-inf below the support and 0 above"),
        examples=">>> tg.stats.norm.logcdf([-40.0, 0.0])\nTensor([-8.04608442e+02, -6.93147181e-01])",
    )
    def logcdf(self, x: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._probability("logcdf", x, args, kwds, (-math.inf, 0.0))

    @like(
        cdf,
        ("the probability of values up to `x`.", "the logarithm of `sf`."),
        ("0 below the support and 1 above", "0 below the support and -inf above"),
        examples=">>> tg.stats.weibull_min.logsf(10.0, 2.0)\nTensor(-100.)",
    )
    def logsf(self, x: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._probability("logsf", x, args, kwds, (0.0, -math.inf))

    @like(
        cdf,
        ("the probability of values up to `x`.", "quantiles: the inverse of `cdf`."),
        (
            "x : Tensor or array_like\n    Where to compute it.",
            "q : Tensor or array_like\n    Probabilities.",
        ),
        ("0 below the support and 1 above it", "nan where `q` is not between 0 and 1"),
        raises="NotImplementedError\n    If there is no closed form.",
        examples=">>> tg.stats.logistic.ppf([0.25, 0.5])\nTensor([-1.09861229,  0.        ])",
    )
    def ppf(self, q: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._quantile("ppf", q, args, kwds)


@dataclass(frozen=True, kw_only=True)
class Continuous(Distribution, ContinuousMethods):
    """A family of continuous distributions, described in its standard form: location 0 and scale 1.

    Functions take the standard variable and the shape parameters. They need not care for what is outside of the
    support. Of a probability and its logarithm one may be left out; without both there is no closed form.

    Attributes
    ----------
    log_density, quantile
        What the methods compute beside probabilities.
    support
        Its ends: numbers, or functions of the shape parameters.
    relation
        A condition that the shape parameters fulfil together.
    exponent
        Where it can be had in one step, the logarithm of the density as a function of variable, location and scale,
        but for the logarithm of the scale; it is nan by itself where the scale is not positive.
    """

    log_density: Function
    quantile: Function | None = None
    support: tuple[Any, Any] = _INFINITE
    relation: Function | None = None
    exponent: Function | None = None

    def _density(self, method: str, x: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Tensor:
        if method == "pdf":
            density: Tensor = exp(self.logpdf(x, *args, **kwds))
            return density
        if self.exponent is not None:
            loc, scale = self._parameters("logpdf", args, kwds)
            return less(self.exponent(variable(x, self._full("logpdf")), loc, scale), log(scale))
        z, shapes, scale = self._standard(x, args, kwds, "logpdf")
        value = less(self.log_density(z, *shapes), log(scale))
        return self._inside(z, shapes, value, -math.inf, -math.inf)

    def _quantile(self, method: str, q: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Tensor:
        if self.quantile is None:
            raise NotImplementedError(f"{self._full('ppf')}: there is no closed form of its quantiles")
        share, parameters = variable(q, self._full("ppf")), self._parameters("ppf", args, kwds)
        *shapes, loc, scale = self._checked(share, parameters)
        z = where((share < 0) | (share > 1), math.nan, self.quantile(share, *shapes))
        return _scaled(z, loc, scale)

    # --- in standard form ------------------------------------------------------------------------------------------

    def _parameters(self, method: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> list[Any]:
        return parse(self._full(method), (*self.shapes, "loc", "scale"), args, kwds)

    def _checked(self, x: Tensor, parameters: list[Any]) -> list[Any]:
        """Return the parameters with a scale that is nan where one of them is outside of its domain, for `x`."""
        *shapes, loc, scale = parameters
        valid = validity(self.shapes, shapes)
        shapes = usable(shapes, valid)
        if self.relation is not None:
            valid.append(self.relation(*shapes))
        return [*shapes, loc, valid_or_nan(scale, *valid, positive(scale), beside=[x, *parameters])]

    def _standard(
        self, x: Any, args: tuple[Any, ...], kwds: dict[str, Any], method: str
    ) -> tuple[Tensor, list[Any], Any]:
        parameters = self._parameters(method, args, kwds)
        own = variable(x, self._full(method))
        *shapes, loc, scale = self._checked(own, parameters)
        moved = less(own, loc)
        return (moved if is_number(scale) and scale == 1 else moved / scale), shapes, scale

    def _inside(self, z: Tensor, shapes: list[Any], value: Any, below: float, above: float) -> Tensor:
        low, high = (end(*shapes) if callable(end) else end for end in self.support)
        if not (is_number(high) and high == math.inf):
            value = where(z > high, above, value)
        result: Tensor = value if is_number(low) and low == -math.inf else where(z < low, below, value)
        return result


def _scaled(z: Tensor, loc: Any, scale: Any) -> Tensor:
    scaled = z if is_number(scale) and scale == 1 else z * scale
    return scaled if is_number(loc) and loc == 0 else scaled + loc
