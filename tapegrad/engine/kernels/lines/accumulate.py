"""Arithmetic that kernels along lines share: plain sums of blocks, which they combine, and products of derivatives."""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.inlining import always_inline, noinline_reordered
from tapegrad.engine.kernels.language.raw_memory import load_at, size_of

# Elements of a block; the same in all kernels, as the order of additions determines the bits of the result
BLOCK = 256


@noinline_reordered
def block_sum(address: int, stride: int, first: int, last: int, zero: Any) -> Any:
    """Return the plain sum of the elements first..last-1, in float64."""
    total = 0.0
    if stride == size_of(zero):  # with the stride a constant, the loop is vectorised
        for i in range(first, last):
            total += np.float64(load_at(address, i * size_of(zero), zero))
    else:
        for i in range(first, last):
            total += np.float64(load_at(address, i * stride, zero))
    return total


@always_inline
def masked_times(partial: float, value: float) -> float:
    """Multiply a partial by a cotangent or a tangent; zero times anything is zero."""
    return partial * value if partial != 0 and value != 0 else 0.0
