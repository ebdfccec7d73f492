"""Solvers of `scipy.optimize` for functions of Tensors: SciPy's search on arrays, and implicit derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import optimize
from tapegrad.errors import UnsupportedError
from tapegrad.foreign import original
from tapegrad.implicit.custom_root import custom_root
from tapegrad.implicit.known import known, lifted
from tapegrad.optimize.solutions.minima import minimum
from tapegrad.transforms.grad import grad

Function = Callable[..., Any]


def _scipys(name: str) -> Function:
    import scipy.optimize

    return original(getattr(scipy.optimize, name))  # type: ignore[no-any-return]


def _tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


class _Search:
    """Search of a root on arrays.

    Parameters
    ----------
    name
        SciPy's function.
    function
        The function whose root it is, of the unknown and further arguments.
    find
        Takes the function, the start and a tuple of arguments; returns the root, and a dict of numbers.
    """

    def __init__(self, name: str, function: Function, find: Function) -> None:
        self.__name__, self._function, self._find = name, function, find

    def __call__(self, start: Any, *args: Any) -> Any:
        return self._find(self._function, start, args)


def _root_of(name: str, func: Function, start: Any, args: Any, find: Function) -> Any:
    """Return the root that a search finds, with derivatives, and what the search tells."""
    function, args = lifted(func, _tuple(args))
    solver = custom_root(function, has_aux=True, record=False)
    return solver(_Search(f"scipy.optimize.{name}", function, find))(start, *args)


def _report(found: Any) -> dict[str, Any]:
    names = ("converged", "iterations", "function_calls")
    return {name: getattr(found, name) for name in names}


def _bracketing(name: str) -> Function:
    """Return a solver of SciPy's that takes a bracket."""

    def solve(f: Function, a: Any, b: Any, args: Any = (), full_output: bool = False, **options: Any) -> Any:
        def find(f: Function, ends: Any, args: Any) -> tuple[Any, Any]:
            x, found = _scipys(name)(f, *ends, args, full_output=True, **options)
            return x, _report(found)

        x, report = _root_of(name, f, (a, b), args, find)
        return (x, _result(root=x, **report)) if full_output else x

    return solve


def _result(**items: Any) -> Any:
    from scipy.optimize import OptimizeResult

    return OptimizeResult(items)


def _slope(f: Function, fprime: Any) -> dict[str, Any]:
    """Return the exact derivative of a function, element by element, where the user gives one."""
    if fprime is True:
        raise UnsupportedError(
            "scipy.optimize.root_scalar: fprime=True is not for functions of Tensors; return the value alone: the"
            " derivative is computed"
        )
    slope = grad(lambda x, *args: np.sum(f(x, *args)))
    return {"fprime": slope} if fprime else {}


def root_scalar(
    f: Function, args: Any = (), method: Any = None, fprime: Any = None, fprime2: Any = None, **options: Any
) -> Any:
    """Find a root of a function of one number, without the second derivative."""
    method = "newton" if method == "halley" else method
    start = {name: options.pop(name) for name in ("bracket", "x0", "x1") if name in options}

    def find(f: Function, start: Any, args: Any) -> tuple[Any, Any]:
        found = _scipys("root_scalar")(f, args, method, **start, **_slope(f, fprime), **options)
        return found.root, _report(found)

    x, report = _root_of("root_scalar", f, start, args, find)
    return _result(root=x, **report)


def newton(
    func: Function, x0: Any, fprime: Any = None, args: Any = (), fprime2: Any = None, **options: Any
) -> Any:
    """Find roots of a function, element by element, by Newton's method or secants."""

    def find(f: Function, start: Any, args: Any) -> tuple[Any, Any]:
        return _scipys("newton")(f, start, args=args, **_slope(f, fprime), **options), {}

    return _root_of("newton", func, x0, args, find)[0]


def fsolve(func: Function, x0: Any, args: Any = (), fprime: Any = None, **options: Any) -> Any:
    """Solve a system of equations, whose Jacobian is computed where derivatives are."""

    def find(f: Function, start: Any, args: Any) -> tuple[Any, Any]:
        return _scipys("fsolve")(f, np.atleast_1d(start), args, **options), {}

    if options.get("full_output"):
        raise UnsupportedError(
            "scipy.optimize.fsolve: full_output is not for Tensors; write scipy.optimize.root"
        )
    return _root_of("fsolve", func, x0, args, find)[0]


class _Value:
    """Function without the derivative that it returns as well."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def __call__(self, x: Any, *args: Any) -> Any:
        return self._function(x, *args)[0]


def _value_alone(fun: Function, args: Any, jac: Any) -> tuple[Function, tuple[Any, ...]]:
    """Return a function that returns its value alone, and its arguments."""
    if jac is not True:
        return fun, _tuple(args)
    function, args = lifted(fun, _tuple(args))
    return _Value(function), args


def minimize(
    fun: Function, x0: Any, args: Any = (), method: Any = None, jac: Any = None, hess: Any = None, hessp: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """Minimise a function, whose derivatives are computed."""
    fun, args = _value_alone(fun, args, jac)
    return optimize.minimize(fun, x0, args, method, differentiable=True, **options)


def least_squares(fun: Function, x0: Any, jac: Any = None, args: Any = (), **options: Any) -> Any:
    """Solve a least-squares problem, whose Jacobian is computed."""
    return optimize.least_squares(fun, x0, args, differentiable=True, **options)


def root(
    fun: Function, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, **options: Any
) -> Any:
    """Solve a system of equations, whose Jacobian is computed."""
    fun, args = _value_alone(fun, args, jac)
    return optimize.root(fun, x0, args, method, **options)


def minimize_scalar(
    fun: Function, bracket: Any = None, bounds: Any = None, args: Any = (), method: Any = None, **options: Any
) -> Any:
    """Minimise a function of one number. At a bound the solution is constant."""
    function, args = lifted(fun, _tuple(args))
    limits = None if bounds is None else tuple(map(float, bounds))

    def search(start: Any, *args: Any) -> Any:
        found = _scipys("minimize_scalar")(function, bracket, limits, args, method, **options)
        for end in limits or ():  # the search never tries the ends
            if abs(found.x - end) < _NEAR * max(1.0, abs(end)) and function(end, *args) <= found.fun:
                found.x = end
        return found

    stated = known(function, (args, {}), "minimize_scalar")
    rules = stated.once(("rules", limits), dict[Any, Any])
    result = minimum("minimize_scalar", search, stated.stated, 0.0, args, True, rules, limits)
    result["fun"] = stated.stated(result.x, *args)
    return result


_NEAR = 1e-3  # of an end: many tolerances
_BRACKETING = ("bisect", "brenth", "brentq", "ridder", "toms748")
SOLVERS: dict[str, Function] = {
    **{name: _bracketing(name) for name in _BRACKETING},
    **{
        each.__name__: each
        for each in (fsolve, least_squares, minimize, minimize_scalar, newton, root, root_scalar)
    },
    "fixed_point": optimize.fixed_point,
}
