"""Slots as Python makes and drops them: on new memory, on NumPy's, and on that of other slots.

Arguments are 64-bit integers and the ``id`` of NumPy arrays, whose shapes, strides and addresses are read here. A
slot that is returned carries one handle, the new Tensor's. A negative number is an error of
`engine.tape.fields.layout`.
"""

from tapegrad.engine.codegen.translator.compiler import (
    EVERY_COMPUTATION,
    entry_point,
    inline_njit,
    shared_njit,
)
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.raw_memory import (
    load_i64,
    memcpy,
    stack_i64,
    store_f32,
    store_f64,
    store_i64,
)
from tapegrad.engine.kernels.language.strided import in_c_order, reach
from tapegrad.engine.tape.append import add_tensor_ref, is_freed
from tapegrad.engine.tape.blocks import new_block, new_zero_block
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import (
    ARRAY_EXTENTS,
    ARRAY_STRIDES,
    array_data,
    array_length,
    array_ndim,
    copy_array_geometry,
    extent,
    fill_contiguous_strides,
    is_read_only,
    is_single,
    item_size,
    size,
)
from tapegrad.engine.tape.fields.growth import new_buffer, new_slot, new_view
from tapegrad.engine.tape.fields.layout import (
    CLOSED,
    E_MEMORY,
    E_NDIM,
    E_OUTSIDE,
    E_SHAPES,
    E_SUPERSEDED,
    EXTERNAL,
    MAX_NDIM,
    NONE,
    ORPHAN,
    SCALAR_CACHE,
    SCALAR_CACHE_ENTRIES,
    SCALAR_CACHE_FIELDS,
    SLOT_CAPACITY,
    SLOTS,
)
from tapegrad.engine.tape.release import drop_tensor_ref

_ADDRESSABLE = 1 << 47  # bytes that a process can address


@shared_njit
def result_slot(header, dtype, ndim, geometry, zeroed):
    """Return a slot on a new buffer with the extents behind `geometry`; NONE when memory is short."""
    bytes_ = item_size(dtype)
    for d in range(ndim):
        if load_i64(geometry, d) > _ADDRESSABLE // max(bytes_, 1):
            return NONE
        bytes_ *= load_i64(geometry, d)
    block = new_zero_block(bytes_) if zeroed else new_block(bytes_)
    if block == 0:
        return NONE
    slot = new_slot(header, NONE, dtype, ndim, 0)
    own = col.geometry(header, slot)
    for d in range(ndim):
        store_i64(own, d, load_i64(geometry, d))
    fill_contiguous_strides(own, ndim, item_size(dtype))
    col.set_buffer(header, slot, new_buffer(header, block, bytes_, 0))
    return slot


@entry_point(tuples=("shape",))
def allocate(header, dtype, shape, zeroed):
    """Return a slot on a new buffer; `shape` is a tuple."""
    ndim = load_i64(shape, -1)
    if ndim > MAX_NDIM:
        return E_NDIM
    slot = result_slot(header, dtype, ndim, shape, zeroed)
    if slot == NONE:
        return E_MEMORY
    add_tensor_ref(header, slot)
    return slot


@entry_point(group=EVERY_COMPUTATION)
def enter_array(header, array, dtype, flags):
    """Return a slot on a NumPy array's own memory, which the caller keeps alive until the buffer is an orphan.

    Returns the slot, and the buffer in the upper 32 bits.
    """
    ndim = array_ndim(array)
    if ndim > MAX_NDIM:
        return E_NDIM
    slot = new_slot(header, NONE, dtype, ndim, 0)
    col.set_read_only(header, slot, is_read_only(array))
    own = col.geometry(header, slot)
    copy_array_geometry(array, ndim, own)
    below, above = reach(ndim, own, own + 8 * ndim)
    span = above - below + item_size(dtype)
    if size(header, slot) == 0:
        below, span = 0, 0
    buffer = new_buffer(header, array_data(array) + below, span, flags | EXTERNAL)
    col.set_buffer(header, slot, buffer)
    col.set_offset(header, slot, -below)
    add_tensor_ref(header, slot)
    return slot + (buffer << 32)


