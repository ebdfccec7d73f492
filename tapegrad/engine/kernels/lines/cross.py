"""Cross product of two vectors of three components.

The product is bilinear, so the cotangents are cross products: that of ``a`` is ``b x y_bar``, that of ``b`` is
``y_bar x a``.
"""

from typing import Any

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import add_at, load_at, load_i64, load_record, store_at
from tapegrad.ops.structural.lines import CrossParams


@always_inline
def _times(a: Any, b: Any, masked: Any, zero: Any) -> Any:
    """Multiply; in derivatives, zero times anything is zero."""
    return zero if masked and (a == 0 or b == 0) else a * b


@always_inline
def _vector(address: int, stride: int, zero: Any) -> Any:
    return (
        load_at(address, 0, zero),
        load_at(address, stride, zero),
        load_at(address, 2 * stride, zero),
    )


@noinline
def _product(a: Any, b: Any, masked: bool, zero: Any) -> Any:
    return (
        _times(a[1], b[2], masked, zero) - _times(a[2], b[1], masked, zero),
        _times(a[2], b[0], masked, zero) - _times(a[0], b[2], masked, zero),
        _times(a[0], b[1], masked, zero) - _times(a[1], b[0], masked, zero),
    )


@noinline
def _put(address: int, stride: int, vector: Any, store: Any, zero: Any) -> None:
    """Add (store: write) a vector."""
    for k in range(3):
        add_at(address, k * stride, vector[k], store, zero)


@always_inline
def cross_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the cross product of X[0] and X[1] to Y."""
    a = _vector(load_i64(frame, X), load_i64(frame, STRIDE), zero)
    b = _vector(load_i64(frame, X + 1), load_i64(frame, STRIDE + 1), zero)
    masked = load_record(load_i64(frame, PARAMS), CrossParams).masked != 0
    y, stride = load_i64(frame, Y), load_i64(frame, Y_STRIDE)
    product = _product(a, b, masked, zero)
    for k in range(3):
        store_at(y, k * stride, product[k], zero)
    return 0


@always_inline
def cross_reverse(frame: int, loops: int, zero: Any) -> int:
    """Accumulate to the cotangents of both vectors."""
    a_stride, b_stride = load_i64(frame, STRIDE), load_i64(frame, STRIDE + 1)
    a_bar, b_bar, store = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), load_i64(frame, STORE)
    y_bar = _vector(load_i64(frame, Y_BAR), load_i64(frame, Y_STRIDE), zero)
    if a_bar != 0:
        b = _vector(load_i64(frame, X + 1), b_stride, zero)
        _put(a_bar, a_stride, _product(b, y_bar, True, zero), store & 1 != 0, zero)
    if b_bar != 0:
        a = _vector(load_i64(frame, X), a_stride, zero)
        _put(b_bar, b_stride, _product(y_bar, a, True, zero), store & 2 != 0, zero)
    return 0


@always_inline
def cross_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the tangent of the product to Y_BAR, from those of both vectors."""
    a_stride, b_stride = load_i64(frame, STRIDE), load_i64(frame, STRIDE + 1)
    a_dot, b_dot = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1)
    y_dot, y_stride = load_i64(frame, Y_BAR), load_i64(frame, Y_STRIDE)
    _put(y_dot, y_stride, (zero, zero, zero), True, zero)
    if a_dot != 0:
        b = _vector(load_i64(frame, X + 1), b_stride, zero)
        _put(y_dot, y_stride, _product(_vector(a_dot, a_stride, zero), b, True, zero), False, zero)
    if b_dot != 0:
        a = _vector(load_i64(frame, X), a_stride, zero)
        _put(y_dot, y_stride, _product(a, _vector(b_dot, b_stride, zero), True, zero), False, zero)
    return 0
