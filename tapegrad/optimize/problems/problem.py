"""`problem`: an objective and constraints with sparse derivatives, for interior-point solvers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.errors import GrownStructureError, check_function
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.optimize.arguments import further, with_parameters
from tapegrad.optimize.flat import raveled, raveled_numbers, unraveled
from tapegrad.optimize.objective import Objective, objective
from tapegrad.optimize.problems import ipopt
from tapegrad.optimize.problems.functions import ProblemFunctions
from tapegrad.optimize.problems.limits import limits_of_constraints, limits_of_variables
from tapegrad.optimize.searches.interruption import MESSAGE, MINIMIZE_STATUS
from tapegrad.optimize.vector_function import VectorFunction
from tapegrad.transforms.jit import Jit, jit

_FLOAT = np.dtype(np.float64)
_MAX_RUNS = 2  # that are kept, such as one for cold starts and one for warm ones


class ConstrainedProblem:
    """Objective and constraints as interior-point solvers call them; made by `problem`.

    Attributes
    ----------
    n, m : int
        Number of variables, and of constraints.
    lb, ub : numpy.ndarray, shape (n,)
        Limits of the variables. All limits may be written to, for the next solve.
    cl, cu : numpy.ndarray, shape (m,)
        Limits of the constraints.
    args : tuple
        Further arguments of both functions, which may be replaced.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> P = tg.optimize.problem(lambda x: tg.sum(x**4), np.ones(3), lambda x: x[1:] * x[:-1], constraint_bounds=(1, 1))
    >>> P
    <problem of 3 variables and 2 constraints>
    >>> P.jacobianstructure()
    (array([0, 0, 1, 1], dtype=int32), array([0, 1, 1, 2], dtype=int32))
    >>> P.jacobian(np.array([1.0, 2.0, 3.0]))
    array([2., 1., 3., 2.])
    """

    def __init__(
        self,
        f: Callable[..., Any] | Objective,
        x0: Any,
        g: Callable[..., Any] | None,
        bounds: Any,
        constraint_bounds: Any,
        args: Any,
    ) -> None:
        self.args = further(args)
        self._given = f, x0, g, bounds, constraint_bounds
        target = objective(f, x0)
        self._x0 = raveled_numbers(x0, target.layout)
        self._functions = ProblemFunctions(target, _recorded(g), self._x0, self.args)
        self.n, self.m = self._functions.n, self._functions.m
        self._shape = (self.n,)
        self.lb, self.ub = limits_of_variables(bounds, self._layout)
        self.cl, self.cu = limits_of_constraints(constraint_bounds, self._functions.constraint_layout)
        self._runs: dict[Any, ipopt.IpoptRun] = {}  # by their options, limits and structures

    def __reduce__(self) -> Any:
        limits = {name: getattr(self, name) for name in ("lb", "ub", "cl", "cu")}
        return type(self), (*self._given, self.args), limits

    def __repr__(self) -> str:
        return f"<problem of {self.n} variables and {self.m} constraints>"

    @property
    def _layout(self) -> LeafLayout:
        return self._functions.layout

    @property
    def x0(self) -> np.ndarray:
        """The starting point as a new vector."""
        return self._x0.copy()

    def ravel(self, structure: Any) -> Any:
        """Return a structure like `x0` as a new vector of float64.

        Parameters
        ----------
        structure
            Of the structure of `x0`.

        Returns
        -------
        numpy.ndarray, shape (n,)
            The leaves one after the other, each in C order.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.optimize.problem(lambda p: p["a"] * p["b"], {"a": 1.0, "b": 2.0}).ravel({"b": 4.0, "a": 3.0})
        array([3., 4.])
        """
        return raveled(structure, self._layout)

    def unravel(self, vector: Any) -> Any:
        """Return a vector as a structure like `x0`.

        Parameters
        ----------
        vector : array_like, shape (n,)
            The leaves one after the other.

        Returns
        -------
        structure
            Arrays of the shapes and dtypes of the leaves of `x0`.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.optimize.problem(lambda p: p["a"] * p["b"], {"a": 1.0, "b": 2.0}).unravel([3.0, 4.0])
        {'a': np.float64(3.0), 'b': np.float64(4.0)}
        """
        return unraveled(vector, self._layout)

    # --- what solvers call -----------------------------------------------------------------------------------------

    def objective(self, x: Any) -> float:
        """Return the objective.

        Parameters
        ----------
        x : array_like, shape (n,)
            The variables.

        Returns
        -------
        float
            The value.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.optimize.problem(lambda x: tg.sum(x**2), [1.0, 2.0]).objective([3.0, 4.0])
        np.float64(25.0)
        """
        return self._functions.value(self._vector(x), *self.args)  # type: ignore[no-any-return]

    def gradient(self, x: Any) -> np.ndarray:
        """Return the gradient of the objective.

        Parameters
        ----------
        x : array_like, shape (n,)
            The variables.

        Returns
        -------
        numpy.ndarray, shape (n,)
            A new vector.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.optimize.problem(lambda x: tg.sum(x**2), [1.0, 2.0]).gradient([3.0, 4.0])
        array([6., 8.])
        """
        return self._functions.gradient(self._vector(x), *self.args)  # type: ignore[no-any-return]

    def constraints(self, x: Any) -> np.ndarray:
        """Return the values of the constraints.

        Parameters
        ----------
        x : array_like, shape (n,)
            The variables.

        Returns
        -------
        numpy.ndarray, shape (m,)
            A new vector.

        Examples
        --------
        >>> import tapegrad as tg
        >>> P = tg.optimize.problem(lambda x: x[0], [1.0, 2.0], lambda x: {"ball": tg.sum(x**2), "sum": x[0] + x[1]})
        >>> P.constraints([3.0, 4.0])
        array([25.,  7.])
        """
        return self._functions.constraints(self._vector(x), *self.args)  # type: ignore[no-any-return]

    def jacobian(self, x: Any) -> np.ndarray:
        """Return the entries of the Jacobian of the constraints, in the order of `jacobianstructure`.

        Parameters
        ----------
        x : array_like, shape (n,)
            The variables.

        Returns
        -------
        numpy.ndarray
            A new vector.

        Raises
        ------
        GrownStructureError
            If the constraints take a branch that they have not taken before, which has entries in other places.

        Examples
        --------
        >>> import tapegrad as tg
        >>> P = tg.optimize.problem(lambda x: tg.sum(x), [1.0, 2.0], lambda x: x[0] * x[1])
        >>> P.jacobian([3.0, 4.0])
        array([4., 3.])
        """
        return self._functions.jacobian(self._vector(x), *self.args)  # type: ignore[no-any-return]

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the entries of the Jacobian are.

        Returns
        -------
        rows, columns : numpy.ndarray
            Row and column of each entry, int32.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.optimize.problem(lambda x: tg.sum(x), [1.0, 2.0], lambda x: x[1] ** 2).jacobianstructure()
        (array([0], dtype=int32), array([1], dtype=int32))
        """
        return self._functions.jacobian_structure(self._x0, self.args)

    def hessian(self, x: Any, lagrange: Any, obj_factor: float) -> np.ndarray:
        """Return the entries of the lower triangle of the Lagrangian's Hessian, in the order of `hessianstructure`.

        Parameters
        ----------
        x : array_like, shape (n,)
            The variables.
        lagrange : array_like, shape (m,)
            The multipliers of the constraints.
        obj_factor : float
            What the objective is multiplied by: the Lagrangian is ``obj_factor * f(x) + lagrange @ g(x)``.

        Returns
        -------
        numpy.ndarray
            A new vector.

        Raises
        ------
        GrownStructureError
            If the functions take a branch that they have not taken before, which has entries in other places.

        Examples
        --------
        >>> import tapegrad as tg
        >>> P = tg.optimize.problem(lambda x: x[0] ** 2, [1.0, 2.0], lambda x: x[0] * x[1])
        >>> P.hessian([3.0, 4.0], [10.0], 1.0)
        array([ 2., 10.])
        """
        multipliers = real(lagrange, "hessian: lagrange")
        if multipliers.shape != (self.m,):
            raise ValueError(
                f"hessian: lagrange has the shape {multipliers.shape}, but there are {self.m} constraints"
            )
        return self._functions.hessian(multipliers, float(obj_factor), self._vector(x), *self.args)

    def hessianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the entries of the lower triangle of the Hessian are.

        Returns
        -------
        rows, columns : numpy.ndarray
            Row and column of each entry, int32.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.optimize.problem(lambda x: x[0] ** 2, [1.0, 2.0], lambda x: x[0] * x[1]).hessianstructure()
        (array([0, 1], dtype=int32), array([0, 0], dtype=int32))
        """
        structure = self._functions.structures(self._x0, self.args, exact=True, anew=True)[1]
        assert structure is not None
        return structure

    def _vector(self, x: Any) -> np.ndarray:
        if type(x) is np.ndarray and x.dtype is _FLOAT and x.shape == self._shape:
            return x
        return raveled_numbers(real(x, "x", None), LeafLayout(None, (self._shape,), (_FLOAT,)))

    # --- Ipopt -----------------------------------------------------------------------------------------------------

    @hides_frames
    def solve(
        self,
        x0: Any = None,
        args: Any = None,
        *,
        warm_start: Any = None,
        callback: Callable[[Any], Any] | None = None,
        progress: bool = True,
        **options: Any,
    ) -> Any:
        """Solve the problem by Ipopt, an interior-point method, where ipyopt is installed.

        Parameters
        ----------
        x0 : array_like or structure of arrays, optional
            Another starting point than that of the problem.
        args : tuple, optional
            Other further arguments of the functions, for this solve.
        warm_start : scipy.optimize.OptimizeResult, optional
            A result of this or of a similar problem: the solve begins with its multipliers and, unless `x0` is given,
            at its ``x``.
        callback : callable, optional
            Called at each iteration with a `scipy.optimize.OptimizeResult`: ``x``, ``fun``, ``nit``, ``violation`` of
            the constraints, ``dual_infeasibility`` and the barrier parameter ``mu``. The search stops where it
            returns `True` or raises `StopIteration`.
        progress : bool, default True
            Whether a line appears after a second on a terminal or in a notebook.
        **options
            Options of Ipopt by their names: ``tol=1e-10``, ``max_iter=100``, ``print_level=5`` for its table of
            iterations, ``mu_strategy="adaptive"``, ``hessian_approximation="limited-memory"``. `True` and `False` are
            "yes" and "no".

        Returns
        -------
        scipy.optimize.OptimizeResult
            ``x`` in the structure of `x0`, ``fun``, the gradient ``jac``, ``success``, ``status`` and ``message``;
            ``constraints``, their values in the structure that they were returned in; ``multipliers`` in the same
            structure, ``lower_multipliers`` and ``upper_multipliers`` of the variables' limits; ``constr_violation``,
            the largest violation of a limit; ``optimality``, the largest element of the Lagrangian's gradient;
            ``nit``, ``nfev``, ``njev``, ``nhev``. ``status`` is Ipopt's: 0 solved, 1 solved to acceptable tolerances,
            2 infeasible, 4 diverging, -1 ``max_iter`` reached, -13 an evaluation that is not finite.

        Raises
        ------
        ModuleNotFoundError
            If ipyopt is not installed.
        ValueError
            For options that Ipopt does not know.

        Notes
        -----
        The gradient of the Lagrangian vanishes at a solution: ``jac + J.T @ multipliers - lower_multipliers +
        upper_multipliers`` is zero for the Jacobian ``J`` of the constraints. The multiplier of a constraint is
        positive where its upper limit holds it, and negative where its lower one does: minus the derivative of the
        optimum by the limit. Those of variables are not negative.

        An infeasible problem has a status, and is no error. An evaluation that is not finite is a failed one to Ipopt,
        which takes a shorter step. Errors that the functions raise are raised here. Ctrl-C ends the solve at the next
        iteration, with status 99; a second one within 2 s raises `KeyboardInterrupt`.

        Branches of the functions may have derivatives with entries in other places. Where one is met that needs more
        entries, Ipopt begins anew from there.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> P = tg.optimize.problem(
        ...     lambda x: x[0] * x[3] * tg.sum(x[:3]) + x[2],
        ...     [1.0, 5.0, 5.0, 1.0],
        ...     lambda x: [tg.prod(x), tg.sum(x**2)],
        ...     bounds=[(1, 5)] * 4,
        ...     constraint_bounds=([25, 40], [np.inf, 40]),
        ... )
        >>> found = P.solve()  # doctest: +SKIP
        >>> found.x.round(4), found.multipliers.round(4)  # doctest: +SKIP
        (array([1.    , 4.743 , 3.8211, 1.3794]), array([-0.5523,  0.1615]))
        """
        anew, args = args is not None, self.args if args is None else further(args)
        options = ipopt.checked_options(options, warm_start is not None)
        start, multipliers = self._start(x0, warm_start)
        totals = dict.fromkeys(("nit", "nfev", "njev", "nhev"), 0)
        while True:
            key, run = self._run(options, start, args, anew)
            run.x[...] = start
            for part, given in zip((run.multipliers, run.lower, run.upper), multipliers, strict=True):
                part[...] = given
            with Progress(progress and not options["print_level"]) as line:
                try:
                    status = run.solve(args, _observer(callback, self._layout), line)
                except GrownStructureError:
                    start, status = run.x.copy(), None
            for name, count in {"nit": run.iterations, **run.counts}.items():
                totals[name] += count
            if status is not None:
                result = self._result(run, status, args)
                self._keep(key, run)
                return with_parameters({**result, **totals}, self.unravel(result["x"]))

    def _start(self, x0: Any, warm_start: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
        """Return the starting point as a vector, and multipliers of constraints, lower and upper limits."""
        if x0 is None:
            x0 = self.unravel(self._x0) if warm_start is None else warm_start.x
        start = raveled_numbers(x0, self._layout)
        if warm_start is None:
            return start, (0.0, 0.0, 0.0)
        limits = (warm_start.lower_multipliers, warm_start.upper_multipliers)
        of_constraints = raveled_numbers(warm_start.multipliers, self._functions.constraint_layout)
        return start, (of_constraints, *(raveled_numbers(each, self._layout) for each in limits))

    def _run(
        self, options: dict[str, Any], start: np.ndarray, args: tuple[Any, ...], anew: bool
    ) -> tuple[Any, ipopt.IpoptRun]:
        """Return Ipopt with these options, and with structures that hold at the start; and a key of it."""
        exact = options.get("hessian_approximation") != "limited-memory"
        structures = self._functions.structures(start, args, exact, anew)
        # Structures grow, or are the same
        sizes = [None if each is None else len(each[0]) for each in structures]
        limits = [np.asarray(each, np.float64) for each in (self.lb, self.ub, self.cl, self.cu)]
        key = (tuple(sorted(options.items())), *sizes, *(each.tobytes() for each in limits))
        # Taken out: a solve within a callback, or in another thread, has one of its own
        run = self._runs.pop(key, None)
        return key, run or ipopt.IpoptRun(self._functions, limits, structures, options)

    def _keep(self, key: Any, run: ipopt.IpoptRun) -> None:
        self._runs[key] = run
        while len(self._runs) > _MAX_RUNS:
            self._runs.pop(next(iter(self._runs)), None)

    def _result(self, run: ipopt.IpoptRun, status: int, args: tuple[Any, ...]) -> dict[str, Any]:
        """Return what is known where a run has ended."""
        x, functions = run.x.copy(), self._functions
        gradient, values = functions.gradient(x, *args), functions.constraints(x, *args)
        rows, columns = functions.jacobian_structure(x, args, anew=status < 0)
        with np.errstate(all="ignore"):  # where Ipopt has begun may be outside of the domain
            products = functions.jacobian(x, *args) * run.multipliers[rows]
            slope = gradient + np.bincount(columns, products, self.n) - run.lower + run.upper
        # Ipopt leaves out variables that are fixed: their multipliers are what the others leave of the gradient
        fixed = (self.lb == self.ub) & (run.lower == 0) & (run.upper == 0)
        lower = np.where(fixed, np.maximum(slope, 0.0), run.lower)
        upper = np.where(fixed, np.maximum(-slope, 0.0), run.upper)
        excess = [self.lb - x, x - self.ub, self.cl - values, values - self.cu, [0.0]]
        if run.was_interrupted and status == ipopt.STOPPED:
            status, message = MINIMIZE_STATUS, MESSAGE
        else:
            message = ipopt.MESSAGES.get(status, f"Ipopt's status {status}")
        return {
            "x": x,
            "success": status in ipopt.GOOD,
            "status": status,
            "message": message,
            "fun": functions.value(x, *args),
            "jac": self.unravel(gradient),
            "constraints": functions.constraint_layout.split(values),
            "multipliers": functions.constraint_layout.split(run.multipliers),
            "lower_multipliers": self.unravel(lower),
            "upper_multipliers": self.unravel(upper),
            "constr_violation": max(np.max(each, initial=0.0) for each in excess),
            "optimality": np.max(np.abs(np.where(fixed, 0.0, slope)), initial=0.0),
        }


def _recorded(g: Any) -> Jit[..., Any] | None:
    """Return the constraints as a ``jit(g)``."""
    if g is None or isinstance(g, Jit):
        return g
    if isinstance(g, VectorFunction):
        return g.function
    check_function("problem", g)
    return jit(g)


def _observer(callback: Callable[[Any], Any] | None, layout: LeafLayout) -> Callable[..., bool] | None:
    """Return what tells a user's callback of an iteration, and returns whether to go on."""
    if callback is None:
        return None

    def observe(x: np.ndarray, mode: int, iteration: int, value: float, *told: float) -> bool:
        violation, dual_infeasibility, mu = told[:3]
        known = {"fun": value, "nit": iteration, "violation": violation, "mu": mu}
        known["dual_infeasibility"] = dual_infeasibility
        try:
            return callback(with_parameters(known, unraveled(x, layout))) is not True
        except StopIteration:
            return False

    return observe


