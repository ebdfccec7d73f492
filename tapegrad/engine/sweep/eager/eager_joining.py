"""Several slots joined into one, recorded and run in one call.

Each piece is copied into its part of the result by an instruction of its own. These follow one another: no other
thread's instruction comes in between.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_i64, store_i64
from tapegrad.engine.sweep.eager.eager import commit, is_superseded, kernel_of, lacks_driver, run
from tapegrad.engine.tape.append import add_tensor_ref
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import extent, is_differentiable, item_size, size, stride
from tapegrad.engine.tape.fields.instruction import Instruction
from tapegrad.engine.tape.fields.layout import (
    COPY_OP,
    E_DTYPES,
    E_KERNEL,
    E_MEMORY,
    E_NDIM,
    E_PARALLEL,
    E_SHAPES,
    E_SUPERSEDED,
    MAX_NDIM,
    NONE,
)
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import result_slot
from tapegrad.engine.tape.views import VIEW_FIELDS, describe, view_as


@inline_njit
def _fits(header, piece, first, axis):
    """Return whether a piece has the dtype and the extents of the first one, except those along an axis."""
    ndim = col.ndim(header, first)
    if col.dtype(header, piece) != col.dtype(header, first) or col.ndim(header, piece) != ndim:
        return False
    for d in range(ndim):
        if d != axis and extent(header, piece, d) != extent(header, first, d):
            return False
    return True


@inline_njit
def _has_superseded(header, pieces):
    """Return whether some piece is an earlier version."""
    for k in range(load_i64(pieces, -1)):
        if is_superseded(header, load_i64(pieces, k), NONE, NONE):
            return True
    return False


@inline_njit
def _joined_shape(header, pieces, axis, is_new, shape):
    """Write the shape of the result; return whether all pieces fit."""
    first, total = load_i64(pieces, 0), 0
    for k in range(load_i64(pieces, -1)):
        if not _fits(header, load_i64(pieces, k), first, NONE if is_new else axis):
            return False
        total += 1 if is_new else extent(header, load_i64(pieces, k), axis)
    for d in range(col.ndim(header, first) + is_new):
        own = d - 1 if is_new and d > axis else d
        store_i64(shape, d, total if d == axis else extent(header, first, own))
    return True


@inline_njit
def _part(header, y, piece, axis, is_new, start):
    """Return the part of the result that a piece takes along an axis, from `start` on."""
    ndim, seen = col.ndim(header, piece), stack_i64(VIEW_FIELDS)
    for d in range(ndim):
        describe(seen, d, extent(header, piece, d), stride(header, y, d + 1 if is_new and d >= axis else d))
    return view_as(header, y, ndim, start * stride(header, y, axis), seen)


@inline_njit
def _copy_into(header, part, piece, recording):
    """Record and run the copying of a piece into a part of the result, and let go of the part."""
    instruction = Instruction(load_i64(header, COPY_OP), part, piece, NONE, NONE, 0)
    run(header, instruction, col.dtype(header, piece))
    commit(header, instruction, recording)
    drop_tensor_ref(header, part)


@entry_point(tuples=("pieces",))
def record_joined(header, pieces, axis, is_new, recording):
    """Join the slots of a tuple along an axis that they have, or that is new.

    E_SHAPES where the extents or the dtypes differ, or there is no such axis.
    """
    if load_i64(pieces, -1) == 0:
        return E_SHAPES
    first = load_i64(pieces, 0)
    dtype, ndim = col.dtype(header, first), col.ndim(header, first) + is_new
    if not is_differentiable(dtype):
        return E_DTYPES
    if _has_superseded(header, pieces):
        return E_SUPERSEDED
    if kernel_of(header, load_i64(header, COPY_OP), dtype, 0) == 0:
        return E_KERNEL
    axis += ndim if axis < 0 else 0
    shape = stack_i64(MAX_NDIM)
    if axis < 0 or axis >= ndim or ndim > MAX_NDIM:
        return E_SHAPES
    if not _joined_shape(header, pieces, axis, is_new, shape):
        return E_SHAPES
    if lacks_driver(header, load_i64(header, COPY_OP), shape, ndim):
        return E_PARALLEL
    y, start = result_slot(header, dtype, ndim, shape, False), 0
    if y == NONE:
        return E_MEMORY
    add_tensor_ref(header, y)
    for k in range(load_i64(pieces, -1)):
        piece = load_i64(pieces, k)
        _copy_into(header, _part(header, y, piece, axis, is_new, start), piece, recording)
        start += 1 if is_new else extent(header, piece, axis)
    return y


@inline_njit
def _contiguous_part(header, y, piece, offset):
    """Return the part of the result for all elements of a piece, contiguous from a byte on."""
    ndim, seen = col.ndim(header, piece), stack_i64(VIEW_FIELDS)
    by = item_size(col.dtype(header, piece))
    for d in range(ndim - 1, -1, -1):
        describe(seen, d, extent(header, piece, d), by)
        by *= extent(header, piece, d)
    return view_as(header, y, ndim, offset, seen)


@entry_point(tuples=("pieces", "shape"))
def record_laid_out(header, pieces, dtype, shape, recording):
    """Copy the slots of a tuple one after another into a result of a dtype and a shape with as many elements.

    E_SHAPES if the numbers differ.
    """
    if kernel_of(header, load_i64(header, COPY_OP), dtype, 0) == 0:
        return E_KERNEL
    if load_i64(shape, -1) > MAX_NDIM:
        return E_NDIM
    if _has_superseded(header, pieces):
        return E_SUPERSEDED
    total, offset = 0, 0
    for k in range(load_i64(pieces, -1)):
        if col.dtype(header, load_i64(pieces, k)) != dtype:
            return E_SHAPES
        total += size(header, load_i64(pieces, k))
    y = result_slot(header, dtype, load_i64(shape, -1), shape, False)
    if y == NONE:
        return E_MEMORY
    add_tensor_ref(header, y)
    if size(header, y) != total:
        drop_tensor_ref(header, y)
        return E_SHAPES
    for k in range(load_i64(pieces, -1)):
        piece = load_i64(pieces, k)
        _copy_into(header, _contiguous_part(header, y, piece, offset), piece, recording)
        offset += size(header, piece) * item_size(dtype)
    return y
