"""Solution of an integration at given times, by a loop that goes on from time to time.

For explicit methods without further evaluations one loop does all: an iteration tries a step, and emits an output if it
lies in it. For a further output in the same step the step is computed again, which costs less than storing it. Outputs
that are not reached are nan, and derivatives by them raise.
"""

from typing import Any

import numpy as np

from tapegrad.autodiff.custom.call import Call
from tapegrad.autodiff.custom.packing import ArraySpec
from tapegrad.errors import UnreachedOutputError
from tapegrad.frontend.conversions.complex_views import complex_of, is_complex
from tapegrad.frontend.functions.shapes.flat_structures import pairs_in
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.implicit.reached_values import ReachedValues, packed, raises
from tapegrad.integrate.arguments import known, numbers
from tapegrad.integrate.events import TERMINATED
from tapegrad.integrate.method import AcceptedStep, ExplicitMethod, like
from tapegrad.integrate.steps import FAILED, OUT_OF_STEPS, Integration, State, added
from tapegrad.loops.body import on_recording
from tapegrad.loops.scan import scan_with_retries, scanned
from tapegrad.program.archive.contents import OpKind, ReadContents, add_kind
from tapegrad.program.archive.fields import extents_of, field, integers, refuse_unless
from tapegrad.transforms.stop_gradient import stop_gradient


def outputs(integration: Integration, t_eval: Any) -> tuple[State, Any]:
    """Return the state at the end of the loop, and the solution at times, in rows."""
    method = integration.method
    begin, end = integration.begin, integration.end
    has_length = known(begin) and known(end) and float(numbers(begin)) != float(numbers(end))
    is_short = isinstance(method, ExplicitMethod) and not method.further_evaluations
    if is_short and has_length and integration.events is None and len(t_eval):
        return _by_one_loop(integration, t_eval)
    return _by_loops(integration, t_eval)


def _by_one_loop(integration: Integration, t_eval: Any) -> tuple[State, Any]:
    """Return both by one loop: an iteration tries a step, and emits an output if it lies in it."""
    method, direction = integration.method, integration.direction
    assert isinstance(method, ExplicitMethod)

    def advance(state: State, times: Any) -> tuple[State, Any, Any]:
        t, following = times
        made = integration.tried(state)
        step = AcceptedStep(state.t, made.h, state.y, made.y, made.memory)
        y = method.between(step, t)
        done = np.where(made.accepted, direction * (made.t - t), -1.0) >= 0
        stays = np.where(done, direction * (made.t - following), -1.0) >= 0
        moves = np.where(stays, 0.0, np.where(made.accepted, 1.0, 0.0)) > 0

        def chosen(new: Any, old: Any) -> Any:
            return np.where(moves, new, old)

        after = state._replace(
            t=chosen(made.t, state.t),
            y=chosen(made.y, state.y),
            memory=(chosen(made.memory[-1], state.memory[-1]),),
            size=stop_gradient(np.where(stays, state.size, made.next_size)),
            rejected=np.where(stays, state.rejected, np.where(made.accepted, 0.0, 1.0)),
            evaluations=added(
                state.evaluations,
                method.evaluations,
                np.where(stays, 0.0, np.where(made.enough, 1.0, 0.0)) > 0,
            ),
            accepted=added(state.accepted, 1, moves),
            status=np.where(made.enough, stop_gradient(state.status), float(FAILED)),
        )
        return after, y, done

    first = integration.first()
    first = first._replace(t_old=(), h=(), y_old=(), memory=first.memory[-1:])
    following = np.append(stop_gradient(t_eval)[1:], direction * np.inf)
    last, _, ys = scan_with_retries(advance, integration.rest, first, (t_eval, following))
    return integration.stopped(last, direction * (t_eval[-1] - last.t)), ys


def _by_loops(integration: Integration, t_eval: Any) -> tuple[State, Any]:
    """Return them by a loop over the times, with a loop over steps in it."""
    method, direction = integration.method, integration.direction

    def output(carry: Any, t: Any) -> Any:
        state, interpolated = carry
        state = integration.run(state, lambda state: direction * (t - state.t))
        y = method.interpolated(integration.fun, state.step, t)
        if method.further_evaluations:
            evaluations = added(state.evaluations, method.further_evaluations, state.t_old != interpolated)
            state = state._replace(evaluations=evaluations)
        y = y * like(np.where(direction * (state.t - t) >= 0, 1.0, np.nan), y)
        return (state, stop_gradient(state.t_old)), y

    first = integration.first(), np.asarray(np.nan)
    (state, _), ys = scanned(output, first, t_eval, pulled_at_once=True)
    return state, ys


# --- outputs that were not reached ----------------------------------------------------------------------------------


def reached(t_eval: Any, ys: Any, last: State) -> Any:
    """Return outputs, of which those that were not reached are nan, and have no derivative: it raises."""
    if not is_tensor(ys) or ys.constant or not len(ys):
        return ys
    pairs = pairs_in(ys)
    values = pairs.reshape(len(ys), -1)
    op = ReachedOp(values.shape, is_strict=raises())
    stop = stop_gradient((t_eval, last.t, last.status, last.accepted))
    found = op(values, *map(on_recording, stop))
    return complex_of(found.reshape(pairs.shape)) if is_complex(ys) else found


class ReachedOp(ReachedValues):
    """Outputs; the other operands are their times, and time, status and number of steps at the end."""

    solver = "solve_ivp"

    def error(self, duals: Any, ys: Any, *rest: Any) -> BaseException | None:
        """Return the exception for a cotangent or a tangent of an output that was not reached."""
        times, t, status, steps = rest
        wrong = ((duals != 0) & np.isnan(ys)).any(axis=1)
        if not wrong.any():
            return None
        number = int(np.argmax(wrong))
        return UnreachedOutputError(
            f"solve_ivp: there is no derivative by the output at t_eval[{number}]={float(times[number]):.9g}:"
            f" {_reason(int(status), float(t), int(steps), number)}"
        )


def _reason(status: int, t: float, steps: int, number: int) -> str:
    """Return why an output was not reached, given its number, and what to do."""
    if status == FAILED:
        return (
            f"the integration has stopped at t={t:.9g}, after {steps} steps, where the required step size is less than"
            f" spacing between numbers. Differentiate the outputs before alone, y[:, :{number}], or end t_eval there;"
            " see whether the solution ends there, or write method='Radau' if the problem is stiff"
        )
    if status == OUT_OF_STEPS:
        return f"the integration has stopped at t={t:.9g}, for max_steps={steps} steps were made"
    if status == TERMINATED:
        return f"an event has ended the integration in the step to t={t:.9g}; differentiate the outputs before it alone"
    return "it is nan, or its time is"


def _unpacked(record: dict[str, Any], contents: ReadContents) -> Call:
    count = 2
    numbers = integers(record.get("shape"), 0, 1 << 40, "outputs of a solver")
    refuse_unless(len(numbers) == count, "outputs of a solver are in two dimensions")
    shape = extents_of(numbers, 8, "outputs of a solver")
    of_cotangents = field(record, "cotangents", bool)
    op = ReachedOp(shape, of_cotangents, field(record, "strict", bool))
    floats = np.dtype(float)
    shapes = [shape] * (2 if of_cotangents else 1) + [shape[:1], (), (), ()]
    inputs = tuple(ArraySpec(each, floats, int(np.prod(each, dtype=int))) for each in shapes)
    return op.call_for(inputs, inputs[:1])


add_kind(OpKind("outputs", ReachedOp, packed, _unpacked))
