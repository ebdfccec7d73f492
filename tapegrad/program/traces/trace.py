"""Record a function: run it once with Tensors on a tape of its own."""

import functools
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any
from weakref import ref

import numpy as np

from tapegrad.autodiff.sparsity.shared_columns import SharedColumns, shared_columns
from tapegrad.engine.codegen.translator.compiler import EVERY_COMPUTATION, EVERY_RECORDING, expect_group
from tapegrad.engine.inspection import verify
from tapegrad.engine.inspection.narrow_columns import MIN_ENTRIES
from tapegrad.engine.inspection.tape_view import TapeView, read_tape
from tapegrad.engine.inspection.verify.switch import switch
from tapegrad.engine.runtime.messages import logs
from tapegrad.engine.runtime.messages.progress import SlowStep
from tapegrad.engine.runtime.pace import in_background
from tapegrad.engine.runtime.short_times import quantity
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS, DTYPE_CODES
from tapegrad.errors import RecordingWarning, name_of
from tapegrad.frontend.conversions.complex_views import part_dtype
from tapegrad.frontend.conversions.conversion import concrete_array
from tapegrad.frontend.tensor.arrays import show
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import recording as recording_on
from tapegrad.frontend.tensor.modes import restoring, thread
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words.frames import program_level
from tapegrad.program import passes
from tapegrad.program.captured.captured_state import ReachableState
from tapegrad.program.dataflow.follow import arrays_used
from tapegrad.program.fusion.policy import fusion_of
from tapegrad.program.passes.constant_folding import (
    NOTHING,
    FoldedConstants,
    find_constant_instructions,
    fold,
    only_constants,
)
from tapegrad.program.passes.layouts import with_layouts
from tapegrad.program.programs.certified_columns import certify_columns
from tapegrad.program.programs.kinds import make_program
from tapegrad.program.programs.program import Program
from tapegrad.program.programs.workspace import PooledProgram, Workspace
from tapegrad.program.recording.calling import call
from tapegrad.program.recording.constant_results import ConstantOutput, PassthroughOutput
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.recording.recording import RecordedTape
from tapegrad.program.recording.signature import ArgSpec, Arguments, numpy_scalar
from tapegrad.program.rolling.roller import MIN_INSTRUCTIONS, roller
from tapegrad.program.streams.spec import FORWARD, IF_KNOWN, JACFWD, JVP, NEVER, NOW, WHOLE, ProgramSpec
from tapegrad.pytree import flatten, unflatten

_CONTENTS = "the contents of {}, an array that plain NumPy has computed from"
# What a recording occupies beside its arrays: Python's objects, and for each instruction what a program binds.
_RECORDING_BYTES, _INSTRUCTION_BYTES = 40_000, 2_000
_MIN_SWEEPS = 16  # of a Jacobian for which it is worth while to look for columns that share them
_MAX_COLOURS = 64
_UNFUSED = {
    NEVER: "fusion is off",
    IF_KNOWN: "fused when replays have cost enough",
    NOW: "nothing fuses",
    WHOLE: "nothing fuses",
}


