"""Bind an instruction to a frame: slots become addresses, shapes become loops."""

from tapegrad.engine.kernels.frame import COUNT, OUTER, PARAMS, STORE, STRIDE, X_BAR, Y_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.raw_memory import load_i64, stack_words, store_i64
from tapegrad.engine.runtime.compiler import inline_njit
from tapegrad.engine.sweep.control_words import ITEM_SHIFT
from tapegrad.engine.tape.entries import differentiable
from tapegrad.engine.tape.geometry import broadcast_stride, extent, item_size, size
from tapegrad.engine.tape.layout import (
    BROADCAST_SUM,
    MATMUL,
    MAX_NDIM,
    OP_KIND,
    OP_TABLE,
    OP_VARIANT,
    OP_WORDS,
    OPAQUE,
    REDUCTION,
    SCAN,
    get_buffer,
    get_cotangent,
    get_dtype,
    get_ndim,
    get_offset,
    get_primal,
)

OUTER_WORDS = 1 + 5 * MAX_NDIM
_ROLES = 4  # x0, x1, x2, y
_SHORT = 16  # an inner loop below this length is exchanged for a longer one


@inline_njit
def op_word(header, op, word):
    """A word of the op's row in the op table."""
    return load_i64(load_i64(header, OP_TABLE), OP_WORDS * op + word)


@inline_njit
def primal_address(header, slot):
    """Address of a slot's first primal element; 0 if the primal is gone or there is no slot."""
    if slot < 0:
        return 0
    primal = get_primal(header, get_buffer(header, slot))
    return primal + get_offset(header, slot) if primal != 0 else 0


@inline_njit
def cotangent_address(header, slot):
    """Address of a slot's first cotangent element; 0 where none flows."""
    if not differentiable(header, slot):
        return 0
    cotangent = get_cotangent(header, get_buffer(header, slot))
    return cotangent + get_offset(header, slot) if cotangent != 0 else 0


@inline_njit
def _role_stride(header, slot, d, ndim):
    return broadcast_stride(header, slot, d, ndim) if slot >= 0 else 0


@inline_njit
def _unit_stride(header, slot):
    return item_size(get_dtype(header, slot)) if slot >= 0 else 8


@inline_njit
def _set_inner(header, frame, count, x0, x1, x2, y, s0, s1, s2, sy):
    """Write the inner loop. One element is contiguous whatever its strides say."""
    store_i64(frame, COUNT, count)
    single = count <= 1
    store_i64(frame, STRIDE, _unit_stride(header, x0) if single else s0)
    store_i64(frame, STRIDE + 1, _unit_stride(header, x1) if single else s1)
    store_i64(frame, STRIDE + 2, _unit_stride(header, x2) if single else s2)
    store_i64(frame, Y_STRIDE, _unit_stride(header, y) if single else sy)
    store_i64(frame, OUTER, 0)


@inline_njit
def _coalesce(header, x0, x1, x2, y, shape, loops, ndim, fixed):
    """Merge neighbouring dimensions that every operand walks through with one stride.

    `loops` receives the extents, then the strides of each role, MAX_NDIM words apart. The last `fixed` dimensions
    are left as they are. Returns the number of loops, -1 if there is nothing to do.
    """
    m = 0
    total = get_ndim(header, shape)
    for d in range(ndim):
        e = extent(header, shape, d)
        if e == 0:
            return -1
        free_dim = d < ndim - fixed
        if e == 1 and free_dim:
            continue
        s0 = _role_stride(header, x0, d, total)
        s1 = _role_stride(header, x1, d, total)
        s2 = _role_stride(header, x2, d, total)
        sy = _role_stride(header, y, d, total)
        merged = False
        if m > 0 and free_dim:
            merged = (
                load_i64(loops, MAX_NDIM + m - 1) == s0 * e
                and load_i64(loops, 2 * MAX_NDIM + m - 1) == s1 * e
                and load_i64(loops, 3 * MAX_NDIM + m - 1) == s2 * e
                and load_i64(loops, 4 * MAX_NDIM + m - 1) == sy * e
            )
        if merged:
            m -= 1
            e *= load_i64(loops, m)
        store_i64(loops, m, e)
        store_i64(loops, MAX_NDIM + m, s0)
        store_i64(loops, 2 * MAX_NDIM + m, s1)
        store_i64(loops, 3 * MAX_NDIM + m, s2)
        store_i64(loops, 4 * MAX_NDIM + m, sy)
        m += 1
    return m


