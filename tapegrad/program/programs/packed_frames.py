"""The frames of a program as workspaces have them: one behind another, each with the fields that are read of it."""

from itertools import pairwise

import numpy as np

from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.sweep.replays import replay
from tapegrad.program.programs.program import Program
from tapegrad.program.streams.stream import CONTINUED, RANGE_SHIFT, WORKSPACE, InstructionStream

# Fields that lie in a range of made-up addresses, and their offsets in it
Relocations = tuple[np.ndarray, np.ndarray]


class PackedFrames:
    """The frames of both streams of a program.

    Only who executes a row as one call of its kernel leaves alone what this does not read: of all other rows, those
    with outer loops or for several threads, the whole frame is there.

    Parameters
    ----------
    program
        The program. Its frames stay as they are.
    on_threads
        Whether rows may run on several threads.

    Attributes
    ----------
    fields
        The frames.
    """

    def __init__(self, program: Program, on_threads: bool = True) -> None:
        self._on_threads = on_threads
        self._streams = program.forward, program.reverse
        self._one_call = [_is_one_call(stream, on_threads) for stream in self._streams]
        each = zip(self._streams, self._one_call, strict=True)
        widths = np.concatenate([np.where(is_one, stream.fields, field.FIELDS) for stream, is_one in each])
        frames = np.concatenate([stream.frames for stream in self._streams])
        self.fields: np.ndarray = frames[np.arange(field.FIELDS) < widths[:, None]]
        self._first = np.cumsum(widths) - widths  # field of each row's frame

    def relocations(self, bindings: int) -> list[Relocations]:
        """Return the fields that point into the workspace, and those that point into each of the bindings."""
        where = np.flatnonzero(self.fields >= WORKSPACE)
        fields = self.fields[where]
        kinds, offsets = fields >> RANGE_SHIFT, fields & (WORKSPACE - 1)
        own, given = kinds == 1, np.flatnonzero(kinds != 1)
        # Small integers are sorted by counting
        order = given[np.argsort(kinds[given].astype(np.min_scalar_type(bindings + 2)), kind="stable")]
        ends = np.searchsorted(kinds[order], np.arange(2, bindings + 3))
        found = [(where[own], offsets[own])]
        return found + [
            (where[order[low:high]], offsets[order[low:high]]) for low, high in pairwise(ends.tolist())
        ]

    def rows(self, address: int) -> list[np.ndarray]:
        """Return the rows of each stream as the replay reads them: kernel, frame, threshold; frames at an address."""
        firsts = np.split(address + 8 * self._first, [len(self._streams[0])])
        return [
            _rows(stream, first, np.where(is_one, replay.ONE_CALL, stream.thresholds * self._on_threads))
            for stream, first, is_one in zip(self._streams, firsts, self._one_call, strict=True)
        ]


def _is_one_call(stream: InstructionStream, on_threads: bool) -> np.ndarray:
    """Return which rows are executed by a call of their kernel alone."""
    frames, on_one = stream.frames, stream.thresholds * on_threads == 0
    found: np.ndarray = on_one & (frames[:, field.OUTER] == 0) & (frames[:, field.COUNT] >= 0)
    return found


def _rows(stream: InstructionStream, frames: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the rows of a stream whose frames lie at these addresses, with these fields in place of the thresholds."""
    begun = np.flatnonzero(stream.kernels != CONTINUED)
    rows = np.empty((len(begun), replay.STREAM_FIELDS), np.int64)
    rows[:, 0] = stream.kernels[begun]
    rows[:, 1] = frames[begun]
    rows[:, 2] = thresholds[begun]
    return rows
