"""Rows of an operand by number, recorded and run in one call."""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_words, store_i64
from tapegrad.engine.sweep.eager.eager import contiguous, kernel_of, run_structural
from tapegrad.engine.tape.append import add_tensor_ref
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import ARRAY_EXTENTS, array_ndim, extent, size
from tapegrad.engine.tape.fields.instruction import Instruction
from tapegrad.engine.tape.fields.layout import (
    E_DTYPES,
    E_KERNEL,
    E_MEMORY,
    E_NDIM,
    E_SHAPES,
    F32,
    I64,
    MAX_NDIM,
    NONE,
)
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import array_copy, result_slot
from tapegrad.ops.params import GatherParams

_PARAMS = len(GatherParams._fields)
_BLOCK = 1 + _PARAMS


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
    shape, params = stack_words(MAX_NDIM), stack_words(_BLOCK)
    ndim = _taken_shape(header, x, numbers, by_rows, shape)
    y = result_slot(header, col.dtype(header, x), ndim, shape, False)
    if y == NONE:
        return E_MEMORY
    add_tensor_ref(header, y)
    listed = array_copy(header, numbers, I64)
    if listed < 0:
        drop_tensor_ref(header, y)
        return listed
    length = 1
    for d in range(1, col.ndim(header, x) if by_rows else 0):
        length *= extent(header, x, d)
    store_i64(params, 0, _PARAMS)
    store_i64(params, 1, extent(header, x, 0) if by_rows else size(header, x))
    store_i64(params, 2, length)
    instruction = Instruction(op, y, x, listed, NONE, 0)
    status = run_structural(header, instruction, params + 8, col.dtype(header, x), recording)
    drop_tensor_ref(header, listed)
    if status != 0:
        drop_tensor_ref(header, y)
        return status
    return y


@entry_point()
def record_rows(header, op, x, numbers, by_rows, copy, recording):
    """Take rows of a slot of floats along the first dimension, or elements of it in C order, by number.

    `numbers` is the id of an int64 array in C order, which is copied; the kernel checks them before it writes anything.
    `copy` is the op code of copying, for an operand that is not contiguous.
    """
    dtype = col.dtype(header, x)
    if dtype > F32:
        return E_DTYPES
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    if by_rows and col.ndim(header, x) == 0:
        return E_SHAPES
    if array_ndim(numbers) + col.ndim(header, x) > MAX_NDIM:
        return E_NDIM
    source = contiguous(header, x, copy, recording)
    if source < 0:
        return source
    y = _gather(header, op, source, numbers, by_rows, recording)
    drop_tensor_ref(header, source)
    return y
