"""Common subexpressions: what has been computed before is not computed again.

Value numbering over the whole recording (Cocke and Schwartz 1970, "Programming Languages and Their Compilers"). No
buffer is written after it has been read, for an in-place write goes to a new one, so two instructions of the same op
on the same operands compute the same.
"""

from collections.abc import Hashable
from dataclasses import replace

from tapegrad.engine import kernel_table
from tapegrad.engine.tape.layout import DEAD_OP, EXTERNAL
from tapegrad.engine.tape_view import Slot, TapeView
from tapegrad.ops import COPY


def eliminate_common_subexpressions(tape: TapeView) -> TapeView:
    """Let instructions be dead that compute what an earlier one does; their slots move to the buffer of that one."""
    return _Numbering(tape).run()


class _Numbering:
    """One walk along a tape."""

    def __init__(self, tape: TapeView) -> None:
        self._tape = tape
        self._outputs = {tape.slots[slot].buffer for slot in tape.outputs}
        self._replacement: dict[int, int] = {}  # a buffer that goes -> the one that has its contents
        self._dead: set[int] = set()
        self._known: dict[Hashable, int] = {}  # what an instruction computes -> the buffer that has it

    def run(self) -> TapeView:
        tape = self._tape
        self._share_scalars()
        for i in tape.live:
            own = tape.written[i]
            value = self._buffer_with(i)
            if value != own and own not in self._outputs:
                self._replacement[own] = value
                self._dead.add(i)
        if not self._replacement:
            return tape
        return replace(
            tape,
            instructions=tuple(
                instruction._replace(op=DEAD_OP) if i in self._dead else instruction
                for i, instruction in enumerate(tape.instructions)
            ),
            slots={number: slot._replace(buffer=self._buffer(slot)) for number, slot in tape.slots.items()},
        )

    def _buffer(self, slot: Slot) -> int:
        return self._replacement.get(slot.buffer, slot.buffer)

    def _share_scalars(self) -> None:
        """Constant scalars that the tape owns are the same where their bytes are."""
        tape, known = self._tape, {}  # type: TapeView, dict[Hashable, int]
        for slot in tape.slots.values():
            buffer = tape.buffers[slot.buffer]
            owned = buffer.primal != 0 and not buffer.flags & EXTERNAL and not buffer.differentiable
            if owned and slot.shape == () and buffer.bytes <= 8 and slot.buffer not in tape.writers:
                first = known.setdefault((slot.dtype, buffer.bytes, buffer.content), slot.buffer)
                if first != slot.buffer:
                    self._replacement[slot.buffer] = first

    def _buffer_with(self, i: int) -> int:
        """The buffer that has what instruction `i` computes: an earlier one, or its own."""
        own = self._tape.written[i]
        if len(self._tape.writers[own]) > 1:
            return own
        source = self._copied(i)
        if source is not None and own not in self._outputs:
            return source
        key = self._key(i)
        return own if key is None else self._known.setdefault(key, own)

    def _key(self, i: int) -> Hashable | None:
        """What two instructions that compute the same have in common; `None` for an op that is always computed."""
        tape, instruction = self._tape, self._tape.instructions[i]
        op = instruction.op
        if kernel_table.row(op).kind in ("guard", "callback"):
            return None
        operands = [(self._buffer(slot), slot.view) for slot in tape.operands(i)]
        if kernel_table.row(op).commutative:
            operands.sort()
        if instruction.address != 0 and not instruction.params:
            return None  # parameters that nobody knows how to read
        return op, tuple(operands), tape.result(i).view, instruction.params, self._has_derivative(i)

    def _has_derivative(self, i: int) -> bool:
        return self._tape.buffers[self._tape.written[i]].differentiable

    def _copied(self, i: int) -> int | None:
        """The buffer that instruction `i` makes nothing but a copy of."""
        tape = self._tape
        if tape.instructions[i].op != COPY:
            return None
        operand, result = tape.operands(i)[0], tape.result(i)
        source = self._buffer(operand)
        whole = all(slot.view.covers(tape.bytes(slot.buffer)) for slot in (operand, result))
        same = tape.buffers[source].differentiable == tape.buffers[result.buffer].differentiable
        return source if whole and same and operand.shape == result.shape else None