class Trace(Uncopied):
    """A function as it ran once: its tape, what it returned, and the programs made of that.

    Attributes
    ----------
    name
        Name of the function, for messages.
    outcomes
        What the guards on the way have seen.
    run_length
        Instructions that the run has recorded. Guards on captured arrays come after these.
    writes_arguments
        Whether the function wrote to its arguments in place.
    bytes
        Memory that it occupies, with its programs and workspaces.
    counted
        How much of that has been counted by those who keep it.
    paths
        For those who replay it: what they have made to do so fast.
    over_lanes
        What `vmap` has made of it.
    number
        How many were made of the function and its transforms when this one was, itself included.
    told
        What `explain` says of it: what its arguments looked like, and why it was made.
    nanoseconds
        What its last replay took that Python has run.
    lifted
        Of the body of a loop: the Tensors from outside that are its last inputs.
    certified
        For specs whose program was certified: what certifies another program of it.
    """

    @restoring
    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        fuse: bool | str | None = None,
        lifted: Sequence[tuple[Tensor, np.ndarray]] | None = None,
        roll: bool | None = None,
    ) -> None:
        expect_group(EVERY_COMPUTATION)
        expect_group(EVERY_RECORDING)
        self.name = name_of(function)
        self.recording = RecordedTape(arguments.reordered)
        self._programs: dict[ProgramSpec, PooledProgram[Program]] = {}
        self._tape: TapeView | None = None
        self._shared_columns: dict[tuple[int, ...], SharedColumns | None] = {}
        self._fusion = fusion_of(fuse)
        self._arg_specs = list(arguments.arg_specs)
        self.over_lanes: dict[Any, Any] = {}
        self.certified: dict[ProgramSpec, Any] = {}
        self.told: tuple[str, str] | None = None
        self.number = 0
        self.nanoseconds = 0
        self.lifted: list[Tensor] = []
        with recording_on(self.recording):
            tensors = [
                self.recording.add_input(array.copy(), arg_spec.dtype, arg_spec.weak, arg_spec.wraps)
                for array, arg_spec in zip(arguments.arrays, arguments.arg_specs, strict=True)
            ]
            if lifted is not None:
                self.recording.lifted = {}
                for tensor, value in lifted:
                    self.recording.lift(tensor, value)
            leaves = [
                leaf if position < 0 else tensors[position]
                for leaf, position in zip(arguments.leaves, arguments.positions, strict=True)
            ]
            args, kwargs = unflatten(arguments.definition, leaves)
            given = [tensor._slot for tensor in tensors]
            with SlowStep(lambda: f"recording {self.name}: {len(self.recording):,} instructions"):
                results, self._definition = flatten(call(function, args, kwargs))
            if lifted is not None:
                self._take_lifted()
            self._results = [self._take_result(value) for value in results]
            self.writes_arguments = [tensor._slot for tensor in tensors] != given
            self.recording.settle()
        self._roll(roll)
        self.run_length = len(self.recording)
        self.outcomes = self.recording.all_outcomes
        self.bytes = _RECORDING_BYTES + self.recording.occupied
        self.counted = 0
        self.paths: dict[Any, Any] = {}

    def _take_lifted(self) -> None:
        """Take the Tensors from outside as further inputs."""
        assert self.recording.lifted is not None
        pairs = list(self.recording.lifted.values())
        self.lifted = [outer for outer, _ in pairs]
        self._arg_specs += [ArgSpec(part_dtype(inner.dtype)) for _, inner in pairs]

    def watch_arrays(self, function: Any, seen: ReachableState, given: list[Any]) -> None:
        """Guard the arrays that the function sees: how they lie, and the contents of those it may read by itself.

        Objects that it makes and returns are copied for each replay.
        """
        for result in self._results:
            if isinstance(result, ConstantOutput):
                result.keep_apart(self.name, seen)
        for number, array in seen.arrays.items():
            self.recording.watch_head(array, _guarded("the layout of {}", seen.paths.get(number)))
        for array in arrays_used(function, seen, given, self.recording.sites):
            self.recording.watch(array, _guarded(_CONTENTS, seen.paths.get(id(array))))
        self.outcomes = self.recording.all_outcomes

    def _take_result(self, value: Any) -> Any:
        """Return a result as the number of an output, or as a constant."""
        if not is_tensor(value) or value._tape is not self.recording:
            return ConstantOutput(value)
        slot = value._slot_on(self.recording)
        if value.dtype.kind not in DIFFERENTIABLE_KINDS and slot in self.recording.inputs:
            number = self.recording.inputs.index(slot)
            return PassthroughOutput(number, self._arg_specs[number].dtype)
        if value.dtype not in DTYPE_CODES:
            return ConstantOutput(concrete_array(value, "a result").copy())
        return self.recording.add_output(value)

    def _roll(self, roll: bool | None) -> None:
        """Put loops in the place of what repeats, if that is wished or pays.

        Where nobody has asked for it, a function that cannot be rolled stays what it is.
        """
        long = roll or len(self.recording) >= MIN_INSTRUCTIONS
        if roll is False or not long or self.writes_arguments or thread.mode.anomaly is not None:
            return
        try:
            rolled = roller()(self.recording, bool(roll))
        except Exception as error:
            if roll:
                raise
            message = (
                f"the loops of {self.name} stay unrolled, for rolling them up has failed ({type(error).__name__}:"
                f" {error}); jit(f, roll=False) does without"
            )
            warnings.warn(message, RecordingWarning, stacklevel=program_level())
            return
        if rolled is not None:
            self.recording = rolled

    @property
    def output_slots(self) -> list[int]:
        """Slots of the results that are computed."""
        return self.recording.outputs

    @property
    def only_output(self) -> int:
        """Number of the one result, -1 if the function returned something else than one float Tensor."""
        is_float = (
            self.single and SlotDescription(self.recording.header, self.output_slots[0]).dtype.kind == "f"
        )
        return 0 if is_float else -1

    @property
    def value_output(self) -> int:
        """Number of the first of two results, -1 if the function returned something else than a float Tensor and aux.

        The first is output number 0, for outputs are counted from left to right.
        """
        pair = self._definition is not None and self._definition[0] is tuple and len(self._definition[1]) == 2
        if not pair or self._definition[1][0] is not None or not isinstance(self._results[0], int):
            return -1
        return 0 if SlotDescription(self.recording.header, self.output_slots[0]).dtype.kind == "f" else -1

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of the first output."""
        return SlotDescription(self.recording.header, self.output_slots[0]).shape

    @property
    def single(self) -> bool:
        """True if the function returned one computed value, in no structure."""
        return self._definition is None and bool(self.output_slots)

    @property
    def results(self) -> list[Any]:
        """Return for each leaf of the result an output's number, a `PassthroughOutput` or a `ConstantOutput`."""
        return self._results

    @property
    def arg_specs(self) -> tuple[ArgSpec, ...]:
        """Specs of the arguments that it was recorded with."""
        return tuple(self._arg_specs)

    @property
    def definition(self) -> Any:
        """The structure of the result without its leaves."""
        return self._definition

    @property
    def computed(self) -> list[int]:
        """Mask of the leaves of the function's result that are outputs."""
        return [k for k, result in enumerate(self._results) if isinstance(result, int)]

    def tangents(self, inputs: list[np.ndarray], tangents: list[np.ndarray]) -> Any:
        """Return the function's result with these tangents in place of its outputs, and zeros for constants."""
        values = [
            numpy_scalar(tangents[r]) if isinstance(r, int) else r.tangent(inputs) for r in self._results
        ]
        return unflatten(self._definition, values)

    def input_shape(self, k: int) -> tuple[int, ...]:
        """Shape of input number `k`."""
        return SlotDescription(self.recording.header, self.recording.inputs[k]).shape

    def shared_columns(self, wrt: tuple[int, ...], sweeps: int, values: bool = False) -> SharedColumns | None:
        """Return the columns of the first output's Jacobian that share tangents, if that saves most of the sweeps.

        Parameters
        ----------
        wrt
            The inputs that it differentiates by.
        sweeps
            How many it takes otherwise.
        values
            As of the spec of the program that they are for, which certifies them.

        Raises
        ------
        CertificateError
            If columns share tangents that must not.
        """
        if sweeps < _MIN_SWEEPS or self.writes_arguments:
            return None
        if wrt not in self._shared_columns:
            inputs = [self.recording.inputs[k] for k in wrt]
            most = min(sweeps // 2, _MAX_COLOURS)
            found = shared_columns(self.recording, inputs, self.output_slots[0], most)
            if found is not None:
                self._certify(ProgramSpec(JACFWD, wrt, values, found))
            self._shared_columns[wrt] = found
        return self._shared_columns[wrt]

    def _certify(self, spec: ProgramSpec) -> None:
        """Compare a Jacobian whose columns share tangents with tangents, at the arguments of the recording."""
        arrays: list[Any] = [show(self.recording, slot, False) for slot in self.recording.inputs]
        workspace = self.take_workspace(spec)
        status, results = workspace.run(arrays)
        self.workspaces(spec).append(workspace)
        if status == 0:  # otherwise a guard has failed, on what has changed since the recording
            program = make_program(self.recording, self.tape, ProgramSpec(JVP, spec.wrt), NEVER)
            certify_columns(self.name, results[-len(spec.wrt) :], arrays, self._workspace(program))

    def result(self, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> Any:
        """Return the function's result for these inputs, with these arrays for its outputs."""
        values = [numpy_scalar(outputs[r]) if isinstance(r, int) else r.value(inputs) for r in self._results]
        return unflatten(self._definition, values)

    def renewed(self, constant: Any) -> Any:
        """Return a copy of a constant among earlier results, if each replay has a copy of it."""
        owner = next((r for r in self._results if isinstance(r, ConstantOutput) and r.is_copied), None)
        return constant if owner is None else owner.renewed(constant)

    # --- programs ----------------------------------------------------------------------------------------------

    @property
    def tape(self) -> TapeView:
        """The recording, and what passes have made of it."""
        tape = self._tape
        if tape is None:
            verify.check_if_enabled(self.recording)
            tape = self._tape = _read(self.recording)
        return tape

    @property
    def fusion(self) -> str:
        """Fusion policy of its programs."""
        return self._fusion

    def program(self, spec: ProgramSpec) -> Program:
        """Return the program for a spec."""
        return self._pooled(spec).program

    def _pooled(self, spec: ProgramSpec) -> PooledProgram[Program]:
        known = self._programs.get(spec)
        if known is None:
            if self._tape is not None:  # otherwise it is checked when it is read
                verify.check_if_enabled(self.recording)
            made = PooledProgram(functools.partial(self._made, spec), self._workspace, self._fusion)
            known = self._programs[spec] = made
            self.bytes += _INSTRUCTION_BYTES * len(self.recording)
        return known

    def _made(self, spec: ProgramSpec, fusion: str) -> Program:
        begin = perf_counter_ns()
        with SlowStep(lambda: f"preparing {self.name}: {len(self.recording):,} instructions"):
            made = make_program(self.recording, self.tape, spec, fusion)
        if spec in self.certified:
            self.certified[spec].certificate(made)
        self.recording.fused[spec] = made.segments()
        self.recording.programs[spec] = ref(made)
        self._log_program(made, perf_counter_ns() - begin)
        if logs.enabled(logs.FUSION):
            self._log_fusion(made, fusion)
        return made

    def why_unfused(self, spec: ProgramSpec) -> tuple[str, str]:
        """Return whether the rows of a program run one by one for good, "not fused" or "not fused yet", and why."""
        pending = self._programs[spec].pending
        if pending is not None:
            after = f"after about {2 * pending.replays:,} replays"
            return (
                "not fused yet",
                f"it is fused in the background when that pays, {after}; jit(f, fuse=True) fuses it at once",
            )
        few = "fewer than two of its rows could be in a segment"
        return "not fused", few if self._fusion == IF_KNOWN else _UNFUSED[self._fusion]

    def _log_program(self, made: Program, nanoseconds: int) -> None:
        if logs.enabled(logs.RECORDINGS):
            message = "%s of %s was derived, planned and bound: %d rows in %s%s"
            rows, elapsed = len(made.forward) + len(made.reverse), quantity(nanoseconds)
            logs.log(logs.RECORDINGS, message, made.spec.kind, self.name, rows, elapsed, _aside())

    def _log_fusion(self, made: Program, fusion: str) -> None:
        what = f"{made.spec.kind} of {self.name}"
        if not made.fused:
            reason = _UNFUSED[fusion]
            logs.log(
                logs.FUSION,
                "%s runs row by row, %d rows: %s",
                what,
                len(made.forward) + len(made.reverse),
                reason,
            )
            return
        segments = self.recording.fused[made.spec]
        inside = sum(len(segment.placed.bound.rows) for segment in segments)
        rest = sum(int((stream.op >= 0).sum()) for stream in (made.forward, made.reverse))
        message = "%s is fused: %d rows in %d segments, %d rows by themselves%s"
        logs.log(logs.FUSION, message, what, inside, len(segments), rest, _aside())

    def take_workspace(self, spec: ProgramSpec) -> Workspace:
        """Take an idle workspace, or a new one. It is put back by appending it to `workspaces`."""
        pooled = self._pooled(spec)
        program = pooled.program
        workspace: Workspace | None = pooled.take(program)
        if workspace is None:
            workspace = self._workspace(program)
            self.bytes += workspace.bytes
            workspace.left = pooled.pending.replays if pooled.pending else 0
        if workspace.left == 0:
            self.is_due(spec, workspace)
        return workspace

    def _workspace(self, program: Program) -> Workspace:
        """Return a new workspace of a program, which settles then."""
        workspace = Workspace(program)
        program.settle(functools.partial(_read, self.recording))
        if len(self.recording) >= MIN_ENTRIES:
            self._tape = None  # it is read once more for another program
        return workspace

    def is_due(self, spec: ProgramSpec, workspace: Workspace) -> None:
        """Consult the fusion policy after the replays that the workspace was told."""
        pending = self._programs[spec].pending
        if pending is not None:
            workspace.left = pending.decide()

    def workspaces(self, spec: ProgramSpec) -> list[Workspace]:
        """Return the idle workspaces of a program. Taking from the list and putting back is atomic."""
        return self._pooled(spec).idle


def _read(recording: RecordedTape) -> TapeView:
    """Return a recording, and what passes make of it."""
    tape = read_tape(recording)
    if recording.folded is None:
        recording.folded = _constants(recording, tape)
    return optimized(fold(tape, recording.folded))


def _constants(recording: RecordedTape, tape: TapeView) -> FoldedConstants:
    """Compute what is the same in each replay; nothing if that fails, for it fails in each replay then."""
    numbers = find_constant_instructions(tape, recording.owners)
    if not len(numbers):
        return NOTHING
    alone = only_constants(tape, numbers)
    status, arrays = Workspace(make_program(recording, alone, ProgramSpec(FORWARD))).run([])
    for array in arrays:
        array.flags.writeable = False
    return FoldedConstants(numbers, alone.outputs, tuple(arrays)) if status == 0 else NOTHING


def _aside() -> str:
    return " in the background" if in_background() else ""


def _guarded(text: str, path: Any) -> SourceLine:
    """Describe a guard that no line of the program has asked for: on an array that it closes over."""
    return SourceLine("", 0, text.format(path or "an array"))


def optimized(tape: TapeView) -> TapeView:
    """Run the passes; what each returns is verified if checks are switched on. Then lay out what is computed."""
    for run in passes.PASSES:
        before, tape = tape, run(tape)
        if switch.on:
            verify.check_pass(run.__name__, before, tape)
    return with_layouts(tape)
