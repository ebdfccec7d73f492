"""Workspaces: memory for one execution of a program at a time, frames that point into it, and the idle ones."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.guard_pages import fenced_pages
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.replays import replay
from tapegrad.engine.tape.fields.layout import CONTROL, LIBRARY
from tapegrad.engine.tape.fields.view import View
from tapegrad.program.fusion.policy import PendingFusion
from tapegrad.program.programs.packed_frames import PackedFrames, Places
from tapegrad.program.programs.program import Program
from tapegrad.program.streams.spec import IF_KNOWN, NOW

_ALIGNMENT = 64
AnyProgram = TypeVar("AnyProgram", bound=Program)


class Workspace(Uncopied):
    """Workspace of a program.

    Parameters
    ----------
    program
        The program.
    bound
        Bindings that lead to the same array at each execution: number of the binding, and address.

    Attributes
    ----------
    program
        The program.
    address
        Address of the block of words that compiled code knows the workspace by.
    base
        Address of its memory.
    bytes
        Bytes that it takes.
    outputs
        The outputs that lie in its memory, as arrays on it.
    value
        The first of them, if there is one.
    """

    __slots__ = ("_keep", "_memory", "_words", "address", "base", "bytes", "outputs", "program", "value")

    def __init__(self, program: Program, bound: Sequence[tuple[int, int]] = ()) -> None:
        self.program = program
        memory, base = _memory(program)
        frames = PackedFrames(program)
        (own, inside), *places = frames.relocations(len(program.bindings))
        frames.words[own] = base + inside
        streams = frames.rows(frames.words.ctypes.data)
        bindings, kept = _bindings(program, frames.words, places)
        for k, start in bound:
            at, offsets = places[k]
            frames.words[at], bindings[k, replay.PORT_ADDRESS] = start + offsets, start
        self._words = np.zeros(replay.PROGRAM_WORDS, np.int64)
        self._keep = (frames.words, streams, bindings, kept)
        self.address = int(self._words.ctypes.data)
        self.base = base
        self.bytes = program.bytes + frames.words.nbytes + sum(rows.nbytes for rows in streams)
        self._fill_words(program, streams, bindings)
        self._memory = memory
        self.outputs = [self._array(offset, view) for offset, view in program.workspace_outputs()]
        self.value: Any = self.outputs[0] if self.outputs else None
        program.begin_workspace(self.base)

    def _fill_words(self, program: Program, streams: list[np.ndarray], bindings: np.ndarray) -> None:
        words = self._words
        words[replay.FORWARD], words[replay.FORWARD_COUNT] = streams[0].ctypes.data, len(streams[0])
        words[replay.REVERSE], words[replay.REVERSE_COUNT] = streams[1].ctypes.data, len(streams[1])
        words[replay.BINDINGS], words[replay.BINDING_COUNT] = bindings.ctypes.data, len(bindings)
        words[replay.INPUTS] = program.given
        tables = kernel_table.tables()
        words[replay.LIBRARY], words[replay.CONTROL] = tables[LIBRARY], tables[CONTROL]
        for number, value in program.workspace_words(self.base).items():
            words[number] = value

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
        return int(self._words[replay.LEFT])

    @left.setter
    def left(self, replays: int) -> None:
        self._words[replay.LEFT] = replays

    @property
    def stopped_at(self) -> int:
        """Number of the instruction of the forward stream at which the last execution stopped."""
        return int(self._words[replay.STOPPED_AT])


def _memory(program: Program) -> tuple[np.ndarray, int]:
    """Memory, and the address of the first cache line that begins in it."""
    if program.fences:
        memory = fenced_pages(program.bytes, program.fences)
    else:
        memory = np.empty(program.bytes + _ALIGNMENT, np.uint8)
    return memory, -(-memory.ctypes.data // _ALIGNMENT) * _ALIGNMENT


def _bindings(
    program: Program, frames: np.ndarray, places: list[Places]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the fields of the bindings, and the arrays that they point to."""
    bindings = np.zeros((len(program.bindings), replay.BINDING_WORDS), np.int64)
    kept: list[np.ndarray] = []
    for k, (row, binding, (at, offsets)) in enumerate(zip(bindings, program.bindings, places, strict=True)):
        extents = np.array(binding.shape, np.int64)
        pairs = np.stack([frames.ctypes.data + 8 * at, offsets], axis=1).astype(np.int64)
        kept += [extents, pairs]
        row[replay.PORT_DESCR] = id(binding.dtype)
        row[replay.PORT_NDIM], row[replay.PORT_EXTENTS] = len(binding.shape), extents.ctypes.data
        row[replay.PORT_ITEM] = binding.dtype.itemsize
        row[replay.PORT_RELOCATIONS], row[replay.PORT_RELOCATION_COUNT] = pairs.ctypes.data, len(pairs)
        row[replay.PORT_ROW_BYTES] = program.row_bytes(k)
    return bindings, kept


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
