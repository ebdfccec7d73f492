"""Products of constant sparse matrices of SciPy with Tensors.

A matrix in CSR format, or in CSC format, which is CSR of its transpose, is used in its own memory: each replay reads
its entries. Its pattern is guarded. Other formats are converted at each recording.
"""

import math
from typing import Any, TypeAlias

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import UnsupportedError
from tapegrad.foreign import is_sparse
from tapegrad.frontend.conversions.complex_views import (
    imag_part,
    is_complex,
    made_complex,
    pairs_of,
    part_dtype,
    real_part,
)
from tapegrad.frontend.recording.record import as_float
from tapegrad.frontend.recording.record_structural import as_numbers, record_new
from tapegrad.frontend.recording.rules import Step, rules_of_product, state_rules
from tapegrad.frontend.recording.shape import in_c_order, reshape, transpose
from tapegrad.frontend.tensor.array_checks import check_dtype
from tapegrad.frontend.tensor.modes import thread, watch_now
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.ops import CODES
from tapegrad.ops.structural.indexing import CsrMatmulParams, CsrOuterParams, CsrTransposedMatmulParams

Params: TypeAlias = CsrMatmulParams | CsrTransposedMatmulParams
_CSR_MATMUL, _CSR_TRANSPOSED_MATMUL = CODES["csr_matmul"], CODES["csr_transposed_matmul"]


def product(x1: Any, x2: Any) -> Tensor:
    """Multiply a sparse matrix and a vector or a matrix, in either order.

    Raises
    ------
    UnsupportedError
        For two sparse matrices.
    ValueError
        If the shapes do not fit.
    """
    if is_sparse(x1) and is_sparse(x2):
        raise UnsupportedError(
            "matmul: both operands are sparse matrices, which are constants: multiply them by SciPy, as a @ b"
        )
    if is_sparse(x1):
        return _times(x1, as_numbers(x2, "matmul"), f"{x1.shape} @ {np.shape(x2)}")
    x = as_numbers(x1, "matmul")
    transposed = _times(x2.T, transpose(x) if x.ndim == 2 else x, f"{x.shape} @ {x2.shape}")
    return transpose(transposed) if transposed.ndim == 2 else transposed


def _times(matrix: Any, x: Tensor, shapes: str) -> Tensor:
    """Multiply a sparse matrix, or a sparse vector, by a vector or a matrix."""
    if x.ndim not in (1, 2) or matrix.ndim > 2:
        raise ValueError(f"matmul: shapes {shapes}: a sparse matrix is multiplied by a vector or a matrix")
    if matrix.shape[-1] != x.shape[0]:
        raise ValueError(f"matmul: shapes {shapes} do not fit: the extents that are summed over differ")
    shape = matrix.shape[:-1] + x.shape[1:]
    if not {matrix.dtype.kind, x.dtype.kind} & set(DIFFERENTIABLE_KINDS):
        _watch(matrix)
        return from_array(np.asarray(matrix @ np.asarray(x)), constant=True)
    return _record(matrix, x, shape)


