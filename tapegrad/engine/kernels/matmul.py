"""One matrix product, ``Y = X0 @ X1``, its two cotangents and its tangent.

A matrix that BLAS can address, rows or columns contiguous, goes to it where it
lies, transposed or not. Small products, and matrices that BLAS cannot address, are multiplied here.

A zero in the cotangent meets inf and nan as BLAS does: their product is nan.
"""

from typing import Any

import numba
import numpy as np

from tapegrad.engine.kernels.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import (
    call_by_reference,
    load_at,
    load_i64,
    load_record,
    size_of,
    store_at,
)
from tapegrad.ops.params import MatmulParams

_DGEMM, _DGEMV = np.int64(entry("dgemm")), np.int64(entry("dgemv"))
_SGEMM, _SGEMV = np.int64(entry("sgemm")), np.int64(entry("sgemv"))
_SMALL = 32  # multiplications up to which a call of BLAS costs more than the product
_LARGEST = 2**31 - 1  # BLAS counts in 32-bit integers
_PLAIN, _TRANSPOSED = np.uint8(ord("N")), np.uint8(ord("T"))

# The library functions that each kernel calls.
LIBRARY = {
    "matmul_forward_f64": ("dgemm", "dgemv"),
    "matmul_reverse_f64": ("dgemm", "dgemv"),
    "matmul_tangent_f64": ("dgemm", "dgemv"),
    "matmul_forward_f32": ("sgemm", "sgemv"),
    "matmul_reverse_f32": ("sgemm", "sgemv"),
    "matmul_tangent_f32": ("sgemm", "sgemv"),
}

always_inline = numba.njit(error_model="numpy", inline="always")
noinline = numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@noinline
def _leading(rows: int, columns: int, row_stride: int, column_stride: int, size: int) -> int:
    """BLAS's leading dimension of a matrix whose columns are contiguous; 0 if they are not."""
    if (rows > 1 and row_stride != size) or rows > _LARGEST or columns > _LARGEST:
        return 0
    if columns <= 1:
        return max(1, rows)
    leading = column_stride // size
    return leading if leading * size == column_stride and max(1, rows) <= leading <= _LARGEST else 0


@noinline
def _layout(rows: int, columns: int, row_stride: int, column_stride: int, size: int) -> Any:
    """BLAS's transposition letter and leading dimension of a matrix; dimension 0 where it has none."""
    leading = _leading(rows, columns, row_stride, column_stride, size)
    if leading != 0:
        return _PLAIN, leading
    return _TRANSPOSED, _leading(columns, rows, column_stride, row_stride, size)


@always_inline
def _increment(count: int, stride: int, size: int) -> int:
    """BLAS's increment of a vector; 0 if BLAS cannot address it."""
    if count <= 1:
        return 1
    increment = stride // size
    return increment if increment * size == stride and 0 < increment <= _LARGEST else 0


@always_inline
def _multiply(
    m: int, n: int, k: int, a: int, ras: int, cas: int, b: int, rbs: int, cbs: int,
    c: int, rcs: int, ccs: int, store: int, zero: Any,
) -> None:  # fmt: skip
    """C = A @ B, added to C unless `store`, for any strides."""
    for i in range(m):
        for j in range(n):
            total = zero
            for p in range(k):
                total += load_at(a, i * ras + p * cas, zero) * load_at(b, p * rbs + j * cbs, zero)
            before = zero if store else load_at(c, i * rcs + j * ccs, zero)
            store_at(c, i * rcs + j * ccs, before + total, zero)


@always_inline
def _gemv(
    loops: int, routine: int, m: int, k: int, a: int, letter: int, leading: int, x: int, xs: int,
    y: int, ys: int, one: Any, beta: Any,
) -> bool:  # fmt: skip
    """y = A @ x + beta * y by BLAS; whether it can address the vectors."""
    x_increment, y_increment = _increment(k, xs, size_of(one)), _increment(m, ys, size_of(one))
    if x_increment == 0 or y_increment == 0:
        return False
    rows, columns = (m, k) if letter == _PLAIN else (k, m)
    call_by_reference(
        loops, routine,
        (letter, np.int32(rows), np.int32(columns), one, a, np.int32(leading),
         x, np.int32(x_increment), beta, y, np.int32(y_increment)),
    )  # fmt: skip
    return True


@always_inline
def _by_blas(
    loops: int, gemm: int, gemv: int, m: int, n: int, k: int, a: int, ras: int, cas: int, b: int, rbs: int,
    cbs: int, c: int, rcs: int, ccs: int, one: Any, beta: Any,
) -> bool:  # fmt: skip
    """C = A @ B + beta * C by BLAS; whether BLAS can address all of them."""
    letter_a, leading_a = _layout(m, k, ras, cas, size_of(one))
    if leading_a == 0:
        return False
    if n == 1:
        return _gemv(loops, gemv, m, k, a, letter_a, leading_a, b, rbs, c, rcs, one, beta)
    letter_b, leading_b = _layout(k, n, rbs, cbs, size_of(one))
    leading_c = _leading(m, n, rcs, ccs, size_of(one))
    if leading_b == 0 or leading_c == 0:
        return False
    call_by_reference(
        loops, gemm,
        (letter_a, letter_b, np.int32(m), np.int32(n), np.int32(k), one,
         a, np.int32(leading_a), b, np.int32(leading_b), beta, c, np.int32(leading_c)),
    )  # fmt: skip
    return True


