"""`csr_array`, `csc_array` and `coo_array`: sparse matrices whose entries are a Tensor, by the names of SciPy."""

from typing import Any, ClassVar

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.foreign import is_sparse, is_sparse_matrix, is_sparse_tensor
from tapegrad.frontend.functions.products.sparse import compressed, csr_product
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.recording.record_structural import as_tensor, in_common_dtype
from tapegrad.frontend.recording.shape import reshape, transpose
from tapegrad.frontend.tensor.array_checks import check_dtype
from tapegrad.frontend.tensor.modes import watch_now
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.frontend.words.call_site import CallSite, refusal
from tapegrad.frontend.words.refusal_hints import asks_for_operator, boxed
from tapegrad.frontend.words.scipys_functions import remedy
from tapegrad.ops.structural.indexing import CsrMatmulParams, CsrTransposedMatmulParams
from tapegrad.sparse.entries import (
    add_patterns,
    add_up,
    matmul_patterns,
    moved,
    multiply_patterns,
    read_entries,
    take,
)
from tapegrad.sparse.patterns import (
    FORMATS,
    MatrixPattern,
    checked_shape,
    compressed_pattern,
    coordinate_pattern,
    pattern_of,
)

_TITLES = {"csr": "Compressed Sparse Row", "csc": "Compressed Sparse Column", "coo": "COOrdinate"}
_MAX_PRINTED_ENTRIES = 50  # as SciPy prints