def _record(matrix: Any, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Record the product of floats or complex numbers."""
    dtype = np.result_type(matrix.dtype, x.dtype)
    check_dtype(dtype, "matmul with a sparse matrix", takes_complex=True)
    tape = thread.mode.tape
    own = compressed(matrix)
    entries, lists = _entries(own), _lists(own)
    if len(entries) != len(lists) - len(own.indptr):
        raise ValueError(
            "matmul: the arrays of a sparse matrix have not as many entries as its indptr says; call its check_format()"
        )
    x = as_float(x, dtype if is_complex(x) else part_dtype(dtype), tape, False)
    read = as_float(entries, dtype if entries.dtype.kind == "c" else part_dtype(dtype), tape, True)
    made = _by_parts(own, read, from_array(lists, constant=True), x)
    return made if made.shape == shape else reshape(made, shape)


def _by_parts(compressed: Any, entries: Tensor, lists: Tensor, x: Tensor) -> Tensor:
    """Record the products with real and imaginary parts of the entries; complex numbers of `x` are two columns."""
    if is_complex(entries):
        real, imag = (
            _by_parts(compressed, part, lists, x) for part in (real_part(entries), imag_part(entries))
        )
        return real + 1j * imag
    if not is_complex(x):
        return csr_product(x, entries, lists, _params(compressed, math.prod(x.shape[1:])), "matmul")
    columns = reshape(pairs_of(x), (len(x), -1))
    found = csr_product(columns, entries, lists, _params(compressed, columns.shape[1]), "matmul")
    return made_complex(reshape(found, (len(found), *x.shape[1:], 2)))


def _params(compressed: Any, width: int) -> Params:
    """Return the parameters of a product: a matrix in CSC format is the transpose of one in CSR format."""
    count = len(compressed.indptr) - 1
    if compressed.format == "csc":
        return CsrTransposedMatmulParams(count, compressed.shape[0], width)
    return CsrMatmulParams(count, compressed.shape[-1], width)


# --- SciPy's arrays of a matrix ----------------------------------------------------------------------------------


def compressed(matrix: Any) -> Any:
    """Return a matrix in CSR or CSC format, converted if it is in another format."""
    if matrix.format in ("csr", "csc"):
        return matrix
    _watch(matrix)
    return matrix.tocsr()


def _entries(compressed: Any) -> np.ndarray:
    """Return the entries, in their own memory if the engine can read them there."""
    data: np.ndarray = compressed.data
    count = int(compressed.indptr[-1])
    if not data.flags.c_contiguous:
        watch_now(data)
        data = np.ascontiguousarray(data)
    return data if len(data) == count else data[:count]


def _lists(compressed: Any) -> np.ndarray:
    """Return the start of each row (or column) among the entries, followed by the columns (or rows) of the entries."""
    starts, indices = compressed.indptr, compressed.indices
    watch_now(starts)
    watch_now(indices)
    return np.concatenate([starts, indices[: starts[-1]]], dtype=np.int64)


def _watch(matrix: Any) -> None:
    """Guard all arrays of a matrix, in a recording that reads it now."""
    if thread.mode.recorder is None:
        return
    if matrix.format in ("dok", "lil"):
        raise UnsupportedError(
            f"changes of a sparse matrix in {matrix.format!r} format cannot be detected while a function is"
            " being recorded: convert it once, outside of the function, with .tocsr()"
        )
    for held in vars(matrix).values():
        for array in held if isinstance(held, tuple) else (held,):
            if isinstance(array, np.ndarray):
                watch_now(array)


# --- instructions ------------------------------------------------------------------------------------------------


def csr_product(x: Tensor, entries: Tensor, lists: Tensor, params: Params, name: str = "matmul") -> Tensor:
    """Record the product of a sparse matrix, or of its transpose, and a vector or the rows of a matrix.

    Parameters
    ----------
    x : Tensor, shape (k,) or (k, width)
        The vector, or the matrix.
    entries : Tensor, shape (m,)
        The entries of the sparse matrix.
    lists : Tensor of int64
        Its pattern: the starts of its rows, then the column of each entry.
    params : CsrMatmulParams or CsrTransposedMatmulParams
        Extents, and whether the matrix is transposed.
    name : str
        The function that is called, for messages.
    """
    transposed = isinstance(params, CsrTransposedMatmulParams)
    shape = (params.columns if transposed else params.rows, *x.shape[1:])
    operands = [in_c_order(x), in_c_order(entries), lists]
    return record_new(_CSR_TRANSPOSED_MATMUL if transposed else _CSR_MATMUL, operands, shape, params, name)


def csr_outer(left: Tensor, right: Tensor, lists: Tensor, params: CsrOuterParams, name: str) -> Tensor:
    """Record the product of a row of `left` and a row of `right` for each entry of a pattern."""
    operands = [in_c_order(left), in_c_order(right), lists]
    return record_new(CODES["csr_outer"], operands, (lists.size - params.rows - 1,), params, name)


# --- derivatives -------------------------------------------------------------------------------------------------


def _rows(x: Tensor, params: Any, count: int) -> Tensor:
    """Return a factor as rows of `width` elements; that of a sparse vector has no axis for them."""
    return reshape(x, (count, params.width))


def _in_shape(step: Step, found: Tensor, operand: int) -> Tensor:
    return reshape(found, step.view(operand).shape)


def _by_matrix(step: Step, x: Tensor, entries: Tensor) -> Tensor:
    p = CsrMatmulParams(*step.params)
    return csr_product(_rows(x, p, p.columns), entries, step.x(2), p, "csr_matmul")


def _by_transposed(step: Step, x: Tensor, entries: Tensor) -> Tensor:
    p = CsrTransposedMatmulParams(*step.params)
    return csr_product(_rows(x, p, p.rows), entries, step.x(2), p, "csr_matmul")


def _by_rows(step: Step, left: Tensor, right: Tensor) -> Tensor:
    p = CsrOuterParams(*step.params)
    return csr_outer(_rows(left, p, p.rows), _rows(right, p, p.columns), step.x(2), p, "csr_outer")


_of_matmul = rules_of_product(
    lambda step, x, entries: _in_shape(step, _by_matrix(step, x, entries), -1),
    lambda step, y_bar, entries: _in_shape(step, _by_transposed(step, y_bar, entries), 0),
    lambda step, x, y_bar: _by_rows(step, y_bar, x),
)
_of_transposed_matmul = rules_of_product(
    lambda step, x, entries: _in_shape(step, _by_transposed(step, x, entries), -1),
    lambda step, y_bar, entries: _in_shape(step, _by_matrix(step, y_bar, entries), 0),
    _by_rows,
)
_of_outer = rules_of_product(
    _by_rows,
    lambda step, y_bar, right: _in_shape(step, _by_matrix(step, right, y_bar), 0),
    lambda step, left, y_bar: _in_shape(step, _by_transposed(step, left, y_bar), 1),
)
for _name, _rules in (
    ("csr_matmul", _of_matmul),
    ("csr_transposed_matmul", _of_transposed_matmul),
    ("csr_outer", _of_outer),
):
    state_rules(_name, _rules.reverse, lambda step, a, b, *_, forward=_rules.forward: forward(step, a, b))
