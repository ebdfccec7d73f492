"""Solutions of a problem by Ipopt, through ipyopt: callbacks that never raise, options, interrupts and statuses.

Ipopt goes on after a callback that has raised, with the error pending. So callbacks keep the error, give nan, which is
a failed evaluation to Ipopt, and have it stop at its next iteration; then the error is raised.

Reference: A. Wächter, L. T. Biegler, "On the implementation of an interior-point filter line-search algorithm for
large-scale nonlinear programming", Mathematical Programming 106, 2006.
"""

import importlib
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.errors import GrownStructureError
from tapegrad.optimize.problems.functions import ProblemFunctions
from tapegrad.optimize.searches.interruption import interrupts

STOPPED = 5
GOOD = (0, 1, 6)
MESSAGES = {
    0: "solved",
    1: "solved to the acceptable tolerances, not to tol",
    2: "infeasible: converged to a point of locally least violation of the constraints",
    3: "the search direction became too small",
    4: "the iterates diverge: the problem may be unbounded",
    STOPPED: "stopped by the callback",
    6: "a feasible point was found: there are as many equations as variables",
    -1: "max_iter was reached",
    -2: "the restoration of feasibility failed",
    -3: "a step could not be computed",
    -4: "max_cpu_time was reached",
    -5: "max_wall_time was reached",
    -10: "more equality constraints than variables that are not fixed",
    -11: "the problem is not well defined",
    -12: "an option is not valid",
    -13: "an evaluation is not finite: the objective, the constraints, or a derivative",
    -100: "Ipopt failed",
    -101: "Ipopt failed",
    -102: "not enough memory",
    -199: "Ipopt failed",
}
_DEFAULTS = {"print_level": 0, "sb": "yes", "check_derivatives_for_naninf": "yes"}
# A start on the bounds is not moved away from them, as a cold one is.
_WARM = {
    "warm_start_init_point": "yes",
    "warm_start_bound_push": 1e-9,
    "warm_start_bound_frac": 1e-9,
    "warm_start_slack_bound_push": 1e-9,
    "warm_start_slack_bound_frac": 1e-9,
    "warm_start_mult_bound_push": 1e-9,
    "mu_init": 1e-7,
}


def checked_options(options: dict[str, Any], is_warm: bool) -> dict[str, Any]:
    """Return the options of a solve as Python's own numbers and text, with our defaults.

    Raises
    ------
    TypeError
        For values of other types.
    """
    found = {**_DEFAULTS, **(_WARM if is_warm else {}), **options}
    for name, value in found.items():
        if isinstance(value, bool | np.bool_):
            found[name] = "yes" if value else "no"
        elif isinstance(value, np.generic):
            found[name] = value.item()
        elif not isinstance(value, int | float | str):
            raise TypeError(f"solve: {name}={value!r}; options of Ipopt are numbers and text")
    return found


