"""Explicit Runge-Kutta methods: one step, its error and its interpolant, on Tensors or arrays."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.integrate.tableaus import DOP853, RK4, RK23, RK45, Row, Tableau

RightSide = Callable[[Any, Any], Any]
_TABLEAUS = {"RK23": RK23, "RK45": RK45, "DOP853": DOP853, "RK4": RK4}


class ExplicitMethod:
    """Explicit method.

    Parameters
    ----------
    name
        Its name, as in SciPy.
    """

    def __init__(self, name: Any) -> None:
        if not isinstance(name, str) or name not in _TABLEAUS:
            raise UnsupportedError(
                f"solve_ivp: method={name!r} is not available; there are {', '.join(_TABLEAUS)}, which are explicit."
                " For stiff problems without derivatives use scipy.integrate.solve_ivp"
            )
        self.name = name
        self._tableau: Tableau = _TABLEAUS[name]

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

    def step(self, fun: RightSide, t: Any, y: Any, h: Any, slope: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the state after a step from `y` with slope `slope`, and the slopes of all stages and at the end."""
        tableau = self._tableau
        of_state = like(h, y)
        slopes = [slope]
        for weights, c in zip(tableau.a, tableau.c[1:], strict=True):
            slopes.append(fun(t + c * h, y + of_state * _weighted(weights, slopes)))
        end = y + of_state * _weighted(tableau.b, slopes)
        return end, (*slopes, fun(t + h, end))

    def error_norm(self, slopes: Sequence[Any], h: Any, scale: Any) -> Any:
        """Return the norm of the estimated error in units of `scale`: of a step that is accepted less than 1."""
        tableau = self._tableau
        error = _weighted(tableau.error, slopes) / scale
        if not tableau.second_error:
            return rms_norm(like(h, error) * error)
        squares = np.sum(error * error)
        denominator = squares + 0.01 * np.sum((_weighted(tableau.second_error, slopes) / scale) ** 2)
        denominator = np.where(denominator == 0, 1.0, denominator)
        return abs(like(h, error)) * squares / np.sqrt(denominator * scale.size)

    def interpolated(self, fun: RightSide, step: "AcceptedStep", t: Any) -> Any:
        """Return the state at a time within a step."""
        x = like((t - step.t) / step.h, step.y)
        if self.further_evaluations:
            return self._by_terms(fun, step, x)
        weights = self._tableau.interpolant
        powers = np.stack([x ** (k + 1) for k in range(len(weights[0]))])
        of_slopes = np.array(weights, step.y.dtype) @ powers
        return step.y + like(step.h, step.y) * (of_slopes @ np.stack(step.slopes))

    def _by_terms(self, fun: RightSide, step: "AcceptedStep", x: Any) -> Any:
        """Return the state in a step of DOP853, whose polynomial is nested in x and 1 - x."""
        tableau, h = self._tableau, like(step.h, step.y)
        slopes = list(step.slopes)
        for weights, c in zip(tableau.extra_a, tableau.extra_c, strict=True):
            slopes.append(fun(step.t + c * step.h, step.y + h * _weighted(weights, slopes)))
        change = step.end - step.y
        first, last = slopes[0], slopes[len(tableau.b)]
        terms = [change, h * first - change, 2 * change - h * (last + first)]
        terms += [h * _weighted(weights, slopes) for weights in tableau.interpolant]
        value = np.zeros_like(step.y)
        for k, term in enumerate(reversed(terms)):
            value = (value + term) * (x if k % 2 == 0 else 1 - x)
        return step.y + value


class AcceptedStep:
    """Step that was accepted: begin, size, states at both ends, and slopes."""

    def __init__(self, t: Any, h: Any, y: Any, end: Any, slopes: Sequence[Any]) -> None:
        self.t, self.h, self.y, self.end, self.slopes = t, h, y, end, slopes


def like(number: Any, state: Any) -> Any:
    """Return a number of float64 in the dtype of a state."""
    return number if state.dtype == np.float64 else number.astype(state.dtype)


def rms_norm(x: Any) -> Any:
    """Return the root of the mean of squares."""
    return np.sqrt(np.sum(x * x)) / x.size**0.5


def _weighted(weights: Row, slopes: Iterable[Any]) -> Any:
    """Return a sum of slopes with weights, without those of weight 0."""
    total: Any = None
    for weight, slope in zip(weights, slopes, strict=False):
        if weight != 0:
            total = weight * slope if total is None else total + weight * slope
    return total
