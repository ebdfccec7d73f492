"""Cost model of memory layouts: the time of an instruction by the strides of its operands."""

import math
from collections.abc import Iterable, Sequence

from tapegrad.engine.tape.fields.layout import BROADCAST_SUM, MATMUL, OPAQUE, REDUCTION
from tapegrad.engine.tape.fields.view import View

_MIN_INNER_STEPS = 16  # elements of an inner loop below which the binder exchanges it for the longest
_MAX_COLUMN_ELEMENTS = 64  # elements of a line up to which a reduction goes through many lines at once
_ELEMENT_COST, _STRIDED_COST, _LOOP_COST = (
    1.0,
    1.5,
    20.0,
)  # of an element, of one that is not adjacent to the last, of a loop


def cost(kind: int, views: Sequence[View]) -> float:
    """Estimate the cost of an instruction from the strides of its operands, in units of one element's time."""
    if kind in (MATMUL, OPAQUE):
        return 0.0  # BLAS does as well with either, and so do lists of rows
    if kind == REDUCTION:
        return _cost_of_lines(views[0])
    return _cost_of_loops(views[::-1] if kind == BROADCAST_SUM else views)  # a sum goes through its operand


def _aligned(view: View, ndim: int) -> list[int]:
    """Return the strides in a shape of so many dimensions; 0 where elements are repeated."""
    return [0] * (ndim - view.ndim) + list(view.steps)


def _cost_of_loops(views: Sequence[View]) -> float:
    """Estimate the cost of an elementwise instruction; the last view has the shape of its loops."""
    shape = views[-1].shape
    strides = zip(*(_aligned(view, len(shape)) for view in views), strict=True)
    loops = [(extent, steps) for extent, steps in zip(shape, strides, strict=True) if extent > 1]
    loops.sort(key=lambda loop: -abs(loop[1][-1]))  # as the binder does
    nest: list[tuple[int, tuple[int, ...]]] = []
    for count, steps in loops:
        if nest and all(outer == inner * count for outer, inner in zip(nest[-1][1], steps, strict=True)):
            count *= nest.pop()[0]
        nest.append((count, steps))
    if not nest:
        return _LOOP_COST
    inner = nest[-1]
    if inner[0] < _MIN_INNER_STEPS:
        inner = max(nest, key=lambda loop: loop[0])
    return _cost_of(math.prod(shape), inner[0], zip(inner[1], (view.itemsize for view in views), strict=True))


def _cost_of_lines(view: View) -> float:
    """Estimate the cost of a reduction along the last axis: short lines are processed many at once."""
    lines = view.shape[-1] <= _MAX_COLUMN_ELEMENTS and view.ndim > 1
    axis = -2 if lines else -1
    return _cost_of(view.size, view.shape[axis], [(view.strides[axis], view.itemsize)])


def _cost_of(size: int, count: int, strides: Iterable[tuple[int, int]]) -> float:
    strided = sum(stride not in (0, itemsize) for stride, itemsize in strides)
    return size * (_ELEMENT_COST + _STRIDED_COST * strided) + size / max(count, 1) * _LOOP_COST
