"""In-place writes: a new version of a buffer, written in the memory of the old one.

A write is given the slot of the Tensor that owns the memory, and returns that of its next version, with a handle; the
caller lets go of the old one. In the upper 32 bits the result carries, if a Python object owns the memory, the old
buffer plus 1: the new one is the owner's from then on. Where no derivative is recorded, and nothing reads the old
contents, the memory is written to and the slot stays what it is.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.frame import COUNT, FIELDS, PARAMS, X, Y
from tapegrad.engine.kernels.language.raw_memory import call_kernel, load_i64, malloc, stack_i64, store_i64
from tapegrad.engine.sweep.binding.bind import primal_address
from tapegrad.engine.sweep.eager.eager import commit, is_superseded, kernel_of
from tapegrad.engine.tape.append import differentiable
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import (
    array_data,
    array_length,
    broadcast_stride,
    extent,
    is_differentiable,
    item_size,
    shows_each_once,
    size,
    stride,
)
from tapegrad.engine.tape.fields.instruction import Instruction
from tapegrad.engine.tape.fields.layout import (
    ALL_LIVE,
    E_DTYPES,
    E_KEPT,
    E_KERNEL,
    E_MEMORY,
    E_OUTSIDE,
    E_READ_ONLY,
    E_SHAPES,
    E_STATUS,
    E_SUPERSEDED,
    EXTERNAL,
    LIBRARY,
    NONE,
)
from tapegrad.engine.tape.fields.parameters import free_params
from tapegrad.engine.tape.release import drop_tensor_ref
from tapegrad.engine.tape.slots import scalar_constant
from tapegrad.engine.tape.versions import begin_version, keep_earlier_contents, show_same_elements, whole
from tapegrad.ops.params import EXTENTS, NDIM, OFFSET, field_index
from tapegrad.ops.structural.indexing import ScatterWriteParams, WriteParams

_TOTAL, _REGION = field_index(WriteParams, "total"), field_index(WriteParams, "region")
_SCATTER_FIELDS = len(ScatterWriteParams._fields)
_ROWS, _LENGTH, _VALUE_STRIDE = (field_index(ScatterWriteParams, name) for name in ScatterWriteParams._fields)


# --- parameters ------------------------------------------------------------------------------------------------


@inline_njit
def _new_fields(count):
    """Return a block of uninitialised parameters; 0 when memory is short."""
    block = malloc(8 * (count + 1))
    if block == 0:
        return 0
    store_i64(block, 0, count)
    return block + 8


@inline_njit
def _count_elements(header, slot, dtype):
    """Return the elements of a dtype in a slot's buffer: parts of complex numbers are written as floats."""
    return col.bytes(header, col.buffer(header, slot)) // item_size(dtype)


@inline_njit
def _region_params(header, target, value):
    """Return the parameters of a write of `value`, broadcast, to the elements of `target`."""
    ndim = col.ndim(header, target)
    params = _new_fields(_REGION + EXTENTS + 3 * ndim)
    if params == 0:
        return 0
    store_i64(params, _TOTAL, _count_elements(header, target, col.dtype(header, target)))
    store_i64(params, _REGION + OFFSET, col.offset(header, target))
    store_i64(params, _REGION + NDIM, ndim)
    for d in range(ndim):
        store_i64(params, _REGION + EXTENTS + d, extent(header, target, d))
        store_i64(params, _REGION + EXTENTS + ndim + d, stride(header, target, d))
        store_i64(params, _REGION + EXTENTS + 2 * ndim + d, broadcast_stride(header, value, d, ndim))
    return params


@inline_njit
def _rows_params(header, base, value):
    """Return the parameters of a write to listed elements, of one value or of one for each."""
    params = _new_fields(_SCATTER_FIELDS)
    if params == 0:
        return 0
    store_i64(params, _ROWS, _count_elements(header, base, col.dtype(header, value)))
    store_i64(params, _LENGTH, 1)
    single = size(header, value) == 1
    store_i64(params, _VALUE_STRIDE, 0 if single else item_size(col.dtype(header, value)))
    return params


