"""Eager execution: append an instruction and run it at once.

These are the functions that Python calls, with 64-bit integers, floats, and the ``id`` of NumPy arrays. A slot that
is returned carries one handle, the new Tensor's. A negative number is an error of `engine.tape.fields.layout`, and
nothing has changed.
"""

from tapegrad.engine.codegen.translator.compiler import (
    EVERY_COMPUTATION,
    entry_point,
    inline_njit,
    shared_njit,
)
from tapegrad.engine.kernels.language.frame import FIELDS
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_i64, store_i64
from tapegrad.engine.sweep.binding.bind import OUTER_FIELDS, bind_forward, op_field, variant
from tapegrad.engine.sweep.binding.control_fields import DRIVER
from tapegrad.engine.sweep.binding.execute import execute
from tapegrad.engine.tape.append import add_tensor_ref, append, is_freed
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import (
    array_size,
    broadcast_extent,
    is_complex,
    is_contiguous,
    is_differentiable,
    real_dtype,
)
from tapegrad.engine.tape.fields.instruction import Instruction
from tapegrad.engine.tape.fields.layout import (
    ALL_LIVE,
    CALLS,
    CONTROL,
    COPY_OP,
    DIFFERENTIABLE,
    DTYPE_COUNT,
    E_DTYPES,
    E_KERNEL,
    E_MEMORY,
    E_PARALLEL,
    E_SHAPES,
    E_STATUS,
    E_SUPERSEDED,
    KERNELS,
    LIBRARY,
    MAX_NDIM,
    NONE,
    OP_DTYPE,
    OP_FIRST,
    OP_REAL,
    OP_THRESHOLD,
    SUPERSEDED,
    TRACED,
)
from tapegrad.engine.tape.fields.parameters import free_params, new_params
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import array_copy, result_slot, scalar_constant

_MAX_COPIED_ELEMENTS = 4096  # elements of an array that are copied for an operand


@inline_njit
def kernel_of(header, op, dtype, direction):
    """Return the address of a kernel, 0 until it is loaded. Direction 0 is forward, 1 reverse, 2 tangent."""
    return load_i64(load_i64(header, KERNELS), (op * DTYPE_COUNT + dtype) * 3 + direction)


@inline_njit
def _flags(header, instruction, recording):
    """Return the flags of a result: differentiable and traced are inherited from the operands."""
    flags = col.flags(header, col.buffer(header, instruction.a))
    if instruction.b >= 0:
        flags |= col.flags(header, col.buffer(header, instruction.b))
    if instruction.c >= 0:
        flags |= col.flags(header, col.buffer(header, instruction.c))
    return flags & ((DIFFERENTIABLE | TRACED) if recording else TRACED)


@inline_njit
def _broadcast(header, a, b, c, ndim, geometry):
    """Write the broadcast extents of the operands behind `geometry`; return whether they are compatible."""
    for d in range(ndim):
        e = broadcast_extent(header, a, d, ndim)
        for other in (b, c):
            if other >= 0:
                o = broadcast_extent(header, other, d, ndim)
                if e == 1:
                    e = o
                elif o != 1 and o != e:
                    return False
        store_i64(geometry, d, e)
    return True


@shared_njit
def run(header, instruction, dtype):
    """Run an instruction forwards by the kernel of a dtype; return the kernel's status."""
    frame, outer = stack_i64(FIELDS), stack_i64(OUTER_FIELDS)
    bind_forward(header, instruction, frame, outer)
    kernel = kernel_of(header, instruction.op, dtype, 0)
    parallel_threshold = op_field(header, instruction.op, OP_THRESHOLD)
    return execute(kernel, frame, load_i64(header, LIBRARY), parallel_threshold, load_i64(header, CONTROL))


