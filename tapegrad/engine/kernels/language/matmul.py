"""Matrix products: ``Y = X0 @ X1``, its two cotangents and its tangent.

Matrices with contiguous rows or columns are passed to BLAS in place, transposed or not. Small products, and matrices
that BLAS cannot address, are multiplied here. Large products are cut into parts, which the pool of threads shares, if
BLAS has one thread; their number follows from the sizes and a number that is the same throughout a process.

The product of a zero cotangent with inf or nan is nan, as in BLAS.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.library import entry
from tapegrad.engine.kernels.language.raw_memory import (
    add_at,
    call_by_reference,
    call_kernel,
    load_at,
    load_i64,
    load_record,
    size_of,
    stack_i64,
    store_i64,
)
from tapegrad.ops.structural.matrices import MatmulParams

MAX_INLINE_PRODUCTS = 32  # multiplications up to which a call of BLAS costs more than the product
_MAX_INLINE_COMPLEX_PRODUCTS = 216
_LARGEST = 2**31 - 1  # sizes of BLAS are 32-bit integers
MIN_PART_PRODUCTS, _MIN_PART_ELEMENTS = (
    1 << 20,
    1 << 18,
)  # of a part: multiplications, elements times a vector
_MIN_PART_LINES, _ALIGNED_LINES = 64, 16  # rows or columns of a part, and what they begin at a multiple of
_PLAIN, _TRANSPOSED = np.uint8(ord("N")), np.uint8(ord("T"))

# Library functions that each kernel calls
LIBRARY = {
    "matmul_forward_f64": ("dgemm", "dgemv", "product_part_f64"),
    "matmul_reverse_f64": ("dgemm", "dgemv", "product_part_f64"),
    "matmul_tangent_f64": ("dgemm", "dgemv", "product_part_f64"),
    "matmul_forward_f32": ("sgemm", "sgemv", "product_part_f32"),
    "matmul_reverse_f32": ("sgemm", "sgemv", "product_part_f32"),
    "matmul_tangent_f32": ("sgemm", "sgemv", "product_part_f32"),
}


class Matrix(NamedTuple):
    """Matrix in memory; strides in bytes."""

    address: int
    rows: int
    columns: int
    row_stride: int
    column_stride: int


class Routines(NamedTuple):
    """Routines of BLAS for one dtype, by their entries in the table of loops, and the numbers one and zero.

    Products of at most `max_inline` multiplications are computed by loops.
    """

    gemm: int
    gemv: int
    part: int
    max_inline: int
    zero: Any
    one: Any


def _routines(letter: str, dtype: str, max_inline: int, number: Any) -> Routines:
    own = entry(f"{letter}gemm"), entry(f"{letter}gemv"), entry(f"product_part_{dtype}")
    return Routines(*own, max_inline, number(0), number(1))


F64 = _routines("d", "f64", MAX_INLINE_PRODUCTS, np.float64)
F32 = _routines("s", "f32", MAX_INLINE_PRODUCTS, np.float32)
C128 = _routines("z", "c128", _MAX_INLINE_COMPLEX_PRODUCTS, np.complex128)
C64 = _routines("c", "c64", _MAX_INLINE_COMPLEX_PRODUCTS, np.complex64)


# --- parts of large calls --------------------------------------------------------------------------------------

_SHARE = entry("share_parts")


@always_inline
def part_count(loops: int, task: int, work: int, least: int, lines: int) -> int:
    """Return the number of parts of a call with so many rows or columns; a part has at least `least` of the work."""
    return min(load_i64(loops, 2 * task + 1), work // least, lines // _MIN_PART_LINES)


@always_inline
def part_bounds(lines: int, parts: int, part: int) -> tuple[int, int]:
    """Return the first row or column of a part, and of the next one."""
    first = lines * part // parts // _ALIGNED_LINES * _ALIGNED_LINES
    stop = lines * (part + 1) // parts // _ALIGNED_LINES * _ALIGNED_LINES
    return first, lines if part + 1 == parts else stop


@noinline
def run_parts(loops: int, task: int, frame: int, parts: int) -> None:
    """Run all parts of the call that a frame describes, on several threads if the pool grants them."""
    kernel, share = load_i64(loops, 2 * task), load_i64(loops, 2 * _SHARE)
    if share != 0:
        request = stack_i64(3)
        store_i64(request, 0, kernel)
        store_i64(request, 1, frame)
        store_i64(request, 2, parts)
        if call_kernel(share, request, load_i64(loops, 2 * _SHARE + 1)) != 0:
            return
    for part in range(parts):
        call_kernel(kernel, frame, part)


# --- products --------------------------------------------------------------------------------------------------


@always_inline
def transposed(a: Matrix) -> Matrix:
    return Matrix(a.address, a.columns, a.rows, a.column_stride, a.row_stride)


@noinline
def leading(a: Matrix, size: int) -> int:
    """Return the leading dimension of a matrix with contiguous columns, else 0."""
    if (a.rows > 1 and a.row_stride != size) or a.rows > _LARGEST or a.columns > _LARGEST:
        return 0
    if a.columns <= 1:
        return max(1, a.rows)
    found = a.column_stride // size
    return found if found * size == a.column_stride and max(1, a.rows) <= found <= _LARGEST else 0


@noinline
def layout(a: Matrix, size: int) -> Any:
    """Return transposition letter and leading dimension of a matrix; dimension 0 if BLAS cannot address it."""
    found = leading(a, size)
    if found != 0:
        return _PLAIN, found
    return _TRANSPOSED, leading(transposed(a), size)


@always_inline
def _increment(count: int, stride: int, size: int) -> int:
    """Return BLAS's increment of a vector; 0 if BLAS cannot address it."""
    if count <= 1:
        return 1
    increment = stride // size
    return increment if increment * size == stride and 0 < increment <= _LARGEST else 0


