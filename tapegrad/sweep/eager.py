"""Eager execution: append an instruction and run it at once.

These are the functions that Python calls, with 64-bit integers, floats, and the ``id`` of NumPy arrays, whose
shapes, strides and addresses are read here. A slot that is returned carries one handle, the new Tensor's. A negative
number is an error of `tapegrad.tape.layout`, and nothing has changed.
"""

import numba

from tapegrad.compiler import helper, native
from tapegrad.kernels.native import (
    load_f32,
    load_f64,
    load_i64,
    malloc,
    memcpy,
    memset,
    stack_words,
    store_f32,
    store_f64,
    store_i64,
)
from tapegrad.sweep.bind import bind_forward, op_word, variant
from tapegrad.sweep.execute import execute
from tapegrad.sweep.layout import DRIVER, DRIVER_UNKNOWN
from tapegrad.tape.blocks import add_block, new_block, new_zero_block, release_block, retain
from tapegrad.tape.columns import (
    add_handle,
    append,
    drop_handle,
    free_cotangent,
    new_buffer,
    new_slot,
)
from tapegrad.tape.geometry import (
    ARRAY_EXTENTS,
    ARRAY_STRIDES,
    array_data,
    array_ndim,
    broadcast_extent,
    copy_array_geometry,
    extent,
    fill_contiguous_strides,
    item_size,
    size,
    stride,
)
from tapegrad.tape.layout import (
    ACCUMULATE,
    ALL_LIVE,
    CONTROL,
    DIFFERENTIABLE,
    DTYPE_COUNT,
    E_DTYPES,
    E_KERNEL,
    E_MEMORY,
    E_NDIM,
    E_PARALLEL,
    E_SHAPES,
    E_STATUS,
    EXTERNAL,
    F32,
    KERNELS,
    LITERAL_ENTRIES,
    LITERAL_WORDS,
    LITERALS,
    LOOPS,
    MAX_NDIM,
    NONE,
    OP_DTYPE,
    OP_FIRST,
    OP_GRAIN,
    OP_KIND,
    ORPHAN,
    SLOT_CAPACITY,
    TRACED,
    get_buffer,
    get_bytes,
    get_cotangent,
    get_dtype,
    get_flags,
    get_geometry,
    get_keeps,
    get_ndim,
    get_offset,
    get_primal,
    get_producer,
    get_users,
    set_buffer,
    set_cotangent,
    set_flags,
    set_offset,
    set_primal,
)

_ADDRESSABLE = 1 << 47  # bytes that a process can address


@helper
def kernel_of(header, op, dtype, direction):
    """Address of a kernel, 0 until it is loaded. Direction 0 is forward, 1 reverse."""
    return load_i64(load_i64(header, KERNELS), (op * DTYPE_COUNT + dtype) * 2 + direction)


@helper
def _flags(header, a, b, c, recording):
    """Flags of a result: differentiable and traced are inherited from the operands."""
    flags = get_flags(header, get_buffer(header, a))
    if b >= 0:
        flags |= get_flags(header, get_buffer(header, b))
    if c >= 0:
        flags |= get_flags(header, get_buffer(header, c))
    return flags & ((DIFFERENTIABLE | TRACED) if recording else TRACED)


@helper
def _result_slot(header, dtype, ndim, geometry, zeroed):
    """A slot on a new buffer with the extents behind `geometry`; NONE when memory is short."""
    bytes_ = item_size(dtype)
    for d in range(ndim):
        if load_i64(geometry, d) > _ADDRESSABLE // max(bytes_, 1):
            return NONE
        bytes_ *= load_i64(geometry, d)
    block = new_zero_block(bytes_) if zeroed else new_block(bytes_)
    if block == 0:
        return NONE
    slot = new_slot(header, NONE, dtype, ndim, 0)
    own = get_geometry(header, slot)
    for d in range(ndim):
        store_i64(own, d, load_i64(geometry, d))
    fill_contiguous_strides(own, ndim, item_size(dtype))
    set_buffer(header, slot, new_buffer(header, block, bytes_, 0))
    return slot


@helper
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


@helper
def _run(header, op, dtype, result, a, b, c, params):
    """Run an instruction forwards; the kernel's status."""
    frame = stack_words(16)
    outer = stack_words(161)
    bind_forward(header, op, result, a, b, c, params, frame, outer)
    kernel = kernel_of(header, op, dtype, 0)
    grain = op_word(header, op, OP_GRAIN)
    return execute(kernel, frame, load_i64(header, LOOPS), grain, load_i64(header, CONTROL))


