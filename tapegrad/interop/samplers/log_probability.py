"""`emcee`: log densities for samplers that take many points at once and no gradient."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.status import GUARD_FAILED
from tapegrad.engine.sweep.replays import handle_calls
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.interop.packages import Errors, Vector, listed
from tapegrad.optimize.flat import raveled_numbers
from tapegrad.transforms.jit import error_of


class LogProbability:
    """Log density of one point or of many; made by `emcee`.

    Attributes
    ----------
    size
        Number of elements of a point.
    x0
        The example of the parameters as a point.
    names
        A name for each element of a point, in order: ``['mu', 'raw_0', 'raw_1']``.
    """

    def __init__(self, vector: Vector) -> None:
        self._vector = vector
        self._compiled = vector.compiled()
        self.size = vector.layout.size

    @property
    def x0(self) -> np.ndarray:
        return self._vector.x0.copy()

    @property
    def names(self) -> list[str]:
        return self._vector.element_names

    def __repr__(self) -> str:
        return f"<log density of {self.size} elements: {listed(self._vector.shapes)}>"

    def __call__(self, points: Any) -> Any:
        """Return the log density of a vector, or of each row of an array; minus infinity where it is nan."""
        rows = np.ascontiguousarray(real(points, "points of a log density"))
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.size:
            raise ValueError(f"a log density of {self.size} parameters, but points of shape {rows.shape}")
        count = len(rows) if rows.ndim == 2 else 1
        values = np.empty(count)
        status = handle_calls.call_each(
            self._compiled.address, rows.ctypes.data, 8 * self.size, values.ctypes.data, count
        )
        if status == GUARD_FAILED:  # by Python, which says more
            values[:] = [self._compiled(row) for row in rows.reshape(count, -1)]
        elif status != 0:
            raise error_of(status)
        values[np.isnan(values)] = -np.inf
        return values if rows.ndim == 2 else values[0]

    def flatten(self, parameters: Any) -> np.ndarray:
        """Return parameters as a point: their elements in one vector.

        Parameters
        ----------
        parameters : structure of arrays and floats
            Of the structure and shapes of `x0`.

        Returns
        -------
        numpy.ndarray, shape (size,)
            The leaves one after the other, each in C order; those of a dict in the order of its sorted keys.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> start = {"mu": 0.0, "a": np.zeros(2)}
        >>> log_density = tg.interop.emcee(lambda p: -tg.sum(p["a"] ** 2) - p["mu"] ** 2, start)
        >>> log_density.flatten({"mu": 3.0, "a": np.array([1.0, 2.0])})
        array([1., 2., 3.])
        """
        return raveled_numbers(parameters, self._vector.layout)

    def unflatten(self, draws: Any) -> Any:
        """Return draws in the structure of the parameters.

        Parameters
        ----------
        draws : array_like, shape (..., size)
            Points along the last axis, such as those of ``sampler.get_chain()``.

        Returns
        -------
        structure of numpy.ndarray
            Of the parameters, with the axes before the last one of `draws` in front.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> start = {"mu": 0.0, "a": np.zeros(2)}
        >>> log_density = tg.interop.emcee(lambda p: -tg.sum(p["a"] ** 2) - p["mu"] ** 2, start)
        >>> draws = log_density.unflatten(np.zeros((1000, 40, 3)))
        >>> draws["mu"].shape, draws["a"].shape
        ((1000, 40), (1000, 40, 2))
        """
        return self._vector.layout.split_rows(draws)


def emcee(
    function: Callable[..., Any], x0: Any, *, ways: Sequence[Any] = (), errors: Errors = "nan"
) -> LogProbability:
    """Make a log density for `emcee.EnsembleSampler`, and others that need no gradient.

    Parameters
    ----------
    function : callable
        The logarithm of a density of an array or a structure of arrays and floats. A sampler has its elements in one
        vector: leaf after leaf, those of a dict in the order of its sorted keys.
    x0 : structure of arrays and floats
        An example of the argument.
    ways : sequence, optional
        Further examples, one for each other outcome of its branches (see `compile`).
    errors : {'nan', 'raise'}, default 'nan'
        What a failure of linear algebra is, such as a matrix that is not positive definite: the density 0, or a
        `LinAlgError` (see `linalg.errstate`).

    Returns
    -------
    LogProbability
        A callable of a vector, or of an array with a point in each row: pass ``vectorize=True`` to emcee, and all
        walkers are computed by one call, without Python. Its ``flatten(parameters)`` makes vectors and
        ``unflatten(draws)`` takes them apart; ``size``, ``names`` and ``x0`` are those of a vector.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> log_density = tg.interop.emcee(lambda x: -0.5 * tg.sum(x**2), np.zeros(2))
    >>> log_density(np.array([[1.0, 1.0], [2.0, 0.0]]))
    array([-1., -2.])
    >>> log_density
    <log density of 2 elements: x (2,)>
    """
    return LogProbability(Vector(function, x0, ways, errors))
