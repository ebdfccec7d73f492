"""`curve_fit`: many fits of one model at once, in compiled code."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import check_function
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.optimize.curve_plots import PlotData, draw
from tapegrad.optimize.interruption import LEAST_SQUARES_STATUS, MESSAGE

_SHOWN_FITS = 8  # whose parameters a repr shows


class CurveFits:
    """Results of many fits; made by `curve_fit`.

    Attributes
    ----------
    x : numpy.ndarray, shape (m, k)
        The parameters.
    cov : numpy.ndarray, shape (m, k, k)
        Their covariances, as SciPy's `curve_fit` has them: inf where the data do not determine them, nan where a fit
        could not begin.
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

    def __init__(self, found: Any, shown: PlotData) -> None:
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
            deviations if these were given. Of an image three panels: itself, what was fitted, and what is left.

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
        return draw(self._shown, [(k, self.x[k], self._title(k)) for k in chosen], figure)

    def _title(self, number: int) -> str:
        status = int(self.status[number])
        if status > 0:
            return f"fit {number}: cost {self.cost[number]:.4g}"
        return f"fit {number}: {_message_of(status)}"


class CurveFit(tuple[np.ndarray, np.ndarray]):
    """Result of one fit, by `curve_fit` with one row of data: the pair that SciPy's `curve_fit` returns.

    Attributes
    ----------
    x : numpy.ndarray, shape (k,)
        The parameters; the first of the pair.
    cov : numpy.ndarray, shape (k, k)
        Their covariance; the second of the pair.
    cost : float
        Half the sum of squares, or of the robust loss.
    status, nfev : int
        As of `CurveFits`.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> t = np.linspace(0, 1, 20)
    >>> popt, pcov = tg.optimize.curve_fit(lambda t, a, r: a * np.exp(-r * t), t, 3 * np.exp(-2 * t), [2.0, 1.5])
    >>> popt.round(6)
    array([3., 2.])
    """

    def __new__(cls, fits: CurveFits) -> "CurveFit":
        return super().__new__(cls, (fits.x[0], fits.cov[0]))

    def __init__(self, fits: CurveFits) -> None:
        self._fits = fits
        self.x, self.cov = self
        self.cost, self.status, self.nfev = float(fits.cost[0]), int(fits.status[0]), int(fits.nfev[0])

    def __getnewargs__(self) -> tuple[CurveFits]:
        return (self._fits,)

    def __repr__(self) -> str:
        return f"<fit of {len(self.x)} parameters, x={self.x}, cost {self.cost:.4g}>"

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
            As of `CurveFits.plot`.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> fit = tg.optimize.curve_fit(lambda t, a: a * t, np.arange(3.0), [0.0, 1.0, 2.0])
        >>> fit.plot().savefig("fit.png")  # doctest: +SKIP
        """
        return self._fits.plot([0], figure)


def _checked(fit: CurveFit) -> CurveFit:
    """Return one fit if it converged, as SciPy does; warn if the data do not determine its parameters."""
    if fit.status == LEAST_SQUARES_STATUS and np.isfinite(fit.x).all():
        _warn(MESSAGE)
        return fit
    if fit.status == LEAST_SQUARES_STATUS:
        raise KeyboardInterrupt
    if fit.status <= 0:
        raise RuntimeError(f"curve_fit: optimal parameters not found: {_message_of(fit.status)}")
    if not np.isfinite(fit.cov).all():
        _warn("the data do not determine the covariance of the parameters")
    return fit


def _warn(text: str) -> None:
    from scipy.optimize import OptimizeWarning

    warnings.warn(f"curve_fit: {text}", OptimizeWarning, stacklevel=4)


def _message_of(status: int) -> str:
    from tapegrad.optimize.native.single_fit import MESSAGES

    return MESSAGES[status]


@hides_frames
def curve_fit(
    model: Callable[..., Any],
    t: Any,
    Y: Any,  # noqa: N803  a matrix
    P0: Any = None,  # noqa: N803  a matrix
    sigma: Any = None,
    absolute_sigma: bool = False,
    **options: Any,
) -> Any:
    """Fit a model to many sets of data by least squares, each with parameters of its own, or to one as SciPy does.

    Parameters
    ----------
    model : callable
        Takes `t`, then each parameter as an argument of its own, as for `scipy.optimize.curve_fit`; returns what a row
        of `Y` looks like. It is recorded, and the eight models that were used last are kept for further calls with an
        equal `t`: what they see beside it is watched as by `jit`.
    t : array_like or anything
        Handed to the model as it is, the same for all fits. With one row of data, arrays and lists become arrays of
        float64, as in SciPy.
    Y : array_like, shape (m, ...) or (n,)
        The data: a row, or an image, for each fit. Of one dimension, with `P0` not of two, they are one row. What a
        masked array hides is left out.
    P0 : array_like, shape (m, k) or (k,), optional
        Where to start: for each fit, or the same for all. By default ones, or numbers inside of the bounds, for as many
        parameters as the model names. May be called ``p0``, as in SciPy.
    sigma : array_like, optional
        Standard deviations of the data: anything that broadcasts to the shape of `Y`.
    absolute_sigma : bool, default False
        Whether the covariances are those of `sigma` as it is; by default it is scaled to the residuals of each fit.
    **options
        ``bounds``
            A pair of lower and upper bounds, numbers or vectors of `k`, or a `scipy.optimize.Bounds`.
        ``loss``, ``f_scale``
            A robust loss and its scale, as of `scipy.optimize.least_squares`.
        ``mask``
            `True` where a point is left out, as in `numpy.ma`: anything that broadcasts to the shape of `Y`.
        ``ftol``, ``xtol``, ``gtol``
            Tolerances, 1e-8 each: relative change of the cost, relative change of the parameters, largest slope.
        ``check_finite``
            Whether data that are nan or infinite raise, by default with one row; a fit among many has a status.
        ``max_nfev``, ``maxfev``
            Evaluations of each fit at most, by default 100 for each parameter.
        ``threads``
            How many threads work, by default as many as there are processors.
        ``progress``
            `False` for none, `True` for a line on stderr that stays, or a function that is called with the numbers of
            fits done and of all. By default a line appears after a second on a terminal or in a notebook.
        ``executor``
            A `concurrent.futures.Executor` whose workers do the fits in blocks, a thread each, or a function that makes
            one: it is called again when workers are lost. The model has to be pickled: it is a function at the top of
            a module, or cloudpickle is installed.

    Returns
    -------
    CurveFits or CurveFit
        Arrays with a row for each fit: ``x``, ``cov``, ``cost``, ``status``, ``nfev``. For one row of data, the pair
        ``(x, cov)`` of arrays without that dimension, which has these as attributes.

    Raises
    ------
    ValueError
        When shapes do not go together, a start is outside of the bounds, or an option has no such value.
    RuntimeError
        When the fit of one row does not converge, as in SciPy.
    TypeError
        For options that there are not.

    Notes
    -----
    Levenberg and Marquardt's method on the normal equations, with exact derivatives: the damping, in units of the
    largest diagonal elements so far, begins at 0.001, falls by ten with each step that is accepted and rises by ten
    with each that is not. This squares the condition of a problem, which is harmless for few parameters; for a hard
    problem alone there is ``least_squares(method="native")``, which takes QR. A fit that fails has a status, and raises
    nothing. Results do not depend on the number of threads.

    Ctrl-C ends the fits: those that have not ended have the status -2, the best parameters so far or nan, and no
    covariance; one row of data gives an `OptimizeWarning`. A second one within 2 s raises `KeyboardInterrupt`.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> t = np.linspace(-3, 3, 25)
    >>> peak = lambda t, height, center, width: height * np.exp(-(((t - center) / width) ** 2))
    >>> centers = np.array([-0.5, 0.0, 0.5])
    >>> fits = tg.optimize.curve_fit(peak, t, peak(t, 2.0, centers[:, None], 1.0), [1.5, 0.1, 1.2])
    >>> fits.x[:, 1].round(6) + 0.0
    array([-0.5,  0. ,  0.5])
    """
    check_function("curve_fit", model)
    from tapegrad.optimize.native import curves

    if P0 is None:
        P0 = options.pop("p0", None)  # noqa: N806
    found, shown, single = curves.fit(model, t, Y, P0, sigma, absolute_sigma, options)
    fits = CurveFits(found, shown)
    return _checked(CurveFit(fits)) if single else fits
