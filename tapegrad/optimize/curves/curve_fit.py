"""`curve_fit`: many fits of one model at once, in compiled code."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import check_function
from tapegrad.frontend.words.frames import hides_frames, program_level
from tapegrad.optimize.curves.results import CurveFit, CurveFits
from tapegrad.optimize.searches.interruption import LEAST_SQUARES_STATUS, MESSAGE


def _checked(fit: CurveFit) -> CurveFit:
    """Return one fit if it converged, as SciPy does; warn if the data do not determine its parameters."""
    if fit.status == LEAST_SQUARES_STATUS and np.isfinite(fit.x).all():
        _warn(MESSAGE)
        return fit
    if fit.status == LEAST_SQUARES_STATUS:
        raise KeyboardInterrupt
    if fit.status <= 0:
        raise RuntimeError(f"curve_fit: optimal parameters not found: {fit.message}")
    if not np.isfinite(fit.cov).all():
        _warn(
            "the data do not determine the covariance of the parameters; try another p0, or fewer parameters"
        )
    return fit


def _full_output(fit: CurveFit) -> tuple[np.ndarray, np.ndarray, dict[str, Any], str, int]:
    """Return what SciPy returns for ``full_output=True``, with the residuals of the points that count."""
    left = fit.residuals()
    return (*fit, {"nfev": fit.nfev, "fvec": left[~np.isnan(left)]}, fit.message, fit.status)


def _warn(text: str) -> None:
    from scipy.optimize import OptimizeWarning

    warnings.warn(f"curve_fit: {text}", OptimizeWarning, stacklevel=program_level())


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
        Standard deviations of the data: anything that broadcasts to the shape of `Y`. Those of points that are left out
        do not count. A point with an infinite one weighs nothing, and is one of the points, as in SciPy.
    absolute_sigma : bool, default False
        Whether the covariances are those of `sigma` as it is; by default it is scaled to the residuals of each fit, by
        ``2 * cost / (points - k)``.
    **options
        ``bounds``
            A pair of lower and upper bounds, numbers or vectors of `k`, or a `scipy.optimize.Bounds`.
        ``loss``, ``f_scale``
            A robust loss and its scale, as of `scipy.optimize.least_squares`: residuals beyond `f_scale` count less,
            in units of `sigma` if that is given.
        ``mask``
            `True` where a point is left out, as in `numpy.ma`: anything that broadcasts to the shape of `Y`.
        ``ftol``, ``xtol``, ``gtol``
            Tolerances, 1e-8 each: relative change of the cost, relative change of the parameters, largest slope.
        ``nan_policy``
            ``"omit"`` leaves out the points at which `Y`, or an array `t`, is nan; ``"raise"`` refuses them.
        ``check_finite``
            Whether data that are nan or infinite raise, by default with one row; a fit among many has a status.
        ``max_nfev``, ``maxfev``
            Evaluations of each fit at most, by default 100 for each parameter.
        ``threads``
            How many threads work, by default as many as there are processors.
        ``progress``
            `False` for none, `True` for a line on stderr that stays, or a function that is called with the numbers of
            fits done and of all. By default a line appears after a second on a terminal or in a notebook. The line of
            one row says how many evaluations were made, and the cost.
        ``full_output``
            Whether one row gives SciPy's ``(popt, pcov, infodict, mesg, ier)``, with ``nfev`` and ``fvec`` in the dict.
        ``method``
            SciPy's names; the method is that of the notes, whichever is given.
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
        When shapes do not go together, a start is outside of the bounds, or an option has no such value; when one row
        has no points. Of many fits, those without points have the status -5, and nan for parameters.
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
    from tapegrad.optimize.curves import many_curves

    if P0 is None:
        P0 = options.pop("p0", None)  # noqa: N806
    full_output = bool(options.get("full_output"))
    found, shown, single = many_curves.fit(model, t, Y, P0, sigma, absolute_sigma, options)
    fits = CurveFits(found, shown)
    if not single:
        return fits
    fit = _checked(CurveFit(fits, shown))
    return _full_output(fit) if full_output else fit
