"""Radau IIA of order 5 for stiff equations, with SciPy's iteration, estimate of the error and step sizes.

The three stages are found by a simplified Newton iteration, whose Jacobian serves several steps. Nothing of that has
derivatives: those of a step are by the implicit function theorem, of the stages that the iteration has ended with.
They are exact for stages that solve their equations, and differ from those of the numbers that were computed by as much
as the iteration has left, a small part of the tolerance.

References: Hairer, Wanner, "Solving Ordinary Differential Equations II", 1996, sections IV.5 and IV.8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.integrate.method import AcceptedStep, RightSide, like, rms_norm, weighted
from tapegrad.integrate.steps import (
    FAILED,
    MAX_FACTOR,
    MIN_FACTOR,
    SAFETY,
    Integration,
    State,
    added,
    to_next,
)
from tapegrad.integrate.systems import SlopeJacobian, of_stages
from tapegrad.loops.while_loop import repeated
from tapegrad.transforms.stop_gradient import stop_gradient

_ROOT = 6**0.5
_C = np.array([(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1])
_A = np.array(
    [
        [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
        [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
        [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
    ]
)
_ERROR = np.array([-13 - 7 * _ROOT, -13 + 7 * _ROOT, -1]) / 3
# The inverse of _A is T L T**-1, where L has a real eigenvalue and a pair of complex ones
_REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
_COMPLEX = 3 + 0.5 * (3 ** (1 / 3) - 3 ** (2 / 3)), -0.5 * (3 ** (5 / 6) + 3 ** (7 / 6))
_T = np.array(
    [
        [0.09443876248897524, -0.14125529502095421, 0.03002919410514742],
        [0.25021312296533332, 0.20412935229379994, -0.38294211275726192],
        [1, 1, 0],
    ]
)
_T_INVERSE = np.array(
    [
        [4.17871859155190428, 0.32768282076106237, 0.52337644549944951],
        [-4.17871859155190428, -0.32768282076106237, 0.47662355450055044],
        [0.50287263494578682, -2.57192694985560522, 0.59603920482822492],
    ]
)
_INTERPOLANT = np.array(
    [
        [13 / 3 + 7 * _ROOT / 3, -23 / 3 - 22 * _ROOT / 3, 10 / 3 + 5 * _ROOT],
        [13 / 3 - 7 * _ROOT / 3, -23 / 3 + 22 * _ROOT / 3, 10 / 3 - 5 * _ROOT],
        [1 / 3, -8 / 3, 10 / 3],
    ]
)
_MAX_ITERATIONS = 6


Three = tuple[Any, ...]


class Radau:
    """Radau IIA of order 5. Its memory are the three stages, as differences from the state at the begin."""

    name = "Radau"
    fixed = False
    implicit = True
    evaluations = 0  # counted by the iteration
    further_evaluations = 0
    error_order = 3

    def at_rest(self, slope: Any, h: Any) -> tuple[Any, ...]:
        """Return the memory of a step that has not been made, whose slope is that at the begin."""
        none = np.zeros_like(slope)
        return (none, none, 3 * like(h, slope) * slope)  # of which the interpolant takes a third

    def interpolated(self, fun: RightSide, step: AcceptedStep, t: Any) -> Any:
        """Return the state at a time within a step, or beyond it."""
        x = like((t - step.t) / step.h, step.y)
        value = step.y
        for (first, second, third), stage in zip(_INTERPOLANT.tolist(), step.memory, strict=True):
            value = value + (x * (first + x * (second + x * third))) * stage
        return value

    def step(self, *_: Any) -> Any:
        raise NotImplementedError  # by RadauIntegration

    def error_norm(self, *_: Any) -> Any:
        raise NotImplementedError


class Control(NamedTuple):
    """Memory of the iteration and the step sizes, beside the state. All of it is constant.

    Attributes
    ----------
    slope
        Slope at the state.
    jacobian, is_current, is_due
        The Jacobian, whether it is that at the state, and whether it is to be computed.
    factored
        Size of the step whose matrices are used, nan for those of the next one.
    proposed
        Size that the step began with.
    size_before, norm_before
        Size that the step before began with, and its error; nan where they do not count.
    too_large, repeated
        Whether the error was too large in this step; whether the next iteration is for the same size.
    jacobians, factorizations
        Numbers of Jacobians and factorizations.
    """

    slope: Any
    jacobian: Any
    is_current: Any
    is_due: Any
    factored: Any
    proposed: Any
    size_before: Any
    norm_before: Any
    too_large: Any
    repeated: Any
    jacobians: Any
    factorizations: Any


class NewtonState(NamedTuple):
    """Newton's iteration for the stages.

    Attributes
    ----------
    transformed
        The stages times the inverse of T.
    norm, rate
        Norm of the last correction, and its ratio to the one before.
    count
        Number of iterations.
    converged, failed
        How it has ended.
    """

    transformed: Three
    norm: Any
    rate: Any
    count: Any
    converged: Any
    failed: Any


class Matrices:
    """Matrices of the iteration, factored: a real and a complex one."""

    def __init__(self, jacobian: SlopeJacobian, matrix: Any, h: Any) -> None:
        self.real = jacobian.system(matrix, _REAL / h)
        self._complex = jacobian.complex_system(matrix, *(part / h for part in _COMPLEX))

    def all(self, rights: Three) -> Three:
        """Return the solutions for three right sides, of which two are the parts of a complex one."""
        return self.real(rights[0]), *self._complex(*rights[1:])


@dataclass(frozen=True)
class Attempt:
    """Step that is tried: where it begins, its size with its sign, and its scale. All are constants."""

    fun: RightSide
    t: Any
    y: Any
    h: Any
    scale: Any
    matrices: Matrices
    tolerance: Any

    def stages(self, first: Three) -> NewtonState:
        """Iterate from a guess."""
        zero = np.zeros(())
        none = np.asarray(np.nan)
        no = zero > 0
        begin = NewtonState(_product(_T_INVERSE, first), none, none, zero, no, no)
        found: NewtonState = repeated(
            lambda stages: ~(stages.converged | stages.failed) & (stages.count < _MAX_ITERATIONS),
            self._improved,
            begin,
        )
        return stop_gradient(found)

    def _improved(self, stages: NewtonState) -> NewtonState:
        """Make one iteration."""
        slopes = stage_slopes(self.fun, self.t, self.y, self.h, _product(_T, stages.transformed))
        rights = zip(_product(_T_INVERSE, slopes), self._own(stages.transformed), strict=True)
        change = self.matrices.all(tuple(slope - own for slope, own in rights))
        norm = _norm([part / self.scale for part in change])
        rate = norm / stages.norm  # nan at first
        left = _MAX_ITERATIONS - stages.count
        hopeless = (rate >= 1) | (rate**left / (1 - rate) * norm > self.tolerance)
        failed = hopeless | ~np.isfinite(sum(np.sum(slope * 0) for slope in slopes))
        done = (norm == 0) | (rate / (1 - rate) * norm < self.tolerance)
        transformed = tuple(
            np.where(failed, part, part + other)
            for part, other in zip(stages.transformed, change, strict=True)
        )
        return NewtonState(transformed, norm, rate, stages.count + 1, done & ~failed, failed)

    def _own(self, transformed: Three) -> Three:
        """Return the transformed stages times the eigenvalues, divided by the size."""
        size = like(self.h, self.y)
        real, imaginary = (part / size for part in _COMPLEX)
        first, second, third = transformed
        return (
            _REAL / size * first,
            real * second - imaginary * third,
            real * third + imaginary * second,
        )


def _product(matrix: np.ndarray, parts: Three) -> Three:
    """Return a matrix times three rows."""
    return tuple(weighted(row, parts) for row in matrix.tolist())


def _norm(parts: Sequence[Any]) -> Any:
    """Return the root of the mean of squares of three arrays, in float64."""
    squares = sum(np.sum(part * part) for part in parts)
    return np.sqrt(squares).astype(np.float64) / (3 * parts[0].size) ** 0.5


def stage_slopes(fun: RightSide, t: Any, y: Any, h: Any, stages: Three) -> Three:
    """Return the slopes at three stages."""
    return tuple(fun(t + c * h, y + stage) for c, stage in zip(_C.tolist(), stages, strict=True))


def differentiable(fun: RightSide, t: Any, y: Any, h: Any, stages: Three) -> Three:
    """Return stages, which are constants, with the derivatives that their equations give them."""
    count = y.shape[0]

    def apart(flat: Any) -> Three:
        return flat[:count], flat[count : 2 * count], flat[2 * count :]

    def residual(flat: Any, t: Any, y: Any, h: Any) -> Any:
        moved = _product(_A, stage_slopes(fun, t, y, h, apart(flat)))
        return flat - like(h, y) * np.concatenate(moved)

    def jacobians(flat: Any, t: Any, y: Any, h: Any) -> tuple[Any, ...]:
        stages = zip(_C.tolist(), apart(flat), strict=True)
        return h, *(fun.jacobian.at(t + c * h, y + stage) for c, stage in stages)

    system = fun.jacobian.stage_system(_A, jacobians)
    return apart(of_stages(residual, system, np.concatenate(stages), [t, y, h]))


class RadauIntegration(Integration):
    """Integration by Radau's method: one iteration of its loop tries one step, with the Jacobian that there is."""

    def counts(self, last: State) -> tuple[Any, Any]:
        """Return how many Jacobians and factorizations were computed."""
        return last.control.jacobians, last.control.factorizations

    def control(self, slope: Any, size: Any) -> Control:
        """Return what the first step depends on."""
        slope = stop_gradient(slope)
        no, none, one = np.zeros((), np.bool_), np.asarray(np.nan), np.ones(())
        matrix = self.fun.jacobian.at_rest(slope)
        return Control(slope, matrix, ~no, ~no, none, size, none, none, no, no, one, one * 0)

    @restoring
    def _step(self, state: State) -> State:
        """Try one step, with the Jacobian that there is or a new one."""
        thread.mode = thread.mode.but(
            nan_on_failure=True
        )  # of a singular matrix: a smaller step has another one
        control: Control = state.control
        y = stop_gradient(state.y)
        size, too_small, control = self._wanted(state)
        t_new, h_new = self._ends(state.t, size)
        t, h = stop_gradient((state.t, h_new))
        due = np.where(control.is_due, self.fun.jacobian.at(t, y), control.jacobian)
        factored = np.where(np.isnan(control.factored), h, control.factored)
        anew = np.isnan(control.factored) & ~too_small
        factorizations = added(control.factorizations, 2, anew)
        control = control._replace(
            jacobian=stop_gradient(due), factored=factored, factorizations=factorizations
        )
        matrices = Matrices(self.fun.jacobian, control.jacobian, like(factored, y))
        attempt = Attempt(self.fun, t, y, h, self.atol + abs(y) * self.rtol, matrices, self._tolerance())
        found = attempt.stages(self._guess(state, t, y, h))
        stages = _product(_T, found.transformed)
        outcome = self._outcome(attempt, control, found, stages)
        return self._decided(state, control, attempt, found, (t_new, h_new, stages), outcome, too_small)

    def _tolerance(self) -> Any:
        """Return the tolerance of the iteration."""
        least = 10 * float(np.finfo(self.y0.dtype).eps)
        return np.min(np.maximum(least / self.rtol, np.minimum(0.03, self.rtol**0.5)))

    def _wanted(self, state: State) -> tuple[Any, Any, Control]:
        """Return the size of a step, and whether it is too small. A size beyond its bounds is no measure for others."""
        control: Control = state.control
        t = stop_gradient(state.t)
        least = 10 * abs(self.direction * to_next(t) + t - t)
        begins = ~((state.rejected > 0) | control.repeated)
        size = np.where(begins, np.maximum(state.size, least), state.size)
        size = np.where(begins, np.minimum(size, self.max_step), size)
        forgets = begins & (size != state.size)
        control = control._replace(
            proposed=np.where(begins, state.size, control.proposed),
            size_before=np.where(forgets, np.nan, control.size_before),
            norm_before=np.where(forgets, np.nan, control.norm_before),
        )
        return size, ~(size >= least) & ~control.repeated, control

    def _guess(self, state: State, t: Any, y: Any, h: Any) -> Three:
        """Return a guess of the stages, by the interpolant of the step before."""
        before = state.step.constant()
        guess = (self.method.interpolated(self.fun, before, t + c * h) - y for c in _C.tolist())
        return tuple(np.where(state.accepted > 0, part, 0.0) for part in guess)

    def _outcome(
        self, attempt: Attempt, control: Control, found: NewtonState, stages: Three
    ) -> tuple[Any, Any, Any]:
        """Return the norm of the error, the factor of the size after the step, and further evaluations."""
        y, h = attempt.y, like(attempt.h, attempt.y)
        scale = self.atol + np.maximum(abs(y), abs(y + stages[2])) * self.rtol
        along = weighted(_ERROR.tolist(), stages) / h
        error = attempt.matrices.real(control.slope + along)
        norm = rms_norm(error / scale)
        again = control.too_large & (norm > 1)
        second = attempt.matrices.real(self.fun(attempt.t, y + error) + along)
        norm = np.where(again, rms_norm(second / scale), norm).astype(np.float64)
        ratio = abs(attempt.h) / control.size_before * (control.norm_before / norm) ** 0.25
        ratio = np.where(np.isnan(ratio) | (norm == 0), 1.0, np.minimum(1.0, ratio))
        safety = SAFETY * (2 * _MAX_ITERATIONS + 1) / (2 * _MAX_ITERATIONS + found.count)
        return norm, safety * ratio * norm**-0.25, again

    def _decided(
        self,
        state: State,
        control: Control,
        attempt: Attempt,
        found: NewtonState,
        step: Any,
        outcome: Any,
        too_small: Any,
    ) -> State:
        """Accept the step, or try another one."""
        t_new, h_new, stages = step
        norm, factor, further = outcome
        size = abs(attempt.h)
        converged = found.converged & ~too_small
        accepted = converged & (norm <= 1)
        again = ~converged & ~control.is_current & ~too_small  # with a new Jacobian
        anew = (found.count > 2) & (found.rate > 1e-3)
        renewed = again | (accepted & anew)
        larger = np.minimum(MAX_FACTOR, factor)
        keeps = accepted & ~anew & (larger < 1.2)
        smaller = size * np.where(converged, np.fmax(MIN_FACTOR, factor), 0.5)
        next_size = np.where(accepted, size * np.where(keeps, 1.0, larger), np.where(again, size, smaller))
        # Where the iteration has diverged the slope may be nan, and the matrix of the derivative with it
        stages = tuple(np.where(accepted, stage, 0.0) for stage in stages)
        stages = differentiable(self.fun, state.t, state.y, h_new, stages)
        y_new = state.y + stages[2]

        def chosen(new: Any, old: Any) -> Any:
            return np.where(accepted, new, old)

        after = Control(
            chosen(stop_gradient(self.fun(stop_gradient(t_new), stop_gradient(y_new))), control.slope),
            control.jacobian,
            renewed | (~accepted & control.is_current),
            renewed,
            np.where(keeps, control.factored, np.nan),
            control.proposed,
            chosen(control.proposed, control.size_before),
            chosen(norm, control.norm_before),
            ~accepted & (control.too_large | converged),
            again,
            added(control.jacobians, 1, renewed),
            control.factorizations,
        )
        evaluations = added(state.evaluations + 3.0 * found.count, 1, further & converged)
        evaluations = np.where(too_small, state.evaluations, added(evaluations, 1, accepted))
        return state.after(accepted, t_new, h_new, y_new, stages)._replace(
            size=stop_gradient(next_size),
            rejected=np.where(accepted | again, 0.0, 1.0),
            evaluations=evaluations,
            status=added(state.status, FAILED, too_small),
            control=after,
        )
