"""Functions of square matrices, and systems of linear equations, recorded and run in one call."""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_words, store_i64
from tapegrad.engine.sweep.eager.eager import contiguous, kernel_of, run_structural
from tapegrad.engine.tape.append import add_tensor_ref
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import extent, is_contiguous, item_size
from tapegrad.engine.tape.fields.instruction import Instruction
from tapegrad.engine.tape.fields.layout import (
    E_DTYPES,
    E_KERNEL,
    E_MEMORY,
    E_SHAPES,
    F32,
    I64,
    MAX_NDIM,
    NONE,
)
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import result_slot
from tapegrad.ops.params import LuSolveParams, SquareParams

_OF_SQUARES, _OF_SYSTEMS = len(SquareParams._fields), len(LuSolveParams._fields)
_SQUARES_BLOCK, _SYSTEMS_BLOCK = 1 + _OF_SQUARES, 1 + _OF_SYSTEMS
_MAX_PARAM_FIELDS = 8  # parameters of an op with a packed result, their number included


@inline_njit
def _are_squares(header, x):
    """Return whether a slot is of square matrices."""
    ndim = col.ndim(header, x)
    return ndim >= 2 and extent(header, x, ndim - 1) == extent(header, x, ndim - 2)


@inline_njit
def _copy_extents(header, x, count, shape):
    """Write the first extents of a slot; their product."""
    product = 1
    for d in range(count):
        store_i64(shape, d, extent(header, x, d))
        product *= extent(header, x, d)
    return product


@inline_njit
def _write_params(params, words, matrices, n):
    """Write the number of parameters, and the first two."""
    store_i64(params, 0, words)
    store_i64(params, 1, matrices)
    store_i64(params, 2, n)


@inline_njit
def _recorded(header, instruction, params, dtype, recording):
    """Run and record an op on a new result, which is returned with a handle; or an error."""
    y = instruction.result
    if y == NONE:
        return E_MEMORY
    add_tensor_ref(header, y)
    status = run_structural(header, instruction, params, dtype, recording)
    if status != 0:
        drop_tensor_ref(header, y)
        return status
    return y


