"""Views of a slot, made from integers alone, without a NumPy array.

A slot that is returned carries one handle, the new Tensor's, and holds floats or complex numbers; others are NumPy's to
make views of. A negative number says no more than that there is no such view: NumPy is asked again, and raises its own
error.

A view is first described: extents, and strides MAX_NDIM fields behind them.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_i64, store_i64
from tapegrad.engine.tape.append import add_tensor_ref
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import (
    extent,
    fill_contiguous_strides,
    is_complex,
    is_contiguous,
    is_differentiable,
    item_size,
    size,
    stride,
)
from tapegrad.engine.tape.fields.growth import new_view
from tapegrad.engine.tape.fields.layout import (
    C64,
    C128,
    E_DTYPES,
    E_NDIM,
    E_OUTSIDE,
    E_SHAPES,
    F32,
    F64,
    MAX_NDIM,
    NONE,
)

# A basic key as `view_key` takes it, four fields a part: its kind, then a row, or first, end and step of a slice.
ROW, SLICE, NEW_AXIS, ELLIPSIS = range(4)
_PART_FIELDS = 4
END = 1 << 60  # beyond the end of any array
VIEW_FIELDS = 2 * MAX_NDIM  # of the description of a view


@inline_njit
def describe(seen, d, extent_, stride_):
    """Write extent and stride of dimension `d` of a view."""
    store_i64(seen, d, extent_)
    store_i64(seen, MAX_NDIM + d, stride_)


@inline_njit
def describe_like(seen, d, header, slot, source):
    """Let dimension `d` of a view be dimension `source` of a slot."""
    describe(seen, d, extent(header, slot, source), stride(header, slot, source))


@inline_njit
def view_as(header, slot, ndim, offset, seen):
    """Return a slot on the same buffer with a given geometry. Without elements its offset is 0."""
    view = new_view(header, slot, ndim, offset)
    geometry = col.geometry(header, view)
    for d in range(ndim):
        store_i64(geometry, d, load_i64(seen, d))
        store_i64(geometry, ndim + d, load_i64(seen, MAX_NDIM + d))
        if load_i64(seen, d) == 0:
            col.set_offset(header, view, 0)
    add_tensor_ref(header, view)
    return view


# --- rows and keys -----------------------------------------------------------------------------------------------


@entry_point()
def view_slice(header, slot, start, stop):
    """Return ``x[start:stop]`` along the first dimension, the limits clamped as Python's slices are."""
    ndim = col.ndim(header, slot)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    if ndim == 0:
        return E_SHAPES
    seen, n, by = stack_i64(VIEW_FIELDS), extent(header, slot, 0), stride(header, slot, 0)
    start = min(max(start + n if start < 0 else start, 0), n)
    stop = max(min(max(stop + n if stop < 0 else stop, 0), n), start)
    describe(seen, 0, stop - start, by)
    for d in range(1, ndim):
        describe_like(seen, d, header, slot, d)
    return view_as(header, slot, ndim, col.offset(header, slot) + (start * by if stop > start else 0), seen)


@entry_point()
def view_index(header, slot, index):
    """``x[index]`` along the first dimension."""
    ndim = col.ndim(header, slot)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    if ndim == 0:
        return E_SHAPES
    seen, n = stack_i64(VIEW_FIELDS), extent(header, slot, 0)
    row = index + n if index < 0 else index
    if row < 0 or row >= n:
        return E_OUTSIDE
    for d in range(1, ndim):
        describe_like(seen, d - 1, header, slot, d)
    return view_as(header, slot, ndim - 1, col.offset(header, slot) + row * stride(header, slot, 0), seen)


@inline_njit
def _count_parts(key, parts, kind):
    """Return how many parts of a key are of a kind."""
    count = 0
    for k in range(parts):
        count += load_i64(key, _PART_FIELDS * k) == kind
    return count


