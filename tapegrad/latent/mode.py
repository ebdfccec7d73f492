"""Mode of the effects: Newton's method on the sparse Hessian, as one loop in compiled code.

Steps that raise the density's negative logarithm are halved; where the Hessian is not positive definite, a multiple of
the identity is added (the smallest of a geometric series with which it is). The Newton decrement is the square of the
next step's length in standard deviations: the loop ends one step after it has become small, or where it is rounding.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.latent.joint import Joint
from tapegrad.loops.while_loop import while_loop
from tapegrad.transforms.stop_gradient import stop_gradient

MAX_STEPS = 200
RUNNING, FOUND, NO_VALUE, UNBOUNDED = 0.0, 1.0, 2.0, 3.0  # floats, which a recording takes from elements
_REASONS = {
    RUNNING: f"the joint density has no mode that {MAX_STEPS} steps of Newton's method find",
    NO_VALUE: "the joint density is nan or infinite, or its logarithm has no derivative, where the search began",
    UNBOUNDED: "the Hessian is not positive definite where the steps end: there is no mode, or a direction is flat",
}
_SMALL, _ROUNDED = 1e-12, 1e-20  # decrements, in units of the logarithm of the density
_NEAR = 1e-3  # of a last step, relative
_ROUNDING = 1e-10  # of values, relative: differences below it say nothing
_FIRST_SHIFT, _SHIFT_FACTOR = 1e-3, 10.0  # relative to the largest entry
_LARGEST_SHIFT = 1e8


class ModeSearch(NamedTuple):
    """State of the search.

    Attributes
    ----------
    best, value
        The best effects so far, and minus the logarithm of the joint density there.
    log_det
        Logarithm of the determinant of the Hessian there, once they are the mode.
    step, last
        From there to what is tried next; 1 if that is the mode but for rounding.
    shift
        What is added to the diagonal, relative to the largest entry of the Hessian.
    status
        `RUNNING`, `FOUND`, `NO_VALUE` or `UNBOUNDED`.
    steps
        Number of evaluations, a whole number.
    """

    best: Any
    value: Any
    log_det: Any
    step: Any
    last: Any
    shift: Any
    status: Any
    steps: Any


@restoring
def find_mode(joint: Joint, start: Any) -> ModeSearch:
    """Record Newton's method for the mode from a start. Its result is a constant for differentiation."""
    thread.mode = thread.mode.but(nan_on_failure=True)
    start = stop_gradient(start)

    def body(state: ModeSearch) -> ModeSearch:
        return _next(joint, state)

    first = ModeSearch(start, np.inf, 0.0, start * 0.0, 0.0, 0.0, RUNNING, 0.0)
    # No carry is stored for a reverse sweep
    found = while_loop(
        lambda state: (state.status == RUNNING) & (state.steps < MAX_STEPS), body, first, checkpoint=1
    )
    return ModeSearch(*stop_gradient(tuple(found)))


def reason(status: Any) -> str:
    """Return in words why there is no mode."""
    return _REASONS.get(float(status), "the marginal density is not finite")


def _next(joint: Joint, state: ModeSearch) -> ModeSearch:
    """Try a step, and find the next one."""
    effects = state.best + state.step
    value, slope = joint.value_and_gradient(effects)
    entries, cholesky = joint.entries(effects)
    largest = np.max(abs(entries), initial=0.0)
    added = np.where(cholesky.rows == cholesky.columns, state.shift * largest, 0.0)
    factor = cholesky.factor(entries + added)
    newton = factor.solve(slope)
    decrement = np.dot(slope, newton)
    # Flags are floats: a product of them stays in the loop that computes them
    bound = state.value + _ROUNDING * (1.0 + abs(state.value))
    better = _flag(value <= bound) * _flag(abs(value) < np.inf)
    definite = _flag(decrement >= 0.0)  # 0 for nan
    # A flat tail has small decrements, too, but not small steps
    plain = better * definite * _flag(state.shift == 0.0)
    near = plain * _flag(np.max(abs(newton)) <= _NEAR * (1.0 + np.max(abs(effects))))
    found = np.maximum(plain * state.last, near * _flag(decrement <= _ROUNDED))
    no_value = (1.0 - better) * _flag(state.steps == 0.0)
    unbounded = better * (1.0 - definite) * _flag(state.shift > _LARGEST_SHIFT)
    shift = np.where(definite > 0.0, _lower(state.shift), _higher(state.shift))
    return ModeSearch(
        np.where(better > 0.0, effects, state.best),
        np.where(better > 0.0, value, state.value),
        factor.logdet(),
        np.where(better > 0.0, np.where(definite > 0.0, -newton, 0.0), 0.5 * state.step),
        near * _flag(decrement <= _SMALL),
        np.where(better > 0.0, shift, state.shift),
        FOUND * found + NO_VALUE * no_value + UNBOUNDED * unbounded,
        state.steps + 1.0,
    )


def _flag(truth: Any) -> Any:
    return np.where(truth, 1.0, 0.0)


def _higher(shift: Any) -> Any:
    return np.maximum(_SHIFT_FACTOR * shift, _FIRST_SHIFT)


def _lower(shift: Any) -> Any:
    return np.where(shift > _FIRST_SHIFT, shift / _SHIFT_FACTOR, 0.0)
