"""Profile of a replay: the time of each instruction and segment, by the lines of the user's program."""

import ctypes
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from statistics import median
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.lines.fill import zero_fill
from tapegrad.engine.sweep.replays import replay
from tapegrad.engine.tape.memory import D_PRODUCER
from tapegrad.frontend.tensor.anomaly import Watch
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.frontend.words.frames import program_frame
from tapegrad.program.fusion.shown import PlacedSegment
from tapegrad.program.programs.workspace import Workspace
from tapegrad.program.recording.recording import SourceLine
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.program.streams.stream import CONTINUED, RUN_REVERSE, InstructionStream
from tapegrad.program.traces.listing import Listing, quantity
from tapegrad.program.traces.trace import Trace

_CALL = "call: check and bind the arrays"
_MIN_TIMED_NS = 2e3  # ns of a row that is timed alone; shorter ones are timed in runs
_MAX_RUN_ROWS = 32  # rows whose times are told apart by the prefixes of their run
_ROUNDS, _PREFIX_ROUNDS, _MIN_ROUNDS = 200, 24, 5
_MAX_SECONDS = 1.0
_NO_ARRAYS = ()


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
        Nanoseconds of the plain replay, arrays bound and nothing timed in between.
    clock : float
        Nanoseconds of the clock that were subtracted from each timed part.
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
            names = [str(line) for line in row.lines] or ["(no line)"]
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

    def _head(self) -> tuple[str, ...]:
        return "time", "share", "direction", "row", "instructions", "line"

    def _cells(self, record: ProfiledRow) -> tuple[str, ...]:
        first, *others = dict.fromkeys(map(str, record.lines)) or [""]
        numbers = ", ".join(map(str, record.instructions[:4])) + (", ..." if record.instructions[4:] else "")
        line = f"{first} (and {len(others)} more)" if others else first
        share = f"{100 * record.ns / (self.total or 1.0):.1f} %"
        return quantity(record.ns), share, record.direction, record.name, numbers, line

    def __repr__(self) -> str:
        return "\n\n".join([super().__repr__(), repr(self.by_line), repr(self.by_op)])


def _totals(found: dict[str, float], title: str) -> ProfileTotals:
    records = [ProfiledTotal(*item) for item in sorted(found.items(), key=lambda item: -item[1])]
    made: ProfileTotals = ProfileTotals.of(records, title)
    return made


class Replayed(NamedTuple):
    """A replay that was observed: the trace, its function, the spec, and the arrays for its bindings."""

    trace: Trace
    spec: ProgramSpec
    given: tuple[np.ndarray, ...]


_observed: ContextVar[list[Replayed] | None] = ContextVar("observed replays", default=None)


@contextmanager
def observing() -> Iterator[list[Replayed]]:
    """Observe the replays of a context that Python executes."""
    token = _observed.set(found := [])
    try:
        yield found
    finally:
        _observed.reset(token)


def note_replay(trace: Trace, spec: ProgramSpec, given: tuple[np.ndarray, ...]) -> None:
    """Note a replay, if this context observes them."""
    found = _observed.get()
    if found is not None:
        found.append(Replayed(trace, spec, given))


