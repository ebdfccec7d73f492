"""Events of an integration: times at which a function of time and state is zero, as SciPy finds them.

A step with a change of sign has a root of the method's interpolant. Its derivatives are those of the implicit function:
of time and state at the event as they were computed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.errors import UnsupportedError, check_function, name_of
from tapegrad.frontend.conversions.complex_views import complex_of
from tapegrad.frontend.functions.shapes.flat_structures import pairs_in
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.integrate.arguments import is_recording, numbers, plain, with_arguments
from tapegrad.integrate.method import AcceptedStep, RightSide, StepMethod, like
from tapegrad.integrate.systems import of_equation
from tapegrad.loops.carry import leaf_of, real_leaf_of
from tapegrad.loops.while_loop import repeated
from tapegrad.transforms.jacobians.jacobian import jacfwd
from tapegrad.transforms.stop_gradient import stop_gradient

TERMINATED = 1
_EPSILON = float(np.finfo(float).eps)
_TOLERANCE = 4 * _EPSILON


class Event:
    """Function of time and state, with the attributes `terminal` and `direction` that SciPy reads.

    Attributes
    ----------
    limit
        Occurrence that ends the integration, infinite if none does.
    direction
        Sign of the slope that counts, 0 for both.
    """

    def __init__(self, function: Callable[..., Any], args: Any) -> None:
        check_function("solve_ivp", function)
        terminal = getattr(function, "terminal", None)
        if terminal is not None and (int(terminal) != terminal or terminal < 0):
            raise ValueError(
                "solve_ivp: the attribute terminal of an event must be a boolean or a positive integer"
            )
        self.limit = float(terminal) if terminal else np.inf
        self.direction = float(getattr(function, "direction", 0))
        self._name, self._call = name_of(function), with_arguments("solve_ivp", function, args)

    def __call__(self, t: Any, y: Any) -> Any:
        """Return the number whose zeros are the event."""
        value = real_leaf_of(self._call(t, y), f"solve_ivp: the event {self._name}")
        if value.size != 1:
            raise ValueError(
                f"solve_ivp: the event {self._name} returned shape {value.shape}, but must return one number"
            )
        return value.reshape(()).astype(np.float64)

    def crosses(self, before: Any, after: Any) -> Any:
        """Return whether there is an event between two values."""
        up, down = (before <= 0) & (after >= 0), (before >= 0) & (after <= 0)
        return up | down if self.direction == 0 else up if self.direction > 0 else down


class EventState(NamedTuple):
    """Part of a state that events need: their last values, and how often each has happened."""

    values: tuple[Any, ...]
    counts: tuple[Any, ...]


class Events:
    """Events of an integration."""

    def __init__(self, events: Any, args: Any) -> None:
        functions = (events,) if callable(events) else tuple(events)
        self.each = [Event(function, args) for function in functions]
        if is_recording() and not all(event.limit == 1 for event in self.each):
            raise UnsupportedError(
                "solve_ivp: inside of a function that is recorded the number of events is not known; there events must"
                " end the integration, as by event.terminal = True"
            )

    def first(self, t: Any, y: Any) -> EventState:
        """Return the values at the begin."""
        t, y = stop_gradient((t, y))
        none = np.zeros((), np.int64)
        values = (stop_gradient(event(t, y)) for event in self.each)
        return EventState(
            tuple(np.asarray(v) if isinstance(v, np.generic) else v for v in values), (none,) * len(self.each)
        )

    def watched(self, before: EventState, t: Any, y: Any, accepted: Any) -> tuple[EventState, Any]:
        """Return values and counts after a step, and whether an event ends the integration."""
        t, y = stop_gradient((t, y))
        values, counts, ends = [], [], accepted & (t != t)
        for event, value, count in zip(self.each, before.values, before.counts, strict=True):
            found = stop_gradient(event(t, y))
            crosses = accepted & event.crosses(value, found)
            values.append(np.where(accepted, found, value))
            counts.append(np.where(crosses, count + 1, count))
            if event.limit < np.inf:
                ends = ends | (crosses & (counts[-1] >= int(event.limit)))
        return EventState(tuple(values), tuple(counts)), ends


class FoundEvents(NamedTuple):
    """Events that were found: for each function times and states; and time and state at the end, or `None`."""

    times: list[Any]
    states: list[Any]
    end: tuple[Any, Any] | None


def find_events(
    events: Events,
    method: StepMethod,
    fun: RightSide,
    steps: AcceptedStep,
    ends: np.ndarray,
    first: EventState,
) -> FoundEvents:
    """Find the events of steps, which are stacked; `ends` are the times between them."""
    times: list[list[Any]] = [[] for _ in events.each]
    states: list[list[Any]] = [[] for _ in events.each]
    before = [float(numbers(value)) for value in first.values]
    counts = np.zeros(len(events.each))
    last = None
    for k in range(len(ends) - 1):
        y = numbers(steps.end[k])
        with no_grad():
            after = [float(numbers(event(ends[k + 1], y))) for event in events.each]
        active = [
            j
            for j, event in enumerate(events.each)
            if event.crosses(np.float64(before[j]), np.float64(after[j]))
        ]
        before = after
        if not active:
            continue
        counts[active] += 1
        step = steps.at(k)
        roots = {j: _root(events.each[j], method, fun, step, ends[k], ends[k + 1]) for j in active}
        for j in _until_the_end(events, roots, counts, ends[k + 1] >= ends[k]):
            t, y = _occurrence(events.each[j], method, fun, step, np.float64(roots[j]))
            times[j].append(t)
            states[j].append(y)
            if counts[j] >= events.each[j].limit:
                last = t, y
    return FoundEvents([_stacked(t) for t in times], [_stacked(y) for y in states], last)


def _until_the_end(events: Events, roots: dict[int, float], counts: np.ndarray, forwards: bool) -> list[int]:
    """Return the events of a step up to the first that ends the integration, in the order of time if there is one."""
    ending = [j for j in roots if counts[j] >= events.each[j].limit]
    if not ending:
        return list(roots)
    ordered = sorted(roots, key=lambda j: roots[j] if forwards else -roots[j])
    return ordered[: 1 + next(k for k, j in enumerate(ordered) if j in ending)]


def _root(
    event: Event, method: StepMethod, fun: RightSide, step: AcceptedStep, begin: float, end: float
) -> float:
    """Return the time of an event in a step, a number."""
    from scipy.optimize import brentq

    plain = step.constant()

    def value(t: float) -> float:
        with no_grad():
            y = numbers(method.interpolated(fun, plain, np.float64(t)))
            return float(numbers(event(t, y)))

    return float(brentq(value, begin, end, xtol=_TOLERANCE, rtol=_TOLERANCE))


def _occurrence(
    event: Event, method: StepMethod, fun: RightSide, step: AcceptedStep, root: Any
) -> tuple[Any, Any]:
    """Return time and state of an event with their derivatives, given its time as a number."""

    def residual(root: Any, *operands: Any) -> Any:
        t, h, y, end, *memory = map(_seen_in, operands, dtypes)
        own = AcceptedStep(t, h, y, end, memory)
        return event(root[0], method.interpolated(fun, own, root[0])).reshape(1)

    def matrix(root: Any, *operands: Any) -> Any:
        return jacfwd(lambda root: residual(root, *operands))(root)

    parts = [leaf_of(part) for part in (step.t, step.h, step.y, step.end, *step.memory)]
    dtypes, operands = [part.dtype for part in parts], list(map(pairs_in, parts))
    t = plain(of_equation(residual, matrix, leaf_of(root).reshape(1), operands)[0])
    return t, method.interpolated(fun, step, t)


def _seen_in(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operand of an equation, where complex numbers are pairs, as the part of a step that it is."""
    return complex_of(value) if dtype.kind == "c" else value


