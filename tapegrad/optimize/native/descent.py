"""`minimize(method="native")`: one or many minimisations by compiled code, and the result as SciPy has it."""

import functools
import pickle
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.optimize import OptimizeResult

from tapegrad.frontend.tensor.array_checks import real
from tapegrad.optimize.executors import packed
from tapegrad.optimize.native.arguments import check_feasible, checked_bounds, checked_positive, refuse
from tapegrad.optimize.native.blocks import Block, Shape
from tapegrad.optimize.native.loops import descents as fields
from tapegrad.optimize.native.loops import driver, newton, quasi_newton
from tapegrad.optimize.native.recorded import GRADIENT, PRODUCT, ReplayedFunction, Session, example_of
from tapegrad.optimize.native.sharing import Results, checked_threads, run_elsewhere, run_shared
from tapegrad.optimize.objective import Objective
from tapegrad.transforms.base import replayable
from tapegrad.transforms.grad import Grad

MESSAGES = {
    fields.BY_FTOL: "CONVERGENCE: RELATIVE REDUCTION OF F <= FTOL",
    fields.BY_GTOL: "CONVERGENCE: NORM OF PROJECTED GRADIENT <= GTOL",
    fields.LIMIT: "STOP: TOTAL NO. OF ITERATIONS OR OF EVALUATIONS REACHED LIMIT",
    fields.NO_PROGRESS: "ABNORMAL: NO STEP LOWERS THE VALUE",
    fields.NOT_FINITE: "ABNORMAL: VALUE OR GRADIENT ARE NOT FINITE AT THE START",
    fields.NOT_COMPUTED: "ABNORMAL: THE VALUE COULD NOT BE COMPUTED AT THE START",
}
# SciPy's numbers: 0 converged, 1 a limit, 2 anything else
_STATUS = {fields.BY_FTOL: 0, fields.BY_GTOL: 0, fields.LIMIT: 1}
_LIMIT = 15_000


class DescentSettings:
    """Checked settings of minimisations.

    Attributes
    ----------
    method
        ``"native"`` or ``"native-newton"``.
    lower, upper
        Bounds.
    numbers, counts
        As compiled code has them.
    memory
        How many pairs L-BFGS keeps.
    strong
        Whether its line search asks for the strong condition of Wolfe.
    """

    def __init__(self, method: str, size: int, bounds: Any, tol: Any, options: dict[str, Any]) -> None:
        self.method, self.who = method, f"minimize(method={method!r})"
        self.newton = method == "native-newton"
        given, who = dict(options), self.who
        take = given.pop
        self.lower, self.upper = _bounds(bounds, size, who)
        self.bounded = bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())
        if self.newton and self.bounded:
            raise ValueError(f"{who} takes no bounds; method='native' does")
        self.numbers = np.zeros(fields.PREDICTED + 1)
        self.numbers[fields.FTOL] = float(
            take("ftol", (0.0 if self.newton else 2.220446e-09) if tol is None else tol)
        )
        self.numbers[fields.GTOL] = float(take("gtol", 1e-5 if tol is None else tol))
        if not np.all(self.numbers >= 0):
            raise ValueError(f"{who}: tolerances must not be negative, and not nan")
        self.numbers[fields.MAX_RADIUS] = checked_positive(
            take("max_trust_radius", 1e3), "max_trust_radius", who
        )
        self.counts = np.zeros(fields.END + 1, np.int64)
        self.counts[driver.MAX_NFEV] = int(checked_positive(take("maxfun", _LIMIT), "maxfun", who))
        self.counts[fields.MAX_NIT] = int(checked_positive(take("maxiter", _LIMIT), "maxiter", who))
        self.counts[fields.MAX_SEARCH] = int(checked_positive(take("maxls", 30), "maxls", who))
        self.memory = int(checked_positive(take("maxcor", 10), "maxcor", who))
        self.strong = bool(take("strong_wolfe", False))
        refuse(given, who)


