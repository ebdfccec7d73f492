"""Products of complex matrices: ``Y = X0 @ X1``, its two cotangents and its tangent.

The cotangents are ``Y_bar @ X1^H`` and ``X0^H @ Y_bar``, H the conjugate transpose. BLAS conjugates a factor that it
also transposes. Where the layouts do not allow that, the factor's conjugate is copied.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import ADJOINT, by_rows, conjugate
from tapegrad.engine.kernels.language.matmul import (
    Matrix,
    Routines,
    layout,
    leading,
    matrices_of,
    product,
    transposed,
)
from tapegrad.engine.kernels.language.matmul import matmul_forward as matmul_forward
from tapegrad.engine.kernels.language.matmul import matmul_tangent as matmul_tangent
from tapegrad.engine.kernels.language.raw_memory import (
    add_at,
    call_by_reference,
    free,
    load_at,
    load_i64,
    malloc,
    size_of,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY

LIBRARY = {
    f"matmul_{direction}_{dtype}": (f"{letter}gemm", f"{letter}gemv", f"product_part_{dtype}")
    for direction in ("forward", "reverse", "tangent")
    for dtype, letter in (("c128", "z"), ("c64", "c"))
}
_LEFT, _RIGHT = np.int64(0), np.int64(1)  # the factor that is conjugated and transposed


@noinline
def _multiply(a: Matrix, b: Matrix, c: Matrix, which: int, store: int, zero: Any) -> None:
    """Add (store: write) A @ B to C, with the elements of one factor conjugated, for any strides."""
    for i in range(c.rows):
        for j in range(c.columns):
            total = zero
            for p in range(a.columns):
                x = load_at(a.address, i * a.row_stride + p * a.column_stride, zero)
                y = load_at(b.address, p * b.row_stride + j * b.column_stride, zero)
                total += np.conj(x) * y if which == _LEFT else x * np.conj(y)
            add_at(c.address, i * c.row_stride + j * c.column_stride, total, store, zero)


@noinline
def _gemm(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, which: int, store: int) -> bool:
    """Compute ``C = A^H @ B`` or ``A @ B^H``, plus C unless `store`, by BLAS; return whether it can address all."""
    size = size_of(routines.zero)
    (letter_a, leading_a), (letter_b, leading_b) = layout(a, size), layout(b, size)
    if which == _LEFT:
        letter_a, leading_a = ADJOINT, leading(a, size)
    else:
        letter_b, leading_b = ADJOINT, leading(b, size)
    leading_c, inner = leading(c, size), a.rows if which == _LEFT else a.columns
    if leading_a == 0 or leading_b == 0 or leading_c == 0:
        return False
    call_by_reference(
        loops, routines.gemm,
        (letter_a, letter_b, np.int32(c.rows), np.int32(c.columns), np.int32(inner), routines.one,
         a.address, np.int32(leading_a), b.address, np.int32(leading_b),
         routines.zero if store else routines.one, c.address, np.int32(leading_c)),
    )  # fmt: skip
    return True


@noinline
def _by_copy(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, which: int, store: int) -> int:
    """Compute A @ B with a copy of the factor that is conjugated; return a status."""
    other = a if which == _LEFT else b
    scratch = malloc(other.rows * other.columns * size_of(routines.zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    copied = by_rows(scratch, other.rows, other.columns, routines.zero)
    conjugate(other, copied, routines.zero)
    if which == _LEFT:
        product(loops, routines, copied, b, c, store)
    else:
        product(loops, routines, a, copied, c, store)
    free(scratch)
    return 0


@noinline
def product_of_adjoint(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, store: int) -> int:
    """Add (store: write) ``A^H @ B`` to C, of real numbers ``A^T @ B``; return a status."""
    if np.iscomplexobj(routines.zero):
        return _product_of_adjoint(loops, routines, a, b, c, store)
    product(loops, routines, transposed(a), b, c, store)
    return 0


@noinline
def product_by_adjoint(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, store: int) -> int:
    """Add (store: write) ``A @ B^H`` to C, of real numbers ``A @ B^T``; return a status."""
    if np.iscomplexobj(routines.zero):
        return _product_by_adjoint(loops, routines, a, b, c, store)
    product(loops, routines, a, transposed(b), c, store)
    return 0


@noinline
def _product_of_adjoint(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, store: int) -> int:
    """Compute a product of complex matrices by BLAS or, of few numbers, by loops."""
    turned, done = transposed(a), False
    if c.rows * c.columns * a.rows > routines.max_inline:
        if leading(c, size_of(routines.zero)) != 0:
            done = _gemm(loops, routines, a, b, c, _LEFT, store)
        else:
            done = _gemm(loops, routines, transposed(b), turned, transposed(c), _RIGHT, store)
        if not done:
            return _by_copy(loops, routines, turned, b, c, _LEFT, store)
    if not done:
        _multiply(turned, b, c, _LEFT, store, routines.zero)
    return 0


@noinline
def _product_by_adjoint(loops: int, routines: Routines, a: Matrix, b: Matrix, c: Matrix, store: int) -> int:
    """Compute a product of complex matrices by BLAS or, of few numbers, by loops."""
    turned, done = transposed(b), False
    if c.rows * c.columns * a.columns > routines.max_inline:
        if leading(c, size_of(routines.zero)) != 0:
            done = _gemm(loops, routines, a, b, c, _RIGHT, store)
        else:
            done = _gemm(loops, routines, turned, transposed(a), transposed(c), _LEFT, store)
        if not done:
            return _by_copy(loops, routines, a, turned, c, _RIGHT, store)
    if not done:
        _multiply(a, turned, c, _RIGHT, store, routines.zero)
    return 0


@always_inline
def matmul_reverse(frame: int, loops: int, products: Routines) -> int:
    """Add (STORE: write) Y_BAR @ X1^H to X_BAR[0] and X0^H @ Y_BAR to X_BAR[1]."""
    params, store, status = load_i64(frame, PARAMS), load_i64(frame, STORE), 0
    a, b, c_bar = matrices_of(params, load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y_BAR))
    a_bar, b_bar, _ = matrices_of(params, load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), np.int64(0))
    if a_bar.address != 0:
        status = product_by_adjoint(loops, products, c_bar, b, a_bar, store & 1)
    if b_bar.address != 0 and status == 0:
        status = product_of_adjoint(loops, products, a, c_bar, b_bar, store & 2)
    return status