def _stacked(values: Sequence[Any]) -> Any:
    return np.stack(list(values)) if values else np.zeros(0)


def ending_events(
    events: Events, method: StepMethod, fun: RightSide, step: AcceptedStep, status: Any, watch: EventState
) -> FoundEvents:
    """Find the events of the last step inside of recordings: each time is one, nan where it is not the end."""
    plain = step.constant()
    begin, end = plain.t, plain.t + plain.h
    found = []
    for event, count in zip(events.each, watch.counts, strict=True):

        def value(t: Any, event: Event = event) -> Any:
            return event(t, method.interpolated(fun, plain, t))

        root = _recorded_root(value, begin, end)
        found.append(np.where((status == TERMINATED) & (count > 0), root, np.inf * np.sign(plain.h)))
    forwards = np.sign(plain.h)
    first = forwards * np.min(np.stack([forwards * root for root in found]))
    times, states = [], []
    for event, root in zip(events.each, found, strict=True):
        is_first = (root == first) & np.isfinite(root)
        t, y = _occurrence(event, method, fun, step, np.where(is_first, root, end))
        missing = np.where(is_first, 1.0, np.nan)
        times.append((t * missing)[None])
        states.append((y * like(missing, y))[None])
    return FoundEvents(times, states, (stop_gradient(first), plain.end))


