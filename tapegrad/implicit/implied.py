"""Roots that were found, and their derivatives by the implicit function theorem, in compiled code.

The root is handed on bit for bit. Its derivatives are those of the solution of ``residual(z, *operands) == 0`` near by,
with the matrix of the residual at the root itself; so they are exact where the residual is zero, to all orders.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.recording.shape import transpose
from tapegrad.implicit.ruled import RuledBody, ruled
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp

Residual = Callable[..., Any]
Solve = Callable[[Any, bool], Any]  # of a right side, and whether the matrix is transposed


def implied(
    name: str, residual: Residual, inverse: Callable[..., Solve], root: Any, operands: Sequence[Any]
) -> Any:
    """Return a root whose derivatives are those of the implicit function.

    Parameters
    ----------
    name
        What messages call it.
    residual
        Takes the root, of shape (m,), and the operands; returns shape (m,). It may use Tensors from outside.
    inverse
        Takes the same, and returns a function that solves systems with the derivatives of the residual by the root.
    root, operands
        The root, a constant, and Tensors of floats.
    """
    values = [root, *operands]
    return ruled(name, _RootBody(residual, inverse, values), values)


def by_matrix(matrix: Residual) -> Callable[..., Solve]:
    """Return how to solve systems with a dense matrix, of shape (m, m), that a function returns."""

    def inverse(*values: Any) -> Solve:
        found = matrix(*values)
        return lambda side, transposed: solve(transpose(found) if transposed else found, side)

    return inverse


class _RootBody(RuledBody):
    """Body that hands a root on."""

    def __init__(self, residual: Residual, inverse: Callable[..., Solve], values: Sequence[Any]) -> None:
        self._residual, self._inverse = residual, inverse
        super().__init__(residual, residual, values)

    def _of_floats(self, values: Sequence[Any]) -> tuple[Callable[..., Any], list[Any]]:
        """Return the residual as a function of the operands that are floats, and those."""
        floats, substitute = self.by_floats(1, values)

        def residual(*given: Any) -> Any:
            full = substitute(given)
            return self.call(self._residual, full[: self.given], full[self.given :])

        return residual, floats

    def pull(self, *values: Any) -> Sequence[Any]:
        """Return the cotangents of root and operands: ``-residual_bar(solve(matrix.T, root_bar))``."""
        *operands, root_bar = values
        inverse = self.call(self._inverse, operands[: self.given], operands[self.given :])
        residual, floats = self._of_floats(operands)
        _, pull = vjp(residual, *floats)
        root = self.inputs[0]
        return [np.zeros(root.shape, root.dtype), *pull(inverse(-root_bar, True))]

    def push(self, *values: Any) -> Sequence[Any]:
        """Return root and its tangent: ``-solve(matrix, residual_dot)``."""
        count = len(self.inputs)
        values, (_, *dots) = values[:count], values[count:]
        inverse = self.call(self._inverse, values[: self.given], values[self.given :])
        residual, floats = self._of_floats(values)
        _, dot = jvp(residual, tuple(floats), tuple(dots))
        return [values[0], -inverse(dot, False)]
