"""`emcee`: log densities for samplers that take many points at once and no gradient."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.status import GUARD_FAILED
from tapegrad.engine.sweep.replays import handle_calls
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.interop.packages import Vector
from tapegrad.transforms.jit import error_of


class LogProbability:
    """A log density of one point or of many; made by `emcee`."""

    def __init__(self, vector: Vector) -> None:
        self._compiled = vector.compiled()
        self._size = vector.layout.size

    def __call__(self, points: Any) -> Any:
        """Return the log density of a vector, or of each row of an array; minus infinity where it is nan."""
        rows = np.ascontiguousarray(real(points, "points of a log density"))
        if rows.ndim not in (1, 2) or rows.shape[-1] != self._size:
            raise ValueError(f"a log density of {self._size} parameters, but points of shape {rows.shape}")
        count = len(rows) if rows.ndim == 2 else 1
        values = np.empty(count)
        status = handle_calls.call_each(
            self._compiled.address, rows.ctypes.data, 8 * self._size, values.ctypes.data, count
        )
        if status == GUARD_FAILED:  # by Python, which says more
            values[:] = [self._compiled(row) for row in rows.reshape(count, -1)]
        elif status != 0:
            raise error_of(status)
        values[np.isnan(values)] = -np.inf
        return values if rows.ndim == 2 else values[0]


def emcee(function: Callable[..., Any], x0: Any, *, ways: Sequence[Any] = ()) -> LogProbability:
    """Make a log density for `emcee.EnsembleSampler`, and others that need no gradient.

    Parameters
    ----------
    function : callable
        The logarithm of a density of an array or a structure of arrays and floats. A sampler has its elements in one
        vector.
    x0 : structure of arrays and floats
        An example of the argument.
    ways : sequence, optional
        Further examples, one for each other outcome of its branches (see `compile`).

    Returns
    -------
    callable
        Of a vector, or of an array with a point in each row: pass ``vectorize=True`` to emcee, and all walkers are
        computed by one call, without Python.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> log_density = tg.interop.emcee(lambda x: -0.5 * tg.sum(x**2), np.zeros(2))
    >>> log_density(np.array([[1.0, 1.0], [2.0, 0.0]]))
    array([-1., -2.])
    """
    return LogProbability(Vector(function, x0, ways))
