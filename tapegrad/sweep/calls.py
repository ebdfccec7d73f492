"""Eager sweeps that stop where a user's function is to be called: Python calls it, and the sweep goes on.

While the function runs anything can happen to the tape: other threads append to it, results are let go, and the
function itself may differentiate something. So a sweep keeps to itself what it has marked, the columns are left
clean, and results that it goes through are flagged as swept: their cotangents stay when nobody shows them any more,
and no other sweep goes through them meanwhile.
"""

from tapegrad.compiler import helper, native
from tapegrad.kernels.native import (
    free,
    load_i64,
    load_u8,
    malloc,
    memcpy,
    realloc,
    stack_words,
    store_i64,
    store_u8,
)
from tapegrad.sweep.bind import cotangent_address, op_word, primal_address, variant
from tapegrad.sweep.eager import _commit, kernel_of
from tapegrad.sweep.marking import USEFUL, mark, mark_useful, unmark, unmark_all
from tapegrad.sweep.reverse import (
    KEEP_GRAPH,
    ONLY_LOOK,
    ONLY_WANTED,
    OVERWRITE,
    add_seed,
    bring_back,
    is_busy,
    make_cotangent,
    report_missing,
    set_aside,
    step,
)
from tapegrad.tape.blocks import add_block, release_block
from tapegrad.tape.columns import (
    add_handle,
    differentiable,
    drop_handle,
    first_writer,
    free_cotangent,
    free_instruction,
)
from tapegrad.tape.geometry import ARRAY_EXTENTS, array_data, item_size
from tapegrad.tape.layout import (
    CALL,
    CALLS,
    DEAD_OP,
    E_BUSY,
    E_CONSTANT,
    E_FREED,
    E_STATUS,
    NONE,
    OP_KIND,
    PAUSED,
    SWEPT,
    WANTED,
    get_buffer,
    get_bytes,
    get_cotangent,
    get_dtype,
    get_flags,
    get_handles,
    get_mark,
    get_op,
    get_operand0,
    get_operand1,
    get_operand2,
    get_params,
    get_primal,
    get_producer,
    get_result,
    set_cotangent,
    set_flags,
)

# Words of a sweep's state, an int64 array of Python's.
(
    ROOT,
    LOW,  # the lowest instruction that the root depends on
    HIGH,
    NEXT,  # the instruction that comes next
    AT,  # the one whose function is being called, -1: none
    OPTIONS,
    ASIDE,  # address of the gradients from before
    ASIDE_COUNT,
    MARKS,  # address of a byte for each instruction from LOW to HIGH
    WANTED_LIST,  # address of the buffers that were asked for by name
    WANTED_COUNT,
) = range(11)
STATE_WORDS = 11


@native()
def append_call(header, op, result, a, b, c, params, recording):
    """Append an instruction whose result Python has computed; `params` is the id of an int64 array."""
    bytes_ = 8 * load_i64(load_i64(params, ARRAY_EXTENTS), 0)
    own = malloc(bytes_)
    memcpy(own, array_data(params), bytes_)
    store_i64(header, CALLS, 1)
    if not _commit(header, op, result, a, b, c, own, recording):
        free(own)


# --- what a sweep knows of its instructions and buffers ---------------------------------------------------------


@helper
def _mark_of(state, i):
    return load_u8(load_i64(state, MARKS), i - load_i64(state, LOW))


@helper
def _wanted(state, buffer):
    """Whether a buffer was asked for by name."""
    for k in range(load_i64(state, WANTED_COUNT)):
        if load_i64(load_i64(state, WANTED_LIST), k) == buffer:
            return True
    return False


@helper
def _takes(header, state, slot):
    """Whether a cotangent is to be computed for an operand."""
    if not differentiable(header, slot):
        return False
    if load_i64(state, OPTIONS) & ONLY_WANTED == 0:
        return True
    buffer = get_buffer(header, slot)
    producer = get_producer(header, buffer)
    inside = load_i64(state, LOW) <= producer <= load_i64(state, HIGH)
    return _wanted(state, buffer) or (inside and _mark_of(state, producer) == USEFUL)


