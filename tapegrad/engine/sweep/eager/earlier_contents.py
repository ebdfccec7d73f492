"""Earlier contents of memory, restored while the rule of an instruction that reads them runs.

See `engine.tape.history`. The contents stay in the history, so that the same sweep, or another one, may go on to other
versions.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64
from tapegrad.engine.sweep.eager.eager import record_any
from tapegrad.engine.tape.append import saved
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import item_size, size
from tapegrad.engine.tape.fields.instruction import instruction_at
from tapegrad.engine.tape.fields.layout import ALL_LIVE, E_MEMORY, HISTORIES, NONE, READ_LATER, SUPERSEDED
from tapegrad.engine.tape.history import contents_of, give_own_contents, lies_in_history


@inline_njit
def _slot_of(instruction, k):
    """Return the slot of operand `k`; 3 is the result."""
    if k == 3:
        return instruction.result
    return instruction.a if k == 0 else (instruction.b if k == 1 else instruction.c)


@inline_njit
def _read_from_history(header, instruction, mask, k):
    """Return the buffer of operand `k`, or of the result (3), if the rule reads it from a history; or NONE."""
    if (mask >> k) & 1 == 0:
        return NONE
    buffer = col.buffer(header, _slot_of(instruction, k))
    return buffer if lies_in_history(header, buffer) else NONE


@inline_njit
def bring_back(header, i):
    """Restore the primals that the rule of instruction `i` reads; return whether there was memory."""
    if load_i64(header, HISTORIES) == 0:
        return True
    instruction = instruction_at(header, i)
    mask = saved(header, instruction)
    for k in range(4):
        buffer = _read_from_history(header, instruction, mask, k)
        if buffer != NONE:
            contents = contents_of(header, buffer)
            col.set_primal(header, buffer, contents)
            if contents == 0:
                leave_behind(header, i)
                return False
    return True


@inline_njit
def leave_behind(header, i):
    """Undo `bring_back`."""
    if load_i64(header, HISTORIES) == 0:
        return
    instruction = instruction_at(header, i)
    mask = saved(header, instruction)
    for k in range(4):
        buffer = _read_from_history(header, instruction, mask, k)
        if buffer != NONE:
            col.set_primal(header, buffer, 0)


@inline_njit
def take_own(header, i):
    """Give the buffers that the rule of instruction `i` reads contents of their own; whether there was memory."""
    if load_i64(header, HISTORIES) == 0:
        return True
    instruction = instruction_at(header, i)
    mask = saved(header, instruction)
    for k in range(4):
        buffer = _read_from_history(header, instruction, mask, k)
        if buffer != NONE and not give_own_contents(header, buffer):
            return False
    return True


# --- rules on Tensors --------------------------------------------------------------------------------------------

GONE, THERE, EARLIER = range(3)
_MIN_SHARE = 64  # of a version in a recording, up to which a part of it is copied


@entry_point()
def where_primal_is(header, slot):
    """THERE: a primal can be computed with. EARLIER: an earlier version's, it is to be copied. GONE: it is lost.

    In a recording each version is a buffer of its own. One whose contents are in a history gets them back for good, but
    for a small part: the copies of many versions would take memory that grows with the square of their number.
    """
    buffer = col.buffer(header, slot)
    if col.flags(header, buffer) & SUPERSEDED and load_i64(header, ALL_LIVE) == 0:
        return EARLIER if col.primal(header, buffer) != 0 or lies_in_history(header, buffer) else GONE
    if lies_in_history(header, buffer):
        if size(header, slot) * item_size(col.dtype(header, slot)) * _MIN_SHARE <= col.bytes(header, buffer):
            return EARLIER
        if not give_own_contents(header, buffer):
            return GONE
    return THERE if col.primal(header, buffer) != 0 else GONE


@entry_point()
def copy_earlier(header, op, slot, recording):
    """Record and run a copy, the op `op`, of a slot on an earlier version."""
    buffer = col.buffer(header, slot)
    in_history = lies_in_history(header, buffer)
    col.set_flags(header, buffer, col.flags(header, buffer) | READ_LATER)
    if in_history:
        contents = contents_of(header, buffer)
        if contents == 0:
            return E_MEMORY
        col.set_primal(header, buffer, contents)
    result = record_any(header, op, slot, NONE, NONE, recording)
    if in_history:
        col.set_primal(header, buffer, 0)
    return result
