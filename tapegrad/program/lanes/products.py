"""Batching rule of products of matrices.

A product with an unbatched matrix becomes a product of larger matrices, in which the lanes are columns. Small batched
matrices are multiplied element by element, for all lanes at once, and added up; larger ones become stacks.
"""

from typing import NamedTuple

from tapegrad.engine.inspection.tape_entries import TapeEntry
from tapegrad.engine.tape.fields.view import View
from tapegrad.ops import CODES
from tapegrad.ops.params import read
from tapegrad.ops.structural.matrices import MatmulParams
from tapegrad.program.lanes.layout import LAST
from tapegrad.program.lanes.widening import Widening

_MAX_ELEMENT_PRODUCTS = 128  # multiplications of a product of small matrices
_MULTIPLY, _SUM = CODES["multiply"], CODES["sum"]


class _Factor(NamedTuple):
    """Stack of matrices in a buffer, with strides over lanes."""

    buffer: int
    offset: int
    batch: tuple[int, ...]
    batch_strides: tuple[int, ...]
    rows: int
    columns: int
    row_stride: int
    column_stride: int
    lane_stride: int


def _factor(widening: Widening, slot: int, buffer: int, strides: tuple[int, int]) -> _Factor:
    view, layout = widening.tape.slots[slot].view, widening.layout(buffer)
    rows, columns = view.shape[-2:]
    batch_strides = tuple(map(layout.stretched, view.strides[:-2]))
    row_stride, column_stride = map(layout.stretched, strides)
    lane_stride = layout.step(view.itemsize)
    stack = buffer, layout.stretched(view.offset), view.shape[:-2], batch_strides
    return _Factor(*stack, rows, columns, row_stride, column_stride, lane_stride)


def matmul(widening: Widening, entry: TapeEntry) -> None:
    """Widen a product of stacks of matrices."""
    if any(map(widening.are_in_front, (*entry.operands, entry.result))):
        widening.by_lane(entry)
        return
    params = read(MatmulParams, entry.params)
    own = (params.row_stride0, params.column_stride0), (params.row_stride1, params.column_stride1)
    factors = []
    for slot, strides in zip(entry.operands, own, strict=True):
        buffer = widening.buffer(slot, LAST) if widening.has_lanes(slot) else widening.buffer(slot)
        factors.append(_factor(widening, slot, buffer, strides))
    target = widening.result(entry.result)
    y = _factor(widening, entry.result, target, (params.row_stride_y, params.column_stride_y))
    a, b = factors
    product = _Product(widening, entry, a, b, y)
    if not widening.has_lanes(entry.operands[0]):
        product.with_lanes_as_columns(a, b, y)
    elif not widening.has_lanes(entry.operands[1]):
        # The transposed product, in which the unbatched matrix comes first
        product.with_lanes_as_columns(_transposed(b), _transposed(a), _transposed(y))
    elif are_stacks(entry):
        product.of_stacks()
    else:
        product.by_elements()


def are_stacks(entry: TapeEntry) -> bool:
    """Return whether a product of batched matrices is a product of stacks."""
    params = read(MatmulParams, entry.params)
    return bool(params.m * params.n * params.k > _MAX_ELEMENT_PRODUCTS)


def _transposed(a: _Factor) -> _Factor:
    return a._replace(rows=a.columns, columns=a.rows, row_stride=a.column_stride, column_stride=a.row_stride)


def _aligned(widening: Widening, stack: int, behind: int) -> int:
    """Return a slot for a stack with the lanes in front of `behind` dimensions of stacks and the matrices."""
    return widening.in_shape(stack, lambda shape: (shape[0], *(1,) * (behind + 3 - len(shape)), *shape[1:]))


class _Product:
    """Product while it is widened: its factors and its result."""

    def __init__(self, widening: Widening, entry: TapeEntry, a: _Factor, b: _Factor, y: _Factor) -> None:
        self._widening, self._entry = widening, entry
        self._a, self._b, self._y = a, b, y
        self._dtype = widening.tape.slots[entry.result].view.dtype

    def _view(self, a: _Factor, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
        """Return a slot on a factor's buffer with dimensions behind those of the stack."""
        strides = a.batch_strides + strides
        return self._widening.slot(a.buffer, View(a.offset, a.batch + shape, strides, self._dtype))

    def with_lanes_as_columns(self, a: _Factor, b: _Factor, y: _Factor) -> None:
        """Append a product by an unbatched matrix: each column of the other becomes a column for each lane."""
        lanes = self._widening.lanes
        apart = b.lane_stride * lanes
        if b.columns == 1 or b.column_stride == y.column_stride == apart:
            wide = b.columns * lanes
            x0 = self._view(a, (a.rows, a.columns), (a.row_stride, a.column_stride))
            x1 = self._view(b, (b.rows, wide), (b.row_stride, b.lane_stride))
            result = self._view(y, (y.rows, wide), (y.row_stride, y.lane_stride))
        else:
            wide = lanes
            x0 = self._view(a, (b.columns, a.rows, a.columns), (0, a.row_stride, a.column_stride))
            x1 = self._view(b, (b.columns, b.rows, lanes), (b.column_stride, b.row_stride, b.lane_stride))
            result = self._view(y, (b.columns, y.rows, lanes), (y.column_stride, y.row_stride, y.lane_stride))
        strides = (a.row_stride, a.column_stride, b.row_stride, b.lane_stride, y.row_stride, y.lane_stride)
        params = MatmulParams(a.rows, wide, a.columns, *strides)
        self._widening.emit(self._entry, result, (x0, x1), params)

    def of_stacks(self) -> None:
        """Append a product for each lane, whose matrices are contiguous in stacks."""
        widening, entry, behind = self._widening, self._entry, len(self._y.batch)
        operands = [_aligned(widening, widening.stack(slot), behind) for slot in entry.operands]
        m, n, k, item = self._a.rows, self._b.columns, self._a.columns, self._dtype.itemsize
        params = MatmulParams(m, n, k, k * item, item, n * item, item, n * item, item)
        widening.emit_stack(entry, operands, params)

    def by_elements(self) -> None:
        """Append all products of elements, and their sums."""
        a, b, y, widening = self._a, self._b, self._y, self._widening
        shape = (y.rows, y.columns, a.columns, widening.lanes)
        x0 = self._view(a, shape, (a.row_stride, 0, a.column_stride, a.lane_stride))
        x1 = self._view(b, shape, (0, b.column_stride, b.row_stride, b.lane_stride))
        result = self._view(y, shape, (y.row_stride, y.column_stride, 0, y.lane_stride))
        terms = widening.terms(y.buffer, View.in_c_order((*y.batch, *shape), self._dtype))
        widening.add(_MULTIPLY, terms, (x0, x1))
        widening.add(_SUM, result, (terms,))
