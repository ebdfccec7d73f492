"""Numbers of an integration that equations determine, with the derivatives that these give them."""

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.implicit.equation import Equation, MatrixSystem
from tapegrad.implicit.recorded_root import implied


def of_equation(
    residual: Callable[..., Any], matrix: Callable[..., Any], root: Any, operands: Sequence[Any]
) -> Any:
    """Return a root, which is a constant, of ``residual(root, *operands) == 0`` with its derivatives.

    Those where `matrix`, the Jacobian by the root, is singular are nan: a step that is tried may not be accepted.
    """
    return implied(Equation("solve_ivp", residual, MatrixSystem(matrix)), root, operands, residual, True)
