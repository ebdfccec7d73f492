"""Shapes and strides of slots, read from NumPy arrays and computed for results."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.raw_memory import load_i32, load_i64, store_i64
from tapegrad.engine.kernels.language.strided import in_c_order
from tapegrad.engine.runtime import object_layouts
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.layout import C64, C128, F32, F64, I64

# Indices of fields in NumPy's array object, and in a dtype object
ARRAY_DATA = object_layouts.ARRAY_DATA // 8
ARRAY_NDIM = object_layouts.ARRAY_NDIM // 4  # in 32-bit fields
ARRAY_EXTENTS = object_layouts.ARRAY_EXTENTS // 8
ARRAY_STRIDES = object_layouts.ARRAY_STRIDES // 8
ARRAY_DESCR = object_layouts.ARRAY_DESCR // 8
ARRAY_FLAGS = object_layouts.ARRAY_FLAGS // 4  # in 32-bit fields
DESCR_KIND = object_layouts.DESCR_KIND // 8
_WRITEABLE = 0x400  # among the flags
_TUPLE_ITEMS = object_layouts.TUPLE_ITEMS


@inline_njit
def array_data(array):
    """Return the address of the first element of the NumPy array whose ``id`` is `array`."""
    return load_i64(array, ARRAY_DATA)


@inline_njit
def tuple_items(values):
    """Return the address of the ids of the objects in the tuple whose ``id`` is `values`."""
    return values + _TUPLE_ITEMS


@inline_njit
def array_ndim(array):
    """Return the number of dimensions of the NumPy array whose ``id`` is `array`."""
    return numba.int64(load_i32(array, ARRAY_NDIM))


@inline_njit
def array_length(array):
    """Return the extent of the first dimension of the NumPy array whose ``id`` is `array`."""
    return load_i64(load_i64(array, ARRAY_EXTENTS), 0)


@inline_njit
def array_size(array):
    """Return the number of elements of the NumPy array whose ``id`` is `array`."""
    count, extents = 1, load_i64(array, ARRAY_EXTENTS)
    for d in range(array_ndim(array)):
        count *= load_i64(extents, d)
    return count


@inline_njit
def is_read_only(array):
    """Return whether nothing may be written through the NumPy array whose ``id`` is `array`."""
    return load_i32(array, ARRAY_FLAGS) & _WRITEABLE == 0


@inline_njit
def copy_array_geometry(array, ndim, geometry):
    """Write extents and strides of a NumPy array behind `geometry`."""
    extents, strides = load_i64(array, ARRAY_EXTENTS), load_i64(array, ARRAY_STRIDES)
    for d in range(ndim):
        store_i64(geometry, d, load_i64(extents, d))
        store_i64(geometry, ndim + d, load_i64(strides, d))


@inline_njit
def item_size(dtype):
    """Return the bytes of an element of the dtype with this code."""
    if dtype == F64 or dtype == I64 or dtype == C64:
        return 8
    return 16 if dtype == C128 else (4 if dtype == F32 else 1)


@inline_njit
def is_complex(dtype):
    """Return whether the dtype with this code is a complex one."""
    return dtype == C128 or dtype == C64


@inline_njit
def is_differentiable(dtype):
    """Return whether numbers of the dtype with this code have derivatives: floats and complex numbers do.

    A slot that was let go of has the code DTYPE_COUNT, and no derivatives.
    """
    return dtype <= F32 or is_complex(dtype)


@inline_njit
def is_single(dtype):
    """Return whether numbers of the dtype with this code, or their parts, are float32."""
    return dtype == F32 or dtype == C64


@inline_njit
def real_dtype(dtype):
    """Return the dtype of the parts of complex numbers; real ones are their own."""
    return dtype - C128 + F64 if is_complex(dtype) else dtype


@inline_njit
def extent(header, slot, d):
    """Return the extent of dimension `d`."""
    return load_i64(col.geometry(header, slot), d)


@inline_njit
def stride(header, slot, d):
    """Return the stride of dimension `d` in bytes."""
    return load_i64(col.geometry(header, slot), col.ndim(header, slot) + d)


@inline_njit
def size(header, slot):
    """Return the number of elements of a slot."""
    count = 1
    for d in range(col.ndim(header, slot)):
        count *= extent(header, slot, d)
    return count


@inline_njit
def fill_contiguous_strides(geometry, ndim, bytes_):
    """Write C-order strides behind the extents of `geometry`; return the number of elements."""
    step = bytes_
    for d in range(ndim - 1, -1, -1):
        store_i64(geometry, ndim + d, step)
        step *= load_i64(geometry, d)
    return step // bytes_


@inline_njit
def is_contiguous(header, slot):
    """Return whether a slot's elements are contiguous in C order."""
    ndim, geometry = col.ndim(header, slot), col.geometry(header, slot)
    return in_c_order(ndim, geometry, geometry + 8 * ndim, item_size(col.dtype(header, slot)))


@inline_njit
def _span_within(header, slot, d):
    """Return the bytes that elements reach over along the axes whose strides are smaller than that of axis `d`."""
    span, own = item_size(col.dtype(header, slot)), abs(stride(header, slot, d))
    for other in range(col.ndim(header, slot)):
        step = abs(stride(header, slot, other))
        if step < own or (step == own and other > d):
            span += step * (extent(header, slot, other) - 1)
    return span


@inline_njit
def shows_each_once(header, slot):
    """Return whether no element of memory is seen twice; False also if that does not follow simply from the strides."""
    for d in range(col.ndim(header, slot)):
        if extent(header, slot, d) > 1 and abs(stride(header, slot, d)) < _span_within(header, slot, d):
            return size(header, slot) == 0
    return True


@inline_njit
def broadcast_extent(header, slot, d, ndim):
    """Return the extent of `slot` in dimension `d` of a broadcast to `ndim` dimensions."""
    own = d - (ndim - col.ndim(header, slot))
    return extent(header, slot, own) if own >= 0 else 1


@inline_njit
def broadcast_stride(header, slot, d, ndim):
    """Return the stride of `slot` in dimension `d` of a broadcast to `ndim` dimensions; 0 where it is repeated."""
    own = d - (ndim - col.ndim(header, slot))
    if own < 0 or extent(header, slot, own) == 1:
        return 0
    return stride(header, slot, own)