def _bounds(bounds: Any, size: int, who: str) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds as vectors, from SciPy's forms for `minimize`: `Bounds`, or a pair for each parameter."""
    if bounds is None:
        return np.full(size, -np.inf), np.full(size, np.inf)
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        return checked_bounds(bounds, size, who)
    pairs = list(bounds)
    if len(pairs) != size or not all(len(pair) == 2 for pair in pairs):
        raise ValueError(f"{who}: bounds must be a scipy.optimize.Bounds, or {size} pairs (lower, upper)")
    lower = [-np.inf if low is None else low for low, _ in pairs]
    upper = [np.inf if high is None else high for _, high in pairs]
    return checked_bounds((lower, upper), size, who)


class DescentResults(Results):
    """Results of minimisations, by number."""

    def __init__(self, count: int, size: int) -> None:
        self.out_x, self.out_gradient = np.zeros((count, size)), np.zeros((count, size))
        self.out_value = np.full(count, np.nan)
        self.out_status, self.out_evaluations = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.out_iterations, self.out_products = np.zeros(count, np.int64), np.zeros(count, np.int64)

    def give_up(self, starts: np.ndarray) -> None:
        """Enter that the function cannot be computed at any start."""
        self.out_x[:], self.out_gradient[:] = starts, np.nan
        self.out_status[:], self.out_evaluations[:] = fields.NOT_COMPUTED, 1


class _Worker:
    """Minimises on one thread."""

    def __init__(
        self,
        settings: DescentSettings,
        recorded: tuple[ReplayedFunction, ...],
        starts: np.ndarray,
        outcomes: DescentResults,
    ) -> None:
        size: int = starts.shape[1]
        memory = settings.memory
        vectors = (
            "x",
            "gradient",
            "trial",
            "trial_gradient",
            "direction",
            "product",
            "conjugate",
            "residual",
        )
        shapes: dict[str, Shape] = {
            **dict.fromkeys(vectors, size),
            **dict.fromkeys(("steps", "changes"), (memory, size)),
            **dict.fromkeys(("curvatures", "weights"), memory),
            "trial_value": 1,
        }
        numbers = {
            "k": size,
            "memory": memory,
            "bounded": int(settings.bounded),
            "strong": int(settings.strong),
        }
        arrays = {
            **vars(outcomes),
            "lower": settings.lower,
            "upper": settings.upper,
            "starts": starts,
            "counts": settings.counts.copy(),
            "settings": settings.numbers.copy(),
        }
        self.block = block = Block(fields.DescentFields, shapes, numbers, arrays)
        block["trial"][:] = starts[0]
        self._run = newton.run_newton if settings.newton else quasi_newton.run_quasi_newton
        session = Session(
            recorded[0], block.addresses("trial"), block.addresses("trial_value", "trial_gradient")
        )
        self._sessions = [session]
        block.set_field("session", session.address)
        if settings.newton:
            products = Session(recorded[1], block.addresses("x", "conjugate"), block.addresses("product"))
            self._sessions.append(products)
            block.set_field("products", products.address)

    def run(self, first: int, end: int) -> None:
        """Minimise from some of the starts."""
        counts = self.block["counts"]
        counts[fields.NEXT], counts[fields.END] = first, end
        while status := self._run(self.block.address):
            choosing = int(counts[driver.PHASE] == driver.CHOOSING)
            self._sessions[choosing].go_on(status, self.block["x" if choosing else "trial"])

    def finish(self) -> None:
        """Nothing is left over."""

    def close(self) -> None:
        """Close the sessions."""
        for session in self._sessions:
            session.close()


def descend(
    target: Any, method: str, starts: np.ndarray, args: Any, options: dict[str, Any]
) -> DescentResults:
    """Minimise an objective from all of the starts."""
    given = dict(options)
    take = given.pop
    settings = DescentSettings(
        method, starts.shape[1], take("bounds", None), take("tol", None), take("options", None) or {}
    )
    threads, progress = checked_threads(take("threads", None), settings.who), take("progress", None)
    executor = take("executor", None)
    refuse({name: value for name, value in given.items() if value is not None}, settings.who)
    if not starts.shape[1]:
        raise ValueError(f"{settings.who}: x0 has no elements")
    check_feasible(starts, settings.lower, settings.upper, settings.who)
    outcomes = DescentResults(*starts.shape)
    problem = _Problem(target, args, settings)
    if executor is not None:
        _descend_elsewhere(executor, problem, starts, outcomes, progress)
    elif len(starts):
        _descend_here(problem, starts, outcomes, threads, progress)
    return outcomes


