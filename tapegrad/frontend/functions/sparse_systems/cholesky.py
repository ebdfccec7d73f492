"""`SparseCholesky`: factorisation of sparse symmetric positive definite matrices with a constant pattern."""

import math
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.engine.elimination.analysis import make_plan, positions_of_elements
from tapegrad.engine.kernels.fronts.plan import HEADER_FIELDS, Header
from tapegrad.foreign import is_sparse, is_sparse_tensor
from tapegrad.frontend.functions.sparse_systems import instructions
from tapegrad.frontend.functions.sparse_systems.patterns import SymmetricPattern, read_pattern
from tapegrad.frontend.indexing.indexing import scatter_add
from tapegrad.frontend.recording.record import as_float
from tapegrad.frontend.recording.record_structural import as_tensor, in_common_dtype, record_new
from tapegrad.frontend.recording.shape import in_c_order
from tapegrad.frontend.tensor.array_checks import check_dtype
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.ops import CODES
from tapegrad.ops.structural.indexing import GatherParams
from tapegrad.ops.structural.sparse_systems import SparseLogdetParams, SparseProductParams, SparseSolveParams

_NAME = "SparseCholesky"


class SparseCholesky:
    """Cholesky factorisation of sparse symmetric positive definite matrices with one pattern.

    The symbolic part, an order of the rows with little fill and the structure of the factor, is computed once, here;
    `factor` computes the factor for given entries. Both work inside of transforms: a function of the entries, such as
    a log-determinant or a solution, has derivatives of all orders.

    Attributes
    ----------
    n : int
        Rows of the matrix.
    rows, columns : ndarray, shape (m,)
        Positions of the entries, in the order in which `factor` takes their values: as `a` stores them, or in CSR order
        if it is in a format other than CSR, CSC and COO.
    order : ndarray, shape (n,)
        The row that is eliminated first, second, ...
    nnz : int
        Stored elements of the factor. It has as many elements or, where blocks were joined, a few zeros more.

    Parameters
    ----------
    a : sparse matrix or pattern, shape (n, n)
        A sparse matrix, of SciPy or of `tapegrad.sparse`, of which the pattern alone is used, or an object with the
        attributes `shape`, `indptr` and `indices` of one in CSR format. The pattern has both triangles, and is
        symmetric then, or the lower one alone. Entries that are stored and zero are part of it. No entry may be stored
        twice.

    Raises
    ------
    ValueError
        If the pattern is not symmetric, is the upper triangle alone, or has an entry twice.

    See Also
    --------
    cholesky : The factor of a dense matrix.

    Notes
    -----
    The factorisation is multifrontal: columns of nearly equal structure are dense blocks, which BLAS and LAPACK
    process. Where no column of the factor has more than eight elements below the diagonal, as with chains, narrow
    bands, trees and small blocks, it is column by column. The gradient of the log-determinant is the inverse on the
    pattern, computed in the same way in the time of about two factorisations; no dense inverse is made. Where both
    triangles are given, the lower one is read, and has the derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse
    >>> import tapegrad as tg
    >>> a = scipy.sparse.csr_array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
    >>> cholesky = tg.linalg.SparseCholesky(a)
    >>> factor = cholesky.factor(a)
    >>> factor.solve([1.0, 0.0, 1.0])
    Tensor([1., 1., 1.])
    >>> factor.logdet()
    Tensor(1.38629436)

    The precision of a Gaussian field depends on a parameter; its log-determinant is differentiated.

    >>> def f(tau):
    ...     return cholesky.factor(tau * a.data).logdet()
    >>> print(tg.grad(f)(2.0).round(6))
    1.5
    """

    def __init__(self, a: Any) -> None:
        self._pattern = pattern = read_pattern(a)
        rows, columns = pattern.rows, pattern.columns
        if pattern.lower is not None:
            rows, columns = rows[pattern.lower], columns[pattern.lower]
        self._plan = make_plan(pattern.n, rows, columns)
        self._plan.flags.writeable = False
        self._header = Header(*map(int, self._plan[:HEADER_FIELDS]))
        self._halves = np.where(rows == columns, 1.0, 0.5)

    @property
    def n(self) -> int:
        """Rows of the matrix."""
        return self._pattern.n

    @property
    def rows(self) -> np.ndarray:
        """Row of each entry."""
        return self._pattern.rows

    @property
    def columns(self) -> np.ndarray:
        """Column of each entry."""
        return self._pattern.columns

    @property
    def order(self) -> np.ndarray:
        """The row that is eliminated first, second, ..."""
        return self._plan[HEADER_FIELDS : HEADER_FIELDS + self.n]

    @property
    def nnz(self) -> int:
        """Stored elements of the factor."""
        return self._header.elements

    def __repr__(self) -> str:
        return f"SparseCholesky(n={self.n}, entries={len(self.rows)}, nnz={self.nnz})"

    def factor(self, values: Any) -> "SparseFactor":
        """Compute the factor of the matrix with these entries.

        Parameters
        ----------
        values : array_like, shape (m,), or sparse matrix
            The entries at `rows` and `columns`, or a sparse matrix, of SciPy or of `tapegrad.sparse`, whose entries are
            all in the pattern. Of entries of both triangles those of the lower one are read; plain arrays are checked
            to be symmetric.

        Returns
        -------
        SparseFactor
            The factor, with the methods `solve`, `logdet` and `inverse_on_pattern`.

        Raises
        ------
        LinAlgError
            If the matrix is not positive definite. The message has the row at which that was found.
        ValueError
            If the number of values is another one, or plain values are nan, infinite, or not symmetric.

        Examples
        --------
        >>> import scipy.sparse
        >>> import tapegrad as tg
        >>> a = scipy.sparse.csr_array([[4.0, 1.0], [1.0, 3.0]])
        >>> cholesky = tg.linalg.SparseCholesky(a)
        >>> cholesky.factor([4.0, 1.0, 1.0, 3.0]).solve([1.0, 2.0])
        Tensor([0.09090909, 0.63636364])
        """
        name = f"{_NAME}.factor"
        entries = self._entries(values, name)
        try:
            matrix = instructions.factored(entries, self._constant(), self._header.elements, name)
        except LinAlgError as error:
            raise LinAlgError(self._explained(str(error), entries)) from None
        return SparseFactor(self, matrix)

    def matmul(self, values: Any, x: Any) -> Tensor:
        """Multiply the matrix with these entries by a vector or by columns; both are differentiable.

        Parameters
        ----------
        values : array_like, shape (m,), or sparse matrix
            The entries, as for `factor`; the matrix need not be positive definite.
        x : array_like, shape (n,) or (n, k)
            The vector, or columns.

        Returns
        -------
        Tensor, shape (n,) or (n, k)
            The product.

        Examples
        --------
        >>> import scipy.sparse
        >>> import tapegrad as tg
        >>> a = scipy.sparse.csr_array([[4.0, 1.0], [1.0, 3.0]])
        >>> tg.linalg.SparseCholesky(a).matmul(a.data, [1.0, 2.0])
        Tensor([6., 7.])
        """
        name = f"{_NAME}.matmul"
        entries, columns = in_common_dtype(self._entries(values, name), as_tensor(x, name))
        check_dtype(columns.dtype, name)
        k = self._columns_of(columns, name)
        params = SparseProductParams(self._header.entries, len(self._plan), self.n, k)
        return instructions.product(entries, columns, self._constant(), params, name)

    # --- operands ------------------------------------------------------------------------------------------------

    def _constant(self) -> Tensor:
        """Return the plan as a constant on its own memory."""
        return from_array(self._plan, constant=True)

    def _columns_of(self, x: Tensor, name: str) -> int:
        """Return the number of columns of an operand; 1 for a vector."""
        if x.ndim not in (1, 2) or x.shape[0] != self.n:
            raise ValueError(
                f"{name}: shape ({self.n},) or ({self.n}, k) is needed for a matrix of {self.n} rows, not {x.shape}"
            )
        return 1 if x.ndim == 1 else x.shape[1]

    def _entries(self, values: Any, name: str) -> Tensor:
        """Return the entries of the lower triangle, checked if they are plain numbers."""
        if is_sparse(values) or is_sparse_tensor(values):
            values = self._values_of(values, name)
        x = as_tensor(values, name)
        if x.dtype.kind != "f":
            x = as_float(x, np.dtype(np.float64), thread.mode.tape, True)
        pattern = self._pattern
        if x.shape != (len(pattern.rows),):
            raise ValueError(
                f"{name}: the pattern has {len(pattern.rows)} entries, and the values have shape {x.shape}"
            )
        if x.constant and not is_tensor(values):
            _check_values(np.asarray(values, np.float64), pattern, name)
        if pattern.lower is None:
            return x
        params = GatherParams(len(pattern.rows), 1)
        operands = [in_c_order(x), from_array(pattern.lower, constant=True)]
        return record_new(CODES["gather"], operands, pattern.lower.shape, params, name)

    def _values_of(self, matrix: Any, name: str) -> Any:
        """Return the entries of a sparse matrix, a Tensor if its entries are one; zero where it has none."""
        own = matrix.tocoo()
        if own.shape != (self.n, self.n):
            raise ValueError(f"{name}: a matrix of shape {(self.n, self.n)} is needed, not {own.shape}")
        pattern = self._pattern
        keys = pattern.rows * self.n + pattern.columns
        order = np.argsort(keys, kind="stable")
        given = own.row.astype(np.int64) * self.n + own.col
        found = np.minimum(np.searchsorted(keys, given, sorter=order), max(len(keys) - 1, 0))
        found = order[found] if len(keys) else found[:0]
        outside = np.flatnonzero(keys[found] != given) if len(keys) else np.arange(len(given))
        if pattern.lower is None and len(outside):  # a symmetric matrix for a pattern of the lower triangle
            above = own.row < own.col
            outside = outside[~above[outside]]
        if len(outside):
            i, j = int(own.row[outside[0]]), int(own.col[outside[0]])
            raise ValueError(f"{name}: entry ({i}, {j}) is not in the pattern")
        inside = np.flatnonzero(keys[found] == given) if len(keys) else found[:0]
        if is_tensor(own.data):
            return scatter_add(own.data[inside], found[inside], (len(keys),))
        values = np.zeros(len(keys), np.result_type(own.data.dtype, np.float32))
        np.add.at(values, found[inside], own.data[inside])
        return values

    def _explained(self, message: str, entries: Tensor) -> str:
        """Return a message of a failure with the row at which it was found, if the entries are known."""
        if thread.mode.recorder is not None:
            return message
        row = instructions.failed_row(self._plan, entries, self._header.elements)
        return message if row < 0 else f"{message}: the pivot of row {row} is not positive"


