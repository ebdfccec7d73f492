"""Replay: run the bound instructions of a program, forwards and backwards, with no Python between them.

A program's block of fields describes one workspace of it. A *stream* is an array of rows ``[kernel, frame, threshold]``
in the order of execution. A *binding* is an array of the caller's that is used where it lies: what it must look like,
and the fields of the frames that hold an address inside it.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.frame import STRIDE
from tapegrad.engine.kernels.language.raw_memory import (
    call_kernel,
    load_i32,
    load_i64,
    memset,
    store_f32,
    store_f64,
    store_i64,
)
from tapegrad.engine.kernels.language.strided import in_c_order
from tapegrad.engine.sweep.binding.execute import execute
from tapegrad.engine.tape.fields.geometry import (
    ARRAY_DESCR,
    ARRAY_EXTENTS,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    ARRAY_STRIDES,
    DESCR_KIND,
    array_data,
    tuple_items,
)
from tapegrad.engine.tape.fields.layout import F32

# Fields of a program's block.
(
    FORWARD,  # address of the forward stream
    FORWARD_COUNT,
    REVERSE,
    REVERSE_COUNT,
    BINDINGS,  # address of the ports
    BINDING_COUNT,
    LIBRARY,
    CONTROL,
    SEED,  # address of the cotangent of the output that is differentiated
    SEED_COUNT,
    SEED_DTYPE,
    STOPPED_AT,  # row of the forward stream that returned a status
    INPUTS,  # number of ports that are inputs; the others are outputs and gradients
    CHUNK,  # seeds of a forward Jacobian for which the second stream runs at once; 0: it does not run
    WRT,  # inputs that it differentiates by: so many rows begin the second stream, and end it
    LEFT,  # replays until the fusion policy is consulted; 0: never
) = range(16)
PROGRAM_FIELDS = 16

# Fields of a port.
(
    PORT_DESCR,  # address of the dtype object that the array's must equal
    PORT_NDIM,
    PORT_EXTENTS,  # address of the extents
    PORT_ITEM,  # bytes of an element
    PORT_RELOCATIONS,  # address of pairs [address of a frame field, offset in bytes]
    PORT_RELOCATION_COUNT,
    PORT_ROW_BYTES,  # in a Jacobian: bytes from one row to the next, 0 for other arrays
    PORT_ADDRESS,  # address of the current array
) = range(8)
BINDING_FIELDS = 8

STREAM_FIELDS = 3
ONE_CALL = 1 << 62  # parallel threshold of a row that is one call of its kernel, without `execute`

MISMATCH = -1  # an array has another dtype, shape or order than its port
DUE = -2  # nothing was done: the fusion policy is to be consulted first
_ALIGNED = 0x100  # among the flags of an array


@inline_njit
def _is_of_dtype(array, descr):
    """Return whether a NumPy array is of a dtype. An array from another process has a dtype object of its own."""
    own = load_i64(array, ARRAY_DESCR)
    return own == descr or load_i64(own, DESCR_KIND) == load_i64(descr, DESCR_KIND)


@inline_njit
def _fits(binding, array):
    """Return whether a NumPy array has the dtype, the shape and the C order that a port expects."""
    ndim = load_i64(binding, PORT_NDIM)
    if not _is_of_dtype(array, load_i64(binding, PORT_DESCR)) or load_i32(array, ARRAY_NDIM) != ndim:
        return False
    if load_i32(array, ARRAY_FLAGS) & _ALIGNED == 0:
        return False
    expected = load_i64(binding, PORT_EXTENTS)
    extents, strides = load_i64(array, ARRAY_EXTENTS), load_i64(array, ARRAY_STRIDES)
    for d in range(ndim):
        if load_i64(extents, d) != load_i64(expected, d):
            return False
    return in_c_order(ndim, extents, strides, load_i64(binding, PORT_ITEM))


@inline_njit
def relocate(binding, address):
    """Write a port's address into every frame that uses it."""
    relocations = load_i64(binding, PORT_RELOCATIONS)
    for k in range(load_i64(binding, PORT_RELOCATION_COUNT)):
        store_i64(load_i64(relocations, 2 * k), 0, address + load_i64(relocations, 2 * k + 1))


@inline_njit
def bind_port(binding, address):
    """Let a port lead to an array at an address."""
    store_i64(binding, PORT_ADDRESS, address)
    relocate(binding, address)


@inline_njit
def _bind(program, k, array):
    """Bind an array to port k; return whether it fits."""
    binding = load_i64(program, BINDINGS) + 8 * BINDING_FIELDS * k
    if not _fits(binding, array):
        return False
    bind_port(binding, array_data(array))
    return True


@inline_njit
def run_stream(program, stream, count):
    """Run the rows of a stream until one returns a status."""
    loops, control = load_i64(program, LIBRARY), load_i64(program, CONTROL)
    for i in range(count):
        row = stream + 8 * STREAM_FIELDS * i
        kernel, frame, parallel_threshold = load_i64(row, 0), load_i64(row, 1), load_i64(row, 2)
        if parallel_threshold == ONE_CALL:
            status = call_kernel(kernel, frame, loops)
        else:
            status = execute(kernel, frame, loops, parallel_threshold, control)
        if status != 0:
            store_i64(program, STOPPED_AT, i)
            return status
    return 0


