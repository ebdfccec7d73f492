"""Columns of a tape: one line each, with its name, the bytes of an entry, and the kind of entry.

``name(header, index)`` reads an entry, ``set_name(header, index, value)`` writes it; both are widened to 64 bits. Other
modules import this one as `col`, so that ``col.buffer(header, slot)`` reads as what it is.
"""

from typing import Any, NamedTuple

from llvmlite import ir

from tapegrad.engine.kernels.language import types
from tapegrad.engine.kernels.language.inlining import intrinsic
from tapegrad.engine.kernels.language.llvm_types import element_pointer, i64
from tapegrad.engine.tape.fields.layout import FIRST_COLUMN

INSTRUCTION, SLOT, BUFFER = "instruction", "slot", "buffer"


class Column(NamedTuple):
    """Location of a column: the field of the header with its address, bytes of an entry, and the kind of entry."""

    field: int
    bytes: int
    kind: str


COLUMNS: dict[str, Column] = {}


def _accessors(field: int, width: int) -> tuple[Any, Any]:
    """Intrinsics that read and write an entry."""
    llvm_type = ir.IntType(8 * width)

    def pointer(builder: Any, header: Any, index: Any) -> Any:
        base = builder.load(element_pointer(builder, header, i64, i64(field)))
        return element_pointer(builder, base, llvm_type, index)

    @intrinsic
    def get(typingctx, header, index):
        def codegen(context, builder, signature, args):
            value = builder.load(pointer(builder, *args))
            return value if width == 8 else builder.sext(value, i64)

        return types.int64(types.int64, types.int64), codegen

    @intrinsic
    def set_(typingctx, header, index, value):
        def codegen(context, builder, signature, args):
            value = args[2] if width == 8 else builder.trunc(args[2], llvm_type)
            builder.store(value, pointer(builder, args[0], args[1]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), codegen

    return get, set_


def _column(name: str, width: int, kind: str) -> tuple[Any, Any]:
    """Allot the next column of the header."""
    column = COLUMNS[name] = Column(FIRST_COLUMN + len(COLUMNS), width, kind)
    return _accessors(column.field, width)


op, set_op = _column("op", 2, INSTRUCTION)
result, set_result = _column("result", 4, INSTRUCTION)
operand0, set_operand0 = _column("operand0", 4, INSTRUCTION)
operand1, set_operand1 = _column("operand1", 4, INSTRUCTION)
operand2, set_operand2 = _column("operand2", 4, INSTRUCTION)
params, set_params = _column("params", 8, INSTRUCTION)
mark, set_mark = _column("mark", 1, INSTRUCTION)

buffer, set_buffer = _column("buffer", 4, SLOT)
dtype, set_dtype = _column("dtype", 1, SLOT)
ndim, set_ndim = _column("ndim", 1, SLOT)
offset, set_offset = _column("offset", 8, SLOT)
geometry, set_geometry = _column("geometry", 8, SLOT)
refs, set_refs = _column("refs", 4, SLOT)
read_only, set_read_only = _column("read_only", 1, SLOT)

primal, set_primal = _column("primal", 8, BUFFER)
cotangent, set_cotangent = _column("cotangent", 8, BUFFER)
bytes, set_bytes = _column("bytes", 8, BUFFER)
users, set_users = _column("users", 4, BUFFER)
tensor_refs, set_tensor_refs = _column("tensor_refs", 4, BUFFER)
saved_for_backward, set_saved_for_backward = _column("saved_for_backward", 4, BUFFER)
producer, set_producer = _column("producer", 4, BUFFER)
flags, set_flags = _column("flags", 1, BUFFER)
history, set_history = _column("history", 8, BUFFER)
version, set_version = _column("version", 4, BUFFER)

HEADER_FIELDS = FIRST_COLUMN + len(COLUMNS)
COTANGENTS = COLUMNS["cotangent"].field


def columns_of(kind: str) -> tuple[tuple[int, int], ...]:
    """Return the header field and bytes of an entry of each column of a kind."""
    return tuple((column.field, column.bytes) for column in COLUMNS.values() if column.kind == kind)


INSTRUCTION_COLUMNS, SLOT_COLUMNS, BUFFER_COLUMNS = map(columns_of, (INSTRUCTION, SLOT, BUFFER))
