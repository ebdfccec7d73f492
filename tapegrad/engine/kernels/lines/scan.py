"""Running sums along a line."""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import COUNT, STORE, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import add_at, load_at, load_i64, store_at


@always_inline
def cumsum_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the running sum of the line X[0] to the line Y."""
    x, x_stride = load_i64(frame, X), load_i64(frame, STRIDE)
    y, y_stride = load_i64(frame, Y), load_i64(frame, Y_STRIDE)
    total = -0.0  # the identity of addition, as 0.0 would lose the sign of a first -0.0
    for i in range(load_i64(frame, COUNT)):
        total += np.float64(load_at(x, i * x_stride, zero))
        store_at(y, i * y_stride, total, zero)
    return 0


@always_inline
def cumsum_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the running sum of Y_BAR, taken from the end, to X_BAR[0]."""
    x_bar, x_stride = load_i64(frame, X_BAR), load_i64(frame, STRIDE)
    y_bar, y_stride = load_i64(frame, Y_BAR), load_i64(frame, Y_STRIDE)
    count, store = load_i64(frame, COUNT), load_i64(frame, STORE) & 1
    if store and x_stride == 0 and count > 0:  # a single element gets all sums
        store_at(x_bar, 0, zero, zero)
        store = 0
    total = 0.0
    for i in range(count - 1, -1, -1):
        total += np.float64(load_at(y_bar, i * y_stride, zero))
        add_at(x_bar, i * x_stride, total, store, zero)
    return 0
