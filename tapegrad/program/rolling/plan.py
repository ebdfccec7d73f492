"""Plan of a loop: what it carries, the sequences that it goes along, what it stacks, and the arrays that it fills."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.tape.fields.layout import MAX_NDIM, NONE
from tapegrad.engine.tape.fields.view import View
from tapegrad.ops import COPY
from tapegrad.ops.params import read as read_params
from tapegrad.ops.structural.indexing import WriteParams
from tapegrad.program.rolling.section import WRITE, LoneInstruction, NoLoopError, Part
from tapegrad.program.rolling.stretches import MIN_REPETITIONS
from tapegrad.program.rolling.wires import MAX_DEPTH, Outside, Produced, Repetitions, Wire

_MAX_SKIPPED_REPETITIONS = 2  # left out before a loop


class LoopValue(NamedTuple):
    """Value of an iteration: the result of an instruction, or, of one that writes to an array, what it writes."""

    by: int
    written: bool = False


class Use(NamedTuple):
    """Operand that is a value of the iteration `depth` before this one, and the view of it that is read.

    Without a view all of a result is read; what is written to an array is read in a shape of its own.
    """

    value: LoopValue
    depth: int = 0
    view: View | None = None
    shape: tuple[int, ...] | None = None


class Element(NamedTuple):
    """Operand that is an element of a sequence, by its number."""

    number: int


class Filled(NamedTuple):
    """Parts of an array that the iterations write: what they write, and where the first writes it."""

    value: LoopValue
    first: View
    step: int


class Plan:
    """Plan of a loop.

    Parameters
    ----------
    found
        Its repetitions.

    Attributes
    ----------
    stretch
        The instructions in whose place it comes.
    sources
        By instruction and operand of an iteration: `Use`, `Element`, or a `Part` that all iterations read.
    carried
        Values that later iterations read, and over how many.
    initial
        What stands for these values before the first iteration, those of the last iteration but one first.
    sequences
        Parts of buffers, or arrays of the constants of all iterations.
    stacked
        Values of all iterations that are read later.
    last
        Values of the last iteration that are read later, and that are carried.
    filled
        By array: what is written to it. An array is the buffer that it was before, and the one that it is afterwards;
        the former is NONE if iterations are the first to write to it.
    """

    def __init__(self, found: Repetitions) -> None:
        self._found, self.section = found, found.section
        self.stretch = found.stretch
        self.number = found.number
        self.carried: dict[LoopValue, int] = {}
        self.initial: dict[LoopValue, list[Part]] = {}
        self.sequences: list[Part | np.ndarray] = []
        self._known: dict[Any, int] = {}
        self.stacked: list[LoopValue] = []
        self.last: list[LoopValue] = []
        self.filled: dict[tuple[int, int], list[Filled]] = {}
        self._writes = [j for j, move in enumerate(found.moves) if move]
        self._check_writes()
        self.sources = [
            [self._source(j, o, wire) for o, wire in enumerate(wires) if wire is not None]
            for j, wires in enumerate(found.wires)
        ]
        for value, depth in self.carried.items():
            self.initial[value] = [self._before(value, back) for back in range(1, depth + 1)]
        self._take_results()
        self._take_filled()
        self._check_integers()

    def _check_integers(self) -> None:
        """Check that no integers go from iteration to iteration: loops hold them as floats, which are not exact."""
        section, numbers = self.section, self.number[0]
        values = {*self.carried, *self.stacked}
        kinds = [section.dtype_of(int(section.written[numbers[value.by]])).kind for value in values]
        kinds += [
            each.view.dtype.kind if isinstance(each, Part) else each.dtype.kind for each in self.sequences
        ]
        if "i" in kinds:
            raise NoLoopError("integers are carried, stacked or gone along")

    @property
    def period(self) -> int:
        """Number of instructions of an iteration."""
        return self.stretch.period

    def is_chained(self, j: int) -> bool:
        """Return whether an instruction writes to a part of an array, which is done after the loop."""
        return j in self._writes and int(self.section.op[self.number[0, j]]) == WRITE

    def step(self, j: int) -> LoneInstruction:
        """Return an instruction of an iteration by itself.

        What it writes to a part of an array that the loop fills is a result of its own.
        """
        step = self.section.step(int(self.number[1, j]))
        if j not in self._writes:
            return step
        own = View.in_c_order(step.view.shape, step.view.dtype)
        return step._replace(buffer=-2 - j, view=own, whole=own)

    # --- arrays that are filled ------------------------------------------------------------------------------------

    def _region(self, j: int) -> View:
        """Return the part of an array that the first iteration writes."""
        i = int(self.number[0, j])
        if self.is_chained(j):
            entry = self.section.entry(i)
            region = read_params(WriteParams, entry.params).region
            slot = self.section.tape.slots[entry.operands[1]]
            if slot.shape != region.extents:
                raise NoLoopError("one value is written to several elements")
            return View(region.offset, region.extents, region.strides, slot.view.dtype)
        return self.section.tape.slots[int(self.section.result[i])].view

    def _check_writes(self) -> None:
        """Check that the parts that are written are apart from each other, and that they are parts of one array."""
        found = self._found
        self._regions = {j: self._region(j) for j in self._writes}
        arrays: dict[Any, list[int]] = {}
        for j in self._writes:
            arrays.setdefault(self._array_of(j), []).append(j)
        self._arrays = list(arrays.values())
        for group in self._arrays:
            steps = {int(found.moves[j]) for j in group}
            if len(steps) != 1:
                raise NoLoopError("an array is written by different steps")
            step = steps.pop()
            for j in group:
                if self._regions[j].ndim == MAX_NDIM:
                    raise NoLoopError("an array has too many dimensions")
                for other in group:
                    if self._meet(self._regions[j], self._regions[other], step, own=j == other):
                        raise NoLoopError("two iterations write to one element")

    def _array_of(self, j: int) -> Any:
        """Return a key of the array that an instruction writes to."""
        if not self.is_chained(j):
            return "made", int(self.section.written[self.number[0, j]])
        before = self._found.wires[j][0]
        seen = [j]
        while isinstance(before, Produced) and before.by not in seen:
            if not self.is_chained(before.by):
                raise NoLoopError("an array is written by parts and as a whole")
            seen.append(before.by)
            before = self._found.wires[before.by][0]
        if not isinstance(before, Produced):
            raise NoLoopError("each iteration writes to an array of its own")
        return "written", min(seen)

    def _group_of(self, j: int) -> list[int]:
        """Return the instructions that write to the array that one of them writes to."""
        return next(group for group in self._arrays if j in group)

    def _meet(self, one: View, other: View, step: int, own: bool) -> bool:
        """Return whether a part meets another one of any iteration; of its own, of any other iteration."""
        shifts = step * np.arange(1 - self.stretch.times, self.stretch.times)
        if own:
            shifts = shifts[shifts != 0]
        (first, end), (begin, stop) = one.bounds, other.bounds
        near = shifts[(begin + shifts < end) & (first < stop + shifts)]
        if one.ndim != 1 or (one.shape, one.strides) != (other.shape, other.strides) or not one.strides[0]:
            return bool(len(near))
        # Rows of single elements: a column of a matrix, for example
        apart, rest = np.divmod(begin - first + near, one.strides[0])
        exact = (rest == 0) & (np.abs(apart) < one.shape[0])
        touching = (rest != 0) & ((rest < one.itemsize) | (abs(one.strides[0]) - np.abs(rest) < one.itemsize))
        return bool((exact | touching).any())

    # --- operands --------------------------------------------------------------------------------------------------

    def _view(self, j: int, o: int) -> View:
        """Return the view that an operand is in the first iteration, in its buffer after rolling."""
        view = self.section.tape.slots[int(self.section.operands[self.number[0, j], o])].view
        return view._replace(offset=int(self._found.offset[0, j, o]))

    def _source(self, j: int, o: int, wire: Wire) -> Any:
        """Return where an iteration finds an operand."""
        if self.is_chained(j) and o == 0:
            return None
        if isinstance(wire, Produced):
            if self.is_chained(wire.by):
                return self._of_array(j, o, wire)
            if wire.step:
                raise NoLoopError("parts of a result are read by a step")
            slot = self.section.tape.slots[int(self.section.operands[self.number[1, j], o])]
            return self._noted(Use(LoopValue(wire.by), wire.depth, slot.view))
        view = self._view(j, o)
        if isinstance(wire, Outside):
            part = Part(int(self._found.read[0, j, o]), view, wire.step)
            return self._element(part) if wire.step else part
        constants = self.section.constants(self.section.operands[self.number[:, j], o])
        if _is_one(constants):
            return Part(int(self._found.read[0, j, o]), view)
        return self._element(constants)

    def _noted(self, use: Use) -> Use:
        """Return a use of a value, and note how many iterations the value is carried over."""
        if use.depth:
            self.carried[use.value] = max(use.depth, self.carried.get(use.value, 0))
        return use

    def _element(self, sequence: Part | np.ndarray) -> Element:
        """Return an element of a new sequence, or of one that there is."""
        strides = sequence.view.strides if isinstance(sequence, Part) else sequence.strides[1:]
        if 0 in strides:
            raise NoLoopError("a sequence of elements that are repeated")
        key = sequence if isinstance(sequence, Part) else (sequence.dtype, sequence.shape, sequence.tobytes())
        number = self._known.setdefault(key, len(self.sequences))
        if number == len(self.sequences):
            self.sequences.append(sequence)
        return Element(number)

    def _of_array(self, j: int, o: int, wire: Produced) -> Any:
        """Return a part of an array that is filled: what an iteration has written there, or what was there before."""
        group = self._group_of(wire.by)
        step = int(self._found.moves[wire.by])
        view = self._view(j, o)
        if wire.step not in (0, step):
            raise NoLoopError("an array is read by another step than it is written")
        if wire.step == 0:
            return self._constant_part(view, group, step)
        latest: tuple[int, int, int] | None = None
        for i in group:
            region = self._regions[i]
            back, rest = divmod(region.offset - view.offset, step)
            if rest or _without_ones(region) != _without_ones(view):
                if self._meet(region, view, step, own=False):
                    raise NoLoopError("what is read is a part of what is written, or more than that")
                continue
            if self.stretch.times > back > 0 or (back == 0 and i < j):
                latest = min(filter(None, (latest, (back, -i, i))))
        if latest is None:
            return self._element(Part(self._before_writes(group), view, step))
        if latest[0] > MAX_DEPTH:
            raise NoLoopError("what is read was written many iterations before")
        return self._noted(Use(LoopValue(latest[2], True), latest[0], shape=view.shape))

    def _constant_part(self, view: View, group: list[int], step: int) -> Part:
        """Return a part of an array that no iteration writes."""
        first, end = view.bounds
        for i in group:
            begin, stop = self._regions[i].bounds
            reach = step * (self.stretch.times - 1)
            if first < max(stop, stop + reach) and min(begin, begin + reach) < end:
                raise NoLoopError("an element is read by all iterations and written by one")
        return Part(self._before_writes(group), view)

    def _before_writes(self, group: list[int]) -> int:
        """Return the buffer that an array was before the loop."""
        first = min(group)
        return int(self._found.read[0, first, 0])

    def _before(self, value: LoopValue, back: int) -> Part:
        """Return what stands for a value of an iteration before the first."""
        if value.written:
            region = self._regions[value.by]
            offset = region.offset - back * int(self._found.moves[value.by])
            return Part(self._before_writes(self._group_of(value.by)), region._replace(offset=offset))
        section, i = self.section, int(self.number[0, value.by])
        earlier = i - back * self.period
        if earlier < 0 or section.looks[section.result[earlier]] != section.looks[section.result[i]]:
            raise NoLoopError("the first iteration begins with something else")
        own, other = (int(section.written[k]) for k in (i, earlier))
        if section.tape.bytes(own) != section.tape.bytes(other):
            raise NoLoopError("the first iteration begins with something else")
        view = section.whole_view(i)
        return Part(int(section.base[other]), view._replace(offset=int(section.shift[other])))

    # --- what is read afterwards -----------------------------------------------------------------------------------

    def _take_results(self) -> None:
        """Find the values that are read outside of the loop."""
        section, (start, stop) = self.section, (self.stretch.start, self.stretch.stop)
        used = np.concatenate([section.read[:start].ravel(), section.read[stop:].ravel(), section.results])
        used = np.unique(used[used != NONE])
        by = section.producer[used]
        inside = (by >= start) & (by < stop)
        iteration, number = np.divmod(by[inside] - start, self.period)
        for j in np.unique(number).tolist():
            which = iteration[number == j]
            only_last = bool((which == self.stretch.times - 1).all())
            if j in self._writes:
                if self.is_chained(j) and not (only_last and j == max(self._group_of(j))):
                    raise NoLoopError("a version of an array is read that is written to later")
            elif only_last and LoopValue(j) in self.carried:
                self.last.append(LoopValue(j))
            else:
                self.stacked.append(LoopValue(j))

    def _take_filled(self) -> None:
        """Find what is written to arrays."""
        for group in self._arrays:
            last = int(self.section.written[self.number[-1, max(group)]])
            if self.is_chained(group[0]):
                key = self._before_writes(group), last
            else:
                key = NONE, last
                self._check_made(group)
            self.filled[key] = [
                Filled(LoopValue(j, self.is_chained(j)), self._regions[j], int(self._found.moves[j]))
                for j in sorted(group)
            ]
            for filled in self.filled[key]:
                if filled.value not in self.stacked:
                    self.stacked.append(filled.value)

    def _check_made(self, group: list[int]) -> None:
        """Check that an array is made by nothing but copies, for its parts must be written one after the other."""
        if not self.is_copy or any(self._regions[j].dtype.kind != "f" for j in group):
            raise NoLoopError("an array is made of what it computes")

    @property
    def is_copy(self) -> bool:
        """True if the iterations do nothing but copy elements of sequences to one array."""
        copies = all(self.section.op[self.number[0]] == COPY) and len(self._writes) == self.period
        return copies and all(isinstance(sources[0], Element) for sources in self.sources)

    def commit(self) -> None:
        """Note in the section where later instructions find what this loop has computed."""
        self.buffers: dict[LoopValue, int] = {}
        for value in self.stacked:
            if not value.written and value.by not in self._writes:
                written = self.section.written[self.number[:, value.by]]
                self.buffers[value] = self.section.add_stack(written, int(self.number[-1, -1]))


def _without_ones(view: View) -> list[tuple[int, int]]:
    """Return extents and strides of a view without the dimensions of one element."""
    return [(extent, stride) for extent, stride in zip(view.shape, view.strides, strict=True) if extent != 1]


def _is_one(constants: np.ndarray) -> bool:
    """Return whether the constants of all iterations are the same to the last bit, or one array."""
    if constants.strides[0] == 0:
        return True
    return constants.flags.owndata and constants.tobytes() == constants[:1].tobytes() * len(constants)


def plan_of(found: Repetitions) -> Plan | None:
    """Return the plan of a loop, which may leave the first repetitions out; `None` if it cannot be rolled."""
    for _ in range(_MAX_SKIPPED_REPETITIONS + 1):
        if found.stretch.times < MIN_REPETITIONS:
            return None
        try:
            return Plan(found)
        except NoLoopError:
            found = found.part(1, found.stretch.times)
    return None