@helper
def _shown(header, state, buffer):
    """Whether a tensor will show the buffer's cotangent as its gradient."""
    if load_i64(state, OPTIONS) & ONLY_WANTED and not _wanted(state, buffer):
        return False
    own = 1 if buffer == get_buffer(header, load_i64(state, ROOT)) else 0  # the sweep holds its root
    return get_handles(header, buffer) > own


# --- beginning -------------------------------------------------------------------------------------------------


@helper
def _note_wanted(header, state, slot):
    """Enter the buffer of a slot into the list of those that were asked for."""
    if slot < 0:
        return
    buffer = get_buffer(header, slot)
    if get_flags(header, buffer) & WANTED == 0 or _wanted(state, buffer):
        return
    count = load_i64(state, WANTED_COUNT)
    if count % 64 == 0:
        store_i64(state, WANTED_LIST, realloc(load_i64(state, WANTED_LIST), 8 * (count + 64)))
    store_i64(load_i64(state, WANTED_LIST), count, buffer)
    store_i64(state, WANTED_COUNT, count + 1)


@helper
def _missing(header, low, high):
    """First useful instruction whose reverse kernel is needed and not loaded, NONE if there is none."""
    for i in range(low, high + 1):
        if get_mark(header, i) == USEFUL:
            op = get_op(header, i)
            a, b, c = get_operand0(header, i), get_operand1(header, i), get_operand2(header, i)
            if (
                op_word(header, op, OP_KIND) != CALL
                and kernel_of(header, op, variant(header, op, a, b, c), 1) == 0
            ):
                return i
    return NONE


@helper
def _flag(header, i, swept):
    """Flag the buffer that an instruction writes as swept, or take the flag away."""
    buffer = get_buffer(header, get_result(header, i))
    flags = get_flags(header, buffer) & ~SWEPT
    set_flags(header, buffer, flags | (SWEPT if swept else 0))


@helper
def _take_marks(header, state):
    """Keep the marks, flag the results that are swept, and leave the column clean."""
    low, high = load_i64(state, LOW), load_i64(state, HIGH)
    marks = malloc(high + 1 - low)
    store_i64(state, MARKS, marks)
    for i in range(low, high + 1):
        store_u8(marks, i - low, get_mark(header, i))
        if get_mark(header, i):
            _flag(header, i, True)
            for slot in (
                get_result(header, i),
                get_operand0(header, i),
                get_operand1(header, i),
                get_operand2(header, i),
            ):
                _note_wanted(header, state, slot)
    unmark(header, low, high)


@helper
def _set_aside(header, state, slot):
    aside, count = set_aside(header, slot, load_i64(state, ASIDE), load_i64(state, ASIDE_COUNT))
    store_i64(state, ASIDE, aside)
    store_i64(state, ASIDE_COUNT, count)


@helper
def _is_leaf(header, slot):
    return differentiable(header, slot) and get_producer(header, get_buffer(header, slot)) < 0


@helper
def _set_aside_all(header, state):
    """Set aside the gradients of results and of leaves, so that nothing of them is lost should the sweep fail."""
    _set_aside(header, state, load_i64(state, ROOT))
    for i in range(load_i64(state, LOW), load_i64(state, HIGH) + 1):
        if _mark_of(state, i):
            _set_aside(header, state, get_result(header, i))
            for slot in (get_operand0(header, i), get_operand1(header, i), get_operand2(header, i)):
                if _is_leaf(header, slot) and _takes(header, state, slot):
                    _set_aside(header, state, slot)


