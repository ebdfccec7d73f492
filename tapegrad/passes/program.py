"""The program of a recording: bound frames in two streams, on a workspace whose layout is planned.

Frames are bound once with made-up addresses, one range for each thing whose place is not known yet: the workspace,
the inputs, the outputs and the gradients. A workspace of the program is a copy of the frames in which those are
replaced; the places of inputs, outputs and gradients are filled in at each call.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad import compiler, loader
from tapegrad.kernels import frame as word
from tapegrad.kernels.fill import zero_fill
from tapegrad.passes.activity import GUARDS, active_buffers, active_operands, live_instructions
from tapegrad.passes.lifetimes import FOREVER, Lifetimes, place
from tapegrad.passes.listing import Listing
from tapegrad.recording import Recording
from tapegrad.storage import Description
from tapegrad.sweep.bind import OUTER_WORDS
from tapegrad.sweep.program import bind_instruction, can_store, instruction_variant
from tapegrad.tape.layout import ACCUMULATE, COLUMNS, DIFFERENTIABLE, OP_GRAIN, OP_KIND

PORT_SHIFT = (
    48  # a made-up address has the number of its range above this bit: 1 is the workspace, 2 port 0, ...
)
FORWARD, REVERSE = 0, 1


@dataclass(frozen=True)
class Port:
    """An array of the caller's that a program works on where it lies."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    row_bytes: int = 0  # in a Jacobian, bytes from one row to the next


class _Stream:
    """Rows of kernels with their frames, in the order of execution."""

    def __init__(self, capacity: int) -> None:
        self.frames = np.zeros((capacity, word.WORDS), np.int64)
        self.kernels: list[int] = []
        self.grains: list[int] = []

    def next_frame(self) -> np.ndarray:
        """The frame of the row that is about to be added."""
        if len(self.kernels) == len(self.frames):
            self.frames = np.concatenate([self.frames, np.zeros_like(self.frames)])
        return self.frames[len(self.kernels)]

    def add(self, kernel: int, grain: int) -> None:
        self.kernels.append(kernel)
        self.grains.append(grain)

    def fill(self, address: int, bytes_: int) -> None:
        """Add a row that sets memory to zero."""
        frame = self.next_frame()
        frame[word.COUNT], frame[word.Y_BAR] = bytes_, address
        self.add(_zero_fill(), 0)

    def trimmed(self) -> np.ndarray:
        return self.frames[: len(self.kernels)].copy()


_fill_kernel: list[int] = []


def _zero_fill() -> int:
    if not _fill_kernel:
        _fill_kernel.append(compiler.compile_kernel(zero_fill))
    return _fill_kernel[0]


