"""`minimize(method="native")`: one or many minimisations by compiled code, and the result as SciPy has it."""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.optimize import OptimizeResult

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.optimize.native.blocks import Block, Shape
from tapegrad.optimize.native.executors import run_elsewhere
from tapegrad.optimize.native.loops import descents as fields
from tapegrad.optimize.native.loops import driver, newton, quasi_newton
from tapegrad.optimize.native.recorded import GRADIENT, PRODUCT, ReplayedFunction, Session, example_of
from tapegrad.optimize.native.settings import DescentSettings, check_feasible, refuse
from tapegrad.optimize.native.sharing import Results, checked_threads, reporting_one, run_shared
from tapegrad.optimize.native.slices import Slices
from tapegrad.optimize.objective import Objective
from tapegrad.optimize.searches.interruption import MESSAGE, MINIMIZE_STATUS
from tapegrad.transforms.base import replay_of
from tapegrad.transforms.grad import Grad

MESSAGES = {
    fields.BY_FTOL: "CONVERGENCE: RELATIVE REDUCTION OF F <= FTOL",
    fields.BY_GTOL: "CONVERGENCE: NORM OF PROJECTED GRADIENT <= GTOL",
    fields.LIMIT: "STOP: TOTAL NO. OF ITERATIONS OR OF EVALUATIONS REACHED LIMIT",
    fields.NO_PROGRESS: "ABNORMAL: NO STEP LOWERS THE VALUE",
    fields.NOT_FINITE: "ABNORMAL: VALUE OR GRADIENT ARE NOT FINITE AT THE START",
    fields.NOT_COMPUTED: "ABNORMAL: THE VALUE COULD NOT BE COMPUTED AT THE START",
    fields.INTERRUPTED: MESSAGE,
}
# SciPy's numbers: 0 converged, 1 a limit, 2 anything else
_STATUS = {fields.BY_FTOL: 0, fields.BY_GTOL: 0, fields.LIMIT: 1, fields.INTERRUPTED: MINIMIZE_STATUS}


class DescentResults(Results):
    """Results of minimisations, by number: interrupted, and nan, until they are entered."""

    def __init__(self, count: int, size: int) -> None:
        self.out_x, self.out_gradient = np.full((count, size), np.nan), np.full((count, size), np.nan)
        self.out_value = np.full(count, np.nan)
        self.out_status, self.out_evaluations = np.full(count, fields.INTERRUPTED), np.zeros(count, np.int64)
        self.out_iterations, self.out_products = np.zeros(count, np.int64), np.zeros(count, np.int64)

    def give_up(self, starts: np.ndarray) -> None:
        """Enter that the function cannot be computed at any start."""
        self.out_x[:], self.out_gradient[:] = starts, np.nan
        self.out_status[:], self.out_evaluations[:] = fields.NOT_COMPUTED, 1


def _text_of(evaluations: int, value: float) -> str:
    """Return what is said of a single minimisation while it runs, or when it has ended."""
    return f"minimize: {evaluations} evaluations, value {value:.6g}"


class _Worker:
    """Minimises on one thread."""

    def __init__(
        self,
        settings: DescentSettings,
        recorded: tuple[ReplayedFunction, ...],
        starts: np.ndarray,
        outcomes: DescentResults,
        line: Progress,
    ) -> None:
        size: int = starts.shape[1]
        memory = settings.memory
        of_newton = ("product", "conjugate", "residual")
        shapes: dict[str, Shape] = {
            **dict.fromkeys(("x", "gradient", "trial", "trial_gradient", "direction", *of_newton), size),
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
        self._slices, self._statuses = Slices(block["counts"], line, self._text), outcomes.out_status
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
            if status == driver.PAUSED:
                if not self._slices.go_on():
                    return
                continue
            choosing = int(counts[driver.PHASE] == driver.CHOOSING)
            self._sessions[choosing].go_on(status, self.block["x" if choosing else "trial"])

    def _text(self) -> str:
        """Return what the progress line of a single minimisation says."""
        block = self.block
        count, value = block["counts"][driver.NFEV], block["settings"][fields.VALUE]
        return _text_of(count, value)

    def finish(self) -> None:
        """Nothing is left over."""

    def stop(self) -> None:
        """Leave `run` at the end of a slice."""
        self._slices.stopped = True

    def close(self) -> None:
        """Enter where a minimisation stands that has not ended, and close the sessions."""
        counts = self.block["counts"]
        if counts[driver.PHASE] in (driver.CHOOSING, driver.TRYING):
            number = counts[fields.NEXT]
            counts[driver.MAX_NFEV], counts[fields.END] = 0, number + 1
            self._run(self.block.address)
            self._statuses[number] = fields.INTERRUPTED
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
    problem = _DescentProblem(target, args, settings)
    if executor is not None:
        run_elsewhere(executor, problem, starts.__getitem__, outcomes, "minimize", progress)
    elif len(starts):
        problem.solve(starts, outcomes, threads, progress)
    return outcomes


class _DescentProblem(NamedTuple):
    """Problem of a minimisation: an objective with its arguments, and the options."""

    target: Objective
    args: Any
    settings: DescentSettings

    def solve(self, starts: np.ndarray, outcomes: DescentResults, threads: int, progress: Any) -> None:
        """Minimise by threads of this process."""
        replayed, settings = self.target.replayed, self.settings
        example = example_of(replayed, starts, self.args)
        recorded = [ReplayedFunction(replayed, example, self.args, kind=GRADIENT)]
        if settings.newton:
            gradient = replay_of(Grad(replayed, 0))
            recorded.append(ReplayedFunction(gradient, example, self.args, kind=PRODUCT))
        single = len(starts) == 1 and (progress is None or progress is True)

        def text() -> str:
            return _text_of(outcomes.out_evaluations[0], outcomes.out_value[0])

        with reporting_one(progress if single else False, text) as line:
            make = functools.partial(_Worker, settings, tuple(recorded), starts, outcomes, line)
            run_shared(len(starts), threads, make, False if single else progress)

    def solve_block(self, part: np.ndarray) -> DescentResults:
        outcomes = DescentResults(*part.shape)
        try:
            self.solve(part, outcomes, 1, False)
        except LinAlgError:  # at every start of this block; there are others
            outcomes.give_up(part)
        return outcomes


def minimize_one(target: Any, method: str, x0: np.ndarray, args: Any, options: dict[str, Any]) -> Any:
    """Minimise from one start, and return a `scipy.optimize.OptimizeResult`."""
    outcomes = descend(target, method, x0[None], args, {"threads": 1, **options})
    _require_any(outcomes)
    return _result(outcomes, 0, method)


def _require_any(outcomes: DescentResults) -> None:
    """Raise `KeyboardInterrupt` if minimisations were interrupted before any had a value."""
    if (outcomes.out_status == fields.INTERRUPTED).any() and np.isnan(outcomes.out_value).all():
        raise KeyboardInterrupt


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
    _require_any(outcomes)
    values = np.where(np.isnan(outcomes.out_value), np.inf, outcomes.out_value)
    result = _result(outcomes, int(np.argmin(values)), method)
    if (outcomes.out_status == fields.INTERRUPTED).any():
        result.update(success=False, status=MINIMIZE_STATUS, message=MESSAGE)
    result.all_x, result.all_fun, result.all_jac = outcomes.out_x, outcomes.out_value, outcomes.out_gradient
    result.all_status = np.array([_STATUS.get(kind, 2) for kind in range(fields.INTERRUPTED + 1)])[
        outcomes.out_status
    ]
    result.all_nfev, result.all_nit = outcomes.out_evaluations, outcomes.out_iterations
    return result
