"""Distributions of vectors: Dirichlet and multinomial."""

import math
from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions.extremes import max as largest
from tapegrad.frontend.functions.reductions.extremes import min as smallest
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.shape import expand_dims, reshape
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.stats.functions import absolute, exp, floor, gammaln, where, xlogy
from tapegrad.stats.parameters import valid_or_nan, variable


def _are_no_shares(x: Tensor, axis: int) -> Any:
    """Return where numbers are negative or do not sum to 1, up to 1e-9, as in SciPy, and to roundings of float32."""
    near = max(1e-9, 128 * float(np.finfo(x.dtype).eps))
    return (smallest(x, axis) < 0) | (absolute(sum(x, axis) - 1.0) > near)


class _Dirichlet:
    """The Dirichlet distributions, of vectors of shares."""

    def __repr__(self) -> str:
        return "<tapegrad.stats.dirichlet>"

    def logpdf(self, x: Any, alpha: Any) -> Tensor:
        """Compute the logarithm of the density.

        Parameters
        ----------
        x : Tensor or array_like, shape (k, ...) or (k - 1, ...)
            Vectors along the first axis; a last share that is missing is what the others leave of 1.
        alpha : Tensor or array_like, shape (k,)
            Concentrations.

        Returns
        -------
        Tensor
            Without the first axis. It is -inf where shares are negative or do not sum to 1, with derivative 0; nan
            where a concentration is not positive.

        Raises
        ------
        ValueError
            If the shapes do not fit.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.dirichlet.logpdf([0.2, 0.3, 0.5], [1.0, 1.0, 1.0])
        Tensor(0.69314718)
        """
        weights, shares = _shares(variable(x, "dirichlet.logpdf"), variable(alpha, "dirichlet.logpdf"))
        outside = _are_no_shares(shares, 0)
        column = reshape(weights - 1.0, (-1,) + (1,) * (shares.ndim - 1))
        normalizer = sum(gammaln(weights)) - gammaln(sum(weights))
        density = where(outside, -math.inf, sum(xlogy(column, shares), 0) - normalizer)
        return valid_or_nan(density, smallest(weights) > 0)  # type: ignore[no-any-return]  # functions of the frontend take Any

    @like(
        logpdf,
        ("the logarithm of the density", "the density"),
        ("It is -inf where", "It is 0 where"),
        raises="",
        examples=">>> tg.stats.dirichlet.pdf([0.2, 0.3, 0.5], [1.0, 1.0, 1.0])\nTensor(2.)",
    )
    def pdf(self, x: Any, alpha: Any) -> Tensor:
        density: Tensor = exp(self.logpdf(x, alpha))
        return density


def _shares(x: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    """Return the concentrations, and all shares."""
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet: alpha must be one-dimensional, but it has the shape {alpha.shape}")
    (count,) = alpha.shape
    if x.ndim and x.shape[0] == count - 1:
        x = concatenate([x, expand_dims(1.0 - sum(x, 0), 0)])
    if not x.ndim or x.shape[0] != count:
        raise ValueError(
            f"dirichlet: x must have as many entries as alpha along its first axis, or one fewer, but their shapes are"
            f" {x.shape} and {alpha.shape}"
        )
    return alpha, x


class _Multinomial:
    """The multinomial distributions, of vectors of counts."""

    def __repr__(self) -> str:
        return "<tapegrad.stats.multinomial>"

    def logpmf(self, x: Any, n: Any, p: Any) -> Tensor:
        """Compute the logarithm of the probability.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., k)
            Vectors of whole numbers along the last axis; constants.
        n : int or array_like of int
            Their sums; constants.
        p : Tensor or array_like, shape (..., k)
            Probabilities along the last axis, which sum to 1.

        Returns
        -------
        Tensor
            Without the last axis. It is -inf where `x` is negative, not whole, or does not sum to `n`, with derivative
            0; nan where `n` is negative, a probability is negative, or their sum is not 1.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.multinomial.logpmf([1, 1], 2, [0.5, 0.5])
        Tensor(-0.69314718)
        """
        name = "multinomial.logpmf"
        counts, total, shares = variable(x, name).detach(), variable(n, name).detach(), variable(p, name)
        outside = (smallest(counts, -1) < 0) | (sum(counts, -1) != total)
        outside = outside | (largest(counts - floor(counts), -1) > 0)
        chosen = gammaln(total + 1.0) - sum(gammaln(counts + 1.0), -1)
        value = where(outside, -math.inf, chosen + sum(xlogy(counts, shares), -1))
        valid = (total >= 0, ~_are_no_shares(shares, -1))
        result: Tensor = valid_or_nan(value, *valid)
        return result

    @like(
        logpmf,
        ("the logarithm of the probability", "the probability"),
        ("It is -inf where", "It is 0 where"),
        examples=">>> tg.stats.multinomial.pmf([1, 1], 2, [0.5, 0.5])\nTensor(0.5)",
    )
    def pmf(self, x: Any, n: Any, p: Any) -> Tensor:
        probability: Tensor = exp(self.logpmf(x, n, p))
        return probability


dirichlet = _Dirichlet()
multinomial = _Multinomial()