@helper
def _commit(header, op, result, a, b, c, params, recording):
    """Give the result its flags, and append the instruction if it will be asked for."""
    flags = _flags(header, a, b, c, recording)
    if (
        get_dtype(header, result) > F32
    ):  # booleans and integers have no derivative, whatever they were made from
        flags &= ~DIFFERENTIABLE
    buffer = get_buffer(header, result)
    set_flags(header, buffer, get_flags(header, buffer) | flags)
    if flags & DIFFERENTIABLE or load_i64(header, ALL_LIVE):
        append(header, op, result, a, b, c, params)
        return True
    return False


@helper
def _wrong_dtypes(header, op, a, b, c, dtype):
    """Whether an operand is not of the kernel's dtype. Only the first may differ, where the row says so."""
    first = op_word(header, op, OP_FIRST)
    if first >= 0:
        if get_dtype(header, a) != first:
            return True
    elif get_dtype(header, a) != dtype:
        return True
    return (b >= 0 and get_dtype(header, b) != dtype) or (c >= 0 and get_dtype(header, c) != dtype)


@helper
def _lacks_driver(header, op, geometry, ndim):
    """Whether a result is large enough for the parallel driver, and nobody has loaded that yet."""
    grain = op_word(header, op, OP_GRAIN)
    if grain == 0 or load_i64(load_i64(header, CONTROL), DRIVER) != DRIVER_UNKNOWN:
        return False
    count = 1
    for d in range(ndim):
        count *= load_i64(geometry, d)
    return count >= abs(grain)


@helper
def _elementwise(header, op, a, b, c, recording):
    dtype = variant(header, op, a, b, c)
    if _wrong_dtypes(header, op, a, b, c, dtype):
        return E_DTYPES
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    ndim = get_ndim(header, a)
    if b >= 0:
        ndim = max(ndim, get_ndim(header, b))
    if c >= 0:
        ndim = max(ndim, get_ndim(header, c))
    geometry = stack_words(32)
    if not _broadcast(header, a, b, c, ndim, geometry):
        return E_SHAPES
    if _lacks_driver(header, op, geometry, ndim):
        return E_PARALLEL
    own = op_word(header, op, OP_DTYPE)
    result = _result_slot(header, own if own >= 0 else dtype, ndim, geometry, False)
    if result == NONE:
        return E_MEMORY
    _run(header, op, dtype, result, a, b, c, 0)
    _commit(header, op, result, a, b, c, 0, recording)
    add_handle(header, result)
    return result


@native()
def record_elementwise(header, op, a, b, c, recording):
    """Record and run an elementwise op; absent operands are -1."""
    return _elementwise(header, op, a, b, c, recording)


@helper
def _new_literal(header, value, dtype):
    """A constant scalar, with one handle."""
    slot = new_slot(header, NONE, dtype, 0, 0)
    block = new_block(8)
    if dtype == F32:
        store_f32(block, 0, numba.float32(value))
    else:
        store_f64(block, 0, value)
    set_buffer(header, slot, new_buffer(header, block, item_size(dtype), 0))
    add_handle(header, slot)
    return slot


@helper
def _literal(header, value, dtype):
    """A constant scalar from the tape's table of those used last, which holds the handle."""
    bits = stack_words(1)
    store_f64(bits, 0, value)
    key = load_i64(bits, 0)
    mixed = (key ^ (key >> 32) ^ (key >> 50)) + dtype
    entry = load_i64(header, LITERALS) + 8 * LITERAL_WORDS * (mixed & (LITERAL_ENTRIES - 1))
    known = load_i64(entry, 2)
    if known != 0 and load_i64(entry, 0) == key and load_i64(entry, 1) == dtype:
        return known - 1
    if known != 0:
        drop_handle(header, known - 1)
    slot = _new_literal(header, value, dtype)
    store_i64(entry, 0, key)
    store_i64(entry, 1, dtype)
    store_i64(entry, 2, slot + 1)
    return slot