class _Lines(Watch):
    """Log of the source line of each instruction, for a tape that is recorded once more."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[tuple[int, int], SourceLine] = {}

    def recorded(self, tape: Any, slot: int, name: str) -> None:
        frame = program_frame()
        if frame is not None:
            producer = int(SlotDescription(tape.header, slot)[D_PRODUCER])
            line = SourceLine(frame.f_code.co_filename, frame.f_lineno)
            self.lines.setdefault((id(tape), producer), line)

    def derived(self, tape: Any, slot: int, value: Any, what: str) -> None:
        pass


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
    timed = _TimedReplay(Workspace(program), replayed.given)
    streams = [(timed.forward(), 1), (timed.reverse(), timed.runs)]
    records = [ProfiledRow(_CALL, "", (), (), timed.call)]
    for stream, (times, runs) in zip((program.forward, program.reverse), streams, strict=True):
        labels = _labels(replayed.trace, stream, lines)
        records += [ProfiledRow(*label, runs * ns) for label, ns in zip(labels, times, strict=True)]
    total = sum(each.ns for each in records)
    notes = (
        f"plain replay {quantity(timed.measured)}, sum of the rows {quantity(total)}"
        f" ({100 * total / timed.measured - 100:+.1f} %); {quantity(timed.clock)} of the clock and the call were"
        " subtracted from each timed part",
    )
    found: Profile = Profile.of(records, f"profile of {title}: {replayed.spec.kind}", *notes)
    found.measured, found.clock = timed.measured, timed.clock
    return found


class _TimedReplay:
    """Replay whose rows are timed in the order of execution, by the prefixes of its streams.

    The fields of the workspace say where a stream begins and how many rows it has, so the entry point of replays runs
    any part of it. A row of `_MIN_TIMED_NS` is timed alone. Shorter ones form runs: each is executed in two parts, and
    the differences between the times of its prefixes are those of its rows.
    """

    def __init__(self, workspace: Workspace, given: tuple[np.ndarray, ...]) -> None:
        self._workspace, self._fields = workspace, workspace._fields
        program = workspace.program
        results = [np.empty(view.shape, view.dtype) for view in program.bindings[program.given :]]
        self._arrays = (*given, *results)
        self._entry = getattr(replay, program.entry)
        self._run_all()  # the first call replaces the entry point
        self._entry = getattr(replay, program.entry)
        self._whole = self._fields.copy()
        seeds, chunk = int(self._fields[replay.SEED_COUNT]), int(self._fields[replay.CHUNK])
        # As `run_rows`, `run_chunks` and the others do
        lanes = {"replay_jacobian": 1, "replay_tangents": chunk}.get(program.entry, 0)
        self.runs = -(-seeds // lanes) if lanes else 1
        self.measured, self.call = self._plain()
        # a part of a stream: no port is bound
        self._fields[[replay.INPUTS, replay.BINDING_COUNT]] = 0
        self._part(0, 0)
        self._part(0, 0)
        self.clock = median(self._part(0, 0) for _ in range(1000))
        bare = _clock()
        self.call, self.measured = max(self.call - bare, 0.0), self.measured - bare

    def _run_all(self) -> int:
        begin = perf_counter_ns()
        status = self._entry(self._workspace.address, id(self._arrays))
        end = perf_counter_ns()
        if status != 0:
            raise RuntimeError(f"the replay to be profiled stopped with status {status}")
        return end - begin

    def _plain(self) -> tuple[float, float]:
        """Return the times of the whole replay, and of a replay without rows, the clock's included."""
        rounds = _rounds(self._run_all(), _ROUNDS)
        whole = median(self._run_all() for _ in range(rounds))
        self._fields[[replay.FORWARD_COUNT, replay.REVERSE_COUNT]] = 0
        empty = median(self._run_all() for _ in range(_ROUNDS))
        self._fields[:] = self._whole
        self._run_all()
        return whole, empty

    def _part(self, begin: int, count: int) -> int:
        """Run rows of the stream that is timed; return the nanoseconds, the clock's included."""
        self._fields[replay.FORWARD] = self._stream + 8 * replay.STREAM_FIELDS * begin
        self._fields[replay.FORWARD_COUNT] = count
        start = perf_counter_ns()
        status = replay.replay_forward(self._workspace.address, id(_NO_ARRAYS))
        end = perf_counter_ns()
        if status != 0:
            raise RuntimeError(f"a row of the profiled replay stopped with status {status}")
        return end - start

    _stream = 0

    def forward(self) -> list[float]:
        """Return the times of the rows of the first stream."""
        self._stream, count = int(self._whole[replay.FORWARD]), int(self._whole[replay.FORWARD_COUNT])
        return self._times(count)

    def reverse(self) -> list[float]:
        """Return the times of the rows of the second stream, run once."""
        count = int(self._whole[replay.REVERSE_COUNT])
        self._stream = int(self._whole[replay.FORWARD])
        self._part(0, int(self._whole[replay.FORWARD_COUNT]))
        self._stream = int(self._whole[replay.REVERSE])
        return self._times(count)

    def _begin(self) -> None:
        """Write the seed of one sweep, where the second stream begins with one."""
        address, count = int(self._whole[replay.SEED]), int(self._whole[replay.SEED_COUNT])
        if self._stream == int(self._whole[replay.REVERSE]) and address:
            dtype = self._workspace.program.outputs[0].dtype
            seed = np.zeros(count, dtype)
            seed[:1] = 1
            ctypes.memmove(address, seed.ctypes.data, seed.nbytes)

    def _times(self, count: int) -> list[float]:
        alone = [self._sweep([(k, k + 1) for k in range(count)], None) for _ in range(_MIN_ROUNDS)]
        rough = np.median(np.array(alone, float).reshape(_MIN_ROUNDS, count), 0) - self.clock
        runs = _runs(rough)
        rounds = _rounds(float(rough.clip(0).sum()) + 200 * len(runs), _ROUNDS)
        wholes = np.median(np.array([self._sweep(runs, None) for _ in range(rounds)], float), 0)
        longest = max((stop - start for start, stop in runs), default=0)
        prefixes = {
            length: np.median([self._sweep(runs, length) for _ in range(min(rounds, _PREFIX_ROUNDS))], 0)
            for length in range(1, longest)
        }
        found: list[float] = []
        for k, (start, stop) in enumerate(runs):
            steps = [prefixes[length][k] - self.clock for length in range(1, stop - start)]
            whole = max(float(wholes[k]) - self.clock, 0.0)
            ends = np.minimum(np.maximum.accumulate([0.0, *steps, whole]), whole)
            found += np.diff(ends).tolist()
        return found

    def _sweep(self, runs: list[tuple[int, int]], prefix: int | None) -> list[int]:
        """Run all rows in order; return the time of each run, or of its first rows."""
        self._begin()
        found = []
        for start, stop in runs:
            middle = stop if prefix is None else min(start + prefix, stop)
            found.append(self._part(start, middle - start))
            if middle < stop:
                self._part(middle, stop - middle)
        return found


