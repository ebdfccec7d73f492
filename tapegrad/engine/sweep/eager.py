"""Eager execution: append an instruction and run it at once.

These are the functions that Python calls, with 64-bit integers, floats, and the ``id`` of NumPy arrays. A slot that
is returned carries one handle, the new Tensor's. A negative number is an error of `engine.tape.layout`, and
nothing has changed.
"""

from tapegrad.engine.kernels.frame import WORDS
from tapegrad.engine.kernels.raw_memory import load_i64, stack_words, store_i64
from tapegrad.engine.runtime.compiler import EVERY_COMPUTATION, entry_point, inline_njit
from tapegrad.engine.sweep.bind import OUTER_WORDS, bind_forward, op_word, variant
from tapegrad.engine.sweep.control_words import DRIVER
from tapegrad.engine.sweep.execute import execute
from tapegrad.engine.tape import columns as col
from tapegrad.engine.tape.append import add_tensor_ref, append
from tapegrad.engine.tape.geometry import array_data, broadcast_extent, extent
from tapegrad.engine.tape.growth import new_slot
from tapegrad.engine.tape.instruction import Instruction
from tapegrad.engine.tape.layout import (
    ALL_LIVE,
    BROADCAST_SUM,
    CALLS,
    CONTROL,
    DIFFERENTIABLE,
    DTYPE_COUNT,
    E_DTYPES,
    E_KERNEL,
    E_MEMORY,
    E_PARALLEL,
    E_SHAPES,
    E_STATUS,
    F32,
    KERNELS,
    LIBRARY,
    MAX_NDIM,
    NONE,
    OP_DTYPE,
    OP_FIRST,
    OP_KIND,
    OP_THRESHOLD,
    TRACED,
)
from tapegrad.engine.tape.parameters import free_params, new_params
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import result_slot, scalar_constant


@inline_njit
def kernel_of(header, op, dtype, direction):
    """Address of a kernel, 0 until it is loaded. Direction 0 is forward, 1 reverse, 2 tangent."""
    return load_i64(load_i64(header, KERNELS), (op * DTYPE_COUNT + dtype) * 3 + direction)


@inline_njit
def _flags(header, instruction, recording):
    """Flags of a result: differentiable and traced are inherited from the operands."""
    flags = col.flags(header, col.buffer(header, instruction.a))
    if instruction.b >= 0:
        flags |= col.flags(header, col.buffer(header, instruction.b))
    if instruction.c >= 0:
        flags |= col.flags(header, col.buffer(header, instruction.c))
    return flags & ((DIFFERENTIABLE | TRACED) if recording else TRACED)


@inline_njit
def _broadcast(header, a, b, c, ndim, geometry):
    """Write the broadcast extents of the operands behind `geometry`; whether they agree."""
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


@inline_njit
def _run(header, instruction, dtype):
    """Run an instruction forwards by the kernel of a dtype; the kernel's status."""
    frame, outer = stack_words(WORDS), stack_words(OUTER_WORDS)
    bind_forward(header, instruction, frame, outer)
    kernel = kernel_of(header, instruction.op, dtype, 0)
    parallel_threshold = op_word(header, instruction.op, OP_THRESHOLD)
    return execute(kernel, frame, load_i64(header, LIBRARY), parallel_threshold, load_i64(header, CONTROL))


@inline_njit
def _commit(header, instruction, recording):
    """Give the result its flags, and append the instruction if it will be asked for."""
    flags = _flags(header, instruction, recording)
    if col.dtype(header, instruction.result) > F32:  # no derivative, whatever it was made from
        flags &= ~DIFFERENTIABLE
    buffer = col.buffer(header, instruction.result)
    col.set_flags(header, buffer, col.flags(header, buffer) | flags)
    if flags & DIFFERENTIABLE or load_i64(header, ALL_LIVE):
        append(header, instruction)
        return True
    return False


@inline_njit
def _wrong_dtypes(header, op, a, b, c, dtype):
    """Whether an operand is not of the kernel's dtype. Only the first may differ, where the row says so."""
    first = op_word(header, op, OP_FIRST)
    if first >= 0:
        if col.dtype(header, a) != first:
            return True
    elif col.dtype(header, a) != dtype:
        return True
    return (b >= 0 and col.dtype(header, b) != dtype) or (c >= 0 and col.dtype(header, c) != dtype)


@inline_njit
def _lacks_driver(header, op, geometry, ndim):
    """Whether a result needs the parallel driver, which is not loaded yet."""
    parallel_threshold = op_word(header, op, OP_THRESHOLD)
    if parallel_threshold == 0 or load_i64(load_i64(header, CONTROL), DRIVER) != 0:
        return False
    count = 1
    for d in range(ndim):
        count *= load_i64(geometry, d)
    return count >= abs(parallel_threshold)