class SparseArray:
    """Sparse matrix: a constant pattern, and a Tensor with an entry for each of its positions.

    The classes of the three formats have its methods; their names and results are those of SciPy's sparse arrays.
    Matrices do not change: operations return new ones. The pattern of a result follows from the patterns of the
    operands, so an entry that happens to be zero stays.
    """

    format: ClassVar[str]
    __array_ufunc__ = None  # arrays of NumPy leave operators to the methods here
    __hash__ = object.__hash__

    def __init__(self, arg1: Any, shape: Any = None, dtype: Any = None) -> None:
        name = type(self).__name__
        self._pattern, data = _parts(arg1, self.format, shape, name)
        x = read_entries(data, self._pattern.nnz, name)
        if dtype is not None:
            check_dtype(np.dtype(dtype), name)
            x = x.astype(dtype, copy=False)
        self._data: Any = x

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def pattern(self) -> MatrixPattern:
        """The positions of the entries."""
        return self._pattern

    @property
    def data(self) -> Tensor:
        """The entries."""
        data: Any = self._data
        return data if is_tensor(data) else from_array(data, constant=True)

    @property
    def __leaf__(self) -> Any:
        """The entries as a structure holds them: an array where functions take and return arrays."""
        return self._data

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._pattern.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions, 2."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the entries."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """Number of entries, those that are zero included."""
        return self._pattern.nnz

    @property
    def size(self) -> int:
        """Number of entries, as `nnz`."""
        return self._pattern.nnz

    @property
    def constant(self) -> bool:
        """True if the entries are a constant."""
        return self.data.constant

    @property
    def has_canonical_format(self) -> bool:
        """True if the entries are sorted, and no position has two."""
        return self._pattern.is_canonical

    @property
    def T(self) -> "SparseArray":  # noqa: N802  as in NumPy
        """The transpose."""
        return self.transpose()

    def __repr__(self) -> str:
        state = "constant entries" if self.constant else "entries that are a Tensor"
        return (
            f"<{_TITLES[self.format]} sparse array of dtype '{self.dtype}'\n\twith {self.nnz} stored elements and"
            f" shape {self.shape}, {state}>"
        )

    def __str__(self) -> str:
        if "being recorded" in repr(self.data):
            return repr(self)
        places = list(zip(self._pattern.rows.tolist(), self._pattern.columns.tolist(), strict=True))
        lines = [f"  {place}\t{value}" for place, value in zip(places, self.data.data.tolist(), strict=True)]
        if len(lines) > _MAX_PRINTED_ENTRIES:
            half = _MAX_PRINTED_ENTRIES // 2
            lines[half:-half] = ["  :\t:"]
        return "\n".join([repr(self), "  Coords\tValues", *lines])

    def __len__(self) -> int:
        raise TypeError("the length of a sparse array is ambiguous; write S.shape[0] or S.nnz")

    def __bool__(self) -> bool:
        raise ValueError("the truth of a sparse array is ambiguous; compare its entries, S.data, or S.nnz")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Refuse to be an array; SciPy's operators, which leave what is none to the methods here, get an object."""
        if asks_for_operator():
            return boxed(self)
        raise refusal(UnsupportedError, _no_array)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise UnsupportedError(
            "sparse arrays are not compared; compare their entries, S.data, or S.toarray() == T.toarray()"
        )

    # --- other forms -------------------------------------------------------------------------------------------------

    def asformat(self, format: str | None) -> "SparseArray":
        """Return the matrix in another format.

        Parameters
        ----------
        format : {"csr", "csc", "coo"} or None
            The format; None is its own.

        Returns
        -------
        SparseArray
            The matrix. As in SciPy, entries of one position are added up if it was in COO format.

        Raises
        ------
        ValueError
            For another format.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(3).asformat("coo").format
        'coo'
        """
        if format is None:
            return self
        if format not in FORMATS:
            raise ValueError(
                f"format {format!r}: sparse arrays with computed entries are 'csr', 'csc' or 'coo'"
            )
        pattern, move = self._pattern.converted(format)
        return made_like(self, pattern, moved(self.data, move))

    def tocsr(self) -> "SparseArray":
        """Return the matrix in CSR format, as `asformat` does.

        Returns
        -------
        csr_array
            The matrix.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(2, format="csc").tocsr().format
        'csr'
        """
        return self.asformat("csr")

    def tocsc(self) -> "SparseArray":
        """Return the matrix in CSC format, as `asformat` does.

        Returns
        -------
        csc_array
            The matrix.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(2, format="csr").tocsc().format
        'csc'
        """
        return self.asformat("csc")

    def tocoo(self) -> "SparseArray":
        """Return the matrix in COO format, as `asformat` does.

        Returns
        -------
        coo_array
            The matrix.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(2, format="csc").tocoo().format
        'coo'
        """
        return self.asformat("coo")

    def canonical(self) -> "SparseArray":
        """Return the matrix with sorted entries, those of one position added up.

        Returns
        -------
        SparseArray
            The matrix, of which `has_canonical_format` is true.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1]))).canonical().data
        Tensor([3.])
        """
        pattern, move = self._pattern.canonical()
        return self if move is None else made_like(self, pattern, moved(self.data, move))

    def toarray(self) -> Tensor:
        """Return the matrix with all its zeros.

        Returns
        -------
        Tensor, shape (rows, columns)
            The elements.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(2).toarray()
        Tensor([[1., 0.],
                [0., 1.]])
        """
        rows, columns = self.shape
        places = self._pattern.once("places", lambda: self._pattern.rows * columns + self._pattern.columns)
        return reshape(add_up(self.data, places, rows * columns), self.shape)

    def todense(self) -> Tensor:
        """Return the matrix with all its zeros, as `toarray` does.

        Returns
        -------
        Tensor, shape (rows, columns)
            The elements.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(1, 2).todense()
        Tensor([[1., 0.]])
        """
        return self.toarray()

    def transpose(self) -> "SparseArray":
        """Return the transpose: the same entries, in CSC format for CSR.

        Returns
        -------
        SparseArray
            The transpose.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(1, 2).transpose().shape
        (2, 1)
        """
        return made_like(self, self._pattern.transposed(), self.data)

    def astype(self, dtype: Any) -> "SparseArray":
        """Return the matrix with its entries in another dtype.

        Parameters
        ----------
        dtype : dtype
            float64 or float32.

        Returns
        -------
        SparseArray
            The matrix.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(2).astype("float32").dtype
        dtype('float32')
        """
        check_dtype(np.dtype(dtype), "SparseArray.astype")
        return made_like(self, self._pattern, self.data.astype(dtype, copy=False))

    def copy(self) -> "SparseArray":
        """Return the matrix with a copy of its entries.

        Returns
        -------
        SparseArray
            The matrix.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(2).copy().nnz
        2
        """
        return made_like(self, self._pattern, self.data.copy())

    def with_data(self, data: Any) -> "SparseArray":
        """Return a matrix of the same pattern with other entries.

        Parameters
        ----------
        data : array_like, shape (m,)
            The entries.

        Returns
        -------
        SparseArray
            The matrix.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(2).with_data([3.0, 4.0]).toarray()
        Tensor([[3., 0.],
                [0., 4.]])
        """
        return made_like(self, self._pattern, read_entries(data, self.nnz, type(self).__name__))

    def __with_leaf__(self, leaf: Any) -> Any:
        """Return a structure of this pattern around a leaf; what has another shape, such as a Jacobian, unchanged."""
        return made_like(self, self._pattern, leaf) if getattr(leaf, "shape", None) == (self.nnz,) else leaf

    # --- elements ----------------------------------------------------------------------------------------------------

    def diagonal(self, k: int = 0) -> Tensor:
        """Return the elements of a diagonal.

        Parameters
        ----------
        k : int, default 0
            The diagonal: that of the elements (i, i + k).

        Returns
        -------
        Tensor, 1-dimensional
            The elements, zero where there is no entry.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.diags_array([[1.0, 2.0], 5.0], offsets=[1, 0], shape=(3, 3)).diagonal(1)
        Tensor([1., 2.])
        """
        rows, columns = self.shape
        count = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
        on = np.flatnonzero(self._pattern.columns - self._pattern.rows == k)
        return add_up(take(self.data, on), self._pattern.rows[on] + min(k, 0), count)

    def trace(self, offset: int = 0) -> Tensor:
        """Return the sum of the elements of a diagonal.

        Parameters
        ----------
        offset : int, default 0
            The diagonal, as for `diagonal`.

        Returns
        -------
        Tensor, shape ()
            The sum.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(3).trace()
        Tensor(3.)
        """
        return sum(self.diagonal(offset))

    def sum(self, axis: int | None = None) -> Tensor:
        """Add up elements.

        Parameters
        ----------
        axis : {None, 0, 1, -1, -2}, optional
            The axis to sum over: 0 for the sums of the columns, 1 for those of the rows. None sums all.

        Returns
        -------
        Tensor, shape () or (n,)
            The sums.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(2, 3).sum(axis=0)
        Tensor([1., 1., 0.])
        """
        if axis is None:
            return sum(self.data)
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"SparseArray.sum: axis {axis!r} of a matrix; write 0, 1 or None")
        groups = self._pattern.columns if axis in (0, -2) else self._pattern.rows
        return add_up(self.data, groups, self.shape[1 if axis in (0, -2) else 0])

    def __getitem__(self, key: Any) -> Any:
        """Return an element, or the matrix of some rows and columns."""
        own = self.tocsr().canonical() if self.format == "coo" else self.canonical()
        for each in key if isinstance(key, tuple) else (key,):
            if is_tensor(each):
                raise UnsupportedError(
                    "rows and columns of a sparse array are selected by plain integers: the pattern is constant"
                )
            if isinstance(each, np.ndarray):
                watch_now(each)
        found = own.pattern.labels[key]
        if np.ndim(found) == 0 and not is_sparse(found):
            numbers = np.full(int(found > 0), int(found) - 1)
            return sum(take(own.data, numbers))
        if found.ndim != 2:
            raise UnsupportedError(
                "a part of a sparse array with computed entries is a matrix: for one row write S[[i]], or"
                " S[[i]].toarray()[0]; for elements S.toarray()[i, j]"
            )
        return made_like(self, *relabelled(found, own.data))

    # --- operators ---------------------------------------------------------------------------------------------------

    def __neg__(self) -> "SparseArray":
        return made_like(self, self._pattern, -self.data)

    def __pos__(self) -> "SparseArray":
        return self

    def __abs__(self) -> "SparseArray":
        own = self.canonical()
        return made_like(self, own.pattern, abs(own.data))

    def power(self, n: float) -> "SparseArray":
        """Raise each element to a power, as ``S ** n`` does. Entries of one position are added up first.

        Parameters
        ----------
        n : float
            The exponent, a positive number: zeros stay zeros.

        Returns
        -------
        SparseArray
            The matrix.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.diags_array([[2.0, 3.0]]).power(2).data
        Tensor([4., 9.])
        """
        if np.ndim(n) or is_tensor(n) or not n > 0:
            raise UnsupportedError("a sparse array to a power: a positive number is needed, or T.toarray()")
        own = self.canonical()
        return made_like(self, own.pattern, own.data**n)

    def __pow__(self, n: Any) -> "SparseArray":
        return self.power(n)

    def multiply(self, other: Any) -> "SparseArray":
        """Multiply elements, as ``S * other`` does.

        Parameters
        ----------
        other : number, array_like or sparse matrix
            A factor of all elements, one that broadcasts to the shape of the matrix, or a matrix of its shape.

        Returns
        -------
        SparseArray
            The matrix: of the same pattern, or of the positions that both sparse matrices have.

        Raises
        ------
        ValueError
            If the shapes do not fit.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.sparse.eye_array(2).multiply([[3.0], [4.0]]).data
        Tensor([3., 4.])
        """
        if not _is_any_sparse(other):
            return made_like(self, self._pattern, self.data * self._at_entries(other, "*"))
        a, b = self._beside(other, "*")
        a, b = a.canonical(), b.canonical()
        if a.pattern == b.pattern:
            return made_like(self, a.pattern, a.data * b.data)
        pairs = multiply_patterns(a.pattern, b.pattern)
        return made_like(self, pairs.pattern, pairs.of(a.data, b.data))

    def __mul__(self, other: Any) -> "SparseArray":
        return self.multiply(other)

    def __rmul__(self, other: Any) -> "SparseArray":
        if is_sparse_matrix(other):
            raise UnsupportedError(
                f"A * S of a {type(other).__name__} multiplies matrices in SciPy, and S * A multiplies elements: write"
                " A @ S, or S.multiply(A)"
            )
        return as_sparse_array(other, "*").multiply(self) if is_sparse(other) else self.multiply(other)

    def __truediv__(self, other: Any) -> "SparseArray":
        if _is_any_sparse(other):
            raise UnsupportedError("a sparse array over a sparse array divides zeros by zeros; use toarray()")
        return made_like(self, self._pattern, self.data / self._at_entries(other, "/"))

    def __rtruediv__(self, other: Any) -> Any:
        raise UnsupportedError("a sparse array divides nothing: most of its elements are zero; use toarray()")

    def __add__(self, other: Any) -> Any:
        return self._plus(other, "+")

    def __radd__(self, other: Any) -> Any:
        return as_sparse_array(other, "+") + self if is_sparse(other) else self._plus(other, "+")

    def __sub__(self, other: Any) -> Any:
        return self._plus(-other, "-")

    def __rsub__(self, other: Any) -> Any:
        return as_sparse_array(other, "-") - self if is_sparse(other) else (-self)._plus(other, "-")

    def _plus(self, other: Any, sign: str) -> Any:
        if not _is_any_sparse(other):
            return self._plus_dense(other, sign)
        a, b = self._beside(other, sign)
        return made_like(self, *add_patterns(a.pattern, b.pattern, *in_common_dtype(a.data, b.data)))

    def _plus_dense(self, other: Any, sign: str) -> Any:
        """Add a dense matrix, which makes the sum dense, or zero."""
        x = as_tensor(other, f"sparse array {sign}")
        if x.ndim == 0:
            if x.constant and not is_tensor(other) and other == 0:
                return self
            raise UnsupportedError(
                f"a sparse array {sign} a number has no zeros; write S.toarray() {sign} c, or c * S.data for entries"
            )
        return self.toarray() + x

    def __matmul__(self, other: Any) -> Any:
        if _is_any_sparse(other):
            return _times(self, as_sparse_array(other, "@"))
        return self.dot(other)

    def __rmatmul__(self, other: Any) -> Any:
        if _is_any_sparse(other):
            return _times(as_sparse_array(other, "@"), self)
        x = as_tensor(other, "@")
        if x.ndim not in (1, 2) or x.shape[-1] != self.shape[0]:
            raise ValueError(f"@: shapes {x.shape} @ {self.shape} do not fit")
        return self.T.dot(x) if x.ndim == 1 else transpose(self.T.dot(transpose(x)))

    def dot(self, other: Any) -> Any:
        """Multiply by a vector, a matrix or a sparse matrix, as ``S @ other`` does.

        Parameters
        ----------
        other : array_like, shape (n,) or (n, k), or sparse matrix
            The other factor.

        Returns
        -------
        Tensor or SparseArray
            The product; sparse if both factors are.

        Raises
        ------
        ValueError
            If the shapes do not fit.

        Examples
        --------
        >>> import tapegrad as tg
        >>> x = tg.tensor([1.0, 2.0])
        >>> tg.sparse.diags_array([x]).dot([3.0, 4.0])
        Tensor([3., 8.])
        """
        if _is_any_sparse(other):
            return self @ other
        own = self.tocsr() if self.format == "coo" else self
        x = as_tensor(other, "@")
        if x.ndim not in (1, 2):
            raise ValueError(
                f"@: shapes {self.shape} @ {x.shape}: a sparse matrix is multiplied by a vector or a matrix"
                + ("; write c * S for a number" if x.ndim == 0 else "")
            )
        if x.shape[0] != self.shape[1]:
            raise ValueError(
                f"@: shapes {self.shape} @ {x.shape} do not fit: {self.shape[1]} != {x.shape[0]}"
            )
        if x.dtype.kind != "f":
            x = x.astype(self.dtype)
        x, entries = in_common_dtype(x, own.data)
        width = 1 if x.ndim == 1 else x.shape[1]
        lists = from_array(own.pattern.lists, constant=True)
        rows, columns = self.shape
        params: Any = CsrMatmulParams(rows, columns, width)
        if own.format == "csc":
            params = CsrTransposedMatmulParams(columns, rows, width)
        return csr_product(x, entries, lists, params, "@")

    # --- operands ----------------------------------------------------------------------------------------------------

    def _beside(self, other: Any, sign: str) -> tuple["SparseArray", "SparseArray"]:
        """Return the matrix and another one of its shape in one format that is not COO."""
        own = self.tocsr() if self.format == "coo" else self
        second = as_sparse_array(other, sign)
        if second.shape != self.shape:
            raise ValueError(f"{sign}: sparse arrays of shapes {self.shape} and {second.shape}")
        return own, second.asformat(own.format)

    def _at_entries(self, other: Any, sign: str) -> Any:
        """Return a number, or the elements of an array at the positions of the entries."""
        x = as_tensor(other, f"sparse array {sign}")
        if x.ndim == 0:
            return other if not isinstance(other, np.ndarray) else x
        shape = (1, *x.shape) if x.ndim == 1 else x.shape
        fits = len(shape) == 2 and all(
            own in (1, extent) for own, extent in zip(shape, self.shape, strict=True)
        )
        if not fits:
            raise ValueError(
                f"{sign}: an array of shape {x.shape} does not broadcast to the sparse array's shape {self.shape}"
            )
        numbers = self._pattern.rows * (shape[0] != 1) * shape[1] + self._pattern.columns * (shape[1] != 1)
        return take(reshape(x if x.dtype.kind == "f" else x.astype(self.dtype), -1), numbers)


