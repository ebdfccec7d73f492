"""A tape's columns as Python lists, for passes to read."""

from functools import cached_property

from tapegrad.engine import kernel_table
from tapegrad.engine.tape.layout import DIFFERENTIABLE, NONE, OP_READS0, READS_Y
from tapegrad.engine.tape.tape import Tape


class Listing:
    """The instructions, slots and buffers of a tape at one moment.

    Attributes
    ----------
    op, result : list of int
        Op code and result slot of each instruction.
    operands : list of tuple of int
        Operand slots of each instruction.
    buffer_of, offset : list of int
        Buffer of each slot, and where in it the slot begins, in bytes.
    bytes, primal, flags : list of int
        Size, address and flags of each buffer.
    writers : dict
        For each buffer that instructions write, their numbers in order.
    """

    def __init__(self, tape: Tape) -> None:
        self.op = tape.column("op").tolist()
        self.result: list[int] = tape.column("result").tolist()
        columns = [tape.column(f"operand{j}").tolist() for j in range(3)]
        self.operands = [
            tuple(slot for slot in slots if slot != NONE) for slots in zip(*columns, strict=True)
        ]
        self.buffer_of: list[int] = tape.column("slot_buffer").tolist()
        self.offset = tape.column("slot_offset").tolist()
        self.bytes: list[int] = tape.column("bytes").tolist()
        self.primal = tape.column("primal").tolist()
        self.flags = tape.column("flags").tolist()
        self.writers: dict[int, list[int]] = {}
        for i, slot in enumerate(self.result):
            if self.op[i] >= 0:
                self.writers.setdefault(self.buffer_of[slot], []).append(i)

    def __len__(self) -> int:
        return len(self.op)

    def written(self, i: int) -> int:
        """The buffer that instruction `i` writes."""
        return self.buffer_of[self.result[i]]

    def replace_buffers(self, by: dict[int, int]) -> None:
        """Let slots on the buffers that are keys of `by` be slots on those that they lead to."""
        self.buffer_of = [by.get(buffer, buffer) for buffer in self.buffer_of]
        for buffer in by:
            self.writers.pop(buffer, None)

    def alone(self, i: int) -> bool:
        """Whether no other instruction writes to the buffer of instruction `i`."""
        return len(self.writers[self.written(i)]) == 1

    def read(self, i: int) -> list[int]:
        """The buffers of the operands of instruction `i`."""
        return [self.buffer_of[slot] for slot in self.operands[i]]

    def differentiable_result(self, i: int) -> bool:
        """Whether instruction `i` was recorded with derivatives."""
        return bool(self.flags[self.written(i)] & DIFFERENTIABLE)

    def reads(self, i: int, j: int) -> list[int]:
        """The buffers whose primal the partial of instruction `i` by operand `j` is computed from."""
        mask = int(self._words[self.op[i]][OP_READS0 + j])
        buffers = [b for k, b in enumerate(self.read(i)) if mask >> k & 1]
        return [*buffers, self.written(i)] if mask & READS_Y else buffers

    def has_cotangent(self, i: int, j: int) -> bool:
        """Whether operand `j` of instruction `i` is one that derivatives exist by."""
        return kernel_table.takes_cotangent(self.op[i], j)

    @cached_property
    def _words(self) -> dict[int, list[int]]:
        return {op: kernel_table.op_words(op).tolist() for op in set(self.op) if op >= 0}