@inline_njit
def _first(start, n, step):
    """Return the row of `n` that a limit of a slice names, clamped as Python does."""
    row = start + n if start < 0 else start
    return min(max(row, 0), n) if step > 0 else min(max(row, -1), n - 1)


@inline_njit
def _describe_slice(seen, d, part, n, by):
    """Let dimension `d` be a slice of `n` rows `by` bytes apart; return the bytes to its first row."""
    step = max(load_i64(part, 3), -END)
    start, stop = _first(load_i64(part, 1), n, step), _first(load_i64(part, 2), n, step)
    span = stop - start if step > 0 else start - stop
    count = 0 if span <= 0 else (span - 1) // abs(step) + 1
    describe(seen, d, count, by * step if count > 1 else by)
    return start * by if count > 0 else 0


@inline_njit
def _describe_key(seen, header, slot, key, parts, through):
    """Describe the view that a key selects, an ellipsis in it standing for `through` dimensions.

    The bytes to its first element, or E_OUTSIDE.
    """
    offset, source, target = 0, 0, 0
    for k in range(parts):
        part = key + 8 * _PART_FIELDS * k
        kind = load_i64(part, 0)
        if kind == NEW_AXIS:
            describe(seen, target, 1, 0)
            target += 1
        elif kind == ELLIPSIS:
            for _ in range(through):
                describe_like(seen, target, header, slot, source)
                source += 1
                target += 1
        elif kind == SLICE:
            offset += _describe_slice(
                seen, target, part, extent(header, slot, source), stride(header, slot, source)
            )
            source += 1
            target += 1
        else:
            n, row = extent(header, slot, source), load_i64(part, 1)
            row += n if row < 0 else 0
            if row < 0 or row >= n:
                return E_OUTSIDE
            offset += row * stride(header, slot, source)
            source += 1
    for d in range(source, col.ndim(header, slot)):
        describe_like(seen, target + d - source, header, slot, d)
    return offset


@entry_point(tuples=("key",))
def view_key(header, slot, key):
    """Return ``x[key]`` for a basic key, a tuple of four integers a part."""
    parts, ndim = load_i64(key, -1) // _PART_FIELDS, col.ndim(header, slot)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    rows, new = _count_parts(key, parts, ROW), _count_parts(key, parts, NEW_AXIS)
    through = ndim - rows - _count_parts(key, parts, SLICE)
    if through < 0 or _count_parts(key, parts, ELLIPSIS) > 1:
        return E_SHAPES
    if ndim - rows + new > MAX_NDIM:
        return E_NDIM
    seen = stack_i64(VIEW_FIELDS)
    offset = _describe_key(seen, header, slot, key, parts, through)
    if offset == E_OUTSIDE:
        return E_OUTSIDE
    return view_as(header, slot, ndim - rows + new, col.offset(header, slot) + offset, seen)


# --- parts of a packed result --------------------------------------------------------------------------------------


@entry_point()
def view_part(header, slot, first, rows, columns):
    """Matrices that lie column by column in each line, from number `first` on; vectors where `columns` is -1."""
    last = col.ndim(header, slot) - 1
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    if last < 0 or first < 0 or rows < 0 or first + rows * abs(columns) > extent(header, slot, last):
        return E_SHAPES
    seen, step = stack_i64(VIEW_FIELDS), stride(header, slot, last)
    for d in range(last):
        describe_like(seen, d, header, slot, d)
    describe(seen, last, rows, step)
    if columns >= 0:
        if last + 2 > MAX_NDIM:
            return E_NDIM
        describe(seen, last + 1, columns, rows * step)
    ndim = last + 1 if columns < 0 else last + 2
    return view_as(header, slot, ndim, col.offset(header, slot) + first * step, seen)


# --- complex numbers and their parts -------------------------------------------------------------------------------

REAL, IMAG, BOTH = range(3)


@inline_njit
def _describe_all(seen, header, slot, ndim):
    """Let the first dimensions of a view be those of a slot."""
    for d in range(ndim):
        describe_like(seen, d, header, slot, d)