@inline_njit
def _nothing_params(header, slot):
    """Return the parameters of a write to no element, whose result is the operand."""
    params = _new_fields(_REGION + EXTENTS + 3)
    if params == 0:
        return 0
    store_i64(params, _TOTAL, _count_elements(header, slot, col.dtype(header, slot)))
    store_i64(params, _REGION + OFFSET, 0)
    store_i64(params, _REGION + NDIM, 1)
    for d in range(3):
        store_i64(params, _REGION + EXTENTS + d, 0)
    return params


# --- what can be written ---------------------------------------------------------------------------------------


@inline_njit
def _fits(header, value, target):
    """Return whether a value broadcasts to the shape of the target."""
    lead = col.ndim(header, target) - col.ndim(header, value)
    if lead < 0:
        return False
    for d in range(col.ndim(header, value)):
        e = extent(header, value, d)
        if e != 1 and e != extent(header, target, lead + d):
            return False
    return True


@inline_njit
def _is_recorded(header, base, value, differentiate):
    """Return whether a write is recorded as an instruction."""
    flows = differentiable(header, base) or differentiable(header, value)
    return load_i64(header, ALL_LIVE) != 0 or (differentiate and flows)


@inline_njit
def _obstacle(header, op, base, dtype, value, differentiate):
    """Return the error that prevents a plain write of elements of a dtype; 0 if none does."""
    if is_superseded(header, base, value, NONE):
        return E_SUPERSEDED
    if col.dtype(header, value) != dtype:
        return E_DTYPES
    if kernel_of(header, op, dtype, 0) == 0:
        return E_KERNEL
    if _is_recorded(header, base, value, differentiate):
        return 0
    return E_KEPT if col.saved_for_backward(header, col.buffer(header, base)) > 0 else 0


# --- writes ----------------------------------------------------------------------------------------------------


@inline_njit
def _run(header, instruction, dtype, memory, source, numbers):
    """Write the elements at the address `source` to memory; return the kernel's status."""
    frame, rows = stack_i64(FIELDS), instruction.c
    for k in range(FIELDS):
        store_i64(frame, k, 0)
    store_i64(frame, COUNT, _count_rows(header, rows))
    store_i64(frame, X, memory)
    store_i64(frame, X + 1, source)
    store_i64(frame, X + 2, numbers)
    store_i64(frame, Y, memory)
    store_i64(frame, PARAMS, instruction.params)
    return call_kernel(kernel_of(header, instruction.op, dtype, 0), frame, load_i64(header, LIBRARY))


@inline_njit
def _count_rows(header, rows):
    """Return how many rows a slot lists; 0 if there is none."""
    return size(header, rows) if rows >= 0 else 0


@inline_njit
def _with_owner(slot, flags, old):
    """Return a new version's slot, with the old buffer if a Python object owns the memory."""
    return slot + ((old + 1) << 32) if flags & EXTERNAL else slot


@inline_njit
def _append(header, instruction, base, fresh, differentiate):
    """Append a write: its first operand and result are the wholes of two slots' buffers, in the value's dtype."""
    op, _, _, value, rows, params = instruction
    dtype = col.dtype(header, value)
    before, after = whole(header, base, dtype), whole(header, fresh, dtype)
    commit(header, Instruction(op, after, before, value, rows, params), differentiate)
    drop_tensor_ref(header, before)
    drop_tensor_ref(header, after)


@inline_njit
def _write_and_record(header, instruction, base, target, numbers, differentiate):
    """Write in the memory of `base` and append the instruction; return the slot of the new version, or an error.

    The instruction is complete but for the first operand and the result.
    """
    _, _, _, value, rows, params = instruction
    old = col.buffer(header, base)
    memory, flags, dtype = col.primal(header, old), col.flags(header, old), col.dtype(header, value)
    count = _count_rows(header, rows)
    source = primal_address(header, value)
    fresh = begin_version(header, base, target, numbers, count)
    if fresh < 0:
        free_params(params)
        return fresh
    status = _run(header, instruction, dtype, memory, source, numbers)
    _append(header, instruction, base, fresh, differentiate)
    return E_STATUS - status if status != 0 else _with_owner(fresh, flags, old)


@inline_njit
def _write_only(header, instruction, base, target, numbers):
    """Write in the memory of `base`, without an instruction; `base`, or an error."""
    _, _, _, value, rows, params = instruction
    buffer, dtype = col.buffer(header, base), col.dtype(header, value)
    count = _count_rows(header, rows)
    if not keep_earlier_contents(header, buffer, target, numbers, count):
        free_params(params)
        return E_MEMORY
    memory, source = col.primal(header, buffer), primal_address(header, value)
    status = _run(header, instruction, dtype, memory, source, numbers)
    free_params(params)
    return E_STATUS - status if status != 0 else base


