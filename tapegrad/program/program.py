"""The program of a recording: bound frames in two streams, on a workspace whose layout is planned.

Frames are bound once with made-up addresses, one range for each thing whose place is not known yet: the workspace,
the inputs, the outputs and the gradients. A workspace of the program is a copy of the frames in which those are
replaced; the places of inputs, outputs and gradients are filled in at each call.
"""

from collections.abc import Iterable

import numpy as np

from tapegrad.engine import guard_pages, kernel_table
from tapegrad.engine.kernels import frame as word
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.bind import OUTER_WORDS
from tapegrad.engine.sweep.bind_recording import bind_instruction, instruction_variant
from tapegrad.engine.tape.layout import BROADCAST_SUM, COLUMNS, DIFFERENTIABLE, OP_KIND, OP_THRESHOLD
from tapegrad.engine.tape.tape import words_at
from tapegrad.frontend.description import Description
from tapegrad.ops import GUARDS
from tapegrad.program.listing import Listing
from tapegrad.program.memory_plan import MemoryPlan, place, place_apart
from tapegrad.program.passes.dead_code import live_instructions
from tapegrad.program.recording import RecordedTape
from tapegrad.program.spec import ProgramSpec
from tapegrad.program.stream import WORKSPACE, Binding, InstructionStream, binding_address

FORWARD, REVERSE, TANGENT = 0, 1, 2