@inline_njit
def _prefer_long_inner(loops, m):
    """Exchange a short innermost loop for the longest: the order of elementwise loops is free."""
    if m < 2 or load_i64(loops, m - 1) >= _SHORT:
        return
    longest = m - 1
    for d in range(m):
        if load_i64(loops, d) > load_i64(loops, longest):
            longest = d
    for block in range(1 + _ROLES):
        here, there = block * MAX_NDIM + m - 1, block * MAX_NDIM + longest
        kept = load_i64(loops, here)
        store_i64(loops, here, load_i64(loops, there))
        store_i64(loops, there, kept)


@inline_njit
def _set_outer(frame, outer, loops, m):
    """Write the `m` outer loops compactly behind `outer`."""
    if m == 0:
        store_i64(frame, OUTER, 0)
        return
    store_i64(outer, 0, m)
    for block in range(1 + _ROLES):
        for d in range(m):
            store_i64(outer, 1 + block * m + d, load_i64(loops, block * MAX_NDIM + d))
    store_i64(frame, OUTER, outer)


@inline_njit
def bind_loops(header, x0, x1, x2, y, shape, kind, frame, outer):
    """Fill in the loops over `shape` for the slots in the four roles."""
    ndim = get_ndim(header, shape)
    if kind == MATMUL:
        _bind_batch(header, x0, x1, y, shape, frame, outer)
        return
    if ndim == 0:
        _set_inner(header, frame, 1, x0, x1, x2, y, 0, 0, 0, 0)
        return
    if ndim == 1:
        s0, s1 = _role_stride(header, x0, 0, 1), _role_stride(header, x1, 0, 1)
        s2, sy = _role_stride(header, x2, 0, 1), _role_stride(header, y, 0, 1)
        _set_inner(header, frame, extent(header, shape, 0), x0, x1, x2, y, s0, s1, s2, sy)
        return
    by_lines = kind == REDUCTION or kind == SCAN
    loops = stack_words(5 * 32)
    m = _coalesce(header, x0, x1, x2, y, shape, loops, ndim, 1 if by_lines else 0)
    if m < 0 and by_lines:
        _bind_empty_lines(header, x0, y, shape, frame, outer)
        return
    if m <= 0:
        _set_inner(header, frame, 1 + m, x0, x1, x2, y, 0, 0, 0, 0)
        return
    if not by_lines:
        _prefer_long_inner(loops, m)
    inner = m - 1
    s0, s1 = load_i64(loops, MAX_NDIM + inner), load_i64(loops, 2 * MAX_NDIM + inner)
    s2, sy = load_i64(loops, 3 * MAX_NDIM + inner), load_i64(loops, 4 * MAX_NDIM + inner)
    _set_inner(header, frame, load_i64(loops, inner), x0, x1, x2, y, s0, s1, s2, sy)
    _set_outer(frame, outer, loops, inner)


@inline_njit
def _bind_empty_lines(header, x0, y, shape, frame, outer):
    """Lines of no elements still have a result each, unless there are no lines."""
    ndim = get_ndim(header, shape)
    loops = stack_words(5 * 32)
    m = _coalesce(header, x0, -1, -1, y, shape, loops, ndim - 1, 0)
    _set_inner(header, frame, 0, x0, -1, -1, y, 0, 0, 0, 0)
    if m > 0:
        _set_outer(frame, outer, loops, m)
    elif m < 0:
        store_i64(frame, COUNT, -1)


