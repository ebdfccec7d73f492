"""Arrays of numbers from a file as a tape that programs are bound from.

Every number is held against its bounds, then every rule of `engine.inspection.verify` and of `archive.rules` against
the tape, before anything is executed or memory for it is allocated. No address comes from the file.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.call import Call
from tapegrad.engine import kernel_table
from tapegrad.engine.inspection import verify
from tapegrad.engine.inspection.tape_view import Buffer, Slot, TapeEntry, TapeView
from tapegrad.engine.tape.fields.columns import HEADER_FIELDS
from tapegrad.engine.tape.fields.layout import ALL_LIVE, MAX_NDIM, NONE
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPES
from tapegrad.errors import IllegalTapeError
from tapegrad.ops import CODES
from tapegrad.ops.structural.control import CustomParams, GuardParams
from tapegrad.program.archive import rules
from tapegrad.program.archive.contents import ReadContents, array_of
from tapegrad.program.archive.fields import (
    DamagedFileError,
    check_size,
    field,
    in_range,
    integers,
    most_bytes,
    refuse_unless,
)
from tapegrad.program.archive.pack import KEPT_FLAGS
from tapegrad.program.lanes.widened_tape import WidenedTape

_GUARD, _CUSTOM = CODES["guard"], CODES["custom"]
_MAX_ENTRIES = 1 << 24  # instructions, slots, buffers
_MAX_STRIDE_BYTES = 1 << 47  # maximum stride in bytes
_WIDTHS = {"instructions": 7, "slots": 5, "buffers": 3}


class _Constants:
    """Constants of a file, by the number of the buffer that each is on; programs read them where they lie.

    It keeps the calls of the ops alive.
    """

    def __init__(self, owners: dict[int, np.ndarray], calls: list[Call]) -> None:
        self.owners, self.calls = owners, calls
        self.guard_lines: list[Any] = []  # a file has none
        self.fields = np.zeros(HEADER_FIELDS, np.int64)
        self.fields[ALL_LIVE] = 1
        for number, address in kernel_table.tables().items():
            self.fields[number] = address


class Unpacked:
    """A recording from a file.

    Attributes
    ----------
    tape
        View of the tape, verified.
    recording
        Recording from which programs are bound.
    """

    def __init__(self, header: dict[str, Any], arrays: dict[str, np.ndarray], contents: ReadContents) -> None:
        self._constants, self._calls = contents.constants, contents.calls
        self._kept = list[np.ndarray]()
        self._fields = array_of(arrays, "words", 1)
        lines = {name: array_of(arrays, name, 2) for name in _WIDTHS}
        for name, width in _WIDTHS.items():
            refuse_unless(
                lines[name].shape[1] == width and len(lines[name]) < _MAX_ENTRIES,
                f"{name}: {lines[name].shape}",
            )
        refuse_unless(
            all(array.dtype == np.int64 for array in (self._fields, *lines.values())), "a table of bytes"
        )
        counts = {name: len(table) for name, table in lines.items()}
        refuse_unless(counts["slots"] > 0 and counts["buffers"] > 0, "there are no slots")
        self._owners: dict[int, np.ndarray] = {}
        buffers = self._read_buffers(lines["buffers"])
        slots = self._read_slots(lines["slots"], field(header, "dtypes", list), counts["buffers"])
        instructions = self._read_instructions(lines["instructions"], field(header, "ops", list), slots)
        named = [integers(header.get(n), 0, counts["slots"], n) for n in ("inputs", "outputs")]
        self.tape = TapeView(
            tuple(instructions), slots, buffers, tuple(named[0]), tuple(named[1]), True, counts["slots"], None
        )
        _check(self.tape)
        self._check_what_is_read()
        base: Any = _Constants(self._owners, self._calls)
        self.recording = WidenedTape(base, self.tape, self._kept)

    def _read_buffers(self, lines: np.ndarray) -> dict[int, Buffer]:
        in_range(lines[:, 0], 0, most_bytes(), "bytes of buffers")
        in_range(lines[:, 1], 0, KEPT_FLAGS + 1, "flags")
        refuse_unless((lines[:, 1] & ~KEPT_FLAGS == 0).all(), "flags")
        in_range(lines[:, 2], NONE, len(self._constants), "constants of buffers")
        refuse_unless(sum(lines[:, 0].tolist()) < most_bytes(), "more bytes than this machine has memory")
        return {b: self._buffer(b, *line) for b, line in enumerate(lines.tolist())}

    def _buffer(self, number: int, bytes_: int, flags: int, constant: int) -> Buffer:
        primal = content = 0
        if constant != NONE:
            array = self._constants[constant]
            refuse_unless(len(array) == bytes_, f"buffer {number} of {bytes_} bytes is constant {constant}")
            self._owners[number] = array
            primal = int(array.ctypes.data)
            content = struct.unpack("<q", array.tobytes().ljust(8, b"\0"))[0] if bytes_ <= 8 else 0
        return Buffer(primal, 0, bytes_, 1, 0, 0, NONE, flags, content)

    def _read_slots(self, lines: np.ndarray, dtypes: list[Any], buffers: int) -> dict[int, Slot]:
        names = list(kernel_table.DTYPE_NAMES)
        refuse_unless(all(name in names for name in dtypes), f"dtypes {dtypes}")
        in_range(lines[:, 0], 0, buffers, "buffers of slots")
        in_range(lines[:, 1], 0, len(dtypes), "dtypes of slots")
        in_range(lines[:, 2], 0, MAX_NDIM + 1, "dimensions")
        in_range(lines[:, 3], 0, most_bytes(), "offsets")
        in_range(lines[:, 4], 0, len(self._fields) + 1, "offsets of extents")
        in_range(lines[:, 4] + 2 * lines[:, 2], 0, len(self._fields) + 1, "offsets of extents")
        codes = [names.index(name) for name in dtypes]
        return {s: self._slot(s, codes[line[1]], *line) for s, line in enumerate(lines.tolist())}

    def _slot(
        self, number: int, code: int, buffer: int, _: int, ndim: int, offset: int, position: int
    ) -> Slot:
        fields = self._fields[position : position + 2 * ndim]
        in_range(fields[:ndim], 0, most_bytes(), f"extents of slot {number}")
        in_range(fields[ndim:], -_MAX_STRIDE_BYTES, _MAX_STRIDE_BYTES, f"strides of slot {number}")
        numbers = fields.tolist()
        check_size(numbers[:ndim], DTYPES[code].itemsize, f"slot {number}")
        view = View(offset, tuple(numbers[:ndim]), tuple(numbers[ndim:]), DTYPES[code])
        address = self._keep(fields) if ndim else 0
        return Slot(buffer, code, ndim, address, 1, view)

    def _keep(self, fields: np.ndarray) -> int:
        self._kept.append(fields.copy())
        return int(self._kept[-1].ctypes.data)

    def _read_instructions(
        self, lines: np.ndarray, ops: list[Any], slots: dict[int, Slot]
    ) -> list[TapeEntry]:
        unknown = [name for name in ops if type(name) is not str or name not in CODES]
        refuse_unless(not unknown, f"this version of tapegrad has no op {unknown[:1]}")
        in_range(lines[:, 0], 0, len(ops), "ops")
        in_range(lines[:, 1], 0, len(slots), "results")
        in_range(lines[:, 2:5], NONE, len(slots), "operands")
        in_range(lines[:, 5:7], 0, len(self._fields) + 1, "offsets of parameters")
        in_range(lines[:, 5] + lines[:, 6], 0, len(self._fields) + 1, "offsets of parameters")
        return [self._instruction(slots, CODES[ops[line[0]]], *line[1:]) for line in lines.tolist()]

    def _instruction(
        self,
        slots: dict[int, Slot],
        op: int,
        result: int,
        a: int,
        b: int,
        c: int,
        position: int,
        length: int,
    ) -> TapeEntry:
        operands = (a, b, c) if c != NONE else (a, b) if b != NONE else (a,) if a != NONE else ()
        if kernel_table.row(op).params is None:
            refuse_unless(length == 0, "parameters, of which the op has none")
            return TapeEntry(op, result, operands)
        fields = tuple(self._fields[position : position + length].tolist())
        if op == _GUARD:
            fields = self._guarded(fields)
        if op == _CUSTOM:
            refuse_unless(len(operands) == 3, f"an op of its own with operands {operands}")
            fields = self._called(fields, [slots[s].view for s in (a, c, result)])
        return TapeEntry(
            op, result, operands, self._keep(np.array([len(fields), *fields], np.int64)) + 8, 0, fields
        )

    def _called(self, fields: tuple[int, ...], views: list[View]) -> tuple[int, ...]:
        """Return the parameters of an op with recordings of its own; its number is replaced by an address."""
        refuse_unless(
            len(fields) == 1 and 0 <= fields[0] < len(self._calls), f"there is no op {fields} of its own"
        )
        call = self._calls[fields[0]]
        x, rest, y = views
        fit = (x.size, rest.size, y.size) == (call.x_size, call.rest_size, call.y_size)
        refuse_unless(
            fit and x.dtype == y.dtype == call.dtype, f"op {fields[0]} of its own on {x}, {rest}, {y}"
        )
        return tuple(CustomParams(call.address, call.number))

    def _guarded(self, fields: tuple[int, ...]) -> tuple[int, ...]:
        """Return the parameters of a guard, with the address of a constant in place of its number."""
        refuse_unless(
            len(fields) == 2 and 0 <= fields[1] < len(self._constants), f"a guard's parameters {fields}"
        )
        array = self._constants[fields[1]]
        refuse_unless(fields[0] == len(array), f"a guard on {fields[0]} bytes has a constant of {len(array)}")
        self._kept.append(array)
        return tuple(GuardParams(fields[0], int(array.ctypes.data)))

    def _check_what_is_read(self) -> None:
        """Check that exactly the arguments and constants are read without being written."""
        t = self.tape
        arguments = {t.slots[s].buffer for s in t.inputs}
        for b, buffer in t.buffers.items():
            sources = (b in t.writers) + (b in arguments) + (b in self._owners)
            refuse_unless(
                sources == 1 or (sources == 0 and buffer.bytes == 0),
                f"buffer {b} is {sources} of computed, an argument, and a constant",
            )


def _check(t: TapeView) -> None:
    """Hold a tape against all rules; each relies on those before it."""
    _apply(t, rules.PARAMETER_RULES, range(len(t.instructions)), "instruction")
    _apply(t, (rules.elements_lie_on_their_boundaries,), t.slots, "slot")
    try:
        verify.check_entries(t)
    except IllegalTapeError as error:
        raise DamagedFileError(str(error)) from None
    _apply(t, rules.WRITER_RULES, t.writers, "buffer")
    _apply(t, rules.FACTOR_RULES, range(len(t.instructions)), "instruction")
    for rule in rules.WHOLE_RULES:
        said = rule(t)
        refuse_unless(not said, said)


def _apply(t: TapeView, applied: Sequence[verify.Rule], entries: Iterable[int], kind: str) -> None:
    for k in entries:
        for rule in applied:
            said = rule(t, k)
            refuse_unless(not said, f"{kind} {k}: {said}")