@native()
def begin_sweep(header, root, seed, options, state, missing):
    """Begin a sweep backwards from `root`: 0, or an error, in which case nothing has changed.

    Arguments as for `reverse.reverse_sweep`; `state` is the id of an int64 array of STATE_WORDS zeros. E_BUSY where
    another sweep waits for a user's function on the same way.
    """
    if not differentiable(header, root):
        return E_CONSTANT
    high = get_producer(header, get_buffer(header, root))
    low = mark(header, root)
    if low == E_FREED:
        unmark_all(header)
        return E_FREED
    if is_busy(header, low, high):
        unmark(header, low, high)
        return E_BUSY
    mark_useful(header, low, high, options & ONLY_WANTED != 0)
    lacking = _missing(header, low, high)
    if lacking != NONE or options & ONLY_LOOK:
        unmark(header, low, high)
        return 0 if lacking == NONE else report_missing(header, lacking, missing)
    state = array_data(state)
    for word, value in ((ROOT, root), (LOW, low), (HIGH, high), (NEXT, high), (AT, NONE), (OPTIONS, options)):
        store_i64(state, word, value)
    _take_marks(header, state)
    _set_aside_all(header, state)
    add_handle(header, root)
    add_seed(header, root, array_data(seed) if seed != 0 else 0)
    store_i64(header, PAUSED, load_i64(header, PAUSED) + 1)
    return 0


# --- going on --------------------------------------------------------------------------------------------------


@helper
def _flowed_on(header, state, i):
    """Let a cotangent that no tensor shows go, once it has flowed on through all that writes its buffer."""
    buffer = get_buffer(header, get_result(header, i))
    if not _shown(header, state, buffer) and first_writer(header, buffer) == i:
        free_cotangent(header, buffer)


@helper
def _step(header, state, i, frame, outer):
    take_a = _takes(header, state, get_operand0(header, i))
    take_b = _takes(header, state, get_operand1(header, i))
    take_c = _takes(header, state, get_operand2(header, i))
    return step(header, i, take_a, take_b, take_c, frame, outer)


@native()
def go_on(header, state):
    """Sweep to the next call: the address of its cell, 0 at the end, or an error after a kernel's status."""
    state = array_data(state)
    frame, outer = stack_words(16), stack_words(161)
    called = load_i64(state, AT)
    if called != NONE:
        _flowed_on(header, state, called)
        store_i64(state, AT, NONE)
    for i in range(load_i64(state, NEXT), load_i64(state, LOW) - 1, -1):
        result = get_result(header, i)
        if _mark_of(state, i) != USEFUL or cotangent_address(header, result) == 0:
            continue
        if op_word(header, get_op(header, i), OP_KIND) == CALL:
            store_i64(state, NEXT, i - 1)
            store_i64(state, AT, i)
            return load_i64(get_params(header, i), 0)
        status = _step(header, state, i, frame, outer)
        if status != 0:
            return E_STATUS - status
        _flowed_on(header, state, i)
    store_i64(state, NEXT, load_i64(state, LOW) - 1)
    return 0


@helper
def _copy(address, array, item):
    """Copy from an address to a NumPy array in one dimension."""
    count = load_i64(load_i64(array, ARRAY_EXTENTS), 0)
    if count > 0:
        memcpy(array_data(array), address, count * item)


@native()
def read_call(header, state, x, rest, y, y_bar):
    """Copy the operands, the result and its cotangent of the call to NumPy arrays, whose ids are given.

    E_FREED if one of them is gone, because somebody wrote to it in place while the instruction was being recorded.
    """
    i = load_i64(array_data(state), AT)
    a, result = get_operand0(header, i), get_result(header, i)
    if get_primal(header, get_buffer(header, a)) == 0 or get_primal(header, get_buffer(header, result)) == 0:
        return E_FREED
    item = item_size(get_dtype(header, a))
    _copy(primal_address(header, a), x, item)
    _copy(primal_address(header, get_operand2(header, i)), rest, 8)
    _copy(primal_address(header, result), y, item)
    _copy(cotangent_address(header, result), y_bar, item)
    return 0


