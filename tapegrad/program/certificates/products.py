"""Products of the derivative with directions, by programs of each kind, and by plain ones of the recording.

A *plain* program has no segments, and its recording no loops in place of what repeats and no passes.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tapegrad.autodiff.custom.tensor_rules import check_forward_rules
from tapegrad.engine.inspection.tape_view import TapeView, read_tape
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import NoForwardModeError
from tapegrad.program.certificates.executions import Execution, executed
from tapegrad.program.programs.kinds import make_program
from tapegrad.program.programs.program import Program, Recording
from tapegrad.program.programs.workspace import Workspace
from tapegrad.program.streams.spec import JACFWD, JACREV, JVP, NEVER, VALUE_AND_GRAD, VJP, ProgramSpec

Arrays = list[np.ndarray]
# Programs that differentiate the first output alone
_OF_FIRST = (VALUE_AND_GRAD, JACREV, JACFWD)


class Point(NamedTuple):
    """Inputs, and directions at them.

    Attributes
    ----------
    inputs
        The inputs of the recording.
    tangents
        A direction for each input that is differentiated by, in its shape.
    cotangents
        A direction for each output, in its shape.
    """

    inputs: Sequence[np.ndarray]
    tangents: Arrays
    cotangents: Arrays


class PlainPrograms:
    """Plain programs of a recording, for what a spec differentiates by.

    Parameters
    ----------
    recording
        The recording, not rolled up.
    wrt
        Numbers of the inputs to differentiate by.
    tape
        View of the recording, by default as it is.
    """

    def __init__(self, recording: Recording, wrt: tuple[int, ...], tape: TapeView | None = None) -> None:
        self.recording, self._wrt = recording, wrt
        self._tape: TapeView = read_tape(recording) if tape is None else tape  # type: ignore[arg-type]

    @cached_property
    def has_tangents(self) -> bool:
        """True if there is something to differentiate by, and no custom op without a forward mode."""
        try:
            check_forward_rules(self)
        except NoForwardModeError:
            return False
        return bool(self._wrt)

    @cached_property
    def _forward(self) -> Workspace:
        return self._made(ProgramSpec(JVP, self._wrt, values=True) if self.has_tangents else ProgramSpec())

    @cached_property
    def _reverse(self) -> Workspace:
        return self._made(ProgramSpec(VJP, self._wrt))

    def _made(self, spec: ProgramSpec) -> Workspace:
        return Workspace(make_program(self.recording, self._tape, spec, NEVER))

    def pushed(self, point: Point) -> Execution:
        """Return the outputs, and their tangents if there are any."""
        return executed(self._forward, [*point.inputs, *(point.tangents if self.has_tangents else ())])

    def largest(self, point: Point) -> tuple[float, float]:
        """Return the largest sum of magnitudes of an instruction's result, and that of a tangent."""
        tape = replace(
            self._tape, outputs=tuple(self._tape.instructions[i].result for i in float_results(self._tape))
        )
        every = PlainPrograms(self.recording, self._wrt, tape).pushed(point)
        values, tangents = ([inner([x], [np.ones_like(x)])[1] for x in arrays] for arrays in every)
        return max(values, default=0.0), max(tangents, default=0.0)

    def pulled(self, point: Point) -> Arrays:
        """Return the cotangents of the inputs."""
        return executed(self._reverse, [*point.inputs, *_of_floats(point.cotangents)]).derivatives


def float_results(tape: TapeView) -> list[int]:
    """Return the instructions whose result is a whole buffer of floats that no other instruction writes."""
    columns = tape.columns
    return [
        i
        for i in tape.live
        if columns.writers[columns.written[i]] == 1
        and (view := tape.result(i).view).dtype.kind in DIFFERENTIABLE_KINDS
        and view.nbytes == tape.bytes(int(columns.written[i]))
    ]


def _of_floats(arrays: Sequence[np.ndarray]) -> Arrays:
    return [array for array in arrays if array.dtype.kind in DIFFERENTIABLE_KINDS]


def directions_given(program: Program, point: Point) -> Arrays:
    """Return the directions that a program is given beside the inputs."""
    kind = program.spec.kind
    if kind == JVP:
        return point.tangents
    return _of_floats(point.cotangents) if kind == VJP else []


def differentiates_first(spec: ProgramSpec) -> bool:
    """Return whether programs of a spec differentiate the first output alone."""
    return spec.kind in _OF_FIRST


def pulled_by(program: Program, execution: Execution, point: Point) -> Arrays:
    """Return the cotangents of the inputs by what a program has given: a gradient, a pullback or a Jacobian."""
    kind, found = program.spec.kind, execution.derivatives
    if kind == VALUE_AND_GRAD:
        return [array * point.cotangents[0].sum() for array in found]
    if kind == VJP:
        return found
    axes = point.cotangents[0].ndim
    return [np.tensordot(point.cotangents[0], jacobian, axes) for jacobian in found]


def inner(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the inner product of some arrays with others, complex numbers as pairs, and that of their magnitudes."""
    product = magnitude = 0.0
    for u, v in zip(left, right, strict=True):
        if u.dtype.kind in DIFFERENTIABLE_KINDS:
            terms = _real_parts(u) * _real_parts(v)
            product, magnitude = product + float(terms.sum()), magnitude + float(np.abs(terms).sum())
    return product, magnitude


def _real_parts(array: np.ndarray) -> Any:
    whole = np.ascontiguousarray(array).reshape(-1)
    return (
        whole.view(whole.real.dtype).astype(np.float64)
        if whole.dtype.kind == "c"
        else whole.astype(np.float64)
    )
