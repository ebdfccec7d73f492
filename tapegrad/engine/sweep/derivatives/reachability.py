"""Mark the instructions of an eager tape that a reverse sweep visits."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64
from tapegrad.engine.sweep.binding.bind import variant
from tapegrad.engine.sweep.eager.eager import kernel_of
from tapegrad.engine.tape.append import differentiable
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.instruction import instruction_at
from tapegrad.engine.tape.fields.layout import E_FREED, FREED, INSTRUCTIONS, NONE, WANTED
from tapegrad.engine.tape.release import first_writer

REACHABLE = 1  # the root depends on the instruction
NEEDED = 2  # and so does an input that was asked for


@inline_njit
def mark_writers(header, buffer):
    """Mark the instructions that write `buffer`; return the number of new ones, or E_FREED."""
    last = col.producer(header, buffer)
    if last == FREED:
        return E_FREED
    if last < 0 or col.mark(header, last):
        return 0
    first = first_writer(header, buffer)
    for i in range(first, last + 1):
        col.set_mark(header, i, REACHABLE)
    return last + 1 - first


@inline_njit
def _mark_operand(header, slot, waiting, freed_is_constant):
    """Mark the writers of an operand; return the number of marked instructions still to be visited, or E_FREED."""
    if not differentiable(header, slot):
        return waiting
    new = mark_writers(header, col.buffer(header, slot))
    if new >= 0:
        return waiting + new
    return waiting if freed_is_constant else E_FREED


@inline_njit
def _visit(header, i, waiting, freed_is_constant):
    """Mark the writers of all operands of the marked instructions from `i` down; one below the lowest, or E_FREED.

    `waiting` is the number of marked instructions that have not been visited.
    """
    while waiting > 0:
        if col.mark(header, i):
            waiting -= 1
            for slot in (col.operand0(header, i), col.operand1(header, i), col.operand2(header, i)):
                waiting = _mark_operand(header, slot, waiting, freed_is_constant)
                if waiting < 0:
                    return E_FREED
        i -= 1
    return i


@inline_njit
def mark(header, root):
    """Mark every instruction that the root depends on; return the lowest of them, or E_FREED."""
    buffer = col.buffer(header, root)
    waiting = mark_writers(header, buffer)
    if waiting < 0:
        return E_FREED
    below = _visit(header, col.producer(header, buffer), waiting, False)
    return E_FREED if below == E_FREED else below + 1


@inline_njit
def mark_all(header, roots, count, span, freed_is_constant):
    """Mark every instruction that one of `count` roots depends on; 0, or E_FREED.

    `roots` is the address of the slots; constants among them are passed over. The two fields at `span` receive the
    lowest and the highest of the instructions. What a reverse sweep has freed is an error, or a constant.
    """
    waiting, high = 0, NONE
    for k in range(count):
        root = load_i64(roots, k)
        waiting = _mark_operand(header, root, waiting, freed_is_constant)
        if waiting < 0:
            return E_FREED
        if differentiable(header, root):
            high = max(high, col.producer(header, col.buffer(header, root)))
    below = _visit(header, high, waiting, freed_is_constant)
    if below == E_FREED:
        return E_FREED
    store_i64(span, 0, below + 1)
    store_i64(span, 1, high)
    return 0


@inline_njit
def unmark(header, low, high):
    for i in range(low, high + 1):
        col.set_mark(header, i, 0)


@inline_njit
def operand_is_useful(header, slot):
    """Return whether an operand's cotangent has to be computed, when only some inputs are asked for."""
    if not differentiable(header, slot):
        return False
    buffer = col.buffer(header, slot)
    producer = col.producer(header, buffer)
    return col.flags(header, buffer) & WANTED != 0 or (producer >= 0 and col.mark(header, producer) == NEEDED)


@inline_njit
def _continues(header, i):
    """Return whether the instruction before `i` is useful and writes another piece of the same result."""
    same = col.buffer(header, col.result(header, i - 1)) == col.buffer(header, col.result(header, i))
    return col.mark(header, i - 1) == NEEDED and same


@inline_njit
def mark_needed(header, low, high, only_wanted):
    """Mark the instructions on a path from the root to a tensor that gets a gradient as needed."""
    for i in range(low, high + 1):
        if col.mark(header, i) == REACHABLE:
            useful = not only_wanted
            if only_wanted:
                for slot in (col.operand0(header, i), col.operand1(header, i), col.operand2(header, i)):
                    useful |= operand_is_useful(header, slot)
                useful |= i > low and _continues(header, i)
            if useful:
                col.set_mark(header, i, NEEDED)


@inline_njit
def missing_kernel(header, low, high):
    """Return the first useful instruction whose reverse kernel is not loaded, NONE if all are."""
    for i in range(low, high + 1):
        if col.mark(header, i) == NEEDED:
            instruction = instruction_at(header, i)
            if kernel_of(header, instruction.op, variant(header, instruction), 1) == 0:
                return i
    return NONE


@inline_njit
def unmark_all(header):
    for i in range(load_i64(header, INSTRUCTIONS)):
        col.set_mark(header, i, 0)
