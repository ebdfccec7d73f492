"""The tape of a function that is recorded for replay."""

import html
import types
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.translator.compiler import make_ready
from tapegrad.engine.inspection.printing import names_of_leaves
from tapegrad.engine.inspection.svg import Picture
from tapegrad.engine.runtime.object_layouts import ARRAY_DATA
from tapegrad.engine.sweep.derivatives import bind_recording
from tapegrad.engine.sweep.eager import eager
from tapegrad.engine.tape import release, slots
from tapegrad.engine.tape.fields.columns import COLUMNS
from tapegrad.engine.tape.fields.layout import (
    ALL_LIVE,
    B8,
    DIFFERENTIABLE,
    E_KERNEL,
    KEEPS_RESULTS,
    NONE,
    TRACED,
)
from tapegrad.engine.tape.memory import D_BUFFER, D_PRODUCER
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES, fields_at
from tapegrad.errors import OuterTensorError, UnsupportedError
from tapegrad.frontend.conversions.complex_views import complex_of, is_complex
from tapegrad.frontend.functions.shapes.flat_structures import pairs_in
from tapegrad.frontend.recording.shape import contiguous
from tapegrad.frontend.tensor.array_checks import UNSHARED, can_change, equal_bits, reference_counts
from tapegrad.frontend.tensor.arrays import borrowed
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.memory_order import copy_with_strides
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.recorder import Recorder
from tapegrad.frontend.tensor.tensor import Tensor, from_slot
from tapegrad.frontend.words.frames import program_frame
from tapegrad.ops import CODES
from tapegrad.ops.structural.control import GuardParams, TruthGuardParams
from tapegrad.program.fusion.shown import InProgram, ShownSegment
from tapegrad.program.passes.constant_folding import FoldedConstants
from tapegrad.program.programs.program import Program
from tapegrad.program.recording.guards import NOWHERE, Guard, SourceLine, has_same_outcome, here
from tapegrad.program.recording.tape_picture import draw_tape

_GUARD, _TRUTH = CODES["guard"], CODES["truth_guard"]
_HEAD_FIELDS = 6  # of NumPy's array object: data, number of dimensions, extents, strides, base, dtype


Sites = dict[tuple[types.CodeType, int], set[int]]


class Origins(NamedTuple):
    """Origins of the instructions of a tape with loops.

    Attributes
    ----------
    numbers
        For each instruction the first of those in whose place it stands.
    ops
        A checksum of the op codes.
    outcomes
        What the guards have seen, those that loops hold included.
    """

    numbers: list[int]
    ops: int
    outcomes: bytes


_SHOWN_LINES = 30  # at the beginning and at the end of a long tape


