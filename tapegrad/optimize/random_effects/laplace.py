"""`laplace`: a fit of a model with random effects by its marginal likelihood."""

from typing import TYPE_CHECKING, Any

from tapegrad.frontend.words.frames import hides_frames
from tapegrad.optimize.arguments import further

if TYPE_CHECKING:
    from tapegrad.optimize.random_effects.fit import LaplaceFit


@hides_frames
def laplace(
    function: Any,
    x0: Any,
    random: Any,
    args: Any = (),
    method: str = "BFGS",
    *,
    map: Any = None,
    progress: bool = True,
    **options: Any,
) -> "LaplaceFit":
    """Fit the parameters of a model with random effects, which are integrated out by Laplace's approximation.

    Parameters
    ----------
    function : callable or Sharded
        Minus the logarithm of the joint density of data and effects: a scalar function of parameters and effects, in
        plain NumPy. It is recorded, and replayed after.
    x0 : tuple, or dict
        All its arguments but `args`, parameters and effects, where the search begins. If `random` has keys, one dict.
    random : int, tuple of int, str or tuple of str
        Which of them are effects: numbers of arguments, or keys of the dict.
    args : tuple, optional
        Further arguments: data.
    method : str, default "BFGS"
        A method of `scipy.optimize.minimize` that takes no Hessian.
    map : array_like of int, or dict of them, optional
        What is fixed, or shares a value: for an array of parameters integers of its shape, equal where elements have
        one value and -1 where they stay as they are in `x0`; for a dict of parameters some of its keys.
    progress : bool, default True
        Whether a search that takes longer than a second shows how far it is.
    **options
        Further arguments of `scipy.optimize.minimize`, such as ``bounds`` and ``options``. For a dict of parameters
        `bounds` may be a dict, with a pair for some of its keys.

    Returns
    -------
    LaplaceFit
        SciPy's result, with `x` and `random` in their structures, and with `std_errors`, `random_std_errors`, `cov`,
        `predict`, `sample`, `simulate`, `profile`, `check`, `summary` and `plot`. After Ctrl-C it is of the best
        parameters so far, with ``success=False``.

    Raises
    ------
    NoModeError
        If the joint density has no mode in the effects at `x0`.
    ValueError, TypeError
        For `x0`, `random` or `map` that do not fit each other.

    See Also
    --------
    tapegrad.laplace : The marginal density as a function.

    Notes
    -----
    With fixed effects among `random`, too, it is restricted maximum likelihood (REML). The standard errors are those
    of TMB's ``sdreport``: the inverse Hessian of the marginal likelihood, and the delta method.

    References
    ----------
    Kristensen, Nielsen, Berg, Skaug, Bell, "TMB: automatic differentiation and Laplace approximation", *Journal of
    Statistical Software* 70(5), 2016.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> counts = np.array([3.0, 0.0, 7.0, 2.0, 9.0, 1.0])
    >>> def nll(theta, u):
    ...     eta = theta["mean"] + tg.exp(theta["log_sd"]) * u
    ...     return tg.sum(tg.exp(eta) - counts * eta) + 0.5 * tg.sum(u**2) + 3 * np.log(2 * np.pi)
    >>> fit = tg.optimize.laplace(nll, ({"mean": 1.0, "log_sd": 0.0}, np.zeros(6)), random=1)
    >>> print(fit.x["mean"].round(3), fit.std_errors["mean"].round(3))
    0.991 0.456
    """
    if hasattr(function, "of_part"):  # made by `sharded`
        from tapegrad.optimize.random_effects import sharded_fit

        return sharded_fit.fit(function, x0, random, further(args), method, map, progress, options)
    from tapegrad.optimize.random_effects import fitting

    return fitting.fit(function, x0, random, further(args), method, map, progress, options)
