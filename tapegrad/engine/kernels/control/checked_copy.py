"""Checked copy: the kernel copies its operand, or fails with NOT_DIFFERENTIABLE if any flag is set."""

from typing import Any

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import (
    add_at,
    load_at,
    load_i64,
    load_record,
    load_u8,
    memcpy,
    size_of,
)
from tapegrad.engine.kernels.language.status import NOT_DIFFERENTIABLE
from tapegrad.ops.structural.control import DeterminedParams


@always_inline
def determined_forward(frame: int, loops: int, zero: Any) -> int:
    """Copy X[0] to Y if all of X[1] is false."""
    p = load_record(load_i64(frame, PARAMS), DeterminedParams)
    for k in range(p.truths):
        if load_u8(load_i64(frame, X + 1), k) != 0:
            return NOT_DIFFERENTIABLE
    memcpy(load_i64(frame, Y), load_i64(frame, X), p.size * size_of(zero))
    return 0


@always_inline
def determined_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the cotangent to X_BAR[0]."""
    p = load_record(load_i64(frame, PARAMS), DeterminedParams)
    x_bar, y_bar, store = load_i64(frame, X_BAR), load_i64(frame, Y_BAR), load_i64(frame, STORE) & 1
    for k in range(p.size):
        offset = k * size_of(zero)
        add_at(x_bar, offset, load_at(y_bar, offset, zero), store, zero)
    return 0