@inline_njit
def _bind_batch(header, x0, x1, y, shape, frame, outer):
    """Loops over the leading dimensions of a batch of matrices; the last two belong to the kernel."""
    loops = stack_words(5 * 32)
    m = _coalesce(header, x0, x1, -1, y, shape, loops, get_ndim(header, shape) - 2, 0)
    store_i64(frame, COUNT, -1 if m < 0 else 1)
    store_i64(frame, OUTER, 0)
    if m > 0:
        _set_outer(frame, outer, loops, m)


@inline_njit
def clear_addresses(frame):
    for word in range(X, Y_BAR + 1):
        store_i64(frame, word, 0)
    store_i64(frame, STORE, 0)


@inline_njit
def bind_whole(header, a, b, c, frame):
    """A kernel that reads its own parameters: COUNT is the size of the last operand."""
    last = c if c >= 0 else (b if b >= 0 else a)
    store_i64(frame, COUNT, size(header, last))
    store_i64(frame, OUTER, 0)


@inline_njit
def variant(header, op, a, b, c):
    """Dtype code that chooses the kernel of an instruction: that of one of its operands."""
    j = op_word(header, op, OP_VARIANT)
    return get_dtype(header, a if j == 0 else (b if j == 1 else c))


@inline_njit
def item_bits(header, op, a, b, c):
    return item_size(variant(header, op, a, b, c)) << ITEM_SHIFT


@inline_njit
def bind_forward(header, op, result, a, b, c, params, frame, outer):
    """Fill `frame` (and `outer`, if there are outer loops) for running an instruction forwards."""
    kind = op_word(header, op, OP_KIND)
    store_i64(frame, PARAMS, params)
    clear_addresses(frame)
    if kind == BROADCAST_SUM:
        # A sum adds its operand to the result seen through strides of 0: the reverse of a broadcast.
        store_i64(frame, STORE, item_bits(header, op, a, b, c))
        store_i64(frame, X_BAR, primal_address(header, result))
        store_i64(frame, Y_BAR, primal_address(header, a))
        bind_loops(header, result, -1, -1, a, result, kind, frame, outer)
        return
    store_i64(frame, X, primal_address(header, a))
    store_i64(frame, X + 1, primal_address(header, b))
    store_i64(frame, X + 2, primal_address(header, c))
    store_i64(frame, Y, primal_address(header, result))
    if kind < OPAQUE:
        bind_loops(header, a, b, c, result, result, kind, frame, outer)
    else:
        bind_whole(header, a, b, c, frame)
        if load_i64(frame, X) == 0:  # an in-place write whose old contents nobody needs finds them in place
            store_i64(frame, X, load_i64(frame, Y))


@inline_njit
def bind_reverse(header, op, result, a, b, c, params, frame, outer, store):
    """Fill `frame` for running an instruction backwards; bit j of `store`: write to operand j's cotangent."""
    kind = op_word(header, op, OP_KIND)
    store_i64(frame, PARAMS, params)
    store_i64(frame, STORE, store | item_bits(header, op, a, b, c))
    store_i64(frame, X, primal_address(header, a))
    store_i64(frame, X + 1, primal_address(header, b))
    store_i64(frame, X + 2, primal_address(header, c))
    store_i64(frame, Y, primal_address(header, result))
    store_i64(frame, X_BAR, cotangent_address(header, a))
    store_i64(frame, X_BAR + 1, cotangent_address(header, b))
    store_i64(frame, X_BAR + 2, cotangent_address(header, c))
    store_i64(frame, Y_BAR, cotangent_address(header, result))
    if kind < OPAQUE:
        bind_loops(header, a, b, c, result, result, kind, frame, outer)
    else:
        bind_whole(header, a, b, c, frame)