@entry_point()
def view_components(header, slot, which):
    """Return the real or the imaginary parts of complex numbers, or BOTH, along a new last dimension."""
    dtype, ndim = col.dtype(header, slot), col.ndim(header, slot)
    if not is_complex(dtype):
        return E_DTYPES
    if ndim >= MAX_NDIM:
        return E_NDIM
    seen, item = stack_i64(VIEW_FIELDS), item_size(dtype) // 2
    _describe_all(seen, header, slot, ndim)
    describe(seen, ndim, 2, item)
    offset = col.offset(header, slot) + (item if which == IMAG else 0)
    view = view_as(header, slot, ndim + 1 if which == BOTH else ndim, offset, seen)
    col.set_dtype(header, view, F32 if dtype == C64 else F64)
    return view


@entry_point()
def view_complex(header, slot):
    """Return complex numbers whose parts are floats along the last dimension: two, next to each other."""
    dtype, last = col.dtype(header, slot), col.ndim(header, slot) - 1
    if dtype != F64 and dtype != F32:
        return E_DTYPES
    if last < 0 or extent(header, slot, last) != 2 or stride(header, slot, last) != item_size(dtype):
        return E_SHAPES
    seen = stack_i64(VIEW_FIELDS)
    _describe_all(seen, header, slot, last)
    view = view_as(header, slot, last, col.offset(header, slot), seen)
    col.set_dtype(header, view, C64 if dtype == F32 else C128)
    return view


# --- other shapes ------------------------------------------------------------------------------------------------


@inline_njit
def _complete(shape, ndim, count, extents):
    """Write a shape that `count` elements have, in which one extent may be -1; whether there is one.

    By division: a product could overflow.
    """
    open_, left = NONE, count
    for d in range(ndim):
        e = load_i64(shape, d)
        store_i64(extents, d, e)
        if e == -1 and open_ == NONE:
            open_ = d
        elif e <= 0 or left % e != 0:
            return False
        else:
            left //= e
    if open_ == NONE:
        return left == 1
    store_i64(extents, open_, left)
    return left > 0


@entry_point(tuples=("shape",))
def view_shape(header, slot, shape):
    """Reshape a view; its elements must be contiguous in C order, and there must be any."""
    ndim = load_i64(shape, -1)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    extents = stack_i64(MAX_NDIM)
    if ndim > MAX_NDIM or not is_contiguous(header, slot):
        return E_SHAPES
    if not _complete(shape, ndim, size(header, slot), extents):
        return E_SHAPES
    view = new_view(header, slot, ndim, col.offset(header, slot))
    geometry = col.geometry(header, view)
    for d in range(ndim):
        store_i64(geometry, d, load_i64(extents, d))
    fill_contiguous_strides(geometry, ndim, item_size(col.dtype(header, slot)))
    add_tensor_ref(header, view)
    return view


@entry_point(tuples=("shape",))
def view_broadcast(header, slot, shape):
    """Broadcast a view to a shape, read-only as NumPy's are."""
    ndim, own = load_i64(shape, -1), col.ndim(header, slot)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    if ndim > MAX_NDIM or ndim < own:
        return E_SHAPES
    seen, room = stack_i64(VIEW_FIELDS), END
    for d in range(ndim):
        e, source = load_i64(shape, d), d - (ndim - own)
        before = extent(header, slot, source) if source >= 0 else 1
        if e < 0 or (before != 1 and before != e) or e > room:
            return E_SHAPES
        room //= max(e, 1)  # sizes that cannot be addressed are left to NumPy's error
        describe(seen, d, e, stride(header, slot, source) if source >= 0 and before == e else 0)
    view = view_as(header, slot, ndim, col.offset(header, slot), seen)
    col.set_read_only(header, view, 1)
    return view


# --- dimensions: permuted, inserted, removed ---------------------------------------------------------------------