class SparseFactor:
    """Factor of a sparse symmetric positive definite matrix, made by `SparseCholesky.factor`.

    Attributes
    ----------
    cholesky : SparseCholesky
        What made it.
    matrix : Tensor
        The factored matrix: its entries and the elements of the factor, as one vector.
    """

    def __init__(self, cholesky: SparseCholesky, matrix: Tensor) -> None:
        self.cholesky, self.matrix = cholesky, matrix
        header = cholesky._header
        self._params = SparseLogdetParams(header.entries, header.elements, len(cholesky._plan))

    def __repr__(self) -> str:
        return f"SparseFactor(n={self.cholesky.n}, nnz={self.cholesky.nnz})"

    def solve(self, b: Any) -> Tensor:
        """Solve ``A @ x = b``.

        Parameters
        ----------
        b : array_like, shape (n,) or (n, k)
            The right side, or several.

        Returns
        -------
        Tensor, shape (n,) or (n, k)
            The solutions.

        Raises
        ------
        ValueError
            If the right side has another number of rows.

        Examples
        --------
        >>> import scipy.sparse
        >>> import tapegrad as tg
        >>> a = scipy.sparse.csr_array([[4.0, 1.0], [1.0, 3.0]])
        >>> tg.linalg.SparseCholesky(a).factor(a).solve([1.0, 2.0])
        Tensor([0.09090909, 0.63636364])
        """
        name, own = "SparseFactor.solve", self.cholesky
        matrix, side = in_common_dtype(self.matrix, _floats(b, name))
        params = SparseSolveParams(*self._params, own.n, own._columns_of(side, name))
        return instructions.solution(matrix, side, own._constant(), params, name)

    def logdet(self) -> Tensor:
        """Compute the logarithm of the determinant.

        Returns
        -------
        Tensor, shape ()
            The logarithm. Its gradient by the entries is the inverse on the pattern.

        Examples
        --------
        >>> import scipy.sparse
        >>> import tapegrad as tg
        >>> a = scipy.sparse.csr_array([[4.0, 1.0], [1.0, 3.0]])
        >>> tg.linalg.SparseCholesky(a).factor(a).logdet()
        Tensor(2.39789527)
        """
        plan = self.cholesky._constant()
        return instructions.logdet(self.matrix, plan, self._params, "SparseFactor.logdet")

    def inverse_on_pattern(self) -> Tensor:
        """Compute those elements of the inverse that have a place in the pattern.

        Returns
        -------
        Tensor, shape (m,)
            The elements at `rows` and `columns` of the `SparseCholesky`. Those on the diagonal are the variances of a
            Gaussian field whose precision is the matrix.

        Examples
        --------
        >>> import scipy.sparse
        >>> import tapegrad as tg
        >>> a = scipy.sparse.csr_array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
        >>> tg.linalg.SparseCholesky(a).factor(a).inverse_on_pattern()
        Tensor([0.75, 0.5 , 0.5 , 1.  , 0.5 , 0.5 , 0.75])
        """
        own, name = self.cholesky, "SparseFactor.inverse_on_pattern"
        plan, pattern = own._constant(), own._pattern
        found = instructions.gradient(self.matrix, plan, self._params, name) * own._halves.astype(
            self.matrix.dtype
        )
        if pattern.lower is None or pattern.mirror is None:
            return found
        # both elements of an entry are read from the lower triangle
        numbers = np.empty(len(pattern.rows), np.int64)
        numbers[pattern.lower] = np.arange(len(pattern.lower))
        numbers[pattern.mirror] = np.arange(len(pattern.lower))
        listed = from_array(numbers, constant=True)
        return record_new(
            CODES["gather"], [found, listed], numbers.shape, GatherParams(len(pattern.lower), 1), name
        )

    def lower_triangle(self) -> Any:
        """Return the factor itself, as numbers.

        Returns
        -------
        scipy.sparse.csc_array, shape (n, n)
            ``L`` of ``A[order][:, order] = L @ L.T``, with the attribute `order` of the `SparseCholesky`.

        Raises
        ------
        TracedValueError
            While a function of the entries is recorded, or differentiated by a transform: the result is constant.

        Examples
        --------
        >>> import scipy.sparse
        >>> import tapegrad as tg
        >>> a = scipy.sparse.csr_array([[4.0, 2.0], [2.0, 5.0]])
        >>> cholesky = tg.linalg.SparseCholesky(a)
        >>> cholesky.order
        array([0, 1])
        >>> cholesky.factor(a).lower_triangle().toarray()
        array([[2., 0.],
               [1., 2.]])
        """
        from scipy.sparse import csc_array

        own = self.cholesky
        elements = self.matrix.escaped("lower_triangle()")[own._header.entries :]
        rows, columns = positions_of_elements(own._plan)
        stored = rows >= columns
        return csc_array((elements[stored], (rows[stored], columns[stored])), (own.n, own.n))

    def half_solve(self, z: Any) -> np.ndarray:
        """Solve ``L.T @ x[order] = z``, as numbers.

        Parameters
        ----------
        z : array_like, shape (..., n)
            Vectors along the last axis.

        Returns
        -------
        ndarray, shape (..., n)
            Vectors with ``x @ A @ x = z @ z``: of standard normal numbers, draws of the Gaussian field whose precision
            is ``A``.

        Raises
        ------
        TracedValueError
            While a function of the entries is recorded, or differentiated by a transform: the result is constant.
        ValueError
            For vectors of another length.

        Examples
        --------
        >>> import scipy.sparse
        >>> import tapegrad as tg
        >>> a = scipy.sparse.csr_array([[4.0, 2.0], [2.0, 5.0]])
        >>> tg.linalg.SparseCholesky(a).factor(a).half_solve([3.0, 4.0])
        array([0.5, 2. ])
        """
        own, normal = self.cholesky, np.asarray(z)
        if normal.shape[-1:] != (own.n,):
            raise ValueError(
                f"SparseFactor.half_solve: vectors of length {own.n} are needed, not of shape {normal.shape}"
            )
        if np.iscomplexobj(normal):
            return self.half_solve(normal.real) + 1j * self.half_solve(normal.imag)
        elements = self.matrix.escaped("half_solve()")[own._header.entries :]
        vectors = np.array(normal, np.float64, order="C").reshape(math.prod(normal.shape[:-1]), own.n)
        instructions.solve_half(own._plan, own._header.entries, np.asarray(elements, np.float64), vectors)
        x = np.empty_like(vectors)
        x[:, own.order] = vectors
        return x.reshape(normal.shape)


def _floats(b: Any, name: str) -> Tensor:
    """Return a right side as floats."""
    x = as_tensor(b, name)
    check_dtype(x.dtype, name)
    return x if x.dtype.kind == "f" else as_float(x, np.dtype(np.float64), thread.mode.tape, True)


def _check_values(values: np.ndarray, pattern: SymmetricPattern, name: str) -> None:
    """Check plain values: finite, and the same on both sides of the diagonal but for rounding."""
    if not np.isfinite(values).all():
        k = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"{name}: the value of entry ({pattern.rows[k]}, {pattern.columns[k]}) is {values[k]}"
        )
    if pattern.lower is None or pattern.mirror is None:
        return
    apart = np.abs(values[pattern.lower] - values[pattern.mirror])
    k = int(np.argmax(apart))
    if apart[k] > 1e-6 * np.max(np.abs(values)):
        i, j = pattern.rows[pattern.lower[k]], pattern.columns[pattern.lower[k]]
        raise ValueError(
            f"{name}: the values are not symmetric: {values[pattern.lower[k]]} at ({i}, {j}),"
            f" {values[pattern.mirror[k]]} at ({j}, {i})"
        )
