"""Explicit Runge-Kutta methods: one step, its error and its interpolant, on Tensors or arrays."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from tapegrad.frontend.conversions.complex_views import part_dtype
from tapegrad.frontend.functions.shapes.flat_structures import pairs_in
from tapegrad.integrate.tableaus import DOP853, RK4, RK23, RK45, Row, Tableau
from tapegrad.transforms.stop_gradient import stop_gradient


class RightSide(Protocol):
    """Right side of an equation: the slope at a time and a state.

    Attributes
    ----------
    jacobian
        Its Jacobian by the state, for implicit methods.
    """

    jacobian: Any

    def __call__(self, t: Any, y: Any) -> Any: ...


class StepMethod(Protocol):
    """One-step method of an integration: a step, the estimate of its error, and its interpolant.

    Attributes
    ----------
    name
        Its name, as in SciPy.
    fixed
        Whether all steps have one size.
    implicit
        Whether each step has a Jacobian and an LU factorization.
    evaluations, further_evaluations
        Evaluations of the right side for a step, and for the interpolant of a step.
    error_order
        Order of the formula that the estimate of the error belongs to.
    """

    @property
    def name(self) -> str: ...

    @property
    def fixed(self) -> bool: ...

    @property
    def implicit(self) -> bool: ...

    @property
    def evaluations(self) -> int: ...

    @property
    def further_evaluations(self) -> int: ...

    @property
    def error_order(self) -> int: ...

    def at_rest(self, slope: Any, h: Any) -> tuple[Any, ...]:
        """Return the memory of a step that has not been made, whose slope is that at the begin."""
        ...

    def step(
        self, fun: RightSide, t: Any, y: Any, h: Any, memory: Sequence[Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return the state after a step from `y`, and its memory, given the memory of the step before."""
        ...

    def error_norm(self, memory: Sequence[Any], h: Any, scale: Any) -> Any:
        """Return the norm of the estimated error in units of `scale`: of a step that is accepted less than 1."""
        ...

    def interpolated(self, fun: RightSide, step: "AcceptedStep", t: Any) -> Any:
        """Return the state at a time within a step."""
        ...


