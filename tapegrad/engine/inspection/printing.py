"""A tape as text, one readable instruction a line."""

import weakref
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import Buffer, Slot, TapeEntry, TapeView, read_tape
from tapegrad.engine.inspection.view_names import describe_view
from tapegrad.engine.tape.fields.layout import DIFFERENTIABLE, EXTERNAL, TRACED
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPES, Tape, fields_at
from tapegrad.ops import GUARDS
from tapegrad.ops.params import read
from tapegrad.ops.structural.control import CustomParams, GuardParams, TruthGuardParams
from tapegrad.ops.structural.indexing import (
    EmbedParams,
    GatherParams,
    ScatterAddParams,
    ScatterWriteParams,
    WriteParams,
)
from tapegrad.ops.structural.matrices import MatmulParams

_SHOWN = 8  # bytes of a guarded array that are printed


# What a user's own op is called, by its number: a parameter of the instruction.
custom_ops: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()


class _BufferNames:
    """Names of the buffers of a tape, and the view of all of the buffer that each name stands for."""

    def __init__(self, t: TapeView) -> None:
        self.t = t
        self.leaves: dict[int, str] = {}
        self.names: dict[int, str] = {}
        self.whole: dict[int, View] = {}
        for slot in t.inputs:
            self._name_leaf(t.slots[slot].buffer)
        for i in t.live:
            for operand in _operands(t, i):
                if operand.buffer not in t.writers:
                    self._name_leaf(operand.buffer)
            written = t.written[i]
            self.names.setdefault(written, f"v{i}")
            if written not in self.whole:
                self.whole[written] = self._whole_result(i)

    def _name_leaf(self, b: int) -> None:
        """Name a leaf: a number by its value, a Tensor x, a constant c."""
        if b in self.names:
            return
        buffer = self.t.buffers[b]
        self.whole[b] = max((self.t.slots[s] for s in self.t.slots_on[b]), key=_extent).view
        first = self.t.slots[self.t.slots_on[b][0]]
        if _is_number(buffer, first):
            self.names[b] = str(
                np.array([buffer.content]).view(np.uint8)[: first.itemsize].view(DTYPES[first.dtype])[0]
            )
            return
        letter = "x" if buffer.flags & (DIFFERENTIABLE | TRACED) else "c"
        count = sum(name[0] == letter for name in self.leaves.values())
        self.names[b] = self.leaves[b] = f"{letter}{count}"

    def _whole_result(self, i: int) -> View:
        """Return the view of all that instruction `i` and its neighbours write to one buffer."""
        t, b = self.t, self.t.written[i]
        if kernel_table.row(t.instructions[i].op).in_place:
            return self.whole[t.operands(i)[0].buffer]
        if len(t.writers[b]) > 1:
            return max((t.slots[s] for s in t.slots_on[b]), key=_extent).view
        view = t.result(i).view
        if _reduces(t, i):
            return view.select_axes([d for d in range(view.ndim) if view.strides[d] != 0])
        return view

    def of(self, slot: Slot) -> str:
        """Name a slot as a view of the value it lies on."""
        name = self.names[slot.buffer]
        if slot.buffer not in self.leaves and slot.buffer not in self.t.writers:
            return name  # a number
        return name + describe_view(self.whole[slot.buffer], slot.view)


def _operands(t: TapeView, i: int) -> list[Slot]:
    """Return the operands to print; those of a user's op without the one that stands for the callee."""
    operands = t.operands(i)
    if _is_custom(t.instructions[i]):
        return [each for each in operands[::2] if each.size]
    return operands


def _is_custom(instruction: TapeEntry) -> bool:
    return kernel_table.row(instruction.op).kind == "callback"


def _called(instruction: TapeEntry) -> str:
    """Return the name of an instruction's op, or of a user's op."""
    own = custom_ops.get(_params(instruction).number) if _is_custom(instruction) else None
    return kernel_table.op_name(instruction.op) if own is None else str(own.name)


def _body(instruction: TapeEntry) -> list[str]:
    """Return the listing of the program that an instruction holds; nothing for most."""
    own = custom_ops.get(_params(instruction).number) if _is_custom(instruction) else None
    lines: list[str] = [] if own is None else own.listing()
    return lines


def _extent(slot: Slot) -> int:
    return slot.size if 0 not in slot.strides else 0


def _is_number(buffer: Buffer, slot: Slot) -> bool:
    """Return whether a leaf is a constant of one element of eight bytes at most that no Python object can change."""
    constant = not buffer.flags & (DIFFERENTIABLE | TRACED | EXTERNAL) or (
        slot.ndim == 0 and not buffer.flags & DIFFERENTIABLE
    )
    return constant and buffer.primal != 0 and buffer.bytes == slot.itemsize <= 8


