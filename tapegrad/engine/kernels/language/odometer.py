"""Iteration over the elements of an n-dimensional region in C order, by an index of one integer a dimension."""

from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64


@noinline
def begin_index(index: int, ndim: int) -> None:
    """Set an index to the first element."""
    for d in range(ndim):
        store_i64(index, d, 0)


@noinline
def next_index(index: int, extents: int, ndim: int) -> int:
    """Advance the index; return the dimension that was incremented, or -1 after the last element (the index is 0)."""
    for d in range(ndim - 1, -1, -1):
        k = load_i64(index, d) + 1
        if k < load_i64(extents, d):
            store_i64(index, d, k)
            return d
        store_i64(index, d, 0)
    return -1


@noinline
def step_to_next(extents: int, strides: int, d: int, ndim: int) -> int:
    """Return the bytes to the next element after `next_index` returned `d`; for -1 those back to the first element."""
    step = load_i64(strides, d) if d >= 0 else 0
    for inner in range(d + 1, ndim):
        step -= (load_i64(extents, inner) - 1) * load_i64(strides, inner)
    return step
