"""Wires of a repetition: where each operand of its instructions comes from, and for which repetitions that holds."""

import copy
from typing import NamedTuple

import numpy as np

from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.program.rolling.section import WRITE, Section
from tapegrad.program.rolling.stretches import MIN_REPETITIONS, Stretch

MAX_DEPTH = 16  # repetitions that a value is carried over
_READ_REPETITIONS = 4  # that wires can be read off
_MAX_JOINED_REPETITIONS = 6  # equal by their kinds, and one by their operands


class Produced(NamedTuple):
    """Operand that instruction `by` of a repetition has produced, in the same one or `depth` repetitions before.

    `step` is the distance in bytes between the parts of an array that are read in two repetitions.
    """

    by: int
    depth: int
    step: int


class Outside(NamedTuple):
    """Operand that was there before the loop. `step` is as in `Produced`: 0 if all repetitions read the same."""

    step: int


class ConstantOperand(NamedTuple):
    """Operand that is a constant, perhaps another one in each repetition."""


Wire = Produced | Outside | ConstantOperand


class Repetitions:
    """Repetitions of a stretch, all of whose operands are understood.

    Parameters
    ----------
    section
        The recording.
    stretch
        The instructions.

    Attributes
    ----------
    number
        Instructions, (repetitions, period).
    read, offset, producer
        Of each operand, (repetitions, period, 3): buffer, first byte, and instruction that wrote it.
    middle
        A repetition that the wires were read off.
    wires
        By instruction and operand; `None` for absent operands.
    moves
        By instruction: the distance in bytes between what it writes in two repetitions, if it writes to parts of one
        array, otherwise 0.
    valid
        Repetitions for which all wires and moves hold, (count,) bool.
    """

    def __init__(self, section: Section, stretch: Stretch) -> None:
        self.section, self.stretch = section, stretch
        start, period, count = stretch
        self.number = start + np.arange(count * period).reshape(count, period)
        buffers, slots = self._by_operand(section.read), self._by_operand(section.operands)
        self.read = np.where(buffers == NONE, NONE, section.base[buffers])
        self.offset = section.offsets[slots] + np.where(buffers == NONE, 0, section.shift[buffers])
        self.producer = section.producer[self.read]
        self.middle = count // 2
        self.valid = np.ones(count, np.bool_)
        self.moves = np.array([self._move(j) for j in range(period)])
        self.wires: list[list[Wire | None]] = [
            [self._wire(j, o) if self.read[0, j, o] != NONE else None for o in range(3)]
            for j in range(period)
        ]

    def _by_operand(self, values: np.ndarray) -> np.ndarray:
        """Return values of operands by repetition, instruction and operand, those of one operand side by side."""
        start, period, count = self.stretch
        lines = values[start : self.stretch.stop].reshape(count, period * 3)
        return np.ascontiguousarray(lines.T).T.reshape(count, period, 3)

    def _steady(self, values: np.ndarray) -> tuple[int, np.ndarray]:
        """Return by how much values grow in the middle, and for which repetitions they do."""
        first, second = (int(values[self.middle + k]) for k in (0, 1))
        step = second - first
        return step, values == first + step * (np.arange(len(values)) - self.middle)

    def _move(self, j: int) -> int:
        """Return how far the results of an instruction are apart, if they are parts of one array."""
        section, number = self.section, self.number[:, j]
        if section.op[number[0]] == WRITE:
            step, holds = self._steady(section.regions[number])
            self.valid &= holds
            return step
        written = section.written[number]
        step, holds = self._steady(section.offsets[section.result[number]])
        one, same = self._steady(written)
        if one == 0:  # one buffer
            self.valid &= holds & same & (step != 0)
            return step
        last = section.producer[written] - number  # of the instructions that write parts of one result
        self.valid &= (step == 0) & holds & (last == last[self.middle])
        self.valid &= bool(last[self.middle] + j < self.stretch.period)
        return 0

    def _wire(self, j: int, o: int) -> Wire | None:
        """Return where an operand comes from, and note for which repetitions."""
        constant = self.section.constants_by_buffer[self.section.read[self.number[:, j], o]]
        if constant[self.middle]:
            self.valid &= constant
            return ConstantOperand()
        middle, period = self.middle, self.stretch.period
        step, along = self._steady(self.offset[:, j, o])
        distance = self.number[:, j] - self.producer[:, j, o]
        near = self.producer[middle, j, o] != NONE and distance[middle] <= j + MAX_DEPTH * period
        if near and distance[middle] == distance[middle + 1]:
            self.valid &= (distance == distance[middle]) & along & (self.producer[:, j, o] != NONE)
            depth = max(0, -(-int(distance[middle] - j) // period))
            by = int(j - distance[middle]) + depth * period
            return Produced(by, depth, step)
        same = self.read[:, j, o] == self.read[middle, j, o]
        self.valid &= same & along & (self.producer[:, j, o] < self.number[:, 0])
        return Outside(step)

    # --- which repetitions -----------------------------------------------------------------------------------------

    def held_longest(self) -> tuple[int, int]:
        """Return the first and the last but one repetition of the longest run of those that are understood."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], self.valid, [False]]).astype(np.int8)))
        begins, ends = edges[::2], edges[1::2]
        if not len(begins):
            return 0, 0
        k = int(np.argmax(ends - begins))
        return int(begins[k]), int(ends[k])

    def part(self, begin: int, end: int) -> "Repetitions":
        """Return some of the repetitions, all of which are understood: what is said holds for them."""
        made = copy.copy(self)
        start, period, _ = self.stretch
        made.stretch = Stretch(start + begin * period, period, end - begin)
        made.middle = (end - begin) // 2
        for name in ("number", "read", "offset", "producer", "valid"):
            setattr(made, name, getattr(self, name)[begin:end])
        return made

    def crossing(self) -> np.ndarray:
        """Return for each instruction of a repetition how many values are carried if the repetition begins there."""
        period = self.stretch.period
        longest: dict[int, int] = {}
        for j, wires in enumerate(self.wires):
            for wire in wires:
                if isinstance(wire, Produced):
                    reach = j + wire.depth * period - wire.by
                    longest[wire.by] = max(longest.get(wire.by, 0), reach)
        found = np.zeros(period, np.int64)
        for by, reach in longest.items():
            whole, rest = divmod(reach, period)
            found += whole
            found[(by + 1 + np.arange(rest)) % period] += 1
        number = self.number[self.middle]
        first = self.section.written[number]
        for j in range(period - 1):  # parts of one result stay together
            if first[j] == first[j + 1] and not self.moves[j]:
                found[j + 1] += period
        return found


def understood(section: Section, stretch: Stretch) -> Repetitions | None:
    """Return the repetitions of a stretch that are a loop.

    Several may be one of the loop's: the lines ``a = a + c*b`` and ``b = b + c*a`` are alike but for their operands.
    """
    for together in range(1, _MAX_JOINED_REPETITIONS + 1):
        longer = Stretch(stretch.start, stretch.period * together, stretch.times // together)
        if longer.times < MIN_REPETITIONS:
            break
        if (found := _understood(section, longer)) is not None:
            return found
    return None


def _understood(section: Section, stretch: Stretch) -> Repetitions | None:
    """Return the repetitions of a stretch, which begin where the fewest values are carried."""
    start, period, count = stretch
    # Two in the middle say what is carried: the wires are read off them
    middle = Repetitions(section, Stretch(start + (count // 2 - 2) * period, period, _READ_REPETITIONS))
    first = int(np.argmin(middle.crossing()))
    shorter = Stretch(start + first, period, count - (first > 0))
    if shorter.times < MIN_REPETITIONS:
        return None
    found = Repetitions(section, shorter)
    begin, end = found.held_longest()
    if end - begin < MIN_REPETITIONS:
        return None
    return found.part(begin, end)
