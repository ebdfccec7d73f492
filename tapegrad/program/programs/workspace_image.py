"""Images of workspaces of a handle: fields that compiled code copies, relative to their new address.

Such a workspace is one block: the words of the program, its bindings, frames and streams, then the memory of the
program, and behind it a room for each binding, for when no array is given.
"""

from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.sweep.replays import replay
from tapegrad.engine.tape.fields.layout import CONTROL, LIBRARY
from tapegrad.program.programs.packed_frames import PackedFrames, Places
from tapegrad.program.programs.program import Program

_LINE = 64
_ADDRESSES = (replay.FORWARD, replay.REVERSE, replay.BINDINGS, replay.SEED)  # words of a program's block


class WorkspaceImage(NamedTuple):
    """Template that workspaces of a program are copied from.

    Attributes
    ----------
    words
        The first words of each.
    places
        The numbers of those that a workspace's address is added to.
    memory
        Where the memory of the program begins, in bytes.
    rooms
        Where the room for each binding begins.
    bytes
        Bytes of a workspace.
    """

    words: np.ndarray
    places: np.ndarray
    memory: int
    rooms: list[int]
    bytes: int


class _Words:
    """Arrays of words one behind another, and which of the words are relative addresses."""

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []
        self.places: list[np.ndarray] = []
        self.end = 0  # in bytes

    def add(self, part: np.ndarray) -> int:
        """Add an array; the byte at which it begins."""
        begin = self.end
        self.parts.append(part)
        self.end += part.nbytes
        return begin

    def mark(self, begin: int, numbers: np.ndarray) -> None:
        """Mark words of the part that begins at a byte as addresses."""
        self.places.append(begin // 8 + np.asarray(numbers, np.int64))


def image_of(program: Program) -> WorkspaceImage:
    """Return the image of a program whose instructions run on one thread."""
    words = _Words()
    head = np.zeros(replay.PROGRAM_WORDS, np.int64)
    words.add(head)
    frames = PackedFrames(program, on_threads=False)
    (own, inside), *given = frames.relocations(len(program.bindings))
    at = words.add(frames.words)
    words.mark(at, own)
    _add_streams(words, frames, head, at)
    head[replay.BINDINGS] = _add_bindings(words, program, given, at)
    head[replay.BINDING_COUNT], head[replay.INPUTS] = len(program.bindings), program.given
    memory = -(-words.end // _LINE) * _LINE
    frames.words[own] = memory + inside
    tables = kernel_table.tables()
    head[replay.LIBRARY], head[replay.CONTROL] = tables[LIBRARY], tables[CONTROL]
    for number, value in program.workspace_words(memory).items():
        head[number] = value
    words.mark(0, np.array([number for number in _ADDRESSES if head[number]], np.int64))
    rooms, end = _rooms(program, memory + program.bytes)
    return WorkspaceImage(
        np.concatenate([part.reshape(-1) for part in words.parts]),
        np.concatenate(words.places),
        memory,
        rooms,
        end,
    )


def _add_streams(words: _Words, frames: PackedFrames, head: np.ndarray, begin: int) -> None:
    """Add the rows of both streams, whose frames begin at a byte."""
    for word, rows in zip((replay.FORWARD, replay.REVERSE), frames.rows(begin), strict=True):
        head[word], head[word + 1] = words.add(rows), len(rows)
        words.mark(int(head[word]), rows.shape[1] * np.arange(len(rows)) + 1)


def _add_bindings(words: _Words, program: Program, places: list[Places], frames: int) -> int:
    """Add the bindings, which words of the frames hold their addresses and where; the byte at which they begin."""
    bindings = np.zeros((len(program.bindings), replay.BINDING_WORDS), np.int64)
    for k, (row, (at, offsets)) in enumerate(zip(bindings, places, strict=True)):
        pairs = np.stack([frames + 8 * at, offsets], axis=1)
        row[replay.PORT_RELOCATIONS], row[replay.PORT_RELOCATION_COUNT] = words.add(pairs), len(pairs)
        words.mark(int(row[replay.PORT_RELOCATIONS]), 2 * np.arange(len(pairs)))
        row[replay.PORT_ROW_BYTES] = program.row_bytes(k)
    begin = words.add(bindings)
    words.mark(begin, replay.BINDING_WORDS * np.arange(len(bindings)) + replay.PORT_RELOCATIONS)
    return begin


def _rooms(program: Program, begin: int) -> tuple[list[int], int]:
    """Return the offsets of the rooms for the bindings, and the end of the last one."""
    found, end = [], begin
    for binding in program.bindings:
        end = -(-end // _LINE) * _LINE
        found.append(end)
        end += binding.nbytes
    return found, end