@hides_frames
def problem(
    f: Callable[..., Any] | Objective,
    x0: Any,
    g: Callable[..., Any] | None = None,
    bounds: Any = None,
    constraint_bounds: Any = (0, 0),
    args: Any = (),
) -> ConstrainedProblem:
    """Make what interior-point solvers need of an objective and constraints: values and sparse derivatives, by replay.

    Parameters
    ----------
    f : callable or Objective
        The objective. Takes an array, or a list, tuple or dict of arrays like `x0`, then `args`; returns a scalar.
    x0 : array_like or structure of arrays
        Where to start: a vector, a list of numbers, an array of any shape, or a structure of arrays.
    g : callable, optional
        The constraints. Takes the same arguments, and returns an array of any shape, or a list, tuple or dict of
        arrays; the constraints are all their elements.
    bounds : scipy.optimize.Bounds or sequence, optional
        Limits of the variables: `Bounds`, or a pair ``(lower, upper)`` for each element of `x0`, with `None` for no
        limit, or, if `x0` is a structure, a single pair of structures like it.
    constraint_bounds : pair, default (0, 0)
        Limits ``(lower, upper)`` of the constraints: numbers, vectors, or structures like what `g` returns; `None` and
        infinities for no limit. Constraints with equal limits are equations.
    args : tuple, optional
        Further arguments of both functions: numbers, arrays, or anything but a Tensor.

    Returns
    -------
    ConstrainedProblem
        It has the methods that cyipopt asks a problem for, so that ``cyipopt.Problem(P.n, P.m, P, P.lb, P.ub, P.cl,
        P.cu)`` takes it; ``solve`` by Ipopt where ipyopt is installed: ``pip install 'tapegrad[ipopt]'``.

    Raises
    ------
    NotScalarError
        When `f` does not return a scalar, or `g` returns nothing, at the first evaluation.
    ValueError
        For limits of another number than there are variables or constraints.

    Notes
    -----
    The patterns of the Jacobian and of the Hessian of the Lagrangian are detected. Linear constraints have no part in
    the Hessian.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> P = tg.optimize.problem(lambda x: tg.sum((x - 2) ** 2), [0.0, 0.0], lambda x: x[0] + x[1] - 1)
    >>> P.gradient(P.x0), P.constraints(P.x0), P.hessian(P.x0, [0.0], 1.0)
    (array([-4., -4.]), array([-1.]), array([2., 2.]))
    >>> P.solve().x.round(6)  # doctest: +SKIP
    array([0.5, 0.5])
    """
    if not isinstance(f, Objective):
        check_function("problem", f)
    return ConstrainedProblem(f, x0, g, bounds, constraint_bounds, args)
