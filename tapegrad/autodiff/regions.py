"""Regions of a flat buffer as Tensors: read a view from the buffer's value, scatter several views into one value."""

from typing import Any

import numpy as np

from tapegrad.autodiff.graph_view import Geometry
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.conversions.complex_views import pairs_of
from tapegrad.frontend.indexing.writes import with_region
from tapegrad.frontend.recording.record_structural import record_out
from tapegrad.frontend.recording.shape import in_c_order, view_region
from tapegrad.frontend.tensor.modes import current
from tapegrad.frontend.tensor.tensor import Tensor, allocate, from_array, view_of
from tapegrad.ops import CODES
from tapegrad.ops.params import Region
from tapegrad.ops.structural.indexing import EmbedParams

_EMBED = CODES["embed"]
_MAX_OPERANDS = 3
# In recordings: of buffers of so many elements a part that is at most one in so many is added where it is, by two
# instructions; to smaller buffers by a copy of the whole, as `embed` makes it, in less time.
_MIN_COPIED, _MIN_SHARE = 512, 32


def materialize(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    """Return a cotangent as a Tensor; a float is broadcast to `shape`."""
    return from_array(np.full(shape, value, dtype), constant=True) if isinstance(value, float) else value


def as_pairs(value: Any, geometry: Geometry) -> tuple[Geometry, Any]:
    """Return a region of complex numbers, and its value, as pairs of floats; one of floats as it is."""
    if geometry.dtype.kind != "c":
        return geometry, value
    return geometry.in_pairs, pairs_of(materialize(value, (), geometry.dtype))


def flatten_buffer(value: Tensor, geometry: Geometry) -> Tensor:
    """Return the value of a whole buffer in one dimension, complex numbers as pairs of floats."""
    value = in_c_order(value)
    if value.dtype.kind == "c":
        value = pairs_of(value)
    return (
        value
        if value.ndim == 1
        else view_of(value, value.data_or_traced().reshape(geometry.flat.buffer_size))
    )


def scatter_regions(tape: Tape, whole: Tensor | None, values: list[tuple[Geometry, Any]]) -> Tensor:
    """Scatter values to their views in a flat buffer, and return the sum with `whole`, a value of the whole buffer."""
    like = values[0][0].flat
    parts = [(geometry.view, materialize(value, (), like.dtype)) for geometry, value in values]
    small: list[tuple[View, Tensor]] = []
    if tape.recording and like.buffer_size >= _MIN_COPIED:
        most, given, parts = like.buffer_size // _MIN_SHARE, parts, []
        for part in given:
            (small if part[0].size <= most and _is_apart(part[0]) else parts).append(part)
    if whole is None and not parts:
        parts, small = small[:_MAX_OPERANDS], small[_MAX_OPERANDS:]
    while parts:
        room = _MAX_OPERANDS if whole is None else _MAX_OPERANDS - 1
        taken, parts = parts[:room], parts[room:]
        whole = _embed(tape, like, taken if whole is None else [(like.view, whole), *taken])
    assert whole is not None
    for view, value in small:
        whole = _added_within(whole, view, value)
    return whole


def _is_apart(view: View) -> bool:
    """Return whether no two elements of a view overlap: each step leads beyond all elements by smaller ones."""
    reach = 0
    for step, extent in sorted((abs(s), n) for s, n in zip(view.strides, view.shape, strict=True) if n > 1):
        if step <= reach:
            return False
        reach += step * (extent - 1)
    return True


def _added_within(whole: Tensor, view: View, value: Tensor) -> Tensor:
    """Return a value of a buffer with another one added to a view: in a replay most often where it lies."""
    total = view_region(whole, view) + value
    own = Geometry.of(current()[0], total._slot_on(current()[0])).view
    return with_region(whole, Region(view.offset, view.shape, view.strides, own.strides), total)


def _embed(tape: Tape, like: Geometry, values: list[tuple[View, Tensor]]) -> Tensor:
    """Record an instruction that adds up to three operands to their regions in a buffer of zeros."""
    result = allocate(tape, like.dtype, like.shape, "embed")
    operands, regions = [], []
    for view, value in values:
        operands.append(value._slot_on(tape))
        own = _broadcast_strides(Geometry.of(tape, operands[-1]).view, view.shape)
        regions.append(Region(view.offset, view.shape, view.strides, own))
    params = EmbedParams(like.buffer_size, tuple(regions))
    record_out(tape, _EMBED, result._slot, operands, params, "embed", current()[1])
    return result


def _broadcast_strides(own: View, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a slot that is broadcast to a shape."""
    lead = len(shape) - len(own.shape)
    within = zip(own.shape, own.strides, shape[lead:], strict=True)
    return (0,) * lead + tuple(stride if extent == seen else 0 for extent, stride, seen in within)
