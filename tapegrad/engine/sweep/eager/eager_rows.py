"""Rows of an operand by number, recorded and run in one call."""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_i64, store_i64
from tapegrad.engine.sweep.eager.eager import contiguous, obstacle_to_floats, run_new
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import ARRAY_EXTENTS, array_ndim, extent, size
from tapegrad.engine.tape.fields.instruction import Instruction
from tapegrad.engine.tape.fields.layout import E_NDIM, E_SHAPES, E_STATUS, I64, MAX_NDIM, NONE
from tapegrad.engine.tape.fields.parameters import write_params
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import array_copy, result_slot
from tapegrad.ops.structural.indexing import GatherParams

_PARAMS_BLOCK = 1 + len(GatherParams._fields)


@inline_njit
def _taken_shape(header, x, numbers, by_rows, shape):
    """Write the shape of what is taken; return its dimensions."""
    listed, kept = array_ndim(numbers), col.ndim(header, x) - 1 if by_rows else 0
    for d in range(listed):
        store_i64(shape, d, load_i64(load_i64(numbers, ARRAY_EXTENTS), d))
    for d in range(kept):
        store_i64(shape, listed + d, extent(header, x, d + 1))
    return listed + kept


@inline_njit
def _gather(header, op, x, numbers, by_rows, recording):
    """Take rows or elements of a contiguous slot: the result with a handle, or an error."""
    shape, length = stack_i64(MAX_NDIM), 1
    ndim = _taken_shape(header, x, numbers, by_rows, shape)
    for d in range(1, col.ndim(header, x) if by_rows else 0):
        length *= extent(header, x, d)
    rows = extent(header, x, 0) if by_rows else size(header, x)
    params = write_params(stack_i64(_PARAMS_BLOCK), GatherParams(rows, length, 0))
    listed = array_copy(header, numbers, I64)
    if listed < 0:
        return listed
    result = result_slot(header, col.dtype(header, x), ndim, shape, False)
    instruction = Instruction(op, result, x, listed, NONE, 0)
    y = run_new(header, instruction, params, col.dtype(header, x), recording)
    drop_tensor_ref(header, listed)
    return y


@entry_point()
def record_rows(header, op, x, numbers, by_rows, recording):
    """Take rows of a slot of floats along the first dimension, or elements of it in C order, by number.

    `numbers` is the id of an int64 array in C order, which is copied; the kernel checks them before it writes anything:
    E_SHAPES if one is out of bounds.
    """
    obstacle = obstacle_to_floats(header, op, x)
    if obstacle != 0:
        return obstacle
    if by_rows and col.ndim(header, x) == 0:
        return E_SHAPES
    if array_ndim(numbers) + col.ndim(header, x) > MAX_NDIM:
        return E_NDIM
    source = contiguous(header, x, recording)
    if source < 0:
        return source
    y = _gather(header, op, source, numbers, by_rows, recording)
    drop_tensor_ref(header, source)
    return E_SHAPES if y <= E_STATUS else y
