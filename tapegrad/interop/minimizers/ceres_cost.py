"""`ceres`: cost functions for Ceres Solver, by pyceres.

pyceres takes no C pointers, so that each evaluation calls Python once.

Reference: S. Agarwal, K. Mierle, The Ceres Solver Team, "Ceres Solver", http://ceres-solver.org.
"""

import functools
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.errors import check_function, name_of
from tapegrad.interop.minimizers.block_residuals import copied, replays
from tapegrad.interop.packages import needed
from tapegrad.optimize.flat import layout_of, raveled_numbers


def ceres(function: Callable[..., Any], *x0: Any, args: Sequence[Any] = ()) -> Any:
    """Make a cost function for `pyceres.Problem.add_residual_block`.

    Parameters
    ----------
    function : callable
        ``function(*blocks, *args)`` returns residuals: an array, a number, or a structure of them.
    *x0 : arrays, floats, or structures of them
        An example of each parameter block. Ceres has its elements in one vector: those of an array in C order.
    args : sequence, optional
        Further arguments, such as the observation that the residuals are of: floats, and arrays, which are copied.

    Returns
    -------
    pyceres.CostFunction
        With exact Jacobians by blocks. Its ``error`` is the last exception of an evaluation, `None` if there was none.

    Raises
    ------
    ModuleNotFoundError
        If pyceres is not installed.
    TypeError
        If there is no example of a block.

    Notes
    -----
    Many cost functions of one ``tg.jit(f)`` share its recordings: only the first one takes long to make.

    Jacobians are by the elements of the blocks, as Ceres wants them; it applies manifolds (``set_manifold``), constant
    blocks and robust losses itself.

    An evaluation fails in Ceres' sense if linear algebra fails (such as a matrix that is not positive definite), if a
    result is not finite, or if there is any other exception. Ceres takes a shorter step then, and ends with ``FAILURE``
    if it was the first one. Exceptions cannot leave a solve by several threads, so they are printed, and kept as
    ``error``. Those at `x0` are raised.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> t = np.linspace(0, 1, 20)
    >>> data = np.exp(0.3 * t + 0.1)
    >>> cost = tg.interop.ceres(lambda m, c: np.exp(m * t + c) - data, 0.0, 0.0)  # doctest: +SKIP
    >>> problem, m, c = pyceres.Problem(), np.zeros(1), np.zeros(1)  # doctest: +SKIP
    >>> problem.add_residual_block(cost, pyceres.HuberLoss(1.0), [m, c])  # doctest: +SKIP
    >>> pyceres.solve(pyceres.SolverOptions(), problem, pyceres.SolverSummary())  # doctest: +SKIP
    """
    check_function("interop.ceres", function)
    needed("pyceres", "ceres")
    if not x0:
        raise TypeError("interop.ceres takes an example of each parameter block: tg.interop.ceres(f, x0, y0)")
    return _cost_class()(function, x0, copied(args))


@functools.cache
def _cost_class() -> Any:
    """Return the class of cost functions, whose base pyceres has."""
    base: Any = needed("pyceres", "ceres").CostFunction

    class CeresCost(base):  # type: ignore[misc]  # the other package has no types
        """Cost function with replayed residuals and Jacobians; made by `tapegrad.interop.ceres`."""

        def __init__(self, function: Callable[..., Any], x0: tuple[Any, ...], args: tuple[Any, ...]) -> None:
            super().__init__()
            layouts = tuple(map(layout_of, x0))
            vectors = [raveled_numbers(x, layout) for x, layout in zip(x0, layouts, strict=True)]
            self._residuals, self._linearized = replays(function, layouts, (None,) * len(x0), True)
            self._args = args
            self.error: Exception | None = None
            self.__name__ = name_of(function)
            self.set_num_residuals(self._linearized(*vectors, *args)[0].size)
            self.set_parameter_block_sizes([each.size for each in vectors])
            # pyceres 2.6 reads a null pointer if the first evaluation wants residuals alone
            self.evaluate(*vectors)

        def __repr__(self) -> str:
            sizes = ", ".join(map(str, self.parameter_block_sizes()))
            return f"<cost function of Ceres: {self.__name__}, blocks of {sizes} -> {self.num_residuals()}>"

        def Evaluate(self, parameters: Any, residuals: Any, jacobians: Any) -> bool:  # noqa: N802  Ceres' name
            """Write residuals and Jacobians; return whether they could be computed."""
            try:
                if jacobians is None:
                    residuals[:] = self._residuals(*parameters, *self._args)
                    return True
                found = self._linearized(*parameters, *self._args)
                residuals[:] = found[0]
                for number, block in enumerate(jacobians, 1):
                    if block is not None:
                        block[:] = found[number]
            except np.linalg.LinAlgError:
                return False
            except Exception as error:
                traceback.print_exception(error)
                self.error = error
                return False
            return True

    return CeresCost
