"""Native handle of a compiled function: the struct that compiled code and C receive, and its memory."""

import ctypes
import weakref
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.translator.compiler import make_ready
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.replays import handle_calls, workspace_pool
from tapegrad.engine.sweep.replays import handle_fields as field
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.program.programs.jacobian_columns import ColumnsProgram
from tapegrad.program.programs.program import Program
from tapegrad.program.programs.workspace import WorkspaceImage, image_of

_SLOTS = 64  # workspaces that a specialization keeps at most
_KINDS = {"replay_gradient": field.GRADIENT, "replay_jacobian": field.ROWS, "replay_both": field.BOTH}
_LINE_FIELDS = field.SLOT_BYTES // 8


class Source(NamedTuple):
    """Source of a result in a specialization.

    Attributes
    ----------
    binding
        The binding whose array it is, or a part of; -1: none.
    offset
        Where in that array it begins, in bytes.
    array
        A result that no instruction computes.
    passed
        The input that it is; -1: none.
    """

    binding: int = -1
    offset: int = 0
    array: np.ndarray | None = None
    passed: int = -1

    @property
    def is_value(self) -> bool:
        """True for the output in the workspace."""
        return self.binding < 0 and self.array is None and self.passed < 0


class Specialization(NamedTuple):
    """A program, and where it has the results. A source that says nothing is the output in the workspace.

    Attributes
    ----------
    order
        The number of the argument that each binding of the caller's is.
    """

    program: Program
    sources: list[Source]
    order: list[int]


