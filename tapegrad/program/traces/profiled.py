"""Profile of a replay: the time of each instruction and segment, by the lines of the user's program."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.kernels.lines.fill import zero_fill
from tapegrad.engine.tape.memory import D_PRODUCER
from tapegrad.frontend.tensor.anomaly import Watch
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.frontend.words.frames import program_frame
from tapegrad.program.fusion.shown import PlacedSegment
from tapegrad.program.recording.recording import SourceLine
from tapegrad.program.recording.signature import Arguments
from tapegrad.program.recording.svg import Picture
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.program.streams.stream import CONTINUED, RUN_REVERSE, InstructionStream
from tapegrad.program.traces.bars import bars, dearest
from tapegrad.program.traces.listing import Listing, quantity
from tapegrad.program.traces.timed_replay import time_replay
from tapegrad.program.traces.trace import Trace

_REST = "call, seeds and results"


class ProfiledRow(NamedTuple):
    """Row of a profile: an instruction or a segment of a replay.

    Attributes
    ----------
    name : str
        Op, or ``segment`` with its ops.
    direction : str
        ``forward``, ``reverse``, or both of a segment; empty for the call itself.
    instructions : tuple of int
        Numbers of the instructions of the tape; empty for a row that clears memory, and for the call itself.
    lines : tuple of SourceLine
        Lines of the user's program that recorded them.
    ns : float
        Nanoseconds in one replay.
    """

    name: str
    direction: str
    instructions: tuple[int, ...]
    lines: tuple[SourceLine, ...]
    ns: float

    @property
    def source(self) -> str:
        """The first of its lines as text, and how many others there are."""
        first, *others = dict.fromkeys(map(short, self.lines)) or [""]
        return f"{first} (and {len(others)} more)" if others else first

    @property
    def label(self) -> str:
        """Its name, and the first of its instructions."""
        return f"{self.name} {self.instructions[0]}" if self.instructions else self.name


class ProfiledTotal(NamedTuple):
    """Total of a profile by line or by op: its name and the nanoseconds in one replay."""

    name: str
    ns: float


class ProfileTotals(Listing[ProfiledTotal]):
    """Totals of a profile by line or by op, the largest first."""

    def _head(self) -> tuple[str, ...]:
        return "time", "share", "of"

    def _cells(self, record: ProfiledTotal) -> tuple[str, ...]:
        whole = sum(each.ns for each in self) or 1.0
        return quantity(record.ns), f"{100 * record.ns / whole:.1f} %", record.name


class Profile(Listing[ProfiledRow]):
    """Profile of a replay, in the order of execution.

    Attributes
    ----------
    measured : float
        Nanoseconds of the plain replay, with nothing timed in between.
    clock : float
        Nanoseconds that were subtracted for each reading of the clock.
    """

    measured: float
    clock: float

    @property
    def total(self) -> float:
        """Sum of the rows in nanoseconds."""
        return sum(row.ns for row in self)

    @property
    def by_line(self) -> ProfileTotals:
        """Times by source line. A segment's time is shared evenly by its instructions."""
        found: defaultdict[str, float] = defaultdict(float)
        for row in self:
            names = [short(line) for line in row.lines] or [f"({row.name})"]
            for name in names:
                found[name] += row.ns / len(names)
        return _totals(found, "time by line")

    @property
    def by_op(self) -> ProfileTotals:
        """Times by op; a segment counts as a whole."""
        found: defaultdict[str, float] = defaultdict(float)
        for row in self:
            found[row.name] += row.ns
        return _totals(found, "time by op")

    def plot(self) -> Picture:
        """Draw the rows as bars, and the whole replay as a strip in the order of execution.

        Returns
        -------
        Picture
            SVG: a notebook shows it, ``save(path)`` writes it. Of more than 40 rows, the dearest have bars.
        """
        return bars([(row.ns, row.direction, row.label, row.source) for row in self], self.title, self.notes)

    def _head(self) -> tuple[str, ...]:
        return "time", "share", "direction", "row", "instructions", "line"

    def _cells(self, record: ProfiledRow) -> tuple[str, ...]:
        numbers = ", ".join(map(str, record.instructions[:4])) + (", ..." if record.instructions[4:] else "")
        share = f"{100 * record.ns / (self.total or 1.0):.1f} %"
        return quantity(record.ns), share, record.direction, record.name, numbers, record.source

    def _shown(self) -> list[ProfiledRow]:
        return dearest(self, [row.ns for row in self], self.most_shown)

    def __repr__(self) -> str:
        return "\n\n".join([super().__repr__(), repr(self.by_line), repr(self.by_op)])

    def _repr_html_(self) -> str:
        parts = super()._repr_html_(), self.by_line._repr_html_(), self.by_op._repr_html_()
        return "<br/>".join([str(self.plot()), *parts])


def _totals(found: dict[str, float], title: str) -> ProfileTotals:
    records = [ProfiledTotal(*item) for item in sorted(found.items(), key=lambda item: -item[1])]
    made: ProfileTotals = ProfileTotals.of(records, title)
    return made


