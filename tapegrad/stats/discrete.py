"""Discrete distributions: what one is made of, and the methods that all of them have."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.stats.distribution import Distribution, Function
from tapegrad.stats.functions import exp, floor, where
from tapegrad.stats.parameters import is_number, less, parse, usable, valid_or_nan, validity, variable


class DiscreteMethods:
    """Methods of a family of discrete distributions, which say how they are computed."""

    _density: Callable[..., Tensor]
    _probability: Callable[..., Tensor]

    def logpmf(self, k: Any, *args: Any, **kwds: Any) -> Tensor:
        """Compute the logarithm of the probability.

        Parameters
        ----------
        k : Tensor or array_like
            Whole numbers; constants.
        *args, **kwds
            The shape parameters and `loc`: Tensors or array_like, in SciPy's order or by name. They broadcast with `k`.

        Returns
        -------
        Tensor
            It is -inf outside of the support, and where `k` is no whole number.

        Examples
        --------
        >>> import tapegrad as tg
        >>> mu = tg.tensor(2.0)
        >>> tg.stats.poisson.logpmf([0, 1, 2], mu)
        Tensor([-2.        , -1.30685282, -1.30685282])
        """
        return self._density("logpmf", k, args, kwds)

    def pmf(self, k: Any, *args: Any, **kwds: Any) -> Tensor:
        """Compute the probability.

        Parameters
        ----------
        k : Tensor or array_like
            Whole numbers; constants.
        *args, **kwds
            The shape parameters and `loc`, as for `logpmf`.

        Returns
        -------
        Tensor
            It is 0 outside of the support, and where `k` is no whole number.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.binom.pmf([0, 1, 2], 2, 0.5)
        Tensor([0.25, 0.5 , 0.25])
        """
        return self._density("pmf", k, args, kwds)

    @like(
        pmf,
        ("Whole numbers;", "Numbers;"),
        summary="Compute the probability of values up to `k`.",
        returns="Tensor\n    It is 0 below the support, and 1 from its end on.",
        examples=">>> tg.stats.geom.cdf([1, 2], 0.5)\nTensor([0.5 , 0.75])",
    )
    def cdf(self, k: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._probability("cdf", k, args, kwds, (0.0, 1.0))

    @like(
        cdf,
        ("up to `k`.", "above `k`, accurate where it is small."),
        ("0 below the support, and 1 from", "1 below the support, and 0 from"),
        examples=">>> tg.stats.geom.sf([1, 2], 0.5)\nTensor([0.5 , 0.25])",
    )
    def sf(self, k: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._probability("sf", k, args, kwds, (1.0, 0.0))

    @like(
        cdf,
        ("the probability of values up to `k`.", "the logarithm of `cdf`."),
        ("0 below the support, and 1 from", "-inf below the support, and 0 from"),
        examples=">>> tg.stats.bernoulli.logcdf([0, 1], 0.5)\nTensor([-0.69314718,  0.        ])",
    )
    def logcdf(self, k: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._probability("logcdf", k, args, kwds, (-math.inf, 0.0))

    @like(
        cdf,
        ("the probability of values up to `k`.", "the logarithm of `sf`."),
        ("0 below the support, and 1 from", "0 below the support, and -inf from"),
        examples=">>> tg.stats.geom.logsf([1, 1000], 0.5)\nTensor([  -0.69314718, -693.14718056])",
    )
    def logsf(self, k: Any, *args: Any, **kwds: Any) -> Tensor:
        return self._probability("logsf", k, args, kwds, (0.0, -math.inf))


@dataclass(frozen=True, kw_only=True)
class Discrete(Distribution, DiscreteMethods):
    """A family of distributions of whole numbers, described with location 0.

    Functions take the whole number, a constant, and the shape parameters. They need not care for what is outside of the
    support.

    Attributes
    ----------
    log_probability
        What `logpmf` computes inside of the support.
    first, last
        The ends of the support, the last one a number or a function of the shape parameters.
    """

    log_probability: Function
    first: int = 0
    last: Any = math.inf

    def _density(self, method: str, x: Any, args: tuple[Any, ...], kwds: dict[str, Any]) -> Tensor:
        if method == "pmf":
            probability: Tensor = exp(self.logpmf(x, *args, **kwds))
            return probability
        z, shapes, _ = self._standard(x, args, kwds, "logpmf")
        value = where(z > floor(z), -math.inf, self.log_probability(z, *shapes))
        return self._inside(z, shapes, value, -math.inf, -math.inf)

    # --- in standard form ------------------------------------------------------------------------------------------

    def _standard(
        self, x: Any, args: tuple[Any, ...], kwds: dict[str, Any], method: str
    ) -> tuple[Tensor, list[Any], Any]:
        """Return the standard variable, nan where a parameter is outside of its domain, the shape parameters, and 1."""
        name = self._full(method)
        *shapes, loc = parse(name, (*self.shapes, "loc"), args, kwds)
        z = less(variable(x, name), loc)
        valid = validity(self.shapes, shapes)
        return valid_or_nan(z.detach(), *valid), usable(shapes, valid), 1

    def _step(self, z: Tensor) -> Tensor:
        whole: Tensor = floor(z)
        return whole

    def _inside(self, z: Tensor, shapes: list[Any], value: Any, below: float, above: float) -> Tensor:
        last = self.last(*shapes) if callable(self.last) else self.last
        if not (is_number(last) and last == math.inf):
            reached = z > last if below == above else z >= last
            value = where(reached, above, value)
        result: Tensor = where(z < self.first, below, value)
        return result
