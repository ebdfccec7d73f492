"""The rules: what each slot, each instruction and each buffer of a legal tape is like.

A rule takes a view of the tape and the number of an entry, and says what is wrong with it; nothing if it holds.
"""

from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.tape.fields.layout import C64, C128, DEAD_OP, DTYPE_COUNT, F32, F64, MAX_NDIM, NONE
from tapegrad.ops import CODES, COPY, ROWS, Row
from tapegrad.ops.params import read
from tapegrad.ops.row import real_dtype

# The operand of an op that holds the factors of matrices, and the op that computes them
FACTORS = {code: row.factors for code, row in enumerate(ROWS) if row.factors}


# --- the lists of free entries ---------------------------------------------------------------------------------


def lists_end(t: TapeView, _: int = 0) -> str:
    """Check that the lists of free slots and of free buffers name entries that exist, and end."""
    if t.broken_list is None:
        return ""
    return (
        f"a list of free entries leads to number {t.broken_list}, which is not there or is on a list already"
    )


# --- slots -----------------------------------------------------------------------------------------------------


def slot_is_held(t: TapeView, s: int) -> str:
    """Check that a slot that is not free has a reference."""
    return (
        ""
        if t.slots[s].refs > 0
        else f"it has {t.slots[s].refs} references, but is not on the list of free slots"
    )


def slot_lies_on_a_buffer(t: TapeView, s: int) -> str:
    """Check that a slot lies on a buffer that is in use."""
    buffer = t.slots[s].buffer
    return "" if buffer in t.buffers else f"it lies on buffer {buffer}, which is free or not there"


def slot_has_a_geometry(t: TapeView, s: int) -> str:
    """Check that a slot has a known dtype, at most MAX_NDIM dimensions, and extents that are not negative."""
    slot = t.slots[s]
    if not 0 <= slot.dtype < DTYPE_COUNT:
        return f"dtype code {slot.dtype} does not exist"
    if not 0 <= slot.ndim <= MAX_NDIM or len(slot.shape) != slot.ndim:
        return f"{slot.ndim} dimensions, with extents and strides {slot.shape} and {slot.strides}"
    return f"negative extents: {slot.shape}" if any(e < 0 for e in slot.shape) else ""


def slot_stays_inside_its_buffer(t: TapeView, s: int) -> str:
    """Check that every element of a slot lies inside its buffer; so does the offset of an empty slot."""
    slot = t.slots[s]
    first, end = slot.view.bounds
    bytes_ = t.buffers[slot.buffer].bytes
    inside = first >= 0 and end <= bytes_
    return (
        "" if inside else f"it reaches from byte {first} to {end} of buffer {slot.buffer}, which has {bytes_}"
    )


# --- instructions ----------------------------------------------------------------------------------------------


def op_is_known(t: TapeView, i: int) -> str:
    """Check that an op code is a row's, or says that the instruction is dead."""
    op = t.instructions[i].op
    return "" if op == DEAD_OP or 0 <= op < len(CODES) else f"op code {op} has no row"


def arity_matches_the_row(t: TapeView, i: int) -> str:
    """Check that there are as many operands as the row says, the first ones."""
    instruction = t.instructions[i]
    row, operands = _row(t, i), instruction.operands
    if NONE not in operands and row.arity - row.optional <= len(operands) <= row.arity:
        return ""
    return f"operand slots {operands}, but the row has {row.arity} operands"


def slots_are_live(t: TapeView, i: int) -> str:
    """Check that operands and result are slots in use."""
    for s in (*t.instructions[i].operands, t.instructions[i].result):
        if s not in t.slots:
            return f"slot {s} is free" if 0 <= s < t.slot_count else f"slot {s} of {t.slot_count}"
    return ""


def no_mark_is_left(t: TapeView, i: int) -> str:
    """Between sweeps no instruction is marked."""
    return f"mark {t.instructions[i].mark}, which a sweep has left" if t.instructions[i].mark else ""


def operands_are_written_before(t: TapeView, i: int) -> str:
    """Check that every instruction that writes an operand's buffer comes before the one that reads it."""
    for s in t.instructions[i].operands:
        buffer = t.slots[s].buffer
        late = [w for w in t.writers.get(buffer, ()) if w >= i]
        if late:
            return f"operand slot {s} lies on buffer {buffer}, which instruction {late[0]} writes only then"
    return ""