@inline_njit
def array_copy(header, array, dtype):
    """Return a slot on a new buffer with a copy of a NumPy array, and a handle; E_SHAPES if that is not in C order."""
    ndim, extents = array_ndim(array), load_i64(array, ARRAY_EXTENTS)
    if ndim > MAX_NDIM:
        return E_NDIM
    if not in_c_order(ndim, extents, load_i64(array, ARRAY_STRIDES), item_size(dtype)):
        return E_SHAPES
    slot = result_slot(header, dtype, ndim, extents, False)
    if slot == NONE:
        return E_MEMORY
    add_tensor_ref(header, slot)
    buffer = col.buffer(header, slot)
    memcpy(col.primal(header, buffer), array_data(array), col.bytes(header, buffer))
    return slot


@entry_point()
def copy_array(header, array, dtype, flags):
    """Return a slot on a new buffer with a copy of a NumPy array in C order; E_SHAPES if it is in another order."""
    slot = array_copy(header, array, dtype)
    if slot >= 0:
        col.set_flags(header, col.buffer(header, slot), flags)
    return slot


@inline_njit
def _lies_inside(bytes_, offset, item, ndim, extents, strides):
    """Return whether elements of `item` bytes, the first at `offset`, all lie inside a buffer of `bytes_`.

    Products are compared by division: extents and strides may be such that they overflow.
    """
    for d in range(ndim):
        steps, by = load_i64(extents, d) - 1, load_i64(strides, d)
        # A stride of a dimension of extent 1 may have any value.
        if steps != 0 and (by < -bytes_ or by > bytes_ or (by != 0 and steps > bytes_ // abs(by))):
            return False
    below, above = reach(ndim, extents, strides)
    return offset + below >= 0 and offset + above + item <= bytes_


@inline_njit
def _is_empty(ndim, extents):
    """Return whether some extent is 0."""
    for d in range(ndim):
        if load_i64(extents, d) == 0:
            return True
    return False


@inline_njit
def _offset_in(header, slot, array, dtype):
    """Return `offset_in`; 0 for an array without elements."""
    ndim, extents, strides = array_ndim(array), load_i64(array, ARRAY_EXTENTS), load_i64(array, ARRAY_STRIDES)
    if is_freed(header, slot):
        return E_SUPERSEDED
    if _is_empty(ndim, extents):
        return 0
    buffer = col.buffer(header, slot)
    offset = array_data(array) - col.primal(header, buffer)
    item = item_size(dtype)
    inside = _lies_inside(col.bytes(header, buffer), offset, item, ndim, extents, strides)
    return offset if inside else E_OUTSIDE


@entry_point()
def view_array(header, slot, array, dtype):
    """Return a slot on the same buffer with the geometry of a NumPy view of its primal, read-only if that is.

    Its dtype is that of the view: of complex numbers their parts can be seen as floats.
    """
    ndim = array_ndim(array)
    if ndim > MAX_NDIM:
        return E_NDIM
    offset = _offset_in(header, slot, array, dtype)
    if offset < 0:
        return offset
    view = new_view(header, slot, ndim, offset)
    col.set_dtype(header, view, dtype)
    col.set_read_only(header, view, is_read_only(array))
    copy_array_geometry(array, ndim, col.geometry(header, view))
    add_tensor_ref(header, view)
    return view


@entry_point()
def offset_in(header, slot, array, dtype):
    """Bytes from the beginning of the slot's buffer to a NumPy array on its memory; E_OUTSIDE if it is not inside."""
    return _offset_in(header, slot, array, dtype)


@inline_njit
def _view(header, slot, buffer, ndim, offset, geometry, dtype):
    """Return a view of a slot on a buffer like its own, with the extents and strides at an address; or E_OUTSIDE."""
    item, strides = item_size(dtype), geometry + 8 * ndim
    if not _is_empty(ndim, geometry) and not _lies_inside(
        col.bytes(header, buffer), offset, item, ndim, geometry, strides
    ):
        return E_OUTSIDE
    view = new_view(header, slot, ndim, offset)
    col.set_dtype(header, view, dtype)
    col.set_buffer(header, view, buffer)
    if ndim > 0:
        memcpy(col.geometry(header, view), geometry, 16 * ndim)
    add_tensor_ref(header, view)
    return view


@entry_point()
def view_geometry(header, slot, offset, geometry, dtype):
    """Return a slot on the same buffer at `offset` bytes; `geometry` is the id of an array of extents and strides."""
    ndim = array_length(geometry) // 2
    if ndim > MAX_NDIM:
        return E_NDIM
    return _view(header, slot, col.buffer(header, slot), ndim, offset, array_data(geometry), dtype)


@entry_point()
def view_again(header, slot, base):
    """Return a slot with the geometry of `slot`, on the buffer of `base`."""
    if is_freed(header, slot) or is_freed(header, base):
        return E_SUPERSEDED
    ndim, offset, geometry = col.ndim(header, slot), col.offset(header, slot), col.geometry(header, slot)
    dtype = col.dtype(header, slot)
    return _view(header, slot, col.buffer(header, base), ndim, offset, geometry, dtype)


@inline_njit
def _new_scalar_constant(header, value, dtype):
    """Return a constant scalar, with one handle."""
    slot = new_slot(header, NONE, dtype, 0, 0)
    block = new_zero_block(16)
    if is_single(dtype):
        store_f32(block, 0, numba.float32(value))
    else:
        store_f64(block, 0, value)
    col.set_buffer(header, slot, new_buffer(header, block, item_size(dtype), 0))
    add_tensor_ref(header, slot)
    return slot


@inline_njit
def scalar_constant(header, value, dtype):
    """Return a constant scalar from the tape's table of recent ones, which holds the handle."""
    bits = stack_i64(1)
    store_f64(bits, 0, value)
    key = load_i64(bits, 0)
    mixed = (key ^ (key >> 32) ^ (key >> 50)) + dtype
    entry = load_i64(header, SCALAR_CACHE) + 8 * SCALAR_CACHE_FIELDS * (mixed & (SCALAR_CACHE_ENTRIES - 1))
    known = load_i64(entry, 2)
    if known != 0 and load_i64(entry, 0) == key and load_i64(entry, 1) == dtype:
        return known - 1
    if known != 0:
        drop_tensor_ref(header, known - 1)
    slot = _new_scalar_constant(header, value, dtype)
    store_i64(entry, 0, key)
    store_i64(entry, 1, dtype)
    store_i64(entry, 2, slot + 1)
    return slot


@entry_point(floats=("value",))
def number(header, value, dtype):
    """Return a slot on a constant scalar, which two calls with one value may share."""
    slot = scalar_constant(header, value, dtype)
    add_tensor_ref(header, slot)
    return slot


@entry_point(group=EVERY_COMPUTATION)
def drop(header, slot):
    """Drop the slot of a Tensor; return whether a Python object that owned memory can be dropped.

    The garbage collector may finalise a tape before the Tensors on it: then there is nothing left to let go of.
    """
    if load_i64(header, SLOT_CAPACITY) == CLOSED:
        return False
    drop_tensor_ref(header, slot)
    return load_i64(header, ORPHAN) != NONE


@entry_point()
def dtype_of(header, slot):
    """Return the code of a slot's dtype."""
    return col.dtype(header, slot)


@entry_point(returns_tuple=True)
def shape_of(header, slot, shape):
    """Return a slot's extents as a tuple."""
    ndim = col.ndim(header, slot)
    if ndim > 0:
        memcpy(shape, col.geometry(header, slot), 8 * ndim)
    return ndim


@entry_point()
def buffer_of(header, slot):
    """Return the buffer that a slot is on."""
    return col.buffer(header, slot)


@entry_point()
def may_show_elements(header, slot, handles):
    """Return whether more than so many Tensors show the memory of a slot, one of them perhaps a single element."""
    buffer = col.buffer(header, slot)
    if col.tensor_refs(header, buffer) <= handles:
        return 0
    for other in range(load_i64(header, SLOTS)):
        if col.buffer(header, other) == buffer and col.ndim(header, other) == 0:
            return 1
    return 0


@entry_point()
def are_alike(header, slot, other):
    """Return whether two slots have the same dtype and the same shape."""
    ndim = col.ndim(header, slot)
    if ndim != col.ndim(header, other) or col.dtype(header, slot) != col.dtype(header, other):
        return 0
    for d in range(ndim):
        if extent(header, slot, d) != extent(header, other, d):
            return 0
    return 1


@entry_point()
def is_used(header, slot):
    """Return whether an instruction or another Tensor uses the buffer of a slot that one Tensor holds."""
    return col.users(header, col.buffer(header, slot)) > 1