class _Bracket(NamedTuple):
    """Bracket of a root: the newest end, the other one, and the end before, with their values."""

    a: Any
    b: Any
    c: Any
    of_a: Any
    of_b: Any
    of_c: Any
    fraction: Any
    count: Any


def _recorded_root(function: Callable[[Any], Any], begin: Any, end: Any) -> Any:
    """Return a root between two times, by Chandrupatla's method (Adv. Eng. Softw. 28(3), 1997)."""

    def wide(state: _Bracket) -> Any:
        width = abs(state.b - state.a)
        best = np.minimum(abs(state.of_a), abs(state.of_b))
        return (width > _TOLERANCE * (1 + abs(state.a))) & (best > 0) & (state.count < 100)

    def narrowed(state: _Bracket) -> _Bracket:
        t = state.a + state.fraction * (state.b - state.a)
        value = stop_gradient(function(t))
        same = (value > 0) & (state.of_a > 0) | (value < 0) & (state.of_a < 0)
        c, of_c = np.where(same, state.a, state.b), np.where(same, state.of_a, state.of_b)
        b, of_b = np.where(same, state.b, state.a), np.where(same, state.of_b, state.of_a)
        return _Bracket(t, b, c, value, of_b, of_c, _fraction(t, b, c, value, of_b, of_c), state.count + 1)

    of_begin, of_end = stop_gradient((function(begin), function(end)))
    first = _Bracket(begin, end, end, of_begin, of_end, of_end, begin * 0 + 0.5, np.zeros((), np.int64))
    last: _Bracket = stop_gradient(repeated(wide, narrowed, first))
    return np.where(abs(last.of_a) <= abs(last.of_b), last.a, last.b)


def _fraction(a: Any, b: Any, c: Any, of_a: Any, of_b: Any, of_c: Any) -> Any:
    """Return where to look next: by inverse quadratic interpolation where that is safe, otherwise in the middle."""
    xi, phi = (a - b) / (c - b), (of_a - of_b) / (of_c - of_b)
    quadratic = (phi * phi < xi) & ((1 - phi) * (1 - phi) < 1 - xi)
    first = of_a / (of_b - of_a) * of_c / (of_b - of_c)
    second = (c - a) / (b - a) * of_a / (of_c - of_a) * of_b / (of_c - of_b)
    least = 0.5 * _TOLERANCE * (1 + abs(a)) / abs(b - a)
    return np.clip(np.where(quadratic, first + second, 0.5), least, 1 - least)
