"""Calls of a compiled function by its handle, on raw addresses: from compiled code and from C, on any thread.

`call_handle` is a C function, ``int64 call_handle(int64 handle, int64 addresses)``. `addresses` leads to those of the
inputs and then of the results; 0 stands for a result that is not wanted. A result may lie where an input does.
"""

import math

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.inlining import called_by_address
from tapegrad.engine.kernels.language.raw_memory import (
    calloc,
    free,
    load_i32,
    load_i64,
    memcpy,
    memset,
    stack_i64,
    store_f32,
    store_f64,
    store_i64,
)
from tapegrad.engine.kernels.language.status import (
    GUARD_FAILED,
    HANDLE_FREED,
    NOT_FINITE_RESULT,
    OUT_OF_MEMORY,
)
from tapegrad.engine.sweep.replays.handle_fields import (
    ADDRESSES,
    ARGUMENTS,
    AT_ADDRESS,
    BOTH,
    BYTES,
    COLUMNS,
    CONSTANT_COUNT,
    CONSTANTS,
    COPIES,
    COPY_AT,
    COPY_BYTES,
    COPY_COUNT,
    COPY_FIELDS,
    COPY_FROM,
    COPY_TO,
    DTYPES,
    FAILED_CALLS,
    GRADIENT,
    HANDLE,
    IN_WORKSPACE,
    INPUTS,
    KIND,
    LAST,
    LAST_STATUS,
    PORTS,
    ROWS,
    SITES,
    SIZES,
    SPECIALIZATION,
    SPECIALIZATION_COUNT,
    SPECIALIZATION_FIELDS,
    SPECIALIZATIONS,
    STOPPED_AT,
    WORKSPACES,
)
from tapegrad.engine.sweep.replays.replay import (
    BINDING_COUNT,
    BINDING_FIELDS,
    BINDINGS,
    PORT_ADDRESS,
    PORT_ROW_BYTES,
    bind_port,
    run_chunks,
    run_forward,
    run_reverse,
    run_rows,
    store_seed,
)
from tapegrad.engine.sweep.replays.replay import STOPPED_AT as PROGRAM_STOPPED_AT
from tapegrad.engine.sweep.replays.workspace_pool import acquire, make_workspace, release
from tapegrad.engine.sweep.threading.synchronization import atomic_add
from tapegrad.engine.tape.fields.layout import C64, C128, F32, F64

_F64_EXPONENT = 0x7FF0000000000000
_F32_EXPONENT = 0x7F800000


@inline_njit
def _meets_constant(handle, begin, end):
    """Return whether bytes overlap a constant: the first one that ends behind `begin` begins before `end`."""
    constants, low = load_i64(handle, CONSTANTS), 0
    count = load_i64(handle, CONSTANT_COUNT)
    high = count
    while low < high:
        middle = (low + high) // 2
        if load_i64(constants, 2 * middle + 1) <= begin:
            low = middle + 1
        else:
            high = middle
    return low < count and load_i64(constants, 2 * low) < end


@inline_njit
def _meets_operand(handle, addresses, number):
    """Return whether a result lies in the memory of an input or a constant."""
    bytes_, begin = load_i64(handle, BYTES), load_i64(addresses, number)
    end = begin + load_i64(bytes_, number)
    for k in range(load_i64(handle, INPUTS)):
        other = load_i64(addresses, k)
        if begin < other + load_i64(bytes_, k) and other < end:
            return True
    return _meets_constant(handle, begin, end)


@inline_njit
def _port_address(handle, specialization, workspace, addresses, k):
    """Return the address of port k: that of the caller's array, or of memory in the workspace."""
    pair = load_i64(specialization, PORTS) + 16 * k
    number = load_i64(pair, 0)
    if number >= 0:
        given = load_i64(addresses, number)
        if number < load_i64(handle, INPUTS) or (
            given != 0 and not _meets_operand(handle, addresses, number)
        ):
            return given
    return workspace + load_i64(pair, 1)


@inline_njit
def plug(handle, specialization, workspace, addresses):
    """Let the ports of a workspace lead to the arguments of a call."""
    bindings = load_i64(workspace, BINDINGS)
    for k in range(load_i64(workspace, BINDING_COUNT)):
        binding = bindings + 8 * BINDING_FIELDS * k
        address = _port_address(handle, specialization, workspace, addresses, k)
        # skip ports whose address has not changed, but never those of a Jacobian: each row moves them
        if load_i64(binding, PORT_ADDRESS) != address or load_i64(binding, PORT_ROW_BYTES) != 0:
            bind_port(binding, address)


