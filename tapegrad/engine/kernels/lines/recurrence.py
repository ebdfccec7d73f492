"""Linear recurrences along a line: ``y[i] = a[i] * y[i - 1] + b[i]``, from ``y[0] = b[0]`` on.

The first factor is not read. The derivatives are linear recurrences without a division: they are right where factors
are zero.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import COUNT, PARAMS, STORE, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import add_at, load_at, load_i64, load_record, store_at
from tapegrad.engine.kernels.lines.accumulate import masked_times
from tapegrad.ops.structural.lines import RecurrenceParams


@always_inline
def recurrence_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the recurrence with factors X[0] and terms X[1] to the line Y."""
    a, a_stride = load_i64(frame, X), load_i64(frame, STRIDE)
    b, b_stride = load_i64(frame, X + 1), load_i64(frame, STRIDE + 1)
    y, y_stride = load_i64(frame, Y), load_i64(frame, Y_STRIDE)
    masked, before = load_record(load_i64(frame, PARAMS), RecurrenceParams).masked != 0, 0.0
    for i in range(load_i64(frame, COUNT)):
        term = np.float64(load_at(b, i * b_stride, zero))
        if i > 0:
            factor = np.float64(load_at(a, i * a_stride, zero))
            product = masked_times(factor, before) if masked else factor * before
            term = product + term if term != 0 else product  # keeps the sign of a zero
        store_at(y, i * y_stride, term, zero)
        before = term
    return 0


@always_inline
def _add_at(x_bar: int, offset: int, value: float, store: int, zero: Any) -> None:
    """Add (store: write) to an element of a cotangent, unless it is not wanted (address 0)."""
    if x_bar != 0:
        add_at(x_bar, offset, value, store, zero)


@always_inline
def recurrence_reverse(frame: int, loops: int, zero: Any) -> int:
    """Accumulate to the cotangents X_BAR of factors and terms."""
    a, a_bar, a_stride = load_i64(frame, X), load_i64(frame, X_BAR), load_i64(frame, STRIDE)
    b_bar, b_stride = load_i64(frame, X_BAR + 1), load_i64(frame, STRIDE + 1)
    y, y_bar, y_stride = load_i64(frame, Y), load_i64(frame, Y_BAR), load_i64(frame, Y_STRIDE)
    count, store_a, store_b = load_i64(frame, COUNT), load_i64(frame, STORE) & 1, load_i64(frame, STORE) & 2
    carried = 0.0
    for i in range(count - 1, -1, -1):
        carried += np.float64(load_at(y_bar, i * y_stride, zero))
        _add_at(b_bar, i * b_stride, carried, store_b, zero)
        if i == 0:
            _add_at(a_bar, 0, 0.0, store_a, zero)
        else:
            before = np.float64(load_at(y, (i - 1) * y_stride, zero)) if a_bar != 0 else 0.0
            _add_at(a_bar, i * a_stride, masked_times(before, carried), store_a, zero)
            carried = masked_times(np.float64(load_at(a, i * a_stride, zero)), carried)
    return 0


@always_inline
def recurrence_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the tangent of the line Y to Y_BAR, from the tangents X_BAR of factors and terms."""
    a, a_dot, a_stride = load_i64(frame, X), load_i64(frame, X_BAR), load_i64(frame, STRIDE)
    b_dot, b_stride = load_i64(frame, X_BAR + 1), load_i64(frame, STRIDE + 1)
    y, y_dot, y_stride = load_i64(frame, Y), load_i64(frame, Y_BAR), load_i64(frame, Y_STRIDE)
    carried = 0.0
    for i in range(load_i64(frame, COUNT)):
        if i > 0:
            carried = masked_times(np.float64(load_at(a, i * a_stride, zero)), carried)
            if a_dot != 0:
                before = np.float64(load_at(y, (i - 1) * y_stride, zero))
                carried += masked_times(before, np.float64(load_at(a_dot, i * a_stride, zero)))
        if b_dot != 0:
            carried += np.float64(load_at(b_dot, i * b_stride, zero))
        store_at(y_dot, i * y_stride, carried, zero)
    return 0
