"""Clock rows: rows between those of a stream that add up the time since the clock row before.

A replay whose streams have them is any other replay otherwise: its seeds, its sweeps that run again, and its threads.
"""

import ctypes

import numpy as np

from tapegrad.engine.kernels.language.inlining import called_by_address
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64
from tapegrad.engine.sweep.replays.replay import ONE_CALL, STREAM_FIELDS
from tapegrad.engine.sweep.threading.synchronization import nanoseconds

# Fields of a clock row's frame.
(
    TIME,  # nanoseconds that were added up
    READS,  # how often the clock was read
    LAST,  # address of the time at which a clock row last read the clock
) = range(3)
_CLOCK_FIELDS = 3


@called_by_address
def read_clock(frame, loops):
    """Add to TIME the nanoseconds since a clock row last read the clock."""
    last, now = load_i64(frame, LAST), nanoseconds()
    store_i64(frame, TIME, load_i64(frame, TIME) + now - load_i64(last, 0))
    store_i64(frame, READS, load_i64(frame, READS) + 1)
    store_i64(last, 0, now)
    return 0


class ClockedStream:
    """Stream with a clock row before and behind each row.

    Parameters
    ----------
    rows
        The rows, (n, STREAM_FIELDS) int64.
    edge
        So many rows at the begin and at the end have no clock rows between them: replays know them by their position.
    kernel
        Address of `read_clock`, compiled.
    last
        Time at which a clock row last read the clock, one int64 for all streams of a replay.

    Attributes
    ----------
    rows
        The rows and the clock rows.
    times, reads
        Nanoseconds that each clock row has added up, and how often it has read the clock.
    """

    def __init__(self, rows: np.ndarray, edge: int, kernel: int, last: np.ndarray) -> None:
        places = np.arange(edge, len(rows) - edge + 1)
        self._frames = np.zeros((len(places), _CLOCK_FIELDS), np.int64)
        self._frames[:, LAST] = last.ctypes.data
        self.times, self.reads = self._frames[:, TIME], self._frames[:, READS]
        clocks = np.empty((len(places), STREAM_FIELDS), np.int64)
        clocks[:, 0] = kernel
        clocks[:, 1] = self._frames.ctypes.data + 8 * _CLOCK_FIELDS * np.arange(len(places))
        clocks[:, 2] = ONE_CALL
        self.rows = np.insert(rows, places, clocks, axis=0)

    def clear(self) -> None:
        """Forget what was measured."""
        self._frames[:, :LAST] = 0


def rows_at(address: int, count: int) -> np.ndarray:
    """Return a copy of the rows of a stream."""
    if count == 0:
        return np.zeros((0, STREAM_FIELDS), np.int64)
    found = (ctypes.c_int64 * (STREAM_FIELDS * count)).from_address(address)
    return np.array(found, np.int64).reshape(count, STREAM_FIELDS)
