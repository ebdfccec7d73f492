"""Solvers of `scipy.optimize` for functions of Tensors: SciPy's search on arrays, and implicit derivatives."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import optimize
from tapegrad.foreign import original
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.implicit.custom_root import custom_root
from tapegrad.implicit.known import known, lifted
from tapegrad.interop.in_place.arguments import array_of, named
from tapegrad.optimize.solutions.minima import minimum
from tapegrad.transforms.grad import grad

Function = Callable[..., Any]
_NEAR = 1e-3  # of an end of an interval: many tolerances


def _scipys(name: str) -> Function:
    import scipy.optimize

    return original(getattr(scipy.optimize, name))  # type: ignore[no-any-return]


def _of_arrays(function: Function) -> Function:
    """Return a function of arrays that returns arrays, where it sees Tensors as global variables."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        value = array_of(function(*args))
        return value.data if is_tensor(value) else value

    return call


def _root_of(func: Function, start: Any, args: Any, find: Function, has_aux: bool = False) -> Any:
    """Return the root that a search finds, with derivatives.

    Parameters
    ----------
    func
        The function whose root it is, of the unknown and further arguments, which may close over Tensors.
    start, args
        Where the search starts; further arguments.
    find
        Takes a function, the start and arguments, all of plain numbers; returns the root, with a dict of numbers if
        `has_aux`.
    """
    function, args = lifted(func, args if isinstance(args, tuple) else (args,))
    solver = functools.partial(find, _of_arrays(function))
    return custom_root(function, has_aux, record=False)(solver)(start, *args)


def _bracketing(name: str) -> Function:
    """Return a solver of SciPy's that takes a bracket."""

    def solve(f: Function, a: Any, b: Any, args: Any = (), **options: Any) -> Any:
        def find(f: Function, ends: Any, *args: Any) -> Any:
            return _scipys(name)(f, *ends, args, **options)

        return _root_of(f, (a, b), args, find)

    return solve


def _slope(f: Any, fprime: Any) -> Any:
    """Return the exact derivative of a function, element by element, where the user gives one."""
    return grad(lambda x, *args: np.sum(f.__wrapped__(x, *args))) if fprime else None


def root_scalar(f: Function, args: Any = (), method: Any = None, fprime: Any = None, **options: Any) -> Any:
    """Find a root of a function of one number."""
    from scipy.optimize import OptimizeResult

    start = {name: options.pop(name) for name in ("bracket", "x0", "x1") if name in options}

    def find(f: Function, start: Any, *args: Any) -> Any:
        found = _scipys("root_scalar")(f, args, method, fprime=_slope(f, fprime), **start, **options)
        return found.root, {name: found[name] for name in ("converged", "iterations", "function_calls")}

    x, report = _root_of(f, start, args, find, has_aux=True)
    return OptimizeResult(root=x, **report)


def newton(
    func: Function, x0: Any, fprime: Any = None, args: Any = (), tol: float = 1.48e-8, maxiter: int = 50
) -> Any:
    """Find roots of a function, element by element, by Newton's method or secants."""

    def find(f: Function, start: Any, *args: Any) -> Any:
        return _scipys("newton")(f, start, _slope(f, fprime), args, tol, maxiter)

    return _root_of(func, x0, args, find)


def fsolve(func: Function, x0: Any, args: Any = (), fprime: Any = None, xtol: float = 1.49012e-8) -> Any:
    """Solve a system of equations, whose Jacobian is computed where derivatives are."""

    def find(f: Function, start: Any, *args: Any) -> Any:
        return _scipys("fsolve")(f, np.atleast_1d(start), args, xtol=xtol)

    return _root_of(func, x0, args, find)


def _without_derivatives(solver: Function, **settings: Any) -> Function:
    """Return a solver of ours that takes the arguments of SciPy's, and computes the derivatives that these give."""

    def solve(
        fun: Function, x0: Any, *, jac: Any = None, hess: Any = None, hessp: Any = None, **options: Any
    ) -> Any:
        given = {"jac": jac} if jac is True else {}  # refused: the function returns more than its value
        return solver(fun, x0, **options, **given, **settings)

    return solve


def minimize_scalar(
    fun: Function, bracket: Any = None, bounds: Any = None, args: Any = (), method: Any = None, **options: Any
) -> Any:
    """Minimise a function of one number. At a bound the solution is constant."""
    function, args = lifted(fun, args if isinstance(args, tuple) else (args,))
    limits = None if bounds is None else tuple(map(float, bounds))

    def search(start: Any, *args: Any) -> Any:
        by_arrays = _of_arrays(function)
        found = _scipys("minimize_scalar")(by_arrays, bracket, limits, args, method, **options)
        for end in limits or ():  # the search never tries the ends
            if abs(found.x - end) < _NEAR * max(1.0, abs(end)) and by_arrays(end, *args) <= found.fun:
                found.x = end
        return found

    stated = known(function, (args, {}), "minimize_scalar")
    rules = stated.once(("rules", limits), dict[Any, Any])
    result = minimum("minimize_scalar", search, stated.stated, 0.0, args, True, rules, limits)
    result["fun"] = stated.stated(result.x, *args)
    return result


SOLVERS = named(fsolve, minimize_scalar, newton, root_scalar, optimize.fixed_point) | {
    **{name: _bracketing(name) for name in ("bisect", "brenth", "brentq", "ridder", "toms748")},
    "root": _without_derivatives(optimize.root),
    "minimize": _without_derivatives(optimize.minimize, differentiable=True),
    "least_squares": _without_derivatives(optimize.least_squares, differentiable=True),
}
