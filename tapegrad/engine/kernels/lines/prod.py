"""Product of a line.

The partial by an element is the product of all others. It is prod / element if no partial product is zero, overflows or
underflows; else the product of the elements before and those after, each as mantissa and exponent, so that no
intermediate leaves the range of floats.
"""

import math
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import COUNT, STORE, STRIDE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline, noinline_reordered
from tapegrad.engine.kernels.language.raw_memory import (
    add_at,
    free,
    load_at,
    load_f64,
    load_i64,
    malloc,
    size_of,
    store_at,
    store_f64,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.engine.kernels.lines.accumulate import masked_times

_SMALLEST, _LARGEST = 2.0**-1022, 2.0**1023
_BLOCK, _TAME = 256, 8.0  # 256 factors in 1/8..8 have a product in range, and so have their reciprocals
_FARTHEST = 5000  # a larger exponent gives zero or inf, with any mantissa


@noinline_reordered
def _tame_product(x: int, zero: Any) -> Any:
    """Return the product of a block of adjacent elements, and whether the product of any subset is normal."""
    product = 1.0
    tame: Any = True
    for i in range(_BLOCK):
        element = np.float64(load_at(x, i * size_of(zero), zero))
        product *= element
        tame &= (abs(element) >= 1 / _TAME) & (abs(element) <= _TAME)
    return product, tame


@noinline
def _prod(x: int, stride: int, count: int, zero: Any) -> Any:
    """Return the product of a line in float64, and whether it and all partial products are normal numbers."""
    product, i = 1.0, 0
    normal: Any = True
    while i < count:
        part, tame, last = 1.0, False, min(i + _BLOCK, count)
        if stride == size_of(zero) and last - i == _BLOCK:
            part, tame = _tame_product(x + i * stride, zero)
        if tame:
            i = last
            product *= part
            normal &= (abs(product) >= _SMALLEST) & (abs(product) <= _LARGEST)
        while i < last:
            product *= np.float64(load_at(x, i * stride, zero))
            normal &= (abs(product) >= _SMALLEST) & (abs(product) <= _LARGEST)
            i += 1
    return product, normal


@always_inline
def prod_reduce_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the product of the line; 1 if it is empty."""
    product, _ = _prod(load_i64(frame, X), load_i64(frame, STRIDE), load_i64(frame, COUNT), zero)
    store_at(load_i64(frame, Y), 0, product, zero)
    return 0


@always_inline
def _scaled_product(mantissa: float, exponent: int, factor: float) -> Any:
    """Return the product of ``mantissa * 2**exponent`` and `factor` as mantissa and exponent."""
    factor, shift = math.frexp(factor)
    mantissa, carry = math.frexp(mantissa * factor)
    return mantissa, exponent + shift + carry


@always_inline
def _prod_reverse_by_division(
    x: int, x_bar: int, stride: int, count: int, product: float, y_bar: Any, store: int, zero: Any
) -> None:
    for i in range(count):
        partial = product / np.float64(load_at(x, i * stride, zero))
        add_at(x_bar, i * stride, masked_times(partial, y_bar), store, zero)


@always_inline
def _products_after(products: int, x: int, stride: int, count: int, zero: Any) -> None:
    """Fill `products` with mantissa and exponent of the product of all elements after each."""
    mantissa, exponent = 1.0, 0
    for i in range(count - 1, -1, -1):
        store_f64(products, 2 * i, mantissa)
        store_i64(products, 2 * i + 1, exponent)
        mantissa, exponent = _scaled_product(mantissa, exponent, np.float64(load_at(x, i * stride, zero)))


@always_inline
def _prod_reverse_scaled(
    x: int, x_bar: int, stride: int, count: int, y_bar: Any, store: int, zero: Any
) -> int:
    after = malloc(16 * count)
    if after == 0:
        return OUT_OF_MEMORY
    _products_after(after, x, stride, count, zero)
    mantissa, exponent = 1.0, 0
    for i in range(count):
        exponent_i = exponent + load_i64(after, 2 * i + 1)
        partial = math.ldexp(mantissa * load_f64(after, 2 * i), max(min(exponent_i, _FARTHEST), -_FARTHEST))
        add_at(x_bar, i * stride, masked_times(partial, y_bar), store, zero)
        mantissa, exponent = _scaled_product(mantissa, exponent, np.float64(load_at(x, i * stride, zero)))
    free(after)
    return 0


@always_inline
def prod_reduce_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) Y_BAR times the product of all other elements."""
    count, stride = load_i64(frame, COUNT), load_i64(frame, STRIDE)
    x, x_bar, store = load_i64(frame, X), load_i64(frame, X_BAR), load_i64(frame, STORE) & 1
    y_bar = np.float64(load_at(load_i64(frame, Y_BAR), 0, zero))
    if count == 0:
        return 0
    if store and (stride == 0 or y_bar == 0):  # the loops below add to the cotangents
        store = 0
        for i in range(count):
            store_at(x_bar, i * stride, zero, zero)
    if y_bar == 0:
        return 0
    product, normal = _prod(x, stride, count, zero)
    if not normal:
        return _prod_reverse_scaled(x, x_bar, stride, count, y_bar, store, zero)
    _prod_reverse_by_division(x, x_bar, stride, count, product, y_bar, store, zero)
    return 0


@always_inline
def _tangent_scaled(after: int, x: int, x_dot: int, stride: int, count: int, zero: Any) -> float:
    _products_after(after, x, stride, count, zero)
    total, mantissa, exponent = 0.0, 1.0, 0
    for i in range(count):
        exponent_i = exponent + load_i64(after, 2 * i + 1)
        partial = math.ldexp(mantissa * load_f64(after, 2 * i), max(min(exponent_i, _FARTHEST), -_FARTHEST))
        total += masked_times(partial, np.float64(load_at(x_dot, i * stride, zero)))
        mantissa, exponent = _scaled_product(mantissa, exponent, np.float64(load_at(x, i * stride, zero)))
    return total


@always_inline
def prod_reduce_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write to Y_BAR the sum of the tangents X_BAR[0], each times the product of all other elements."""
    count, stride = load_i64(frame, COUNT), load_i64(frame, STRIDE)
    x, x_dot, y_dot = load_i64(frame, X), load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    total = 0.0
    if x_dot == 0:
        count = 0
    product, normal = _prod(x, stride, count, zero)
    if normal:
        for i in range(count):
            partial = product / np.float64(load_at(x, i * stride, zero))
            total += masked_times(partial, np.float64(load_at(x_dot, i * stride, zero)))
    else:
        after = malloc(16 * count)
        if after == 0:
            return OUT_OF_MEMORY
        total = _tangent_scaled(after, x, x_dot, stride, count, zero)
        free(after)
    store_at(y_dot, 0, total, zero)
    return 0