class Program(Uncopied):
    """What a replay executes: planned once for a recording and a purpose. This one computes the outputs.

    Parameters
    ----------
    recording
        The tape. It stays alive: its constants are read where they lie.
    listing
        Its instructions, or those that are left of them after passes.
    outputs
        Slots of the results, each the whole of a buffer that an instruction writes.
    purpose
        What is computed.

    Attributes
    ----------
    forward, reverse
        The streams. The second one is empty, or is run after the first, once or many times.
    ports
        The arrays that a call works on: first the inputs and what else the caller gives, then the results.
    given
        How many of the ports the caller gives.
    bytes, fences
        Size of a workspace, and the offsets of the pages in it that must not be touched.
    guards
        For each row of the forward stream that is a guard, which one it is.
    """

    def __init__(
        self, recording: RecordedTape, listing: Listing, outputs: list[int], purpose: ProgramSpec
    ) -> None:
        self.recording = recording
        self.listing = listing
        self.purpose = purpose
        self.outputs = [Description(recording.header, slot) for slot in outputs]
        self._output_slots = outputs
        self._inputs = [self.listing.buffer_of[slot] for slot in recording.inputs]
        self._outputs = [self.listing.buffer_of[slot] for slot in outputs]
        self._wrt = [self._inputs[k] for k in purpose.wrt]
        self._active: set[int] = set()
        self._kept: list[np.ndarray] = []  # memory that frames point to
        self._zeros: dict[int, int] = {}
        self._choose()
        self._lifetimes = MemoryPlan()
        self._plan()
        self.bytes, self.fences = (
            place_apart(self._lifetimes) if guard_pages.on else (place(self._lifetimes), [])
        )
        self._input_bindings = [Binding(d.shape, d.dtype) for d in map(self._describe, recording.inputs)]
        self.bindings = [*self._input_bindings]
        self.given = len(self.bindings)
        self._add_bindings()
        self.forward, self.reverse = InstructionStream(len(self._live) + 8), InstructionStream(8)
        self.guards: dict[int, int] = {}
        self._make_header()
        self._bind()

    def _describe(self, slot: int) -> Description:
        return Description(self.recording.header, slot)

    # --- what each purpose does in its own way -------------------------------------------------------------------

    def _choose(self) -> None:
        """Choose the instructions."""
        self._live = live_instructions(self.listing, self._output_slots)

    def _plan(self) -> None:
        """Plan how long each block of the workspace lives."""
        self._plan_forward()
        for buffer in self._outputs:
            self._lifetimes.blocks.pop(("primal", buffer), None)  # outputs are ports

    def _add_bindings(self) -> None:
        """Add the ports of the results."""
        self.bindings += [Binding(d.shape, d.dtype) for d in self.outputs]

    def _place(self, primal: np.ndarray, cotangent: np.ndarray) -> None:
        """Enter the addresses of this purpose into the columns by buffer."""
        for k, buffer in enumerate(self._outputs, len(self._inputs)):
            primal[buffer] = binding_address(k)

    def _bind(self) -> None:
        """Bind the instructions."""
        for i in self._live:
            self._bind_forward(i)

    # --- common parts ----------------------------------------------------------------------------------------------

    def _plan_forward(self) -> None:
        """Primals live from the instruction that writes them to the last one that reads them."""
        for step, i in enumerate(self._live):
            self._plan_primal(i, step)

    def _plan_primal(self, i: int, step: int) -> None:
        listing = self.listing
        self._lifetimes.begin(("primal", listing.written(i)), listing.bytes[listing.written(i)], step)
        for buffer in (*listing.read(i), listing.written(i)):
            self._lifetimes.use(("primal", buffer), step)

    def _make_header(self) -> None:
        """A header of our own, like the tape's, with made-up addresses where the true ones are not known yet."""
        listing = self.listing
        self._primal = np.array(listing.primal, np.int64)
        self._cotangent = np.zeros_like(self._primal)
        columns_by_kind = {"primal": self._primal, "cotangent": self._cotangent, "tangent": self._cotangent}
        for (kind, buffer), block in self._lifetimes.blocks.items():
            if kind in columns_by_kind:
                columns_by_kind[kind][buffer] = WORKSPACE + block.offset
        for k, buffer in enumerate(self._inputs):
            self._primal[buffer] = binding_address(k)
        self._place(self._primal, self._cotangent)
        flags = np.zeros(len(listing.bytes), np.int8)
        flags[list(self._active)] = DIFFERENTIABLE
        buffer_of = np.array(listing.buffer_of, np.int32)
        header = self.recording.words.copy()
        columns: dict[str, np.ndarray] = {
            "primal": self._primal,
            "cotangent": self._cotangent,
            "flags": flags,
            "slot_buffer": buffer_of,
        }
        for name, values in columns.items():
            header[COLUMNS[name][0]] = values.ctypes.data
        self._kept += [header, flags, buffer_of]
        self._header = int(header.ctypes.data)

    def _bind_forward(self, i: int) -> None:
        op, buffer, stream = self.listing.op[i], self.listing.written(i), self.forward
        frame = self._bound(stream, i, FORWARD, 0)
        if kernel_table.op_words(op)[OP_KIND] == BROADCAST_SUM:
            frame = self.clear_sum(stream, frame, int(self._primal[buffer]), self.listing.bytes[buffer])
        if op in GUARDS:
            self.guards[len(stream)] = len(self.guards)
        self._add(stream, i, FORWARD, frame)

    def clear_sum(
        self, stream: InstructionStream, frame: np.ndarray, address: int, bytes_: int
    ) -> np.ndarray:
        """See to it that a sum begins at zero: of one line it is written, otherwise memory is cleared before."""
        if frame[word.OUTER] == 0 and frame[word.COUNT] > 0:
            frame[word.STORE] |= 1
            return frame
        kept = frame.copy()
        stream.fill(address, bytes_)
        frame = stream.next_frame()
        frame[:] = kept
        return frame

    def _bound(self, stream: InstructionStream, i: int, direction: int, store: int) -> np.ndarray:
        """The next frame of a stream, bound to instruction `i`; its outer loops in memory of their own."""
        frame = stream.next_frame()
        outer = np.empty(OUTER_WORDS, np.int64)
        bind_instruction(self._header, i, direction, frame.ctypes.data, outer.ctypes.data, store)
        if frame[word.OUTER]:
            loops = outer[: 1 + 5 * int(outer[0])].copy()
            self._kept.append(loops)
            frame[word.OUTER] = loops.ctypes.data
        return frame

    def _add(self, stream: InstructionStream, i: int, direction: int, frame: np.ndarray) -> None:
        """Add the row of a frame."""
        stream.add(self.kernel(i, direction), self.parallel_threshold(i, frame))

    def parameters(self, frame: np.ndarray, values: list[int]) -> None:
        params = np.array(values, np.int64)
        self._kept.append(params)
        frame[word.PARAMS] = params.ctypes.data

    def zeros(self, bytes_: int) -> int:
        """Address of zeros, for operands without a tangent."""
        if bytes_ not in self._zeros:
            block = np.zeros(bytes_ // 8 + 1)
            self._kept.append(block)
            self._zeros[bytes_] = int(block.ctypes.data)
        return self._zeros[bytes_]

    def kernel(self, i: int, direction: int) -> int:
        return kernel_table.load_code(*self._kernel(i, direction))

    def _kernel(self, i: int, direction: int) -> tuple[int, int, int]:
        return self.listing.op[i], instruction_variant(self._header, i), direction

    def _expect(self, instructions: Iterable[int], direction: int) -> None:
        """Say which kernels will be needed, before the first of them is compiled."""
        kernel_table.expect({self._kernel(i, direction) for i in instructions})

    def parallel_threshold(self, i: int, frame: np.ndarray) -> int:
        """The number of elements from which instruction `i` runs on several threads, 0 if it stays below."""
        parallel_threshold = int(kernel_table.op_words(self.listing.op[i])[OP_THRESHOLD])
        if parallel_threshold and self._elements(frame) >= abs(parallel_threshold):
            kernel_table.load_driver()
            return parallel_threshold
        return 0

    def _elements(self, frame: np.ndarray) -> int:
        """Number of elements that a frame goes through."""
        count = int(frame[word.COUNT])
        if frame[word.OUTER]:
            address = int(frame[word.OUTER])
            m = int(words_at(address, 1)[0])
            count *= int(np.prod(words_at(address + 8, m)))
        return count