@always_inline
def _multiply(a: Matrix, b: Matrix, c: Matrix, store: int, zero: Any) -> None:
    """Add (store: write) A @ B to C, for any strides."""
    for i in range(c.rows):
        for j in range(c.columns):
            total = zero
            for p in range(a.columns):
                x = load_at(a.address, i * a.row_stride + p * a.column_stride, zero)
                total += x * load_at(b.address, p * b.row_stride + j * b.column_stride, zero)
            offset = i * c.row_stride + j * c.column_stride
            add_at(c.address, offset, total, store, zero)


@always_inline
def _gemv(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, alpha: Any, beta: Any) -> bool:
    """Compute C = alpha * A @ B + beta * C for a column B by BLAS; return whether BLAS can address all three."""
    size = size_of(beta)
    letter, lda = layout(a, size)
    b_increment, c_increment = _increment(b.rows, b.row_stride, size), _increment(c.rows, c.row_stride, size)
    if lda == 0 or b_increment == 0 or c_increment == 0:
        return False
    rows, columns = (a.rows, a.columns) if letter == _PLAIN else (a.columns, a.rows)
    call_by_reference(
        loops, routines.gemv,
        (letter, np.int32(rows), np.int32(columns), alpha, a.address, np.int32(lda),
         b.address, np.int32(b_increment), beta, c.address, np.int32(c_increment)),
    )  # fmt: skip
    return True


@always_inline
def _gemm(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, alpha: Any, beta: Any) -> bool:
    """Compute C = alpha * A @ B + beta * C by BLAS; return whether BLAS can address all three."""
    size = size_of(beta)
    (letter_a, leading_a), (letter_b, leading_b) = layout(a, size), layout(b, size)
    leading_c = leading(c, size)
    if leading_a == 0 or leading_b == 0 or leading_c == 0:
        return False
    call_by_reference(
        loops, routines.gemm,
        (letter_a, letter_b, np.int32(c.rows), np.int32(c.columns), np.int32(a.columns), alpha,
         a.address, np.int32(leading_a), b.address, np.int32(leading_b),
         beta, c.address, np.int32(leading_c)),
    )  # fmt: skip
    return True


@noinline
def _by_blas(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, alpha: Any, beta: Any) -> bool:
    if c.columns == 1:
        return _gemv(loops, routines, a, b, c, alpha, beta)
    return _gemm(loops, routines, a, b, c, alpha, beta)


# Fields of the frame of a product in parts: three matrices, and whether it is subtracted, or written.
_LOOPS, _PARTS, _A, _B, _C, _SUBTRACTS, _STORES = 0, 1, 2, 7, 12, 17, 18
_FIELDS = 19


@always_inline
def store_matrix(frame: int, field: int, a: Matrix) -> None:
    """Write the description of a matrix to five fields."""
    store_i64(frame, field, a.address)
    store_i64(frame, field + 1, a.rows)
    store_i64(frame, field + 2, a.columns)
    store_i64(frame, field + 3, a.row_stride)
    store_i64(frame, field + 4, a.column_stride)


@always_inline
def load_matrix(frame: int, field: int) -> Matrix:
    """Read the description of a matrix."""
    rows, columns = load_i64(frame, field + 1), load_i64(frame, field + 2)
    return Matrix(
        load_i64(frame, field), rows, columns, load_i64(frame, field + 3), load_i64(frame, field + 4)
    )


@always_inline
def some_rows(a: Matrix, first: int, stop: int) -> Matrix:
    """Describe the rows `first` to `stop` of a matrix."""
    return Matrix(a.address + first * a.row_stride, stop - first, a.columns, a.row_stride, a.column_stride)


@always_inline
def product_part(frame: int, part: int, products: Routines) -> int:
    """Compute some columns of a product, or some rows if it has more of them."""
    a, b, c = load_matrix(frame, _A), load_matrix(frame, _B), load_matrix(frame, _C)
    first, stop = part_bounds(max(c.rows, c.columns), load_i64(frame, _PARTS), part)
    if c.columns >= c.rows:
        b = transposed(some_rows(transposed(b), first, stop))
        c = transposed(some_rows(transposed(c), first, stop))
    else:
        a, c = some_rows(a, first, stop), some_rows(c, first, stop)
    alpha = -products.one if load_i64(frame, _SUBTRACTS) else products.one
    beta = products.zero if load_i64(frame, _STORES) else products.one
    _by_blas(load_i64(frame, _LOOPS), products, a, b, c, alpha, beta)
    return 0


