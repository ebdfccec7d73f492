"""Equation of a root, and the derivatives of the root by the implicit function theorem, as rules on Tensors.

Of ``residual(root, *operands) == 0`` the tangent is ``-A**-1 residual_dot`` and the cotangent
``-residual_bar(A**-T root_bar)``, where A is the Jacobian by the root. Both are functions of root and operands, so that
they have derivatives of all orders.

References: Christianson, "Reverse accumulation and attractive fixed points", Optim. Methods Softw. 3(4), 1994; Blondel
et al., "Efficient and modular implicit differentiation", NeurIPS 2022.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.recording.elementwise import FUNCTIONS, where
from tapegrad.frontend.recording.shape import transpose
from tapegrad.pytree import replaced
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp

Residual = Callable[..., Any]
_exp = FUNCTIONS["exp"]


# Solver of linear systems with the Jacobian of a residual by the root: of the residual, root, operands, a right side of
# shape (m,), and whether the matrix is transposed.
System = Callable[[Residual, Any, Sequence[Any], Any, bool], Any]


@dataclass(frozen=True)
class MatrixSystem:
    """Systems with a matrix that a function computes.

    Attributes
    ----------
    matrix
        Takes root and operands, and returns the Jacobian of the residual by the root, of shape (m, m).
    """

    matrix: Residual

    def __call__(
        self, residual: Residual, root: Any, operands: Sequence[Any], right: Any, transposed: bool
    ) -> Any:
        matrix = self.matrix(root, *operands)
        return solve(transpose(matrix) if transposed else matrix, right)


def undetermined(name: str, error: LinAlgError) -> LinAlgError:
    """Return the exception for a root without derivatives."""
    return LinAlgError(
        f"{name}: the solution has no derivative, for the Jacobian of the equations by the unknowns is singular there"
        f" ({error})"
    )


@dataclass(frozen=True)
class Equation:
    """Equation of a root.

    Attributes
    ----------
    name
        What messages call it.
    residual
        Takes the root, of shape (m,), and the operands; returns shape (m,).
    system
        Solves with its Jacobian by the root.
    """

    name: str
    residual: Residual
    system: System

    def pull(self, root: Any, operands: Sequence[Any], floats: Sequence[int], root_bar: Any) -> list[Any]:
        """Return the cotangents of those operands that are floats."""
        if not floats:
            return []
        along = self._solved(root, operands, -root_bar, True)
        _, pull = vjp(self._of_floats(root, operands, floats), *(operands[k] for k in floats))
        return list(pull(along))

    def push(self, root: Any, operands: Sequence[Any], floats: Sequence[int], dots: Sequence[Any]) -> Any:
        """Return the tangent of the root, given those of the operands that are floats."""
        primals = tuple(operands[k] for k in floats)
        _, dot = jvp(self._of_floats(root, operands, floats), primals, tuple(dots))
        return -self._solved(root, operands, dot, False)

    def _solved(self, root: Any, operands: Sequence[Any], right: Any, transposed: bool) -> Any:
        try:
            return self.system(self.residual, root, operands, right, transposed)
        except LinAlgError as error:
            raise undetermined(self.name, error) from error

    def _of_floats(self, root: Any, operands: Sequence[Any], floats: Sequence[int]) -> Residual:
        """Return the residual as a function of the operands that are floats."""
        return lambda *given: self.residual(root, *replaced(operands, floats, given))


def regular(equation: Equation) -> Equation:
    """Return an equation with a further operand: True if the root was not found, which then has nan as derivatives.

    The Jacobian is the identity there: where a search has ended it is often singular, and would raise for the other
    instances of a batch, too.
    """

    def residual(root: Any, *operands: Any) -> Any:
        return equation.residual(root, *operands[:-1])

    def system(_: Residual, root: Any, operands: Sequence[Any], right: Any, transposed: bool) -> Any:
        failed = operands[-1]

        def of_found(root: Any, *operands: Any) -> Any:
            return where(failed, root, residual(root, *operands))

        found = equation.system(of_found, root, operands, right, transposed)
        # nan as a function of the root, so that derivatives of derivatives are nan, too
        return where(failed & (right != 0), right * _exp(np.nan * root), found)

    return Equation(equation.name, residual, system)