@shared_njit
def commit(header, instruction, recording):
    """Give the result its flags, and append the instruction if it will be asked for."""
    flags = _flags(header, instruction, recording)
    if not is_differentiable(
        col.dtype(header, instruction.result)
    ):  # integers and booleans have no derivative
        flags &= ~DIFFERENTIABLE
    buffer = col.buffer(header, instruction.result)
    col.set_flags(header, buffer, col.flags(header, buffer) | flags)
    if flags & DIFFERENTIABLE or load_i64(header, ALL_LIVE):
        append(header, instruction)
        return True
    return False


@inline_njit
def run_structural(header, instruction, params, dtype, recording):
    """Run a structural op with the parameters at an address, and append it if it will be asked for; 0 or an error."""
    op, result, a, b, c, _ = instruction
    if is_superseded(header, a, b, c):
        return E_SUPERSEDED
    own = new_params(params)
    complete = Instruction(op, result, a, b, c, own)
    status = run(header, complete, dtype)
    if status != 0 or not commit(header, complete, recording):
        free_params(own)
    return 0 if status == 0 else E_STATUS - status


@inline_njit
def run_new(header, instruction, params, dtype, recording):
    """`run_structural` with a new result, NONE if memory was short: it is returned with a handle; or an error."""
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
def _dtype_of(header, op, role, dtype):
    """Return the dtype of an operand, or of the result, role 3, where the kernel's is `dtype`: that, or its parts'."""
    return real_dtype(dtype) if (op_field(header, op, OP_REAL) >> role) & 1 else dtype


@inline_njit
def _wrong_dtypes(header, op, a, b, c, dtype):
    """Return whether an operand is not of the dtype that the row says it has beside the kernel's."""
    first = op_field(header, op, OP_FIRST)
    if col.dtype(header, a) != (first if first >= 0 else _dtype_of(header, op, 0, dtype)):
        return True
    if b >= 0 and col.dtype(header, b) != _dtype_of(header, op, 1, dtype):
        return True
    return c >= 0 and col.dtype(header, c) != _dtype_of(header, op, 2, dtype)


@inline_njit
def lacks_driver(header, op, geometry, ndim):
    """Return whether a result needs the parallel driver, which is not loaded yet."""
    parallel_threshold = op_field(header, op, OP_THRESHOLD)
    if parallel_threshold == 0 or load_i64(load_i64(header, CONTROL), DRIVER) != 0:
        return False
    count = 1
    for d in range(ndim):
        count *= load_i64(geometry, d)
    return count >= abs(parallel_threshold)


@inline_njit
def is_superseded(header, a, b, c):
    """Return whether an operand is an earlier version: another thread has written to it since its slot was asked for.

    The slot itself may have been dropped. A recording keeps earlier versions; there it is what the slot held that may
    have been let go of.
    """
    if is_freed(header, a) or is_freed(header, b) or is_freed(header, c):
        return True
    if load_i64(header, ALL_LIVE):
        return _lacks_memory(header, a) or _lacks_memory(header, b) or _lacks_memory(header, c)
    flags = col.flags(header, col.buffer(header, a))
    if b >= 0:
        flags |= col.flags(header, col.buffer(header, b))
    if c >= 0:
        flags |= col.flags(header, col.buffer(header, c))
    return flags & SUPERSEDED != 0


@inline_njit
def _lacks_memory(header, slot):
    """Return whether a recording has let go of what a slot held."""
    if slot < 0:
        return False
    buffer = col.buffer(header, slot)
    return col.primal(header, buffer) == 0 and col.bytes(header, buffer) > 0


@shared_njit
def elementwise(header, op, a, b, c, recording):
    """Record and run an elementwise op: its result with a handle, or an error."""
    if is_superseded(header, a, b, c):
        return E_SUPERSEDED
    return record_any(header, op, a, b, c, recording)