class Replayed(NamedTuple):
    """Replay that was observed: its trace, the spec of its program, the arguments, and the arrays for its bindings."""

    trace: Trace
    spec: ProgramSpec
    arguments: Arguments
    given: tuple[np.ndarray, ...]


_observed: ContextVar[list[Replayed] | None] = ContextVar("observed replays", default=None)


@contextmanager
def observing() -> Iterator[list[Replayed]]:
    """Observe the replays of a context that Python executes."""
    found: list[Replayed] = []
    token = _observed.set(found)
    try:
        yield found
    finally:
        _observed.reset(token)


def note_replay(trace: Trace, spec: ProgramSpec, arguments: Arguments, given: tuple[np.ndarray, ...]) -> None:
    """Note a replay, if this context observes them."""
    found = _observed.get()
    if found is not None:
        found.append(Replayed(trace, spec, arguments, given))


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
            self.lines.setdefault(_instruction(tape, slot), line)

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
def lines_of(trace: Trace, record: Callable[[], Trace]) -> dict[int, SourceLine]:
    """Record a function again and return the line of each instruction; none if another tape comes of it."""
    log = _Lines()
    thread.mode = thread.mode.but(anomaly=log)
    again = record()
    ops = trace.recording.column("op")
    if not np.array_equal(ops, again.recording.column("op")):
        return {}
    return {number: line for (tape, number), line in log.lines.items() if tape == id(again.recording)}


def profiled(title: str, replayed: Replayed, lines: dict[int, SourceLine]) -> Profile:
    """Measure a replay on a workspace of its own."""
    program = replayed.trace.program(replayed.spec)
    times = time_replay(program, replayed.given)
    records = [ProfiledRow(_REST, "", (), (), times.rest)]
    for stream, own in zip((program.forward, program.reverse), times.rows, strict=True):
        timed = zip(labels(replayed.trace, stream, lines), own.tolist(), strict=True)
        records += [ProfiledRow(*label, ns) for label, ns in timed if not math.isnan(ns)]
    total = sum(each.ns for each in records)
    whole = f"plain replay {quantity(times.measured)}, sum of the rows {quantity(total)}"
    clock = f"{quantity(times.clock)} were subtracted for each reading of the clock"
    clock += " (fitted to the plain replay: rows are as short)" if times.fitted else ""
    note = f"{whole} ({100 * total / times.measured - 100:+.1f} %); {clock}"
    found: Profile = Profile.of(records, f"profile of {title}: {replayed.spec.kind}", note)
    found.measured, found.clock = times.measured, times.clock
    return found


def labels(
    trace: Trace, stream: InstructionStream, lines: dict[int, SourceLine]
) -> Iterator[tuple[str, str, tuple[int, ...], tuple[SourceLine, ...]]]:
    """Yield name, direction, instructions and lines of each row that a replay executes."""
    segments = list(reversed(stream.segments))
    for k in np.flatnonzero(stream.kernels != CONTINUED).tolist():
        number, op, direction = (int(column[k]) for column in (stream.number, stream.op, stream.direction))
        kernel = int(stream.kernels[k])
        if segments and op < 0 and kernel == emitter.address_of_segment(segments[-1].bound.segment):
            yield _segment_label(trace, segments.pop(), lines)
            continue
        numbers = (number,) if number >= 0 else ()
        name = kernel_table.op_name(op) if op >= 0 else _name_without_op(kernel)
        yield name, _direction({direction}) if op >= 0 else "", numbers, _lines(numbers, lines)


def _name_without_op(kernel: int) -> str:
    return "clear memory" if kernel == kernel_table.address_of(zero_fill) else "seed or copy of a derivative"


def _segment_label(
    trace: Trace, placed: PlacedSegment, lines: dict[int, SourceLine]
) -> tuple[str, str, tuple[int, ...], tuple[SourceLine, ...]]:
    numbers = tuple(number for number in placed.instructions if number >= 0)
    ops = trace.recording.column("op")
    names = list(dict.fromkeys(kernel_table.op_name(int(ops[number])) for number in numbers))
    name = f"segment: {', '.join(names[:4])}{', ...' if names[4:] else ''}"
    return name, _direction(set(placed.directions)), numbers, _lines(numbers, lines)


def _direction(directions: set[int]) -> str:
    names = kernel_table.DIRECTIONS
    return (
        "forward and reverse"
        if len(directions) > 1
        else ("reverse" if RUN_REVERSE in directions else str(names[min(directions)]))
    )


def short(line: SourceLine) -> str:
    """Return a line as text, with the name of its file alone."""
    return str(line).replace(line.file, Path(line.file).name, 1)


def _lines(numbers: tuple[int, ...], lines: dict[int, SourceLine]) -> tuple[SourceLine, ...]:
    return tuple(lines[number] for number in numbers if number in lines)
