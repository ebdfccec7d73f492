"""Workspaces: memory for one execution of a program at a time, and the idle ones.

A workspace is one block: the fields of the program, its frames, streams and bindings, then the memory of the program.
Behind it those that compiled code makes have a room for each binding, for when no array is given. All are copies of an
*image*, whose addresses are relative to the block.
"""

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.guard_pages import PAGE, fenced_pages
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.replays import replay
from tapegrad.engine.tape.fields.layout import CONTROL, LIBRARY
from tapegrad.engine.tape.fields.view import View
from tapegrad.program.fusion.policy import PendingFusion
from tapegrad.program.programs.packed_frames import PackedFrames, Relocations
from tapegrad.program.programs.program import Program
from tapegrad.program.streams.spec import IF_KNOWN, NOW

_LINE = 64
_ADDRESSES = (replay.FORWARD, replay.REVERSE, replay.BINDINGS, replay.SEED)  # fields of a program's block
_NONE: Mapping[int, int] = MappingProxyType({})
AnyProgram = TypeVar("AnyProgram", bound=Program)


class WorkspaceImage(NamedTuple):
    """Template that workspaces of a program are copied from.

    Attributes
    ----------
    fields
        The first fields of each.
    relocations
        The numbers of those that a workspace's address is added to.
    memory
        Where the memory of the program begins, in bytes.
    rooms
        Where the room for each binding begins.
    bytes
        Bytes of a workspace.
    """

    fields: np.ndarray
    relocations: np.ndarray
    memory: int
    rooms: list[int]
    bytes: int