def memory_of(array: np.ndarray) -> int:
    """Return the id of the array that owns the memory of an array."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array)


class RecordedTape(Recorder):
    """A tape on which everything is appended and no instruction is forgotten.

    Attributes
    ----------
    inputs
        Slots of the arguments, in order.
    outputs
        Slots of the results that are computed, in order.
    expected
        What Python has seen of recorded integers and booleans, byte for byte; guards compare with it.
    outcomes
        What each guard has seen, in order: two recordings of a function part where these do.
    asked_order
        What depends on the order in memory of arguments, if anything does: then they must be in C order.
    closes_over_leaf
        Whether some Tensor from outside is one that a gradient can flow back from.
    folded
        The constants that replays have in the place of instructions, once these are known.
    fused
        For each program that was made of it, the segments that replays of that run.
    programs
        The programs that were made of it, as long as a trace keeps them.
    guard_lines
        For each guard the source line that has asked for its value.
    sites
        For each source line at which arrays became operands, their memory.
    lifted
        Of the body of a loop: the Tensors from outside that became inputs, by `part_key`, each with the input. `None`
        for recordings that read such Tensors where they lie.
    origins
        Where loops were found: what the tape was made of.
    stand_ins
        Where no more of them may become inputs, the Tensors that stand for those that did.
    """

    __slots__ = (
        "_captured", "_entered", "_narrow", "_other", "_postponed", "_reordered", "_watched", "_wrapping",
        "asked_order", "closes_over_leaf", "expected", "folded", "fused", "guard_lines", "inputs", "lifted", "origins",
        "outcomes", "outputs", "programs", "sites", "stand_ins",
    )  # fmt: skip
    recording = True

    def __init__(self, reordered: bool = False) -> None:
        make_ready(release.close_tape)
        super().__init__(kernel_table.tables(), all_live=True)
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.expected: list[np.ndarray] = []
        self.outcomes: list[bytes] = []
        self.guard_lines: list[SourceLine] = []
        self.closes_over_leaf = False
        self.asked_order = ""
        self._reordered = reordered
        self.folded: FoldedConstants | None = None
        self.fused: dict[Any, list[InProgram]] = {}
        self.programs: dict[Any, ref[Program]] = {}
        self.sites: Sites = {}
        self.lifted: dict[Any, tuple[Tensor, Tensor]] | None = None
        self.origins: Origins | None = None
        self.stand_ins: dict[Any, Tensor] | None = None
        self.weak: set[int] = set()
        self.is_over = False
        self._captured: dict[int, tuple[Any, int]] = {}
        self._other: dict[int, Tensor] = {}  # made here, of dtypes that no tape knows
        self._narrow: list[tuple[np.ndarray, np.ndarray]] = []  # integers of other dtypes, as int64
        self._postponed: list[Guard] | None = None
        self._watched: dict[tuple[int, int], bytes] = {}
        self._wrapping: set[int] = set()  # buffers of integers beyond int64
        # Buffer, array, its contents when it entered
        self._entered: list[tuple[int, np.ndarray, np.ndarray]] = []

    @property
    def segments(self) -> list[ShownSegment]:
        """The segments that replays run in place of single instructions, of all programs that were made so far."""
        found = [each for segments in list(self.fused.values()) for each in segments]
        return [ShownSegment(each, lambda: names_of_leaves(self)) for each in found]

    def plot(self, computes: str = "") -> Picture:
        """Draw the tape: its listing, the segments of a program as bands, and when each block of memory is in use.

        Parameters
        ----------
        computes : str, optional
            The program: "forward", "value_and_grad", "jacrev", "jacfwd", "jvp" or "vjp"; by default the last that a
            call has made.

        Returns
        -------
        Picture
            SVG: a notebook shows it, ``save(path)`` writes it.

        Raises
        ------
        ValueError
            If no call has made this program yet.
        """
        specs = [spec for spec in self.programs if computes in ("", spec.kind)]
        if computes and not specs:
            made = ", ".join(sorted({spec.kind for spec in self.programs})) or "none"
            raise ValueError(f"plot: no call has made the program {computes!r} of this tape; made: {made}")
        spec = specs[-1] if specs else None
        segments = [ShownSegment(each, lambda: names_of_leaves(self)) for each in self.fused.get(spec, ())]
        program = None if spec is None else self.programs[spec]()
        return draw_tape(super().__str__().split("\n"), spec.kind if spec else "", segments, program)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    @property
    def text(self) -> str:
        """Listing of all instructions and segments, one a line; printed, a long tape is shortened."""
        return "\n".join([line for lines in self._lines() for line in lines])

    def _lines(self) -> tuple[list[str], list[str]]:
        """Return the lines of the instructions, and those of the segments."""
        shown = [f"{number:3d}  {segment.summary}" for number, segment in enumerate(self.segments)]
        return super().__str__().split("\n"), ["segments", *shown] if shown else []

    def __str__(self) -> str:
        return "\n".join([line for lines in self._lines() for line in _shortened(lines)])

    def __repr__(self) -> str:
        return f"<tape of {len(self)} instructions>\n{self}"

    def _enter_array(self, array: np.ndarray, flags: int) -> int:
        code = DTYPE_CODES.get(array.dtype)
        if code is None:
            raise UnsupportedError(
                f"dtype {array.dtype} in a recorded function: use float64, float32, int64 or bool"
            )
        entered = slots.enter_array(self.header, id(array), code, flags)
        if entered < 0:
            raise ValueError(f"an array of shape {array.shape} has too many dimensions")
        slot, buffer = entered & 0xFFFFFFFF, entered >> 32
        self.owners[buffer] = array
        if array.size and can_change(array):
            self._entered.append((buffer, array, copy_with_strides(array)))
        return int(slot)

    def _note_operand(self, array: np.ndarray) -> None:
        """Remember where in the user's code an array became an operand."""
        frame = program_frame()
        if frame is not None:
            self.sites.setdefault((frame.f_code, frame.f_lasti), set()).add(memory_of(array))

    def begun_like(self) -> "RecordedTape":
        """Return a new tape for the same function, on which nothing is recorded yet."""
        made = RecordedTape(self._reordered)
        made.asked_order, made.closes_over_leaf, made.sites = (
            self.asked_order,
            self.closes_over_leaf,
            self.sites,
        )
        if self.lifted is not None:
            made.lifted = {}
        return made

    @property
    def captured_tensors(self) -> dict[int, Tensor]:
        """The Tensors from outside that are constants, by their buffers."""
        pairs = self._captured.values()
        return {SlotDescription(self.header, slot)[D_BUFFER]: tensor for tensor, slot in pairs}

    @property
    def has_captured(self) -> bool:
        """True if it refers to Tensors from outside."""
        return bool(self._captured)

    @property
    def occupied(self) -> int:
        """Memory that the tape occupies, with the arrays that it alone has."""
        entries = max(len(self), 256) * sum(width for _, width, _ in COLUMNS.values())
        own: list[np.ndarray] = [*self.owners.values(), *self.expected, *(array for _, array in self._narrow)]
        counts = reference_counts(own)  # the tape's, beside that of this list
        return entries + sum(a.nbytes for a, count in zip(own, counts, strict=True) if count <= UNSHARED + 1)

    def add_input(
        self, array: np.ndarray, dtype: np.dtype[Any] | None = None, weak: bool = False, wraps: bool = False
    ) -> Tensor:
        """Add an argument of the function; return its Tensor.

        Parameters
        ----------
        array
            Its contents, in a dtype of the engine.
        dtype
            Its own dtype: of integers that the engine has as int64, another one.
        weak, wraps
            It is a Python number; it holds integers that are beyond int64.
        """
        flags = TRACED | (DIFFERENTIABLE if array.dtype.kind in DIFFERENTIABLE_KINDS else 0)
        slot = self._enter_array(array, flags)
        bind_recording.hold(self.header, slot)
        self.inputs.append(slot)
        tensor = from_slot(self, slot)
        tensor._array = array if dtype is None else array.astype(dtype, copy=False)
        tensor._version = 0
        if tensor._array is not array:
            self._narrow.append((tensor._array, array))
        if weak:
            self.weak.add(slot)
        if wraps:
            self._wrapping.add(SlotDescription(self.header, slot)[D_BUFFER])
        return tensor

    def add_output(self, value: Tensor) -> int:
        """Add a result that is computed, copied if it is a part of a buffer; return its number."""
        shown = {SlotDescription(self.header, slot)[D_BUFFER] for slot in self.outputs}
        value = self.in_own_buffer(value, shown)
        slot = value._slot_on(self)
        bind_recording.hold(self.header, slot)
        self.outputs.append(slot)
        return len(self.outputs) - 1

    def in_own_buffer(self, value: Tensor, shown: set[int]) -> Tensor:
        """Return a result, copied if it is not the whole of a buffer that an instruction writes and no other one shows.

        The buffers that are `shown` have its own among them afterwards.
        """
        described = SlotDescription(self.header, value._slot_on(self))
        whole = bool(bind_recording.covers(self.header, value._slot))
        if described[D_PRODUCER] == NONE or not whole or described[D_BUFFER] in shown:
            value = contiguous(value)
            described = SlotDescription(self.header, value._slot_on(self))
        shown.add(described[D_BUFFER])
        return value

    def ask_memory_order(self, what: str) -> None:
        """Note what depends on the order in memory of arguments; raise if they were given in another one than C."""
        self.asked_order = what
        self.check_memory_order(self._reordered)

    def check_memory_order(self, reordered: bool) -> None:
        """Raise if results depend on the order in memory of arguments, and these are in another one than C."""
        if self.asked_order and reordered:
            raise UnsupportedError(
                f"{self.asked_order} in a function that is recorded for arguments in C order, and one of these"
                " is in another order: write order='C' or order='F', or pass np.ascontiguousarray(a)"
            )

    def stand_in(self, array: np.ndarray) -> Tensor:
        """Return a Tensor with these contents that is traced like an argument, and is none."""
        flags = TRACED | (DIFFERENTIABLE if array.dtype.kind in DIFFERENTIABLE_KINDS else 0)
        slot = self._enter_array(array, flags)
        bind_recording.hold(self.header, slot)
        return from_slot(self, slot)

    def enter_constant(self, array: np.ndarray) -> int:
        """Return a slot for an array that is never written to."""
        slot = self._enter_array(array, 0)
        bind_recording.hold(self.header, slot)
        return slot

    def is_weak(self, value: Any) -> bool:
        """Return whether a value stands for a Python number."""
        return (
            bool(self.weak) and isinstance(value, Tensor) and value._tape is self and value._slot in self.weak
        )

    def widened(self, array: np.ndarray) -> np.ndarray:
        """Return the part of the engine's int64 array that holds a view of an argument of narrow integers."""
        for narrow, wide in self._narrow:
            if np.may_share_memory(narrow, array):
                item = narrow.itemsize
                offset = (array.ctypes.data - narrow.ctypes.data) // item
                strides = tuple(stride // item * wide.itemsize for stride in array.strides)
                return np.ndarray(array.shape, wide.dtype, wide, offset * wide.itemsize, strides)
        return array

    def wraps(self, tensor: Tensor) -> bool:
        """Return whether the engine has a Tensor's integers modulo 2**64 only."""
        if tensor._tape is not self:
            return isinstance(tensor._tape, Recorder) and tensor._tape.wraps(tensor)
        return bool(self._wrapping) and tensor._describe()[D_BUFFER] in self._wrapping

    def adopt(self, tensor: Tensor) -> None:
        """Take in a Tensor that is made from an array while recording."""
        assert tensor._array is not None
        if tensor._array.dtype not in DTYPE_CODES:
            self._other[id(tensor)] = tensor
            return
        self._note_operand(tensor._array)
        slot = self._enter_array(tensor._array, 0 if tensor._constant else DIFFERENTIABLE)
        tensor._tape, tensor._slot = self, slot

    def has_made(self, tensor: Tensor) -> bool:
        """Return whether a Tensor was made while recording: a write to it is repeated by each replay."""
        return tensor._tape is self or id(tensor) in self._other

    def capture(self, tensor: Tensor) -> int:
        """Return the slot of a Tensor from outside: a constant that is read where it lies at each replay.

        In the body of a loop it is an input, if a gradient can flow back from it or another recording computes it.
        """
        if self.lifted is not None and is_lifted(tensor):
            return self.lift(tensor)._slot_on(self)
        self.closes_over_leaf |= thread.mode.differentiate and not tensor.constant
        self._note_operand(tensor.data_or_traced())
        known = self._captured.get(id(tensor))
        if known is not None:
            return known[1]
        if tensor._tape is not None and tensor._tape.recording:
            raise OuterTensorError("a Tensor of one recording was used in another; pass it as an argument")
        array = tensor.data_or_traced()
        slot = self._enter_array(array, 0)
        bind_recording.hold(self.header, slot)
        self._captured[id(tensor)] = (tensor, slot)
        return slot

    def takes(self, tensor: Tensor) -> bool:
        """Return whether a Tensor that another recording computes becomes an input: in the body of a loop."""
        if self.lifted is None or tensor._tape is self or not _is_computed(tensor):
            return False
        described = tensor._describe()
        return bool(described.flags & TRACED) or described[D_PRODUCER] != NONE

    def lift(self, tensor: Tensor, value: np.ndarray | None = None) -> Tensor:
        """Return the input that a Tensor from outside is in the body of a loop, or what stands for it.

        `value` is its value in the iteration that is recorded, if that is another one than at first. The input of
        complex numbers is of pairs of floats, and is seen as complex.
        """
        assert self.lifted is not None
        key = part_key(tensor)
        if self.stand_ins is not None:
            if key not in self.stand_ins:
                raise OuterTensorError(
                    "a loop computes with another Tensor of the function around than when it was first recorded; pass"
                    " it as an argument"
                )
            return self.stand_ins[key]
        if key not in self.lifted:
            array = pairs_in(tensor.data_or_traced() if value is None else value)
            made = self.add_input(np.array(array, order="C"))
            self.lifted[key] = tensor, complex_of(made) if is_complex(tensor) else made
        return self.lifted[key][1]

    @contextmanager
    def standing_in(self, outer: Iterable[Tensor], inner: Iterable[Tensor]) -> Iterator[None]:
        """Let Tensors of this recording stand for those from outside in a context."""
        before, self.stand_ins = self.stand_ins, dict(zip(map(part_key, outer), inner, strict=True))
        try:
            yield
        finally:
            self.stand_ins = before

    def guard(
        self, code: int, dtype: int, slot: int, params: Any, outcome: bytes, line: SourceLine | None = None
    ) -> None:
        """Record that a replay must find the same in a slot; by default for the line that is executed now."""
        line = here() if line is None else line
        if self._postponed is not None:
            bind_recording.hold(self.header, slot)
            self._postponed.append(Guard(code, dtype, slot, params, outcome, line))
            return
        self.outcomes.append(outcome)
        self.guard_lines.append(line)
        # The result is nothing but what keeps the instruction alive: its handle is never dropped.
        result = slots.allocate(self.header, B8, (), False)
        fields = kernel_table.params_fields(code, params)
        arguments = (self.header, code, result, slot, NONE, NONE, fields, False)
        if eager.record_out(*arguments) == E_KERNEL:
            kernel_table.load_code(code, dtype, 0)
            eager.record_out(*arguments)

    @contextmanager
    def keeping_results(self) -> Iterator[None]:
        """Keep in a context what instructions compute, for slots that no Tensor holds to be read again."""
        before, self._fields[ALL_LIVE] = int(self._fields[ALL_LIVE]), KEEPS_RESULTS
        try:
            yield
        finally:
            self._fields[ALL_LIVE] = before

    @contextmanager
    def postponing_guards(self) -> Iterator[list[Guard]]:
        """Postpone guards in a context: they are not recorded but put in a list, for the caller to record."""
        before, self._postponed = self._postponed, []
        try:
            yield self._postponed
        finally:
            self._postponed = before

    def guard_bytes(self, dtype: int, slot: int, array: np.ndarray, line: SourceLine | None = None) -> None:
        """Record that a replay must find the bytes of a contiguous `array` in a slot."""
        expected = array.copy()
        self.expected.append(expected)
        params = GuardParams(expected.nbytes, expected.ctypes.data)
        self.guard(_GUARD, dtype, slot, params, expected.tobytes(), line)

    def guard_outcome(
        self, name: str, function: Callable[..., Any], operands: list[Tensor], outcome: Any
    ) -> None:
        """Record that a function of arrays, called `name`, must say the same of the operands in a replay."""
        held, seen = has_same_outcome(name, function, operands, outcome)
        self.guard(_TRUTH, DTYPE_CODES[held.dtype], held._slot_on(self), TruthGuardParams(1), seen)

    def watch(self, array: np.ndarray, line: SourceLine = NOWHERE) -> None:
        """Guard the contents of an array that are used now, once for all: as an index, or converted by NumPy."""
        if array.size == 0:
            return
        # With gaps: at worst that records anew without need
        low, high = np.lib.array_utils.byte_bounds(array)
        self._watch_bytes(array, low, high - low, line)

    def watch_head(self, array: np.ndarray, line: SourceLine = NOWHERE) -> None:
        """Guard where an array lies, its shape, its strides and its dtype, which may be set in place."""
        head = id(array) + ARRAY_DATA
        self._watch_bytes(array, head, 8 * _HEAD_FIELDS, line)
        _, ndim, extents, strides = fields_at(head, 4).tolist()
        bytes_ = 8 * (ndim & 0xFFFFFFFF)
        if bytes_ and strides == extents + bytes_:  # NumPy allocates both together
            self._watch_bytes(array, extents, 2 * bytes_, line)
        elif bytes_:
            self._watch_bytes(array, extents, bytes_, line)
            self._watch_bytes(array, strides, bytes_, line)

    def _watch_bytes(self, owner: np.ndarray, address: int, bytes_: int, line: SourceLine) -> None:
        """Guard memory that lives as long as an array."""
        plain = borrowed(owner, address, bytes_)
        known = self._watched.get((address, bytes_))
        if known is None or known != plain.tobytes():
            self._watched[address, bytes_] = plain.tobytes()
            self.guard_bytes(B8, self._enter_array(plain, 0), plain, line)

    @property
    def all_outcomes(self) -> tuple[bytes, ...]:
        """Outcomes of all guards, those in loops as one: recordings of a function part where these do."""
        of_loops = () if self.origins is None else (self.origins.outcomes,)
        return (*self.outcomes, *of_loops)

    @property
    def ops_checksum(self) -> int:
        """Checksum of the op codes."""
        return zlib.crc32(self.column("op").tobytes())

    def settle(self) -> None:
        """End of the recording: arrays that the function has changed since it used them are replaced by what they were.

        All others are read where they lie at each replay.
        """
        primal = fields_at(int(self._fields[COLUMNS["primal"][0]]), len(self.column("primal")))
        for buffer, array, seen in self._entered:
            begin = np.lib.array_utils.byte_bounds(array)[0]
            if primal[buffer] == begin and not equal_bits(array, seen):
                primal[buffer] = np.lib.array_utils.byte_bounds(seen)[0]
                self.owners[buffer] = seen
        self.is_over = True
        self._entered.clear()
        self._other.clear()
        bind_recording.forget_results(self.header)


def _shortened(lines: list[str]) -> list[str]:
    """Return the first and the last of some lines, and how many there are between."""
    left = len(lines) - 2 * _SHOWN_LINES
    if left <= 1:
        return lines
    return [*lines[:_SHOWN_LINES], f"... {left:,} more lines: tape.text has all", *lines[-_SHOWN_LINES:]]


def part_key(tensor: Tensor) -> Any:
    """Return a key of the part of its base that a Tensor is: an index makes a new view each time."""
    base = tensor if tensor._base is None else tensor._base
    array = tensor.data_or_traced()
    begin = array.__array_interface__["data"][0] - base.data_or_traced().__array_interface__["data"][0]
    return id(base), begin, array.shape, array.strides, array.dtype


def is_on(tensor: Tensor, recorder: Recorder | None) -> bool:
    """Return whether a Tensor belongs to a recording."""
    return tensor._tape is recorder


def is_traced(tensor: Tensor) -> bool:
    """Return whether a replay may find another value of a Tensor: it is computed by a recording that is under way."""
    return _is_computed(tensor) and bool(tensor._describe().flags & TRACED)


def is_lifted(tensor: Tensor) -> bool:
    """Return whether a Tensor from outside becomes an input of the body of a loop."""
    return _is_computed(tensor) or not tensor.constant


def _is_computed(tensor: Tensor) -> bool:
    """Return whether a Tensor belongs to a recording, which may compute another value in each replay."""
    return tensor._tape is not None and tensor._tape.recording
