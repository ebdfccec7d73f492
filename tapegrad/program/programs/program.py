"""The program of a recording: bound instructions in two streams, on a workspace whose memory is planned.

Frames are bound once with made-up addresses, one range for each thing whose address is not known yet: the workspace,
and each *binding*, an array of the caller's. A workspace of the program is a copy of the frames in which the first
range is replaced by its own memory; the addresses of the bindings are filled in at each call.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from tapegrad.engine import guard_pages
from tapegrad.engine.inspection.narrow_columns import MIN_ENTRIES, RarelyRead
from tapegrad.engine.inspection.tape_columns import first_of_each
from tapegrad.engine.inspection.tape_entries import Buffers
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.derivatives.bind_recording import ROW_DIRECTION, ROW_FIELDS, ROW_INSTRUCTION
from tapegrad.engine.tape.fields.columns import COLUMNS
from tapegrad.engine.tape.fields.layout import DIFFERENTIABLE, EXTERNAL
from tapegrad.engine.tape.fields.view import View
from tapegrad.ops import GUARDS
from tapegrad.program.fusion import recipes
from tapegrad.program.fusion.checked_lists import lists_among, unchanging_lists
from tapegrad.program.fusion.shown import InProgram
from tapegrad.program.fusion.streams import UnfusedStream, fused
from tapegrad.program.passes import in_place
from tapegrad.program.passes.liveness import live_instructions
from tapegrad.program.streams.memory_plan import WorkspaceBlocks
from tapegrad.program.streams.spec import IF_KNOWN, JACFWD, NEVER, ProgramSpec
from tapegrad.program.streams.stream import (
    CONTINUED,
    RUN_FORWARD,
    binding_address,
    bound,
    empty_stream,
    fills,
    is_one_line,
    is_opaque,
    sums,
)
from tapegrad.program.streams.transposed_operands import with_transposed_operands

_NONE = np.zeros(0, np.int64)


class Recording(Protocol):
    """Recording that programs are bound from: a header, and the columns that it leads to."""

    owners: dict[int, Any]
    guard_lines: list[Any]  # for each guard its source line

    @property
    def fields(self) -> np.ndarray:
        """The header's fields."""

    def column(self, name: str) -> np.ndarray:
        """Return a copy of a column's used entries."""