@inline_njit
def run(specialization, workspace):
    """Run the program of a specialization on a workspace whose ports are plugged."""
    kind = load_i64(specialization, KIND)
    if kind == ROWS:
        return run_rows(workspace, 1)
    if kind == BOTH:
        status = run_forward(workspace)
        return run_reverse(workspace) if status == 0 else status
    if kind != GRADIENT:
        return run_chunks(workspace)
    store_seed(workspace, 0, 1.0)  # a segment with both sweeps in it reads the seed from the beginning on
    status = run_forward(workspace)
    if status == 0:
        store_seed(workspace, 0, 1.0)
        status = run_reverse(workspace)
    return status


@inline_njit
def _take_from_ports(handle, specialization, workspace, addresses):
    """Copy the results whose ports led to the workspace for the sake of operands in the same memory."""
    bindings, ports = load_i64(workspace, BINDINGS), load_i64(specialization, PORTS)
    for k in range(load_i64(workspace, BINDING_COUNT)):
        number = load_i64(ports, 2 * k)
        if number >= load_i64(handle, INPUTS):
            wanted, used = (
                load_i64(addresses, number),
                load_i64(bindings, BINDING_FIELDS * k + PORT_ADDRESS),
            )
            if wanted != used and wanted != 0:
                memcpy(wanted, used, load_i64(load_i64(handle, BYTES), number))


@inline_njit
def deliver(handle, specialization, workspace, addresses):
    """Write the results that no port has written to the caller's memory.

    Copies of inputs and constants come first, for another result may go to the memory of those.
    """
    for k in range(load_i64(specialization, COPY_COUNT)):
        copy = load_i64(specialization, COPIES) + 8 * COPY_FIELDS * k
        target, kind, source = (
            load_i64(addresses, load_i64(copy, COPY_TO)),
            load_i64(copy, COPY_FROM),
            load_i64(copy, COPY_AT),
        )
        if target == 0:
            continue
        if kind == IN_WORKSPACE:
            source += workspace
        elif kind != AT_ADDRESS:
            source = load_i64(addresses, source)
        memcpy(target, source, load_i64(copy, COPY_BYTES))
    _take_from_ports(handle, specialization, workspace, addresses)


@inline_njit
def run_specialization(handle, specialization, workspace, addresses):
    """Run a specialization on a workspace of it, for the arguments of a call."""
    plug(handle, specialization, workspace, addresses)
    status = run(specialization, workspace)
    if status == 0:
        deliver(handle, specialization, workspace, addresses)
    elif status == GUARD_FAILED:
        store_i64(specialization, STOPPED_AT, load_i64(workspace, PROGRAM_STOPPED_AT))
    return status


@inline_njit
def specialization_at(handle, number):
    """Return the address of a specialization."""
    return load_i64(handle, SPECIALIZATIONS) + 8 * SPECIALIZATION_FIELDS * number


@inline_njit
def _number_at(last, attempt):
    """Return the number of the specialization to try next: the last one used, then the others in order."""
    if attempt == 0:
        return last
    return attempt - 1 if attempt <= last else attempt


@inline_njit
def _call_specialization(handle, specialization, addresses):
    workspace = acquire(specialization)
    if workspace == 0:
        return OUT_OF_MEMORY
    status = run_specialization(handle, specialization, workspace, addresses)
    release(workspace)
    return status


@inline_njit
def call(handle, addresses):
    """Call a compiled function, and count the call if it fails; return its status."""
    status = _call_specializations(handle, addresses)
    if status != 0:
        atomic_add(handle + 8 * FAILED_CALLS, 1)
        store_i64(handle, LAST_STATUS, status)
    return status


@inline_njit
def _call_specializations(handle, addresses):
    """Run the specialization whose guards hold. GUARD_FAILED if there is none."""
    last = load_i64(handle, LAST)
    for attempt in range(load_i64(handle, SPECIALIZATION_COUNT)):
        number = _number_at(last, attempt)
        specialization = specialization_at(handle, number)
        status = _call_specialization(handle, specialization, addresses)
        if status != GUARD_FAILED:
            if number != last:
                store_i64(handle, LAST, number)
            return status
    return GUARD_FAILED


# --- C functions --------------------------------------------------------------------------------------------------


@called_by_address
def call_handle(handle: int, addresses: int) -> int:
    """Call a compiled function."""
    return call(handle, addresses)


@inline_njit
def _is_finite(address, count, dtype):
    for k in range(2 * count if dtype == C128 or dtype == C64 else count):
        if (dtype == F64 or dtype == C128) and load_i64(address, k) & _F64_EXPONENT == _F64_EXPONENT:
            return False
        if (dtype == F32 or dtype == C64) and load_i32(address, k) & _F32_EXPONENT == _F32_EXPONENT:
            return False
    return True


@called_by_address
def call_finite(handle: int, addresses: int) -> int:
    """Call a compiled function; NOT_FINITE_RESULT if one of the results is nan or infinite."""
    status = call(handle, addresses)
    if status != 0:
        return status
    sizes, dtypes = load_i64(handle, SIZES), load_i64(handle, DTYPES)
    for k in range(load_i64(handle, INPUTS), load_i64(handle, ARGUMENTS)):
        address = load_i64(addresses, k)
        if address != 0 and not _is_finite(address, load_i64(sizes, k), load_i64(dtypes, k)):
            return NOT_FINITE_RESULT
    return 0


