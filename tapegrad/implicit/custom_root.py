"""`custom_root` and `custom_argmin`: solvers whose results have the derivatives of what they solve."""

import functools
from collections.abc import Callable
from typing import Any, Literal

from tapegrad.errors import check_function, name_of
from tapegrad.frontend.tensor.copying import FunctionWrapper, described
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.implicit.direct import DirectSystem
from tapegrad.implicit.equation import System
from tapegrad.implicit.iterative import IterativeSystem
from tapegrad.implicit.known import known, lifted
from tapegrad.implicit.solutions import Formulation, Solution, with_derivatives
from tapegrad.implicit.solver_calls import called
from tapegrad.transforms.grad import grad
from tapegrad.transforms.stop_gradient import stop_gradient


class ImplicitFunction(FunctionWrapper):
    """Solver whose results have derivatives; made by `custom_root` and `custom_argmin`.

    Attributes
    ----------
    formulation
        What it solves.
    has_aux
        Whether it returns a pair.
    record
        See `custom_root`.
    """

    def __init__(
        self, function: Callable[..., Any], formulation: Formulation, has_aux: bool, record: bool | None
    ) -> None:
        check_function(formulation.name, function)
        self.function, self.formulation, self.has_aux, self.record = function, formulation, has_aux, record
        functools.update_wrapper(self, function, updated=())

    @property
    def settings(self) -> tuple[Any, ...]:
        return self.formulation, self.has_aux, self.record

    def __repr__(self) -> str:
        name, stated, *_ = self.formulation
        return f"{name}({name_of(stated)})({described(self.function)})"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @hides_frames
    def __call__(self, x0: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the solver. The derivatives of what it returns are those of a solution of its equations."""
        name = f"{self.formulation.name}({name_of(self.function)})"
        returned = called(name, self.function, (x0, *args), kwargs, self.record)
        x, aux = self._pair(returned) if self.has_aux else (returned, None)
        stated, args = lifted(self.formulation.stated, args)
        function = known(stated, (args, kwargs), (self.formulation.name, self.formulation.system))
        formulation = formulated(self.formulation.name, function.stated, self.formulation.system)
        solution = Solution(name, formulation, x, args, kwargs)
        found = with_derivatives(solution, function.once("rules", dict[Any, Any]))
        return (found, stop_gradient(aux)) if self.has_aux else found

    def _pair(self, returned: Any) -> tuple[Any, Any]:
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"{self.formulation.name}: {name_of(self.function)} returned {type(returned).__name__}, but with"
                " has_aux=True it must return a pair (x, aux)"
            )
        return returned


# --- the decorators ------------------------------------------------------------------------------------------------

Decorator = Callable[[Callable[..., Any]], ImplicitFunction]


def custom_root(
    residual: Callable[..., Any],
    has_aux: bool = False,
    solve: Literal["auto", "gmres", "cg"] = "auto",
    record: bool | None = None,
) -> Decorator:
    """Make a decorator of solvers of equations: what they return has the derivatives of a solution.

    Parameters
    ----------
    residual : callable
        ``residual(x, *args, **kwargs)`` is zero at a solution `x`: an array, or a structure of arrays, of as many
        numbers as `x`. It is differentiated, and must be pure. It may close over Tensors.
    has_aux : bool, default False
        Whether the solver returns a pair of the solution and of anything else, which is not differentiated.
    solve : {"auto", "gmres", "cg"}
        How systems with the Jacobian of `residual` by `x` are solved. By default by its factors: LU, dense, or SuperLU
        where its pattern, which is detected, is sparse. "gmres" takes products with it alone, for many unknowns; "cg"
        as well, if it is symmetric and positive definite.
    record : bool, optional
        Whether a recording, such as `jit` makes, has the instructions of the solver. Otherwise the solver is one
        instruction, which calls Python. By default it is recorded if it runs a `while_loop`, or another loop of
        tapegrad's, and takes no branch of Python by a value.

    Returns
    -------
    callable
        Decorator of a function ``solver(x0, *args, **kwargs)`` of any kind: one of SciPy's, compiled by Numba, or one's
        own. It is called with arrays in place of Tensors; where it is recorded, with Tensors. It returns the solution,
        an array, a number or a structure of them; the decorated one returns Tensors if it is given some. There is no
        derivative by `x0`.

    Raises
    ------
    LinAlgError
        By derivatives, if the Jacobian by `x` is singular at the solution.
    ValueError
        If there are not as many equations as unknowns, or `solve` is something else.

    See Also
    --------
    custom_argmin : For minima.
    custom_op : Ops with derivatives by rules of one's own.

    Notes
    -----
    By the implicit function theorem, the tangent is ``x_dot = -A**-1 F_p p_dot`` and the cotangent
    ``p_bar = -F_p.T A**-T x_bar``, with the Jacobians `A` by `x` and ``F_p`` by the arguments of the residual at the
    solution that was returned [1]_ [2]_: how that was found makes no difference. So derivatives are as exact as the
    solution. They are rules on Tensors, and have derivatives of all orders; in a replay they are compiled.

    References
    ----------
    .. [1] B. Christianson, "Reverse accumulation and attractive fixed points", Optimization Methods and Software 3,
       1994.
    .. [2] M. Blondel et al., "Efficient and modular implicit differentiation", NeurIPS 2022.

    Examples
    --------
    >>> import tapegrad as tg
    >>> from scipy.optimize import brentq
    >>> @tg.custom_root(lambda x, a: x**3 + a * x - 2)
    ... def cubic(x0, a):
    ...     return brentq(lambda x: x**3 + a * x - 2, -10, 10)
    >>> cubic(0.0, 1.0)
    1.0
    >>> tg.grad(cubic, argnums=1)(0.0, 1.0)
    np.float64(-0.25)
    """
    check_function("custom_root", residual)
    formulation = formulated("custom_root", residual, system_of("custom_root", solve, False))
    return lambda solver: ImplicitFunction(solver, formulation, bool(has_aux), record)


def custom_argmin(
    objective: Callable[..., Any],
    has_aux: bool = False,
    solve: Literal["auto", "gmres", "cg"] = "auto",
    record: bool | None = None,
) -> Decorator:
    """Make a decorator of solvers that minimise: what they return has the derivatives of a minimum.

    Parameters
    ----------
    objective : callable
        ``objective(x, *args, **kwargs)``, one number, is least at a solution `x`, and its gradient is zero there. With
        bounds or constraints, pass the conditions for a minimum to `custom_root`.
    has_aux : bool, default False
        Whether the solver returns a pair of the solution and of anything else, which is not differentiated.
    solve : {"auto", "gmres", "cg"}
        How systems with the Hessian are solved. By default by its Cholesky factor, dense, or sparse where its pattern,
        which is detected, is; by LU factors, with a warning, if it is not positive definite. "gmres" and "cg" take
        products with it alone.
    record : bool, optional
        As of `custom_root`.

    Returns
    -------
    callable
        Decorator of a function ``solver(x0, *args, **kwargs)``, as `custom_root` describes it.

    Raises
    ------
    LinAlgError
        By derivatives, if the Hessian is singular at the solution.
    ValueError
        If `solve` is something else.

    Warns
    -----
    RuntimeWarning
        By derivatives, if the Hessian is not positive definite.

    See Also
    --------
    custom_root : For equations.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> from scipy.optimize import minimize
    >>> @tg.custom_argmin(lambda x, a: tg.sum(x**4 / 4 - a * x))
    ... def cube_root(x0, a):
    ...     return minimize(lambda x: np.sum(x**4 / 4 - a * x), x0, jac=lambda x: x**3 - a, tol=1e-12).x
    >>> tg.grad(lambda a: tg.sum(cube_root(np.ones(1), a)))(8.0).round(6)
    np.float64(0.083333)
    """
    check_function("custom_argmin", objective)
    formulation = formulated("custom_argmin", objective, system_of("custom_argmin", solve, True))
    return lambda solver: ImplicitFunction(solver, formulation, bool(has_aux), record)


def formulated(name: str, stated: Callable[..., Any], system: System) -> Formulation:
    """Return the equations of `custom_root` or `custom_argmin` for a function of the user's."""
    return Formulation(name, stated, grad(stated) if name == "custom_argmin" else stated, system)


def system_of(name: str, solve: Any, is_symmetric: bool) -> System:
    """Return the solver of linear systems for the argument `solve`."""
    if solve == "auto":
        return DirectSystem(is_symmetric)
    if solve in ("gmres", "cg"):
        return IterativeSystem(name, solve)
    raise ValueError(f"{name}: solve={solve!r}; it must be 'auto', 'gmres' or 'cg'")
