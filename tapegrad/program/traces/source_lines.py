"""Source lines of the instructions of a recording: found by recording the function once more."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.tape.memory import D_BUFFER, D_PRODUCER
from tapegrad.frontend.tensor.anomaly import Watch
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.frontend.words.frames import program_frame
from tapegrad.ops import GUARDS
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.recording.recording import Origins
from tapegrad.program.traces.trace import Trace

_NO_FRAME = "no line of the program recorded them"


class SourceLines(NamedTuple):
    """Source lines of the instructions of a recording.

    Attributes
    ----------
    lines
        By the number of the instruction. Guards on captured arrays have the array in place of a line.
    unknown
        Why there are none; empty where there are.
    """

    lines: dict[int, SourceLine]
    unknown: str = ""


class _Lines(Watch):
    """Log of the source line of each instruction, for a tape that is recorded once more.

    The instructions of a derivative have the line of the instruction that is differentiated.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[tuple[int, int], SourceLine] = {}
        self._differentiated: dict[str, SourceLine] = {}
        self._caller = program_frame()  # which is not within the recorded function

    def recorded(self, tape: Any, slot: int, name: str) -> None:
        line = self._differentiated.get(self.deriving or "")
        frame = program_frame() if line is None else None
        if frame is not None and frame is not self._caller:
            line = SourceLine(frame.f_code.co_filename, frame.f_lineno)
        if line is not None:
            self._note(tape, slot, line)

    def _note(self, tape: Any, slot: int, line: SourceLine) -> None:
        """Note the line of the instruction that wrote a slot, and of those before it that wrote parts of its buffer.

        Instructions that copy the elements of a list into one buffer are announced together.
        """
        number, buffer = _instruction(tape, slot)[1], SlotDescription(tape.header, slot)[D_BUFFER]
        self.lines.setdefault((id(tape), number), line)
        while (
            tape.recording and number > 0 and tape.entry("buffer", tape.entry("result", number - 1)) == buffer
        ):
            number -= 1
            if self.lines.setdefault((id(tape), number), line) is not line:
                break

    def _of(self, tape: Any, slot: int) -> tuple[str, str]:
        line = self.lines.get(_instruction(tape, slot))
        if line is not None:
            self._differentiated[str(line)] = line
        return "", str(line)

    def derived(self, tape: Any, slot: int, value: Any, what: str) -> None:
        pass


def _instruction(tape: Any, slot: int) -> tuple[int, int]:
    return id(tape), int(SlotDescription(tape.header, slot)[D_PRODUCER])


@restoring
def lines_of(trace: Trace, record: Callable[[], Trace]) -> SourceLines:
    """Record a function again and return the line of each instruction, or why the lines are not known.

    The guards on captured arrays are no instructions of the run: they are appended to a recording after it.
    """
    log = _Lines()
    thread.mode = thread.mode.but(anomaly=log)
    try:
        again = record()
    except Exception as error:  # whatever a function with a state of its own raises the second time
        return SourceLines({}, f"the function raised {type(error).__name__} when it was run again")
    origins, run = trace.recording.origins, trace.run_length
    ops = again.recording.column("op")
    if origins is None:
        same = len(ops) == run and np.array_equal(trace.recording.column("op")[:run], ops)
        origins = Origins(list(range(run)), 0, b"")
    else:
        same = again.recording.ops_checksum == origins.ops
    if not same:
        return SourceLines({}, "the function recorded other instructions when it was run again")
    known = {number: line for (tape, number), line in log.lines.items() if tape == id(again.recording)}
    if not known:
        return SourceLines({}, _NO_FRAME)
    found = {number: known[origin] for number, origin in enumerate(origins.numbers) if origin in known}
    return SourceLines(found | _lines_of_guards(trace))


def _lines_of_guards(trace: Trace) -> dict[int, SourceLine]:
    guards = np.flatnonzero(np.isin(trace.recording.column("op"), list(GUARDS)))
    return dict(zip(guards.tolist(), trace.recording.guard_lines, strict=True))
