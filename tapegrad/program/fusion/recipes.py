"""Recipes: how the streams of a program were fused, on disk, so that pass and compiler run once for programs alike.

Programs are alike if fusion reads the same of them: ops, frames in which arrays outside have made-up addresses
(`outside`), loops, and the blocks of the workspace. A recipe has the made-up addresses too. As with the other files of
the cache folder, an unreadable file is replaced, and a failure to write is ignored.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.engine.codegen.store import cache, cache_files
from tapegrad.engine.kernels.language import frame as field
from tapegrad.errors import IllegalTapeError
from tapegrad.program.fusion.grouping.nests import loops_of
from tapegrad.program.fusion.grouping.segments import BoundSegment
from tapegrad.program.streams.stream import InstructionStream

Units = list[int | BoundSegment]


class Recipe(NamedTuple):
    """Recipe of the fused streams of a program.

    Attributes
    ----------
    units
        The rows and segments of each; arrays outside of the program are at made-up addresses (`outside`).
    added
        The bytes of each block of the workspace that segments need beside those of the rows.
    """

    units: list[Units]
    added: list[int]


_SOURCES = (
    *cache.EMITTER,
    "program/fusion",
    "engine/kernel_table.py",
    "program/streams/memory_plan.py",
    "program/streams/stream.py",
)


def _sources() -> bytes:
    """Return a digest of the sources and settings on which fusion depends, apart from the program."""
    return cache.state(_SOURCES).encode()


def key_of(streams: Sequence[InstructionStream], others: Sequence[int] | np.ndarray) -> str:
    """Return the name of a program's recipe: a digest of all that fusion reads.

    Parameters
    ----------
    streams
        The streams of the program, arrays outside of it at made-up addresses.
    others
        What else decides how it is fused.
    """
    state = hashlib.sha256(_sources())
    for stream in streams:
        frames = stream.frames.copy()
        frames[:, field.OUTER] = frames[:, field.OUTER] != 0
        frames[:, field.PARAMS] = frames[:, field.PARAMS] != 0
        clears = (stream.op < 0) & (stream.kernels != 0)
        loops = np.array(loops_of(stream), np.int64)
        for column in (frames, stream.op, stream.variant, stream.direction, clears, loops):
            state.update(len(column).to_bytes(8, "little"))
            state.update(np.ascontiguousarray(column, np.int64).data)
    state.update(np.array(others, np.int64).tobytes())
    return f"program.{state.hexdigest()[:32]}"


def _outline(streams: Sequence[InstructionStream]) -> str:
    """Return the name of a marker file: it exists if a program of the same sequence of ops has a recipe."""
    state = hashlib.sha256(_sources())
    for stream in streams:
        state.update(stream.op.astype(np.int16).tobytes())
    return f"outline.{state.hexdigest()[:32]}"


def may_know(streams: Sequence[InstructionStream]) -> bool:
    """Return whether the recipe of a program is worth a look-up; its key takes as long as binding it."""
    folder = cache.folder()
    return folder is not None and cache_files.is_there(folder / _outline(streams))


def read(key: str) -> Recipe | None:
    """Return how the streams of a program were fused; `None` if that is not known."""
    folder = cache.folder()
    if folder is None:
        return None
    try:
        found = cache.read(folder / key)
        return None if found is None else Recipe(*found)
    except TypeError:  # a file of another kind
        return None


def write(key: str, streams: Sequence[InstructionStream], recipe: Recipe) -> None:
    """Keep how the streams of a program were fused. A failure costs the recipe, and is said on stderr."""
    folder = cache.folder()
    if folder is None:
        return
    try:
        cache_files.write(folder / key, tuple(recipe))
        cache_files.write(folder / _outline(streams), ())
    except Exception as error:  # a file that cannot be written must not stop the program
        cache.complaints.make(f"how a program was fused cannot be kept in {folder}", error)


def check(key: str, known: Recipe, made: Recipe) -> None:
    """Raise if a recipe is not what fusion makes of the program.

    Raises
    ------
    IllegalTapeError
        Naming the file.
    """
    if known != made:
        raise IllegalTapeError(
            f"the recipe {key} in {cache.folder()} says how another program was fused; delete the file"
        )