@noinline
def _product(
    loops: int, gemm: int, gemv: int, m: int, n: int, k: int, a: int, ras: int, cas: int, b: int, rbs: int,
    cbs: int, c: int, rcs: int, ccs: int, store: int, zero: Any, one: Any,
) -> None:  # fmt: skip
    """C = A @ B, added to C unless `store`, in the way that is fastest for the size."""
    done = False
    if m * n * k > _SMALL:
        if n != 1 and (m == 1 or _leading(m, n, rcs, ccs, size_of(zero)) == 0):  # the transposed product
            m, n, rcs, ccs = n, m, ccs, rcs
            a, ras, cas, b, rbs, cbs = b, cbs, rbs, a, cas, ras
        beta = zero if store else one
        done = _by_blas(loops, gemm, gemv, m, n, k, a, ras, cas, b, rbs, cbs, c, rcs, ccs, one, beta)
    if not done:
        _multiply(m, n, k, a, ras, cas, b, rbs, cbs, c, rcs, ccs, store, zero)


@always_inline
def _matmul(frame: int, loops: int, gemm: int, gemv: int, zero: Any, one: Any) -> int:
    m, n, k, rs0, cs0, rs1, cs1, rsy, csy = load_record(load_i64(frame, PARAMS), MatmulParams)
    x0, x1, y = load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y)
    _product(loops, gemm, gemv, m, n, k, x0, rs0, cs0, x1, rs1, cs1, y, rsy, csy, np.int64(1), zero, one)
    return 0


@always_inline
def _matmul_reverse(frame: int, loops: int, gemm: int, gemv: int, zero: Any, one: Any) -> int:
    m, n, k, rs0, cs0, rs1, cs1, rsy, csy = load_record(load_i64(frame, PARAMS), MatmulParams)
    store, y_bar = load_i64(frame, STORE), load_i64(frame, Y_BAR)
    x0_bar, x1_bar = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1)
    if x0_bar != 0:  # += Y_BAR @ X1^T
        x1 = load_i64(frame, X + 1)
        _product(
            loops, gemm, gemv, m, k, n, y_bar, rsy, csy, x1, cs1, rs1, x0_bar, rs0, cs0, store & 1, zero, one
        )
    if x1_bar != 0:  # += X0^T @ Y_BAR
        x0 = load_i64(frame, X)
        _product(
            loops, gemm, gemv, k, n, m, x0, cs0, rs0, y_bar, rsy, csy, x1_bar, rs1, cs1, store & 2, zero, one
        )
    return 0


@always_inline
def _matmul_tangent(frame: int, loops: int, gemm: int, gemv: int, zero: Any, one: Any) -> int:
    m, n, k, rs0, cs0, rs1, cs1, rsy, csy = load_record(load_i64(frame, PARAMS), MatmulParams)
    y_dot = load_i64(frame, Y_BAR)
    x0_dot, x1_dot, store = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), np.int64(1)
    if x0_dot != 0 or x1_dot == 0:  # without any tangent it is a product along no elements, zeros
        inner = k if x0_dot != 0 else 0
        x1 = load_i64(frame, X + 1)
        _product(
            loops, gemm, gemv, m, n, inner, x0_dot, rs0, cs0, x1, rs1, cs1, y_dot, rsy, csy, store, zero, one
        )
        store = np.int64(0)
    if x1_dot != 0:
        x0 = load_i64(frame, X)
        _product(
            loops, gemm, gemv, m, n, k, x0, rs0, cs0, x1_dot, rs1, cs1, y_dot, rsy, csy, store, zero, one
        )
    return 0


def matmul_forward_f64(frame: int, loops: int) -> int:
    """Write X0 @ X1 to Y."""
    return _matmul(frame, loops, _DGEMM, _DGEMV, np.float64(0), np.float64(1))


def matmul_forward_f32(frame: int, loops: int) -> int:
    """`matmul_forward_f64` for float32."""
    return _matmul(frame, loops, _SGEMM, _SGEMV, np.float32(0), np.float32(1))


def matmul_reverse_f64(frame: int, loops: int) -> int:
    """Add (STORE: write) Y_BAR @ X1^T to X_BAR[0] and X0^T @ Y_BAR to X_BAR[1]."""
    return _matmul_reverse(frame, loops, _DGEMM, _DGEMV, np.float64(0), np.float64(1))


def matmul_reverse_f32(frame: int, loops: int) -> int:
    """`matmul_reverse_f64` for float32."""
    return _matmul_reverse(frame, loops, _SGEMM, _SGEMV, np.float32(0), np.float32(1))


def matmul_tangent_f64(frame: int, loops: int) -> int:
    """Write X_BAR[0] @ X1 + X0 @ X_BAR[1] to Y_BAR; either may be absent."""
    return _matmul_tangent(frame, loops, _DGEMM, _DGEMV, np.float64(0), np.float64(1))


def matmul_tangent_f32(frame: int, loops: int) -> int:
    """`matmul_tangent_f64` for float32."""
    return _matmul_tangent(frame, loops, _SGEMM, _SGEMV, np.float32(0), np.float32(1))