def _reduces(t: TapeView, i: int) -> bool:
    return kernel_table.row(t.instructions[i].op).kind in ("broadcast_sum", "reduction")


def _kind(shape: tuple[int, ...], dtype: int) -> str:
    return f"{shape} {kernel_table.DTYPE_NAMES[dtype]}"


def _details(t: TapeView, names: _BufferNames, i: int) -> list[str]:
    """Return the details of an instruction beside its operands, as texts."""
    result = t.result(i)
    if _reduces(t, i):
        axes = tuple(d for d, s in enumerate(result.strides) if s == 0)
        if len(axes) == result.ndim:
            return []
        return [f"axis={axes[0] if len(axes) == 1 else axes}"]
    match _params(t.instructions[i]):
        case GatherParams(length=length):
            return [f"row={length}"] if length != 1 else []
        case WriteParams(region=region):
            written = result.view.as_strided(region.offset, region.extents, region.strides)
            return [f"into={describe_view(names.whole[result.buffer], written) or '[...]'}"]
        case GuardParams() as expected:
            return [f"expected={_expected(t.operands(i)[0], expected)}"]
        case TruthGuardParams(truth=truth):
            return [f"expected={bool(truth)}"]
        case (
            None | MatmulParams() | ScatterAddParams() | ScatterWriteParams() | EmbedParams() | CustomParams()
        ):
            return []  # nothing that the operands do not say
        case others:
            return [f"{name}={value}" for name, value in zip(others._fields, others, strict=True)]


def _params(instruction: TapeEntry) -> Any:
    """Return the record of an instruction's parameters, `None` if it has none."""
    record = kernel_table.row(instruction.op).params
    return None if record is None else read(record, instruction.params)


def _expected(operand: Slot, params: GuardParams) -> str:
    """Return the value that a guard compares with, if it is short."""
    if params.bytes > _SHOWN * operand.itemsize:
        return f"<{params.bytes} bytes>"
    return str(fields_at(params.address, params.bytes, np.uint8).view(DTYPES[operand.dtype]).tolist())


def _line(t: TapeView, names: _BufferNames, i: int) -> tuple[str, str]:
    """Return the texts of an instruction and of its result."""
    instruction, result = t.instructions[i], t.result(i)
    arguments = [*(names.of(operand) for operand in _operands(t, i)), *_details(t, names, i)]
    call = f"{_called(instruction)}({', '.join(arguments)})"
    if instruction.op in GUARDS:
        return call, ""
    own = names.whole[result.buffer]
    part = len(t.writers[result.buffer]) > 1
    shape = result.shape if part else own.shape
    name = names.of(result) if part else names.names[result.buffer]
    return f"{name} = {call}", _kind(shape, result.dtype)


def as_text(tape: Tape) -> str:
    """Format the instructions of a tape, one a line, between its inputs and outputs."""
    t = read_tape(tape)
    names = _BufferNames(t)
    lines = [(f"{i:3d}  ", *_line(t, names, i)) for i in t.live]
    width = max((len(line) for _, line, _ in lines), default=0)
    text: list[str] = []
    for i, (number, line, kind) in zip(t.live, lines, strict=True):
        text.append(f"{number}{line:{width}}    {kind}".rstrip())
        text += [f"     |  {each}" for each in _body(t.instructions[i])]
    head = [_leaves(t, names, "x", "inputs" if t.inputs else "leaves"), _leaves(t, names, "c", "constants")]
    last = [f"{names.of(t.slots[s])} {_kind(t.slots[s].shape, t.slots[s].dtype)}" for s in t.outputs]
    tail = [f"outputs   {', '.join(last)}"] if last else []
    return "\n".join([line for line in head if line] + text + tail) or "an empty tape"


def names_of_leaves(tape: Tape) -> dict[int, str]:
    """Return the names of arrays and numbers that no instruction has written, by the addresses of their elements."""
    t = read_tape(tape)
    names = _BufferNames(t)
    return {t.buffers[b].primal: name for b, name in names.names.items() if b not in t.writers}


def _leaves(t: TapeView, names: _BufferNames, letter: str, title: str) -> str:
    """Return one line that lists the leaves whose names begin with a letter."""
    listed = []
    for b, name in names.leaves.items():
        if name[0] == letter:
            listed.append(f"{name} {_kind(names.whole[b].shape, t.slots[t.slots_on[b][0]].dtype)}")
    return f"{title:<9} {', '.join(listed)}" if listed else ""