@inline_njit
def record_any(header, op, a, b, c, recording):
    """`elementwise`, of earlier versions too."""
    dtype = variant(header, Instruction(op, NONE, a, b, c, 0))
    if _wrong_dtypes(header, op, a, b, c, dtype):
        return E_DTYPES
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    ndim = col.ndim(header, a)
    if b >= 0:
        ndim = max(ndim, col.ndim(header, b))
    if c >= 0:
        ndim = max(ndim, col.ndim(header, c))
    geometry = stack_i64(MAX_NDIM)
    if not _broadcast(header, a, b, c, ndim, geometry):
        return E_SHAPES
    if lacks_driver(header, op, geometry, ndim):
        return E_PARALLEL
    own = op_field(header, op, OP_DTYPE)
    result = result_slot(header, own if own >= 0 else _dtype_of(header, op, 3, dtype), ndim, geometry, False)
    if result == NONE:
        return E_MEMORY
    instruction = Instruction(op, result, a, b, c, 0)
    run(header, instruction, dtype)
    commit(header, instruction, recording)
    add_tensor_ref(header, result)
    return result


@inline_njit
def contiguous(header, x, recording):
    """Return a slot with the elements of `x` contiguous in C order, with its own handle: `x` or a recorded copy."""
    if is_contiguous(header, x):
        add_tensor_ref(header, x)
        return x
    return elementwise(header, load_i64(header, COPY_OP), x, NONE, NONE, recording)


@inline_njit
def obstacle_to_floats(header, op, x):
    """Return the error that prevents an op of the floats of `x`, as of a slot that was let go of; 0 if none does."""
    dtype = col.dtype(header, x)
    if not is_differentiable(dtype):
        return E_DTYPES
    return E_KERNEL if kernel_of(header, op, dtype, 0) == 0 else 0


@entry_point(group=EVERY_COMPUTATION)
def record_elementwise(header, op, a, b, c, recording):
    """Record and run an elementwise op; absent operands are -1."""
    return elementwise(header, op, a, b, c, recording)


@entry_point(floats=("value",))
def record_with_number(header, op, a, value, number_first, recording):
    """Record and run a binary op of a slot of floats and a Python number, which takes their dtype.

    E_DTYPES for complex numbers: another op takes a real number beside them.
    """
    dtype = col.dtype(header, a)
    if not is_differentiable(dtype) or is_complex(dtype):
        return E_DTYPES
    number = scalar_constant(header, value, dtype)
    if number_first:
        return elementwise(header, op, number, a, NONE, recording)
    return elementwise(header, op, a, number, NONE, recording)


@entry_point()
def record_with_array(header, op, a, array, dtype, array_first, recording):
    """Record and run a binary op of a slot and a copy of a NumPy array of this dtype, in C order.

    E_DTYPES for another dtype, E_SHAPES for an array larger than _MAX_COPIED_ELEMENTS, which should be entered instead.
    """
    if col.dtype(header, a) != dtype:
        return E_DTYPES
    if array_size(array) > _MAX_COPIED_ELEMENTS:
        return E_SHAPES
    b = array_copy(header, array, dtype)
    if b < 0:
        return b
    first, second = (b, a) if array_first else (a, b)
    result = elementwise(header, op, first, second, NONE, recording)
    drop_tensor_ref(header, b)
    return result


@entry_point(tuples=("params",))
def record_out(header, op, result, a, b, c, params, recording):
    """Record and run an op whose result slot the caller has made; a structural op's parameters are copied.

    `params` is a tuple, empty for none. Shapes and bounds are the caller's to check.
    """
    dtype = variant(header, Instruction(op, result, a, b, c, 0))
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    status = run_structural(header, Instruction(op, result, a, b, c, 0), params, dtype, recording)
    return result if status == 0 else status


@entry_point(tuples=("params",))
def append_call(header, op, result, a, b, c, params, recording):
    """Append a call of a user's function, whose result Python has computed; `params` as for `record_out`."""
    store_i64(header, CALLS, 1)
    own = new_params(params)
    if not commit(header, Instruction(op, result, a, b, c, own), recording):
        free_params(own)
