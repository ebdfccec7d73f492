"""Certificate of a replay: the checks of its program as a table, and the error where one of them fails."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import read_tape
from tapegrad.errors import CertificateError
from tapegrad.program.certificates.checks import CertifiedProgram, ProgramCheck, checks_of
from tapegrad.program.certificates.executions import StoppedError
from tapegrad.program.certificates.products import PlainPrograms
from tapegrad.program.certificates.wrong_parts import first_wrong, right_settings
from tapegrad.program.passes.op_facts import CALLS
from tapegrad.program.programs.kinds import make_program
from tapegrad.program.programs.program import Program
from tapegrad.program.recording.recording import RecordedTape
from tapegrad.program.streams.spec import NEVER, ProgramSpec
from tapegrad.program.traces.listing import Listing
from tapegrad.program.traces.source_lines import SourceLines
from tapegrad.program.traces.trace import Trace, optimized

_REPORT = "this is a fault of tapegrad: please report it with the function and its arguments"


class Certificate(Listing[ProgramCheck]):
    """Certificate of a replay: its checks, in the order in which they were made."""

    def _head(self) -> tuple[str, ...]:
        return "check", "of", "difference", "bound", "note"

    def _cells(self, record: ProgramCheck) -> tuple[str, ...]:
        return record.name, record.of, f"{record.difference:.1e}", f"{record.bound:.1e}", record.note


class CertifiedReplay:
    """A replay that is certified.

    Parameters
    ----------
    title
        The function that is called.
    trace, spec
        The recording, and the spec of its program.
    inputs
        The inputs of a replay.
    plain
        Returns the recording without loops in place of what repeats.
    lines
        Finds the source lines of the instructions.

    Attributes
    ----------
    latest
        The certificate that was made last.
    """

    def __init__(
        self,
        title: str,
        trace: Trace,
        spec: ProgramSpec,
        inputs: Sequence[np.ndarray],
        plain: Callable[[], RecordedTape],
        lines: Callable[[], SourceLines],
    ) -> None:
        self._title, self._trace, self._spec = title, trace, spec
        self._inputs = [array.copy() for array in inputs]
        self._recording, self._lines = plain(), lines

    def certificate(self, program: Program | None = None) -> Certificate:
        """Check the program, or another one of the same recording and spec.

        Raises
        ------
        CertificateError
            If a check fails. The message names the instruction, its source line, and the settings that are right.
        """
        program = program or self._trace.program(self._spec)
        subject = CertifiedProgram(program, PlainPrograms(self._recording, self._spec.wrt), self._inputs)
        try:
            checks = checks_of(subject)
        except StoppedError as error:
            checks = [ProgramCheck("none", program.spec.kind, 0.0, 0.0, True, f"the program stops {error}")]
        wrong = next((check for check in checks if not check.holds), None)
        if wrong is not None:
            raise CertificateError(self._message(subject, wrong))
        state = "fused" if program.fused else "not fused"
        title = f"certificate of {self._title}: {program.spec.kind}, {state}"
        made: Certificate = Certificate.of(checks, title)
        self.latest = made
        return made

    def _message(self, subject: CertifiedProgram, wrong: ProgramCheck) -> str:
        """Say what is wrong, where, and what to write instead."""
        found = (
            f"{self._title}: {wrong.of} fails the check {wrong.name!r}, {wrong.note}: they differ by"
            f" {wrong.difference:.1e} (at most {wrong.bound:.1e})"
        )
        number = first_wrong(subject)
        op = int(subject.program.tape.columns.op[number]) if number >= 0 else -1
        if op in CALLS:
            return f"{found}; the vjp and the jvp of a custom op disagree{self._recorded_at(number)}: mend one of them"
        place = "each instruction by itself is right"
        if number >= 0:
            name = kernel_table.op_name(op)
            place = f"the first wrong instruction is {number}, {name}{self._recorded_at(number)}"
        settings = right_settings(subject, self._unrolled(subject))
        way = f"tg.jit(f, {settings})" if settings else "the function without jit"
        return f"{found}; {place}; {_REPORT}, and call {way} meanwhile{'' if settings else ', which may be right'}"

    def _recorded_at(self, number: int) -> str:
        line = self._lines().lines.get(number)
        return f", recorded at {line}" if line else ""

    def _unrolled(self, subject: CertifiedProgram) -> CertifiedProgram | None:
        """Return the program of the recording without loops; `None` if it is the one that was certified."""
        if self._recording is self._trace.recording:
            return None
        program = make_program(self._recording, optimized(read_tape(self._recording)), self._spec, NEVER)
        return replace(subject, program=program)
