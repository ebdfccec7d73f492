"""`custom_root` and `custom_argmin`: solvers whose results have the derivatives of what they solve."""

import functools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout, joined, taken_apart
from tapegrad.frontend.tensor.copying import FunctionWrapper, described
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.implicit.direct import DirectSystem
from tapegrad.implicit.eager_root import RuleCalls, eager_root
from tapegrad.implicit.equation import Equation, System
from tapegrad.implicit.iterative import IterativeSystem
from tapegrad.implicit.recorded_root import implied
from tapegrad.implicit.solver_calls import call_on_arrays, call_recorded
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.grad import grad
from tapegrad.transforms.stop_gradient import stop_gradient


class Formulation(NamedTuple):
    """Equations that a solver solves, as the user has stated them.

    Attributes
    ----------
    name
        The public function, for messages.
    stated
        The user's function.
    residual
        What is zero at a solution: a function of the solution and the arguments of the solver after the first.
    system
        Solves with the Jacobian.
    """

    name: str
    stated: Callable[..., Any]
    residual: Callable[..., Any]
    system: System


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
        self._calls: dict[Any, RuleCalls] = {}
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
        if is_recording():
            returned = call_recorded(name, self.function, (x0, *args), kwargs, self.record)
        else:
            returned = call_on_arrays(name, self.function, (x0, *args), kwargs)
        x, aux = self._pair(returned) if self.has_aux else (returned, None)
        found = self._with_derivatives(_Solution(name, self.formulation, x, args, kwargs))
        return (found, stop_gradient(aux)) if self.has_aux else found

    def _pair(self, returned: Any) -> tuple[Any, Any]:
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"{self.formulation.name}: {name_of(self.function)} returned {type(returned).__name__}, but with"
                " has_aux=True it must return a pair (x, aux)"
            )
        return returned

    def _with_derivatives(self, solution: "_Solution") -> Any:
        """Return a solution as Tensors, or as it was returned if nothing is differentiated."""
        equation, operands = solution.equation, solution.operands
        if is_recording() or solution.closes_over_tensors():
            root = implied(equation, solution.root, operands, self.formulation.stated)
        elif operands:
            calls = self._rules_of(solution)
            root = eager_root(equation, calls, solution.others, solution.root, operands)
        else:
            return solution.as_returned()
        return solution.layout.split(root)

    def _rules_of(self, solution: "_Solution") -> RuleCalls:
        """Return the rules for solutions of a layout."""
        if solution.layout not in self._calls:
            self._calls[solution.layout] = RuleCalls(self.formulation.stated, solution.equation_of)
        return self._calls[solution.layout]


class _Solution:
    """Solution that a solver has returned, as the root of an equation of vectors.

    Attributes
    ----------
    root, layout
        The solution as a vector, and its structure.
    operands
        Leaves of the arguments that the root is differentiated by.
    others
        The arguments with `None` in place of operands, and how to put these back.
    equation_of, equation
        Makes the equation for some values of the arguments that are no operands; the equation for these.
    """

    def __init__(self, name: str, formulation: Formulation, x: Any, args: Any, kwargs: Any) -> None:
        given, definition = flatten((args, kwargs))
        self._x, self._has_tensors = x, any(map(is_tensor, given))
        leaves, self.layout = taken_apart(_constant(x), f"{formulation.name}: the solution x")
        dtype = np.result_type(*self.layout.dtypes) if leaves else np.dtype(float)
        self.root = joined(leaves, dtype)
        is_operand = _may_vary if is_recording() else _is_differentiated
        by = tuple(k for k, leaf in enumerate(given) if is_operand(leaf))
        self.operands = [given[k] for k in by]
        rest = [None if k in by else _kept(leaf) for k, leaf in enumerate(given)]
        self.others = unflatten(definition, rest), _Static((definition, by))
        self.equation_of = _equations(name, formulation, self.layout)
        self.equation = self.equation_of(self.others)

    def closes_over_tensors(self) -> bool:
        """Return whether the residual computes with Tensors that are not arguments, and gradients may flow to them."""
        if not thread.mode.differentiate:
            return False
        found = self.equation.residual(self.root, *stop_gradient(self.operands))
        return is_tensor(found) and not found.constant

    def as_returned(self) -> Any:
        """Return the solution as the solver has returned it, as Tensors if there were some among the arguments."""
        return self.layout.split(from_array(self.root, constant=True)) if self._has_tensors else self._x


def _equations(name: str, formulation: Formulation, layout: LeafLayout) -> Callable[[Any], Equation]:
    """Return what makes the equation of vectors, given the arguments that are no operands."""

    def equation_of(others: Any) -> Equation:
        rest, static = others
        definition, by = static.value
        leaves = flatten(rest)[0]

        def residual(root: Any, *operands: Any) -> Any:
            full = dict(zip(by, operands, strict=True))
            args, kwargs = unflatten(definition, [full.get(k, leaf) for k, leaf in enumerate(leaves)])
            value = formulation.residual(layout.split(root), *args, **kwargs)
            return _vector(formulation, value, layout, root.dtype)

        return Equation(name, residual, formulation.system)

    return equation_of


def _kept(leaf: Any) -> Any:
    """Return a leaf for use in derivatives: of an array, which may be written to until then, a copy."""
    return leaf.copy() if isinstance(leaf, np.ndarray) and not is_recording() else leaf


def _constant(x: Any) -> Any:
    """Return a solution as arrays, while recording as constant Tensors."""
    leaves, definition = flatten(stop_gradient(x))
    if not is_recording():
        leaves = [leaf.data_or_traced() if is_tensor(leaf) else leaf for leaf in leaves]
    return unflatten(definition, leaves)


def is_recording() -> bool:
    """Return whether a function is being recorded."""
    return thread.mode.recorder is not None


class _Static:
    """Value that recordings are told apart by, by its hash."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def _may_vary(leaf: Any) -> bool:
    """Return whether a leaf of the arguments may be another one in the next replay."""
    return (is_tensor(leaf) or isinstance(leaf, np.ndarray)) and leaf.dtype.kind == "f"


def _is_differentiated(leaf: Any) -> bool:
    return is_tensor(leaf) and not leaf.constant


def _vector(formulation: Formulation, value: Any, layout: LeafLayout, dtype: Any) -> Any:
    """Return a residual as a vector, of as many elements as the solution has."""
    leaves, own = taken_apart(value, f"{formulation.name}: the residual")
    if own.size != layout.size:
        raise ValueError(
            f"{formulation.name}: {name_of(formulation.stated)} must return as many numbers as there are unknowns, but"
            f" returned {own.size} ({own}) for {layout.size} unknowns ({layout})"
        )
    return joined(leaves, dtype)


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
    formulation = Formulation("custom_root", residual, residual, _system("custom_root", solve, False))
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
    system = _system("custom_argmin", solve, True)
    formulation = Formulation("custom_argmin", objective, grad(objective), system)
    return lambda solver: ImplicitFunction(solver, formulation, bool(has_aux), record)


def _system(name: str, solve: Any, is_symmetric: bool) -> System:
    if solve == "auto":
        return DirectSystem(is_symmetric)
    if solve in ("gmres", "cg"):
        return IterativeSystem(name, solve)
    raise ValueError(f"{name}: solve={solve!r}; it must be 'auto', 'gmres' or 'cg'")
