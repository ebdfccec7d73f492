"""Solutions of sparse systems by SciPy's SuperLU: a custom op for each pattern, which keeps its last factors.

A matrix in CSR format is the transpose of one in CSC format, which is what SuperLU takes: the arrays are handed on as
they are, and systems are solved with the transposed factors. The reverse sweep finds the factors of the forward one by
the entries that they are of, bit for bit; so does whatever else is computed with the same matrix.
"""

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy.sparse import csc_array  # noqa: TID253  this module itself is imported late
from scipy.sparse.linalg import splu  # noqa: TID253

from tapegrad.autodiff.custom.custom_op import custom_op
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.frontend.functions.products.sparse import csr_outer, csr_product
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.ops.structural.indexing import CsrMatmulParams, CsrOuterParams, CsrTransposedMatmulParams
from tapegrad.sparse.patterns import MatrixPattern

_MAX_KEPT_ELEMENTS = 1 << 23  # of all factors that a pattern keeps, 100 MB; one is kept however large it is


class PatternSolver:
    """Solver of systems whose matrices have one pattern, in CSR format and canonical.

    Attributes
    ----------
    solve, solve_transposed
        The custom ops: the solutions for entries and right sides, by the matrix and by its transpose.
    """

    def __init__(self, pattern: MatrixPattern, permc_spec: str | None, nan_on_failure: bool) -> None:
        self._pattern, self._permc_spec, self._nan_on_failure = pattern, permc_spec, nan_on_failure
        self._starts, self._columns = (each.astype(np.int32) for each in (pattern.starts, pattern.minor))
        self._factors: OrderedDict[Any, Any] = OrderedDict()  # by dtype and bytes of the entries
        self._lock = lock()
        self.solve = self._op("spsolve", False)
        self.solve_transposed = self._op("spsolve_transposed", True)

    def _op(self, name: str, transposed: bool) -> Any:
        def forward(data: np.ndarray, b: np.ndarray) -> np.ndarray:
            return self._solved(data, b, transposed)

        def vjp(x_bar: Any, x: Any, data: Any, b: Any) -> tuple[Any, Any]:
            b_bar = self._by_either(data, x_bar, not transposed)
            return self._outer(b_bar, x, transposed), b_bar

        def jvp(dots: Any, x: Any, data: Any, b: Any) -> Any:
            data_dot, b_dot = dots
            return self._by_either(data, b_dot - self._product(data_dot, x, transposed), transposed)

        return custom_op(name, forward, vjp, jvp, shape=lambda _, b: b, differentiable=True)

    def _by_either(self, data: Any, b: Any, transposed: bool) -> Any:
        """Solve on arrays, or record the op on Tensors."""
        if not is_tensor(data) and not is_tensor(b):
            return self._solved(data, b, transposed)
        return (self.solve_transposed if transposed else self.solve)(data, b)

    # --- on arrays ---------------------------------------------------------------------------------------------------

    def _solved(self, data: np.ndarray, b: np.ndarray, transposed: bool) -> np.ndarray:
        if b.size == 0:
            return np.zeros_like(b)
        try:
            factor = self._factor(data)
        except LinAlgError:
            if self._nan_on_failure:
                return np.full_like(b, np.nan)
            raise
        x: np.ndarray = factor.solve(np.ascontiguousarray(b, data.dtype), "N" if transposed else "T")
        return np.ascontiguousarray(x, b.dtype)

    def _factor(self, data: np.ndarray) -> Any:
        """Return the factors of the matrix with these entries, those that are kept if they are there."""
        key = data.dtype.char, data.tobytes()
        with self._lock:
            found = self._factors.get(key)
            if found is not None:
                self._factors.move_to_end(key)
                return found
        made = self._factored(data)
        with self._lock:
            self._factors[key] = made
            while len(self._factors) > 1 and self._kept_elements() > _MAX_KEPT_ELEMENTS:
                self._factors.popitem(last=False)
        return made

    def _kept_elements(self) -> int:
        return sum(factor.nnz for factor in self._factors.values())

    def _factored(self, data: np.ndarray) -> Any:
        transpose = csc_array((data, self._columns, self._starts), self._pattern.shape)
        try:
            return splu(transpose, permc_spec=self._permc_spec)
        except RuntimeError as error:
            raise LinAlgError(f"spsolve: the sparse matrix is singular ({error})") from None

    # --- on arrays and on Tensors ------------------------------------------------------------------------------------

    def _product(self, data: Any, x: Any, transposed: bool) -> Any:
        """Multiply the matrix with these entries, or its transpose, by columns."""
        rows, columns = self._pattern.shape
        if not is_tensor(data) and not is_tensor(x):
            transpose = csc_array((data, self._columns, self._starts), self._pattern.shape)
            return (transpose if transposed else transpose.T) @ x
        params: Any = (CsrTransposedMatmulParams if transposed else CsrMatmulParams)(rows, columns, _width(x))
        return csr_product(_tensor(x), _tensor(data), self._lists(), params, "spsolve")

    def _outer(self, b_bar: Any, x: Any, transposed: bool) -> Any:
        """Return the cotangent of the entries: that of a matrix is ``-outer(b_bar, x)``."""
        left, right = (x, b_bar) if transposed else (b_bar, x)
        if is_tensor(left) or is_tensor(right):
            params = CsrOuterParams(*self._pattern.shape, _width(x))
            return -csr_outer(_tensor(left), _tensor(right), self._lists(), params, "spsolve")
        rows, columns = self._pattern.rows, self._pattern.columns
        if left.ndim == 1:
            return -(left[rows] * right[columns])
        total = np.zeros(len(rows), left.dtype)
        for k in range(left.shape[1]):  # in the order of `csr_outer`, so that all sweeps have the same bits
            total += left[rows, k] * right[columns, k]
        return -total

    def _lists(self) -> Tensor:
        return from_array(self._pattern.lists, constant=True)


def _tensor(x: Any) -> Tensor:
    return x if is_tensor(x) else from_array(np.array(x), constant=True)


def _width(x: Any) -> int:
    return int(x.shape[1]) if x.ndim == 2 else 1


def solver_of(pattern: MatrixPattern, permc_spec: str | None) -> PatternSolver:
    """Return the systems of a canonical pattern in CSR format, made once."""
    given = permc_spec, thread.mode.nan_on_failure
    solver: PatternSolver = pattern.once(("solver", *given), lambda: PatternSolver(pattern, *given))
    return solver