@native()
def answer_call(header, state, x_bar):
    """Add what the user's function has returned, an array of all of the operand's elements, to its cotangent."""
    state = array_data(state)
    slot = get_operand0(header, load_i64(state, AT))
    count = load_i64(load_i64(x_bar, ARRAY_EXTENTS), 0)
    if not _takes(header, state, slot):
        return
    bytes_ = count * item_size(get_dtype(header, slot))
    if make_cotangent(header, slot, NONE, NONE, True):
        memcpy(cotangent_address(header, slot), array_data(x_bar), bytes_)
    else:
        add_block(array_data(x_bar), cotangent_address(header, slot), bytes_, get_dtype(header, slot))


# --- ending ----------------------------------------------------------------------------------------------------


@helper
def _end(header, state):
    """Take the flags away and free what the sweep has kept to itself."""
    for i in range(load_i64(state, LOW), load_i64(state, HIGH) + 1):
        if get_op(header, i) != DEAD_OP and _mark_of(state, i):
            _flag(header, i, False)
    free(load_i64(state, MARKS))
    free(load_i64(state, WANTED_LIST))
    store_i64(header, PAUSED, load_i64(header, PAUSED) - 1)
    drop_handle(header, load_i64(state, ROOT))


@helper
def _bring_back(header, state):
    """Add what was set aside to what the sweep has left, in the old memory, which NumPy arrays may show."""
    aside = load_i64(state, ASIDE)
    for k in range(load_i64(state, ASIDE_COUNT)):
        buffer, gradient = load_i64(aside, 3 * k), load_i64(aside, 3 * k + 1)
        new = get_cotangent(header, buffer)
        renewed = new != 0 or get_producer(header, buffer) < 0
        if renewed and load_i64(state, OPTIONS) & OVERWRITE and _shown(header, state, buffer):
            release_block(gradient)
            continue
        if new != 0:
            add_block(new, gradient, get_bytes(header, buffer), load_i64(aside, 3 * k + 2))
            release_block(new)
        set_cotangent(header, buffer, gradient)
    free(aside)


@helper
def _free_unshown(header, state):
    """Let the gradients go of results that lost their last Tensor during the sweep."""
    for i in range(load_i64(state, LOW), load_i64(state, HIGH) + 1):
        buffer = get_buffer(header, get_result(header, i))
        if _mark_of(state, i) and get_handles(header, buffer) == 0:
            free_cotangent(header, buffer)


@native()
def finish_sweep(header, state):
    """End a sweep that has come to its end: deliver the gradients, and let the graph go unless it is to be kept."""
    state = array_data(state)
    options, low = load_i64(state, OPTIONS), load_i64(state, LOW)
    buffer = get_buffer(header, load_i64(state, ROOT))
    if not _shown(header, state, buffer):
        free_cotangent(header, buffer)
    _bring_back(header, state)
    _free_unshown(header, state)
    if options & KEEP_GRAPH == 0:
        for i in range(load_i64(state, HIGH), low - 1, -1):
            if get_op(header, i) != DEAD_OP and _mark_of(state, i):
                _flag(header, i, False)
                free_instruction(header, i)
    _end(header, state)


@native()
def abandon_sweep(header, state):
    """End a sweep whose user's function has failed: gradients are what they were before."""
    state = array_data(state)
    for i in range(load_i64(state, LOW), load_i64(state, HIGH) + 1):
        if _mark_of(state, i):
            free_cotangent(header, get_buffer(header, get_result(header, i)))
            for slot in (get_operand0(header, i), get_operand1(header, i), get_operand2(header, i)):
                if _is_leaf(header, slot) and _takes(header, state, slot):
                    free_cotangent(header, get_buffer(header, slot))
    bring_back(header, load_i64(state, ASIDE), load_i64(state, ASIDE_COUNT), 0)
    _free_unshown(header, state)
    _end(header, state)