def _clock() -> float:
    """Return the nanoseconds between two readings of the clock."""
    return median(-(perf_counter_ns() - perf_counter_ns()) for _ in range(1000))


def _rounds(ns: float, most: int) -> int:
    return int(min(most, max(_MIN_ROUNDS, _MAX_SECONDS * 1e9 / 4 / max(ns, 1.0))))


def _runs(rough: np.ndarray) -> list[tuple[int, int]]:
    """Return the first row and the end of each run: a long row, or short ones."""
    found: list[tuple[int, int]] = []
    for k, ns in enumerate(rough.tolist()):
        joins = found and ns < _MIN_TIMED_NS and k - found[-1][0] < _MAX_RUN_ROWS
        if joins and rough[k - 1] < _MIN_TIMED_NS:
            found[-1] = found[-1][0], k + 1
        else:
            found.append((k, k + 1))
    return found


def _labels(
    trace: Trace, stream: InstructionStream, lines: dict[int, SourceLine]
) -> Iterator[tuple[str, str, tuple[int, ...], tuple[SourceLine, ...]]]:
    """Yield name, direction, instructions and lines of each row that a replay executes."""
    segments = iter(stream.segments)
    cleared = kernel_table.address_of(zero_fill)
    for k in np.flatnonzero(stream.kernels != CONTINUED).tolist():
        number, op, direction = (int(column[k]) for column in (stream.number, stream.op, stream.direction))
        segment = next(segments, None) if op < 0 and int(stream.kernels[k]) != cleared else None
        if segment is not None:
            yield _segment_label(trace, segment, lines)
        else:
            numbers = (number,) if number >= 0 else ()
            name = kernel_table.op_name(op) if op >= 0 else _name_without_op(int(stream.kernels[k]), cleared)
            yield name, _direction({direction}), numbers, _lines(numbers, lines)


def _name_without_op(kernel: int, cleared: int) -> str:
    return "clear memory" if kernel == cleared else "seed or copy of a derivative"


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


def _lines(numbers: tuple[int, ...], lines: dict[int, SourceLine]) -> tuple[SourceLine, ...]:
    return tuple(lines[number] for number in numbers if number in lines)
