"""Roots that were found as instructions, whose derivatives are rules in compiled code.

The root is handed on bit for bit. Its derivatives are those of the solution of ``residual(z, *operands) == 0`` near by,
with the Jacobian of the residual at the root itself; so they are exact where the residual is zero, to all orders.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.frontend.tensor.modes import thread
from tapegrad.implicit.equation import Equation, undetermined
from tapegrad.implicit.ruled import RuledBody, ruled


def implied(
    equation: Equation,
    root: Any,
    operands: Sequence[Any],
    seen: Any = None,
    nan_on_failure: bool = False,
) -> Any:
    """Return a root whose derivatives are those of the implicit function.

    Parameters
    ----------
    equation
        The equation. Its residual may use Tensors from outside.
    root, operands
        The root, a constant of shape (m,), and Tensors or arrays.
    seen
        Function of the user's, whose captured state must not change; by default the residual.
    nan_on_failure
        Whether derivatives are nan where the Jacobian is singular; otherwise they raise.
    """
    values = [root, *operands]
    body = _RootBody(equation, seen, values, nan_on_failure or thread.mode.nan_on_failure)
    return ruled(equation.name, body, values)


class _RootBody(RuledBody):
    """Body that hands a root on."""

    def __init__(self, equation: Equation, seen: Any, values: Sequence[Any], nan_on_failure: bool) -> None:
        self._equation = equation
        super().__init__(equation.residual, seen or equation.residual, values, nan_on_failure)

    def explained(self, error: BaseException) -> BaseException:
        """Return the exception for a run of this body that has failed."""
        return undetermined(self._equation.name, error) if isinstance(error, LinAlgError) else error

    def _of_all(self) -> Equation:
        """Return the equation with Tensors from outside as further operands."""
        own, equation = self.given - 1, self._equation

        def residual(root: Any, *operands: Any) -> Any:
            with self.standing_in(operands[own:]):
                return equation.residual(root, *operands[:own])

        def system(_: Any, root: Any, operands: Sequence[Any], right: Any, transposed: bool) -> Any:
            with self.standing_in(operands[own:]):
                return equation.system(equation.residual, root, operands[:own], right, transposed)

        return Equation(equation.name, residual, system)

    def pull(self, root: Any, *rest: Any) -> Sequence[Any]:
        """Return the cotangents of root and operands."""
        *values, root_bar = rest
        found = self._of_all().pull(root, values, [k - 1 for k in self.floats[1:]], root_bar)
        return [np.zeros(root.shape, root.dtype), *found]

    def push(self, root: Any, *rest: Any) -> Sequence[Any]:
        """Return root and its tangent."""
        count = len(self.inputs) - 1
        values, (_, *dots) = rest[:count], rest[count:]
        return [root, self._of_all().push(root, values, [k - 1 for k in self.floats[1:]], dots)]
