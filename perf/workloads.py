"""The functions that are differentiated, as data.

Each is written once, over an array namespace `xp` that is passed in, so that the same lines serve NumPy,
tapegrad and every peer. Its reference answer is derived by hand and evaluated by NumPy alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Answer = tuple[float | Array, ...]  # a value and its gradient, or one array


@dataclass(frozen=True)
class Workload:
    """A function of one array.

    Attributes
    ----------
    name : str
        The key in `WORKLOADS`.
    function : callable
        ``function(xp, x)``, of the library that `xp` belongs to: a scalar; or ``function(xp, x, *data)``, residuals.
    sizes : tuple of int
        The sizes at which it is usually measured.
    build : callable
        ``build(size)``, the input; the same numbers every time.
    reference : callable
        ``reference(x)``, value and gradient, or the Jacobian, without automatic differentiation.
    data : tuple of ndarray
        What the function takes besides: predictors and observations.
    """

    name: str
    function: Callable[..., Any]
    sizes: tuple[int, ...]
    build: Callable[[int], Array]
    reference: Callable[[Array], Answer]
    data: tuple[Array, ...] = ()

    def over(self, xp: Any, asarray: Callable[[Array], Any] = np.asarray) -> Callable[[Any], Any]:
        """Return the function of `x` alone, in the namespace `xp`, with the data converted by `asarray`."""
        # A replay compares what the lambda closes over at each call, so it closes over as little as possible.
        function = self.function
        if not self.data:
            return lambda x: function(xp, x)
        data = tuple(map(asarray, self.data))
        return lambda x: function(xp, x, *data)


def _uniform(low: float, high: float) -> Callable[[int], Array]:
    return lambda size: np.random.default_rng(size).uniform(low, high, size)


def rosenbrock(xp: Any, x: Any) -> Any:
    """Compute the chained Rosenbrock function."""
    return xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _rosenbrock_reference(x: Array) -> Answer:
    here, following = x[:-1], x[1:]
    bend, slack = following - here * here, 1 - here
    gradient = np.zeros_like(x)
    gradient[:-1] = -400 * here * bend - 2 * slack
    gradient[1:] += 200 * bend
    return float(100 * (bend @ bend) + slack @ slack), gradient


SINE_FOLDS = 10


def sine_chain(xp: Any, x: Any) -> Any:
    """``sin(x) * x + x`` applied ten times, then summed."""
    for _ in range(SINE_FOLDS):
        x = xp.sin(x) * x + x
    return xp.sum(x)


def _sine_chain_reference(x: Array) -> Answer:
    slope = np.ones_like(x)
    for _ in range(SINE_FOLDS):
        slope *= np.cos(x) * x + np.sin(x) + 1
        x = np.sin(x) * x + x
    return float(np.sum(x)), slope


def arithmetic(instructions: int) -> Workload:
    """Return a chain of multiplications, additions and subtractions, `instructions` long, then one sum.

    Three steps make ``y * x + x - y``, which contracts for x in (0, 1), so any length stays in range. Each
    instruction reads the one before it and nothing is computed twice: none can be dropped, folded or shared.
    """

    def function(xp: Any, x: Any) -> Any:
        y = start = x
        for i in range(instructions):
            if i % 3 == 0:
                start, y = y, y * x
            else:
                y = y + x if i % 3 == 1 else y - start
        return xp.sum(y)

    def reference(x: Array) -> Answer:
        y, slope = x, np.ones_like(x)
        for _ in range(instructions // 3):
            y, slope = y * x + x - y, slope * (x - 1) + y + 1
        if instructions % 3:
            y, slope = y * x, slope * x + y
        if instructions % 3 == 2:
            y, slope = y + x, slope + 1
        return float(np.sum(y)), slope

    return Workload(f"arithmetic-{instructions}", function, (1, 2, 4, 8), _uniform(0.2, 0.9), reference)


# The sine chain starts where it stays bounded; further to the right it is chaotic and no two libraries agree.
_SIZES = (10, 1_000, 100_000, 1_000_000)
WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("rosenbrock", rosenbrock, _SIZES, _uniform(-1, 1), _rosenbrock_reference),
        Workload("sine-chain", sine_chain, (10_000,), _uniform(-2, 0.05), _sine_chain_reference),
    )
}
