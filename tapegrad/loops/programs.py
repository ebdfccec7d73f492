"""Programs of a loop's function: of each recording the values, the pullback and the tangents."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.tape.fields.view import View
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.programs.handle import Handle, Source, Specialization
from tapegrad.program.programs.program import Program
from tapegrad.program.recording.constant_results import ConstantOutput, PassthroughOutput
from tapegrad.program.streams.spec import FORWARD, JVP, WHOLE_VJP, ProgramSpec

MAX_SPECIALIZATIONS = 32
VALUES, PULLBACK, TANGENTS = range(3)


class RecordedFunction(Protocol):
    """A recording of a function, of which programs are made.

    Attributes
    ----------
    recording
        The recording.
    output_slots
        Slots of the results that are computed.
    results
        For each leaf of the result an output's number, a `PassthroughOutput` or a `ConstantOutput`.
    """

    recording: Any

    @property
    def output_slots(self) -> list[int]: ...

    @property
    def results(self) -> list[Any]: ...

    def program(self, spec: ProgramSpec) -> Program:
        """Return the program for a spec."""
        ...


class BodyPrograms(Uncopied):
    """Recordings of a loop's function, one for each outcome of its branches, and their programs.

    Attributes
    ----------
    traces
        The recordings.
    inputs, results
        What operands and results look like.
    size
        Number of instructions of the first recording.
    """

    traces: Sequence[RecordedFunction]
    inputs: list[View]
    results: list[View]
    size: int

    @property
    def floats(self) -> list[int]:
        """Numbers of the operands that are floats."""
        return [k for k, view in enumerate(self.inputs) if view.dtype.kind == "f"]

    @property
    def float_results(self) -> list[int]:
        """Numbers of the results that are floats."""
        return [k for k, view in enumerate(self.results) if view.dtype.kind == "f"]

    def handle(self, which: int) -> Handle:
        """Return the handle of a program.

        Arguments of the values are operands and results; of the pullback operands, cotangents of the float results, and
        cotangents of the float operands; of the tangents operands, tangents of the float ones, results, and tangents of
        the float ones.
        """
        make = (self._values, self._pullback, self._tangents)[which]
        bars = [self.results[k] for k in self.float_results]
        of_floats = [self.inputs[k] for k in self.floats]
        inputs = (self.inputs, [*self.inputs, *bars], [*self.inputs, *of_floats])[which]
        results = (self.results, of_floats, [*self.results, *bars])[which]
        return Handle([make(trace) for trace in self.traces], inputs, results, entries=False)

    def rules(self) -> "Sequence[BodyPrograms]":
        """Return pullback and tangents as functions, if these are not those of the recordings."""
        return ()

    def explained(self, error: BaseException) -> BaseException:
        """Return the exception for a run of this body that has failed."""
        return error

    def _values(self, trace: RecordedFunction) -> Specialization:
        program = trace.program(ProgramSpec(FORWARD))
        sources = [self._source(result, program.given) for result in trace.results]
        return Specialization(program, sources, list(range(program.given)))

    def _pullback(self, trace: RecordedFunction) -> Specialization:
        program = trace.program(ProgramSpec(WHOLE_VJP, tuple(self.floats)))
        # The order of the seeds is that of the outputs that are floats
        seeds = [k for k, j in enumerate(self.float_results) if isinstance(trace.results[j], int)]
        count = len(self.inputs)
        sources = [Source(program.given + k) for k in range(len(self.floats))]
        return Specialization(program, sources, [*range(count), *(count + k for k in seeds)])

    def _tangents(self, trace: RecordedFunction) -> Specialization:
        program = trace.program(ProgramSpec(JVP, tuple(self.floats), values=True))
        outputs = len(trace.output_slots)
        sources = [self._source(result, program.given) for result in trace.results]
        for k in self.float_results:
            result = trace.results[k]
            if isinstance(result, int):
                sources.append(Source(program.given + outputs + result))
            else:
                view = self.results[k]
                sources.append(Source(array=np.zeros(view.shape, view.dtype)))
        return Specialization(program, sources, list(range(program.given)))

    def _source(self, result: Any, first: int) -> Source:
        if isinstance(result, int):
            return Source(first + result)
        if isinstance(result, PassthroughOutput):
            return Source(passed=result.number)
        return Source(array=constant_of(result))


def constant_of(result: ConstantOutput) -> np.ndarray:
    """Return a result that does not depend on the operands as an array of a dtype of the engine."""
    value = result.fixed.data_or_traced() if is_tensor(result.fixed) else np.asarray(result.fixed)
    dtype = {"i": np.int64, "u": np.int64}.get(value.dtype.kind, value.dtype)
    return np.array(value, dtype, order="C")
