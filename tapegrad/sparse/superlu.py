"""Solutions of sparse systems by SciPy's SuperLU: a custom op for each pattern, which keeps its last factors.

A matrix in CSR format is the transpose of one in CSC format, which is what SuperLU takes: the arrays are handed on as
they are, and systems are solved with the transposed factors. The reverse sweep finds the factors of the forward one by
the entries that they are of, bit for bit; so does whatever else is computed with the same matrix.
"""

import weakref
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
_MAX_KEPT_FACTORS = 256  # two blocks of lanes


class PatternFactors:
    """Factors of matrices of one pattern, and what the derivatives of solutions are computed by.

    The functions of the custom ops close over this, which must not lead to the ops: an op's handle is on the tape,
    where the collector of cycles does not see what it keeps alive.
    """

    def __init__(self, pattern: MatrixPattern, permc_spec: str | None, nan_on_failure: bool) -> None:
        self._permc_spec, self._nan_on_failure = permc_spec, nan_on_failure
        self._shape, self._listed = pattern.shape, pattern.lists
        self._rows, self._columns = pattern.rows, pattern.columns
        self._starts, self._minor = (each.astype(np.int32) for each in (pattern.starts, pattern.minor))
        self._factors: OrderedDict[Any, Any] = OrderedDict()  # by dtype and bytes of the entries
        self._lock = lock()
        self._ops: Any = None

    def ops(self) -> "PatternSolver":
        """Return the custom ops, made anew if the pattern that has kept them is gone."""
        known: PatternSolver | None = None if self._ops is None else self._ops()
        if known is None:
            known = PatternSolver(self)
            self._ops = weakref.ref(known)
        return known

    def by_either(self, data: Any, b: Any, transposed: bool) -> Any:
        """Solve on arrays, or record the op on Tensors."""
        if not is_tensor(data) and not is_tensor(b):
            return self.solved(data, b, transposed)
        ops = self.ops()
        return (ops.solve_transposed if transposed else ops.solve)(data, b)

    # --- on arrays ---------------------------------------------------------------------------------------------------

    def solved(self, data: np.ndarray, b: np.ndarray, transposed: bool) -> np.ndarray:
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
            while len(self._factors) > 1 and self._keeps_too_much():
                self._factors.popitem(last=False)
        return made

    def _keeps_too_much(self) -> bool:
        elements = sum(factor.nnz for factor in self._factors.values())
        return elements > _MAX_KEPT_ELEMENTS or len(self._factors) > _MAX_KEPT_FACTORS

    def _factored(self, data: np.ndarray) -> Any:
        transpose = csc_array((data, self._minor, self._starts), self._shape)
        try:
            return splu(transpose, permc_spec=self._permc_spec)
        except RuntimeError as error:
            raise LinAlgError(f"spsolve: the sparse matrix is singular ({error})") from None

    # --- on arrays and on Tensors ------------------------------------------------------------------------------------

    def product(self, data: Any, x: Any, transposed: bool) -> Any:
        """Multiply the matrix with these entries, or its transpose, by columns."""
        rows, columns = self._shape
        if not is_tensor(data) and not is_tensor(x):
            transpose = csc_array((data, self._minor, self._starts), self._shape)
            return (transpose if transposed else transpose.T) @ x
        params: Any = (CsrTransposedMatmulParams if transposed else CsrMatmulParams)(rows, columns, _width(x))
        return csr_product(tensor_of(x), tensor_of(data), self._lists(), params, "spsolve")

    def outer(self, b_bar: Any, x: Any, transposed: bool) -> Any:
        """Return the cotangent of the entries: that of a matrix is ``-outer(b_bar, x)``."""
        left, right = (x, b_bar) if transposed else (b_bar, x)
        if is_tensor(left) or is_tensor(right):
            params = CsrOuterParams(*self._shape, _width(x))
            return -csr_outer(tensor_of(left), tensor_of(right), self._lists(), params, "spsolve")
        rows, columns = self._rows, self._columns
        if left.ndim == 1:
            return -(left[rows] * right[columns])
        total = np.zeros(len(rows), left.dtype)
        for k in range(left.shape[1]):  # in the order of `csr_outer`, so that all sweeps have the same bits
            total += left[rows, k] * right[columns, k]
        return -total

    def _lists(self) -> Tensor:
        return from_array(self._listed, constant=True)


def tensor_of(x: Any) -> Tensor:
    return x if is_tensor(x) else from_array(np.array(x), constant=True)


def _width(x: Any) -> int:
    return int(x.shape[1]) if x.ndim == 2 else 1


class PatternSolver:
    """Custom ops of systems whose matrices have one pattern, in CSR format and canonical.

    Attributes
    ----------
    factors
        The factors.
    solve, solve_transposed
        The ops: the solutions for entries and right sides, by the matrix and by its transpose.
    """

    def __init__(self, factors: PatternFactors) -> None:
        self.factors = factors
        self.solve = _op("spsolve", factors, False)
        self.solve_transposed = _op("spsolve_transposed", factors, True)


def _op(name: str, factors: PatternFactors, transposed: bool) -> Any:
    def forward(data: np.ndarray, b: np.ndarray) -> np.ndarray:
        return factors.solved(data, b, transposed)

    def vjp(x_bar: Any, x: Any, data: Any, b: Any) -> tuple[Any, Any]:
        b_bar = factors.by_either(data, x_bar, not transposed)
        return factors.outer(b_bar, x, transposed), b_bar

    def jvp(dots: Any, x: Any, data: Any, b: Any) -> Any:
        data_dot, b_dot = dots
        return factors.by_either(data, b_dot - factors.product(data_dot, x, transposed), transposed)

    return custom_op(name, forward, vjp, jvp, shape=lambda _, b: b, differentiable=True)


def solver_of(pattern: MatrixPattern, permc_spec: str | None) -> PatternSolver:
    """Return the systems of a canonical pattern in CSR format, made once."""
    given = permc_spec, thread.mode.nan_on_failure
    solver: PatternSolver = pattern.once(("solver", *given), lambda: PatternFactors(pattern, *given).ops())
    return solver
