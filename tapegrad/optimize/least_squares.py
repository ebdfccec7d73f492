"""`least_squares`: SciPy's, with exact Jacobians of functions of structures, or our own in compiled code."""

from functools import partial
from typing import Any

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.errors import check_function
from tapegrad.frontend.tensor.static_keys import token
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.optimize.arguments import callback_on, further, with_parameters, without_defaults
from tapegrad.optimize.flat import FlatVector, raveled, raveled_numbers, refuse_bounds
from tapegrad.optimize.residuals import Residuals, residuals
from tapegrad.optimize.searches.interruption import LEAST_SQUARES_STATUS, MESSAGE, Iterates, interrupts
from tapegrad.optimize.solutions.minima import cost_of, minimum
from tapegrad.optimize.vector_function import known_target, recurring_target
from tapegrad.pytree import flatten


@hides_frames
def least_squares(
    fun: Any,
    x0: Any,
    args: Any = (),
    **options: Any,
) -> Any:
    """Solve a nonlinear least-squares problem by `scipy.optimize.least_squares`, with the exact Jacobian.

    Parameters
    ----------
    fun : callable, Residuals or Sharded
        Takes an array, or a list, tuple or dict of arrays like `x0`, then `args`; returns residuals: an array of
        any shape, or several. It is recorded and replayed, once for functions that do the same, as `minimize`
        says.
    x0 : array_like or structure of arrays
        Where to start: a vector, a list of numbers, an array of any shape, or a structure of arrays.
    args : tuple, optional
        Further arguments of `fun`: numbers, arrays, or anything else; Tensors with ``differentiable=True``.
    **options
        All other arguments as SciPy takes them: ``kwargs`` (arguments of `fun` by name), ``bounds``, ``method``,
        ``loss``, ``x_scale``, tolerances. They refer to the parameters as one vector: the leaves of
        `x0` one after the other, each in C order. ``progress=False`` shows no progress: by default a line appears after
        a second on a terminal or in a notebook. ``method="native"`` is Levenberg and Marquardt's method in compiled
        code, see Notes; ``progress=True`` leaves its line, with evaluations and cost. ``sparse=True`` is for thousands
        of parameters, each of which a few residuals depend on: the pattern of the Jacobian is detected, the method,
        "native", "trf" or "dogbox", takes a sparse matrix, and ``jac`` of the result is one.
        ``differentiable=True`` gives the solution derivatives by Tensors in `args`, and by those that `fun` closes
        over, see Notes; with ``check=False`` it has them if the search has ended with ``success=False``, too.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result. ``x`` has the structure of `x0`, and leaves of its types; ``fun``, ``jac``, ``grad`` and
        ``active_mask`` are those of the vectors. ``jac`` is weighted by a robust ``loss``, so that ``jac.T @ jac`` is
        Gauss and Newton's matrix of the cost. Of ``method="native"`` it has ``covariance`` as well, as
        `scipy.optimize.curve_fit` computes it: the inverse of that matrix by ``2 * cost / (n - k)``; but not with
        ``sparse=True``, for it would be dense.

    Raises
    ------
    TypeError
        For an argument ``jac`` other than `None`: the Jacobian is known. For a Tensor in ``kwargs`` or, without
        ``differentiable=True``, in `args`, and when `fun` returns `None` or something else that holds no numbers (a
        `NotScalarError`).

    Notes
    -----
    With ``method="native"`` no Python runs between the evaluations. Steps are Moré's, with a trust region, in
    parameters scaled by the Jacobian; ``bounds``, ``ftol``, ``xtol``, ``gtol``, ``x_scale`` (by default "jac"),
    ``loss``, ``f_scale`` and ``max_nfev`` mean what they mean in SciPy. ``optimality`` is the largest slope by a
    parameter that no bound holds. Further options: ``solver="normal"`` takes the normal equations in place of a QR
    decomposition, where their condition allows it, which is faster and loses digits; ``steps="geodesic"`` bends steps
    along the curvature of the residuals [1]_, and shortens those that bend too much, which helps along narrow valleys,
    and evaluates twice for each.

    With ``sparse=True`` it takes sparse normal equations. Where columns of the Jacobian fall in two groups, and one of
    them is block-diagonal in ``jac.T @ jac``, such as the points of a bundle adjustment [2]_, that one is eliminated
    first if it has most of the columns; ``solver="schur"`` asks for it, and ``solver="normal"`` for the opposite.

    With ``differentiable=True``, ``x`` has Tensors as leaves, and ``cost`` and ``fun`` are some. Derivatives are those
    of a minimum of the cost, with its whole Hessian, not ``jac.T @ jac`` alone; components at a bound are constants.
    They are as exact as the solution. In a function that is recorded, the search is one instruction that calls Python.

    Ctrl-C ends a search, which returns the best point so far: ``success`` is `False`, ``status`` -2, and ``message``
    begins with "interrupted". A second Ctrl-C within 2 s raises `KeyboardInterrupt`, and so does one before the first
    evaluation.

    References
    ----------
    .. [1] M. K. Transtrum, J. P. Sethna, "Improvements to the Levenberg-Marquardt algorithm for nonlinear least-squares
       minimization", arXiv:1201.5885, 2012.
    .. [2] B. Triggs, P. McLauchlan, R. Hartley, A. Fitzgibbon, "Bundle adjustment: a modern synthesis", Lecture Notes
       in Computer Science 1883, 2000.

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
    >>> line = tg.optimize.least_squares(lambda p: p[0] + p[1] * x - 2 * x, [1.0, 1.0], method="native")
    >>> line.x.round(6) + 0.0
    array([0., 2.])
    """
    if hasattr(fun, "of_part"):  # made by `sharded`
        fun = fun.compressed(x0, options)
    if not isinstance(fun, Residuals):
        check_function("least_squares", fun)
    if options.pop("differentiable", False):
        return _differentiable(fun, x0, args, options.pop("check", True), options)
    options = without_defaults(options, "Jacobian", "least_squares")
    args = further(args)
    if options.get("kwargs") is not None:
        further(options["kwargs"], "kwargs")
    else:
        options.pop("kwargs", None)
    target = residuals(recurring_target(Residuals, fun, options.get("callback")), x0)
    refuse_bounds("least_squares", target.layout, options.get("bounds"))
    sparse = options.pop("sparse", False)
    if options.get("method") == "native":
        return _native(target, x0, args, options, sparse)
    jacobian = target.sparse_jac if sparse else target.jac
    if options.get("callback") is not None:  # SciPy has it from version 1.16 on
        options["callback"] = callback_on(options["callback"], target.layout)
    with Progress(options.pop("progress", None) is not False) as line:
        iterates = Iterates(target.fun, jacobian, line)
        result = _by_scipy(target, iterates, raveled_numbers(x0, target.layout), args, options)
    return with_parameters(result, target.unravel(result.x))