@inline_njit
def _write(header, op, base, target, value, differentiate):
    obstacle = _obstacle(header, op, base, col.dtype(header, target), value, differentiate)
    if obstacle != 0:
        return obstacle
    if col.read_only(header, target):
        return E_READ_ONLY
    if not _fits(header, value, target) or not shows_each_once(header, target):
        return E_SHAPES
    if col.buffer(header, value) == col.buffer(header, base) and show_same_elements(header, value, target):
        drop_tensor_ref(header, target)  # as in ``x[0] += 1``, where x[0] has been written to before
        return base
    params = _region_params(header, target, value)
    if params == 0:
        return E_MEMORY
    instruction = Instruction(op, NONE, NONE, value, NONE, params)
    if _is_recorded(header, base, value, differentiate):
        written = _write_and_record(header, instruction, base, target, 0, differentiate)
    else:
        written = _write_only(header, instruction, base, target, 0)
    if written >= 0:
        drop_tensor_ref(header, target)
    return written


@entry_point()
def write(header, op, base, target, value, differentiate):
    """Write `value` to the elements of the slot `target` in the memory of `base`, and drop `target`.

    The target may lie on an earlier version. With an error nothing has changed, and the caller keeps the target:
    E_READ_ONLY where nothing may be written through it, E_SHAPES also where it shows an element twice, E_KEPT where old
    contents are read and nothing is recorded.
    """
    return _write(header, op, base, target, value, differentiate)


@entry_point(floats=("number",))
def write_number(header, op, base, target, number, differentiate):
    """`write` of a number, which takes the target's dtype: of floats or of complex numbers."""
    dtype = col.dtype(header, target)
    if not is_differentiable(dtype):
        return E_DTYPES
    return _write(header, op, base, target, scalar_constant(header, number, dtype), differentiate)


@inline_njit
def _lie_in(numbers, count, elements):
    """Return whether all numbers are valid indices."""
    for k in range(count):
        if load_i64(numbers, k) < 0 or load_i64(numbers, k) >= elements:
            return False
    return True


@entry_point()
def write_rows(header, op, base, rows, value, differentiate):
    """Write `value`, one element or a contiguous one for each row, to the elements that the slot `rows` numbers."""
    dtype = col.dtype(header, value)
    obstacle = _obstacle(header, op, base, dtype, value, differentiate)
    if obstacle != 0:
        return obstacle
    numbers, count = primal_address(header, rows), size(header, rows)
    if not _lie_in(numbers, count, _count_elements(header, base, dtype)):
        return E_OUTSIDE
    params = _rows_params(header, base, value)
    if params == 0:
        return E_MEMORY
    instruction = Instruction(op, NONE, NONE, value, rows, params)
    if _is_recorded(header, base, value, differentiate):
        return _write_and_record(header, instruction, base, value, numbers, differentiate)
    return _write_only(header, instruction, base, value, numbers)


# --- writes that Python does itself ------------------------------------------------------------------------------


@entry_point()
def begin_write(header, base, target, numbers):
    """Begin a write of which no derivative is taken: a new version, in whose memory Python will write.

    It will overwrite the elements of `target`, or those numbered by the int64 array with the id `numbers`
    if that is not 0. The memory is the old one's.
    """
    if is_superseded(header, base, NONE, NONE):
        return E_SUPERSEDED
    old = col.buffer(header, base)
    flags, count = col.flags(header, old), array_length(numbers) if numbers != 0 else 0
    fresh = begin_version(header, base, target, array_data(numbers) if numbers != 0 else 0, count)
    return fresh if fresh < 0 else _with_owner(fresh, flags, old)


@entry_point()
def pass_through(header, op, base, fresh):
    """Let the cotangent of a new version flow to the one before as if nothing had been written."""
    params = _nothing_params(header, base)
    if params == 0:
        return E_MEMORY
    nothing = scalar_constant(header, 0.0, col.dtype(header, base))
    _append(header, Instruction(op, NONE, NONE, nothing, NONE, params), base, fresh, True)
    return 0