@native(floats=("value",))
def record_with_number(header, op, a, value, number_first, recording):
    """Record and run a binary op of a slot and a Python number, which takes the slot's dtype."""
    literal = _literal(header, value, get_dtype(header, a))
    if number_first:
        return _elementwise(header, op, literal, a, NONE, recording)
    return _elementwise(header, op, a, literal, NONE, recording)


@helper
def _reduced_view(header, y, x, axes, keepdims):
    """A slot on y's buffer with x's extents and strides of 0 along the reduced `axes` (a bit mask)."""
    ndim = get_ndim(header, x)
    view = new_slot(header, get_buffer(header, y), get_dtype(header, y), ndim, 0)
    own = get_geometry(header, view)
    k = 0
    for d in range(ndim):
        store_i64(own, d, extent(header, x, d))
        reduced = (axes >> d) & 1
        if reduced:
            store_i64(own, ndim + d, 0)
        else:
            store_i64(own, ndim + d, load_i64(get_geometry(header, y), get_ndim(header, y) + k))
        if keepdims or not reduced:
            k += 1
    return view


@native()
def record_reduction(header, op, x, axes, keepdims, recording):
    """Record and run a reduction of slot x over the axes of a bit mask.

    A sum adds into the result seen with x's shape and strides of 0. Other reductions go line by line along the
    last axis, which must be the only one in the mask.
    """
    dtype = get_dtype(header, x)
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    ndim = get_ndim(header, x)
    if _lacks_driver(header, op, get_geometry(header, x), ndim):
        return E_PARALLEL
    geometry = stack_words(32)
    kept = 0
    for d in range(ndim):
        reduced = (axes >> d) & 1
        if keepdims or not reduced:
            store_i64(geometry, kept, 1 if reduced else extent(header, x, d))
            kept += 1
    y = _result_slot(header, dtype, kept, geometry, op_word(header, op, OP_KIND) == ACCUMULATE)
    if y == NONE:
        return E_MEMORY
    add_handle(header, y)
    view = _reduced_view(header, y, x, axes, keepdims)
    add_handle(header, view)
    _run(header, op, dtype, view, x, NONE, NONE, 0)
    _commit(header, op, view, x, NONE, NONE, 0, recording)
    drop_handle(header, view)
    return y


@native()
def record_into(header, op, result, a, b, c, params, recording):
    """Record and run an op whose result slot the caller has made; a structural op's parameters are copied.

    `params` is the id of an int64 array, or 0. Shapes and bounds are the caller's to check.
    """
    dtype = variant(header, op, a, b, c)
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    own = 0
    if params != 0:
        bytes_ = 8 * load_i64(load_i64(params, 4), 0)
        own = malloc(bytes_)
        memcpy(own, array_data(params), bytes_)
    status = _run(header, op, dtype, result, a, b, c, own)
    if status != 0:
        return E_STATUS - status
    _commit(header, op, result, a, b, c, own, recording)
    return result


@native()
def record_pieces(header, op, results, operands, count, recording):
    """Record and run a unary op on `count` pieces of one result, whose instructions must follow one another.

    `results` and `operands` are the ids of int64 arrays of slots. All of it is one call, so that no other thread's
    instruction comes in between.
    """
    results, operands = array_data(results), array_data(operands)
    for k in range(count):
        a = load_i64(operands, k)
        if kernel_of(header, op, variant(header, op, a, NONE, NONE), 0) == 0:
            return E_KERNEL
    for k in range(count):
        result, a = load_i64(results, k), load_i64(operands, k)
        _run(header, op, variant(header, op, a, NONE, NONE), result, a, NONE, NONE, 0)
        _commit(header, op, result, a, NONE, NONE, 0, recording)
    return 0


@native()
def allocate(header, dtype, shape, zeroed):
    """A slot on a new buffer; `shape` is the id of an int64 array of extents."""
    ndim = load_i64(load_i64(shape, 4), 0)
    if ndim > MAX_NDIM:
        return E_NDIM
    slot = _result_slot(header, dtype, ndim, array_data(shape), zeroed)
    if slot == NONE:
        return E_MEMORY
    add_handle(header, slot)
    return slot