def _differentiable(fun: Any, x0: Any, args: Any, check: bool, options: dict[str, Any]) -> Any:
    """Solve the problem, and differentiate the solution by further arguments."""
    args, kwargs = (
        args if isinstance(args, tuple) else (args,),
        further(options.get("kwargs") or {}, "kwargs"),
    )
    function, target, args = known_target(Residuals, fun, x0, args, kwargs)
    stated, layout = partial(function.stated, **kwargs), target.layout
    loss, scale = options.get("loss", "linear"), float(options.get("f_scale", 1.0))
    cost = cost_of(stated, loss, scale, layout)

    def search(x0: Any, *args: Any) -> Any:
        return least_squares(target, x0, args, **options)

    rules = function.once((loss, scale, *map(token, flatten(kwargs)[0])), dict[Any, Any])
    result = minimum("least_squares", search, cost, x0, args, check, rules, options.get("bounds"))
    if any(map(is_tensor, flatten(result.x)[0])):
        result["cost"] = cost(result.x, *args)
        result["fun"] = FlatVector(stated, layout)(raveled(result.x, layout), *args)
    return result


def _by_scipy(target: Residuals, iterates: Iterates, x0: Any, args: Any, options: dict[str, Any]) -> Any:
    """Solve the problem by SciPy."""
    from scipy.optimize import least_squares as scipy_least_squares

    try:
        return scipy_least_squares(iterates.fun, x0, iterates.jac, args=args, **options)
    except KeyboardInterrupt:
        if iterates.x is None or interrupts.is_second():
            raise
    # one evaluation, without a step: cost and gradient of any loss as SciPy has them
    options = {name: value for name, value in options.items() if name not in ("callback", "verbose")}
    result = scipy_least_squares(
        target.fun, iterates.x, iterates.jac, args=args, **{**options, "max_nfev": 1}
    )
    result.update(success=False, status=LEAST_SQUARES_STATUS, message=MESSAGE, nfev=iterates.evaluations)
    return result


def _native(target: Residuals, x0: Any, args: Any, options: dict[str, Any], sparse: bool) -> Any:
    """Solve the problem in compiled code."""
    if sparse:
        from tapegrad.optimize.native.sparse.sparse_single_fit import fit
    else:
        from tapegrad.optimize.native.single_fit import fit

    kwargs = options.pop("kwargs", None)
    del options["method"]
    result = fit(target, raveled_numbers(x0, target.layout), args, kwargs, options)
    return with_parameters(result, target.unravel(result.x))