@noinline
def _addressable(a: Matrix, b: Matrix, c: Matrix, size: int) -> bool:
    """Return whether BLAS can address three matrices."""
    if c.columns == 1:
        b_increment = _increment(b.rows, b.row_stride, size)
        return layout(a, size)[1] != 0 and b_increment != 0 and _increment(c.rows, c.row_stride, size) != 0
    return layout(a, size)[1] != 0 and layout(b, size)[1] != 0 and leading(c, size) != 0


@noinline
def _in_parts(
    loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, subtracts: int, store: int, parts: int
) -> None:
    frame = stack_i64(_FIELDS)
    store_i64(frame, _LOOPS, loops)
    store_i64(frame, _PARTS, parts)
    store_matrix(frame, _A, a)
    store_matrix(frame, _B, b)
    store_matrix(frame, _C, c)
    store_i64(frame, _SUBTRACTS, subtracts)
    store_i64(frame, _STORES, store)
    run_parts(loops, routines.part, frame, parts)


@always_inline
def _large(
    loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, subtracts: int, store: int
) -> bool:
    """Compute a product in parts if it is large enough; return whether it was."""
    least = _MIN_PART_ELEMENTS if c.columns == 1 else MIN_PART_PRODUCTS
    work = c.rows * c.columns * a.columns
    if work < 2 * least:
        return False
    parts = part_count(loops, routines.part, work, least, max(c.rows, c.columns))
    if parts < 2 or not _addressable(a, b, c, size_of(routines.zero)):
        return False
    _in_parts(loops, routines, a, b, c, subtracts, store, parts)
    return True


@noinline
def product(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, store: int) -> None:
    """Add (store: write) A @ B to C, by the fastest method for the size."""
    zero, done = routines.zero, False
    if c.rows * c.columns * a.columns > routines.max_inline:
        if c.columns != 1 and (c.rows == 1 or leading(c, size_of(zero)) == 0):
            a, b, c = transposed(b), transposed(a), transposed(c)
        beta = zero if store else routines.one
        done = _large(loops, routines, a, b, c, np.int64(0), store) or _by_blas(
            loops, routines, a, b, c, routines.one, beta
        )
    if not done:
        _multiply(a, b, c, store, zero)


@noinline
def subtract_product(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix) -> None:
    """Subtract A @ B from C; all three have contiguous rows or columns."""
    if leading(c, size_of(routines.zero)) == 0:
        a, b, c = transposed(b), transposed(a), transposed(c)
    if not _large(loops, routines, a, b, c, np.int64(1), np.int64(0)):
        _by_blas(loops, routines, a, b, c, -routines.one, routines.one)


@always_inline
def matrices_of(params: int, x0: int, x1: int, y: int) -> tuple[Matrix, Matrix, Matrix]:
    """Describe the two factors and the product at given addresses."""
    m, n, k, rs0, cs0, rs1, cs1, rsy, csy = load_record(params, MatmulParams)
    return Matrix(x0, m, k, rs0, cs0), Matrix(x1, k, n, rs1, cs1), Matrix(y, m, n, rsy, csy)


@always_inline
def matmul_forward(frame: int, loops: int, products: Routines) -> int:
    """Write X0 @ X1 to Y."""
    x0, x1, y = load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y)
    a, b, c = matrices_of(load_i64(frame, PARAMS), x0, x1, y)
    product(loops, products, a, b, c, np.int64(1))
    return 0


@always_inline
def matmul_reverse(frame: int, loops: int, products: Routines) -> int:
    """Add (STORE: write) Y_BAR @ X1^T to X_BAR[0] and X0^T @ Y_BAR to X_BAR[1]."""
    params, store = load_i64(frame, PARAMS), load_i64(frame, STORE)
    a, b, c_bar = matrices_of(params, load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y_BAR))
    a_bar, b_bar, _ = matrices_of(params, load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), np.int64(0))
    if a_bar.address != 0:
        product(loops, products, c_bar, transposed(b), a_bar, store & 1)
    if b_bar.address != 0:
        product(loops, products, transposed(a), c_bar, b_bar, store & 2)
    return 0


@always_inline
def matmul_tangent(frame: int, loops: int, products: Routines) -> int:
    """Write X_BAR[0] @ X1 + X0 @ X_BAR[1] to Y_BAR; either may be absent."""
    params, store = load_i64(frame, PARAMS), np.int64(1)
    a, b, c_dot = matrices_of(params, load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y_BAR))
    a_dot, b_dot, _ = matrices_of(params, load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), np.int64(0))
    if a_dot.address == 0 and b_dot.address == 0:  # zeros: a product over an empty axis
        a_dot = Matrix(a_dot.address, a_dot.rows, 0, a_dot.row_stride, a_dot.column_stride)
    if a_dot.address != 0 or b_dot.address == 0:
        product(loops, products, a_dot, b, c_dot, store)
        store = np.int64(0)
    if b_dot.address != 0:
        product(loops, products, a, b_dot, c_dot, store)
    return 0
