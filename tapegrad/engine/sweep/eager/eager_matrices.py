"""Functions of square matrices, and systems of linear equations, recorded and run in one call."""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit, shared_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, memcpy, stack_i64, store_i64
from tapegrad.engine.sweep.binding.bind import op_field
from tapegrad.engine.sweep.eager.eager import contiguous, obstacle_to_floats, run_new
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import extent, is_contiguous, item_size
from tapegrad.engine.tape.fields.instruction import Instruction
from tapegrad.engine.tape.fields.layout import E_DTYPES, E_SHAPES, I64, MAX_NDIM, NONE, OP_FACTORIZATION
from tapegrad.engine.tape.fields.parameters import write_params
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import result_slot
from tapegrad.ops.structural.matrices import LuSolveParams, SquareParams

_SQUARES_BLOCK, _SYSTEMS_BLOCK = 1 + len(SquareParams._fields), 1 + len(LuSolveParams._fields)
_MAX_PARAM_FIELDS = 8  # parameters of an op with a packed result, their number included


@inline_njit
def _obstacle(header, op, x):
    """Return the error that prevents an op, or the factorization that it needs, of the floats of `x`; 0 if none."""
    obstacle, lu = obstacle_to_floats(header, op, x), op_field(header, op, OP_FACTORIZATION)
    return obstacle_to_floats(header, lu, x) if obstacle == 0 and lu != NONE else obstacle


@inline_njit
def _are_squares(header, x):
    """Return whether a slot is of square matrices."""
    ndim = col.ndim(header, x)
    return ndim >= 2 and extent(header, x, ndim - 1) == extent(header, x, ndim - 2)


@inline_njit
def _count(header, x):
    """Return the number of matrices in a slot."""
    count = 1
    for d in range(col.ndim(header, x) - 2):
        count *= extent(header, x, d)
    return count


@inline_njit
def _run_on_squares(header, op, result, x, factors, nan_on_failure, recording):
    """Run and record an op of square matrices in C order: its new result with a handle, or an error."""
    record = SquareParams(_count(header, x), extent(header, x, col.ndim(header, x) - 1), nan_on_failure)
    params = write_params(stack_i64(_SQUARES_BLOCK), record)
    instruction = Instruction(op, result, x, factors, NONE, 0)
    return run_new(header, instruction, params, col.dtype(header, x), recording)


@inline_njit
def _factors(header, op, x, recording):
    """Return the LU factors that an op of matrices in C order reads, as 64-bit fields, with a handle; or an error."""
    shape, stack = stack_i64(MAX_NDIM), col.ndim(header, x) - 2
    n, bytes_ = extent(header, x, stack), item_size(col.dtype(header, x))
    memcpy(shape, col.geometry(header, x), 8 * stack)
    store_i64(shape, stack, (n * n * bytes_ + 7) // 8 + (4 * n + 7) // 8)
    result, lu = result_slot(header, I64, stack + 1, shape, False), op_field(header, op, OP_FACTORIZATION)
    return _run_on_squares(header, lu, result, x, NONE, 0, recording)


@shared_njit
def _numbers(header, op, x, several, nan_on_failure, recording):
    """Record and run an op whose result has a number, or `several`, for each matrix, by LU factors."""
    factors = _factors(header, op, x, recording)
    if factors < 0:
        return factors
    shape, stack = stack_i64(MAX_NDIM), col.ndim(header, x) - 2
    first = 1 if several > 1 else 0
    store_i64(shape, 0, several)
    memcpy(shape + 8 * first, col.geometry(header, x), 8 * stack)
    result = result_slot(header, col.dtype(header, x), stack + first, shape, False)
    y = _run_on_squares(header, op, result, x, factors, nan_on_failure, recording)
    drop_tensor_ref(header, factors)
    return y


@entry_point()
def record_of_squares(header, op, x, several, nan_on_failure, recording):
    """Record and run an op of square matrices, whose result has a square matrix for each.

    That of an op that reads LU factors has a number for each or, before the dimensions of the stack, one of `several`.
    """
    obstacle = _obstacle(header, op, x)
    if obstacle != 0:
        return obstacle
    if not _are_squares(header, x):
        return E_SHAPES
    own, dtype = contiguous(header, x, recording), col.dtype(header, x)
    if own < 0:
        return own
    if op_field(header, op, OP_FACTORIZATION) != NONE:
        y = _numbers(header, op, own, several, nan_on_failure, recording)
    else:
        result = result_slot(header, dtype, col.ndim(header, own), col.geometry(header, own), False)
        y = _run_on_squares(header, op, result, own, NONE, nan_on_failure, recording)
    drop_tensor_ref(header, own)
    return y


@entry_point(tuples=("params",))
def record_packed(header, op, x, length, params, recording):
    """Record and run an op whose result has one line of this length for each matrix.

    `params` are the parameters without the first one, which is the number of matrices.
    """
    obstacle, stack = obstacle_to_floats(header, op, x), col.ndim(header, x) - 2
    if obstacle != 0:
        return obstacle
    given = load_i64(params, -1)
    if stack < 0 or given + 2 > _MAX_PARAM_FIELDS:
        return E_SHAPES
    own = contiguous(header, x, recording)
    if own < 0:
        return own
    shape, block = stack_i64(MAX_NDIM), stack_i64(_MAX_PARAM_FIELDS)
    memcpy(shape, col.geometry(header, own), 8 * stack)
    store_i64(shape, stack, length)
    store_i64(block, 0, given + 1)
    store_i64(block, 1, _count(header, own))
    memcpy(block + 16, params, 8 * given)
    result = result_slot(header, col.dtype(header, own), stack + 1, shape, False)
    instruction = Instruction(op, result, own, NONE, NONE, 0)
    y = run_new(header, instruction, block + 8, col.dtype(header, own), recording)
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
def record_solution(header, op, a, b, recording):
    """Record and run the solution of one system by LU factors; E_SHAPES for several, and where copies are needed.

    A singular matrix stops it.
    """
    dtype, ndim = col.dtype(header, a), col.ndim(header, b)
    if dtype != col.dtype(header, b):
        return E_DTYPES
    obstacle = _obstacle(header, op, a)
    if obstacle != 0:
        return obstacle
    if not _fits(header, a, b):
        return E_SHAPES
    factors = _factors(header, op, a, recording)
    if factors < 0:
        return factors
    columns = extent(header, b, 1) if ndim == 2 else 1
    record = LuSolveParams(1, extent(header, a, 0), columns, 0, 1, 0)
    params = write_params(stack_i64(_SYSTEMS_BLOCK), record)
    result = result_slot(header, dtype, ndim, col.geometry(header, b), False)
    y = run_new(header, Instruction(op, result, a, b, factors, 0), params, dtype, recording)
    drop_tensor_ref(header, factors)
    return y
