"""Profile of a replay: the time of each instruction and segment, by the lines of the user's program."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.codegen.store import openblas
from tapegrad.engine.inspection.svg import Picture
from tapegrad.engine.kernels.lines.fill import zero_fill
from tapegrad.engine.runtime.short_times import quantity
from tapegrad.ops import GUARDS
from tapegrad.program.fusion.shown import PlacedSegment
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.recording.signature import Arguments
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.program.streams.stream import CONTINUED, RUN_REVERSE, InstructionStream
from tapegrad.program.traces.bars import bars, dearest
from tapegrad.program.traces.listing import Listing
from tapegrad.program.traces.source_lines import SourceLines
from tapegrad.program.traces.timed_replay import ReplayTimes, time_replay
from tapegrad.program.traces.trace import Trace

_REST = "call, seeds and results"
_MIN_REST = 0.1  # of a call, from which its time beside the replay is told
_MIN_DELAY = 3.0  # of slow replays, by the fastest ones, from which they are told of
_UNRELIABLE = "unreliable: other processes or a compiling thread use the processors; repeat it"
_GUARD_NAMES = frozenset(kernel_table.op_name(code) for code in GUARDS)


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
    call, compared : float
        Nanoseconds of a call: the replay, the comparisons of captured state, arguments and results; and those of the
        comparisons alone.
    without_lines : str
        Why the source lines are not known; empty where they are.
    """

    measured: float
    clock: float
    call: float
    compared: float
    without_lines: str

    @property
    def total(self) -> float:
        """Sum of the rows in nanoseconds."""
        return sum(row.ns for row in self)

    @property
    def by_line(self) -> ProfileTotals:
        """Times by source line; a segment's is shared evenly by its instructions. Empty where no lines are known."""
        if self.without_lines:
            return _totals({}, f"no times by line: {self.without_lines}")
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
        """Return the dearest rows, guards that follow each other as one."""
        rows = _with_joined_guards(self)
        return dearest(rows, [row.ns for row in rows], self.most_shown)

    def _below(self) -> list[str]:
        shown = self._shown()
        left = len(_with_joined_guards(self)) - len(shown)
        others = quantity(self.total - sum(row.ns for row in shown))
        return [*([f"... and {left:,} shorter rows, {others} together"] if left else []), *self.notes]

    def __repr__(self) -> str:
        return "\n\n".join([super().__repr__(), repr(self.by_line), repr(self.by_op)])

    def _repr_html_(self) -> str:
        parts = super()._repr_html_(), self.by_line._repr_html_(), self.by_op._repr_html_()
        return "<br/>".join([str(self.plot()), *parts])


def _with_joined_guards(rows: Iterable[ProfiledRow]) -> list[ProfiledRow]:
    found: list[ProfiledRow] = []
    for is_guard, group in groupby(rows, key=lambda row: row.name in _GUARD_NAMES):
        joined = list(group)
        if is_guard and len(joined) > 1:
            joined = [_joined(joined)]
        found += joined
    return found


def _joined(guards: list[ProfiledRow]) -> ProfiledRow:
    numbers = tuple(number for row in guards for number in row.instructions)
    lines = tuple(line for row in guards for line in row.lines)
    name, total = f"guards ({len(guards)})", sum(row.ns for row in guards)
    return ProfiledRow(name, guards[0].direction, numbers, lines, total)


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


class CallTimes(NamedTuple):
    """Nanoseconds of a call, those of the comparisons of captured state in it, and what makes the rest long."""

    call: float
    compared: float
    hint: str = ""


def profiled(
    title: str, replayed: Replayed, lines: SourceLines, times_of_call: CallTimes, *notes: str
) -> Profile:
    """Measure a replay on a workspace of its own.

    Parameters
    ----------
    title
        The function that is called.
    replayed, lines
        The replay, and the source lines of its instructions.
    times_of_call, notes
        The times around the replay, and further lines below the table.
    """
    trace, spec = replayed.trace, replayed.spec
    program = trace.program(spec)
    times = time_replay(program, replayed.given)
    records = [ProfiledRow(_REST, "", (), (), times.rest)]
    for stream, own in zip((program.forward, program.reverse), times.rows, strict=True):
        timed = zip(labels(trace, stream, lines.lines), own.tolist(), strict=True)
        records += [ProfiledRow(*label, ns) for label, ns in timed if not math.isnan(ns)]
    state, reason = ("fused", "") if program.fused else trace.why_unfused(spec)
    notes = (
        _accuracy(times),
        *(delays := _delays(times)),
        _around(times_of_call, times.measured, bool(delays)),
        *([f"{state}: {reason}"] * bool(reason)),
        *notes,
    )
    found: Profile = Profile.of(records, f"profile of {title}: {spec.kind}, {state}", *notes)
    found.measured, found.clock, found.without_lines = times.measured, times.clock, lines.unknown
    found.call, found.compared, _ = times_of_call
    return found


def _accuracy(times: ReplayTimes) -> str:
    """Compare the sum of the rows with the plain replay."""
    whole = f"plain replay {quantity(times.measured)}, sum of the rows {quantity(times.total)}"
    clock = f"{quantity(times.clock)} were subtracted for each reading of the clock"
    fitted = " (fitted to the plain replay: rows are as short)" if times.fitted and times.reliable else ""
    note = f"{whole} ({round(100 * times.deviation, 1) + 0.0:+.1f} %); {clock}{fitted}"
    return note if times.reliable else f"{note}; {_UNRELIABLE}"


def _delays(times: ReplayTimes) -> list[str]:
    """Say that many replays take longer than the fastest ones, which the rows are of."""
    if times.slow < _MIN_DELAY * times.measured:
        return []
    delay = f"a fifth of the replays took {quantity(times.slow)} or more, while other processes had the processors"
    if openblas.threads() > 1:  # BLAS itself has one
        return [delay]
    return [
        f"{delay}; threads of BLAS wait for each other then: OPENBLAS_NUM_THREADS=1, set before the start, avoids that"
    ]


def _around(times: CallTimes, replay: float, delayed: bool = False) -> str:
    """Say what a call takes beside the replay, if that is more than two measurements differ by."""
    rest = times.call - times.compared - replay
    hint = times.hint and f"; {times.hint}"
    compared = f"a call takes {quantity(times.call)}: {quantity(times.compared)} for comparing what the function sees"
    if rest < _MIN_REST * times.call:
        return f"{compared}; nearly all else is the replay"
    if delayed:
        return f"{compared}; the rest cannot be told from the delays{hint}"
    return f"{compared}, {quantity(rest)} for arguments and results{hint}"


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
    numbers = tuple(dict.fromkeys(number for number in placed.instructions if number >= 0))
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
