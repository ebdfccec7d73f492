"""Order and bounds of strided arrays, given by the addresses of their extents and strides.

`engine.tape.fields.view.View` has the same functions in Python.
"""

from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.language.raw_memory import load_i64


@noinline
def in_c_order(ndim: int, extents: int, strides: int, item: int) -> bool:
    """Return whether elements of `item` bytes are contiguous in C order.

    Arrays without elements may have any strides.
    """
    step, ordered = item, True
    for d in range(ndim - 1, -1, -1):
        extent = load_i64(extents, d)
        ordered &= extent == 1 or load_i64(strides, d) == step
        step *= extent
    return ordered or step == 0


@noinline
def reach(ndim: int, extents: int, strides: int) -> tuple[int, int]:
    """Return the bytes from the first element to the lowest address of an element, and to the highest."""
    below, above = 0, 0
    for d in range(ndim):
        step = load_i64(strides, d) * (load_i64(extents, d) - 1)
        below += min(0, step)
        above += max(0, step)
    return below, above
