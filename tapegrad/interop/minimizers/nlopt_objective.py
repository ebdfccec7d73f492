"""`nlopt`: objectives and constraints for NLopt's Python interface."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.interop.packages import Vector
from tapegrad.transforms.grad import value_and_grad


class NloptFunction:
    """A function as NLopt calls it, ``f(x, gradient)``; made by `nlopt`."""

    def __init__(self, vector: Vector) -> None:
        self._value, self._both = vector.compiled(), vector.compiled(value_and_grad)

    def __call__(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the value, and write the gradient where there is room for it."""
        if gradient.size == 0:
            return float(self._value(x))
        value, gradient[:] = self._both(x)
        return float(value)


def nlopt(function: Callable[..., Any], x0: Any, *, ways: Sequence[Any] = ()) -> NloptFunction:
    """Make an objective or a constraint for NLopt.

    Parameters
    ----------
    function : callable
        A function that returns a number, of an array or a structure of arrays and floats.
    x0 : structure of arrays and floats
        An example of the argument. NLopt has its elements in one vector.
    ways : sequence, optional
        Further examples, one for each other outcome of its branches (see `compile`).

    Returns
    -------
    callable
        For ``opt.set_min_objective``, ``opt.add_inequality_constraint`` and the like. C and C++ programs that call
        NLopt's library take ``compile(value_and_grad(f), x0).cfunc("nlopt")``.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> objective = tg.interop.nlopt(lambda x: tg.sum(x**2), np.zeros(2))
    >>> gradient = np.empty(2)
    >>> objective(np.array([1.0, 2.0]), gradient), gradient
    (5.0, array([2., 4.]))
    """
    return NloptFunction(Vector(function, x0, ways))