@inline_njit
def _is_due(program):
    """Count down this replay; return whether to consult the fusion policy before it."""
    left = load_i64(program, LEFT)
    if left == 0:
        return False
    store_i64(program, LEFT, left - 1)
    return left == 1


@inline_njit
def run_forward(program):
    """Run the forward stream, unless the fusion policy is due to be consulted first."""
    if _is_due(program):
        return DUE
    return run_stream(program, load_i64(program, FORWARD), load_i64(program, FORWARD_COUNT))


@inline_njit
def run_reverse(program):
    """Run the reverse stream."""
    return run_stream(program, load_i64(program, REVERSE), load_i64(program, REVERSE_COUNT))


@inline_njit
def store_seed(program, k, value):
    """Write element k of the cotangent of the output that is differentiated."""
    if load_i64(program, SEED_DTYPE) == F32:
        store_f32(load_i64(program, SEED), k, numba.float32(value))
    else:
        store_f64(load_i64(program, SEED), k, value)


@inline_njit
def _plug_all(program, arrays):
    for k in range(load_i64(program, BINDING_COUNT)):
        if not _bind(program, k, load_i64(arrays, k)):
            return False
    return True


@inline_njit
def _run_gradient(program):
    status = run_forward(program)
    if status == 0:
        store_seed(program, 0, 1.0)
        status = run_reverse(program)
    return status


@entry_point(nogil=True)
def replay_gradient(program, arrays):
    """Value and gradient; `arrays` is the id of a tuple of the arrays for the ports."""
    return _run_gradient(program) if _plug_all(program, tuple_items(arrays)) else MISMATCH


@entry_point(nogil=True)
def replay_values(program, arrays):
    """Compute the outputs alone."""
    return run_forward(program) if _plug_all(program, tuple_items(arrays)) else MISMATCH


@entry_point(nogil=True)
def replay_forward(program, arrays):
    """Run the forward stream alone, on the ports that the caller gives first; `arrays` holds those."""
    for k in range(load_i64(program, INPUTS)):
        if not _bind(program, k, load_i64(tuple_items(arrays), k)):
            return MISMATCH
    return run_forward(program)


@entry_point(nogil=True)
def replay_backward(program, arrays):
    """Run the reverse stream alone, after `replay_forward`; `arrays` holds the arrays for the other ports."""
    first = load_i64(program, INPUTS)
    for k in range(first, load_i64(program, BINDING_COUNT)):
        if not _bind(program, k, load_i64(tuple_items(arrays), k - first)):
            return MISMATCH
    return run_reverse(program)


@inline_njit
def _direct_to_row(program, row):
    """Direct the gradients of this sweep to row `row` of the Jacobians."""
    for k in range(load_i64(program, INPUTS), load_i64(program, BINDING_COUNT)):
        binding = load_i64(program, BINDINGS) + 8 * BINDING_FIELDS * k
        if load_i64(binding, PORT_ROW_BYTES) > 0:
            relocate(binding, load_i64(binding, PORT_ADDRESS) + row * load_i64(binding, PORT_ROW_BYTES))


@inline_njit
def run_rows(program, lanes):
    """Run a forward sweep, and a reverse sweep for each element of the seeded output, in so many lanes at once."""
    status = run_forward(program)
    count = load_i64(program, SEED_COUNT)
    item = 4 if load_i64(program, SEED_DTYPE) == F32 else 8
    first = 0
    while status == 0 and first < count:
        memset(load_i64(program, SEED), 0, item * count)
        for k in range(first, first + lanes):
            store_seed(program, k, 1.0)
        _direct_to_row(program, first // lanes)
        status = run_reverse(program)
        first += lanes
    return status


@entry_point(nogil=True)
def replay_jacobian(program, arrays):
    """Compute the Jacobians of the seeded output: one forward sweep, one reverse sweep for each of its elements."""
    return run_rows(program, 1) if _plug_all(program, tuple_items(arrays)) else MISMATCH


@inline_njit
def _set_first_seed(program, start):
    """Set the number of the first seed in the instructions that seed tangents and write Jacobians."""
    stream, rows, wrt = load_i64(program, REVERSE), load_i64(program, REVERSE_COUNT), load_i64(program, WRT)
    for k in range(wrt):
        store_i64(load_i64(stream + 8 * STREAM_FIELDS * k, 1), STRIDE, start)
        store_i64(load_i64(stream + 8 * STREAM_FIELDS * (rows - 1 - k), 1), STRIDE, start)


@inline_njit
def run_chunks(program):
    """Run a forward sweep for the primals, and one of tangents for each chunk of seeds. The last may begin earlier."""
    status = run_forward(program)
    chunk, seeds = load_i64(program, CHUNK), load_i64(program, SEED_COUNT)
    done = 0
    while status == 0 and done < seeds and chunk > 0:
        _set_first_seed(program, min(done, seeds - chunk))
        status = run_reverse(program)
        done += chunk
    return status


@entry_point(nogil=True)
def replay_tangents(program, arrays):
    """Compute tangents along given seeds, or whole Jacobians, by forward sweeps; values too, if they have ports."""
    return run_chunks(program) if _plug_all(program, tuple_items(arrays)) else MISMATCH
