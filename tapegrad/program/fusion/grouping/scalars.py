"""Scalar replacement of small arrays: each element is a number by itself, a product of matrices is sums of these.

As vectors they would not fit together: a part of one is no operand of a segment, nor is a matrix. As numbers all of
them are. That is done for islands: rows over few elements that share memory, where it saves more calls of kernels than
arithmetic on several elements at once would. The order of all additions is that of the rows' kernels.
"""

import itertools
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen.rows.expressions import calls_mathematics, parse
from tapegrad.engine.codegen.segments.segment import FORWARD, PRODUCT, REVERSE, SUM, TANGENT, TOTAL
from tapegrad.engine.codegen.segments.segment_rows import is_emitted, primals_read, texts
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.language.matmul import MAX_INLINE_PRODUCTS
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.ops import Op
from tapegrad.ops.structural.matrices import MatmulParams
from tapegrad.program.fusion.grouping.nests import KINDS, Nest, nest_of, seeds_of
from tapegrad.program.fusion.grouping.rows import (
    ADD,
    BYTES,
    READ,
    ROLES,
    WRITE,
    Access,
    DisjointMemory,
    ExtensibleMemory,
    Span,
    StreamRow,
    is_element,
)
from tapegrad.program.streams.stream import MADE_UP, InstructionStream, pointed_fields

MAX_ELEMENTS = 16  # of an operand that is written out
_MAX_ALL_ROWS = 2048  # of a stream that is written out as a whole
_Y, _X_BAR, _Y_BAR = 3, 4, 7
_CALL_NS, _ELEMENT_NS, _FUNCTION_NS = 12.0, 0.4, 1.5  # of a kernel, of an element more, and of its function


@dataclass(frozen=True)
class _Row:
    """A row of a stream that can be written out: what a kernel reads of it."""

    op: Any
    dtype: str
    kind: str
    fields: list[int]
    nest: Nest

    @property
    def count(self) -> int:
        return self.fields[field.COUNT]

    @property
    def elements(self) -> int:
        return self.count * math.prod(self.nest.extents)

    def has(self, role: int) -> bool:
        """Return whether the row has an operand."""
        return self.fields[_field_of(role)] != 0

    @property
    def wanted(self) -> list[int]:
        """The operands that have a cotangent or a tangent."""
        return [j for j in self.op.differentiable_operands if self.has(_X_BAR + j)]

    def is_stored(self, j: int) -> bool:
        """Return whether the cotangent of operand j is written."""
        return bool(self.fields[field.STORE] >> j & 1)

    def addresses(self, role: int) -> list[list[int]]:
        """Return where the elements of an operand are, line by line."""
        starts = [self.fields[_field_of(role)]]
        for extent, step in zip(self.nest.extents, self.nest.steps[role % 4], strict=True):
            starts = [start + i * step for start in starts for i in range(extent)]
        stride = self.fields[field.STRIDE + role % 4]
        return [[start + i * stride for i in range(self.count)] for start in starts]


NumberRows = dict[int, _Row]