class ExplicitMethod:
    """Explicit method, whose memory of a step are the slopes of its stages and at its end.

    Parameters
    ----------
    name
        Its name, as in SciPy.
    tableau
        Its coefficients.
    """

    def __init__(self, name: str, tableau: Tableau) -> None:
        self.name, self._tableau = name, tableau

    @property
    def implicit(self) -> bool:
        """False: a step has no Jacobian."""
        return False

    @property
    def fixed(self) -> bool:
        """True if all steps have one size."""
        return not self._tableau.error

    @property
    def evaluations(self) -> int:
        """Evaluations of the right side for a step: the first slope is the last one of the step before."""
        return len(self._tableau.b)

    @property
    def further_evaluations(self) -> int:
        """Evaluations of the right side for the interpolant of a step."""
        return len(self._tableau.extra_a)

    @property
    def error_order(self) -> int:
        """Order of the formula that the estimate of the error belongs to."""
        return self._tableau.error_order

    def at_rest(self, slope: Any, h: Any) -> tuple[Any, ...]:
        """Return the memory of a step that has not been made, whose slope is that at the begin."""
        return (slope,) * (self.evaluations + 1)

    def step(
        self, fun: RightSide, t: Any, y: Any, h: Any, memory: Sequence[Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return the state after a step from `y`, and the slopes of all stages and at the end: the memory."""
        tableau = self._tableau
        of_state = like(h, y)
        slopes = [memory[-1]]
        for weights, c in zip(tableau.a, tableau.c[1:], strict=True):
            slopes.append(fun(t + c * h, y + of_state * weighted(weights, slopes)))
        end = y + of_state * weighted(tableau.b, slopes)
        return end, (*slopes, fun(t + h, end))

    def error_norm(self, slopes: Sequence[Any], h: Any, scale: Any) -> Any:
        """Return the norm of the estimated error in units of `scale`: of a step that is accepted less than 1."""
        tableau = self._tableau
        error = weighted(tableau.error, slopes) / scale
        if not tableau.second_error:
            return rms_norm(like(h, error) * error)
        squares = _sum_of_squares(error)
        denominator = squares + 0.01 * _sum_of_squares(weighted(tableau.second_error, slopes) / scale)
        denominator = np.where(denominator == 0, 1.0, denominator)
        return abs(like(h, error)) * squares / np.sqrt(denominator * scale.size)

    def interpolated(self, fun: RightSide, step: "AcceptedStep", t: Any) -> Any:
        """Return the state at a time within a step."""
        x = like((t - step.t) / step.h, step.y)
        if self.further_evaluations:
            return self._by_terms(fun, step, x)
        weights = self._tableau.interpolant
        powers = np.stack([x ** (k + 1) for k in range(len(weights[0]))])
        of_slopes = np.array(weights, part_dtype(step.y.dtype)) @ powers
        return step.y + like(step.h, step.y) * (of_slopes @ np.stack(step.memory))

    def between(self, step: "AcceptedStep", t: Any) -> Any:
        """Return the state at a time within a step by numbers alone, which are in one segment with the step.

        It takes no further evaluations.
        """
        x = like((t - step.t) / step.h, step.y)
        total: Any = None
        for coefficients, slope in zip(self._tableau.interpolant, step.memory, strict=True):
            if any(coefficients):
                weight = _by_powers(coefficients, x)
                total = weight * slope if total is None else total + weight * slope
        return step.y + like(step.h, step.y) * total

    def _by_terms(self, fun: RightSide, step: "AcceptedStep", x: Any) -> Any:
        """Return the state in a step of DOP853, whose polynomial is nested in x and 1 - x."""
        tableau, h = self._tableau, like(step.h, step.y)
        slopes = list(step.memory)
        for weights, c in zip(tableau.extra_a, tableau.extra_c, strict=True):
            slopes.append(fun(step.t + c * step.h, step.y + h * weighted(weights, slopes)))
        change = step.end - step.y
        first, last = slopes[0], slopes[len(tableau.b)]
        terms = [change, h * first - change, 2 * change - h * (last + first)]
        terms += [h * weighted(weights, slopes) for weights in tableau.interpolant]
        value = np.zeros_like(step.y)
        for k, term in enumerate(reversed(terms)):
            value = (value + term) * (x if k % 2 == 0 else 1 - x)
        return step.y + value


class AcceptedStep:
    """Step that was accepted: begin, size, states at both ends, and the memory of the method."""

    def __init__(self, t: Any, h: Any, y: Any, end: Any, memory: Sequence[Any]) -> None:
        self.t, self.h, self.y, self.end, self.memory = t, h, y, end, memory

    def at(self, k: int) -> "AcceptedStep":
        """Return a step of several that are stacked."""
        memory = [part[k] for part in self.memory]
        return AcceptedStep(self.t[k], self.h[k], self.y[k], self.end[k], memory)

    def constant(self) -> "AcceptedStep":
        """Return the step without derivatives."""
        return AcceptedStep(*stop_gradient((self.t, self.h, self.y, self.end, tuple(self.memory))))


def like(number: Any, state: Any) -> Any:
    """Return a number of float64 in the precision of a state."""
    dtype = part_dtype(state.dtype)
    return number if dtype == np.float64 else number.astype(dtype)


def rms_norm(x: Any) -> Any:
    """Return the root of the mean of squares, of complex numbers of those of their absolute values."""
    return np.sqrt(_sum_of_squares(x)) / x.size**0.5


def _sum_of_squares(x: Any) -> Any:
    parts = pairs_in(x)
    return np.sum(parts * parts)


def _by_powers(coefficients: Row, x: Any) -> Any:
    """Return a polynomial without a constant term, of which are given the coefficients of x, x**2, ..."""
    value: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value * x


def weighted(weights: Row, slopes: Iterable[Any]) -> Any:
    """Return a sum of slopes with weights, without those of weight 0."""
    total: Any = None
    for weight, slope in zip(weights, slopes, strict=False):
        if weight != 0:
            total = weight * slope if total is None else total + weight * slope
    return total


EXPLICIT = {
    name: ExplicitMethod(name, tableau)
    for name, tableau in (("RK23", RK23), ("RK45", RK45), ("DOP853", DOP853), ("RK4", RK4))
}
