"""How streams were fused, on disk: the pass and the compiler have run once for programs that look alike.

Programs look alike where their rows are of the same ops and their frames the same, but for what lies outside of the
program: arrays are named by the order in which they are met. As with the other files of the cache folder, what cannot
be read is made anew, and what cannot be written is done without.
"""

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tapegrad.engine.emitter import objects
from tapegrad.engine.emitter.target import host
from tapegrad.engine.kernels import frame as word
from tapegrad.engine.kernels.segment_frame import COUNTS, word_of
from tapegrad.engine.runtime import cache, cache_files
from tapegrad.engine.runtime.pace import giving_way
from tapegrad.program.fusion.nests import further_tangents, loops_of
from tapegrad.program.fusion.segments import Bound
from tapegrad.program.stream import MADE_UP, InstructionStream

Units = list[int | Bound]


class Recipe(NamedTuple):
    """How the streams of a program were fused.

    Attributes
    ----------
    units
        The rows and segments of each.
    added
        The bytes of each block of the workspace that segments need beside those of the rows.
    """

    units: list[Units]
    added: list[int]


_PASSES = (
    "rows",
    "nests",
    "columns",
    "extremes",
    "accesses",
    "dependences",
    "grouping",
    "recomputed",
    "repeats",
    "segments",
    "spaces",
    "groups_to_segments",
    "recipes",
)


@functools.cache
def _sources() -> bytes:
    """What the passes and the emitter are, in short."""
    folder = Path(__file__).parent
    state = hashlib.sha256(objects.digest(host()).encode())
    for name in _PASSES:
        state.update((folder / f"{name}.py").read_bytes())
    return state.digest()


class Outside:
    """The arrays outside of a program that its rows read, by their order.

    Parameters
    ----------
    streams
        The streams of the program.
    """

    def __init__(self, streams: Sequence[InstructionStream]) -> None:
        self._frames = np.concatenate([stream.frames for stream in streams])
        self._streams = streams
        named = self._frames[:, word.X : word.Y_BAR + 1]
        further = [address for stream in streams for address in further_tangents(stream)]
        self._operands = np.concatenate([named.reshape(-1), np.array(further, np.int64)])
        self._given = (self._operands > 0) & (self._operands < MADE_UP)
        self.addresses, first, self._numbers = np.unique(
            self._operands[self._given], return_index=True, return_inverse=True
        )
        order = np.argsort(first)
        self.addresses = self.addresses[order]
        self._numbers = np.argsort(order)[self._numbers]

    def key(self, others: Sequence[int]) -> str:
        """Name of the program's recipe; `others` is what else decides how it is fused."""
        frames, operands = self._frames.copy(), self._operands.copy()
        operands[self._given] = -1 - self._numbers
        frames[:, word.X : word.Y_BAR + 1] = 0
        frames[:, word.OUTER] = frames[:, word.OUTER] != 0
        frames[:, word.PARAMS] = frames[:, word.PARAMS] != 0
        state = hashlib.sha256(_sources())
        state.update(frames.tobytes())
        state.update(operands.tobytes())
        state.update(
            np.array([words for each in self._streams for words in loops_of(each)], np.int64).tobytes()
        )
        for stream in self._streams:
            clears = (stream.op < 0) & (stream.kernels != 0)
            for column in (stream.op, stream.variant, stream.direction, clears):
                state.update(column.astype(np.int64).tobytes())
            state.update(len(stream).to_bytes(8, "little"))
        state.update(np.array(others, np.int64).tobytes())
        return f"program.{state.hexdigest()[:32]}"

    def numbered(self, units: Units) -> Units:
        """Units with the numbers of outside arrays in place of their addresses."""
        number_of = {address: number for number, address in enumerate(self.addresses.tolist())}
        return [unit if isinstance(unit, int) else _exchanged(unit, number_of) for unit in giving_way(units)]

    def addressed(self, units: Units) -> Units:
        """The same backwards."""
        address_of = dict(enumerate(self.addresses.tolist()))
        return [unit if isinstance(unit, int) else _exchanged(unit, address_of) for unit in units]


def _exchanged(bound: Bound, other: dict[int, int]) -> Bound:
    words = list(bound.words)
    first = COUNTS + len(bound.segment.counts)
    for number in range(first, first + bound.segment.addresses):
        at = word_of(number)
        if words[at] < MADE_UP:
            words[at] = other[words[at]]
    return bound._replace(words=words)


def _outline(streams: Sequence[InstructionStream]) -> str:
    """Name of a file that is there if a program of the same ops in the same order has a recipe."""
    state = hashlib.sha256(_sources())
    for stream in streams:
        state.update(stream.op.astype(np.int16).tobytes())
    return f"outline.{state.hexdigest()[:32]}"


def may_know(streams: Sequence[InstructionStream]) -> bool:
    """Whether it is worth asking for the recipe of a program; its key takes as long as binding it."""
    folder = cache.folder()
    return folder is not None and (folder / _outline(streams)).exists()


def read(key: str) -> Recipe | None:
    """How the streams of a program were fused; `None` if nobody has done so."""
    folder = cache.folder()
    if folder is None:
        return None
    try:
        found = cache_files.read(folder / key)
    except Exception:  # a damaged file can raise anything
        return None
    return None if found is None else Recipe(*found)


def write(key: str, streams: Sequence[InstructionStream], recipe: Recipe) -> None:
    """Keep how the streams of a program were fused."""
    folder = cache.folder()
    if folder is None:
        return
    try:
        cache_files.write(folder / key, tuple(recipe))
        cache_files.write(folder / _outline(streams), ())
    except OSError as error:
        cache.complaints.make(f"the cache folder {folder} cannot be written", error)