@inline_njit
def _fill_with_nan(address, bytes_, dtype):
    """Fill memory with NaN, both parts of complex numbers, or with zeros for integers."""
    memset(address, 0, bytes_)
    if dtype == F64 or dtype == C128:
        for k in range(bytes_ // 8):
            store_f64(address, k, numba.float64(math.nan))
    elif dtype == F32 or dtype == C64:
        for k in range(bytes_ // 4):
            store_f32(address, k, numba.float32(math.nan))


@called_by_address
def call_or_nan(handle: int, addresses: int) -> int:
    """Call a compiled function; if it fails, all results are NaN."""
    status = call(handle, addresses)
    if status != 0:
        bytes_, dtypes = load_i64(handle, BYTES), load_i64(handle, DTYPES)
        for k in range(load_i64(handle, INPUTS), load_i64(handle, ARGUMENTS)):
            if load_i64(addresses, k) != 0:
                _fill_with_nan(load_i64(addresses, k), load_i64(bytes_, k), load_i64(dtypes, k))
    return status


@called_by_address
def failure(handle: int, number: int) -> int:
    """Return the address of the source line of the guard that a specialization failed last; 0 if there is none."""
    if number < 0 or number >= load_i64(handle, SPECIALIZATION_COUNT):
        return 0
    specialization = specialization_at(handle, number)
    row = load_i64(specialization, STOPPED_AT)
    return load_i64(load_i64(specialization, SITES), row) if row >= 0 else 0


@called_by_address
def call_freed(handle: int, addresses: int) -> int:
    """Refuse a call: the entry of a compiled function that nothing keeps alive any more."""
    return HANDLE_FREED


# --- from Python --------------------------------------------------------------------------------------------------


@entry_point(nogil=True)
def call_each(handle, points, step, values, count):
    """Call a function of an array that returns a number for arrays `step` bytes apart; a status that is not 0, or 0."""
    fields = stack_i64(2)
    for k in range(count):
        store_i64(fields, 0, points + k * step)
        store_i64(fields, 1, values + 8 * k)
        status = call(handle, fields)
        if status != 0:
            return status
    return 0


# --- sessions -----------------------------------------------------------------------------------------------------


@inline_njit
def open_session(handle, addresses, session):
    """Begin many calls with arguments at the same addresses, on workspaces of their own; return a status."""
    store_i64(session, HANDLE, handle)
    store_i64(session, ADDRESSES, addresses)
    store_i64(session, SPECIALIZATION, load_i64(handle, LAST))
    store_i64(session, WORKSPACES, calloc(load_i64(handle, SPECIALIZATION_COUNT), 8))
    return 0 if load_i64(session, WORKSPACES) != 0 else OUT_OF_MEMORY


@inline_njit
def _evaluate_specialization(session, number):
    handle, addresses = load_i64(session, HANDLE), load_i64(session, ADDRESSES)
    specialization, workspaces = (
        specialization_at(handle, number),
        load_i64(session, WORKSPACES),
    )
    workspace = load_i64(workspaces, number)
    if workspace == 0:
        workspace = make_workspace(specialization)
        if workspace == 0:
            return OUT_OF_MEMORY
        store_i64(workspaces, number, workspace)
    return run_specialization(handle, specialization, workspace, addresses)


@inline_njit
def evaluate(session):
    """Call the function of a session with what lies at its addresses now."""
    last = load_i64(session, SPECIALIZATION)
    handle = load_i64(session, HANDLE)
    for attempt in range(load_i64(handle, SPECIALIZATION_COUNT)):
        number = _number_at(last, attempt)
        status = _evaluate_specialization(session, number)
        if status != GUARD_FAILED:
            store_i64(session, SPECIALIZATION, number)
            return status
    return GUARD_FAILED


@inline_njit
def column(session, seed):
    """Return the address of the tangents along a seed after `evaluate` of a program of columns; 0 for zeros."""
    number = load_i64(session, SPECIALIZATION)
    specialization = specialization_at(load_i64(session, HANDLE), number)
    offset = load_i64(load_i64(specialization, COLUMNS), seed)
    return 0 if offset < 0 else load_i64(load_i64(session, WORKSPACES), number) + offset


@inline_njit
def close_session(session):
    """End a session."""
    workspaces = load_i64(session, WORKSPACES)
    if workspaces == 0:
        return
    for k in range(load_i64(load_i64(session, HANDLE), SPECIALIZATION_COUNT)):
        workspace = load_i64(workspaces, k)
        if workspace != 0:
            release(workspace)
    free(workspaces)
    store_i64(session, WORKSPACES, 0)
