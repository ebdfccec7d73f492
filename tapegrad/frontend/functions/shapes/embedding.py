"""Embedding: a Tensor in a region of zeros or of other constants (diagonals, margins)."""

import functools
import math
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.frontend.indexing.writes import setitem, view_of_region
from tapegrad.frontend.recording.record import read_now
from tapegrad.frontend.recording.record_structural import in_shape, record_new
from tapegrad.frontend.recording.rules import Step, Value, state_transpose
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, geometry_of
from tapegrad.ops import CODES
from tapegrad.ops.params import Region
from tapegrad.ops.structural.indexing import EmbedParams

_EMBED = CODES["embed"]


def among_zeros(x: Tensor, shape: tuple[int, ...], first: int, steps: tuple[int, ...], name: str) -> Tensor:
    """Return zeros of a shape with `x` in a region of them.

    In C order the region begins at number `first`; `steps` leads from an element of it to the next along each axis of
    `x`.
    """
    dtype, (extents, strides) = x.dtype, geometry_of(x)
    params = _in_one_region(shape, dtype.itemsize, first, steps, extents, strides)
    whole = record_new(_EMBED, [x], (params.total,), params, name)
    return in_shape(whole, shape)


@functools.lru_cache(256)
def _in_one_region(
    shape: tuple[int, ...],
    item: int,
    first: int,
    steps: tuple[int, ...],
    extents: tuple[int, ...],
    strides: tuple[int, ...],
) -> EmbedParams:
    """Return the parameters for an operand; `first` and `steps` count elements of `item` bytes."""
    begin = 0 if 0 in extents else first * item  # the kernel writes zeros from the region's end on
    region = Region(begin, extents, tuple([step * item for step in steps]), strides)
    return EmbedParams(math.prod(shape), (region,))


def among_integers(x: Tensor, whole: np.ndarray, key: Any) -> Tensor:
    """Return an array with integers or booleans written to a part of it: now, or by each replay."""
    if thread.mode.recorder is None or not x._traced() or x.dtype not in DTYPE_CODES:
        whole[key] = read_now(x)
        return from_array(whole, constant=True)
    result = from_array(whole, constant=True)
    setitem(result, key, x)
    return result


# --- derivatives -----------------------------------------------------------------------------------------------


@state_transpose
def views_of_the_regions(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a scatter of operands to regions of a buffer: take views of the regions."""
    asked = [j for j in range(len(step.operands)) if step.asks(j)]
    if isinstance(y_bar, float):
        return {j: step.dense(y_bar, j) for j in asked}
    regions = step.params.regions
    return {j: view_of_region(y_bar, regions[j]) for j in asked}