@inline_njit
def _axis(axis, ndim):
    """Return the dimension that an axis names; NONE if there is none."""
    d = axis + ndim if axis < 0 else axis
    return d if 0 <= d < ndim else NONE


@inline_njit
def _named(axes, ndim):
    """Return the dimensions that a tuple of axes names, as a mask; NONE for repeated or missing ones."""
    mask = 0
    for k in range(load_i64(axes, -1)):
        d = _axis(load_i64(axes, k), ndim)
        if d == NONE or (mask >> d) & 1:
            return NONE
        mask |= 1 << d
    return mask


@entry_point()
def view_reversed(header, slot):
    """Reverse the order of the dimensions."""
    ndim, seen = col.ndim(header, slot), stack_i64(VIEW_FIELDS)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    for d in range(ndim):
        describe_like(seen, d, header, slot, ndim - 1 - d)
    return view_as(header, slot, ndim, col.offset(header, slot), seen)


@entry_point(tuples=("axes",))
def view_permuted(header, slot, axes):
    """Permute the dimensions: dimension `k` is dimension ``axes[k]`` of the slot."""
    ndim, seen = col.ndim(header, slot), stack_i64(VIEW_FIELDS)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    if load_i64(axes, -1) != ndim or _named(axes, ndim) == NONE:
        return E_SHAPES
    for d in range(ndim):
        describe_like(seen, d, header, slot, _axis(load_i64(axes, d), ndim))
    return view_as(header, slot, ndim, col.offset(header, slot), seen)


@entry_point()
def view_swapped(header, slot, axis1, axis2):
    """Swap two dimensions."""
    ndim, seen = col.ndim(header, slot), stack_i64(VIEW_FIELDS)
    one, other = _axis(axis1, ndim), _axis(axis2, ndim)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    if one == NONE or other == NONE:
        return E_SHAPES
    for d in range(ndim):
        describe_like(seen, d, header, slot, other if d == one else (one if d == other else d))
    return view_as(header, slot, ndim, col.offset(header, slot), seen)


@entry_point()
def view_moved(header, slot, source, destination):
    """Move one dimension to another position; the others keep their order."""
    ndim, seen = col.ndim(header, slot), stack_i64(VIEW_FIELDS)
    from_, to = _axis(source, ndim), _axis(destination, ndim)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    if from_ == NONE or to == NONE:
        return E_SHAPES
    describe_like(seen, to, header, slot, from_)
    for d in range(ndim - 1):
        describe_like(seen, d + 1 if d >= to else d, header, slot, d + 1 if d >= from_ else d)
    return view_as(header, slot, ndim, col.offset(header, slot), seen)


@entry_point(tuples=("axes",))
def view_expanded(header, slot, axes):
    """Insert dimensions of extent 1 at positions of the view."""
    ndim, seen = col.ndim(header, slot) + load_i64(axes, -1), stack_i64(VIEW_FIELDS)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    new = NONE if ndim > MAX_NDIM else _named(axes, ndim)
    if new == NONE:
        return E_SHAPES
    source = 0
    for d in range(ndim):
        if (new >> d) & 1:
            describe(seen, d, 1, 0)
        else:
            describe_like(seen, d, header, slot, source)
            source += 1
    return view_as(header, slot, ndim, col.offset(header, slot), seen)


@entry_point(tuples=("axes",))
def view_squeezed(header, slot, axes, every):
    """Remove dimensions of extent 1: `every` one, or the named ones."""
    ndim, seen = col.ndim(header, slot), stack_i64(VIEW_FIELDS)
    if not is_differentiable(col.dtype(header, slot)):
        return E_DTYPES
    gone, kept = _named(axes, ndim), 0
    if gone == NONE:
        return E_SHAPES
    for d in range(ndim):
        single, named = extent(header, slot, d) == 1, (gone >> d) & 1
        if named and not single:
            return E_SHAPES
        if not (named or (every and single)):
            describe_like(seen, kept, header, slot, d)
            kept += 1
    return view_as(header, slot, kept, col.offset(header, slot), seen)
