"""Conversions of dtype along a line; `b8` is a boolean, one byte of 0 or 1."""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import COUNT, STORE, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import add_at, load_at, load_i64, size_of, store_at


@always_inline
def _convert(x: int, x_stride: int, y: int, y_stride: int, count: int, x_zero: Any, y_zero: Any) -> None:
    for i in range(count):
        store_at(y, i * y_stride, load_at(x, i * x_stride, x_zero), y_zero)


@always_inline
def _cast(frame: int, x_zero: Any, y_zero: Any) -> int:
    """Convert the operand, of the type of `x_zero`, to the result, of the type of `y_zero`."""
    count, x, y = load_i64(frame, COUNT), load_i64(frame, X), load_i64(frame, Y)
    x_stride, y_stride = load_i64(frame, STRIDE), load_i64(frame, Y_STRIDE)
    if x_stride == size_of(x_zero) and y_stride == size_of(y_zero):
        _convert(x, size_of(x_zero), y, size_of(y_zero), count, x_zero, y_zero)
    else:
        _convert(x, x_stride, y, y_stride, count, x_zero, y_zero)
    return 0


@always_inline
def _add_converted(
    x_bar: int, x_stride: int, y_bar: int, y_stride: int, count: int, x_zero: Any, y_zero: Any
) -> None:
    for i in range(count):
        cotangent = load_at(x_bar, i * x_stride, x_zero) + load_at(y_bar, i * y_stride, y_zero)
        store_at(x_bar, i * x_stride, cotangent, x_zero)


@always_inline
def _sum(address: int, stride: int, count: int, zero: Any) -> Any:
    total = 0.0
    for i in range(count):
        total += load_at(address, i * stride, zero) - 0.0  # in double precision
    return total


@always_inline
def _cast_reverse(frame: int, x_zero: Any, y_zero: Any) -> int:
    """Add (STORE: write) the result's cotangent, of the type of `y_zero`, to the operand's, of the type of `x_zero`."""
    count, x_bar, y_bar = load_i64(frame, COUNT), load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    x_stride, y_stride = load_i64(frame, STRIDE), load_i64(frame, Y_STRIDE)
    store = load_i64(frame, STORE) & 1
    if x_stride == 0:
        add_at(x_bar, 0, _sum(y_bar, y_stride, count, y_zero), store, x_zero)
    elif store:
        _convert(y_bar, y_stride, x_bar, x_stride, count, y_zero, x_zero)
    elif x_stride == size_of(x_zero) and y_stride == size_of(y_zero):
        _add_converted(x_bar, size_of(x_zero), y_bar, size_of(y_zero), count, x_zero, y_zero)
    else:
        _add_converted(x_bar, x_stride, y_bar, y_stride, count, x_zero, y_zero)
    return 0


@always_inline
def cast_to_f64_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the line X[0] to the float64 line Y."""
    return _cast(frame, zero, np.float64(0))


@always_inline
def cast_to_f64_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the float64 line Y_BAR to the line X_BAR[0]."""
    return _cast_reverse(frame, zero, np.float64(0))


@always_inline
def cast_to_f32_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the line X[0] to the float32 line Y."""
    return _cast(frame, zero, np.float32(0))


@always_inline
def cast_to_f32_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the float32 line Y_BAR to the line X_BAR[0]."""
    return _cast_reverse(frame, zero, np.float32(0))


@always_inline
def cast_to_c128_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the line X[0] to the complex128 line Y."""
    return _cast(frame, zero, np.complex128(0))


@always_inline
def cast_to_c128_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the complex128 line Y_BAR, of floats its real parts, to the line X_BAR[0]."""
    return _cast_reverse(frame, zero, np.complex128(0))


@always_inline
def cast_to_c64_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the line X[0] to the complex64 line Y."""
    return _cast(frame, zero, np.complex64(0))


@always_inline
def cast_to_c64_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the complex64 line Y_BAR, of floats its real parts, to the line X_BAR[0]."""
    return _cast_reverse(frame, zero, np.complex64(0))


@always_inline
def cast_to_i64_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the line X[0], floats truncated, to the int64 line Y."""
    return _cast(frame, zero, np.int64(0))


@always_inline
def cast_to_b8_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the truth of the elements of the line X[0] to the boolean line Y."""
    count, x, y = load_i64(frame, COUNT), load_i64(frame, X), load_i64(frame, Y)
    x_stride, y_stride = load_i64(frame, STRIDE), load_i64(frame, Y_STRIDE)
    for i in range(count):
        store_at(y, i * y_stride, load_at(x, i * x_stride, zero) != 0, np.uint8(0))
    return 0
