"""Interruption by Ctrl-C: an optimiser returns what it has found; a second interrupt soon after it is raised.

`KeyboardInterrupt` is caught where a search is under way, and nowhere else.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.runtime.messages.progress import Progress

MESSAGE = "interrupted (KeyboardInterrupt): this is the best point so far"
MINIMIZE_STATUS, LEAST_SQUARES_STATUS = 99, -2  # SciPy's own where a callback has raised `StopIteration`
_SECOND_S = 2.0


class Interrupts:
    """Times of the interrupts that optimisers have caught in this process."""

    def __init__(self) -> None:
        self._latest = -math.inf

    def is_second(self) -> bool:
        """Enter an interrupt; return whether it follows another within 2 s, so that it is to be raised."""
        before, self._latest = self._latest, time.monotonic()
        return self._latest - before < _SECOND_S


interrupts = Interrupts()


class BestPoint:
    """Function for `scipy.optimize.minimize` that remembers its best point, or the last iterate if constraints count.

    Parameters
    ----------
    function
        Returns the value, or a pair of value and gradient.
    constrained
        Whether the value alone says nothing of how good a point is.
    line
        Progress line.
    name
        What it calls the search.

    Attributes
    ----------
    x
        The point; `None` before there is one.
    evaluations
        Number of calls.
    """

    def __init__(
        self, function: Callable[..., Any], constrained: bool, line: Progress, name: str = "minimize"
    ) -> None:
        self._function, self._constrained, self._line, self._name = function, constrained, line, name
        self._value = math.inf
        self.x: np.ndarray | None = None
        self.evaluations = 0

    def __call__(self, x: Any, *args: Any) -> Any:
        found = self._function(x, *args)
        self.evaluations += 1
        value = found[0] if type(found) is tuple else found
        if self.x is None or (value < self._value and not self._constrained):
            self.x, self._value = np.array(x, dtype=float), value
        if self._line.due:
            self._line.show(f"{self._name}: {self.evaluations} evaluations, value {float(value):.6g}")
        return found

    def callback(self, given: Any, takes_result: bool) -> Any:
        """Return a callback for SciPy that remembers the iterates, and calls the given one, if there is any."""
        if not self._constrained:
            return given

        def by_result(intermediate_result: Any) -> Any:
            self.x = np.array(intermediate_result.x)
            return given(intermediate_result=intermediate_result)

        def by_point(x: Any, *state: Any) -> Any:
            self.x = np.array(x)
            return None if given is None else given(x, *state)

        return by_result if takes_result else by_point


class Iterates:
    """Residuals and Jacobian for `scipy.optimize.least_squares`, which computes the latter at accepted points alone.

    Parameters
    ----------
    residuals, jacobian
        The functions.
    line
        Progress line.

    Attributes
    ----------
    x
        The last accepted point; `None` before there is one.
    evaluations
        Number of calls of the residuals.
    """

    def __init__(self, residuals: Callable[..., Any], jacobian: Callable[..., Any], line: Progress) -> None:
        self._fun, self._jac, self._line = residuals, jacobian, line
        self.x: np.ndarray | None = None
        self.evaluations = 0

    def fun(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the residuals."""
        found = self._fun(x, *args, **kwargs)
        self.evaluations += 1
        if self._line.due:
            squares = 0.5 * float(np.sum(found**2))
            self._line.show(
                f"least_squares: {self.evaluations} evaluations, half the sum of squares {squares:.6g}"
            )
        return found

    def jac(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Return their Jacobian."""
        self.x = np.array(x)
        return self._jac(x, *args, **kwargs)