def in_place_ops_keep_the_place(t: TapeView, i: int) -> str:
    """Check that an in-place op reads and writes one place in buffers of one size: sweeps let both share memory."""
    if not _row(t, i).in_place:
        return ""
    seen = t.operands(i)[0], t.result(i)
    (own, size), (written, new_size) = [
        ((slot.view.offset, slot.view.nbytes), t.buffers[slot.buffer].bytes) for slot in seen
    ]
    if (own, size) == (written, new_size):
        return ""
    return (
        f"operand 0, {own[1]} bytes at byte {own[0]} of a buffer of {size}, and the result, {written[1]} bytes at byte"
        f" {written[0]} of one of {new_size}, are not in the same place"
    )


def _row(t: TapeView, i: int) -> Row:
    return kernel_table.row(t.instructions[i].op)


def _dtype_name(code: int) -> str:
    return kernel_table.DTYPE_NAMES[code]


def variant(t: TapeView, i: int) -> int:
    """Dtype code that chooses the kernel of an instruction."""
    return t.operands(i)[_row(t, i).variant].dtype


def kernel_has_the_dtype(t: TapeView, i: int) -> str:
    """Check that the row has a kernel for the dtype that chooses it."""
    name = _dtype_name(variant(t, i))
    return "" if name in _row(t, i).dtypes else f"there is no kernel for {name}"


def operands_have_the_dtypes_of_the_row(t: TapeView, i: int) -> str:
    """Check that operands have the kernel's dtype, conditions are booleans, and row numbers are int64."""
    row, own = _row(t, i), _dtype_name(variant(t, i))
    for j, operand in enumerate(t.operands(i)):
        dtype, expected = _dtype_name(operand.dtype), row.operand_dtypes[j] or own
        expected = real_dtype(expected) if j in row.real_operands else expected
        if dtype != expected:
            return f"operand {j} is {dtype} instead of {expected}"
    return ""


def result_has_the_dtype_of_the_row(t: TapeView, i: int) -> str:
    """Check that the result has the kernel's dtype, or the one that the row states."""
    row, own, dtype = _row(t, i), _dtype_name(variant(t, i)), _dtype_name(t.result(i).dtype)
    expected = row.result or (real_dtype(own) if row.real_result else own)
    return "" if dtype == expected else f"the result is {dtype} instead of {expected}"


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def shapes_fit(t: TapeView, i: int) -> str:
    """Check that operands broadcast to the result, which sums and reductions see in their operand's shape."""
    kind = _row(t, i).kind
    result, shapes = t.result(i), [operand.shape for operand in t.operands(i)]
    if kind == "matmul" and _broadcast([shape[:-2] for shape in shapes]) != result.shape[:-2]:
        return f"batches of shapes {', '.join(map(str, shapes))} do not broadcast to the result's, {result.shape}"
    if kind in ("elementwise", "broadcast_sum", "reduction", "scan") and _broadcast(shapes) != result.shape:
        return f"operands of shapes {', '.join(map(str, shapes))} do not broadcast to the result's, {result.shape}"
    steps = zip(result.shape, result.strides, strict=True) if result.size else ()
    repeated = [d for d, (e, s) in enumerate(steps) if e > 1 and s == 0]
    if kind == "elementwise" and repeated:
        return f"the result writes to one element several times, along axis {repeated[0]}"
    if kind in ("reduction", "scan") and not result.shape:
        return "a 0-dimensional operand has no lines"
    if kind == "reduction" and (result.strides[-1] != 0 or repeated[:-1]):
        return f"the result has one element for each line, but its strides are {result.strides}"
    return ""


def parameters_fit(t: TapeView, i: int) -> str:
    """Check that an op with parameters has them, and that they describe elements inside the buffers."""
    instruction = t.instructions[i]
    record = _row(t, i).params
    if record is None:
        return "parameters, of which the op has none" if instruction.address else ""
    if not instruction.address:
        return "no parameters"
    try:
        found = read(record, instruction.params)
    except ValueError as error:
        return str(error)
    return str(found.broken([operand.view for operand in t.operands(i)], t.result(i).view))