class Program(RarelyRead, Uncopied):
    """Program of a recording for a spec, which replays execute. This one computes the outputs.

    A subclass adds streams and bindings of its own by overriding `_select`, `_add_bindings`, `_allocate`,
    `_set_addresses`, `_bind` and `_keep_blocks`, which are called once, in this order.

    Parameters
    ----------
    recording
        The tape. It stays alive: its constants are read where they lie.
    tape
        What passes have made of it. Each output is the whole of a buffer that an instruction writes.
    spec
        What is computed.
    fusion
        Whether rows are brought together in segments: NEVER, NOW, WHOLE, or IF_KNOWN from a program like it.

    Attributes
    ----------
    entry
        The entry point of `engine.sweep.replays.replay` that runs it.
    forward, reverse
        The streams. The second one is empty, or is run after the first, once or many times.
    bindings
        The arrays that a call works on, in C order: first the inputs and what else the caller gives, then the results.
    given
        How many of the bindings the caller gives.
    bytes, fences
        Size of a workspace, and the offsets of the pages in it that must not be touched.
    fused
        Whether there are segments in the streams.
    guards
        For each instruction of the forward stream that is a guard, which one it is.
    """

    entry: ClassVar[str] = "replay_values"
    _runs_again: ClassVar[bool] = False  # whether the reverse stream is executed many times

    def __init__(self, recording: Recording, tape: TapeView, spec: ProgramSpec, fusion: str = NEVER) -> None:
        self.recording = recording
        self.tape = tape
        self.spec = spec
        self.outputs = [tape.slots[slot].view for slot in tape.outputs]
        self._inputs = [tape.slots[slot].buffer for slot in tape.inputs]
        self._outputs: list[int] = [tape.slots[slot].buffer for slot in tape.outputs]
        self._wrt = [self._inputs[k] for k in spec.wrt]
        self._input_bindings = [_as_binding(tape.slots[slot].view) for slot in tape.inputs]
        self._live = _NONE  # the instructions of the forward stream
        # By buffer whether derivatives flow through it, the instructions that they flow through, and by instruction the
        # operands that they flow from or to, a bit each
        self._active = np.zeros(len(tape.columns.bytes), np.bool_)
        self._derived = self._operands = _NONE
        self._kept = list(tape.kept)  # memory that frames point to
        self._header_memory: list[np.ndarray] = []
        self._select()
        self.bindings: list[View] = [*self._input_bindings]
        self.given = len(self.bindings)
        self._add_bindings()
        self._blocks = WorkspaceBlocks()
        self._primal = recording.column("primal")  # made-up addresses by buffer
        number, primal = Buffers.of(tape.buffers).lines[:, :2].T
        self._primal[number] = primal  # of the tape: a pass may have put constants there
        self._cotangent = np.zeros_like(self._primal)
        for k, buffer in enumerate(self._inputs):
            self._primal[buffer] = binding_address(k)
        self._allocate()
        self._set_addresses(self._primal, self._cotangent)
        self._make_header()
        self.forward, self.reverse = empty_stream(), empty_stream()
        self._bind()
        self._header_memory.clear()
        self._rewrite()
        self.forward = with_transposed_operands(self.forward, self._blocks)
        self.reverse = with_transposed_operands(self.reverse, self._blocks)
        self.fused = self._may_fuse(fusion) and self._fuse(fusion)
        self._load_kernels()
        begun = self.forward.op[self.forward.kernels != CONTINUED]
        guards = np.flatnonzero(np.isin(begun, list(GUARDS)))
        self.guards = dict(zip(guards.tolist(), range(len(guards)), strict=True))
        self.bytes, self.fences = self._plan()

    def settle(self, read_tape: Callable[[], TapeView]) -> None:
        """Keep in few bytes what replays do not read: of a long program that is most of its memory.

        Parameters
        ----------
        read_tape
            Reads the tape once more, where it is asked for.
        """
        if len(self.forward) + len(self.reverse) < MIN_ENTRIES:
            return
        for each in (self.forward, self.reverse, self._blocks, self):
            each.narrow()
        self._read_tape = read_tape
        vars(self).pop("tape", None)

    def __getattr__(self, name: str) -> Any:
        if name == "tape" and "_read_tape" in vars(self):
            self.tape = self._read_tape()
            return self.tape
        return super().__getattr__(name)

    # --- what each kind of program does in its own way -----------------------------------------------------------

    def _select(self) -> None:
        """Select the instructions."""
        self._live = live_instructions(self.tape, self._outputs)

    def _add_bindings(self) -> None:
        """Add the bindings of the results."""
        self.bindings += map(_as_binding, self.outputs)

    def _allocate(self) -> None:
        """Give what lies in the workspace blocks of its own."""
        self._allocate_primals()

    def _set_addresses(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        """Enter the made-up addresses of bindings into the columns by buffer."""
        for k, buffer in enumerate(self._outputs, len(self._inputs)):
            primal[buffer] = binding_address(k)

    def _bind(self) -> None:
        """Bind the instructions."""
        self._bind_forward()

    def _keep_blocks(self) -> None:
        """Keep the blocks that are in use where no frame says so."""

    def _of_instance(self, view: View) -> View:
        """Return one instance's part of an array of the caller's."""
        return view

    def row_bytes(self, binding: int) -> int:
        """Return the bytes from row to row of a Jacobian that is written row by row; 0 for other bindings."""
        return 0

    def workspace_fields(self, base: int) -> dict[int, int]:
        """Fields of a workspace's block beside those of all programs, for memory at an address."""
        return {}

    def workspace_outputs(self) -> list[tuple[int, View]]:
        """Return offset and view of each output that lies in the workspace."""
        return []

    def constants(self) -> list[tuple[int, int]]:
        """Return the first byte and the end of each array outside of the program that its instructions read."""
        columns, lines = self.tape.columns, Buffers.of(self.tape.buffers).lines
        number, primal, bytes_, flags = lines[:, [0, 1, 3, 8]].T
        is_read = np.isin(number, columns.read[columns.live]) & ~np.isin(number, self._inputs)
        found = is_read & (columns.writers[number] == 0) & (flags & EXTERNAL != 0)
        return list(zip(primal[found].tolist(), (primal + bytes_)[found].tolist(), strict=True))

    def segments(self) -> list[InProgram]:
        """Return the segments of its streams, in the order of execution."""
        sizes = [binding.size for binding in self.bindings]
        return [
            InProgram(placed, self.spec, len(self._inputs), self.given, sizes, of_tangents)
            for stream, of_tangents in ((self.forward, False), (self.reverse, self.spec.kind == JACFWD))
            for placed in stream.segments
        ]

    def lifetimes(self) -> np.ndarray:
        """Return of each block of the workspace the first and the last row, the offset and the bytes, (n, 4) int64."""
        return self._blocks.uses()

    # --- common parts ----------------------------------------------------------------------------------------------

    def _may_fuse(self, fusion: str) -> bool:
        if fusion == IF_KNOWN:
            return recipes.may_know((self.forward, self.reverse))
        return fusion != NEVER

    def _fuse(self, fusion: str) -> bool:
        """Bring rows together in segments; whether that was done.

        Each block of the workspace has made-up addresses that no other has. Rows may go, come, and change places as
        what they read and write allows, but for guards, whose order stays. When each block is in use is found later.
        """
        streams = [UnfusedStream(self.forward), UnfusedStream(self.reverse, self._runs_again)]
        found = fused(streams, self._blocks, self._kept_addresses(), fusion, self._unchanging_lists())
        if found is not None:
            self.forward, self.reverse = found
        return found is not None

    def _unchanging_lists(self) -> dict[int, np.ndarray]:
        """Return the unchanging lists of row numbers among the constants, by address."""
        return unchanging_lists(self.recording.owners.values()) | lists_among(self.tape.kept)

    def _rewrite(self) -> None:
        """Make other rows of the bound ones."""

    def _kept_addresses(self) -> list[int]:
        """Made-up addresses in the workspace of what is read after the streams."""
        return []

    def begin_workspace(self, base: int) -> None:
        """Write what a new workspace has in its memory, which begins at an address."""

    def _allocate_primals(self) -> None:
        """Allocate what the forward stream writes; a write in place to where the old contents are, if it can."""
        elsewhere = (*self._inputs, *self._outputs)
        taken = in_place.taken_over(self.tape, self._live, elsewhere, self._saved_slots)
        self._allocate_results(list(taken))
        for new, old in taken.items():
            self._primal[new] = self._primal[old]

    def _allocate_results(self, but_for: Sequence[int] = ()) -> None:
        columns = self.tape.columns
        written = columns.written[self._live]
        fresh = first_of_each(written, len(columns.bytes))
        fresh[np.isin(written, but_for)] = False
        self._primal[written[fresh]] = self._blocks.new(columns.bytes[written[fresh]])

    def _saved_slots(self) -> np.ndarray:
        """Return the slots whose primals are read after the forward stream."""
        return _NONE

    def _make_header(self) -> None:
        """Make a header with the tape's fields, except for changed columns, addresses and flags."""
        flags = np.zeros(len(self._primal), np.int8)
        flags[: len(self._active)][self._active] = DIFFERENTIABLE
        columns = {"primal": self._primal, "cotangent": self._cotangent, "flags": flags}
        columns |= _program_columns(self.recording, self.tape)
        header = self.recording.fields.copy()
        for name, values in columns.items():
            header[COLUMNS[name][0]] = values.ctypes.data
        self._header_memory = [header, *columns.values()]
        self._header = int(header.ctypes.data)

    def _bind_forward(self) -> None:
        """Bind the forward stream. A sum that is not of one line is added to zeros."""
        rows = np.zeros((len(self._live), ROW_FIELDS), np.int64)
        rows[:, ROW_INSTRUCTION], rows[:, ROW_DIRECTION] = self._live, RUN_FORWARD
        columns = self.tape.columns
        stream = bound(self._header, columns.op, rows)
        added = np.flatnonzero(sums(stream) & ~is_one_line(stream))
        buffers = columns.written[stream.number[added]]
        cleared = fills(self._primal[buffers], columns.bytes[buffers])
        stream.frames[sums(stream) & is_one_line(stream), field.STORE] |= 1
        read = self._active[columns.written[stream.number]]
        stream.frames[is_opaque(stream) & ~read, field.STORE] |= field.VALUE
        self.forward = stream.inserting(cleared, added)

    def _load_kernels(self) -> None:
        """Load the kernels of both streams."""
        for stream in (self.forward, self.reverse):
            stream.expect_kernels()
        for stream in (self.forward, self.reverse):
            stream.load_kernels()

    def _plan(self) -> tuple[int, list[int]]:
        """Place the blocks, and let the frames know; size of the workspace, and its fences."""
        blocks, streams = self._blocks, (self.forward, self.reverse)
        frames = [stream.frames for stream in streams]
        blocks.find_uses(frames, [stream.kernels != CONTINUED for stream in streams])
        self._keep_blocks()
        bytes_, fences = blocks.assign_fenced_offsets() if guard_pages.on else (blocks.assign_offsets(), [])
        blocks.relocate(frames)
        return bytes_, fences

    @property
    def _end(self) -> int:
        """The row behind both streams."""
        return len(self.forward) + len(self.reverse)

    def _offset(self, address: int) -> int:
        """Return the offset in the workspace of a made-up address."""
        return int(self._blocks.offsets(np.array([address]))[0])


def _as_binding(view: View) -> View:
    """Return the spec of an array that a program uses in place of a view."""
    return View.in_c_order(view.shape, view.dtype)


def _program_columns(recording: Recording, tape: TapeView) -> dict[str, np.ndarray]:
    """Return the columns that passes and layouts change."""
    columns, (number, _, _, _, offset, geometry, *_) = tape.columns, tape.columns.slots.lines.T
    found = {f"operand{j}": columns.operands[:, j].astype(np.int32) for j in range(3)}
    found["buffer"] = columns.buffer.astype(np.int32)
    if tape.kept:
        for name, values in (("offset", offset), ("geometry", geometry)):
            found[name] = recording.column(name)
            found[name][number] = values
        found["params"] = columns.instructions.lines[:, 5].copy()
    return found
