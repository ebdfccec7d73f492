"""Times of the rows of a replay, measured while it runs as any other replay does."""

from collections.abc import Sequence
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.sweep.replays import replay
from tapegrad.engine.sweep.replays.clock_rows import ClockedStream, read_clock, rows_at
from tapegrad.program.programs.program import Program
from tapegrad.program.programs.workspace import Workspace

_MAX_SECONDS, _MIN_ROUNDS, _MAX_ROUNDS = 1.0, 8, 1000
_CLOCK_ROUNDS, _CLOCK_DOUBLINGS = 100, 7
_MAX_CLOCK_SHARE = (
    0.1  # of the plain replay, up to which the clock's time is taken as that of clock rows alone
)
_MAX_EXCESS = (
    1.5  # of a clock row between others, whose code and memory are not as near, over one beside its like
)
_FASTEST = 10  # percent of the replays that count
_SLOW = 80  # percent of the replays that are not slow
_MAX_DEVIATION = 0.1  # of the sum of the rows from the plain replay, up to which both are reliable
_MAX_ATTEMPTS = 3


class ReplayTimes(NamedTuple):
    """Times of a replay in nanoseconds.

    Attributes
    ----------
    measured
        The replay without clock rows.
    clock
        One reading of the clock, which was subtracted from each time.
    fitted
        Whether the clock's time is the difference between replays with and without clock rows: where rows are so short
        that a reading takes as long.
    rows
        Of each stream the times of its rows, summed over its runs; NaN for those that cannot be told apart.
    rest
        The other time of the replay: the call, seeds, results, and the rows that cannot be told apart.
    slow
        What a fifth of the replays without clock rows take, or more.
    """

    measured: float
    clock: float
    fitted: bool
    rows: list[np.ndarray]
    rest: float
    slow: float = 0.0

    @property
    def total(self) -> float:
        """Sum of the rows and the rest."""
        return self.rest + float(sum(np.nansum(rows) for rows in self.rows))

    @property
    def deviation(self) -> float:
        """Relative difference of the sum from the replay without clock rows."""
        return float(self.total / self.measured) - 1.0

    @property
    def reliable(self) -> bool:
        """True if the sum agrees with the replay without clock rows."""
        return abs(self.deviation) <= _MAX_DEVIATION


def time_replay(program: Program, given: Sequence[np.ndarray]) -> ReplayTimes:
    """Measure a program on a workspace of its own, with these arrays for the bindings that a caller gives.

    Where something else took the processors, so that the rows do not add up, all is measured again.
    """
    timed = _TimedReplay(program, given)
    best = _measure(timed)
    for _ in range(_MAX_ATTEMPTS - 1):
        if best.reliable:
            break
        best = min(best, _measure(timed), key=lambda times: abs(times.deviation))
    return best


def _measure(timed: "_TimedReplay") -> ReplayTimes:
    """Let replays with and without clock rows alternate, and take the mean of the fastest tenth of each."""
    alone = timed.clock_alone()
    longest = timed.run(timed.plain) + timed.run(timed.clocked)
    rounds = int(np.clip(_MAX_SECONDS * 1e9 / (2 * longest), _MIN_ROUNDS, _MAX_ROUNDS))
    plain, clocked, parts = [], [], []
    for _ in range(rounds):
        plain.append(timed.run(timed.plain))
        clocked.append(timed.run(timed.clocked))
        parts.append(timed.parts())
    measured, whole = _mean_of_fastest(plain, plain), _mean_of_fastest(clocked, clocked)
    reads, clock = int(timed.reads.sum()), alone
    # The processor hides a part of the clock's time behind short rows: of 30 ns, 8 ns between rows of 10 ns
    fitted = bool(alone * reads > _MAX_CLOCK_SHARE * measured)
    if fitted:
        clock = float(np.clip((whole - measured) / reads, 0.0, _MAX_EXCESS * alone))
    bare = float(np.median([-(perf_counter_ns() - perf_counter_ns()) for _ in range(_CLOCK_ROUNDS)]))
    times = _mean_of_fastest(parts, clocked) - clock * timed.reads
    rows, rest = timed.separated(times, float(whole) - clock * reads - bare)
    slow = float(np.percentile(plain, _SLOW))
    return ReplayTimes(float(measured) - bare, clock, fitted, rows, rest, slow)


