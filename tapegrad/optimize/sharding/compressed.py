"""Residuals of all parts, compressed to one more than there are parameters: what `least_squares` needs."""

from typing import Any, Protocol

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.optimize.residuals import Residuals


class NormalEquationsOf(Protocol):
    """Residuals that are known by their normal equations."""

    @property
    def layout(self) -> Any:
        """The layout of vectors."""

    def at(self, x0: Any) -> Any:
        """Return the same for structures like `x0`."""

    def normal_equations(self, x: Any, *args: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return half the sum of squares, its gradient, and the matrix."""


class CompressedResiduals(Residuals):
    """Residuals with the normal equations of all residuals r with Jacobian J, of m = n + 1 rows.

    With ``J.T @ J = V @ diag(w) @ V.T`` they are ``diag(w)**-1/2 @ V.T @ J.T @ r``, their Jacobian is
    ``diag(w)**1/2 @ V.T``, and the last one, whose derivatives count as zero, makes up for what the sum of squares
    lacks. A step of Gauss and Newton's, with any damping, scaling and bounds, depends on nothing else.

    Parameters
    ----------
    total
        The sum over parts.
    """

    def __init__(self, total: NormalEquationsOf) -> None:
        self._total = total
        self._layout, self._shape = total.layout, (total.layout.size,)
        self._x0 = None
        self._known: tuple[Any, Any, Any] | None = None  # the last point, with residuals and Jacobian

    def __reduce__(self) -> Any:
        return CompressedResiduals, (self._total,)

    def __repr__(self) -> str:
        return f"residuals of {self._total!r}"

    def at(self, x0: Any) -> "CompressedResiduals":
        return CompressedResiduals(self._total.at(x0))

    @property
    def replayed(self) -> Any:
        raise UnsupportedError(
            "least_squares: of sharded residuals there are normal equations alone; leave out method='native' and"
            " sparse=True, or write method='trf', 'dogbox' or 'lm'"
        )

    def fun(self, x: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        return self._both(x, args, kwargs)[0]

    def jac(self, x: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        return self._both(x, args, kwargs)[1]

    def sparse_jac(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self.replayed

    def _both(self, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals and Jacobian. SciPy asks for the latter at a point where it has had the former."""
        if kwargs:
            raise TypeError(
                "least_squares: sharded residuals take further arguments by position: args=, not kwargs="
            )
        if self._known is None or not np.array_equal(self._known[0], x):
            cost, gradient, matrix = self._total.normal_equations(x, *args)
            self._known = np.array(x), *_compressed(cost, gradient, matrix)
        return self._known[1].copy(), self._known[2].copy()


def _compressed(cost: float, gradient: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not np.all(np.isfinite(matrix)) or not np.all(np.isfinite(gradient)):
        return np.full(len(gradient) + 1, np.nan), np.full((len(gradient) + 1, len(gradient)), np.nan)
    values, vectors = np.linalg.eigh(matrix)
    roots = np.sqrt(np.maximum(values, 0.0))
    along = gradient @ vectors
    tiny = len(gradient) * np.finfo(float).eps * values[-1]
    residuals = np.divide(along, roots, out=np.zeros_like(along), where=values > tiny)
    rest = np.sqrt(max(2.0 * cost - residuals @ residuals, 0.0))
    jacobian = np.where(values > tiny, roots, 0.0)[:, None] * vectors.T
    return np.append(residuals, rest), np.vstack([jacobian, np.zeros(len(gradient))])