@inline_njit
def _factors(header, lu, x, recording):
    """Return the LU factors of matrices in C order, as 64-bit fields, with a handle; or an error."""
    shape, dtype, last = stack_words(MAX_NDIM), col.dtype(header, x), col.ndim(header, x) - 1
    n, matrices = extent(header, x, last), _copy_extents(header, x, last - 1, shape)
    store_i64(shape, last - 1, (n * n * item_size(dtype) + 7) // 8 + (4 * n + 7) // 8)
    y = result_slot(header, I64, last, shape, False)
    params = stack_words(_SQUARES_BLOCK)
    _write_params(params, _OF_SQUARES, matrices, n)
    return _recorded(header, Instruction(lu, y, x, NONE, NONE, 0), params + 8, dtype, recording)


@entry_point()
def record_of_squares(header, op, x, copy, recording):
    """Record and run an op whose result has a square matrix for each. `copy` is the op code of copying."""
    dtype, ndim = col.dtype(header, x), col.ndim(header, x)
    if dtype > F32:
        return E_DTYPES
    if not _are_squares(header, x):
        return E_SHAPES
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    own = contiguous(header, x, copy, recording)
    if own < 0:
        return own
    shape, params = stack_words(MAX_NDIM), stack_words(_SQUARES_BLOCK)
    matrices, n = _copy_extents(header, own, ndim - 2, shape), extent(header, own, ndim - 1)
    store_i64(shape, ndim - 2, n)
    store_i64(shape, ndim - 1, n)
    _write_params(params, _OF_SQUARES, matrices, n)
    instruction = Instruction(op, result_slot(header, dtype, ndim, shape, False), own, NONE, NONE, 0)
    y = _recorded(header, instruction, params + 8, dtype, recording)
    drop_tensor_ref(header, own)
    return y


@entry_point(tuples=("packed",))
def record_packed(header, op, x, packed, copy, recording):
    """Record and run an op whose result has one line for each matrix.

    `packed` is how many, and then the parameters, without the first one, which is the number of matrices.
    """
    dtype, stack = col.dtype(header, x), col.ndim(header, x) - 2
    if dtype > F32:
        return E_DTYPES
    if stack < 0:
        return E_SHAPES
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    own = contiguous(header, x, copy, recording)
    if own < 0:
        return own
    shape, params, words = stack_words(MAX_NDIM), stack_words(_MAX_PARAM_FIELDS), load_i64(packed, -1)
    _write_params(params, words, _copy_extents(header, own, stack, shape), 0)
    for k in range(1, words):
        store_i64(params, k + 1, load_i64(packed, k))
    store_i64(shape, stack, load_i64(packed, 0))
    instruction = Instruction(op, result_slot(header, dtype, stack + 1, shape, False), own, NONE, NONE, 0)
    y = _recorded(header, instruction, params + 8, dtype, recording)
    drop_tensor_ref(header, own)
    return y


@inline_njit
def _numbers_of(header, op, factors, x, several, recording):
    """Record and run an op whose result has a number, or `several`, for each matrix, by LU factors."""
    shape, params, dtype = stack_words(MAX_NDIM), stack_words(_SQUARES_BLOCK), col.dtype(header, x)
    stack, first = col.ndim(header, x) - 2, 1 if several > 1 else 0
    store_i64(shape, 0, several)
    matrices = _copy_extents(header, x, stack, shape + 8 * first)
    _write_params(params, _OF_SQUARES, matrices, extent(header, x, stack))
    instruction = Instruction(
        op, result_slot(header, dtype, stack + first, shape, False), x, factors, NONE, 0
    )
    return _recorded(header, instruction, params + 8, dtype, recording)


@entry_point()
def record_by_factors(header, op, lu, x, several, copy, recording):
    """Record and run an op by LU factors of square matrices, which are recorded too.

    Its result has a number for each matrix or, before the dimensions of the stack, one of `several`.
    """
    dtype = col.dtype(header, x)
    if dtype > F32:
        return E_DTYPES
    if not _are_squares(header, x):
        return E_SHAPES
    if kernel_of(header, op, dtype, 0) == 0 or kernel_of(header, lu, dtype, 0) == 0:
        return E_KERNEL
    own = contiguous(header, x, copy, recording)
    if own < 0:
        return own
    factors = _factors(header, lu, own, recording)
    y = factors
    if factors >= 0:
        y = _numbers_of(header, op, factors, own, several, recording)
        drop_tensor_ref(header, factors)
    drop_tensor_ref(header, own)
    return y


@inline_njit
def _fits(header, a, b):
    """Return whether there is one right-hand side, a vector or a matrix, for one matrix, both in C order."""
    of_b = col.ndim(header, b)
    if col.ndim(header, a) != 2 or not _are_squares(header, a) or of_b < 1 or of_b > 2:
        return False
    return (
        extent(header, a, 0) == extent(header, b, 0) and is_contiguous(header, a) and is_contiguous(header, b)
    )


@entry_point()
def record_solution(header, op, lu, a, b, recording):
    """Record and run the solution of one system by LU factors; E_SHAPES for several, and where copies are needed."""
    dtype, ndim = col.dtype(header, a), col.ndim(header, b)
    if dtype > F32 or dtype != col.dtype(header, b):
        return E_DTYPES
    if not _fits(header, a, b):
        return E_SHAPES
    if kernel_of(header, op, dtype, 0) == 0 or kernel_of(header, lu, dtype, 0) == 0:
        return E_KERNEL
    factors = _factors(header, lu, a, recording)
    if factors < 0:
        return factors
    shape, params = stack_words(MAX_NDIM), stack_words(_SYSTEMS_BLOCK)
    _copy_extents(header, b, ndim, shape)
    _write_params(params, _OF_SYSTEMS, 1, extent(header, a, 0))
    store_i64(params, 3, extent(header, b, 1) if ndim == 2 else 1)
    store_i64(params, 4, 0)
    store_i64(params, 5, 1)
    instruction = Instruction(op, result_slot(header, dtype, ndim, shape, False), a, b, factors, 0)
    y = _recorded(header, instruction, params + 8, dtype, recording)
    drop_tensor_ref(header, factors)
    return y