class Handle(Uncopied):
    """The handle of some programs that do the same, each for other outcomes of the guards.

    Parameters
    ----------
    specializations
        The programs.
    inputs, results
        What the arguments look like.
    entries
        Whether it is called by its entry points; sessions need none, and these take 2 s to compile.

    Attributes
    ----------
    address
        Address of the fields of `engine.sweep.replays.handle_fields`.
    """

    def __init__(
        self,
        specializations: Sequence[Specialization],
        inputs: Sequence[View],
        results: Sequence[View],
        entries: bool = True,
    ) -> None:
        make_ready(workspace_pool.free_slots)
        self.specializations, self.inputs, self.results = list(specializations), list(inputs), list(results)
        self._kept: list[np.ndarray] = []
        slots = [np.zeros((_SLOTS, _LINE_FIELDS), np.int64) for _ in specializations]
        self._fields = np.zeros(field.HANDLE_FIELDS, np.int64)
        self._fill_fields(slots)
        if entries:
            self._fill_entries()
        self.address = int(self._fields.ctypes.data)
        kept_fields: list[np.ndarray] = []  # for those who may call it and keep nothing
        self._escaped = kept_fields
        weakref.finalize(self, _free, slots, kept_fields).atexit = False

    @property
    def has_copies(self) -> bool:
        """True if results are copied after a run."""
        return any(row[field.COPY_COUNT] for row in self._specializations)

    @property
    def failure_address(self) -> int:
        """Address of the C function that says where the last call has stopped."""
        return int(self._fields[field.FAILURE])

    def escape(self) -> None:
        """Keep the fields for ever: a call after the function is gone returns a status."""
        if not self._escaped:
            # Loaded now, for nothing may be compiled in a finaliser
            freed = np.array([kernel_table.address_of(handle_calls.call_freed)], np.int64)
            self._escaped += [self._fields, self._sizes, freed]

    def _keep(self, array: np.ndarray) -> int:
        self._kept.append(array)
        return int(array.ctypes.data)

    def _keep_fields(self, values: Sequence[int]) -> int:
        return self._keep(np.array(list(values) or [0], np.int64))

    def _fill_entries(self) -> None:
        fields = self._fields
        fields[field.ENTRY] = kernel_table.address_of(handle_calls.call_handle)
        fields[field.FINITE_ENTRY] = kernel_table.address_of(handle_calls.call_finite)
        fields[field.NAN_ENTRY] = kernel_table.address_of(handle_calls.call_or_nan)
        fields[field.FAILURE] = kernel_table.address_of(handle_calls.failure)

    def _fill_fields(self, slots: list[np.ndarray]) -> None:
        fields, arguments = self._fields, [*self.inputs, *self.results]
        fields[field.EXTENTS] = self._keep_fields([extent for view in arguments for extent in view.shape])
        self._sizes = np.array([view.size for view in arguments], np.int64)
        fields[field.SIZES] = self._keep(self._sizes)
        fields[field.INPUTS], fields[field.ARGUMENTS] = len(self.inputs), len(arguments)
        fields[field.DTYPES] = self._keep_fields([DTYPE_CODES[view.dtype] for view in arguments])
        fields[field.BYTES] = self._keep_fields([view.nbytes for view in arguments])
        constants = _united(
            [span for specialization in self.specializations for span in _constants(specialization)]
        )
        fields[field.CONSTANTS] = self._keep_fields([end for span in constants for end in span])
        fields[field.CONSTANT_COUNT] = len(constants)
        specializations = np.zeros((len(self.specializations), field.SPECIALIZATION_FIELDS), np.int64)
        for row, specialization, own in zip(specializations, self.specializations, slots, strict=True):
            self._fill_specialization(row, specialization, own)
        self._specializations = specializations
        fields[field.SPECIALIZATIONS], fields[field.SPECIALIZATION_COUNT] = (
            self._keep(specializations),
            len(specializations),
        )

    def _fill_specialization(
        self, row: np.ndarray, specialization: Specialization, slots: np.ndarray
    ) -> None:
        image = image_of(specialization.program)
        row[field.KIND] = _KINDS.get(specialization.program.entry, field.STREAMS)
        row[field.IMAGE], row[field.IMAGE_FIELDS] = self._keep(image.fields), len(image.fields)
        row[field.RELOCATIONS], row[field.RELOCATION_COUNT] = (
            self._keep(image.relocations),
            len(image.relocations),
        )
        row[field.WORKSPACE_BYTES] = image.bytes
        row[field.SLOTS], row[field.SLOT_COUNT] = slots.ctypes.data, len(slots)
        numbers = self.numbers_of(specialization)
        row[field.PORTS] = self._keep_fields(
            [value for pair in zip(numbers, image.rooms, strict=True) for value in pair]
        )
        row[field.STOPPED_AT], row[field.SITES] = -1, self._keep_fields(self._sites(specialization.program))
        copies = self._copies(specialization, numbers, image)
        row[field.COPIES] = self._keep_fields([value for copy in copies for value in copy])
        row[field.COPY_COUNT] = len(copies)
        if isinstance(specialization.program, ColumnsProgram):
            offsets = specialization.program.column_offsets()
            row[field.COLUMNS] = self._keep_fields([at if at < 0 else image.memory + at for at in offsets])

    def _sites(self, program: Program) -> list[int]:
        """Return the address of a text with the source line of each forward row's guard, 0 for other rows."""
        relocations = program.recording.guard_lines
        found = [0] * len(program.forward)
        for row, number in program.guards.items():
            text = (
                str(relocations[number])
                if number < len(relocations)
                else f"guard number {number} of its file"
            )
            found[row] = self._keep(np.frombuffer(text.encode() + b"\0", np.uint8))
        return found

    @property
    def failed_calls(self) -> int:
        """Number of calls from compiled code and C that have failed."""
        return int(self._fields[field.FAILED_CALLS])

    @property
    def last_status(self) -> int:
        """Status of the last one of these calls, 0 if none has failed."""
        return int(self._fields[field.LAST_STATUS])

    def last_failures(self) -> list[str]:
        """Source line of the guard that failed last, for each specialization with a failed guard."""
        found = []
        for row in self._specializations:
            if row[field.STOPPED_AT] >= 0:
                address = ctypes.c_int64.from_address(int(row[field.SITES] + 8 * row[field.STOPPED_AT])).value
                found.append(ctypes.string_at(address).decode())
        return found

    def numbers_of(self, specialization: Specialization) -> list[int]:
        """Return the argument of each binding of a specialization, -1 for none."""
        numbers = [
            *specialization.order,
            *[-1] * (len(specialization.program.bindings) - specialization.program.given),
        ]
        for k, source in enumerate(specialization.sources):
            if self._is_whole(specialization, source, k) and numbers[source.binding] < 0:
                numbers[source.binding] = len(self.inputs) + k
        return numbers

    def _is_whole(self, specialization: Specialization, source: Source, k: int) -> bool:
        """Return whether a result is the array of a binding, from its beginning to its end."""
        return (
            source.binding >= 0
            and specialization.program.bindings[source.binding].nbytes == self.results[k].nbytes
        )

    def _copies(
        self, specialization: Specialization, numbers: list[int], image: WorkspaceImage
    ) -> list[tuple[int, int, int, int]]:
        """Return the results that are copied: number of the argument, source, and how many bytes."""
        found = []
        for number, (source, view) in enumerate(
            zip(specialization.sources, self.results, strict=True), len(self.inputs)
        ):
            if source.binding >= 0 and numbers[source.binding] == number:
                continue
            found.append((number, *self._location(specialization, source, image), view.nbytes))
        return sorted(found, key=lambda copy: copy[1] == field.IN_WORKSPACE)

    def _location(
        self, specialization: Specialization, source: Source, image: WorkspaceImage
    ) -> tuple[int, int]:
        """Return the address that a result is copied from."""
        if source.array is not None:
            return field.AT_ADDRESS, self._keep(source.array)
        if source.passed >= 0:
            return field.OF_ARGUMENT, source.passed
        if source.binding >= 0:
            return field.IN_WORKSPACE, image.rooms[source.binding] + source.offset
        (offset, _), *_ = specialization.program.workspace_outputs()
        return field.IN_WORKSPACE, image.memory + offset


def _constants(specialization: Specialization) -> list[tuple[int, int]]:
    """Return the first byte and the end of each array outside that a specialization reads."""
    returned = [source.array for source in specialization.sources if source.array is not None]
    return [
        *specialization.program.constants(),
        *(np.lib.array_utils.byte_bounds(array) for array in returned),
    ]


def _united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the unions of spans, in order."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return found


def _free(slots: list[np.ndarray], kept_fields: list[np.ndarray]) -> None:
    """Free the workspaces of a handle. If its fields are kept, they lead to a function that says so."""
    if kept_fields:
        fields, _, freed = kept_fields
        fields[[field.ENTRY, field.FINITE_ENTRY, field.NAN_ENTRY]] = freed
    _FREED.extend(kept_fields)
    for each in slots:
        workspace_pool.free_slots(int(each.ctypes.data), len(each))


_FREED: list[np.ndarray] = []