class _TimedReplay:
    """Replay on a workspace whose fields lead to its own streams, or to those with clock rows.

    Attributes
    ----------
    plain, clocked
        The fields for the one and for the other.
    """

    def __init__(self, program: Program, given: Sequence[np.ndarray]) -> None:
        results = [np.empty(view.shape, view.dtype) for view in program.bindings[program.given :]]
        self._arrays = (*given, *results)
        self._entry, self._workspace = program.entry, Workspace(program)
        self._fields = self._workspace._fields
        self._kernel, self._last = kernel_table.address_of(read_clock), np.zeros(1, np.int64)
        self.plain = self._fields.copy()
        self.clocked = self.plain.copy()
        # The first seed of a chunk is written to these rows
        self._edge = int(self.plain[replay.WRT]) if self.plain[replay.CHUNK] else 0
        self._streams = [self._clock(replay.FORWARD, 0), self._clock(replay.REVERSE, self._edge)]

    def _clock(self, field: int, edge: int) -> ClockedStream:
        """Add clock rows to the stream at a field."""
        rows = rows_at(*self.plain[field : field + 2].tolist())
        stream = ClockedStream(rows, edge, self._kernel, self._last)
        if len(rows):
            self.clocked[field : field + 2] = stream.rows.ctypes.data, len(stream.rows)
        return stream

    def run(self, fields: np.ndarray, entry: str = "") -> int:
        """Run the replay twice with these fields. Return the nanoseconds of the second time."""
        self._fields[:] = fields
        self._run(entry or self._entry)
        for stream in self._streams:
            stream.clear()
        self._last[0] = perf_counter_ns()
        return self._run(entry or self._entry)

    def _run(self, entry: str) -> int:
        run = getattr(replay, entry)  # looked up: the first call replaces it
        begin = perf_counter_ns()
        status = run(self._workspace.address, id(self._arrays))
        end = perf_counter_ns()
        if status != 0:
            raise RuntimeError(f"the replay to be profiled stopped with status {status}")
        return end - begin

    def clock_alone(self) -> float:
        """Return the nanoseconds of a clock row among others."""
        streams = [ClockedStream(rows_at(0, 0), 0, self._kernel, self._last)]
        for _ in range(_CLOCK_DOUBLINGS):
            streams.append(ClockedStream(streams[-1].rows, 0, self._kernel, self._last))
        fields = self.plain.copy()
        fields[replay.FORWARD], fields[replay.FORWARD_COUNT] = (
            streams[-1].rows.ctypes.data,
            len(streams[-1].rows),
        )
        found = []
        for _ in range(_CLOCK_ROUNDS):
            self.run(fields, "replay_values")
            times, reads = streams[-1].times[1:], streams[-1].reads[1:]
            found.append(times.sum() / reads.sum())
            streams[-1].clear()
        return float(np.median(found))

    @property
    def reads(self) -> np.ndarray:
        """Number of times that each clock row read the clock in the last replay."""
        return np.concatenate([stream.reads for stream in self._streams])

    def parts(self) -> np.ndarray:
        """Return the nanoseconds that each clock row added up in the last replay."""
        return np.concatenate([stream.times for stream in self._streams])

    def separated(self, times: np.ndarray, whole: float) -> tuple[list[np.ndarray], float]:
        """Split the times of all clock rows into those of rows, and the rest of the replay."""
        found, rest = [], whole
        for own in np.split(times, [len(self._streams[0].times)]):
            rows = own[1:].clip(0.0)
            rest -= rows.sum()
            found.append(rows)
        found[1] = np.pad(found[1], self._edge, constant_values=np.nan)
        return found, rest


def _mean_of_fastest(values: Sequence[int] | Sequence[np.ndarray], times: Sequence[int]) -> np.ndarray:
    """Return the mean of the values of the fastest replays."""
    chosen = np.asarray(times) <= np.percentile(times, _FASTEST)
    mean: np.ndarray = np.asarray(values, float)[chosen].mean(0)
    return mean
