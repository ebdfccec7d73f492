"""Iteration of a loop as a function of its carry and of the elements of sequences."""

from typing import Any

from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.program.rolling.emission import BufferPlace, Emission
from tapegrad.program.rolling.plan import Element, LoopValue, Plan, Use
from tapegrad.program.rolling.section import Part


class RolledBody:
    """Iteration of a loop: a function that records the instructions of one repetition.

    It keeps nothing of the recording that these were found in.

    Parameters
    ----------
    plan
        The loop.
    outer
        Operands of all iterations that the recording around the loop computes.

    Attributes
    ----------
    carried
        What the leaves of the carry are: values, and of how many iterations before the last.
    initial
        Where the first carry is.
    """

    def __init__(self, plan: Plan, outer: dict[Part, Tensor]) -> None:
        section = plan.section
        self._outer = outer
        self._sources = plan.sources
        self._steps = [None if plan.is_chained(j) else plan.step(j) for j in range(plan.period)]
        self._buffers = [NONE if step is None else step.buffer for step in self._steps]
        self._stacked = plan.stacked
        self.carried = [(value, k) for value, depth in plan.carried.items() for k in range(depth)]
        self.initial = [part for parts in plan.initial.values() for part in parts]
        self._constants = {
            source.buffer: section.constant(source.buffer)
            for sources in plan.sources
            for source in sources
            if isinstance(source, Part) and source not in outer
        }

    def __call__(self, *leaves: Tensor) -> list[Tensor]:
        """Record an iteration. Return the next carry, and what is stacked."""
        call = _IterationCall(
            self._constants.__getitem__, self._outer, dict(zip(self.carried, leaves, strict=False))
        )
        call.elements = leaves[len(self.carried) :]
        call.sources, call.buffers = self._sources, self._buffers
        for step, sources in zip(self._steps, self._sources, strict=True):
            if step is not None:
                call.emission.emit(step, [call.operand(source) for source in sources])
        carry = [call.before[value, k - 1] if k else call.value(Use(value)) for value, k in self.carried]
        return [*carry, *(call.value(Use(value)) for value in self._stacked)]


class _IterationCall:
    """Call of an iteration: what it is given, and what it has computed so far."""

    def __init__(
        self, constant: Any, outer: dict[Part, Tensor], before: dict[tuple[LoopValue, int], Tensor]
    ) -> None:
        self._places: dict[int, BufferPlace] = {}
        self.emission = Emission(constant, self._places)
        self._outer, self.before = outer, before
        self.elements: tuple[Tensor, ...] = ()
        self.sources: list[list[Any]] = []
        self.buffers: list[int] = []

    def operand(self, source: Any) -> Tensor:
        """Return an operand."""
        if isinstance(source, Element):
            return self.elements[source.number]
        if isinstance(source, Part):
            outer = self._outer.get(source)
            if outer is None:
                return self.emission.part(source.buffer, source.view)
            return self.emission.recorder.lift(outer)
        return self.value(source)

    def value(self, use: Use) -> Tensor:
        """Return a value of this iteration or of one before, or a part of it."""
        value, depth, view, shape = use
        if depth:
            place = BufferPlace(self.before[value, depth - 1])
        elif value.written:
            place = BufferPlace(self.operand(self.sources[value.by][1]))
        else:
            place = self._places[self.buffers[value.by]]
        if view is not None:
            return self.emission.view(place, view)
        return place.tensor if shape in (None, place.tensor.shape) else reshape(place.tensor, shape)
