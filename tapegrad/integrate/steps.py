"""Steps of an integration: the controller of their size, and the loop that makes them.

Sizes of steps are those of SciPy. They are constants in derivatives: the derivative is that of the numbers that were
computed with these steps, the discrete adjoint. The last step ends at the end of the interval, and so depends on it.

References: Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", 1993, section II.4; Eberhard, Bischof,
"Automatic differentiation of numerical integration algorithms", Math. Comput. 68, 1999.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tapegrad.integrate.events import TERMINATED, Events
from tapegrad.integrate.method import AcceptedStep, RightSide, StepMethod, like, rms_norm
from tapegrad.loops.while_loop import repeated
from tapegrad.transforms.stop_gradient import stop_gradient

SAFETY = 0.9
MIN_FACTOR, MAX_FACTOR = 0.2, 10.0
FAILED, OUT_OF_STEPS = -1, -2
_UNIT, _SMALLEST = 2.0**-53 * (1 + 2.0**-52), 2.0**-1074


class State(NamedTuple):
    """State of an integration: the carry of its loops.

    Counts and flags are floats: arithmetic with them is in one segment with the rest of a step.

    Attributes
    ----------
    t, y
        Where it is.
    size
        Absolute size of the next step.
    t_old, h, y_old, memory
        The last step that was accepted: begin, size with its sign, state there, and what the method remembers of it.
    rejected
        1 if the step before this one was rejected, otherwise 0.
    evaluations
        Evaluations of the right side.
    accepted
        Number of steps that were accepted.
    status
        0, or `FAILED` if the step has become too small, or `OUT_OF_STEPS`.
    control
        What else the next step depends on.
    watch
        Values and counts of events.
    """

    t: Any
    y: Any
    size: Any
    t_old: Any
    h: Any
    y_old: Any
    memory: tuple[Any, ...]
    rejected: Any
    evaluations: Any
    accepted: Any
    status: Any
    control: Any = ()
    watch: Any = ()

    @property
    def step(self) -> AcceptedStep:
        """The last step."""
        return AcceptedStep(self.t_old, self.h, self.y_old, self.y, self.memory)

    def after(self, accepted: Any, t: Any, h: Any, y: Any, memory: tuple[Any, ...]) -> "State":
        """Return the state after a step that is made if it is accepted: where it is, and what the last step was."""

        def chosen(new: Any, old: Any) -> Any:
            return np.where(accepted, new, old)

        return self._replace(
            t=chosen(t, self.t),
            y=chosen(y, self.y),
            t_old=chosen(self.t, self.t_old),
            h=chosen(h, self.h),
            y_old=chosen(self.y, self.y_old),
            memory=tuple(map(chosen, memory, self.memory)),
            accepted=added(self.accepted, 1, accepted),
        )


class TriedStep(NamedTuple):
    """Step that was tried.

    Attributes
    ----------
    t, y
        Its end.
    h, memory
        Its size with its sign, and what the method remembers of it.
    next_size
        Absolute size of the next one.
    enough
        Whether it was not too small.
    accepted
        Whether it is made.
    """

    t: Any
    h: Any
    y: Any
    memory: tuple[Any, ...]
    next_size: Any
    enough: Any
    accepted: Any


def to_next(t: Any) -> Any:
    """Return what is added to a time, or subtracted from it, for the next float.

    The sum is that float for all but the smallest numbers: Rump, Zimmermann, Boldo, Melquiond, "Computing predecessor
    and successor in rounding to nearest", BIT 49, 2009. `nextafter` would not be in one segment with a step.
    """
    return _UNIT * abs(t) + _SMALLEST


def added(count: Any, number: int, condition: Any) -> Any:
    """Return a count, with a number added to it where a condition is true."""
    count = stop_gradient(count)
    return np.where(condition, count + number, count)


@dataclass(frozen=True)
class Integration:
    """Initial value problem with its method and tolerances.

    Attributes
    ----------
    method, fun
        The method, and the right side, of ``(t, y)``.
    begin, end, direction
        Interval, and the sign of its length.
    y0
        The state at its begin.
    rtol, atol, max_step
        Tolerances, and the largest size of a step.
    first_step
        Size of the first step, or `None`.
    max_steps
        How many steps are accepted at most; infinity for no bound.
    times_vary
        Whether there are derivatives by times.
    events
        What ends it before its end, or `None`.
    """

    method: StepMethod
    fun: RightSide
    begin: Any
    end: Any
    direction: Any
    y0: Any
    rtol: Any
    atol: Any
    max_step: float
    first_step: float | None
    max_steps: float
    times_vary: bool
    events: Events | None = None

    # --- begin -----------------------------------------------------------------------------------------------------

    def first(self) -> State:
        """Return the state at the begin."""
        slope = self.fun(self.begin, self.y0)
        with np.errstate(all="ignore"):
            size, evaluations = self._first_size(slope)
        t = np.asarray(self.begin, float) if isinstance(self.begin, float) else self.begin
        # The step that this stands for has not been made, and gives y0 and its slope at the begin
        h = self.direction * np.where(size > 0, size, 1.0)
        zero = np.zeros(())
        return State(
            t, self.y0, size, t, h, self.y0, self.method.at_rest(slope, h), zero, zero + evaluations, zero,
            zero, self.control(slope, size), () if self.events is None else self.events.first(t, self.y0),
        )  # fmt: skip

    def counts(self, last: State) -> tuple[Any, Any]:
        """Return how many Jacobians and factorizations were computed."""
        steps = np.floor(last.evaluations / self.method.evaluations) if self.method.implicit else 0
        return steps, steps

    def control(self, slope: Any, size: Any) -> Any:
        """Return what else the first step depends on."""
        return ()

    def _first_size(self, slope: Any) -> tuple[Any, int]:
        """Return the size of the first step, and the evaluations until then."""
        begin, end, y0, slope = stop_gradient((self.begin, self.end, self.y0, slope))
        length = abs(end - begin)
        if self.method.fixed:
            return length / np.maximum(1.0, np.ceil(length / self.max_step - 1e-9)), 1
        if self.first_step is not None:
            return length * 0 + self.first_step, 1
        scale = self.atol + abs(y0) * self.rtol
        d0, d1 = rms_norm(y0 / scale), rms_norm(slope / scale)
        h0 = np.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
        h0 = np.minimum(h0, length)
        h = h0 * self.direction
        d2 = rms_norm((stop_gradient(self.fun(begin + h, y0 + like(h, y0) * slope)) - slope) / scale) / h0
        power = 1 / (self.method.error_order + 1)
        h1 = np.where(
            (d1 <= 1e-15) & (d2 <= 1e-15), np.maximum(1e-6, h0 * 1e-3), (0.01 / np.maximum(d1, d2)) ** power
        )
        size = np.minimum(np.minimum(100 * h0, h1), np.minimum(length, self.max_step))
        size = stop_gradient(size.astype(np.float64))
        return np.where(length == 0, 0.0, size), 2

    # --- steps -----------------------------------------------------------------------------------------------------

    def run(self, state: State, going: Callable[[State], Any]) -> State:
        """Make steps until one ends at the end of the interval, or fails, or as long as a number is positive."""

        def condition(state: State) -> Any:
            return np.minimum(self.rest(state), going(state)) > 0

        made: State = repeated(condition, self._watched, state, pulled_at_once=True)
        return self.stopped(made, going(made))

    def rest(self, state: State) -> Any:
        """Return the time to the end, 0 where no more steps are made."""
        rest = np.where(state.status == 0, self.direction * (self.end - state.t), 0.0)
        return rest if np.isinf(self.max_steps) else np.where(state.accepted < self.max_steps, rest, 0.0)

    def stopped(self, state: State, going: Any) -> State:
        """Return the state with its status, after steps that were to be made as long as a number is positive."""
        if np.isinf(self.max_steps):
            return state
        left = stop_gradient(np.minimum(self.direction * (self.end - state.t), going))
        is_out = np.where((state.status == 0) & (state.accepted >= self.max_steps), left, 0.0) > 0
        return state._replace(status=added(state.status, OUT_OF_STEPS, is_out))

    def _watched(self, state: State) -> State:
        """Make one step, and look for events."""
        after = self._step(state)
        if self.events is None:
            return after
        accepted = after.accepted > state.accepted
        watch, ends = self.events.watched(state.watch, after.t, after.y, accepted)
        return after._replace(watch=watch, status=added(after.status, TERMINATED, ends))

    def _step(self, state: State) -> State:
        """Make one step, which is accepted or rejected."""
        made = self.tried(state)
        return state.after(made.accepted, made.t, made.h, made.y, made.memory)._replace(
            size=made.next_size,
            rejected=np.where(made.accepted, 0.0, 1.0),
            evaluations=added(state.evaluations, self.method.evaluations, made.enough),
            status=np.where(made.enough, stop_gradient(state.status), float(FAILED)),
        )

    def tried(self, state: State) -> "TriedStep":
        """Try one step, of which is known then whether it is accepted."""
        method = self.method
        size, excess = self._size(state)
        t_new, h = self._ends(state.t, size)
        y_new, memory = method.step(self.fun, state.t, state.y, h, state.memory)
        factor, norm = self._factor(state, h, y_new, memory)
        enough = excess >= 0  # false for a NaN
        accepted = np.where(enough, norm, 1.0) < 1
        next_size = stop_gradient(size if method.fixed else abs(h) * factor)
        return TriedStep(t_new, h, y_new, memory, next_size, enough, accepted)

    def _size(self, state: State) -> tuple[Any, Any]:
        """Return the size of a step, and its excess over the least one: 10 units in the last place of the time."""
        t = stop_gradient(state.t)
        least = 10 * abs(self.direction * to_next(t) + t - t)
        if self.method.fixed:
            return state.size, -state.rejected
        size = np.where(state.rejected > 0, state.size, np.maximum(state.size, least))
        if np.isfinite(self.max_step):
            size = np.minimum(size, self.max_step)
        return size, size - least

    def _ends(self, t: Any, size: Any) -> tuple[Any, Any]:
        """Return the end of a step, and its size with its sign. The last one is cut at the end of the interval."""
        h = self.direction * size
        # The last of equal steps ends there, though rounding may leave a rest
        margin = 0.5 * size if self.method.fixed else 0.0
        is_last = self.direction * (t + h - self.end) > -margin
        t_new = np.where(is_last, self.end, t + h)
        h = stop_gradient(t_new - t)  # of the rounded times, as in SciPy
        return (t_new, np.where(is_last, self.end - t, h)) if self.times_vary else (stop_gradient(t_new), h)

    def _factor(self, state: State, h: Any, y_new: Any, memory: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the factor of the size after a step, and the norm of its error: less than 1 if it is accepted."""
        y, y_new, h, memory = stop_gradient((state.y, y_new, h, memory))
        if self.method.fixed:
            return 1.0, np.sum(abs(y_new) * 0).astype(np.float64)  # nan if it is not finite
        scale = self.atol + np.maximum(abs(y), abs(y_new)) * self.rtol
        norm = self.method.error_norm(memory, h, scale).astype(np.float64)
        wanted = SAFETY * norm ** (-1 / (self.method.error_order + 1))
        larger = np.minimum(np.where(state.rejected > 0, 1.0, MAX_FACTOR), wanted)
        # fmax: after a NaN the step is made smaller
        return np.where(norm < 1, larger, np.fmax(MIN_FACTOR, wanted)), norm
