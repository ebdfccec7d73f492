"""`pyomo`: external grey-box models for Pyomo, with sparse Jacobians and Hessians.

Reference: M. Bynum et al., "Pyomo: Optimization Modeling in Python", 3rd edition, Springer, 2021; the interface is that
of PyNumero's `ExternalGreyBoxModel`.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import check_function
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.interop.packages import element_names, needed
from tapegrad.optimize.flat import layout_of
from tapegrad.optimize.problems.functions import ProblemFunctions
from tapegrad.optimize.problems.problem import ConstrainedProblem, problem
from tapegrad.optimize.vector_function import VectorFunction


def pyomo(
    outputs: Callable[..., Any] | ConstrainedProblem | None,
    x0: Any = None,
    equations: Callable[..., Any] | None = None,
    *,
    args: Sequence[Any] = (),
) -> Any:
    """Make a model for Pyomo's `ExternalGreyBoxBlock`.

    Parameters
    ----------
    outputs : callable, ConstrainedProblem or None
        ``outputs(x, *args)`` returns the outputs: an array, a number, or a structure of them. A problem (see
        `tapegrad.optimize.problem`) has its constraints and its objective as outputs, and its limits: minimize
        ``box.outputs["objective"]``.
    x0 : array or structure of arrays and floats
        An example of the inputs, and their initial values where the block makes the variables.
    equations : callable, optional
        ``equations(x, *args)`` returns what is to be zero.
    args : sequence, optional
        Further arguments of both functions.

    Returns
    -------
    pyomo's ExternalGreyBoxModel
        For ``block.set_external_model(model)``. Inputs are named by the elements of `x0` (``x_0`` of an array, the keys
        of a dict), outputs ``y_0`` and equations ``c_0``, or by the keys of what is returned. Jacobians, and the lower
        triangles of Hessians, are exact `scipy.sparse.coo_matrix` of fixed patterns.

    Raises
    ------
    ModuleNotFoundError
        If Pyomo is not installed.
    TypeError
        If there is neither an output nor an equation, or no example of the inputs, or if that is complex.
    ValueError
        If two inputs, outputs or equations would have one name.

    Notes
    -----
    Where linear algebra fails, such as for a matrix that is not positive definite, methods raise Pyomo's
    `PyNumeroEvaluationError`, upon which its interface to cyipopt takes a shorter step.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> model = tg.interop.pyomo(lambda x: [x[0] * x[1], np.exp(x[1])], np.ones(2))  # doctest: +SKIP
    >>> m.box = ExternalGreyBoxBlock()  # doctest: +SKIP
    >>> m.box.set_external_model(model)  # doctest: +SKIP
    >>> m.limit = pyo.Constraint(expr=m.box.outputs["y_0"] + m.z >= 1)  # doctest: +SKIP
    """
    needed("pyomo", "pyomo")
    if isinstance(outputs, ConstrainedProblem):
        if x0 is not None or equations is not None or args:
            raise TypeError("interop.pyomo: a problem has its own x0 and args: tg.interop.pyomo(problem)")
        limits = [np.array([*own, free]) for own, free in ((outputs.cl, -np.inf), (outputs.cu, np.inf))]
        return _model_class()(_with_objective(outputs), None, ((outputs.lb, outputs.ub), limits))
    functions = [each for each in (outputs, equations) if each is not None]
    if not functions or x0 is None:
        raise TypeError(
            "interop.pyomo takes outputs or equations, and x0: tg.interop.pyomo(f, x0, equations)"
        )
    if layout_of(x0).has_complex:
        raise TypeError("interop.pyomo: inputs are real: pass z.view(float) as x0; z is x.view(complex) in f")
    for each in functions:
        check_function("interop.pyomo", each)
    parts = [each and problem(_zero, x0, each, args=tuple(args)) for each in (outputs, equations)]
    return _model_class()(*parts, (None, None))


def _zero(x: Any, *args: Any) -> float:
    return 0.0


def _with_objective(source: ConstrainedProblem) -> ConstrainedProblem:
    """Return a problem whose constraints are those of another one, and its objective behind them."""
    objective, _, constraints, *_ = source._given  # noqa: SLF001  it has no other name
    given = {"objective": objective, "constraints": constraints if source.m else None}
    functions: dict[str, Any] = {
        name: f.function if isinstance(f, VectorFunction) else f for name, f in given.items() if f is not None
    }

    def outputs(x: Any, *args: Any) -> dict[str, Any]:
        return {name: f(x, *args) for name, f in functions.items()}

    return problem(_zero, source.unravel(source.x0), outputs, args=source.args)


class GreyBoxPart:
    """Outputs or equations of a model: the constraints of a problem at a vector, as Pyomo takes them.

    Parameters
    ----------
    source
        The problem.
    """

    def __init__(self, source: ConstrainedProblem) -> None:
        self.args, self.x0 = source.args, source.x0
        self.functions: ProblemFunctions = source._functions  # noqa: SLF001  it has no other name
        self.functions.structures(self.x0, self.args, exact=True, anew=True)  # records, before a solver asks

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the constraints."""
        return np.array(self._evaluated(self.functions.constraints, x))

    def jacobian(self, x: np.ndarray) -> Any:
        """Return their Jacobian."""
        entries = self._evaluated(self.functions.jacobian, x)
        places = self.functions.jacobian_structure(x, self.args, anew=False)
        return _matrix(entries, places, (self.functions.m, self.functions.n))

    def hessian(self, x: np.ndarray, multipliers: np.ndarray) -> Any:
        """Return the lower triangle of the Hessian of their sum with multipliers."""
        entries = self._evaluated(self.functions.hessian, multipliers, 1.0, x)
        return _matrix(entries, self.functions.hessian.known, (self.functions.n,) * 2)

    def _evaluated(self, function: Callable[..., Any], *values: Any) -> np.ndarray:
        """Call a function; failures of linear algebra are Pyomo's failed evaluations."""
        try:
            found: np.ndarray = function(*values, *self.args)
        except np.linalg.LinAlgError as error:
            raise needed("pyomo.contrib.pynumero.exceptions", "pyomo").PyNumeroEvaluationError(
                str(error)
            ) from error
        return found


