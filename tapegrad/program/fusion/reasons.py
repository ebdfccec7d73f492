"""Reasons why rows of a fused stream run by themselves: what the grouping asks of a row, in the same order."""

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.segments.segment import EXPONENTIALS, SUM, TANGENT
from tapegrad.engine.codegen.segments.segment_rows import is_emitted
from tapegrad.engine.kernels.language import frame as field
from tapegrad.ops import GUARDS, Op
from tapegrad.program.fusion.grouping.accesses import rows_of, with_short_tables
from tapegrad.program.fusion.grouping.nests import KINDS, MAX_SEEDS, nest_of, seeds_of
from tapegrad.program.fusion.grouping.rows import BYTES
from tapegrad.program.streams.stream import InstructionStream

_NO_NEIGHBOUR = (
    "no other row over {count:,} elements can run beside it: there is none, or others depend on it"
)
STRIDED = "an operand is strided: its elements are neither adjacent nor a single one; a copy's would be"


class _Anywhere:
    """Memory of which nothing is asked but what lies in one piece."""

    def around(self, address: int) -> tuple[int, int]:
        """Return the byte at an address."""
        return address, address + 1


def reasons_alone(stream: InstructionStream) -> dict[int, str]:
    """Return for each row of an op why no segment has it, by the number of the row in the stream."""
    chosen = np.flatnonzero(stream.op >= 0).tolist()
    own = stream.taking(chosen)
    rows = with_short_tables(rows_of(own, _Anywhere()), range(len(chosen)), own)
    return {
        k: _NO_NEIGHBOUR.format(count=row.count) if row.kind else _reason(stream, k)
        for k, row in zip(chosen, rows, strict=True)
    }


def is_conversion(code: int) -> bool:
    """Return whether an op converts the elements of its operand to another dtype."""
    row = kernel_table.row(code)
    return not isinstance(row, Op) and row.kind == "elementwise" and row.arity == 1 and row.result is not None


def _reason(stream: InstructionStream, k: int) -> str:
    """Return why a row is none that a segment can have."""
    fields = stream.frames[k].tolist()
    code, kind = int(stream.op[k]), KINDS[int(stream.direction[k])]
    described, dtype = kernel_table.row(code), kernel_table.DTYPE_NAMES[int(stream.variant[k])]
    if code in GUARDS:
        return "a guard is checked by itself"
    if is_conversion(code):
        return f"{described.name} is a loop of its own: segments convert no dtypes"
    if dtype not in BYTES:
        return f"segments compute {', '.join(BYTES)}, not {dtype}"
    if fields[field.COUNT] <= 0 or not (isinstance(described, Op) or described.fused_as):
        return f"{described.name} has a kernel of its own, which is no loop over elements"
    nest = nest_of(fields)
    if not nest.is_long(fields):
        return f"its innermost loop has {fields[field.COUNT]} elements, too few for a loop around it"
    if isinstance(described, Op) and not is_emitted(described, kind):
        return f"{described.name} calls a library for each element"
    if isinstance(described, Op) and seeds_of(kind, fields)[0] > MAX_SEEDS:
        return f"it computes more than {MAX_SEEDS} tangents at once"
    if described.fused_as == EXPONENTIALS and dtype != "f64":
        return f"{described.name} is in segments for f64 alone"
    if described.fused_as == SUM and kind == TANGENT:
        return "the tangent of a sum has a kernel of its own"
    return STRIDED
