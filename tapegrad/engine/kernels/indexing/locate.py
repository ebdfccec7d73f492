"""Flat indices: the number of an element in C order, from its index along an axis and the axes before it."""

import numpy as np

from tapegrad.engine.kernels.language.frame import COUNT, PARAMS, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import load_i64, load_record, store_i64
from tapegrad.engine.kernels.language.status import OUT_OF_RANGE
from tapegrad.ops.structural.indexing import CLIP, RAISE, WRAP, LocateParams


@always_inline
def _inside(index: int, extent: int, mode: int) -> int:
    """Normalize an index to count from 0; return a negative number if it is out of bounds."""
    if mode == WRAP:
        return index % extent
    if mode == CLIP:
        return min(max(index, 0), extent - 1)
    return index + extent if index < 0 and index >= -extent else (index if index < extent else -1)


def locate_forward_i64(frame: int, loops: int) -> int:
    """Write to Y the numbers at X[0] plus `step` times the indices at X[1]."""
    numbers, indices, y = load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y)
    params, count = load_record(load_i64(frame, PARAMS), LocateParams), load_i64(frame, COUNT)
    if params.extent == 0 and count > 0:
        return OUT_OF_RANGE
    least = np.int64(0)
    for i in range(count):
        index = _inside(load_i64(indices, i), params.extent, params.mode)
        least = min(least, index)
        store_i64(y, i, load_i64(numbers, i * params.stride) + params.step * index)
    return OUT_OF_RANGE if params.mode == RAISE and least < 0 else 0