@native()
def enter_array(header, array, dtype, flags):
    """A slot on a NumPy array's own memory, which the caller keeps alive until the buffer is an orphan.

    Returns the slot, and the buffer in the upper 32 bits.
    """
    ndim = array_ndim(array)
    if ndim > MAX_NDIM:
        return E_NDIM
    slot = new_slot(header, NONE, dtype, ndim, 0)
    own = get_geometry(header, slot)
    copy_array_geometry(array, ndim, own)
    below, above = 0, item_size(dtype)
    for d in range(ndim):
        reach = load_i64(own, ndim + d) * (load_i64(own, d) - 1)
        below += min(0, reach)
        above += max(0, reach)
    span = above - below if size(header, slot) > 0 else 0
    buffer = new_buffer(header, array_data(array) + below, span, flags | EXTERNAL)
    set_buffer(header, slot, buffer)
    set_offset(header, slot, -below)
    add_handle(header, slot)
    return slot + (buffer << 32)


@native()
def view_array(header, slot, array):
    """A slot on the same buffer, with the geometry of a NumPy view of the buffer's primal."""
    ndim = array_ndim(array)
    if ndim > MAX_NDIM:
        return E_NDIM
    buffer = get_buffer(header, slot)
    offset = array_data(array) - get_primal(header, buffer)
    view = new_slot(header, buffer, get_dtype(header, slot), ndim, offset)
    copy_array_geometry(array, ndim, get_geometry(header, view))
    add_handle(header, view)
    return view


@native()
def view_geometry(header, slot, offset, geometry):
    """A slot on the same buffer at `offset` bytes; `geometry` is the id of an array of extents and strides."""
    ndim = load_i64(load_i64(geometry, 4), 0) // 2
    if ndim > MAX_NDIM:
        return E_NDIM
    view = new_slot(header, get_buffer(header, slot), get_dtype(header, slot), ndim, offset)
    if ndim > 0:
        memcpy(get_geometry(header, view), array_data(geometry), 16 * ndim)
    add_handle(header, view)
    return view


@native()
def copy_array(header, array, dtype, flags):
    """A slot on a new buffer with a copy of a NumPy array in C order; E_SHAPES if it is in another order."""
    ndim = array_ndim(array)
    if ndim > MAX_NDIM:
        return E_NDIM
    slot = _result_slot(header, dtype, ndim, load_i64(array, ARRAY_EXTENTS), False)
    if slot < 0:
        return slot
    add_handle(header, slot)
    strides = load_i64(array, ARRAY_STRIDES)
    for d in range(ndim):
        if load_i64(strides, d) != stride(header, slot, d) and extent(header, slot, d) > 1:
            drop_handle(header, slot)
            return E_SHAPES
    buffer = get_buffer(header, slot)
    memcpy(get_primal(header, buffer), array_data(array), get_bytes(header, buffer))
    set_flags(header, buffer, flags)
    return slot


@native()
def view_slice(header, slot, start, stop):
    """A slot for ``x[start:stop]`` along the first dimension, the limits clamped as Python's slices are.

    E_SHAPES if there is no dimension.
    """
    if get_ndim(header, slot) == 0:
        return E_SHAPES
    n = extent(header, slot, 0)
    start = min(max(start + n if start < 0 else start, 0), n)
    stop = max(min(max(stop + n if stop < 0 else stop, 0), n), start)
    ndim = get_ndim(header, slot)
    offset = get_offset(header, slot) + (start * stride(header, slot, 0) if stop > start else 0)
    view = new_slot(header, get_buffer(header, slot), get_dtype(header, slot), ndim, offset)
    memcpy(get_geometry(header, view), get_geometry(header, slot), 16 * ndim)
    store_i64(get_geometry(header, view), 0, stop - start)
    add_handle(header, view)
    return view


@native()
def view_again(header, slot, base):
    """A slot like `slot`, on the buffer of `base`."""
    ndim = get_ndim(header, slot)
    view = new_slot(header, get_buffer(header, base), get_dtype(header, slot), ndim, get_offset(header, slot))
    if ndim > 0:
        memcpy(get_geometry(header, view), get_geometry(header, slot), 16 * ndim)
    add_handle(header, view)
    return view


@native()
def drop(header, slot):
    """A Tensor lets go of its slot; whether a Python object that owned memory can be dropped.

    The garbage collector may finalise a tape before the Tensors on it: then there is nothing left to let go of.
    """
    if load_i64(header, SLOT_CAPACITY) == 0:
        return False
    drop_handle(header, slot)
    return load_i64(header, ORPHAN) != NONE