def _times(a: SparseArray, b: SparseArray) -> SparseArray:
    """Multiply two sparse matrices; the product is in CSC format if the first is."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"@: shapes {a.shape} @ {b.shape} do not fit: {a.shape[1]} != {b.shape[0]}")
    if a.format == "csc":
        product = _times(b.tocsc().T, a.T).T
        return made_like(a, product.pattern, product.data)
    a, b = a.tocsr(), b.tocsr()
    pairs = matmul_patterns(a.pattern, b.pattern)
    return made_like(a, pairs.pattern, pairs.of(a.data, b.data))


def _no_array(site: CallSite) -> str:
    name = site.function_name() or "NumPy"
    return f"{name} asks for a sparse array with computed entries as a plain array{site.place}" + (
        remedy(name) or "; write a method or an operator of it, its entries S.data, or S.toarray()"
    )


def _is_any_sparse(value: Any) -> bool:
    return is_sparse_tensor(value) or is_sparse(value)


# --- the formats ---------------------------------------------------------------------------------------------------


class csr_array(SparseArray):
    """Sparse matrix in CSR format, with a Tensor for its entries.

    Parameters
    ----------
    arg1
        ``(data, indices, indptr)``: row i has the entries ``data[indptr[i]:indptr[i + 1]]``, in the columns
        ``indices[indptr[i]:indptr[i + 1]]``. ``(data, (rows, columns))``: the entries and their positions; those of
        one position are added up. ``(rows, columns)``: a matrix without entries of this shape. Or a sparse matrix, of
        SciPy or not. `data` is a Tensor or an array, the rest are integers. Arrays are copied; in a recorded function,
        entries that are an array from outside are read at each replay.
    shape : tuple of int, optional
        Numbers of rows and columns; the least that hold all entries, if it is left out.
    dtype : dtype, optional
        Dtype of the entries, float64 or float32.

    Raises
    ------
    TypeError
        If index arrays are not integers, or `arg1` is something else.
    ValueError
        If they do not fit together, or are out of range.

    See Also
    --------
    coo_array : Entries that are listed with their positions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> a = tg.sparse.csr_array((x**2, [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    >>> (a @ [1.0, 10.0, 100.0]).sum().backward()
    >>> x.grad
    array([  2., 400.,  60.])
    """

    format = "csr"

    @property
    def indices(self) -> np.ndarray:
        """Column of each entry, int64, read-only."""
        return self._pattern.minor

    @property
    def indptr(self) -> np.ndarray:
        """Start of each row among the entries, and the end of the last one, int64, read-only."""
        return self._pattern.starts


class csc_array(SparseArray):
    """Sparse matrix in CSC format, with a Tensor for its entries.

    Parameters
    ----------
    arg1
        As for `csr_array`; in ``(data, indices, indptr)`` rows and columns are exchanged.
    shape : tuple of int, optional
        Numbers of rows and columns; the least that hold all entries, if it is left out.
    dtype : dtype, optional
        Dtype of the entries, float64 or float32.

    Raises
    ------
    TypeError
        If index arrays are not integers, or `arg1` is something else.
    ValueError
        If they do not fit together, or are out of range.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sparse.csc_array(([1.0, 2.0], [1, 0], [0, 1, 2])).toarray()
    Tensor([[0., 2.],
            [1., 0.]])
    """

    format = "csc"

    @property
    def indices(self) -> np.ndarray:
        """Row of each entry, int64, read-only."""
        return self._pattern.minor

    @property
    def indptr(self) -> np.ndarray:
        """Start of each column among the entries, and the end of the last one, int64, read-only."""
        return self._pattern.starts


class coo_array(SparseArray):
    """Sparse matrix in COO format, with a Tensor for its entries: each has its row and its column.

    Parameters
    ----------
    arg1
        ``(data, (rows, columns))``: the entries and their positions, of which one may have several: elements are their
        sums. ``(rows, columns)``: a matrix without entries of this shape. Or a sparse matrix.
    shape : tuple of int, optional
        Numbers of rows and columns; the least that hold all entries, if it is left out.
    dtype : dtype, optional
        Dtype of the entries, float64 or float32.

    Raises
    ------
    TypeError
        If index arrays are not integers, or `arg1` is something else.
    ValueError
        If they do not fit together, or are out of range.

    Examples
    --------
    A matrix is assembled of the matrices of its elements, here of springs in a row:

    >>> import numpy as np
    >>> import tapegrad as tg
    >>> k, i = tg.tensor([1.0, 2.0]), np.array([0, 1])
    >>> data = tg.concatenate([k, k, -k, -k])
    >>> a = tg.sparse.coo_array((data, (np.r_[i, i + 1, i, i + 1], np.r_[i, i + 1, i + 1, i])))
    >>> a.toarray()
    Tensor([[ 1., -1.,  0.],
            [-1.,  3., -2.],
            [ 0., -2.,  2.]])
    """

    format = "coo"

    @property
    def row(self) -> np.ndarray:
        """Row of each entry, int64, read-only."""
        return self._pattern.rows

    @property
    def col(self) -> np.ndarray:
        """Column of each entry, int64, read-only."""
        return self._pattern.columns

    @property
    def coords(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries."""
        return self._pattern.rows, self._pattern.columns


KINDS: dict[str, type[SparseArray]] = {kind.format: kind for kind in (csr_array, csc_array, coo_array)}
MATRIX_KINDS: dict[
    str, type[SparseArray]
] = {}  # classes whose ``*`` multiplies matrices, as of SciPy's `spmatrix`


# --- made ------------------------------------------------------------------------------------------------------------


def made(pattern: MatrixPattern, data: Any, kinds: dict[str, type[SparseArray]] = KINDS) -> SparseArray:
    """Make a matrix of a pattern and its entries, without checks."""
    matrix = object.__new__(kinds[pattern.format])
    matrix._pattern, matrix._data = pattern, data
    return matrix


def made_like(matrix: SparseArray, pattern: MatrixPattern, data: Any) -> SparseArray:
    """Make a matrix whose ``*`` is that of another one: a product of elements, or of matrices."""
    return made(pattern, data, MATRIX_KINDS if type(matrix) in MATRIX_KINDS.values() else KINDS)


def as_sparse_array(value: Any, name: str) -> SparseArray:
    """Return a sparse matrix as one of ours; that of SciPy has constant entries, which replays read anew."""
    if is_sparse_tensor(value):
        own: SparseArray = value
        return own
    if value.format not in FORMATS:
        value = compressed(value)
    pattern = pattern_of(value, name)
    data = value.data
    if len(data) > pattern.nnz:
        data = data[: pattern.nnz]
    kinds = MATRIX_KINDS if is_sparse_matrix(value) else KINDS
    return made(pattern, read_entries(data, pattern.nnz, name), kinds)


def relabelled(found: Any, data: Tensor) -> tuple[MatrixPattern, Tensor]:
    """Return pattern and entries of what SciPy has made of labels."""
    numbers = found.data - 1
    if found.format == "coo":
        pattern = MatrixPattern("coo", found.shape, found.row, found.col)
    else:
        major = np.repeat(np.arange(len(found.indptr) - 1), np.diff(found.indptr))
        rows, columns = (major, found.indices) if found.format == "csr" else (found.indices, major)
        pattern = MatrixPattern(found.format, found.shape, rows, columns)
    return pattern, take(data, np.asarray(numbers, np.int64))


def _parts(arg1: Any, form: str, shape: Any, name: str) -> tuple[MatrixPattern, Any]:
    """Return pattern and entries of the first argument of a matrix."""
    if _is_any_sparse(arg1):
        own = as_sparse_array(arg1, name).asformat(form)
        if shape is not None and checked_shape(shape, name) != own.shape:
            raise ValueError(f"{name}: shape={shape}, and the matrix has the shape {own.shape}")
        return own.pattern, own.data
    if isinstance(arg1, tuple) and len(arg1) == 2:
        first, second = arg1
        if np.ndim(first) == 0 and np.ndim(second) == 0 and not is_tensor(first):
            pattern = MatrixPattern(form, checked_shape(arg1, name), *np.zeros((2, 0), np.int64))
            return pattern, np.zeros(0)
        if isinstance(second, tuple | list | np.ndarray) and len(second) == 2:
            own_pattern = coordinate_pattern(second[0], second[1], shape, name)
            data = read_entries(first, own_pattern.nnz, name)
            own = made(own_pattern, data).asformat(form)
            return own.pattern, own.data
    if isinstance(arg1, tuple) and len(arg1) == 3 and form != "coo":
        data, indices, indptr = arg1
        pattern = compressed_pattern(form, indices, indptr, shape, name)
        return pattern, data if is_tensor(data) or len(data) == pattern.nnz else data[: pattern.nnz]
    lists = "" if form == "coo" else ", (data, indices, indptr)"
    raise TypeError(
        f"{name}: the first argument is (data, (rows, columns)){lists}, (rows, columns), or a sparse matrix, not"
        f" {type(arg1).__name__}. The pattern of a dense matrix x is chosen by you:"
        f" tapegrad.sparse.{name}((x[i, j], (i, j)), shape=x.shape)"
    )
