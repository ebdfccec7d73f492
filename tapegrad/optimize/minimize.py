"""`minimize`: SciPy's, with exact gradients and Hessians of functions of structures."""

from collections.abc import Callable
from typing import Any

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.errors import UnsupportedError, check_function
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.optimize.arguments import callback_on, further, structured, takes_result, without_defaults
from tapegrad.optimize.flat import raveled_numbers, refuse_bounds
from tapegrad.optimize.objective import Objective, objective
from tapegrad.optimize.searches.interruption import MESSAGE, MINIMIZE_STATUS, BestPoint, interrupts
from tapegrad.optimize.solutions.minima import minimum
from tapegrad.optimize.vector_function import known_target, recurring_target
from tapegrad.pytree import flatten

# SciPy's methods by the derivatives that they use. All others use the gradient.
_VALUES = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_HESSIANS = frozenset({"dogleg", "trust-exact"})
_NATIVE = ("native", "native-newton")  # ours, in compiled code


@hides_frames
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
        and replayed; a later call finds the recordings of the same function, or of one of the same code that closes
        over the same objects and equal numbers. Pass what changes from call to call in `args`.
    x0 : array_like or structure of arrays
        Where to start: a vector, a list of numbers, an array of any shape, or a structure of arrays.
    args : tuple, optional
        Further arguments of `fun`: numbers, arrays, or anything else; Tensors with ``differentiable=True``.
    method : str or callable, optional
        As in SciPy, or ``"native"`` or ``"native-newton"``, see Notes. The gradient is given to the methods that use
        one, the Hessian to ``trust-exact`` and ``dogleg``, products with it to ``Newton-CG``, ``trust-ncg``,
        ``trust-krylov`` and ``trust-constr``.
    callback : callable, optional
        As in SciPy, in either form. It is called with structures like `x0`.
    **options
        All other arguments as SciPy takes them: ``bounds``, ``constraints``, ``tol``, ``options``, and ``hess`` or
        ``hessp`` to replace the exact ones where they are not `None`. They refer to the parameters as one vector:
        the leaves of `x0` one after the other, each in C order. ``progress=False`` shows no progress: by default a
        line appears after a second on a terminal or in a notebook. ``sparse=True`` gives ``trust-constr`` the Hessian
        as a sparse matrix, whose pattern is detected, in place of products with it. ``differentiable=True`` gives the
        solution derivatives by Tensors in `args`, and by those that `fun` closes over, see Notes; with ``check=False``
        it has them if the search has ended with ``success=False``, too.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result. ``x`` and the gradient ``jac`` have the structure of `x0`, and leaves of its types. Complex
        numbers are two variables each, real and imaginary part, and cannot have bounds.

    Raises
    ------
    NotScalarError
        When `fun` does not return a scalar. It is a `TypeError` and, as in SciPy, a `ValueError`.
    TypeError
        For an argument ``jac`` other than `None` and `False`: the gradient is known. For a Tensor in `args` without
        ``differentiable=True``.
    NotConvergedError
        By derivatives of a solution that was not found.

    Notes
    -----
    ``method="native"`` is L-BFGS in compiled code, with bounds: no Python runs between the evaluations. Its
    ``options`` are those of L-BFGS-B, ``ftol``, ``gtol``, ``maxfun``, ``maxiter``, ``maxcor``, ``maxls``, and
    ``strong_wolfe=True`` for a line search with the strong condition of Wolfe. ``method="native-newton"`` takes steps
    of Newton's by products with the Hessian, in a trust region; of the options it has the first four and
    ``max_trust_radius``. With ``starts``, a matrix with a row of parameters for each, both minimise from many starts
    on ``threads`` threads, by default as many as there are processors; ``x0`` then says the structure, or is `None`.
    The result is the best one, with ``all_x``, ``all_fun``, ``all_jac``, ``all_status``, ``all_nfev`` and ``all_nit``
    of all starts; ``progress=True`` leaves a line that says how many are done, or evaluations and value of one. With
    ``executor``, a `concurrent.futures.Executor` or a function that makes one, its workers take blocks of starts, as
    `curve_fit` describes it.

    Ctrl-C ends a search, which returns the best point so far, with constraints the last iterate: ``success`` is
    `False`, ``status`` 99, and ``message`` begins with "interrupted". Starts of many that were not begun are nan. A
    second Ctrl-C within 2 s raises `KeyboardInterrupt`, and so does one before the first evaluation.

    With ``differentiable=True``, ``x`` has Tensors as leaves, and ``fun`` is one. Derivatives are those of a point
    where the gradient is zero, by the Hessian, as of `tapegrad.custom_argmin`: they are as exact as the solution, so
    ask for small tolerances. Components of ``x`` at a bound are constants. In a function that is recorded, the search
    is one instruction that calls Python, and the result has numbers alone. With constraints, write the conditions for
    a minimum and `tapegrad.custom_root`.

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
    >>> def ridge(p):
    ...     return tg.optimize.minimize(
    ...         lambda x, p: tg.sum((x - 3) ** 2) + p * tg.sum(x**2), np.zeros(2), (p,), differentiable=True
    ...     ).x
    >>> tg.jacobian(ridge)(0.5).round(6)
    array([-1.333333, -1.333333])
    >>> starts = np.random.default_rng(0).uniform(-2, 2, (100, 5))
    >>> many = tg.optimize.minimize(rosenbrock, None, method="native", starts=starts)
    >>> many.x.round(4), many.all_x.shape
    (array([1., 1., 1., 1., 1.]), (100, 5))
    """
    if not isinstance(fun, Objective):
        check_function("minimize", fun)
    if options.pop("differentiable", False):
        check = options.pop("check", True)
        return _differentiable(fun, x0, args, check, {"method": method, "callback": callback, **options})
    options = without_defaults(options, "gradient", "minimize")
    args = further(args)
    starts = options.pop("starts", None)
    if isinstance(method, str) and method in _NATIVE:
        return _native(fun, x0, args, method, {"callback": callback, "starts": starts, **options})
    if starts is not None:
        raise TypeError(f"minimize: starts are for the methods {_NATIVE}, not for {method!r}")
    from scipy.optimize import minimize as scipy_minimize

    target = objective(recurring_target(Objective, fun, callback, options.get("constraints")), x0)
    refuse_bounds("minimize", target.layout, options.get("bounds"))
    kind = method.lower() if isinstance(method, str) else ""
    if options.pop("sparse", False):
        if kind != "trust-constr":
            raise ValueError(f"minimize: sparse=True is for the method 'trust-constr', not for {method!r}")
        options.setdefault("hess", target.sparse_hess)
    values_only = kind in _VALUES
    with Progress(options.pop("progress", None) is not False) as line:
        best = BestPoint(target.value if values_only else target.fun, bool(options.get("constraints")), line)
        try:
            result = scipy_minimize(
                best,
                raveled_numbers(x0, target.layout),
                args,
                method,
                None if values_only else True,
                callback=best.callback(callback_on(callback, target.layout), takes_result(callback)),
                **_second_derivatives(kind, target, options),
                **options,
            )
        except KeyboardInterrupt:
            if best.x is None or interrupts.is_second():
                raise
            result = _interrupted(target, best, args, values_only)
    return structured(result, target.layout)


def _differentiable(fun: Any, x0: Any, args: Any, check: bool, options: dict[str, Any]) -> Any:
    """Minimise, and differentiate the solution by further arguments."""
    if len(options.get("constraints") or ()):
        raise UnsupportedError(
            "minimize: differentiable=True is not for constraints; write the conditions for a minimum as a function and"
            " tapegrad.custom_root"
        )
    args = args if isinstance(args, tuple) else (args,)
    function, target, args = known_target(Objective, fun, x0, args)
    stated = function.stated

    def search(x0: Any, *args: Any) -> Any:
        return minimize(target, x0, args, **options)

    rules = function.once("rules", dict[Any, Any])
    result = minimum("minimize", search, stated, x0, args, check, rules, options.get("bounds"))
    if any(map(is_tensor, flatten(result.x)[0])):
        result["fun"] = stated(result.x, *args)
    return result


def _interrupted(target: Objective, best: BestPoint, args: Any, values_only: bool) -> Any:
    """Return the result of an interrupted search."""
    from scipy.optimize import OptimizeResult

    found = {"x": best.x, "nfev": best.evaluations, "status": MINIMIZE_STATUS, "message": MESSAGE}
    if values_only:
        return OptimizeResult(found, success=False, fun=target.value(best.x, *args))
    value, gradient = target.fun(best.x, *args)
    return OptimizeResult(found, success=False, fun=value, jac=gradient, njev=best.evaluations)


def _native(fun: Any, x0: Any, args: Any, method: str, options: dict[str, Any]) -> Any:
    """Minimise in compiled code."""
    from tapegrad.optimize.native import descent

    starts = options.pop("starts")
    if starts is not None and x0 is None:
        x0 = descent.checked_starts(starts)[0]
    target = objective(recurring_target(Objective, fun, options["callback"]), x0)
    refuse_bounds("minimize", target.layout, options.get("bounds"))
    if starts is not None:
        result = descent.minimize_many(target, method, starts, args, options)
    else:
        result = descent.minimize_one(target, method, raveled_numbers(x0, target.layout), args, options)
    return structured(result, target.layout)


def _second_derivatives(kind: str, target: Objective, options: dict[str, Any]) -> dict[str, Any]:
    """Return the Hessian or products with it, if the method uses them and the caller gave none."""
    if "hess" in options or "hessp" in options:
        return {}
    if kind in _PRODUCTS:
        return {"hessp": target.hessp}
    return {"hess": target.hess} if kind in _HESSIANS else {}