class _Fields:
    """Arrays of fields one behind another, and which of the fields are relative addresses."""

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []
        self.relocations: list[np.ndarray] = []
        self.end = 0  # in bytes

    def add(self, part: np.ndarray) -> int:
        """Add an array; the byte at which it begins."""
        begin = self.end
        self.parts.append(part)
        self.end += part.nbytes
        return begin

    def mark(self, begin: int, step: int) -> None:
        """Mark one field of so many as an address, from a byte to the end."""
        self.relocations.append(np.arange(begin // 8, self.end // 8, step))


def image_of(program: Program, on_threads: bool = False, bound: Mapping[int, int] = _NONE) -> WorkspaceImage:
    """Return the image of the workspaces of a program.

    Parameters
    ----------
    program
        The program.
    on_threads
        Whether instructions may run on several threads.
    bound
        Addresses of arrays that bindings lead to in all workspaces, by number of the binding.
    """
    fields = _Fields()
    head = np.zeros(replay.PROGRAM_FIELDS, np.int64)
    fields.add(head)
    frames = PackedFrames(program, on_threads)
    (own, inside), *given = frames.relocations(len(program.bindings))
    at = fields.add(frames.fields)
    fields.relocations.append(at // 8 + own)
    _add_streams(fields, frames, head, at)
    for k, address in bound.items():
        frames.fields[given[k][0]] = address + given[k][1]
    head[replay.BINDINGS] = _add_bindings(fields, program, given, at, bound)
    head[replay.BINDING_COUNT], head[replay.INPUTS] = len(program.bindings), program.given
    memory = _rounded(fields.end, PAGE if program.fences else _LINE)
    frames.fields[own] = memory + inside
    tables = kernel_table.tables()
    head[replay.LIBRARY], head[replay.CONTROL] = tables[LIBRARY], tables[CONTROL]
    for number, value in program.workspace_fields(memory).items():
        head[number] = value
    fields.relocations.append(np.array([number for number in _ADDRESSES if head[number]], np.int64))
    rooms, end = _rooms(program, memory + program.bytes)
    return WorkspaceImage(
        np.concatenate([part.reshape(-1) for part in fields.parts]),
        np.concatenate(fields.relocations),
        memory,
        rooms,
        end,
    )


def _add_streams(fields: _Fields, frames: PackedFrames, head: np.ndarray, begin: int) -> None:
    """Add the rows of both streams, whose frames begin at a byte."""
    for field, rows in zip((replay.FORWARD, replay.REVERSE), frames.rows(begin), strict=True):
        head[field], head[field + 1] = fields.add(rows), len(rows)
        fields.mark(int(head[field]) + 8, replay.STREAM_FIELDS)


def _add_bindings(
    fields: _Fields, program: Program, relocations: list[Relocations], frames: int, bound: Mapping[int, int]
) -> int:
    """Add the bindings, which fields of the frames hold their addresses and where; the byte at which they begin."""
    extents = [extent for view in program.bindings for extent in view.shape]
    pairs = [np.stack([frames + 8 * at, offsets], 1) for at, offsets in relocations]
    extents_at, pairs_at = fields.add(np.array(extents, np.int64)), fields.end
    for each in pairs:
        fields.add(each)
    fields.mark(pairs_at, 2)
    rows = []
    for k, (view, own) in enumerate(zip(program.bindings, pairs, strict=True)):
        look = id(view.dtype), view.ndim, extents_at, view.itemsize
        rows.append((*look, pairs_at, len(own), program.row_bytes(k), bound.get(k, 0)))
        extents_at, pairs_at = extents_at + 8 * view.ndim, pairs_at + own.nbytes
    begin = fields.add(np.array(rows, np.int64))
    fields.mark(begin + 8 * replay.PORT_EXTENTS, replay.BINDING_FIELDS)
    fields.mark(begin + 8 * replay.PORT_RELOCATIONS, replay.BINDING_FIELDS)
    return begin


def _rooms(program: Program, begin: int) -> tuple[list[int], int]:
    """Return the offsets of the rooms for the bindings, and the end of the last one."""
    found, end = [], begin
    for binding in program.bindings:
        end = _rounded(end, _LINE)
        found.append(end)
        end += binding.nbytes
    return found, end


def _rounded(bytes_: int, unit: int) -> int:
    return -(-bytes_ // unit) * unit


class Workspace(Uncopied):
    """Workspace of a program.

    Parameters
    ----------
    program
        The program.
    bound
        Addresses of arrays that bindings lead to at each execution, by number of the binding.

    Attributes
    ----------
    program
        The program.
    address
        Address of the block of fields that compiled code knows the workspace by.
    base
        Address of its memory.
    bytes
        Bytes that it takes.
    outputs
        The outputs that lie in its memory, as arrays on it.
    value
        The first of them, if there is one.
    """

    __slots__ = ("_fields", "_memory", "address", "base", "bytes", "outputs", "program", "value")

    def __init__(self, program: Program, bound: Mapping[int, int] = _NONE) -> None:
        self.program = program
        image = image_of(program, True, bound)
        self.bytes = image.memory + program.bytes
        if program.fences:
            fences = [image.memory + fence for fence in program.fences]
            self._memory = fenced_pages(self.bytes, fences)
        else:
            self._memory = np.empty(self.bytes + _LINE, np.uint8)
        start = -self._memory.ctypes.data % _LINE
        self._fields = self._memory[start : start + image.fields.nbytes].view(np.int64)
        self.address = int(self._fields.ctypes.data)
        self.base = self.address + image.memory
        self._fields[:] = image.fields
        self._fields[image.relocations] += self.address
        self.outputs = [self._array(offset, view) for offset, view in program.workspace_outputs()]
        self.value: Any = self.outputs[0] if self.outputs else None
        program.begin_workspace(self.base)

    def fill(self, byte: int) -> None:
        """Fill the memory of the program with a byte, but for what it begins with; not between guard pages."""
        if not self.program.fences:
            ctypes.memset(self.base, byte, self.program.bytes)
            self.program.begin_workspace(self.base)

    def _array(self, offset: int, view: View) -> np.ndarray:
        """Return an array on the workspace's memory."""
        start = self.base - self._memory.ctypes.data + offset
        return np.ndarray(view.shape, view.dtype, self._memory.data, start)

    def run(self, given: Sequence[np.ndarray]) -> tuple[int, list[np.ndarray]]:
        """Run the program on the arrays that the caller gives: its status, and new arrays of the results."""
        bindings = self.program.bindings[self.program.given :]
        results = [np.empty(binding.shape, binding.dtype) for binding in bindings]
        arrays = (*given, *results)
        # Looked up: the first call replaces it
        status: int = getattr(replay, self.program.entry)(self.address, id(arrays))
        return status, results

    @property
    def left(self) -> int:
        """After how many replays one of them asks before it begins; 0: none does."""
        return int(self._fields[replay.LEFT])

    @left.setter
    def left(self, replays: int) -> None:
        self._fields[replay.LEFT] = replays

    @property
    def stopped_at(self) -> int:
        """Number of the instruction of the forward stream at which the last execution stopped."""
        return int(self._fields[replay.STOPPED_AT])


class PooledProgram(Uncopied, Generic[AnyProgram]):
    """Program with its idle workspaces, for all threads.

    Parameters
    ----------
    make
        Makes the program, given a fusion policy.
    make_workspace
        Makes a workspace of a program.
    fusion
        Fusion policy.

    Attributes
    ----------
    program
        The program, a fused one after fusion.
    idle
        Its idle workspaces. Taking from the list and putting back is atomic.
    pending
        Fusion policy of a program that may be fused later, else `None`.
    """

    def __init__(
        self, make: Callable[[str], AnyProgram], make_workspace: Callable[[AnyProgram], Any], fusion: str
    ) -> None:
        self.program = program = make(fusion)
        self.idle: list[Any] = []
        self.pending: PendingFusion | None = None
        if fusion == IF_KNOWN and not program.fused:
            # The functions, which may lead to the owner of this program, are kept until it is fused
            fuse = functools.partial(self._fuse, make, make_workspace)
            pending = PendingFusion((program.forward, program.reverse), fuse)
            self.pending = pending if pending.replays else None

    def _fuse(self, make: Callable[[str], AnyProgram], make_workspace: Callable[[AnyProgram], Any]) -> None:
        """Put a fused program in the place of the program."""
        fused = make(NOW)
        workspace = make_workspace(fused)
        self.program, self.pending = fused, None
        self.idle[:] = [workspace]

    def take(self, program: AnyProgram) -> Any:
        """Take an idle workspace of a program, its own or the one before it was fused; `None` if there is none."""
        try:
            while (workspace := self.idle.pop()).program is not program:
                pass  # of the program before it was fused
        except IndexError:
            return None
        return workspace
