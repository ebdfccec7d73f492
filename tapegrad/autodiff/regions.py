"""Regions of a buffer: seen in a value of the whole of it, and values of regions laid together."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad.autodiff.graph_view import Geometry
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.modes import current
from tapegrad.frontend.record_structural import allocate, record_out
from tapegrad.frontend.shape import contiguous
from tapegrad.frontend.tensor import Tensor, from_array, view_of
from tapegrad.ops import CODES
from tapegrad.ops.params import EmbedParams, Region

_EMBED = CODES["embed"]
_MOST = 3  # operands of an instruction


def full(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    """A value as a Tensor: a number in every element of a shape, or the Tensor that it is."""
    return from_array(np.full(shape, value, dtype), constant=True) if isinstance(value, float) else value


def as_buffer(value: Tensor, geometry: Geometry) -> Tensor:
    """The value of a whole buffer in one dimension."""
    value = value if value.data_or_traced().flags.c_contiguous else contiguous(value)
    return value if value.ndim == 1 else view_of(value, value.data_or_traced().reshape(geometry.elements))


def region_of(buffer: Tensor, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """A region of a Tensor whose elements lie in C order, which begins `offset` bytes behind its first element.

    Of one in another order, it is a region of a copy: a cotangent may be any view of what was computed.
    """
    if not buffer.data_or_traced().flags.c_contiguous:
        buffer = contiguous(buffer)
    array = buffer.data_or_traced().reshape(-1)
    return view_of(buffer, as_strided(array[offset // array.itemsize :], shape, strides))


def laid(tape: Tape, whole: Tensor | None, parts: list[tuple[Geometry, Any]]) -> Tensor:
    """The sum of values in their places in a buffer, in one dimension; `whole` is a value for all of it."""
    like = parts[0][0]
    flat = (0, (like.elements,), (like.dtype.itemsize,))
    operands = [] if whole is None else [(flat, whole)]
    operands += [(geometry.place, full(value, (), like.dtype)) for geometry, value in parts]
    result = None
    while operands:
        room = _MOST if result is None else _MOST - 1
        taken, operands = operands[:room], operands[room:]
        result = _embed(tape, like, taken if result is None else [(flat, result), *taken])
    assert result is not None
    return result


def _embed(tape: Tape, like: Geometry, parts: list[tuple[Any, Tensor]]) -> Tensor:
    """Record an instruction that lays up to three operands into a buffer of zeros."""
    result = allocate(tape, like.dtype, (like.elements,), "embed")
    operands, regions = [], []
    for (offset, shape, strides), value in parts:
        operands.append(value._slot_on(tape))
        own = _broadcast_strides(Geometry.of(tape, operands[-1]), shape)
        regions.append(Region(offset, shape, strides, own))
    params = EmbedParams(like.elements, tuple(regions))
    record_out(tape, _EMBED, result._slot, operands, params, "embed", current()[1])
    return result


def _broadcast_strides(own: Geometry, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a slot seen in a shape that it broadcasts to."""
    lead = len(shape) - len(own.shape)
    within = zip(own.shape, own.strides, shape[lead:], strict=True)
    return (0,) * lead + tuple(stride if extent == seen else 0 for extent, stride, seen in within)
