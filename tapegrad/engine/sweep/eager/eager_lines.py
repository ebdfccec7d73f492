"""Reductions over any axes, and scans along any axis, recorded and run in one call.

A sum adds into a result of zeros that is seen with the operand's shape, with strides of 0 along the reduced axes. Other
reductions, and scans, go line by line along a last dimension: the operand is seen with one that stands for all the
reduced axes, or is copied where its strides do not allow that.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_i64, store_i64
from tapegrad.engine.sweep.binding.bind import op_field
from tapegrad.engine.sweep.eager.eager import commit, elementwise, is_superseded, kernel_of, lacks_driver, run
from tapegrad.engine.tape.append import add_tensor_ref
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import extent, item_size, stride
from tapegrad.engine.tape.fields.instruction import Instruction
from tapegrad.engine.tape.fields.layout import (
    BROADCAST_SUM,
    COPY_OP,
    E_KERNEL,
    E_MEMORY,
    E_NDIM,
    E_PARALLEL,
    E_SHAPES,
    E_SUPERSEDED,
    MAX_NDIM,
    NONE,
    OP_KIND,
    SCAN,
)
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import result_slot
from tapegrad.engine.tape.views import VIEW_FIELDS, describe, describe_like, view_as


@inline_njit
def _reduced_slot(header, x, axes, keepdims, zeroed):
    """Return a slot on a new buffer for the result, without the reduced axes or with extents of 1."""
    geometry, kept = stack_i64(MAX_NDIM), 0
    for d in range(col.ndim(header, x)):
        reduced = (axes >> d) & 1
        if keepdims or not reduced:
            store_i64(geometry, kept, 1 if reduced else extent(header, x, d))
            kept += 1
    return result_slot(header, col.dtype(header, x), kept, geometry, zeroed)


@inline_njit
def _repeated(header, y, x, axes):
    """Return the contiguous result `y` with x's extents and strides of 0 along the reduced axes."""
    seen, ndim = stack_i64(VIEW_FIELDS), col.ndim(header, x)
    by = item_size(col.dtype(header, y))
    for d in range(ndim - 1, -1, -1):
        reduced = (axes >> d) & 1
        describe(seen, d, extent(header, x, d), 0 if reduced else by)
        by *= 1 if reduced else extent(header, x, d)
    return view_as(header, y, ndim, 0, seen)


@inline_njit
def _describe_lines(seen, header, x, axes):
    """Describe `x` with a last dimension in place of the reduced axes; return their number, NONE if there is none."""
    kept, count, by = 0, 1, item_size(col.dtype(header, x))
    for d in range(col.ndim(header, x)):
        n, step = extent(header, x, d), stride(header, x, d)
        if not (axes >> d) & 1:
            describe(seen, kept, n, step)
            kept += 1
        elif n != 1:
            if count != 1 and by != n * step:
                return NONE
            count *= n
            by = step
    describe(seen, kept, count, by)
    return kept + 1


@inline_njit
def _turned(header, x, axes):
    """`x` with the reduced axes behind the others."""
    seen, ndim, k = stack_i64(VIEW_FIELDS), col.ndim(header, x), 0
    for reduced in range(2):
        for d in range(ndim):
            if (axes >> d) & 1 == reduced:
                describe_like(seen, k, header, x, d)
                k += 1
    return view_as(header, x, ndim, col.offset(header, x), seen)


@inline_njit
def _lines(header, x, axes, recording):
    """`x` with a last dimension in place of the reduced axes, or a recorded copy of it; with a handle, or an error."""
    seen = stack_i64(VIEW_FIELDS)
    ndim = _describe_lines(seen, header, x, axes)
    if ndim != NONE:
        return view_as(header, x, ndim, col.offset(header, x), seen)
    turned = _turned(header, x, axes)
    copied = elementwise(header, load_i64(header, COPY_OP), turned, NONE, NONE, recording)
    drop_tensor_ref(header, turned)
    if copied < 0:
        return copied
    kept = 0
    for d in range(col.ndim(header, x)):
        kept += 1 - ((axes >> d) & 1)
    lines = view_as(header, copied, _describe_lines(seen, header, copied, -1 << kept), 0, seen)
    drop_tensor_ref(header, copied)
    return lines


@inline_njit
def _run_along(header, op, result, x, recording):
    """Record and run an op of one operand and a view of its result, and drop both slots."""
    instruction = Instruction(op, result, x, NONE, NONE, 0)
    run(header, instruction, col.dtype(header, x))
    commit(header, instruction, recording)
    drop_tensor_ref(header, result)
    drop_tensor_ref(header, x)


@inline_njit
def _reduce(header, op, x, axes, keepdims, recording):
    """Record and run a reduction over the axes of a bit mask."""
    is_sum = op_field(header, op, OP_KIND) == BROADCAST_SUM
    if is_sum:
        add_tensor_ref(header, x)
        operand = x
    elif col.ndim(header, x) == MAX_NDIM:
        return E_NDIM
    else:
        operand = _lines(header, x, axes, recording)
        if operand < 0:
            return operand
    y = _reduced_slot(header, x, axes, keepdims, is_sum)
    if y == NONE:
        drop_tensor_ref(header, operand)
        return E_MEMORY
    add_tensor_ref(header, y)
    repeated = axes if is_sum else -1 << (col.ndim(header, operand) - 1)
    _run_along(header, op, _repeated(header, y, operand, repeated), operand, recording)
    return y


@inline_njit
def _scan(header, op, x, axis, recording):
    """Record and run an op from each line along the axis of a bit mask to a line of the same length."""
    ndim = col.ndim(header, x)
    y = result_slot(header, col.dtype(header, x), ndim, col.geometry(header, x), False)
    if y == NONE:
        return E_MEMORY
    add_tensor_ref(header, y)
    _run_along(header, op, _turned(header, y, axis), _turned(header, x, axis), recording)
    return y


@entry_point()
def record_lines(header, op, x, axes, keepdims, recording):
    """Record and run an op of lines along the axes of a bit mask: a reduction, or a scan along one axis."""
    dtype, ndim = col.dtype(header, x), col.ndim(header, x)
    if is_superseded(header, x, NONE, NONE):
        return E_SUPERSEDED
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    if lacks_driver(header, op, col.geometry(header, x), ndim):
        return E_PARALLEL
    if op_field(header, op, OP_KIND) != SCAN:
        return _reduce(header, op, x, axes, keepdims, recording)
    if axes <= 0 or axes >> ndim != 0:
        return E_SHAPES
    return _scan(header, op, x, axes, recording)
