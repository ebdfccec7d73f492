"""Recordings with loops in place of what repeats: each is one instruction, whose body is that of one repetition."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.engine.tape.fields.layout import C64, C128, NONE
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.tensor.modes import recording as recording_on
from tapegrad.frontend.tensor.modes import restoring
from tapegrad.frontend.tensor.tensor import Tensor, allocate, geometry_of
from tapegrad.loops.run import FlatLoop
from tapegrad.ops.params import Region, fields_of
from tapegrad.ops.structural.indexing import WriteParams
from tapegrad.program.recording.recording import Origins, RecordedTape
from tapegrad.program.rolling.emission import BufferPlace, Emission
from tapegrad.program.rolling.iteration import RolledBody
from tapegrad.program.rolling.plan import Filled, LoopValue, Plan, plan_of
from tapegrad.program.rolling.roller import MIN_INSTRUCTIONS
from tapegrad.program.rolling.section import WRITE, Part, Section
from tapegrad.program.rolling.stretches import MIN_REPETITIONS, stretches
from tapegrad.program.rolling.wires import understood

_TRIES = 8  # stretches of a part of a recording that are looked at
_MIN_ROLLED_RATIO = 4  # instructions of loops for each that is in none, or the recording stays as it is
# Bytes of the results of an instruction, on average, of an instruction itself in a program, and of a recording
_MAX_BYTES_PER_INSTRUCTION, _INSTRUCTION_BYTES, _SHORT_MEMORY_BYTES = 1 << 7, 1 << 10, 1 << 29


def loop() -> None:
    """Name a loop of plain Python in messages."""


def find_loops(section: Section, fewest: int) -> list[Plan]:
    """Return plans of the loops of a recording that have so many instructions, in order."""
    found: list[Plan] = []
    _find(section, 0, section.count, fewest, found)
    return found


def _find(section: Section, start: int, stop: int, fewest: int, found: list[Plan]) -> None:
    """Add the loops of a part of a recording. Those before one are looked for first, for it may read their results."""
    if stop - start < fewest:
        return
    for tried, stretch in enumerate(stretches(section.kinds, start, stop)):
        if stretch.times * stretch.period < fewest or tried == _TRIES:
            return
        repetitions = understood(section, stretch)
        plan = None if repetitions is None else plan_of(repetitions)
        if plan is None or plan.stretch.times * plan.period < fewest:
            continue
        before = len(found)
        _find(section, start, plan.stretch.start, fewest, found)
        if len(found) > before:  # what it reads lies elsewhere now: it is looked for once more
            _find(section, found[-1].stretch.stop, stop, fewest, found)
            return
        plan.commit()
        found.append(plan)
        _find(section, plan.stretch.stop, stop, fewest, found)
        return


class Rolling:
    """A recording, recorded once more with loops.

    Parameters
    ----------
    section
        What was recorded.
    plans
        The loops.
    """

    def __init__(self, section: Section, plans: Sequence[Plan]) -> None:
        self._section, self._recording, self._plans = section, section.recording, plans
        self._places: dict[int, BufferPlace] = {}
        self._origins: list[int] = []

    @restoring
    def __call__(self) -> RecordedTape:
        """Return the new recording."""
        made = self._recording.begun_like()
        with recording_on(made):
            self._enter_inputs(made)
            self._emission = Emission(self._section.constant, self._places)
            at = 0
            for plan in self._plans:
                self._emit(at, plan.stretch.start)
                _RolledLoop(plan, self._emission, self._places).run()
                at = plan.stretch.stop
                self._note(plan.stretch.start)
            self._emit(at, self._section.count)
            for slot in self._recording.outputs:
                made.add_output(self._operand(slot))
            made.settle()
        self._note(self._section.count - 1)
        outcomes = b"".join(self._recording.outcomes)
        made.origins = Origins(self._origins, self._recording.ops_checksum, outcomes)
        return made

    def _note(self, i: int) -> None:
        """Note that what was recorded since the last time stands for an instruction and those that follow it."""
        number = self._section.number_on_tape(i)
        self._origins += [number] * (len(self._emission.recorder) - len(self._origins))

    def _enter_inputs(self, made: RecordedTape) -> None:
        """Enter the arguments, and arrays that were made of none."""
        recording, slots = self._recording, self._section.tape.slots
        for slot in recording.inputs:
            buffer = slots[slot].buffer
            self._places[buffer] = BufferPlace(made.add_input(recording.owners[buffer]))
        for buffer, owner in recording.owners.items():
            known = buffer in self._places or buffer >= len(self._section.traced)
            if not known and self._section.traced[buffer]:
                self._places[buffer] = BufferPlace(made.stand_in(owner))

    def _emit(self, start: int, stop: int) -> None:
        """Record instructions that are in no loop."""
        section = self._section
        for i in range(start, stop):
            operands = [self._operand(slot) for slot in section.operands[i].tolist() if slot != NONE]
            self._emission.emit(section.step(i), operands)
            self._note(i)

    def _operand(self, slot: int) -> Tensor:
        """Return a slot of the recording."""
        part = self._section.part(slot)
        return self._emission.part(part.buffer, part.view)


class _RolledLoop:
    """A loop that is recorded in place of its repetitions."""

    def __init__(self, plan: Plan, emission: Emission, places: dict[int, BufferPlace]) -> None:
        self._plan, self._emission, self._places = plan, emission, places
        self._section = plan.section

    def run(self) -> None:
        """Record the loop, and note where its results are."""
        plan, emission = self._plan, self._emission
        if plan.is_copy:
            elements = [plan.sequences[sources[0].number] for sources in plan.sources]
            self._fill({LoopValue(j): self._sequence(each) for j, each in enumerate(elements)})
            return
        iteration = RolledBody(plan, self._outer(plan))
        carry = [emission.part(before.buffer, before.view) for before in iteration.initial]
        sequences = [self._sequence(each) for each in plan.sequences]
        run = FlatLoop("loop", iteration, loop, len(carry), plan.stretch.times)
        last, stacked = run(carry, sequences)
        results = dict(zip(plan.stacked, stacked, strict=True))
        for value, buffer in plan.buffers.items():
            self._places[buffer] = BufferPlace(results[value])
        for (value, k), tensor in zip(iteration.carried, last, strict=True):
            if k == 0 and value in plan.last:
                self._places[int(self._section.written[plan.number[-1, value.by]])] = BufferPlace(tensor)
        self._fill(results)

    def _outer(self, plan: Plan) -> dict[Part, Tensor]:
        """Return the operands of all iterations that are computed, or Tensors from outside."""
        parts = {source for sources in plan.sources for source in sources if isinstance(source, Part)}
        return {
            part: self._emission.part(part.buffer, part.view)
            for part in parts
            if self._section.is_outer(part.buffer)
        }

    def _sequence(self, sequence: Part | np.ndarray) -> Any:
        """Return a sequence: a view of a buffer, or an array of constants."""
        if not isinstance(sequence, Part):
            return sequence
        view = sequence.view.repeated(self._plan.stretch.times, sequence.step)
        return self._emission.part(sequence.buffer, view)

    # --- arrays ----------------------------------------------------------------------------------------------------

    def _fill(self, results: dict[LoopValue, Tensor]) -> None:
        """Write what the iterations have written to arrays."""
        for (before, after), parts in self._plan.filled.items():
            if before == NONE:
                for filled in parts:
                    self._fill_new(after, filled, results[filled.value])
                continue
            emission, flat = self._emission, self._section.flat_view(before)
            base, shift = self._section.base[before], int(self._section.shift[before])
            whole = emission.part(int(base), flat._replace(offset=shift))
            for filled in parts:
                whole = self._written(whole, filled, results[filled.value])
            self._places[after] = BufferPlace(whole)

    def _fill_new(self, buffer: int, filled: Filled, stacked: Tensor) -> None:
        """Copy what is stacked to an array that the loop has begun to fill, or another instruction before."""
        emission = self._emission
        if buffer not in self._places:
            flat = self._section.flat_view(buffer)
            made = allocate(emission.recorder, flat.dtype, flat.shape, "positive")
            self._places[buffer] = BufferPlace(made)
        whole = filled.first.repeated(self._plan.stretch.times, filled.step)
        emission.copy(emission.tensor(stacked), emission.view(self._places[buffer], whole))

    def _written(self, whole: Tensor, filled: Filled, stacked: Tensor) -> Tensor:
        """Write what is stacked to an array; return its next version."""
        emission, view = self._emission, filled.first.repeated(self._plan.stretch.times, filled.step)
        region = Region(view.offset, view.shape, view.strides, geometry_of(stacked)[1])
        made = allocate(emission.recorder, whole.dtype, whole.shape, "write")
        emission.emit_into(WRITE, made, [whole, stacked], tuple(fields_of(WriteParams(whole.size, region))))
        return made


def roll(recording: RecordedTape, wherever: bool) -> RecordedTape | None:
    """Return a recording with loops in place of what repeats, `None` if it has none of them that pay.

    Parameters
    ----------
    recording
        What was recorded.
    wherever
        Whether loops need not pay.
    """
    section = Section(recording)
    if len(section.tape.columns.slots.buffers_seen_as(C128, C64)):
        if wherever:
            raise UnsupportedError(
                "jit: roll=True, but loops of complex numbers are not rolled: leave roll out"
            )
        return None
    plans = find_loops(section, MIN_REPETITIONS if wherever else MIN_INSTRUCTIONS)
    if not plans or not (wherever or _pays(section, plans)):
        return None
    return Rolling(section, plans)()


def _pays(section: Section, plans: Sequence[Plan]) -> bool:
    """Return whether loops are worth it: most instructions are in loops, and on small arrays, or memory is short.

    A reverse sweep of a loop computes the iterations once more. On large arrays that takes longer than to keep all.
    """
    rolled = sum(plan.stretch.times * plan.period for plan in plans)
    if (section.count - rolled) * _MIN_ROLLED_RATIO > rolled:
        return False
    bytes_ = sum(section.bytes_written(plan.stretch.start, plan.stretch.stop) for plan in plans)
    return (
        bytes_ <= _MAX_BYTES_PER_INSTRUCTION * rolled
        or bytes_ + _INSTRUCTION_BYTES * rolled > _SHORT_MEMORY_BYTES
    )
