"""A recording as arrays of numbers, with names in place of codes and numbers of constants in place of addresses."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.call import call_at
from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import TapeEntry, TapeView, read_tape
from tapegrad.engine.tape.fields.layout import DIFFERENTIABLE, EXTERNAL, NONE, TRACED
from tapegrad.ops import CODES
from tapegrad.ops.structural.control import CustomParams, GuardParams
from tapegrad.program.archive.contents import Contents
from tapegrad.program.recording.recording import RecordedTape

_GUARD, _CUSTOM = CODES["guard"], CODES["custom"]
KEPT_FLAGS = DIFFERENTIABLE | EXTERNAL | TRACED


def packed(recording: RecordedTape, contents: Contents) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Pack a recording: a part of the header, and the arrays."""
    tape = read_tape(recording)
    live = _stored(tape, contents.name)
    slots = sorted({*tape.inputs, *tape.outputs, *_named(tape, live)})
    buffers = sorted({tape.slots[s].buffer for s in slots})
    slot_numbers, buffer_numbers = ({old: new for new, old in enumerate(each)} for each in (slots, buffers))
    ops = sorted({tape.instructions[i].op for i in live})
    pool: list[int] = []
    arrays = {
        "instructions": _instructions(tape, live, ops, slot_numbers, pool, contents),
        "slots": _slots(tape, slots, buffer_numbers, pool),
        "buffers": _buffers(tape, buffers, contents),
    }
    header = {
        "ops": [kernel_table.op_name(op) for op in ops],
        "dtypes": list(kernel_table.DTYPE_NAMES),
        "inputs": [slot_numbers[s] for s in tape.inputs],
        "outputs": [slot_numbers[s] for s in tape.outputs],
    }
    return header, {**arrays, "words": np.array(pool, np.int64)}


def _named(tape: TapeView, live: Sequence[int]) -> list[int]:
    return [s for i in live for s in (tape.instructions[i].result, *tape.instructions[i].operands)]


def _stored(tape: TapeView, name: str) -> list[int]:
    """Return the instructions that are stored: all but guards on constants of the file."""
    columns, checked = tape.columns, set[int]()
    for i in columns.live[np.isin(columns.op[columns.live], (_CUSTOM, _GUARD))].tolist():
        instruction = tape.instructions[i]
        if instruction.op == _CUSTOM and not _is_held(instruction):
            raise TypeError(
                f"save: a replay of {name} calls Python (a custom op, vmap over diverging branches, or a guarded NumPy"
                " result), which a file cannot hold. Pickle the function and compile it where it is used"
            )
        if instruction.op == _GUARD and _is_constant(tape, tape.slots[instruction.operands[0]].buffer):
            _check_unchanged(tape, instruction, name)
            checked.add(i)
    return [i for i in tape.live if i not in checked]


def _is_held(instruction: TapeEntry) -> bool:
    """Return whether files can hold the op that a user's op is."""
    return call_at(CustomParams(*instruction.params).descriptor).functions.op is not None


def _is_constant(tape: TapeView, buffer: int) -> bool:
    return buffer not in tape.writers and buffer not in {tape.slots[s].buffer for s in tape.inputs}


def _check_unchanged(tape: TapeView, guard: TapeEntry, name: str) -> None:
    """Refuse to store a constant that is not what the function was recorded with."""
    slot, (bytes_, address) = tape.slots[guard.operands[0]], guard.params
    primal = tape.buffers[slot.buffer].primal
    if bytes_ and ctypes.string_at(primal + slot.view.offset, bytes_) != ctypes.string_at(address, bytes_):
        raise ValueError(
            f"save: an array that {name} closes over has changed since it was compiled, and plain NumPy has computed"
            " from it; compile it anew"
        )


def _instructions(
    tape: TapeView,
    live: Sequence[int],
    ops: list[int],
    numbers: dict[int, int],
    pool: list[int],
    contents: Contents,
) -> np.ndarray:
    """Pack each instruction: index of the op's name, result, three operands, offset and number of the parameters."""
    lines = []
    for i in live:
        each = tape.instructions[i]
        fields = _params(each, contents)
        operands = [*(numbers[s] for s in each.operands), NONE, NONE, NONE][:3]
        lines.append([ops.index(each.op), numbers[each.result], *operands, len(pool), len(fields)])
        pool += fields
    return np.array(lines, np.int64).reshape(-1, 7)


def _params(instruction: TapeEntry, contents: Contents) -> Sequence[int]:
    """Return the parameters, with the number of a constant or of an op of the file in place of an address."""
    if instruction.op == _CUSTOM:
        own = call_at(CustomParams(*instruction.params).descriptor)
        return [contents.op_number(own.functions.op)]
    if instruction.op != _GUARD:
        return instruction.params
    params = GuardParams(*instruction.params)
    return params.bytes, contents.number(ctypes.string_at(params.address, params.bytes))


def _slots(tape: TapeView, slots: list[int], buffers: dict[int, int], pool: list[int]) -> np.ndarray:
    """Pack each slot: buffer, dtype, dimensions, offset, and offset of extents and strides."""
    lines = []
    for s in slots:
        slot = tape.slots[s]
        lines.append([buffers[slot.buffer], slot.dtype, slot.view.ndim, slot.view.offset, len(pool)])
        pool += (*slot.shape, *slot.strides)
    return np.array(lines, np.int64).reshape(-1, 5)


def _buffers(tape: TapeView, buffers: list[int], contents: Contents) -> np.ndarray:
    """Pack each buffer: bytes, flags, and the number of its constant."""
    lines = []
    for b in buffers:
        each, constant = tape.buffers[b], NONE
        if _is_constant(tape, b):
            constant = contents.number(ctypes.string_at(each.primal, each.bytes) if each.bytes else b"")
        lines.append([each.bytes, each.flags & KEPT_FLAGS, constant])
    return np.array(lines, np.int64).reshape(-1, 3)