def _matrix(entries: np.ndarray, places: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import coo_matrix

    return coo_matrix((entries, places), shape)


def _names(layout: LeafLayout, root: str) -> list[str]:
    """Return a name for each element of a structure, which Pyomo has in a set."""
    names = element_names(layout.split(np.zeros(layout.size)), layout.shapes, root)
    if len(set(names)) != layout.size:
        raise ValueError(
            f"interop.pyomo: {', '.join(names)} are names of several numbers; give the keys other names"
        )
    return names


def _initialize(variables: Any, values: np.ndarray, limits: tuple[np.ndarray, np.ndarray] | None) -> None:
    """Give variables without a value one, and all of them limits that are finite."""
    for number, variable in enumerate(variables.values()):
        if variable.value is None:
            variable.value = float(values[number])
        if limits is not None:
            lower, upper = (float(each[number]) for each in limits)
            variable.setlb(lower if np.isfinite(lower) else variable.lb)
            variable.setub(upper if np.isfinite(upper) else variable.ub)


@functools.cache
def _model_class() -> Any:
    """Return the class of models, whose base Pyomo has."""
    base: Any = needed("pyomo.contrib.pynumero.interfaces.external_grey_box", "pyomo").ExternalGreyBoxModel

    class GreyBox(base):  # type: ignore[misc]  # the other package has no types
        """Grey-box model with replayed functions; made by `tapegrad.interop.pyomo`."""

        def __init__(self, outputs: Any, equations: Any, limits: tuple[Any, ...]) -> None:
            self._outputs, self._equations = (
                source and GreyBoxPart(source) for source in (outputs, equations)
            )
            self._part, self._limits = self._outputs or self._equations, limits
            self._x = self._part.x0
            self.set_output_constraint_multipliers(np.zeros(self.n_outputs()))
            self.set_equality_constraint_multipliers(np.zeros(self.n_equality_constraints()))

        def input_names(self) -> list[str]:
            return _names(self._part.functions.layout, "x")

        def output_names(self) -> list[str]:
            return _names(self._outputs.functions.constraint_layout, "y") if self._outputs else []

        def equality_constraint_names(self) -> list[str]:
            return _names(self._equations.functions.constraint_layout, "c") if self._equations else []

        def finalize_block_construction(self, pyomo_block: Any) -> None:
            """Give variables without a value that at the example, and those of a problem its limits."""
            _initialize(pyomo_block.inputs, self._x, self._limits[0])
            if self._outputs:
                _initialize(pyomo_block.outputs, self._outputs.values(self._x), self._limits[1])

        def set_input_values(self, input_values: Any) -> None:
            self._x = np.array(input_values, float)

        def set_output_constraint_multipliers(self, output_con_multiplier_values: Any) -> None:
            self._of_outputs = np.array(output_con_multiplier_values, float)

        def set_equality_constraint_multipliers(self, eq_con_multiplier_values: Any) -> None:
            self._of_equations = np.array(eq_con_multiplier_values, float)

        def evaluate_outputs(self) -> np.ndarray:
            return self._outputs.values(self._x)

        def evaluate_jacobian_outputs(self) -> Any:
            return self._outputs.jacobian(self._x)

        def evaluate_hessian_outputs(self) -> Any:
            return self._outputs.hessian(self._x, self._of_outputs)

        def evaluate_equality_constraints(self) -> np.ndarray:
            return self._equations.values(self._x)

        def evaluate_jacobian_equality_constraints(self) -> Any:
            return self._equations.jacobian(self._x)

        def evaluate_hessian_equality_constraints(self) -> Any:
            return self._equations.hessian(self._x, self._of_equations)

    return GreyBox