class IpoptRun:
    """Ipopt on one problem, for any number of solves with the same options.

    Parameters
    ----------
    functions
        The functions of the problem.
    limits
        Lower and upper limits of the variables, then those of the constraints.
    structures
        Rows and columns of the entries of the Jacobian, and of the Hessian; `None` for Ipopt's approximation of it.
    options
        Checked options.

    Attributes
    ----------
    x, multipliers, lower, upper
        Where the last solve began, and where it has ended: variables, multipliers of the constraints, of the lower
        and of the upper limits of the variables.
    iterations, counts
        Of the last solve: iterations, and evaluations by the name of the function.
    was_interrupted
        Whether Ctrl-C has ended it.
    """

    def __init__(
        self,
        functions: ProblemFunctions,
        limits: Sequence[np.ndarray],
        structures: tuple[Any, Any],
        options: dict[str, Any],
    ) -> None:
        self._functions = functions
        self._point = np.zeros(functions.n)  # Ipopt's vectors are its own memory: they are copied
        self._lambda = np.zeros(functions.m)
        self._args: tuple[Any, ...] = ()
        self._observe: Callable[..., Any] | None = None
        self._line = Progress(False)
        self._iterate = np.zeros(functions.n)
        self._error: BaseException | None = None
        self.x, self.lower, self.upper = (np.zeros(functions.n) for _ in range(3))
        self.multipliers = np.zeros(functions.m)
        self.iterations, self.was_interrupted = 0, False
        self.counts = dict.fromkeys(("nfev", "njev", "nhev"), 0)
        self._ipopt = self._made(limits, structures, options)

    def _made(
        self, limits: Sequence[np.ndarray], structures: tuple[Any, Any], options: dict[str, Any]
    ) -> Any:
        lower, upper, least, most = limits
        of_jacobian, of_hessian = (
            ([], []) if each is None else tuple(part.tolist() for part in each) for each in structures
        )
        found = _ipyopt().Problem(
            self._functions.n,
            lower,
            upper,
            self._functions.m,
            least,
            most,
            of_jacobian,
            of_hessian,
            self._value,
            self._gradient,
            self._constraints,
            self._jacobian,
            None if structures[1] is None else self._hessian,
            self._intermediate,
        )
        for name, value in options.items():
            _set(found, name, value)
        return found

    def solve(self, args: tuple[Any, ...], observe: Callable[..., Any] | None, line: Progress) -> int:
        """Solve the problem from the point and the multipliers that the attributes are; return Ipopt's status.

        Parameters
        ----------
        args
            Further arguments of the functions.
        observe
            Called at each iteration with the point and a dict of what Ipopt says of it; it returns whether to go on.
        line
            Progress line.

        Raises
        ------
        BaseException
            What a function of the user's has raised.
        """
        self._args, self._observe, self._line, self._error = args, observe, line, None
        self.counts = dict.fromkeys(self.counts, 0)
        self.iterations, self.was_interrupted = 0, False
        with _DeferredInterrupt(self):
            given = {"mult_g": self.multipliers, "mult_x_L": self.lower, "mult_x_U": self.upper}
            _, _, status = self._ipopt.solve(self.x, **given)
        error = self._raised()
        self._observe, self._line, self._args = None, Progress(False), ()
        if isinstance(error, GrownStructureError):
            self.x[...] = self._iterate
        if error is not None:
            raise error
        return int(status)

    def _raised(self) -> BaseException | None:
        """Return the error of a callback, and forget it."""
        error, self._error = self._error, None
        return error

    # --- callbacks -------------------------------------------------------------------------------------------------

    def _value(self, x: np.ndarray) -> float:
        value = np.empty(1)
        self._fill(value, "nfev", self._functions.value, x)
        return value[0]  # type: ignore[no-any-return]

    def _gradient(self, x: np.ndarray, out: np.ndarray) -> None:
        self._iterate[...] = x
        self._fill(out, "njev", self._functions.gradient, x)

    def _constraints(self, x: np.ndarray, out: np.ndarray) -> None:
        self._fill(out, None, self._functions.constraints, x)

    def _jacobian(self, x: np.ndarray, out: np.ndarray) -> None:
        self._fill(out, None, self._functions.jacobian, x)

    def _hessian(self, x: np.ndarray, multipliers: np.ndarray, factor: float, out: np.ndarray) -> None:
        self._lambda[...] = multipliers
        self._fill(out, "nhev", self._functions.hessian, x, self._lambda, factor)

    def _fill(
        self, out: np.ndarray, count: str | None, function: Callable[..., Any], x: np.ndarray, *before: Any
    ) -> None:
        """Write what a function returns at a point, or nan if one has raised."""
        if self._error is None:
            if count is not None:
                self.counts[count] += 1
            try:
                self._point[...] = x
                out[...] = function(*before, self._point, *self._args)
                return
            except BaseException as error:
                self._error = error
        out.fill(np.nan)

    def _intermediate(self, *told: Any) -> bool:
        """Return whether Ipopt is to go on, which tells of each iteration."""
        _, self.iterations, value, violation = told[:4]
        if self._error is not None or self.was_interrupted:
            return False
        try:
            if self._line.due:
                self._line.show(
                    f"Ipopt: iteration {self.iterations}, value {value:.6g}, violation {violation:.2g}"
                )
            return self._observe is None or bool(self._observe(self._iterate.copy(), *told))
        except BaseException as error:
            self._error = error
            return False

    def interrupt(self) -> None:
        """End the solve at the next iteration; after a second interrupt, by an exception."""
        if interrupts.is_second():
            self._error = KeyboardInterrupt()
        self.was_interrupted = True


class _DeferredInterrupt:
    """Context in which Ctrl-C ends a run in good order: raised while Ipopt is between two callbacks, it is lost."""

    def __init__(self, run: IpoptRun) -> None:
        self._run = run
        self._before: Any = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if self._before is signal.default_int_handler:
                signal.signal(signal.SIGINT, lambda *_: self._run.interrupt())

    def __exit__(self, *error: object) -> None:
        if self._before is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._before)


def _set(ipopt: Any, name: str, value: Any) -> None:
    """Set an option. A number is taken as an integer or a float, whichever the option is.

    Raises
    ------
    ValueError
        For an option, or a value, that Ipopt does not know; what it says of it is on the standard output.
    """
    others = [float(value)] if isinstance(value, int) else []
    if isinstance(value, float) and value.is_integer():
        others = [int(value)]
    for each in (value, *others):
        try:
            ipopt.set(**{name: each})
        except ValueError:
            continue
        return
    raise ValueError(
        f"solve: Ipopt has no option {name}, or does not take {value!r}; ipyopt.get_ipopt_options() lists them all"
    )


def _ipyopt() -> Any:
    """Return the module of Ipopt, or say how to get it."""
    try:
        return importlib.import_module("ipyopt")
    except ModuleNotFoundError as error:
        if error.name != "ipyopt":
            raise
        message = (
            "solve needs the package ipyopt, which has Ipopt in it: pip install 'tapegrad[ipopt]'. Or pass the problem"
            " to another solver, such as cyipopt.Problem(P.n, P.m, P, P.lb, P.ub, P.cl, P.cu)"
        )
        raise ModuleNotFoundError(message, name=error.name) from None
