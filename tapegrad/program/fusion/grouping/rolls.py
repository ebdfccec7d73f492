"""Rolled arrays: two copies that make a whole array of the parts of another one become one row.

`roll` copies the elements behind a cut, and those before it. The whole result is a line whose elements are read at one
of two distances, by their position in a period; so what follows reads them from the array itself, and the copy is not
stored. In the reverse sweep the cotangents of the result are read so, and added to those of the whole array.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.segments.segment import FORWARD, REVERSE
from tapegrad.engine.codegen.segments.vectors import lanes
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.ops import COPY
from tapegrad.program.fusion.grouping.nests import KINDS, is_long, nest_of
from tapegrad.program.fusion.grouping.rows import (
    ADD,
    BYTES,
    READ,
    WRITE,
    Access,
    DisjointMemory,
    Rolled,
    Span,
    StreamRow,
)
from tapegrad.program.streams.stream import InstructionStream

_X, _Y, _X_BAR, _Y_BAR = 0, 3, 4, 7
_DTYPES = ("f64", "f32")
_MIN_LANES = 8  # of processors that load part of a vector in one instruction


def with_rolls(
    rows: Sequence[StreamRow], numbers: Sequence[int], stream: InstructionStream, blocks: DisjointMemory
) -> tuple[list[StreamRow], list[tuple[int, ...]]]:
    """Join pairs of copies to rows; return with each row the numbers of those of the stream."""
    copies = [_copy_of(stream, n) if not row.is_part else None for n, row in zip(numbers, rows, strict=True)]
    found: list[StreamRow] = []
    of_stream: list[tuple[int, ...]] = []
    for k, row in enumerate(with_pauses(rows)):
        before = copies[k - 1] if k and len(of_stream[-1]) == 1 else None
        joined = _joined(before, copies[k], blocks)
        if joined is not None:
            found[-1], of_stream[-1] = joined, (numbers[k - 1], numbers[k])
        else:
            found.append(row)
            of_stream.append((numbers[k],))
    return found, of_stream


class _Copy(NamedTuple):
    """Runs of adjacent elements that are copied, or added to others.

    Attributes
    ----------
    kind
        FORWARD, or REVERSE for cotangents of the result that are added to those of the operand.
    x, y
        Where the elements are that are read, and those that are written.
    length, runs, step
        The elements of a run, the number of runs, and the bytes from one to the next.
    stored
        Whether cotangents are written, not added.
    """

    dtype: str
    kind: str
    x: int
    y: int
    length: int
    runs: int
    step: int
    stored: int


def _copy_of(stream: InstructionStream, number: int) -> _Copy | None:
    """Return what a row copies, if it is a copy whose elements lie alike in both arrays."""
    dtype = kernel_table.DTYPE_NAMES[int(stream.variant[number])]
    kind = KINDS[int(stream.direction[number])]
    if stream.op[number] != COPY or kind not in (FORWARD, REVERSE) or dtype not in _DTYPES:
        return None
    fields = stream.frames[number].tolist()
    nest = nest_of(fields)
    loops = [*zip(nest.extents, nest.steps[_X], nest.steps[_Y], strict=True)]
    loops.append((fields[field.COUNT], fields[field.STRIDE + _X], fields[field.STRIDE + _Y]))
    length, runs, step = 1, 1, 0
    for extent, x_step, y_step in sorted(loops, key=lambda loop: loop[2]):
        if extent == 1:
            continue
        if extent < 1 or x_step != y_step or y_step <= 0:
            return None
        if runs == 1 and y_step == length * BYTES[dtype]:
            length *= extent
        elif runs == 1 or y_step == step * runs:
            runs, step = runs * extent, step or y_step
        else:
            return None
    forward = kind == FORWARD
    x, y = (fields[field.X], fields[field.Y]) if forward else (fields[field.Y_BAR], fields[field.X_BAR])
    stored = 0 if forward else fields[field.STORE] & 1
    return _Copy(dtype, kind, x, y, length, runs, step, stored) if x and y else None


def _joined(first: _Copy | None, second: _Copy | None, blocks: DisjointMemory) -> StreamRow | None:
    """Return the row of two copies that make a whole array of parts of another one; `None` of others."""
    if first is None or second is None or host().lanes < _MIN_LANES:
        return None
    dtype, item, period = first.dtype, BYTES[first.dtype], first.length + second.length
    alike = all(getattr(first, each) == getattr(second, each) for each in ("dtype", "kind", "runs", "stored"))
    if not alike or second.y != first.y + first.length * item:
        return None
    if first.runs > 1 and not first.step == second.step == period * item:
        return None
    count, own = first.runs * period, {blocks.around(each.x)[0] for each in (first, second)}
    if not is_long(count) or period <= lanes(host()) or len(own) > 1 or blocks.around(first.y)[0] in own:
        return None
    reach = (first.runs - 1) * first.step
    start, stop = min(first.x, second.x), max(each.x + reach + each.length * item for each in (first, second))
    rolled = Rolled(period, first.length, first.x, second.x)
    read = Span(start, stop, dtype, length=count, rolled=rolled)
    written = Span(first.y, first.y + count * item, dtype, length=count)
    if first.kind == FORWARD:
        copied = Access(_X, READ, read), Access(_Y, WRITE, written)
        return StreamRow("positive", dtype, FORWARD, count, copied)
    added = Access(_Y_BAR, READ, read), Access(_X_BAR, WRITE if first.stored else ADD, written)
    return StreamRow("positive", dtype, REVERSE, count, added, first.stored)