@native()
def move_on(header, slot):
    """Begin an in-place write: a new buffer takes over the memory of the slot's buffer.

    The old buffer keeps a copy of the primal if a recorded instruction reads it, otherwise none. Returns a slot
    over all elements of the new buffer.
    """
    old = get_buffer(header, slot)
    dtype = get_dtype(header, slot)
    memory = get_primal(header, old)
    bytes_ = get_bytes(header, old)
    copy = 0
    if get_keeps(header, old) > 0 or load_i64(header, ALL_LIVE):
        copy = new_block(bytes_)
        if copy == 0:
            return E_MEMORY
        memcpy(copy, memory, bytes_)
    set_primal(header, old, copy)
    new = new_buffer(header, memory, bytes_, get_flags(header, old))
    set_flags(header, old, get_flags(header, old) & ~EXTERNAL)
    fresh = new_slot(header, new, dtype, 1, 0)
    store_i64(get_geometry(header, fresh), 0, bytes_ // item_size(dtype))
    store_i64(get_geometry(header, fresh), 1, item_size(dtype))
    add_handle(header, fresh)
    return fresh


# Words that `describe` writes.
(D_ADDRESS, D_DTYPE, D_FLAGS, D_KEEPS, D_PRODUCER, D_BUFFER, D_EXTERNAL, D_NDIM, D_GEOMETRY) = range(9)
DESCRIPTION_WORDS = D_GEOMETRY + 2 * MAX_NDIM


@native()
def describe(header, slot, description, cotangent, hold):
    """Write what there is to know of a slot into an int64 array; with `hold`, add a reference to its memory.

    The address is that of the first element of the primal, or of the cotangent; 0 if there is none.
    """
    words = array_data(description)
    buffer = get_buffer(header, slot)
    memory = get_cotangent(header, buffer) if cotangent else get_primal(header, buffer)
    external = get_flags(header, buffer) & EXTERNAL != 0 and not cotangent
    if hold and memory != 0 and not external:
        retain(memory)
    ndim = get_ndim(header, slot)
    store_i64(words, D_ADDRESS, memory + get_offset(header, slot) if memory != 0 else 0)
    store_i64(words, D_DTYPE, get_dtype(header, slot))
    store_i64(words, D_FLAGS, get_flags(header, buffer))
    store_i64(words, D_KEEPS, get_keeps(header, buffer))
    store_i64(words, D_PRODUCER, get_producer(header, buffer))
    store_i64(words, D_BUFFER, buffer)
    store_i64(words, D_EXTERNAL, 1 if external else 0)
    store_i64(words, D_NDIM, ndim)
    if ndim > 0:
        memcpy(words + 8 * D_GEOMETRY, get_geometry(header, slot), 16 * ndim)
    return memory


@native()
def let_go(memory):
    """Drop the reference that `describe` added."""
    release_block(memory)


@native()
def scalar(header, slot):
    """The one element of a float slot."""
    address = get_primal(header, get_buffer(header, slot)) + get_offset(header, slot)
    return numba.float64(load_f32(address, 0)) if get_dtype(header, slot) == F32 else load_f64(address, 0)


@native()
def clear_cotangent(header, slot, keep_memory):
    """Set the cotangent of a slot's buffer to zero, or let it go."""
    buffer = get_buffer(header, slot)
    cotangent = get_cotangent(header, buffer)
    if cotangent == 0:
        return
    if keep_memory:
        memset(cotangent, 0, get_bytes(header, buffer))
    else:
        free_cotangent(header, buffer)


@native()
def append_identity(header, op, result, a):
    """Append an instruction without running it: the result's primal is there already."""
    _commit(header, op, result, a, NONE, NONE, 0, 1)


@native()
def is_used(header, slot):
    """Whether an instruction or another Tensor uses the buffer of a slot that one Tensor holds."""
    return get_users(header, get_buffer(header, slot)) > 1


@native()
def move_cotangent(header, source, target):
    """Add the cotangent of one buffer to that of another of the same layout, and leave none behind."""
    from_, to = get_buffer(header, source), get_buffer(header, target)
    cotangent = get_cotangent(header, from_)
    if cotangent == 0:
        return
    if get_cotangent(header, to) == 0:
        set_cotangent(header, to, cotangent)
    else:
        add_block(cotangent, get_cotangent(header, to), get_bytes(header, to), get_dtype(header, target))
        release_block(cotangent)
    set_cotangent(header, from_, 0)
