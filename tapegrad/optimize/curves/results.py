"""Results of `curve_fit`: of many fits, and of one as SciPy has it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.optimize.curves.fit_data import FitData
from tapegrad.optimize.curves.plots import draw
from tapegrad.program.traces.listing import html_table

_SHOWN_FITS = 8  # whose parameters a repr shows


class CurveFits:
    """Results of many fits; made by `curve_fit`.

    Attributes
    ----------
    x : numpy.ndarray, shape (m, k)
        The parameters.
    cov : numpy.ndarray, shape (m, k, k)
        Their covariances, as SciPy's `curve_fit` has them: inf where the data do not determine them, nan where a fit
        could not begin. Under a robust loss they are the inverse of Gauss and Newton's matrix of that loss, scaled by
        ``2 * cost / (points - k)`` unless ``absolute_sigma``: a rough measure, for that cost is no sum of squares.
    cost : numpy.ndarray, shape (m,)
        Half the sums of squares, or of the robust loss.
    status : numpy.ndarray of int, shape (m,)
        As of `scipy.optimize.least_squares`: 1 to 4 where a fit converged, 0 where it reached the maximum of
        evaluations, -2 where Ctrl-C interrupted it, -3 where the model or its derivatives are not finite at the start.
    nfev : numpy.ndarray of int, shape (m,)
        Evaluations of the model with its Jacobian.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> t = np.linspace(0, 1, 20)
    >>> decays = np.array([[3 * np.exp(-2 * t)], [4 * np.exp(-t)]]).reshape(2, 20)
    >>> fits = tg.optimize.curve_fit(lambda t, a, r: a * tg.exp(-r * t), t, decays, [2.0, 1.5])
    >>> fits.x.round(6)
    array([[3., 2.],
           [4., 1.]])
    >>> fits.success
    array([ True,  True])
    """

    def __init__(self, found: Any, shown: FitData) -> None:
        self.x, self.cov, self.cost = found.out_x, found.out_covariance, found.out_cost
        self.status, self.nfev = found.out_status, found.out_evaluations
        self._shown = shown

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        count, width = self.x.shape
        title = f"<{count} fits of {width} parameters, {int(self.success.sum())} converged>"
        errors = np.sqrt(np.einsum("kii->ki", self.cov[:_SHOWN_FITS]))
        rows = [
            f"{k:6d}" + ",".join(f"{x:12.6g} +- {error:.2g}" for x, error in zip(self.x[k], row, strict=True))
            for k, row in enumerate(errors)
        ]
        return "\n".join(
            [title, *rows, *([f"   ...  {count - len(rows)} more"] if count > len(rows) else [])]
        )

    def _repr_html_(self) -> str:
        shown = self.summary()[:_SHOWN_FITS]
        title = f"{len(self)} fits, {int(self.success.sum())} converged"
        rows = [("fit", *(shown.dtype.names or ()), "message")]
        for k, record in enumerate(shown.tolist()):
            rows.append((str(k), *(f"{value:.6g}" for value in record), _message_of(int(self.status[k]))))
        more = len(self) - len(shown)
        return html_table(title, rows, [f"... {more:,} more"] if more else [])

    @property
    def success(self) -> np.ndarray:
        """Mask of the fits that converged."""
        converged: np.ndarray = self.status > 0
        return converged

    @property
    def message(self) -> list[str]:
        """Text of the status of each fit."""
        return [_message_of(status) for status in self.status.tolist()]

    def summary(self, names: Sequence[str] | None = None) -> np.ndarray:
        """Return the fits as a structured array, with a record for each.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the parameters, by default ``p0``, ``p1`` and so on.

        Returns
        -------
        numpy.ndarray, shape (m,)
            For each parameter a field with its value and one with its standard error, ``p0`` and ``p0_error``; then
            ``cost``, ``status`` and ``nfev``.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> fits = tg.optimize.curve_fit(lambda t, a: a * t, np.arange(3.0), [[0.0, 1.0, 2.0]], [[2.0]])
        >>> fits.summary(["slope"])["slope"]
        array([1.])
        """
        size = self.x.shape[1]
        names = [f"p{j}" for j in range(size)] if names is None else list(names)
        if len(names) != size:
            raise ValueError(f"summary: {len(names)} names for {size} parameters")
        fields = [(field, np.float64) for name in names for field in (name, f"{name}_error")]
        table = np.zeros(len(self), [*fields, ("cost", np.float64), ("status", np.int64), ("nfev", np.int64)])
        errors = np.sqrt(np.einsum("ijj->ij", self.cov))
        for j, name in enumerate(names):
            table[name], table[f"{name}_error"] = self.x[:, j], errors[:, j]
        table["cost"], table["status"], table["nfev"] = self.cost, self.status, self.nfev
        return table

    def plot(self, fits: int | Sequence[int], figure: Any = None) -> Any:
        """Draw data and fitted curves of some of the fits; needs Matplotlib.

        Parameters
        ----------
        fits : int or sequence of int
            Numbers of the fits.
        figure : matplotlib.figure.Figure, optional
            What to draw in, by default a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            A panel for each fit: its points over `t`, where that has a number for each of them, with their standard
            deviations if these were given. Of an image three panels: itself, what was fitted, and what is left. Draw
            on in its ``axes``.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> fits = tg.optimize.curve_fit(lambda t, a: a * t, np.arange(3.0), [[0.0, 1.0, 2.0]], [[2.0]])
        >>> fits.plot([0]).savefig("fits.png")  # doctest: +SKIP
        """
        numbers = np.atleast_1d(np.asarray(fits))
        if numbers.dtype.kind not in "iu" or numbers.ndim > 1 or not numbers.size:
            raise ValueError(f"plot: fits={fits!r}; they must be numbers of fits, at least one")
        if not np.all((numbers >= -len(self)) & (numbers < len(self))):
            raise IndexError(f"plot: fits={fits!r}, but there are {len(self)}")
        chosen = [int(number) % len(self) for number in numbers]
        titles = [f"fit {k}: {_title(int(self.status[k]), self.cost[k])}" for k in chosen]
        return draw(
            self._shown, [(k, self.x[k], title) for k, title in zip(chosen, titles, strict=True)], figure
        )

    def residuals(self, fit: int) -> np.ndarray:
        """Return what is left of the data of a fit.

        Parameters
        ----------
        fit : int
            Number of the fit.

        Returns
        -------
        numpy.ndarray
            The model at the fitted parameters minus the data, divided by `sigma` if that was given; nan where a point
            is left out. It has the shape of a row.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> fits = tg.optimize.curve_fit(lambda t, a: a + 0 * t, np.arange(2.0), [[1.0, 2.0], [3.0, 5.0]], [2.0])
        >>> fits.residuals(1).round(6)
        array([ 1., -1.])
        """
        return self._shown.residuals(fit, self.x[fit])


class CurveFit(tuple[np.ndarray, np.ndarray]):
    """Result of one fit, by `curve_fit` with one row of data: the pair that SciPy's `curve_fit` returns.

    Attributes
    ----------
    x : numpy.ndarray, shape (k,)
        The parameters; the first of the pair.
    cov : numpy.ndarray, shape (k, k)
        Their covariance, as of `CurveFits`; the second of the pair.
    cost : float
        Half the sum of squares, or of the robust loss.
    status, nfev : int
        As of `CurveFits`.
    success : bool
        True unless Ctrl-C interrupted the fit: one that did not converge raises.
    message : str
        Text of the status.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> t = np.linspace(0, 1, 20)
    >>> popt, pcov = tg.optimize.curve_fit(lambda t, a, r: a * np.exp(-r * t), t, 3 * np.exp(-2 * t), [2.0, 1.5])
    >>> popt.round(6)
    array([3., 2.])
    >>> fit = tg.optimize.curve_fit(lambda t, a: a * t, t, 2 * t)
    >>> fit.success, fit.message
    (True, '`gtol` termination condition is satisfied.')
    """

    def __new__(cls, fits: CurveFits, shown: FitData) -> "CurveFit":
        return super().__new__(cls, (fits.x[0], fits.cov[0]))

    def __init__(self, fits: CurveFits, shown: FitData) -> None:
        self._fits, self._shown = fits, shown
        self.x, self.cov = self
        self.cost, self.status, self.nfev = float(fits.cost[0]), int(fits.status[0]), int(fits.nfev[0])
        self.success, self.message = self.status > 0, _message_of(self.status)

    def __getnewargs__(self) -> tuple[CurveFits, FitData]:
        return self._fits, self._shown

    def __repr__(self) -> str:
        return f"<fit of {len(self.x)} parameters, x={self.x}, cost {self.cost:.4g}>"

    def _repr_html_(self) -> str:
        (record,) = self.summary().tolist()
        names = self.summary().dtype.names or ()
        values = dict(zip(names, (f"{value:.6g}" for value in record), strict=True))
        rows = [("parameter", "value", "standard error")]
        rows += [(f"p{j}", values[f"p{j}"], values[f"p{j}_error"]) for j in range(len(self.x))]
        end = f"cost {self.cost:.6g}, {self.nfev} evaluations: {self.message}"
        return html_table(f"fit of {len(self.x)} parameters", rows, [end])

    def summary(self, names: Sequence[str] | None = None) -> np.ndarray:
        """Return the fit as a structured array with one record.

        Parameters
        ----------
        names : sequence of str, optional
            As of `CurveFits.summary`.

        Returns
        -------
        numpy.ndarray, shape (1,)
            As of `CurveFits.summary`.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> fit = tg.optimize.curve_fit(lambda t, a: a * t, np.arange(3.0), [0.0, 1.0, 2.0])
        >>> fit.summary(["slope"])["slope"]
        array([1.])
        """
        return self._fits.summary(names)

    def plot(self, figure: Any = None) -> Any:
        """Draw data and fitted curve; needs Matplotlib.

        Parameters
        ----------
        figure : matplotlib.figure.Figure, optional
            What to draw in, by default a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            As of `CurveFits.plot`, with a legend. Draw a band or labels in ``fit.plot().axes[0]``.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> fit = tg.optimize.curve_fit(lambda t, a: a * t, np.arange(3.0), [0.0, 1.0, 2.0])
        >>> figure = fit.plot()  # doctest: +SKIP
        >>> figure.axes[0].set_xlabel("hours")  # doctest: +SKIP
        >>> figure.savefig("fit.png")  # doctest: +SKIP
        """
        return draw(self._shown, [(0, self.x, _title(self.status, self.cost))], figure, legend=True)

    def residuals(self) -> np.ndarray:
        """Return what is left of the data.

        Returns
        -------
        numpy.ndarray, shape (n,)
            As of `CurveFits.residuals`.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> fit = tg.optimize.curve_fit(lambda t, a: a * t, np.arange(3.0), [0.0, 1.0, 2.0])
        >>> fit.residuals().round(6) + 0.0
        array([0., 0., 0.])
        """
        return self._fits.residuals(0)


def _title(status: int, cost: float) -> str:
    return f"cost {cost:.4g}" if status > 0 else _message_of(status)


def _message_of(status: int) -> str:
    from tapegrad.optimize.native.messages import MESSAGES

    return MESSAGES[status]