def factors_come_from_their_matrices(t: TapeView, i: int) -> str:
    """Check that row exchanges, which kernels trust, are constant or come from a factorization of such matrices."""
    instruction = t.instructions[i]
    if instruction.op not in FACTORS:
        return ""
    number, maker = FACTORS[instruction.op]
    factors = t.slots[instruction.operands[number]]
    writers = t.writers.get(factors.buffer, [])
    if not writers and factors.buffer not in {t.slots[s].buffer for s in t.inputs}:
        return ""
    if len(writers) != 1 or t.instructions[writers[0]].op != CODES[maker]:
        return f"operand {number} is not what `{maker}` gives"
    made, matrices = t.result(writers[0]), t.operands(writers[0])[0]
    if made.view != factors.view:
        return f"operand {number} is only a part of what `{maker}` gives"
    if _matrices(t, writers[0]) != _matrices(t, i):
        return f"operand {number} is of other matrices"
    own = t.operands(i)[0].dtype if _row(t, i).arity > 1 else matrices.dtype
    return "" if own == matrices.dtype else f"operand {number} is of matrices of another dtype"


def _matrices(t: TapeView, i: int) -> tuple[int, int]:
    """Return how many matrices the factors of an instruction, or that it makes, are of, and of how many rows."""
    record: Any = _row(t, i).params
    params = read(record, t.instructions[i].params)
    return params.matrices if getattr(params, "stride", 1) else 1, params.n


# --- buffers ---------------------------------------------------------------------------------------------------


def producer_writes_the_buffer(t: TapeView, b: int) -> str:
    """Check that a buffer's producer is the last of adjacent instructions that write it; a leaf has none."""
    producer, writers = t.buffers[b].producer, t.writers.get(b, [])
    if (writers[-1] if writers else NONE) != max(producer, NONE):
        return f"its producer is instruction {producer}, but instructions {writers} write it"
    between = range(writers[0], producer) if writers else ()
    if writers and any(k not in writers for k in between):
        return f"the instructions that write it, {writers}, do not follow one another"
    return ""


def _flows(t: TapeView, s: int) -> bool:
    return t.buffers[t.slots[s].buffer].differentiable


def derivatives_come_from_an_operand(t: TapeView, b: int) -> str:
    """Check that a computed buffer has derivatives only if an operand has; an eager tape records nothing else.

    In a recording a copy may be where derivatives begin: what a function inside is differentiated by.
    """
    writers = t.writers.get(b, [])
    inherited = any(_flows(t, s) for i in writers for s in t.instructions[i].operands)
    inherited |= t.all_live and any(t.instructions[i].op == COPY for i in writers)
    flows = t.buffers[b].differentiable
    if writers and flows and not inherited:
        return f"it is differentiable, but no operand of instruction {writers[-1]}, which writes it, is"
    if writers and not flows and not t.all_live:
        return f"instruction {writers[-1]} writes it, but it is constant"
    return ""


def only_floats_have_derivatives(t: TapeView, b: int) -> str:
    """No cotangent flows into integers or booleans, whatever wrote them: no kernel could take it further."""
    dtypes = {t.slots[s].dtype for s in t.slots_on[b]}
    flows = t.buffers[b].differentiable and not dtypes <= {F64, F32, C128, C64}
    return f"it is differentiable, but seen as {', '.join(map(_dtype_name, sorted(dtypes)))}" if flows else ""


def users_are_counted(t: TapeView, b: int) -> str:
    """Check the counts: users are Tensors and operands, references to slots are these and results."""
    buffer, uses = t.buffers[b], len(t.readers.get(b, ()))
    if buffer.users != uses + buffer.tensor_refs:
        return f"{buffer.users} users, but {buffer.tensor_refs} Tensors and {uses} operands"
    refs, results = sum(t.slots[s].refs for s in t.slots_on[b]), len(t.writers.get(b, ()))
    if refs != buffer.users + results:
        return f"{refs} references to slots on it, but {buffer.users} users and {results} results"
    return ""


def saved_are_counted(t: TapeView, b: int) -> str:
    """Check the count of the instructions whose reverse rule reads the primal."""
    operands = sum(f"x{j}" in t.read_in_reverse[i] for i, j in t.readers.get(b, ()))
    results = sum("y" in t.read_in_reverse[i] for i in t.writers.get(b, ()))
    saved = t.buffers[b].saved_for_backward
    return (
        ""
        if saved == operands + results
        else f"saved for {saved} reverse rules, but {operands + results} reverse rules read its primal"
    )


def kept_primal_is_there(t: TapeView, b: int) -> str:
    """Check that a primal that a reverse rule reads is still there."""
    buffer = t.buffers[b]
    computed_anew = t.all_live and b in t.writers  # at each replay
    there = buffer.primal != 0 or buffer.in_history or computed_anew
    missing = buffer.saved_for_backward > 0 and buffer.bytes > 0 and not there
    return f"{buffer.saved_for_backward} reverse rules read its primal, which is gone" if missing else ""
