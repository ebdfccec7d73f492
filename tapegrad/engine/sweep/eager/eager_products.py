"""Products of matrices, of vectors, and of batches of matrices, recorded and run in one call."""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import stack_i64, store_i64
from tapegrad.engine.sweep.eager.eager import contiguous, obstacle_to_floats, run_new
from tapegrad.engine.tape.append import add_tensor_ref
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import broadcast_extent, extent, item_size, stride
from tapegrad.engine.tape.fields.instruction import Instruction
from tapegrad.engine.tape.fields.layout import E_DTYPES, E_MEMORY, E_SHAPES, MAX_NDIM, NONE
from tapegrad.engine.tape.fields.parameters import write_params
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import result_slot
from tapegrad.engine.tape.views import VIEW_FIELDS, describe, describe_like, view_as
from tapegrad.ops.structural.matrices import MatmulParams

_PARAMS_BLOCK = 1 + len(MatmulParams._fields)


@inline_njit
def _matrix(header, x, is_column):
    """Return a vector as a row or as a column, other operands as they are; with a handle of its own."""
    if col.ndim(header, x) > 1:
        add_tensor_ref(header, x)
        return x
    seen = stack_i64(VIEW_FIELDS)
    describe(seen, 1 if is_column else 0, 1, 0)
    describe_like(seen, 0 if is_column else 1, header, x, 0)
    return view_as(header, x, 2, col.offset(header, x), seen)


@inline_njit
def _is_addressable(header, x):
    """Return whether the strides of x's matrices are positive and one of them an element, as a cotangent needs them."""
    last, item = col.ndim(header, x) - 1, item_size(col.dtype(header, x))
    m, n = extent(header, x, last - 1), extent(header, x, last)
    rows, columns = stride(header, x, last - 1), stride(header, x, last)
    by_rows = (columns == item or n <= 1) and (rows >= n * item or m <= 1)
    by_columns = (rows == item or m <= 1) and (columns >= m * item or n <= 1)
    return by_rows or by_columns


@inline_njit
def _factor(header, x, is_column, recording):
    """Return an operand as matrices that BLAS can address: a view or a recorded copy, with a handle; or an error."""
    matrix = _matrix(header, x, is_column)
    if _is_addressable(header, matrix):
        return matrix
    copied = contiguous(header, matrix, recording)
    drop_tensor_ref(header, matrix)
    return copied


@inline_njit
def _product_shape(header, a, b, shape):
    """Write the shape of the product of two slots of matrices; return the dimensions, or NONE where they do not fit."""
    ndim = max(col.ndim(header, a), col.ndim(header, b))
    for d in range(ndim - 2):
        one, other = broadcast_extent(header, a, d, ndim), broadcast_extent(header, b, d, ndim)
        if one != other and one != 1 and other != 1:
            return NONE
        store_i64(shape, d, other if one == 1 else one)
    last_a, last_b = col.ndim(header, a) - 1, col.ndim(header, b) - 1
    if extent(header, a, last_a) != extent(header, b, last_b - 1):
        return NONE
    store_i64(shape, ndim - 2, extent(header, a, last_a - 1))
    store_i64(shape, ndim - 1, extent(header, b, last_b))
    return ndim


@inline_njit
def _without(header, y, row, column):
    """Drop the dimension of extent 1 that stands for a vector from a new result `y`, and take over its handle."""
    ndim, seen, k = col.ndim(header, y), stack_i64(VIEW_FIELDS), 0
    for d in range(ndim):
        if not ((row and d == ndim - 2) or (column and d == ndim - 1)):
            describe_like(seen, k, header, y, d)
            k += 1
    kept = view_as(header, y, k, 0, seen)
    drop_tensor_ref(header, y)
    return kept


@inline_njit
def _multiply(header, op, a, b, recording):
    """Record and run the product of two slots of matrices: its result with a handle, or an error."""
    shape = stack_i64(MAX_NDIM)
    ndim = _product_shape(header, a, b, shape)
    if ndim == NONE:
        return E_SHAPES
    y = result_slot(header, col.dtype(header, a), ndim, shape, False)
    if y == NONE:
        return E_MEMORY
    last_a, last_b = col.ndim(header, a) - 1, col.ndim(header, b) - 1
    record = MatmulParams(
        extent(header, y, ndim - 2),
        extent(header, y, ndim - 1),
        extent(header, a, last_a),
        stride(header, a, last_a - 1),
        stride(header, a, last_a),
        stride(header, b, last_b - 1),
        stride(header, b, last_b),
        stride(header, y, ndim - 2),
        stride(header, y, ndim - 1),
    )
    params = write_params(stack_i64(_PARAMS_BLOCK), record)
    return run_new(header, Instruction(op, y, a, b, NONE, 0), params, col.dtype(header, a), recording)


@entry_point()
def record_product(header, op, a, b, recording):
    """Record and run the product of two slots as ``numpy.matmul`` has it.

    E_DTYPES where the dtypes differ or are no floats, E_SHAPES where the shapes do not fit.
    """
    if col.dtype(header, a) != col.dtype(header, b):
        return E_DTYPES
    obstacle = obstacle_to_floats(header, op, a)
    if obstacle != 0:
        return obstacle
    row, column = col.ndim(header, a) == 1, col.ndim(header, b) == 1
    if col.ndim(header, a) == 0 or col.ndim(header, b) == 0:
        return E_SHAPES
    left = _factor(header, a, False, recording)
    if left < 0:
        return left
    right = _factor(header, b, True, recording)
    y = right if right < 0 else _multiply(header, op, left, right, recording)
    drop_tensor_ref(header, left)
    if right >= 0:
        drop_tensor_ref(header, right)
    return _without(header, y, row, column) if y >= 0 and (row or column) else y
