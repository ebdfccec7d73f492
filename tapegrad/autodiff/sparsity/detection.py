"""Detection of the inputs that results depend on, by a walk along a recorded graph."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.accumulator import Accumulator
from tapegrad.autodiff.graph_view import Geometry, GraphInstruction
from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.autodiff.rules.structural_rules import regions_of
from tapegrad.autodiff.sparsity.parts import dependences_of_parts
from tapegrad.autodiff.sparsity.rules import is_untraced, seen
from tapegrad.autodiff.sparsity.sets import EMPTY, SetPool, place_of
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.ops import Op

_FEW_INPUTS = 256


class Dependences:
    """Numbers of sets of inputs, for the elements of buffers.

    Parameters
    ----------
    pool
        The sets.
    geometry
        Returns the geometry of a slot.
    """

    def __init__(self, pool: SetPool, geometry: Callable[[int], Geometry]) -> None:
        self._pool, self._geometry = pool, geometry
        # By buffer the number of the set of each element. An array is never written to once it is there.
        self._numbers: dict[int, np.ndarray] = {}
        # By buffer and region of it the same for what is added to the region alone
        self._parts: dict[tuple[int, View], np.ndarray] = {}

    @property
    def buffers(self) -> set[int]:
        """The buffers that depend on inputs."""
        return set(self._numbers)

    def of(self, slot: int) -> np.ndarray | None:
        """Return the number of each element of a slot, in its shape; `None` if it depends on no input.

        Complex numbers have one for each part, along a last axis.
        """
        geometry = self._geometry(slot).in_pairs
        known = self._numbers.get(geometry.buffer)
        return None if known is None else seen(known, geometry.view)

    def of_buffer(self, slot: int) -> np.ndarray | None:
        """Return the number of each element of the buffer of a slot, or of each part of one, in one dimension."""
        return self._numbers.get(self._geometry(slot).buffer)

    def of_part(self, buffer: int, view: View) -> np.ndarray | None:
        """Return the numbers for what was added to a region of a buffer by itself, `None` if that is not known."""
        return self._parts.get((buffer, view))

    def put(self, slot: int, numbers: np.ndarray) -> None:
        """Enter the numbers of the elements of a slot, or of their parts."""
        geometry = self._geometry(slot).in_pairs
        if geometry.covers_buffer:
            self._numbers[geometry.buffer] = np.ascontiguousarray(numbers).reshape(-1)
            return
        known = self._numbers.get(geometry.buffer)
        new = np.full(geometry.buffer_size, EMPTY, np.int64) if known is None else known.copy()
        seen(new, geometry.view)[...] = numbers
        self._numbers[geometry.buffer] = new

    def visit(
        self, step: SweepStep, numbers: list[np.ndarray | None], memory: list[np.ndarray | None]
    ) -> None:
        """Enter what the result of an instruction depends on, given the numbers of its operands."""
        if all(each is None for each in numbers):
            return
        for region, own in zip(regions_of(step), numbers, strict=False):
            if own is not None:
                key = region.buffer, region.in_pairs.view
                self._parts[key] = self._pool.unite(self._parts[key], own) if key in self._parts else own
        self.put(step.result, dependences_of_parts(step, self._pool, numbers, memory))


class Detection:
    """Inputs that each element depends on, for the elements of all operands of some instructions.

    A derivative is a sum over paths from an input to a result. Paths through instructions whose partials are numbers,
    such as sums and products with a Python float, have the same derivative at all inputs; all others vary.

    Parameters
    ----------
    tape
        The tape of the instructions.
    instructions
        All that lie between the inputs and the results, in order.
    inputs
        Slots of the inputs, whose elements are numbered from the first one's on.
    with_sets
        Whether the sets are found; without them, an operand that anything flows through depends on everything.
    splits
        Whether paths of constant derivatives are told from others; if not, all count as varying.
    most_listed
        Entries of all sets together, by the number of inputs; `None` for as many as memory is spent on.

    Attributes
    ----------
    tape
        The tape.
    geometry
        Returns the geometry of a slot.
    pool
        The sets of inputs.
    constant, varying
        What elements depend on by paths of constant derivatives alone, and by all others.
    steps
        The instructions.
    is_constant
        For each instruction whether its partials are numbers.
    """

    def __init__(
        self,
        tape: Tape,
        instructions: list[GraphInstruction],
        inputs: Sequence[int],
        with_sets: bool = True,
        splits: bool = True,
        most_listed: int | None = None,
    ) -> None:
        self.tape = tape
        geometries = Accumulator(tape)
        self.geometry = geometry = geometries.geometry
        sizes = [geometry(slot).view.size for slot in inputs]
        most = None if most_listed is None else most_listed * max(sum(sizes), _FEW_INPUTS)
        self.pool = SetPool(sum(sizes), most)
        self.constant, self.varying = (Dependences(self.pool, geometry) for _ in range(2))
        first = EMPTY + 1
        for slot, size in zip(inputs, sizes, strict=True):
            self.constant.put(slot, np.arange(first, first + size).reshape(geometry(slot).shape))
            first += size
        self.steps = [SweepStep(tape, each, geometries, None) for each in instructions]
        self.is_constant = [splits and has_constant_partials(step) for step in self.steps]
        # For each instruction what each operand depends on, by constant paths and by others
        self._read: list[Any] | None = None
        if with_sets:
            self._read = [self._visit(*each) for each in zip(self.steps, self.is_constant, strict=True)]

    def _visit(
        self, step: SweepStep, is_constant: bool
    ) -> tuple[list[np.ndarray | None], list[np.ndarray | None]]:
        """Find what the result of an instruction depends on; return the numbers of its operands."""
        slots = [slot if flows(step, j) else -1 for j, slot in enumerate(step.operands)]
        both = self.constant, self.varying
        read = [[None if slot < 0 else each.of(slot) for slot in slots] for each in both]
        memory = [[None if slot < 0 else each.of_buffer(slot) for slot in slots] for each in both]
        if is_constant:
            for each, numbers, buffers in zip(both, read, memory, strict=True):
                each.visit(step, numbers, buffers)
        else:
            self.varying.visit(step, self._together(*read), self._together(*memory))
        return read[0], read[1]

    def _together(
        self, first: list[np.ndarray | None], second: list[np.ndarray | None]
    ) -> list[np.ndarray | None]:
        return [
            b if a is None else a if b is None else self.pool.unite(a, b)
            for a, b in zip(first, second, strict=True)
        ]

    def all_of(self, slot: int) -> np.ndarray | None:
        """Return the number of each element of a slot, for paths of both kinds."""
        return self._together([self.constant.of(slot)], [self.varying.of(slot)])[0]

    def colours_read(self, of_sets: np.ndarray) -> list[list[tuple[int, ...]]]:
        """Return the colours of the inputs that operands depend on, a bit for each.

        For constant and varying paths, each instruction and operand.

        Parameters
        ----------
        of_sets
            What `masks` has found of the colours.
        """
        if self._read is None:
            bits = [
                tuple(-1 if flows(step, j) else 0 for j in range(len(step.operands))) for step in self.steps
            ]
            return [bits, bits]
        known: dict[tuple[Any, ...], int] = {}
        return [
            [tuple(_colours_of(each, of_sets, known) for each in read[kind]) for read in self._read]
            for kind in (0, 1)
        ]


def flows(step: SweepStep, operand: int) -> bool:
    """Return whether a derivative flows from an operand to the result."""
    row = step.row
    return step.asks(operand) and not (isinstance(row, Op) and row.is_constant_in(operand))


def has_constant_partials(step: SweepStep) -> bool:
    """Return whether the partials of an instruction are the same at all inputs, in all replays.

    Arrays of a closure may have other contents in a replay, lists of row numbers may not, for they are guarded.
    """
    row = step.row
    if isinstance(row, Op):
        read = frozenset().union(*(row.needs(j) for j in range(row.arity) if flows(step, j)))
        return all(name != "y" and not is_tensor(step.primal(name)) for name in read)
    others = [j for j, reads in enumerate(row.reads[: len(step.operands)]) if reads is None]
    return row.linear and all(row.operand_dtypes[j] == "i64" and is_untraced(step, j) for j in others)


def masks(pool: SetPool, colours: np.ndarray) -> np.ndarray:
    """Return for each set the colours of its inputs as bits, in so many words as that takes.

    `colours` has a colour for each input; -1 for inputs that are left out.
    """
    words = max(1, -(-int(colours.max(initial=-1) + 1) // 64))
    of_input = np.zeros((len(colours), words), np.uint64)
    coloured = np.flatnonzero(colours >= 0)
    bits = np.left_shift(np.uint64(1), (colours[coloured] % 64).astype(np.uint64))
    of_input[coloured, colours[coloured] // 64] = bits
    return pool.united_bits(of_input)


def _colours_of(numbers: np.ndarray | None, of_sets: np.ndarray, known: dict[tuple[Any, ...], int]) -> int:
    """Return the colours of the sets of some elements, as bits of an integer."""
    if numbers is None:
        return 0
    key = place_of(numbers)
    if key not in known:
        words = [np.bitwise_or.reduce(word[numbers], axis=None) for word in of_sets.T]
        known[key] = sum(int(word) << 64 * k for k, word in enumerate(words))
    return known[key]
