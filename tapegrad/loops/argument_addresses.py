"""Addressing of a body's arguments in a loop: their memory, and how iterations step through it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.engine.sweep.replays import loop_fields as field
from tapegrad.engine.tape.fields.view import View
from tapegrad.loops.programs import BodyPrograms

FIXED, MOVING, CARRIED, HANDED_ON, WRITTEN, ADDED, SUMMED, UNREAD, FLAG = range(9)


class ArgumentAddress(NamedTuple):
    """Address of an argument of a body's program in each iteration.

    Attributes
    ----------
    role
        FIXED, MOVING or CARRIED of operands; HANDED_ON, for the next iteration, WRITTEN, ADDED or SUMMED of results;
        UNREAD of those that nothing reads; FLAG of the result of a condition.
    view
        What it looks like.
    base, offset
        Memory that it lies in, a constant of `loop_fields`, and the bytes from there on.
    leaf
        Number of the leaf of the carry, -1 of others.
    step
        Bytes that it lies further for the next element of sequences, or the next stored carry.
    direction
        1 if iterations go from the first such place to the last, -1 if back.
    by_cursor
        Whether the carry says which of these an iteration takes.
    """

    role: int
    view: View
    base: int
    offset: int
    leaf: int = -1
    step: int = 0
    direction: int = 1
    by_cursor: bool = False


class BlockLayout(NamedTuple):
    """Layout of a loop's block and of its packed arrays.

    Attributes
    ----------
    leaves
        Operands of the loop: carry, elements of sequences, constants.
    operands, result_bars, sums
        Offsets in the block of the operands, of the cotangents of results, and of the sums of cotangents.
    starts, result_starts
        First elements in the packed operands and results.
    carry, sequences
        Number of leaves of the carry, and of the elements of sequences.
    carry_bytes, itemsize
        Bytes of a stored carry, and of a packed element.
    forth
        1 if iterations go from the first element to the last, -1 if back.
    data
        Which of the sequences are constant.
    cursor
        Number of the leaf of the carry that names the elements, -1 for none.
    """

    leaves: Sequence[View]
    operands: Sequence[int]
    result_bars: Sequence[int]
    sums: Sequence[int]
    starts: Sequence[int]
    result_starts: Sequence[int]
    carry: int
    sequences: int
    carry_bytes: int
    itemsize: int
    forth: int
    data: tuple[bool, ...]
    cursor: int

    def of_values(self, body: BodyPrograms, constants: Sequence[int]) -> list[ArgumentAddress]:
        """Return the addresses of the arguments of the values."""
        operands = [self._operand(k, self.forth) for k in self._numbers(constants)]
        return [*operands, *(self._result(k, view) for k, view in enumerate(body.results))]

    def of_condition(self, constants: Sequence[int], flag: int) -> list[ArgumentAddress]:
        """Return the addresses of the arguments of the condition, whose result has an offset in the block."""
        first = self.carry + self.sequences
        numbers = [*range(self.carry), *(first + number for number in constants)]
        result = ArgumentAddress(FLAG, View.in_c_order((), np.dtype(np.bool_)), field.IN_BLOCK, flag)
        return [*(self._operand(k, 1) for k in numbers), result]

    def of_pullback(self, body: BodyPrograms, constants: Sequence[int]) -> list[ArgumentAddress]:
        """Return the addresses of the arguments of the pullback."""
        numbers = self._numbers(constants)
        operands = [self.stored(k, -1) if k < self.carry else self._operand(k, -self.forth) for k in numbers]
        seeds = [self._seed(k, body.results[k]) for k in body.float_results]
        return [*operands, *seeds, *(self._bar(numbers[k]) for k in body.floats)]

    def stored(self, k: int, direction: int) -> ArgumentAddress:
        """Return where leaf k of the carries is stored."""
        offset = self.operands[k] - self.operands[0]
        return ArgumentAddress(
            MOVING, self.leaves[k], field.OF_STATES, offset, k, self.carry_bytes, direction
        )

    def _numbers(self, constants: Sequence[int]) -> list[int]:
        arguments = self.carry + self.sequences
        return [*range(arguments), *(arguments + number for number in constants)]

    def _operand(self, k: int, direction: int) -> ArgumentAddress:
        view = self.leaves[k]
        if self.carry <= k < self.carry + self.sequences:
            return self._element(MOVING, view, field.OF_X, self.starts[k], direction)
        is_carried = k < self.carry
        return ArgumentAddress(
            CARRIED if is_carried else FIXED, view, field.IN_BLOCK, self.operands[k], k if is_carried else -1
        )

    def _element(self, role: int, view: View, base: int, start: int, direction: int) -> ArgumentAddress:
        """Return the place of an element of a sequence, or of one result among those that are stacked."""
        step = view.size * self.itemsize
        return ArgumentAddress(role, view, base, start * self.itemsize, -1, step, direction, self.cursor >= 0)

    def _result(self, k: int, view: View) -> ArgumentAddress:
        if k < self.carry:
            return ArgumentAddress(HANDED_ON, view, field.IN_BLOCK, self.operands[k], k)
        return self._element(WRITTEN, view, field.OF_Y, self.result_starts[k], self.forth)

    def _seed(self, k: int, view: View) -> ArgumentAddress:
        """Return the place of the cotangent of a result."""
        if k < self.carry:
            return ArgumentAddress(CARRIED, view, field.IN_BLOCK, self.result_bars[k], k)
        return self._element(MOVING, view, field.OF_Y, self.result_starts[k], -self.forth)

    def _bar(self, k: int) -> ArgumentAddress:
        """Return the place of the cotangent of an operand."""
        view = self.leaves[k]
        if k < self.carry:
            return ArgumentAddress(HANDED_ON, view, field.IN_BLOCK, self.result_bars[k], k)
        if k >= self.carry + self.sequences:
            return ArgumentAddress(SUMMED, view, field.IN_BLOCK, self.sums[k])
        role = UNREAD if self.data[k - self.carry : k - self.carry + 1] == (True,) else ADDED
        return self._element(role, view, field.OF_X_BAR, self.starts[k], -self.forth)
