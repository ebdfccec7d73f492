"""`least_squares`: SciPy's, with exact Jacobians of functions of structures."""

from collections.abc import Callable
from typing import Any

from tapegrad.optimize.arguments import further, without_defaults
from tapegrad.optimize.callbacks import callback_on
from tapegrad.optimize.objective import Residuals, residuals


def least_squares(
    fun: Callable[..., Any] | Residuals,
    x0: Any,
    args: Any = (),
    **options: Any,
) -> Any:
    """Solve a nonlinear least-squares problem by `scipy.optimize.least_squares`, with the exact Jacobian.

    Parameters
    ----------
    fun : callable or Residuals
        Takes an array, or a list, tuple or dict of arrays like `x0`, then `args`; returns residuals: an array of
        any shape, or several. It is recorded and replayed. For many runs pass a ``jit(f)`` or `residuals`, whose
        recordings are kept.
    x0 : array_like or structure of arrays
        Where to start: a vector, a list of numbers, an array of any shape, or a structure of arrays.
    args : tuple, optional
        Further arguments of `fun`: numbers, arrays, or anything but a Tensor.
    **options
        All other arguments as SciPy takes them: ``kwargs`` (arguments of `fun` by name), ``bounds``, ``method``,
        ``loss``, ``x_scale``, tolerances. They refer to the parameters as one vector: the leaves of
        `x0` one after the other, each in C order.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result. ``x`` has the structure of `x0`, and leaves of its types; ``fun``, ``jac``, ``grad`` and
        ``active_mask`` are those of the vectors.

    Raises
    ------
    TypeError
        For an argument ``jac`` other than `None`: the Jacobian is known. For a Tensor in `args` or ``kwargs``, and
        when `fun` returns `None` or something else that holds no numbers (a `NotScalarError`).

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> x = np.linspace(0, 1, 20)
    >>> decay = {"amplitude": 1.0, "rate": 1.0}
    >>> fit = tg.optimize.least_squares(
    ...     lambda p: p["amplitude"] * tg.exp(-p["rate"] * x) - 3 * np.exp(-2 * x), decay
    ... )
    >>> {name: float(value.round(6)) for name, value in fit.x.items()}
    {'amplitude': 3.0, 'rate': 2.0}
    """
    from scipy.optimize import least_squares as scipy_least_squares

    options = without_defaults(options, "Jacobian", "least_squares")
    args = further(args)
    if options.get("kwargs") is not None:
        further(options["kwargs"], "kwargs")
    else:
        options.pop("kwargs", None)
    target = residuals(fun, x0)
    if options.get("callback") is not None:  # SciPy has it from version 1.16 on
        options["callback"] = callback_on(options["callback"], target.layout)
    result = scipy_least_squares(target.fun, target.layout.ravel(x0), target.jac, args=args, **options)
    result.x = target.unravel(result.x)
    return result
