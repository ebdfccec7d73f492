"""Transposes of linear structural ops that take more than one other op.

A rule returns, for each operand that needs one, its cotangent from that of the result, in the operand's shape or in
one that broadcasts to it.
"""

import math
from collections.abc import Callable

import numpy as np

from tapegrad.autodiff.accumulator import Value
from tapegrad.autodiff.regions import view_region
from tapegrad.autodiff.rules.step import Step
from tapegrad.engine.tape.fields.view import View
from tapegrad.frontend.functions.matrices.matrices import exchanged
from tapegrad.frontend.functions.reductions import reductions, scans
from tapegrad.frontend.indexing.writes import setitem
from tapegrad.frontend.recording.record import apply, unary
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import CODES, COPY
from tapegrad.ops.params import Region

_MASKED_MULTIPLY = CODES["masked_multiply"]


def broadcast(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a sum: broadcast the cotangent."""
    return {0: y_bar}


def sum_from_the_end(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a cumulative sum: sum from the end."""
    y_bar = step.dense(y_bar, -1)
    return {0: scans.cumsum(y_bar[..., ::-1], -1)[..., ::-1]}


def cast_back(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a conversion of dtype: convert back."""
    if isinstance(y_bar, float):
        return {0: y_bar}
    return {0: y_bar.astype(step.geometry(step.operands[0]).dtype)}


def as_it_is(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose an identity: return the cotangent itself."""
    return {0: y_bar}


def exchanged_back(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose an exchange of rows: exchange back."""
    p = step.params
    return {0: exchanged(step.dense(y_bar, -1), step.x(1), p._replace(back=1 - p.back), "exchange_rows")}


def views_of_the_regions(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a scatter of operands to regions of a buffer: take views of the regions."""
    asked = [j for j in range(len(step.operands)) if step.asks(j)]
    if isinstance(y_bar, float):
        return {j: step.dense(y_bar, j) for j in asked}
    regions = step.params.regions
    return {j: view_region(y_bar, _view_of(regions[j], y_bar)) for j in asked}


def _view_of(region: Region, buffer: Tensor) -> View:
    return View(region.offset, region.extents, region.strides, buffer.dtype)


# --- in-place writes -------------------------------------------------------------------------------------------


def outside_and_inside_of_the_region(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a write to a region: the value gets the region's cotangent, the old contents get the rest."""
    bars: dict[int, Value] = {}
    y_bar, region = step.dense(y_bar, -1), step.params.region
    if step.asks(1):
        bars[1] = view_region(y_bar, _view_of(region, y_bar))
    if step.asks(0):
        bars[0] = unary(COPY, y_bar)
        setitem(view_region(bars[0], _view_of(region, y_bar)), ..., 0.0)
    return bars


def outside_and_inside_of_the_rows(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a write to listed rows. A recording holds the list as a constant."""
    bars: dict[int, Value] = {}
    rows, y_bar = step.x(2).data_or_traced().reshape(-1), step.dense(y_bar, -1)
    lines = step.params.rows, step.params.length
    if step.asks(1):
        bars[1] = _of_the_values(rows, reshape(y_bar, lines), step.geometry(step.operands[1]).shape)
    if step.asks(0):
        bars[0] = unary(COPY, y_bar)
        setitem(reshape(bars[0], lines), rows, 0.0)
    return bars


def _of_the_values(rows: np.ndarray, y_bar: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the cotangent of the written values: of several writes to one row the last counts."""
    last = np.zeros(len(y_bar), np.int64)
    last[rows] = np.arange(len(rows))
    counts = (last[rows] == np.arange(len(rows))).astype(y_bar.dtype)[:, None]
    taken = y_bar[rows] if counts.all() else apply(_MASKED_MULTIPLY, y_bar[rows], counts)
    if math.prod(shape) == taken.size:
        return reshape(taken, shape)
    return reshape(reductions.sum(taken), shape)


RULES: dict[str, Callable[[Step, Value], dict[int, Value]]] = {
    rule.__name__: rule
    for rule in (
        broadcast,
        sum_from_the_end,
        cast_back,
        as_it_is,
        exchanged_back,
        views_of_the_regions,
        outside_and_inside_of_the_region,
        outside_and_inside_of_the_rows,
    )
}
