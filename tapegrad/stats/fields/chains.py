"""Stationary autoregression of the first order."""

from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.stats.fields.arguments import HALF_LOG_2PI, along, field, normals, parameter, positive
from tapegrad.stats.functions import absolute, log, square
from tapegrad.stats.parameters import usable, valid_or_nan


class _Ar1:
    """The stationary autoregressions of the first order, ``x[t] = rho * x[t - 1] + noise``."""

    def __repr__(self) -> str:
        return "<tapegrad.stats.ar1>"

    def logpdf(self, x: Any, rho: Any, sd: Any = 1) -> Tensor:
        """Compute the logarithm of the density; TMB's ``-SCALE(AR1(rho), sd)(x)``.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., n)
            Series along the last axis.
        rho : Tensor or array_like, shape (...) or ()
            Correlation of neighbours, between -1 and 1.
        sd : Tensor or array_like, shape (...) or (), default 1
            Standard deviation of each element (not of the noise, which is ``sd * sqrt(1 - rho**2)``).

        Returns
        -------
        Tensor
            Without the last axis, and with all constants; nan where a parameter is outside of its domain.

        Raises
        ------
        ValueError
            If there are no elements.

        Notes
        -----
        The Hessian by `x` is tridiagonal. R-INLA's model "ar1" has the precision ``1 / sd**2``.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.ar1.logpdf([1.0, 0.5, 0.0], 0.5, 2.0)
        Tensor(-4.68399174)
        """
        name = "tapegrad.stats.ar1.logpdf"
        series = field(x, name)
        n, correlation = series.shape[-1], parameter(rho, name)
        inside = absolute(correlation) < 1
        (correlation,) = usable([correlation], [inside])
        deviation, valid = positive(sd, name)
        rest = (1.0 - correlation) * (1.0 + correlation)
        noise = series[..., 1:] - along(correlation) * series[..., :-1]
        quadratic = square(series[..., 0]) + sum(square(noise), -1) / rest
        logs = n * log(deviation) + (0.5 * (n - 1)) * log(rest)
        density = -0.5 * quadratic / square(deviation) - logs - n * HALF_LOG_2PI
        return valid_or_nan(density, inside, valid)  # type: ignore[no-any-return]  # functions of the frontend take Any

    def rvs(
        self,
        n: int,
        rho: float,
        sd: float = 1,
        size: int | tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> np.ndarray:
        """Draw random series.

        Parameters
        ----------
        n : int
            Elements of a series.
        rho : float
            Correlation of neighbours.
        sd : float, default 1
            Standard deviation of each element.
        size : int or tuple of int, optional
            How many series: the shape before their axis. None is one series without such an axis.
        random_state : None, int, Generator or RandomState, optional
            Generator of NumPy, or the seed of one.

        Returns
        -------
        ndarray, shape (..., n)
            The series, constants.

        Raises
        ------
        ValueError
            If a parameter is outside of its domain.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.ar1.rvs(100, 0.9, size=3, random_state=0).shape
        (3, 100)
        """
        from scipy.signal import lfilter

        rho, sd = float(rho), float(sd)
        if not (-1 < rho < 1 and sd > 0):
            raise ValueError(
                f"tapegrad.stats.ar1.rvs: -1 < rho < 1 and sd > 0 are needed, not {rho} and {sd}"
            )
        noise = normals(random_state, size, n)
        noise[..., 1:] *= np.sqrt((1.0 - rho) * (1.0 + rho))
        return sd * np.asarray(lfilter([1.0], [1.0, -rho], noise, axis=-1))


ar1 = _Ar1()
