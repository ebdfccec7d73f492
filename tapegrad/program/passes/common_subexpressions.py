"""Common subexpressions: what has been computed before is not computed again.

Value numbering over the whole recording (Cocke and Schwartz 1970, "Programming Languages and Their Compilers"). No
buffer is written after it has been read, for an in-place write goes to a new one, so two instructions of the same op
on the same operands compute the same.
"""

from collections.abc import Hashable
from typing import Any

from tapegrad.engine import kernel_table
from tapegrad.engine.tape.layout import CALLBACK, DEAD_OP, DIFFERENTIABLE, EXTERNAL, OP_KIND
from tapegrad.engine.tape.snapshot import Instruction, Slot, Snapshot
from tapegrad.engine.tape.tape import words_at
from tapegrad.ops import COPY, GUARDS
from tapegrad.program.listing import Listing
from tapegrad.program.recording import RecordedTape


def eliminate_common_subexpressions(recording: RecordedTape, listing: Listing, outputs: list[int]) -> Listing:
    """Take out of a listing what is computed twice; slots of the second are on the buffer of the first after that."""
    return _Numbering(recording, listing, outputs).run()


class _Numbering:
    """One walk along a recording."""

    def __init__(self, recording: RecordedTape, listing: Listing, outputs: list[int]) -> None:
        self._listing = listing
        self._snapshot = Snapshot(recording)
        self._outputs = {listing.buffer_of[slot] for slot in outputs}
        self._stands_for: dict[int, int] = {}  # a buffer that is taken out -> the one that has its contents
        self._known: dict[Hashable, int] = {}

    def run(self) -> Listing:
        listing = self._listing
        self._share_literals()
        for i in range(len(listing)):
            if listing.op[i] >= 0 and listing.alone(i) and listing.written(i) not in self._outputs:
                self._look_at(i)
            elif listing.op[i] >= 0:
                self._number(i)
        if self._stands_for:
            listing.replace_buffers(self._stands_for)
        return listing

    def _buffer(self, slot: Slot) -> int:
        return self._stands_for.get(slot.buffer, slot.buffer)

    def _share_literals(self) -> None:
        """Constant scalars that the tape owns are the same where their bytes are."""
        listing, known = self._listing, {}  # type: Listing, dict[Any, int]
        scalars = {slot.buffer: slot for slot in map(self._snapshot.slots.__getitem__, self._snapshot.slots)}
        for buffer, slot in scalars.items():
            owned = listing.primal[buffer] != 0 and not listing.flags[buffer] & (EXTERNAL | DIFFERENTIABLE)
            if owned and slot.shape == () and listing.bytes[buffer] <= 8 and buffer not in listing.writers:
                content = bytes(words_at(listing.primal[buffer], listing.bytes[buffer], "u1"))
                first = known.setdefault((slot.dtype, content), buffer)
                if first != buffer:
                    self._stands_for[buffer] = first

    def _key(self, i: int) -> Hashable | None:
        """What two instructions that compute the same have in common; `None` for an op that is always computed."""
        instruction: Instruction = self._snapshot.instructions[i]
        op = instruction.op
        if op in GUARDS or kernel_table.op_words(op)[OP_KIND] == CALLBACK:
            return None
        operands = [self._place(slot) for slot in self._snapshot.operands(i)]
        if kernel_table.row(op).commutative:
            operands.sort()
        if instruction.address != 0 and not instruction.params:
            return None  # parameters that nobody knows how to read
        result = self._snapshot.result(i)._replace(buffer=-1)
        differentiable = self._listing.differentiable_result(i)
        return op, tuple(operands), self._place(result), instruction.params, differentiable

    def _place(self, slot: Slot) -> tuple[Any, ...]:
        return self._buffer(slot), slot.dtype, slot.offset, slot.shape, slot.strides

    def _number(self, i: int) -> int:
        """The buffer that has what instruction `i` computes: that of an earlier one, or its own."""
        listing = self._listing
        key = self._key(i) if listing.alone(i) else None
        own = listing.written(i)
        return own if key is None else self._known.setdefault(key, own)

    def _look_at(self, i: int) -> None:
        """Take instruction `i` out if there is a buffer with what it computes."""
        listing = self._listing
        own = listing.written(i)
        first = self._copied(i)
        if first is None:
            first = self._number(i)
        if first != own:
            self._stands_for[own] = first
            listing.op[i] = DEAD_OP

    def _copied(self, i: int) -> int | None:
        """The buffer that instruction `i` makes nothing but a copy of."""
        listing = self._listing
        if listing.op[i] != COPY:
            return None
        operand, result = self._snapshot.operands(i)[0], self._snapshot.result(i)
        source = self._buffer(operand)
        whole = all(
            slot.contiguous and slot.offset == 0 and slot.size * slot.itemsize == listing.bytes[slot.buffer]
            for slot in (operand, result)
        )
        same = (listing.flags[source] ^ listing.flags[result.buffer]) & DIFFERENTIABLE == 0
        return source if whole and same and operand.shape == result.shape else None
