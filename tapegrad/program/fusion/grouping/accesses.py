"""Accesses of the rows of a stream: the addresses that they read and write, found from their frames alone.

A stream is bound on virtual memory, in which no two buffers share an address. So rows that touch the same bytes are
rows that depend on each other, whatever they came from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.rows.expressions import calls_mathematics, parse
from tapegrad.engine.codegen.segments.extremes import JOININGS
from tapegrad.engine.codegen.segments.segment import EXPONENTIALS, FORWARD, INDEX, SUM, TAKEN, TANGENT
from tapegrad.engine.codegen.segments.segment_rows import is_emitted, primals_read
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.lines.fill import zero_fill
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.ops import Op
from tapegrad.ops.row import real_dtype
from tapegrad.ops.structural.indexing import GatherParams
from tapegrad.program.fusion.grouping.columns import MAX_LINES, sum_of_exponentials
from tapegrad.program.fusion.grouping.extremes import extreme
from tapegrad.program.fusion.grouping.nests import (
    KINDS,
    MAX_SEEDS,
    Nest,
    is_long,
    is_short,
    nest_of,
    seeds_of,
)
from tapegrad.program.fusion.grouping.rows import (
    ADD,
    BYTES,
    CLEAR,
    COMPLEX,
    READ,
    ROLES,
    WRITE,
    Access,
    DisjointMemory,
    Listed,
    Span,
    StreamRow,
)
from tapegrad.program.streams.stream import MADE_UP, InstructionStream, pointed_fields

_READ = (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4, 5, 6)  # operands that a kernel of each kind does not write
_Y, _X_DOT = 3, 4
_PAIRS = frozenset(COMPLEX.values())


def rows_of(stream: InstructionStream, blocks: DisjointMemory, with_lists: bool = True) -> list[StreamRow]:
    """Return the rows of a stream with their accesses.

    Without lists, elements that a list names are opaque, and so are parts of complex numbers: which they are depends
    on where they lie.
    """
    ops, variants = stream.op.tolist(), stream.variant.tolist()
    pairs = (
        blocks
        if with_lists and any(kernel_table.DTYPE_NAMES[k] in _PAIRS for k in {*variants} - {NONE})
        else None
    )
    directions, kernels = stream.direction.tolist(), stream.kernels.tolist()
    named = zip(ops, variants, directions, kernels, stream.frames.tolist(), strict=True)
    rows = [_row(*each, blocks, with_lists, pairs) for each in with_pauses(named)]
    return rows if pairs is None else _with_parts_of_numbers(rows)


def _with_parts_of_numbers(rows: list[StreamRow]) -> list[StreamRow]:
    """Return the rows with the accesses of single elements to parts of complex numbers that other rows have."""
    numbers = {
        access.start
        for row in rows
        for access in row.accesses
        if access.span.single and access.span.dtype in _PAIRS
    }
    return [
        replace(row, accesses=tuple(_part_of_number(access, numbers) for access in row.accesses))
        if row.count == 1 and numbers
        else row
        for row in rows
    ]


def _part_of_number(access: Access, numbers: set[int]) -> Access:
    """Return the access to a part of one of the complex numbers that begin at these addresses, or as it is."""
    span, item = access.span, BYTES.get(access.span.dtype, 0)
    part = next((part for part in (0, 1) if span.start - part * item in numbers), -1)
    if span.dtype not in COMPLEX or part < 0 or _is_computed(access.mode, access.role):
        return access
    start, stop = span.start - part * item, span.stop + (1 - part) * item
    whole = span._replace(start=start, stop=stop, dtype=COMPLEX[span.dtype], part=part)
    return Access(access.role, READ if access.mode == READ else ADD, whole)


def _is_computed(mode: int, role: int) -> bool:
    """Return whether an access is that to what a row computes and does not add to: no part of something else."""
    return mode == WRITE and role % 4 == _Y


def _row(
    op: int,
    variant: int,
    direction: int,
    kernel: int,
    fields: list[int],
    blocks: DisjointMemory,
    lists: bool,
    pairs: DisjointMemory | None,
) -> StreamRow:
    if op < 0 and kernel == kernel_table.address_of(zero_fill):
        start = fields[field.Y_BAR]
        return StreamRow(
            "", "", CLEAR, fields[field.COUNT], (Access(7, WRITE, Span(start, start + fields[field.COUNT])),)
        )
    if op < 0:
        return _opaque("", fields, blocks)
    described = kernel_table.row(op)
    dtype = kernel_table.DTYPE_NAMES[variant]
    if dtype in BYTES and fields[field.COUNT] > 0 and (lists or described.fused_as != TAKEN):
        known = _known(described, dtype, KINDS[direction], fields, nest_of(fields), pairs=pairs)
        if known is not None:
            return known
    return _opaque(described.name, fields, blocks, _READ[direction])


def with_short_tables(
    rows: Sequence[StreamRow], numbers: Sequence[int], stream: InstructionStream
) -> list[StreamRow]:
    """Return the rows with the loops around lines that a vector holds, where a row without would be opaque.

    Parameters
    ----------
    rows, numbers
        The rows, and with each the number of that of the stream.
    stream
        The stream.
    """
    counts = stream.frames[:, field.COUNT]
    able = (stream.op >= 0) & (counts > 1) & (counts <= MAX_LINES) & (stream.frames[:, field.OUTER] != 0)
    return [
        (_short_table(stream, k) or row) if row.kind == "" and able[k] else row
        for row, k in with_pauses(zip(rows, numbers, strict=True))
    ]


def _short_table(stream: InstructionStream, k: int) -> StreamRow | None:
    """Return a row over a few short lines; `None` for another one."""
    described, dtype = kernel_table.row(int(stream.op[k])), kernel_table.DTYPE_NAMES[int(stream.variant[k])]
    kind, fields = KINDS[int(stream.direction[k])], stream.frames[k].tolist()
    nest = nest_of(fields)
    if dtype not in BYTES or len(nest.extents) != 1 or seeds_of(kind, fields)[0] > 1:
        return None
    row = _known(described, dtype, kind, fields, nest, may_be_short=True)
    fits = row is not None and is_short(row.count) and 1 < row.loops[0] <= MAX_LINES
    return row if fits else None


def _known(
    described: Any,
    dtype: str,
    kind: str,
    fields: list[int],
    nest: Nest,
    may_be_short: bool = False,
    pairs: DisjointMemory | None = None,
) -> StreamRow | None:
    """Return a row of a segment, or `None`; `pairs` is the memory of a stream in which lines may be parts of others."""
    count, stored = fields[field.COUNT], fields[field.STORE]
    fused_as = described.fused_as
    if dtype in _PAIRS and not isinstance(described, Op):
        return None
    if fused_as == EXPONENTIALS and dtype == "f64":
        return sum_of_exponentials(described.name, kind, fields, nest, may_be_short)
    if fused_as == TAKEN:
        return _taken(dtype, fields) if kind == FORWARD else None
    if fused_as in JOININGS:
        return None if may_be_short else extreme(described.name, dtype, kind, fields, nest)
    if not may_be_short and not nest.is_long(fields):
        return None
    if isinstance(described, Op) and is_emitted(described, kind, dtype):
        seeds, *steps = seeds_of(kind, fields)
        primals = duals = nest
        if seeds > MAX_SEEDS:
            primals, duals = nest.within(seeds, (0,) * 4), nest.within(seeds, steps)
            seeds = 1
            if not duals.is_long(fields) or _calls_mathematics(described, fields):
                return None
        accesses = _of_elementwise(described, dtype, kind, fields, (primals, duals), pairs)
        if accesses is not None:
            accesses += tuple(_along_seeds(accesses, seeds, steps))
            return StreamRow(described.name, dtype, kind, count, accesses, stored & 7, seeds, duals.extents)
    if fused_as == SUM and kind != TANGENT:
        accesses = _of_sum(dtype, fields, nest, pairs)
        if accesses is not None:
            return StreamRow(described.name, dtype, SUM, count, accesses, stored & 1, loops=nest.extents)
    return None


def _calls_mathematics(op: Op, fields: list[int]) -> bool:
    """Return whether wanted partials call functions, which would be called for each of many tangents."""
    wanted = [j for j in op.differentiable_operands if fields[field.X_BAR + j]]
    return any(calls_mathematics(parse(op.partials[j])) for j in wanted)


def _of_elementwise(
    op: Op,
    dtype: str,
    kind: str,
    fields: list[int],
    nests: tuple[Nest, Nest],
    pairs: DisjointMemory | None,
) -> tuple[Access, ...] | None:
    """Return the accesses of a row by the loops around its primals, and around its cotangents or tangents."""
    primals, duals = nests
    wanted = [j for j in op.differentiable_operands if fields[field.X_BAR + j]]
    of_role = [real_dtype(dtype) if j in op.real_operands else dtype for j in range(3)]
    of_role.append(real_dtype(dtype) if op.real_result else dtype)

    def access(nest: Nest, j: int, mode: int, dtype: str, dual: int = 0) -> Access | None:
        return _access(fields, nest, dual + j, mode, dtype, pairs)

    accesses: list[Access | None] = [
        access(primals, j, READ, "b8" if j in op.boolean_operands else of_role[j])
        for j in primals_read(op, kind, wanted, dtype)
    ]
    if kind == FORWARD:
        accesses.append(access(primals, _Y, WRITE, "b8" if op.predicate else of_role[_Y]))
    else:
        cotangents = WRITE if kind == TANGENT else READ
        accesses.append(access(duals, _Y, cotangents, of_role[_Y], dual=4))
    for j in wanted:
        mode = READ if kind == TANGENT else WRITE if fields[field.STORE] >> j & 1 else ADD
        accesses.append(access(duals, j, mode, of_role[j], dual=4))
    return _all(accesses)


def _along_seeds(accesses: tuple[Access, ...], seeds: int, steps: Sequence[int]) -> Iterator[Access]:
    """Return the accesses of a row for further tangents."""
    for access in accesses:
        if access.role >= _X_DOT:
            step = steps[access.role - _X_DOT]
            for k in range(1, seeds):
                span = access.span._replace(start=access.start + step * k, stop=access.stop + step * k)
                yield access._replace(role=access.role + ROLES * k, span=span)


def _of_sum(
    dtype: str, fields: list[int], nest: Nest, pairs: DisjointMemory | None
) -> tuple[Access, ...] | None:
    mode = WRITE if fields[field.STORE] & 1 else ADD
    return _all(
        [_access(fields, nest, 4 + _Y, READ, dtype, pairs), _access(fields, nest, 4, mode, dtype, pairs)]
    )


def _taken(dtype: str, fields: list[int]) -> StreamRow | None:
    """Return the row of elements that a list names, as a copy; `None` if they lie in many short lines."""
    rows, length, by_columns = pointed_fields(fields[field.PARAMS], len(GatherParams._fields))
    count, item = fields[field.COUNT], BYTES[dtype]
    if not is_long(count) or rows < 1 or length < 1 or not (by_columns or length == 1):
        return None
    table, list_, result = fields[field.X], fields[field.X + 1], fields[field.Y]
    row = length * item
    loops = (length,) if length > 1 else ()

    def line(start: int, step: int, length: int, dtype: str, listed: Listed | None = None) -> Span:
        stop = start + (rows * row if listed else count * length * BYTES[dtype])
        return Span(start, stop, dtype, length=count, steps=(step,) * len(loops), listed=listed)

    accesses = (
        Access(0, READ, line(table, item, length, dtype, Listed(list_, row, (rows - 1) * row))),
        Access(1, READ, line(list_, 0, 1, INDEX)),
        Access(_Y, WRITE, line(result, count * item, length, dtype)),
    )
    return StreamRow("positive", dtype, FORWARD, count, accesses, loops=loops)


def _all(accesses: list[Access | None]) -> tuple[Access, ...] | None:
    found = tuple(access for access in accesses if access is not None)
    return found if len(found) == len(accesses) else None


def _access(
    fields: list[int], nest: Nest, role: int, mode: int, dtype: str, pairs: DisjointMemory | None
) -> Access | None:
    """Return one access of a row; `None` if its elements are neither adjacent nor a single one."""
    j, bytes_ = role % 4, BYTES[dtype]
    start = fields[(field.X if role < 4 else field.X_BAR) + j]
    stride, count, steps = fields[field.STRIDE + j], fields[field.COUNT], nest.steps[j]
    if pairs is not None and dtype in COMPLEX and count > 1 and stride == 2 * bytes_ and start >= MADE_UP:
        return _parts(fields, nest, role, mode, dtype, pairs)
    if start == 0 or not (stride in (0, bytes_) or count == 1) or any(step < 0 for step in steps):
        return None
    single = count == 1 or stride == 0
    if single and mode == WRITE and count > 1 and role < 4:
        return None  # the last of many is left there
    length = 1 if single else count
    reached = sum(step * (extent - 1) for step, extent in zip(steps, nest.extents, strict=True))
    stop = start + reached + length * bytes_
    return Access(role, mode, Span(start, stop, dtype, single, length, steps))


def _parts(
    fields: list[int], nest: Nest, role: int, mode: int, dtype: str, pairs: DisjointMemory
) -> Access | None:
    """Return the access to parts of complex numbers, that a row reads or adds to; `None` if there are no such numbers.

    What they are parts of lies as from the beginning of its memory. The other parts are written as they were read.
    """
    j, item = role % 4, BYTES[dtype]
    start, count, steps = (
        fields[(field.X if role < 4 else field.X_BAR) + j],
        fields[field.COUNT],
        nest.steps[j],
    )
    first, last = pairs.around(start)
    part = (start - first) // item % 2
    start -= part * item
    reached = sum(step * (extent - 1) for step, extent in zip(steps, nest.extents, strict=True))
    stop = start + reached + 2 * item * count
    if start < first or stop > last or any(step < 0 for step in steps) or _is_computed(mode, role):
        return None
    span = Span(start, stop, COMPLEX[dtype], length=count, steps=steps, part=part)
    return Access(role, READ if mode == READ else ADD, span)


def _opaque(name: str, fields: list[int], blocks: DisjointMemory, read: Sequence[int] = ()) -> StreamRow:
    """Return an opaque row, of which only the memory of its operands is known, and which operands it only reads."""
    accesses = []
    for role in range(ROLES):
        address = fields[field.X + role]
        if address >= MADE_UP:
            mode = READ if role in read else ADD
            accesses.append(Access(role, mode, Span(*blocks.around(address))))
    return StreamRow(name, "", "", fields[field.COUNT], tuple(accesses))