class _Problem(NamedTuple):
    """Problem of a minimisation: an objective with its arguments, and the options."""

    target: Objective
    args: Any
    settings: DescentSettings


def _descend_here(
    problem: _Problem, starts: np.ndarray, outcomes: DescentResults, threads: int, progress: Any
) -> None:
    """Minimise by threads of this process."""
    target, args, settings = problem
    example = example_of(target.replayed, starts, args)
    recorded = [ReplayedFunction(target.replayed, example, args, kind=GRADIENT)]
    if settings.newton:
        gradient = replayable(Grad(target.replayed, 0))
        assert gradient is not None
        recorded.append(ReplayedFunction(gradient, example, args, kind=PRODUCT))
    run_shared(len(starts), threads, lambda: _Worker(settings, tuple(recorded), starts, outcomes), progress)


def _descend_elsewhere(
    executor: Any, problem: _Problem, starts: np.ndarray, outcomes: DescentResults, progress: Any
) -> None:
    """Minimise in blocks, by the workers of an executor."""
    content = packed(tuple(problem), "minimize")
    run_elsewhere(
        executor, _descend_block, "minimize", lambda block: (content, starts[block]), outcomes, progress
    )


def _descend_block(content: bytes, starts: np.ndarray) -> dict[str, np.ndarray]:
    """Minimise from a block of starts, in a worker."""
    outcomes = DescentResults(*starts.shape)
    try:
        _descend_here(_problem_of(content), starts, outcomes, 1, None)
    except LinAlgError:  # at every start of this block; there are others
        outcomes.give_up(starts)
    return vars(outcomes)


@functools.lru_cache(maxsize=4)
def _problem_of(content: bytes) -> _Problem:
    """Return the problem of a minimisation; a worker keeps it, with its recordings, for other blocks."""
    return _Problem(*pickle.loads(content))  # sent by the process that it works for


def minimize_one(target: Any, method: str, x0: np.ndarray, args: Any, options: dict[str, Any]) -> Any:
    """Minimise from one start, and return a `scipy.optimize.OptimizeResult`."""
    outcomes = descend(target, method, x0[None], args, {"threads": 1, **options})
    return _result(outcomes, 0, method)


def _result(outcomes: Any, number: int, method: str) -> Any:
    kind = int(outcomes.out_status[number])
    result = OptimizeResult(
        x=outcomes.out_x[number].copy(),
        fun=float(outcomes.out_value[number]),
        jac=outcomes.out_gradient[number].copy(),
        nfev=int(outcomes.out_evaluations[number]),
        njev=int(outcomes.out_evaluations[number]),
        nit=int(outcomes.out_iterations[number]),
        status=_STATUS.get(kind, 2),
        message=MESSAGES[kind],
        success=kind in (fields.BY_FTOL, fields.BY_GTOL),
    )
    if method == "native-newton":
        result.nhev = int(outcomes.out_products[number])
    return result


def checked_starts(starts: Any) -> np.ndarray:
    """Return starts as a matrix with a row for each; there must be one."""
    found = np.ascontiguousarray(real(starts, "minimize: starts"))
    if found.ndim != 2 or not len(found):
        raise ValueError(
            f"minimize: starts of shape {np.shape(starts)}; they must be a matrix with a row of parameters for each"
        )
    return found


def minimize_many(target: Any, method: str, starts: Any, args: Any, options: dict[str, Any]) -> Any:
    """Minimise from many starts. Return the best result, with those of all starts in `all_x` and so on."""
    starts, size = checked_starts(starts), target.layout.size
    if starts.shape[1] != size:
        raise ValueError(f"minimize: starts of shape {starts.shape}, but x0 has {size} elements")
    outcomes = descend(target, method, starts, args, options)
    values = np.where(np.isnan(outcomes.out_value), np.inf, outcomes.out_value)
    result = _result(outcomes, int(np.argmin(values)), method)
    result.all_x, result.all_fun, result.all_jac = outcomes.out_x, outcomes.out_value, outcomes.out_gradient
    result.all_status = np.array([_STATUS.get(kind, 2) for kind in range(fields.NOT_COMPUTED + 1)])[
        outcomes.out_status
    ]
    result.all_nfev, result.all_nit = outcomes.out_evaluations, outcomes.out_iterations
    return result