def _field_of(role: int) -> int:
    return (field.X if role < ROLES // 2 else field.X_BAR) + role % 4


def _number(role: int, mode: int, address: int, dtype: str) -> Access:
    """Return the access of one element."""
    return Access(role, mode, Span(address, address + BYTES[dtype], dtype, single=True, length=1))


# --- which rows ------------------------------------------------------------------------------------------------------


def with_scalars(
    rows: Sequence[StreamRow],
    stream: InstructionStream,
    blocks: ExtensibleMemory,
    as_lines: Callable[[], Sequence[StreamRow]],
    numbers_of: NumberRows | None = None,
) -> tuple[list[StreamRow], list[int]]:
    """Write rows of few elements out where it pays; return with each row the number of that of the stream.

    `as_lines` gives the rows with the loops of short tables written out: where that is enough, they stay lines. Where
    all rows are to be written out, `numbers_of` has them.
    """
    chosen = numbers_of or _chosen(rows, stream, blocks, as_lines)
    found: list[StreamRow] = []
    numbers: list[int] = []
    for number, row in enumerate(with_pauses(rows)):
        own = _written_out(chosen[number], blocks.new) if number in chosen else [row]
        found += own
        numbers += itertools.repeat(number, len(own))
    return found, numbers


def all_written_out(stream: InstructionStream) -> NumberRows | None:
    """Return all rows but those that clear memory, if each can be written out, and they are not too many."""
    if len(stream) > _MAX_ALL_ROWS:
        return None
    found: dict[int, _Row] = {}
    for number, op in enumerate(stream.op.tolist()):
        if op >= 0:
            row = _row_of(stream, number)
            if row is None:
                return None
            found[number] = row
    return found


def _chosen(
    rows: Sequence[StreamRow],
    stream: InstructionStream,
    blocks: DisjointMemory,
    as_lines: Callable[[], Sequence[StreamRow]],
) -> dict[int, _Row]:
    """Return the rows of the islands where it pays, by their numbers."""
    few = _few(rows, stream)
    touched = _touched(rows, few, blocks)
    troubled = {number for number in few if rows[number].kind == ""} | set(_in_conflict(touched))
    if not troubled:
        return {}
    small = {k: row for k in with_pauses(few) if (row := _row_of(stream, k)) is not None}
    islands = _Islands()
    for uses in touched.values():
        own = [number for number, _ in uses if number in small]
        if any(access.mode != READ for _, access in uses):
            for one, other in itertools.pairwise(own):
                islands.join(one, other)
    saved: dict[int, float] = {}
    for number, row in small.items():
        island = islands.of(number)
        saved[island] = saved.get(island, 0.0) - _cost(row) + _CALL_NS * (number in troubled)
    paying = {island for island, ns in saved.items() if ns > 0.0}
    if paying:
        lines = as_lines()
        still = {number for number in few if lines[number].kind == ""}
        still.update(_in_conflict(_touched(lines, few, blocks), _read_alone(lines, few)))
        paying &= {islands.of(number) for number in small if number in still}
    return {number: row for number, row in small.items() if islands.of(number) in paying}


def _read_alone(rows: Sequence[StreamRow], numbers: Iterable[int]) -> set[Span]:
    """Return the elements that rows of one element touch; others are read for all elements of a line, or are sums."""
    return {access.span for number in numbers if rows[number].count == 1 for access in rows[number].accesses}


def _few(rows: Sequence[StreamRow], stream: InstructionStream) -> list[int]:
    """Return the numbers of the rows that go through few elements, or are products of matrices."""
    counts = stream.frames[:, field.COUNT]
    able = (stream.op >= 0) & (counts > 0) & (counts <= MAX_ELEMENTS)
    kinds = ("", FORWARD, REVERSE, TANGENT, SUM)
    return [k for k in able.nonzero()[0].tolist() if rows[k].kind in kinds]


_Uses = list[tuple[int, Access]]


def _touched(rows: Sequence[StreamRow], numbers: Iterable[int], blocks: DisjointMemory) -> dict[int, _Uses]:
    """Return which rows touch each block."""
    found: dict[int, _Uses] = {}
    for number in with_pauses(numbers):
        for access in rows[number].accesses:
            found.setdefault(blocks.around(access.start)[0], []).append((number, access))
    return found


def _in_conflict(touched: dict[int, _Uses], alone: Container[Span] | None = None) -> Iterator[int]:
    """Yield rows that touch elements which others touch as a part of something else, so that no vector holds both.

    An element of a line is no such part unless it is among those of `alone`.
    """
    for uses in with_pauses(touched.values()):
        modes: dict[Span, set[int]] = {}
        for _, access in uses:
            if access.span.dtype:
                modes.setdefault(access.span, set()).add(access.mode)
        found = set(_spans_in_conflict(modes, alone))
        yield from (number for number, access in uses if access.span in found)


def _spans_in_conflict(modes: dict[Span, set[int]], alone: Container[Span] | None) -> Iterator[Span]:
    """Yield spans that overlap others, unless both are only read, or only added to."""
    ordered = sorted(modes, key=lambda span: span.start)
    for k, one in enumerate(ordered):
        for n in range(k + 1, len(ordered)):
            other = ordered[n]
            if other.start >= one.stop:
                break
            both = modes[one] | modes[other]
            if one.whole == other.whole:
                continue  # of the same complex numbers
            if alone is not None and _is_broadcast(one, other, alone):
                continue
            if WRITE in both or len(both) > 1:
                yield from (one, other)


def _is_broadcast(one: Span, other: Span, alone: Container[Span]) -> bool:
    """Return whether one of two spans is an element of the other one, and rows have it for all of theirs."""
    line, single = (other, one) if one.single else (one, other)
    return single.single and not line.single and is_element(single, line) and single not in alone


class _Islands:
    """Rows that share memory, however many are in between."""

    def __init__(self) -> None:
        self._towards: dict[int, int] = {}

    def of(self, number: int) -> int:
        """Return the row that an island is named by."""
        while (towards := self._towards.setdefault(number, number)) != number:
            self._towards[number] = number = self._towards[towards]
        return number

    def join(self, one: int, other: int) -> None:
        """Make the islands of two rows one."""
        self._towards[self.of(one)] = self.of(other)


def _cost(row: _Row) -> float:
    """Return the time that it takes to compute a row's elements one by one, in place of all at once."""
    if not isinstance(row.op, Op):
        return _ELEMENT_NS * (row.elements - 1)
    calls = sum(calls_mathematics(parse(text)) for text in texts(row.op, row.kind))
    return (_ELEMENT_NS + _FUNCTION_NS * calls) * (row.elements - 1)


def _row_of(stream: InstructionStream, k: int) -> _Row | None:
    """Return a row that can be written out; `None` for another one."""
    op, dtype = kernel_table.row(int(stream.op[k])), kernel_table.DTYPE_NAMES[int(stream.variant[k])]
    kind, fields = KINDS[int(stream.direction[k])], stream.frames[k].tolist()
    if dtype not in ("f64", "f32"):
        return None
    row = _Row(op, dtype, kind, fields, nest_of(fields))
    if _goes_backwards(row):
        return None
    if op.kind == "matmul":
        return row if _is_small_product(row) else None
    if not (isinstance(op, Op) or (op.fused_as == SUM and kind != TANGENT)):
        return None
    if not 0 < row.elements <= MAX_ELEMENTS:
        return None
    if isinstance(op, Op) and (not is_emitted(op, kind) or seeds_of(kind, fields)[0] != 1):
        return None
    return row if all(map(row.has, _roles(row))) and _writes_once(row) else None


def _roles(row: _Row) -> list[int]:
    """Return the operands that a row cannot do without."""
    if not isinstance(row.op, Op):
        return [_X_BAR, _Y_BAR]
    return [*primals_read(row.op, row.kind, row.wanted), _Y if row.kind == FORWARD else _Y_BAR]


def _goes_backwards(row: _Row) -> bool:
    """Return whether an operand outside of the program is gone through from its end.

    The made-up addresses of such an operand begin with its first element, and what lies before is another one's.
    """
    for role in range(ROLES):
        j = role % 4
        if row.has(role) and row.fields[_field_of(role)] < MADE_UP:
            steps = (row.fields[field.STRIDE + j], *row.nest.steps[j])
            if row.op.kind == "matmul":
                own = 3 + 2 * min(j, 2)
                steps = tuple(
                    pointed_fields(row.fields[field.PARAMS], len(MatmulParams._fields))[own : own + 2]
                )
            if min(steps) < 0:
                return True
    return False


def _is_small_product(row: _Row) -> bool:
    """Return whether a row is one product of small matrices, not a stack of them."""
    m, n, k = pointed_fields(row.fields[field.PARAMS], 3)
    few = max(m * n, m * k, k * n) <= MAX_ELEMENTS and 0 < m * n * k <= MAX_INLINE_PRODUCTS
    return few and row.kind != TANGENT and row.elements == 1 and not row.nest.extents


def _writes_once(row: _Row) -> bool:
    """Return whether a row's results are elements of their own, or added one after another to the same."""
    if row.kind in (FORWARD, TANGENT) and isinstance(row.op, Op):
        return True
    targets: list[list[int]] = []
    for j in range(3):
        if row.has(_X_BAR + j):
            own = [address for line in row.addresses(_X_BAR + j) for address in dict.fromkeys(line)]
            comes_again = len(set(own)) < len(own)
            shared = [other for other in targets if not set(own).isdisjoint(other)]
            if comes_again and (shared or row.is_stored(j)):
                return False  # lines take turns with operands
            if any(own != other for other in shared):
                return False
            targets.append(own)
    return True


# --- rows of numbers -------------------------------------------------------------------------------------------------


def _written_out(row: _Row, new: Callable[[int], int]) -> list[StreamRow]:
    """Return the rows of numbers that do what a row does, in its order."""
    if row.op.kind == "matmul":
        return list(_products(row))
    if isinstance(row.op, Op):
        return _elementwise(row, new)
    return list(_sums(row, row.addresses(_Y_BAR), 0))


def _elementwise(row: _Row, new: Callable[[int], int]) -> list[StreamRow]:
    """Return a row for each element. What it adds up of a line it leaves in memory of its own, for a row that does."""
    op, kind, dtype = row.op, row.kind, row.dtype
    wanted = row.wanted
    read = {j: row.addresses(j) for j in primals_read(op, kind, wanted)}
    dual_mode = READ if kind == TANGENT else ADD
    duals = {j: row.addresses(_X_BAR + j) for j in wanted}
    stored, summed = row.fields[field.STORE] & 7, []
    if kind == REVERSE and row.count > 1:
        for j in wanted:
            if row.fields[field.STRIDE + j] == 0:
                terms = _of_their_own(row, new)
                summed += list(_sums(row, terms, j))
                duals[j], stored = terms, stored | 1 << j
    result = row.addresses(_Y if kind == FORWARD else _Y_BAR)
    accesses: list[Access] = []
    places = itertools.product(range(len(result)), range(row.count))
    for copy, (line, i) in enumerate(places):
        first = ROLES * copy
        for j, lines in read.items():
            of = "b8" if j in op.boolean_operands else dtype
            accesses.append(_number(first + j, READ, lines[line][i], of))
        at, mode = (_Y, WRITE) if kind == FORWARD else (_Y_BAR, WRITE if kind == TANGENT else READ)
        accesses.append(_number(first + at, mode, result[line][i], "b8" if op.predicate else dtype))
        for j, lines in duals.items():
            own = WRITE if kind == REVERSE and stored >> j & 1 else dual_mode
            accesses.append(_number(first + _X_BAR + j, own, lines[line][i], dtype))
    made = StreamRow(op.name, dtype, kind, 1, tuple(accesses), stored, row.elements, is_part=True)
    return [made, *summed]


def _of_their_own(row: _Row, new: Callable[[int], int]) -> list[list[int]]:
    """Return the addresses of new elements for all results of a row, line by line."""
    size = BYTES[row.dtype]
    start = new(row.elements * size)
    return [
        [start + size * (line + i) for i in range(row.count)] for line in range(0, row.elements, row.count)
    ]


def _sums(row: _Row, terms: list[list[int]], j: int) -> Iterator[StreamRow]:
    """Yield the rows that add lines of terms to the cotangent of an operand, or to that of as many elements."""
    mode = WRITE if row.is_stored(j) else ADD
    is_total = row.count > 1 and row.fields[field.STRIDE + j] == 0
    for target, line in zip(row.addresses(_X_BAR + j), terms, strict=True):
        if is_total:
            accesses = [_number(ROLES * t, READ, address, row.dtype) for t, address in enumerate(line)]
            yield _part(row, TOTAL, [*accesses, _number(_X_BAR, mode, target[0], row.dtype)], mode, len(line))
        else:
            for to, address in zip(target, line, strict=True):
                own = [_number(_Y_BAR, READ, address, row.dtype), _number(_X_BAR, mode, to, row.dtype)]
                yield _part(row, SUM, own, mode)


def _part(row: _Row, kind: str, accesses: Iterable[Access], mode: int, size: int = 1) -> StreamRow:
    return StreamRow(row.op.name, row.dtype, kind, 1, tuple(accesses), int(mode == WRITE), size, is_part=True)


# --- products of matrices --------------------------------------------------------------------------------------------


class _Matrix(NamedTuple):
    """A matrix in memory; steps in bytes."""

    address: int
    rows: int
    columns: int
    row_step: int
    column_step: int

    def at(self, i: int, j: int) -> int:
        """Return the address of an element."""
        return self.address + i * self.row_step + j * self.column_step

    @property
    def transposed(self) -> "_Matrix":
        """The same elements, rows as columns."""
        return _Matrix(self.address, self.columns, self.rows, self.column_step, self.row_step)


def _products(row: _Row) -> Iterator[StreamRow]:
    """Yield the rows of a product of matrices, or of its cotangents, in the order of the kernel."""
    m, n, k, *steps = pointed_fields(row.fields[field.PARAMS], len(MatmulParams._fields))

    def matrices(a: int, b: int, y: int) -> tuple[_Matrix, _Matrix, _Matrix]:
        addresses = [row.fields[_field_of(role)] for role in (a, b, y)]
        shapes = (m, k), (k, n), (m, n)
        pairs = zip(addresses, shapes, zip(steps[::2], steps[1::2], strict=True), strict=True)
        first, second, third = (_Matrix(address, *shape, *own) for address, shape, own in pairs)
        return first, second, third

    if row.kind == FORWARD:
        yield from _product(row, *matrices(0, 1, _Y), WRITE)
        return
    a, b, y_bar = matrices(0, 1, _Y_BAR)
    a_bar, b_bar, _ = matrices(_X_BAR, _X_BAR + 1, _Y_BAR)
    if a_bar.address:
        yield from _product(row, y_bar, b.transposed, a_bar, WRITE if row.is_stored(0) else ADD)
    if b_bar.address:
        yield from _product(row, a.transposed, y_bar, b_bar, WRITE if row.is_stored(1) else ADD)


def _product(row: _Row, a: _Matrix, b: _Matrix, c: _Matrix, mode: int) -> Iterator[StreamRow]:
    for i, j in itertools.product(range(c.rows), range(c.columns)):
        factors = [
            _number(ROLES * t + side, READ, address, row.dtype)
            for t in range(a.columns)
            for side, address in enumerate((a.at(i, t), b.at(t, j)))
        ]
        yield _part(row, PRODUCT, [*factors, _number(_X_BAR, mode, c.at(i, j), row.dtype)], mode, a.columns)
