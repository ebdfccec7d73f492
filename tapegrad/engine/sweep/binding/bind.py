"""Bind an instruction to a frame: slots become addresses, shapes become loops."""

from typing import NamedTuple

from tapegrad.engine.codegen.translator.compiler import inline_njit, shared_njit
from tapegrad.engine.kernels.language.frame import (
    COUNT,
    OUTER,
    PARAMS,
    STORE,
    STRIDE,
    X_BAR,
    Y_BAR,
    Y_STRIDE,
    X,
    Y,
)
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_i64, store_i64
from tapegrad.engine.sweep.binding.control_fields import ITEM_SHIFT, LINES_SHIFT, PAIRS_SHIFT
from tapegrad.engine.tape.append import differentiable
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import (
    broadcast_stride,
    extent,
    is_complex,
    item_size,
    real_dtype,
    size,
)
from tapegrad.engine.tape.fields.layout import (
    BROADCAST_SUM,
    MATMUL,
    MAX_NDIM,
    NONE,
    OP_FIELDS,
    OP_KIND,
    OP_REAL,
    OP_TABLE,
    OP_TAKES_LINES,
    OP_VARIANT,
    OPAQUE,
    REDUCTION,
    SCAN,
)

# A nest of loops: the extents, then the strides of each role, MAX_NDIM fields apart.
_NEST_FIELDS = 5 * MAX_NDIM
OUTER_FIELDS = 1 + _NEST_FIELDS
_MIN_INNER_STEPS = 16  # an inner loop below this length is exchanged for a longer one


class Roles(NamedTuple):
    """Slots, or strides, of the four roles of a kernel. An absent slot is NONE."""

    x0: int
    x1: int
    x2: int
    y: int


@inline_njit
def op_field(header, op, field):
    """Read a field of the op's row in the op table."""
    return load_i64(load_i64(header, OP_TABLE), OP_FIELDS * op + field)


@inline_njit
def primal_address(header, slot):
    """Return the address of a slot's first primal element; 0 if the primal is gone or there is no slot."""
    if slot < 0:
        return 0
    primal = col.primal(header, col.buffer(header, slot))
    return primal + col.offset(header, slot) if primal != 0 else 0


@inline_njit
def cotangent_address(header, slot):
    """Return the address of a slot's first cotangent element; 0 where none flows."""
    if not differentiable(header, slot):
        return 0
    cotangent = col.cotangent(header, col.buffer(header, slot))
    return cotangent + col.offset(header, slot) if cotangent != 0 else 0


@inline_njit
def _role_stride(header, slot, d, ndim):
    return broadcast_stride(header, slot, d, ndim) if slot >= 0 else 0


@inline_njit
def _strides(header, slots, d, ndim):
    """Return the strides of the slots in dimension `d` of a shape of `ndim` dimensions."""
    return Roles(
        _role_stride(header, slots.x0, d, ndim),
        _role_stride(header, slots.x1, d, ndim),
        _role_stride(header, slots.x2, d, ndim),
        _role_stride(header, slots.y, d, ndim),
    )


@inline_njit
def _unit_stride(header, slot):
    return item_size(col.dtype(header, slot)) if slot >= 0 else 8


@inline_njit
def _set_inner(header, frame, count, slots, strides):
    """Write the inner loop. One element is contiguous whatever its strides say."""
    store_i64(frame, COUNT, count)
    single = count <= 1
    store_i64(frame, STRIDE, _unit_stride(header, slots.x0) if single else strides.x0)
    store_i64(frame, STRIDE + 1, _unit_stride(header, slots.x1) if single else strides.x1)
    store_i64(frame, STRIDE + 2, _unit_stride(header, slots.x2) if single else strides.x2)
    store_i64(frame, Y_STRIDE, _unit_stride(header, slots.y) if single else strides.y)
    store_i64(frame, OUTER, 0)


@inline_njit
def _nest_strides(nest, m):
    """Return the strides of loop `m` of a nest."""
    return Roles(
        load_i64(nest, MAX_NDIM + m),
        load_i64(nest, 2 * MAX_NDIM + m),
        load_i64(nest, 3 * MAX_NDIM + m),
        load_i64(nest, 4 * MAX_NDIM + m),
    )


@inline_njit
def _set_nest(nest, m, count, strides):
    """Write loop `m` of a nest."""
    store_i64(nest, m, count)
    store_i64(nest, MAX_NDIM + m, strides.x0)
    store_i64(nest, 2 * MAX_NDIM + m, strides.x1)
    store_i64(nest, 3 * MAX_NDIM + m, strides.x2)
    store_i64(nest, 4 * MAX_NDIM + m, strides.y)


@inline_njit
def _continues(outer, inner, count):
    """Return whether each role continues after `count` inner steps with the next outer step."""
    same = outer.x0 == inner.x0 * count and outer.x1 == inner.x1 * count
    return same and outer.x2 == inner.x2 * count and outer.y == inner.y * count


