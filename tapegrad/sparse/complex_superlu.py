"""Solutions of sparse systems of complex numbers by SciPy's SuperLU.

Derivatives have the conjugate transpose where those of real systems have the transpose, and conjugate solutions.
"""

from typing import Any

import numpy as np

from tapegrad.autodiff.custom.custom_op import custom_op
from tapegrad.frontend.conversions.complex_views import conjugate
from tapegrad.frontend.functions.reductions.reductions import sum as total
from tapegrad.frontend.indexing.indexing import scatter_add
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.sparse.patterns import MatrixPattern
from tapegrad.sparse.superlu import PatternFactors, tensor_of


def _conj(z: Any) -> Any:
    return conjugate(z) if is_tensor(z) else z.conj()


class ComplexSystems:
    """Custom ops of systems of complex numbers whose matrices have one pattern, in CSR format and canonical.

    Attributes
    ----------
    solve, solve_transposed
        The ops: the solutions for entries and right sides, by the matrix and by its transpose.
    """

    def __init__(self, pattern: MatrixPattern, permc_spec: str | None, nan_on_failure: bool) -> None:
        self._factors = PatternFactors(pattern, permc_spec, nan_on_failure)
        self._rows, self._columns = pattern.rows, pattern.columns
        self.solve = self._op("complex_spsolve", False)
        self.solve_transposed = self._op("complex_spsolve_transposed", True)

    def _op(self, name: str, transposed: bool) -> Any:
        def forward(data: np.ndarray, b: np.ndarray) -> np.ndarray:
            return self._factors.solved(data, b, transposed)

        def vjp(x_bar: Any, x: Any, data: Any, b: Any) -> tuple[Any, Any]:
            b_bar = _conj(self._solved(data, _conj(x_bar), not transposed))
            return self._outer(b_bar, _conj(x), transposed), b_bar

        def jvp(dots: Any, x: Any, data: Any, b: Any) -> Any:
            data_dot, b_dot = dots
            return self._solved(data, b_dot - self._product(data_dot, x, transposed), transposed)

        return custom_op(name, forward, vjp, jvp, shape=lambda _, b: b, differentiable=True)

    def _solved(self, data: Any, b: Any, transposed: bool) -> Any:
        if not is_tensor(data) and not is_tensor(b):
            return self._factors.solved(data, b, transposed)
        return (self.solve_transposed if transposed else self.solve)(data, b)

    def _outer(self, b_bar: Any, x: Any, transposed: bool) -> Any:
        """Return the cotangent of the entries: that of a matrix is ``-outer(b_bar, x)``."""
        if not is_tensor(b_bar) and not is_tensor(x):
            return self._factors.outer(b_bar, x, transposed)
        left, right = (x, b_bar) if transposed else (b_bar, x)
        terms = tensor_of(left)[self._rows] * tensor_of(right)[self._columns]
        return -(terms if terms.ndim == 1 else total(terms, -1))

    def _product(self, data: Any, x: Any, transposed: bool) -> Any:
        """Multiply the matrix with these entries, or its transpose, by columns."""
        if not is_tensor(data) and not is_tensor(x):
            return self._factors.product(data, x, transposed)
        to, read = (self._columns, self._rows) if transposed else (self._rows, self._columns)
        factors = tensor_of(data) if x.ndim == 1 else reshape(tensor_of(data), (-1, 1))
        return scatter_add(factors * tensor_of(x)[read], to, x.shape)


def systems_of(pattern: MatrixPattern, permc_spec: str | None) -> ComplexSystems:
    """Return the systems of a canonical pattern in CSR format, made once."""
    given = permc_spec, thread.mode.nan_on_failure
    found: ComplexSystems = pattern.once(("complex", *given), lambda: ComplexSystems(pattern, *given))
    return found