@inline_njit
def _elementwise(header, op, a, b, c, recording):
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
    geometry = stack_words(MAX_NDIM)
    if not _broadcast(header, a, b, c, ndim, geometry):
        return E_SHAPES
    if _lacks_driver(header, op, geometry, ndim):
        return E_PARALLEL
    own = op_word(header, op, OP_DTYPE)
    result = result_slot(header, own if own >= 0 else dtype, ndim, geometry, False)
    if result == NONE:
        return E_MEMORY
    instruction = Instruction(op, result, a, b, c, 0)
    _run(header, instruction, dtype)
    _commit(header, instruction, recording)
    add_tensor_ref(header, result)
    return result


@entry_point(group=EVERY_COMPUTATION)
def record_elementwise(header, op, a, b, c, recording):
    """Record and run an elementwise op; absent operands are -1."""
    return _elementwise(header, op, a, b, c, recording)


@entry_point(floats=("value",))
def record_with_number(header, op, a, value, number_first, recording):
    """Record and run a binary op of a slot and a Python number, which takes the slot's dtype."""
    dtype = col.dtype(header, a)
    if dtype > F32:
        return E_DTYPES
    number = scalar_constant(header, value, dtype)
    if number_first:
        return _elementwise(header, op, number, a, NONE, recording)
    return _elementwise(header, op, a, number, NONE, recording)


@inline_njit
def _reduced_view(header, y, x, axes, keepdims):
    """A slot on y's buffer with x's extents and strides of 0 along the reduced `axes` (a bit mask)."""
    ndim = col.ndim(header, x)
    view = new_slot(header, col.buffer(header, y), col.dtype(header, y), ndim, 0)
    own = col.geometry(header, view)
    k = 0
    for d in range(ndim):
        store_i64(own, d, extent(header, x, d))
        reduced = (axes >> d) & 1
        if reduced:
            store_i64(own, ndim + d, 0)
        else:
            store_i64(own, ndim + d, load_i64(col.geometry(header, y), col.ndim(header, y) + k))
        if keepdims or not reduced:
            k += 1
    return view


@entry_point()
def record_reduction(header, op, x, axes, keepdims, recording):
    """Record and run a reduction of slot x over the axes of a bit mask.

    A sum adds into the result seen with x's shape and strides of 0. Other reductions go line by line along the
    last axis, which must be the only one in the mask.
    """
    dtype = col.dtype(header, x)
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    ndim = col.ndim(header, x)
    if _lacks_driver(header, op, col.geometry(header, x), ndim):
        return E_PARALLEL
    geometry = stack_words(MAX_NDIM)
    kept = 0
    for d in range(ndim):
        reduced = (axes >> d) & 1
        if keepdims or not reduced:
            store_i64(geometry, kept, 1 if reduced else extent(header, x, d))
            kept += 1
    y = result_slot(header, dtype, kept, geometry, op_word(header, op, OP_KIND) == BROADCAST_SUM)
    if y == NONE:
        return E_MEMORY
    add_tensor_ref(header, y)
    view = _reduced_view(header, y, x, axes, keepdims)
    add_tensor_ref(header, view)
    instruction = Instruction(op, view, x, NONE, NONE, 0)
    _run(header, instruction, dtype)
    _commit(header, instruction, recording)
    drop_tensor_ref(header, view)
    return y


@entry_point()
def record_out(header, op, result, a, b, c, params, recording):
    """Record and run an op whose result slot the caller has made; a structural op's parameters are copied.

    `params` is the id of an int64 array, or 0. Shapes and bounds are the caller's to check.
    """
    dtype = variant(header, Instruction(op, result, a, b, c, 0))
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    own = new_params(params)
    instruction = Instruction(op, result, a, b, c, own)
    status = _run(header, instruction, dtype)
    if status != 0 or not _commit(header, instruction, recording):
        free_params(own)
    return result if status == 0 else E_STATUS - status


@entry_point()
def record_segments(header, op, results, operands, count, recording):
    """Record and run a unary op on `count` pieces of one result, whose instructions must follow one another.

    `results` and `operands` are the ids of int64 arrays of slots. All of it is one call, so that no other thread's
    instruction comes in between.
    """
    results, operands = array_data(results), array_data(operands)
    for k in range(count):
        if kernel_of(header, op, col.dtype(header, load_i64(operands, k)), 0) == 0:
            return E_KERNEL
    for k in range(count):
        instruction = Instruction(op, load_i64(results, k), load_i64(operands, k), NONE, NONE, 0)
        _run(header, instruction, col.dtype(header, instruction.a))
        _commit(header, instruction, recording)
    return 0


@entry_point()
def append_identity(header, op, result, a):
    """Append an instruction without running it: the result's primal is there already."""
    _commit(header, Instruction(op, result, a, NONE, NONE, 0), 1)


@entry_point()
def append_call(header, op, result, a, b, c, params, recording):
    """Append a call of a user's function, whose result Python has computed; `params` as for `record_out`."""
    store_i64(header, CALLS, 1)
    own = new_params(params)
    if not _commit(header, Instruction(op, result, a, b, c, own), recording):
        free_params(own)