@inline_njit
def _next_largest(header, slots, shape, ndim, taken):
    """Return the free dimension in which the result, or else operand 0, has the largest stride.

    Among equals it is the first, so that memory in C order is traversed in that order.
    """
    largest, furthest = 0, -1
    for d in range(ndim):
        if (taken >> d) & 1 == 0:
            strides = _strides(header, slots, d, ndim)
            far = abs(strides.y) if strides.y != 0 else abs(strides.x0)
            if extent(header, shape, d) > 1 and far > furthest:
                largest, furthest = d, far
    return largest if furthest >= 0 else -1


@inline_njit
def _coalesce_in_order(header, slots, shape, nest):
    """Write a nest whose loops are in the order in which the result lies in memory, neighbouring ones merged.

    Returns the number of loops, -1 if there is nothing to do.
    """
    ndim, m, taken = col.ndim(header, shape), 0, 0
    if size(header, shape) == 0:
        return -1
    while True:
        d = _next_largest(header, slots, shape, ndim, taken)
        if d < 0:
            return m
        taken |= 1 << d
        m = _add_loop(nest, m, extent(header, shape, d), _strides(header, slots, d, ndim))


@inline_njit
def _add_loop(nest, m, count, strides):
    """Add a loop inside of `m` others, merged with the last one if possible; return the number of loops."""
    if m > 0 and _continues(_nest_strides(nest, m - 1), strides, count):
        m -= 1
        count *= load_i64(nest, m)
    _set_nest(nest, m, count, strides)
    return m + 1


@inline_njit
def _coalesce(header, slots, shape, nest, ndim, fixed):
    """Write a nest for the first `ndim` dimensions of a shape, adjacent loops merged if possible.

    The last `fixed` dimensions are left as they are. Returns the number of loops, -1 if there is nothing to do.
    """
    m = 0
    total = col.ndim(header, shape)
    for d in range(ndim):
        count = extent(header, shape, d)
        if count == 0:
            return -1
        strides = _strides(header, slots, d, total)
        if d >= ndim - fixed:
            _set_nest(nest, m, count, strides)
            m += 1
        elif count > 1:
            m = _add_loop(nest, m, count, strides)
    return m


@inline_njit
def _prefer_long_inner(nest, m):
    """Exchange a short innermost loop for the longest: the order of elementwise loops is free."""
    if m < 2 or load_i64(nest, m - 1) >= _MIN_INNER_STEPS:
        return
    longest = m - 1
    for d in range(m):
        if load_i64(nest, d) > load_i64(nest, longest):
            longest = d
    inner, count, strides = m - 1, load_i64(nest, m - 1), _nest_strides(nest, m - 1)
    _set_nest(nest, inner, load_i64(nest, longest), _nest_strides(nest, longest))
    _set_nest(nest, longest, count, strides)


@inline_njit
def _set_outer(frame, outer, nest, m):
    """Write the `m` outer loops compactly behind `outer`."""
    if m == 0:
        store_i64(frame, OUTER, 0)
        return
    store_i64(outer, 0, m)
    for row in range(5):
        for d in range(m):
            store_i64(outer, 1 + row * m + d, load_i64(nest, row * MAX_NDIM + d))
    store_i64(frame, OUTER, outer)


@shared_njit
def bind_loops(header, slots, shape, kind, frame, outer):
    """Fill in the loops over the shape of a slot for the slots in the four roles."""
    ndim, none = col.ndim(header, shape), Roles(0, 0, 0, 0)
    if kind == MATMUL:
        _bind_batch(header, slots, shape, frame, outer)
        return
    if ndim == 0:
        _set_inner(header, frame, 1, slots, none)
        return
    if ndim == 1:
        _set_inner(header, frame, extent(header, shape, 0), slots, _strides(header, slots, 0, 1))
        return
    nest = stack_i64(_NEST_FIELDS)
    by_lines = kind == REDUCTION or kind == SCAN
    if not by_lines:
        m = _coalesce_in_order(header, slots, shape, nest)
    else:
        m = _coalesce(header, slots, shape, nest, ndim, 1)
        if m < 0:
            _bind_empty_lines(header, slots, shape, frame, outer)
            return
    if m <= 0:
        _set_inner(header, frame, 1 + m, slots, none)
        return
    if not by_lines:
        _prefer_long_inner(nest, m)
    inner = m - 1
    _set_inner(header, frame, load_i64(nest, inner), slots, _nest_strides(nest, inner))
    _set_outer(frame, outer, nest, inner)


@inline_njit
def _bind_empty_lines(header, slots, shape, frame, outer):
    """Bind the loops of empty lines: each line still has a result."""
    nest = stack_i64(_NEST_FIELDS)
    m = _coalesce(header, slots, shape, nest, col.ndim(header, shape) - 1, 0)
    _set_inner(header, frame, 0, slots, Roles(0, 0, 0, 0))
    if m > 0:
        _set_outer(frame, outer, nest, m)
    elif m < 0:
        store_i64(frame, COUNT, -1)


