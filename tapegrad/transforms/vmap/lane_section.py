"""`vmap` within a recording: all instances as instructions of it, so that a replay runs no Python.

The function is called once, with Tensors that stand for one instance. The instructions that it records are appended
over lanes, and its guards hold for all instances: they take the same branches. The appended instructions are ordinary
ones: gradients, files and fusion need nothing for them.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_entries import Slot, TapeEntry
from tapegrad.engine.inspection.tape_view import TapeView, read_tape
from tapegrad.engine.tape.fields.layout import DEAD_OP
from tapegrad.engine.tape.tape import DTYPE_CODES, DTYPES
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.record_structural import as_numbers, record_out
from tapegrad.frontend.recording.shape import broadcast_to, contiguous, in_own_buffer, moveaxis
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, allocate, from_slot, is_tensor, slot_seen_as
from tapegrad.ops import CODES
from tapegrad.ops.params import read
from tapegrad.program.lanes.rules import widened
from tapegrad.program.lanes.widening import Widened, depending_on
from tapegrad.program.passes.dead_code import eliminate_dead_code
from tapegrad.program.passes.op_facts import IN_PLACE
from tapegrad.program.recording.calling import call
from tapegrad.program.recording.guards import Guard
from tapegrad.program.recording.recording import RecordedTape
from tapegrad.pytree import flatten
from tapegrad.transforms.vmap.mapped_axes import Mapped, repeated

_TRUTH = CODES["truth_guard"]
_MAX_UNROLLED = 64  # lanes of which each may have instructions of its own
_NO_STEPS = (0, 0, 0, 0)  # of an instruction for all lanes


def as_instructions(function: Callable[..., Any], mapped: Mapped) -> tuple[list[Any], Any] | None:
    """Record all instances. Return the leaves of the results, instances first, and their structure.

    `None` if instances take different branches, or an op has no instruction for all of them.
    """
    recorder = thread.mode.recorder
    assert isinstance(recorder, RecordedTape)
    with recorder.keeping_results():  # what one instance computes for all is read again
        return _over_lanes(recorder, function, mapped)


def _over_lanes(
    recorder: RecordedTape, function: Callable[..., Any], mapped: Mapped
) -> tuple[list[Any], Any] | None:
    wholes = [None if stack is None else as_numbers(stack, "vmap") for stack in mapped.stacks]
    if any(whole is not None and whole.dtype not in DTYPE_CODES for whole in wholes):
        return None
    pairs = [None if whole is None else _stand_in(recorder, whole) for whole in wholes]
    firsts = [None if pair is None else pair[0] for pair in pairs]
    section = _Section(recorder, {pair[0]._slot: pair[1] for pair in pairs if pair is not None})
    leaves, definition, guards = _instance(recorder, function, *mapped.with_parts(firsts))
    computed = {k: leaf._slot_on(recorder) for k, leaf in enumerate(leaves) if _is_computed(leaf)}
    try:
        found = section.over_lanes([*computed.values(), *(guard.slot for guard in guards)], mapped.size)
    except _NoInstruction:
        return None
    if not _guarded(recorder, guards, found):
        return None
    columns = [found.get(computed.get(k, -1)) for k in range(len(leaves))]
    taken = set[int]()
    of_all = [_of_all(leaf, column, mapped.size, taken) for leaf, column in zip(leaves, columns, strict=True)]
    return of_all, definition


def _stand_in(recorder: RecordedTape, whole: Tensor) -> tuple[Tensor, Tensor]:
    """Return a Tensor that stands for the first instance, and all instances with lanes last."""
    first = np.array(whole.data_or_traced()[0])
    return recorder.stand_in(first), contiguous(moveaxis(whole, 0, -1))


def _instance(
    recorder: RecordedTape, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], Any, list[Guard]]:
    """Call the function for an instance. Return leaves and structure of the result, and its unrecorded guards."""
    guards: list[Guard] = []
    try:
        with recorder.postponing_guards() as guards:
            leaves, definition = flatten(call(function, args, kwargs))
    except BaseException:
        for guard in guards:
            recorder.guard(*guard)
        raise
    return leaves, definition, guards


def _guarded(recorder: RecordedTape, guards: list[Guard], found: dict[int, Tensor]) -> bool:
    """Record the guards in their order, guards of batched values for all instances.

    Return whether the guards hold for all instances now; if not, record none.
    """
    every = [_for_all(guard, found[guard.slot]) if guard.slot in found else None for guard in guards]
    if any(one is not None and one[0].data_or_traced().tobytes() != one[1].tobytes() for one in every):
        return False
    for guard, one in zip(guards, every, strict=True):
        if one is None:
            recorder.guard(*guard)
        else:
            dtype, slot = DTYPE_CODES[one[0].dtype], one[0]._slot_on(recorder)
            recorder.guard_bytes(dtype, slot, one[1], guard.line)
    return True


def _for_all(guard: Guard, values: Tensor) -> tuple[Tensor, np.ndarray]:
    """Return the operand of a guard for all instances, given it with lanes last, and its expected value."""
    by_instance = contiguous(moveaxis(values, -1, 0))
    count = by_instance.shape[0]
    if guard.code != _TRUTH:
        return by_instance, np.frombuffer(guard.outcome * count, np.uint8)
    truths: Any = by_instance if by_instance.dtype == np.bool_ else by_instance != 0
    return truths, np.full(count, guard.params.truth != 0)


def _of_all(leaf: Any, column: Tensor | None, count: int, taken: set[int]) -> Any:
    """Return a result of all instances, given that of one, and its batched value with lanes last if it has one."""
    if column is not None:
        return _apart(moveaxis(column, -1, 0), taken)
    if _is_computed(leaf):
        return _apart(broadcast_to(leaf, (count, *leaf.shape)), taken)
    return repeated(leaf.data_or_traced() if is_tensor(leaf) else leaf, count)


def _apart(result: Tensor, taken: set[int]) -> Tensor:
    """Return a result in C order, and in memory that no other one has: so `stack` makes it outside of recordings.

    A view of it may be written to, and two results of an instance may be one Tensor.
    """
    own = in_own_buffer(result)
    if own.data_or_traced().ctypes.data in taken:
        own = contiguous(own)
    taken.add(own.data_or_traced().ctypes.data)
    return own


def _is_computed(leaf: Any) -> bool:
    """Return whether a result is a Tensor of a dtype that a recording can compute; others are constants."""
    return is_tensor(leaf) and leaf.dtype in DTYPE_CODES


# --- instructions over lanes -------------------------------------------------------------------------------------


class _NoInstruction(Exception):
    """Raised if an op has no instruction for all lanes, or fails for one of them."""


class _Section:
    """Section of a recording: the instructions of one instance, from the construction on.

    Parameters
    ----------
    recorder
        The recording.
    given
        For each slot that holds the instance's part of a batched input, that input with lanes last, in C order.
    """

    def __init__(self, recorder: RecordedTape, given: Mapping[int, Tensor]) -> None:
        self._recorder, self._given = recorder, dict(given)
        self._start = len(recorder)
        tape = read_tape(recorder)
        self._older = set(tape.buffers) - {tape.slots[slot].buffer for slot in given}

    def over_lanes(self, wanted: Sequence[int], lanes: int) -> dict[int, Tensor]:
        """Append the section for all lanes. Return, for each wanted slot that is batched, a Tensor with lanes last.

        Raises
        ------
        _NoInstruction
            If an op has no instruction for all lanes, or fails for one of them.
        """
        tape = self._instructions(wanted)
        batched = depending_on(tape, [tape.slots[slot].buffer for slot in self._given])
        self._check_writes(tape, batched)
        outputs = tuple(slot for slot in wanted if tape.slots[slot].buffer in batched)
        tape = replace(tape, outputs=outputs)
        made = widened(self._recorder, tape, [True] * len(tape.inputs), lanes)
        made = made._replace(tape=made.tape.in_objects)
        appended = _Appended(made, tape, set(tape.buffers) - batched, self._given)
        return dict(zip(outputs, map(appended.tensor, made.tape.outputs), strict=True))

    def _instructions(self, wanted: Sequence[int]) -> TapeView:
        """Return the instructions of the section that the wanted slots depend on."""
        tape = read_tape(self._recorder)
        ops = tape.columns.op.copy()
        ops[: self._start] = DEAD_OP
        instructions = tape.columns.instructions.with_ops(ops)
        own = replace(tape, instructions=instructions, inputs=tuple(self._given), outputs=tuple(wanted))
        return eliminate_dead_code(own)

    def _check_writes(self, tape: TapeView, batched: Set[int]) -> None:
        columns = tape.columns
        writes = columns.live[IN_PLACE[columns.op[columns.live]]].tolist()
        if any(tape.written[i] in batched and tape.read[i][0] in self._older for i in writes):
            raise UnsupportedError(
                "vmap: the function writes in place to a Tensor that it closes over, which all instances share;"
                " return what each instance writes"
            )


class _Appended:
    """Widened section that is appended to the recording.

    An instruction that runs lane by lane becomes one instruction for each lane.

    Parameters
    ----------
    made
        The section over lanes.
    tape
        The section of one instance.
    unbatched
        Buffers of the recording that the section uses as they are.
    given
        As of the section.
    """

    def __init__(
        self, made: Widened, tape: TapeView, unbatched: Set[int], given: Mapping[int, Tensor]
    ) -> None:
        self._made, self._tape, self._unbatched = made, tape, unbatched
        self._recorder: RecordedTape = made.recording
        self._slots: dict[tuple[int, int], int] = {}  # by slot over lanes and byte offset
        # An input that is seen as complex numbers is a copy of what is given
        buffers = [made.tape.slots[slot].buffer for slot in made.tape.inputs]
        self._bases = {
            buffer: whole._slot_on(self._recorder)
            for buffer, whole in zip(buffers, given.values(), strict=True)
        }
        self._held: list[Tensor] = []  # a slot lives as long as a Tensor holds it
        _check_unrolled(made)
        kernel_table.load_driver()
        for i, each in enumerate(made.tape.instructions):
            if made.tape.slots[each.result].buffer not in unbatched:
                steps = made.by_lane.get(i, _NO_STEPS)
                for lane in range(made.lanes if i in made.by_lane else 1):
                    self._add(each, [lane * step for step in steps])

    def tensor(self, number: int) -> Tensor:
        """Return the Tensor of a slot."""
        return from_slot(self._recorder, self._new_view(number))

    def _add(self, each: TapeEntry, offsets: Sequence[int]) -> None:
        """Append an instruction whose operands and result are shifted by bytes, and run it."""
        record = kernel_table.row(each.op).params
        params = None if record is None else read(record, each.params)
        buffer = self._made.tape.slots[each.result].buffer
        differentiate = self._made.tape.buffers[buffer].differentiable
        operands = [self._slot(slot, offset) for slot, offset in zip(each.operands, offsets, strict=False)]
        result = self._slot(each.result, offsets[-1])
        try:
            record_out(self._recorder, each.op, result, operands, params, "vmap", differentiate)
        except (ValueError, IndexError) as error:
            raise _NoInstruction("it fails for an instance") from error

    def _slot(self, number: int, offset: int) -> int:
        """Return the recording's own slot for an unbatched one, or else a new one."""
        if number in self._tape.slots and self._tape.slots[number].buffer in self._unbatched:
            return number
        if (number, offset) not in self._slots:
            self._slots[number, offset] = slot = self._new_view(number, offset)
            self._held.append(from_slot(self._recorder, slot))
        return self._slots[number, offset]

    def _new_view(self, number: int, shift: int = 0) -> int:
        entry = self._made.tape.slots[number]
        view = entry.view._replace(offset=entry.view.offset + shift)
        return slot_seen_as(self._recorder, self._base(entry), view, "vmap")

    def _base(self, entry: Slot) -> int:
        """Return a slot of the recording on the buffer of a slot of the widened section."""
        buffer = entry.buffer
        if buffer not in self._bases:
            if buffer in self._unbatched:
                self._bases[buffer] = self._tape.slots_on[buffer][0]
            elif buffer in self._made.constants:
                self._bases[buffer] = self._recorder.enter_constant(self._made.constants[buffer])
            else:
                self._bases[buffer] = self._allocated(entry)
        return self._bases[buffer]

    def _allocated(self, entry: Slot) -> int:
        """Return a slot on a new buffer of zeros, to which sums are added."""
        count = self._made.tape.buffers[entry.buffer].bytes // DTYPES[entry.dtype].itemsize
        made = allocate(self._recorder, DTYPES[entry.dtype], (count,), "vmap", zeroed=True)
        self._held.append(made)
        return made._slot


def _check_unrolled(made: Widened) -> None:
    """Raise if instructions run lane by lane that cannot be unrolled."""
    for i in made.by_lane:
        row = kernel_table.row(made.tape.instructions[i].op)
        if made.lanes > _MAX_UNROLLED or row.in_place or row.kind == "callback":
            raise _NoInstruction(row.name)
