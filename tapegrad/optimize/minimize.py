"""`minimize`: SciPy's, with exact gradients and Hessians of functions of structures."""

from collections.abc import Callable
from typing import Any

from tapegrad.optimize.arguments import further, without_defaults
from tapegrad.optimize.callbacks import callback_on, structured
from tapegrad.optimize.objective import Objective, objective

# SciPy's methods by the derivatives that they use. All others use the gradient.
_VALUES = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_HESSIANS = frozenset({"dogleg", "trust-exact"})


def minimize(
    fun: Callable[..., Any] | Objective,
    x0: Any,
    args: Any = (),
    method: Any = None,
    *,
    callback: Any = None,
    **options: Any,
) -> Any:
    """Minimise a scalar function by `scipy.optimize.minimize`, with exact derivatives.

    Parameters
    ----------
    fun : callable or Objective
        Takes an array, or a list, tuple or dict of arrays like `x0`, then `args`; returns a scalar. It is recorded
        and replayed. For many runs pass a ``jit(f)`` or an `objective`, whose recordings are kept.
    x0 : array_like or structure of arrays
        Where to start: a vector, a list of numbers, an array of any shape, or a structure of arrays.
    args : tuple, optional
        Further arguments of `fun`: numbers, arrays, or anything but a Tensor.
    method : str or callable, optional
        As in SciPy. The gradient is given to the methods that use one, the Hessian to ``trust-exact`` and
        ``dogleg``, products with it to ``Newton-CG``, ``trust-ncg``, ``trust-krylov`` and ``trust-constr``.
    callback : callable, optional
        As in SciPy, in either form. It is called with structures like `x0`.
    **options
        All other arguments as SciPy takes them: ``bounds``, ``constraints``, ``tol``, ``options``, and ``hess`` or
        ``hessp`` to replace the exact ones where they are not `None`. They refer to the parameters as one vector:
        the leaves of `x0` one after the other, each in C order.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result. ``x`` and the gradient ``jac`` have the structure of `x0`, and leaves of its types.

    Raises
    ------
    NotScalarError
        When `fun` does not return a scalar. It is a `TypeError` and, as in SciPy, a `ValueError`.
    TypeError
        For an argument ``jac`` other than `None` and `False`: the gradient is known. For a Tensor in `args`.

    Notes
    -----
    A function may return ``np.inf`` where its arguments are not allowed, as in SciPy: its gradient is zero there.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> rosenbrock = lambda x: tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> tg.optimize.minimize(rosenbrock, np.zeros(5), method="BFGS").x.round(4)
    array([1., 1., 1., 1., 1.])
    >>> result = tg.optimize.minimize(lambda p: (p["a"] - 1) ** 2 + tg.sum(p["b"] ** 2), {"a": 0.0, "b": np.ones(2)})
    >>> sorted(result.x)
    ['a', 'b']
    """
    from scipy.optimize import minimize as scipy_minimize

    options = without_defaults(options, "gradient", "minimize")
    args = further(args)
    target = objective(fun, x0)
    kind = method.lower() if isinstance(method, str) else ""
    values_only = kind in _VALUES
    result = scipy_minimize(
        target.value if values_only else target.fun,
        target.layout.ravel(x0),
        args,
        method,
        None if values_only else True,
        callback=callback_on(callback, target.layout),
        **_second_derivatives(kind, target, options),
        **options,
    )
    return structured(result, target.layout)


def _second_derivatives(kind: str, target: Objective, options: dict[str, Any]) -> dict[str, Any]:
    """Return the Hessian or products with it, if the method uses them and the caller gave none."""
    if "hess" in options or "hessp" in options:
        return {}
    if kind in _PRODUCTS:
        return {"hessp": target.hessp}
    return {"hess": target.hess} if kind in _HESSIANS else {}