@inline_njit
def _bind_batch(header, slots, shape, frame, outer):
    """Bind loops over the leading dimensions of a batch of matrices; the last two belong to the kernel."""
    nest = stack_i64(_NEST_FIELDS)
    m = _coalesce(header, slots, shape, nest, col.ndim(header, shape) - 2, 0)
    store_i64(frame, COUNT, -1 if m < 0 else 1)
    store_i64(frame, OUTER, 0)
    if m > 0:
        _set_outer(frame, outer, nest, m)


@inline_njit
def clear_addresses(frame):
    for field in range(X, Y_BAR + 1):
        store_i64(frame, field, 0)
    store_i64(frame, STORE, 0)


@inline_njit
def variant(header, instruction):
    """Return the dtype code that selects an instruction's kernel: that of one of its operands."""
    j = op_field(header, instruction.op, OP_VARIANT)
    return col.dtype(header, instruction.a if j == 0 else (instruction.b if j == 1 else instruction.c))


@inline_njit
def item_bits(header, instruction):
    """Return the bits of STORE that say which numbers the cotangents are of."""
    dtype = variant(header, instruction)
    pairs = ~op_field(header, instruction.op, OP_REAL) & 7 if is_complex(dtype) else 0
    return item_size(real_dtype(dtype)) << ITEM_SHIFT | pairs << PAIRS_SHIFT


@inline_njit
def bind_iteration(header, instruction, frame, outer):
    """Fill in the iteration of a kernel: loops, or COUNT alone if the kernel reads its own parameters."""
    kind = op_field(header, instruction.op, OP_KIND)
    result, a, b, c = instruction.result, instruction.a, instruction.b, instruction.c
    if kind >= OPAQUE:
        last = c if c >= 0 else (b if b >= 0 else a)
        store_i64(frame, COUNT, size(header, last))
        store_i64(frame, OUTER, 0)
    else:
        bind_loops(header, Roles(a, b, c, result), result, kind, frame, outer)
        takes_lines = op_field(header, instruction.op, OP_TAKES_LINES) << LINES_SHIFT
        store_i64(frame, STORE, load_i64(frame, STORE) | takes_lines)


@inline_njit
def bind_sum(header, instruction, target, source, frame, outer):
    """Fill `frame` for a sum, which adds the operand at `source` to `target`, the result, through strides of 0."""
    result = instruction.result
    store_i64(frame, STORE, item_bits(header, instruction))
    store_i64(frame, X_BAR, target)
    store_i64(frame, Y_BAR, source)
    bind_loops(header, Roles(result, NONE, NONE, instruction.a), result, BROADCAST_SUM, frame, outer)


@inline_njit
def bind_forward(header, instruction, frame, outer):
    """Fill `frame` (and `outer`, if there are outer loops) for running an instruction forwards."""
    kind, result, a = op_field(header, instruction.op, OP_KIND), instruction.result, instruction.a
    store_i64(frame, PARAMS, instruction.params)
    clear_addresses(frame)
    if kind == BROADCAST_SUM:
        target, source = primal_address(header, result), primal_address(header, a)
        bind_sum(header, instruction, target, source, frame, outer)
        return
    store_i64(frame, X, primal_address(header, a))
    store_i64(frame, X + 1, primal_address(header, instruction.b))
    store_i64(frame, X + 2, primal_address(header, instruction.c))
    store_i64(frame, Y, primal_address(header, result))
    if kind >= OPAQUE and load_i64(frame, X) == 0:
        # An in-place write whose old contents nothing reads finds them in Y.
        store_i64(frame, X, load_i64(frame, Y))
    bind_iteration(header, instruction, frame, outer)


@inline_njit
def bind_reverse(header, instruction, frame, outer, store):
    """Fill `frame` for running an instruction backwards; bit j of `store`: write to operand j's cotangent."""
    store_i64(frame, PARAMS, instruction.params)
    store_i64(frame, STORE, store | item_bits(header, instruction))
    store_i64(frame, X, primal_address(header, instruction.a))
    store_i64(frame, X + 1, primal_address(header, instruction.b))
    store_i64(frame, X + 2, primal_address(header, instruction.c))
    store_i64(frame, Y, primal_address(header, instruction.result))
    store_i64(frame, X_BAR, cotangent_address(header, instruction.a))
    store_i64(frame, X_BAR + 1, cotangent_address(header, instruction.b))
    store_i64(frame, X_BAR + 2, cotangent_address(header, instruction.c))
    store_i64(frame, Y_BAR, cotangent_address(header, instruction.result))
    bind_iteration(header, instruction, frame, outer)