class Program:
    """What a replay executes: planned once for a recording and a purpose.

    Parameters
    ----------
    recording
        The tape. It stays alive: its constants are read where they lie.
    outputs
        Slots of the results, each the whole of a buffer that an instruction writes.
    wrt
        Numbers of the inputs to differentiate by; empty for the values alone.
    rows
        Whether the reverse stream runs many times after one forward stream, for the rows of a Jacobian.
    """

    def __init__(self, recording: Recording, outputs: list[int], wrt: list[int], rows: bool = False) -> None:
        self.recording = recording
        self.outputs = [Description(recording.header, slot) for slot in outputs]
        listing = Listing(recording)
        self._listing = listing
        self._inputs = [listing.buffer_of[slot] for slot in recording.inputs]
        self._outputs = [listing.buffer_of[slot] for slot in outputs]
        self._wrt = [self._inputs[k] for k in wrt]
        self._live = live_instructions(listing, outputs)
        self._active = active_buffers(listing, self._live, self._wrt, self._outputs[0]) if wrt else set()
        self._backwards = [i for i in reversed(self._live) if active_operands(listing, i, self._active)]
        self._load_kernels()
        self._lifetimes = self._plan(rows)
        self.bytes = place(self._lifetimes)
        self.ports = self._make_ports(wrt, rows)
        self._outers: list[np.ndarray] = []
        self._bind()
        self.differentiates = bool(wrt)
        self.seed_count = math.prod(self.outputs[0].shape) if outputs else 0

    # --- planning ----------------------------------------------------------------------------------------------

    def _load_kernels(self) -> None:
        for direction, order in ((FORWARD, self._live), (REVERSE, self._backwards)):
            for i in order:
                loader.load_code(
                    self._listing.op[i], instruction_variant(self.recording.header, i), direction
                )

    def _plan(self, rows: bool) -> Lifetimes:
        """Lifetimes of the primals and cotangents that lie in the workspace."""
        listing, lifetimes = self._listing, Lifetimes()
        for step, i in enumerate(self._live):
            lifetimes.begin(("primal", listing.written(i)), listing.bytes[listing.written(i)], step)
            for buffer in (*listing.read(i), listing.written(i)):
                lifetimes.use(("primal", buffer), step)
        first = len(self._live)
        if not self._wrt:
            for buffer in self._outputs:
                lifetimes.blocks.pop(("primal", buffer), None)  # outputs are ports
            return lifetimes
        output = self._outputs[0]
        lifetimes.use(("primal", output), FOREVER)
        lifetimes.begin(("cotangent", output), listing.bytes[output], first)
        for step, i in enumerate(self._backwards, first):
            lifetimes.use(("cotangent", listing.written(i)), step)
            for j in active_operands(listing, i, self._active):
                operand = listing.read(i)[j]
                if operand not in self._wrt:
                    lifetimes.begin(("cotangent", operand), listing.bytes[operand], step)
                for buffer in listing.reads(i, j):
                    lifetimes.use(("primal", buffer), FOREVER if rows else step)
        return lifetimes

    def _make_ports(self, wrt: list[int], rows: bool) -> list[Port]:
        """The inputs; then the outputs, or the gradients by `wrt`, or the Jacobians by them."""
        header = self.recording.header
        inputs = [Description(header, slot) for slot in self.recording.inputs]
        ports = [Port(d.shape, d.dtype) for d in inputs]
        if not wrt:
            return ports + [Port(d.shape, d.dtype) for d in self.outputs]
        lead = self.outputs[0].shape if rows else ()
        for k in wrt:
            size = int(np.prod(inputs[k].shape, dtype=np.int64)) * inputs[k].dtype.itemsize
            ports.append(Port((*lead, *inputs[k].shape), inputs[k].dtype, size if rows else 0))
        return ports

    # --- addresses ---------------------------------------------------------------------------------------------

    def _made_up_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Primal and cotangent addresses of all buffers, made up where they are not known yet."""
        primal = np.array(self._listing.primal, np.int64)
        cotangent = np.zeros_like(primal)
        for (kind, buffer), block in self._lifetimes.blocks.items():
            (primal if kind == "primal" else cotangent)[buffer] = (1 << PORT_SHIFT) + block.offset
        for k, buffer in enumerate(self._inputs):
            primal[buffer] = (2 + k) << PORT_SHIFT
        after = len(self._inputs)
        for k, buffer in enumerate(self._wrt or self._outputs):
            (cotangent if self._wrt else primal)[buffer] = (2 + after + k) << PORT_SHIFT
        return primal, cotangent

    def _bind(self) -> None:
        """Bind every instruction to a frame."""
        listing = self._listing
        self._primal, self._cotangent = self._made_up_columns()
        flags = np.array(
            [DIFFERENTIABLE if b in self._active else 0 for b in range(len(listing.bytes))], np.int8
        )
        header = self.recording.words.copy()
        for name, column in (("primal", self._primal), ("cotangent", self._cotangent), ("flags", flags)):
            header[COLUMNS[name][0]] = column.ctypes.data
        self._header = int(header.ctypes.data)
        self.forward, self.reverse = _Stream(len(self._live) + 8), _Stream(len(self._backwards) + 8)
        self.guards: dict[int, int] = {}
        for i in self._live:
            self._bind_forward(i)
        self._bind_backwards()
        self._keep = (header, flags)

    def _bind_forward(self, i: int) -> None:
        op, buffer = self._listing.op[i], self._listing.written(i)
        frame = self._bound(self.forward, i, FORWARD, 0)
        if loader.op_words(op)[OP_KIND] == ACCUMULATE:
            if frame[word.OUTER] == 0 and frame[word.COUNT] > 0:
                frame[word.STORE] |= 1  # one line: its sum is written
            else:
                kept = frame.copy()
                frame[:] = 0
                self.forward.fill(int(self._primal[buffer]), self._listing.bytes[buffer])
                frame = self.forward.next_frame()
                frame[:] = kept
        if op in GUARDS:
            self.guards[len(self.forward.kernels)] = len(self.guards)
        self._add(self.forward, i, FORWARD, frame)

    def _bind_backwards(self) -> None:
        """Bind the reverse stream. The first instruction to reach a cotangent writes it, or adds to zeros."""
        listing = self._listing
        touched = {self._outputs[0]} if self._wrt else set()
        for i in self._backwards:
            store = 0
            for j in active_operands(listing, i, self._active):
                buffer = listing.read(i)[j]
                if buffer in touched:
                    continue
                touched.add(buffer)
                if can_store(self.recording.header, i, j):
                    store |= 1 << j
                else:
                    self.reverse.fill(int(self._cotangent[buffer]), listing.bytes[buffer])
            frame = self._bound(self.reverse, i, REVERSE, store)
            self._add(self.reverse, i, REVERSE, frame)
        for buffer in dict.fromkeys(self._wrt):
            if buffer not in touched:
                self.reverse.fill(int(self._cotangent[buffer]), listing.bytes[buffer])

    def _bound(self, stream: _Stream, i: int, direction: int, store: int) -> np.ndarray:
        """The next frame of a stream, bound to instruction `i`; its outer loops in memory of their own."""
        frame = stream.next_frame()
        outer = np.empty(OUTER_WORDS, np.int64)
        bind_instruction(self._header, i, direction, frame.ctypes.data, outer.ctypes.data, store)
        if frame[word.OUTER]:
            loops = outer[: 1 + 5 * int(outer[0])].copy()
            self._outers.append(loops)
            frame[word.OUTER] = loops.ctypes.data
        return frame

    def _add(self, stream: _Stream, i: int, direction: int, frame: np.ndarray) -> None:
        op = self._listing.op[i]
        grain = int(loader.op_words(op)[OP_GRAIN])
        if grain and _elements(frame, self._outers) >= abs(grain):
            loader.load_driver()
        else:
            grain = 0
        stream.add(loader.load_code(op, instruction_variant(self.recording.header, i), direction), grain)

    # --- what a workspace needs --------------------------------------------------------------------------------

    def output_offset(self, kind: str) -> int:
        """Where the primal or the cotangent of the differentiated output lies in the workspace."""
        return self._lifetimes.blocks[kind, self._outputs[0]].offset


def _elements(frame: np.ndarray, outers: list[np.ndarray]) -> int:
    """Number of elements that a frame goes through."""
    count = int(frame[word.COUNT])
    if frame[word.OUTER]:
        loops = outers[-1]
        count *= int(np.prod(loops[1 : 1 + loops[0]]))
    return count
