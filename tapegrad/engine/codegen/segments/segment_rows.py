"""The rows of a segment as values: what one row writes, the next one reads from registers."""

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.operations import total_of, transposed
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.mathematics import MATHEMATICS
from tapegrad.engine.codegen.rows.case import ELEMENTS, Case
from tapegrad.engine.codegen.rows.case import PARTS as COMPLEX
from tapegrad.engine.codegen.rows.complex_expressions import FUNCTIONS as COMPLEX_FUNCTIONS
from tapegrad.engine.codegen.rows.complex_expressions import ComplexExpressions
from tapegrad.engine.codegen.rows.directions import primal_of
from tapegrad.engine.codegen.rows.exponentials import call_log_of_sum, log_of_sum, share
from tapegrad.engine.codegen.rows.expressions import (
    FUNCTIONS,
    Expressions,
    functions_in,
    is_library_call,
    parse,
)
from tapegrad.engine.codegen.segments.extremes import portion, ties_of
from tapegrad.engine.codegen.segments.packed import PackedRows, PairedRows, RowLines, in_batches
from tapegrad.engine.codegen.segments.segment import (
    ALONG_LINES,
    CHECK,
    EXPONENTIALS,
    EXTREME,
    FORWARD,
    PORTIONS,
    PRODUCT,
    REVERSE,
    SHARES,
    SUM,
    TANGENT,
    TIES,
    TOTAL,
    Segment,
    SegmentRow,
)
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.ops import CODES, ROWS, Op

_NAMES = ("x0", "x1", "x2", "y")
_ROW, _CALL = 0.025, 1.0  # nanoseconds
_FIXED = {  # functions that rows call which have no text
    SUM: frozenset[str](),
    EXPONENTIALS: frozenset({"exp", "log1p"}),
    ALONG_LINES: frozenset({"exp", "log1p"}),
    SHARES: frozenset({"exp"}),
    EXTREME: frozenset[str](),
    TIES: frozenset[str](),
    PORTIONS: frozenset[str](),
    PRODUCT: frozenset[str](),
    TOTAL: frozenset[str](),
    CHECK: frozenset[str](),
}


class SegmentLines(RowLines, Protocol):
    """The lines of a segment at one point of its iteration space."""

    def add_total(self, line: int, values: Sequence[Value], stored: bool) -> None:
        """Add up numbers as the elements of a line, and add that to a number or, where it is `stored`, write it."""

    def join(self, row: SegmentRow, value: Value) -> None:
        """Join elements with those that a row has joined before."""

    def look_at(self, line: int, count: int) -> None:
        """Note that what is computed from a line does not show whether it is NaN by haste."""


def op_of(name: str) -> Op:
    row = ROWS[CODES[name]]
    assert isinstance(row, Op)
    return row


def texts(op: Op, kind: str, dtype: str = "f64") -> list[str]:
    """Return the texts of the table that a row of this op evaluates."""
    if kind == FORWARD:
        return [primal_of(op, dtype in COMPLEX)]
    return _partials(op, dtype, op.differentiable_operands)


def _partials(op: Op, dtype: str, wanted: Sequence[int]) -> list[str]:
    """Return the texts of the partials by some operands, and by their conjugates."""
    conjugates = op.conjugate_partials if dtype in COMPLEX else ()
    return [each[j] for each in (op.partials_of(dtype), conjugates) if each for j in wanted]


@functools.cache
def is_emitted(op: Op, kind: str, dtype: str = "f64") -> bool:
    """Return whether all that a row computes is instructions and mathematics of ours."""
    known = COMPLEX_FUNCTIONS if dtype in COMPLEX else FUNCTIONS
    nodes = (node for text in texts(op, kind, dtype) for node in ast.walk(parse(text)))
    return not any(is_library_call(node, known) for node in nodes)


@functools.cache
def _primals(text: str) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(parse(text)) if isinstance(n, ast.Name)) & set(_NAMES)


def primals_read(op: Op, kind: str, wanted: Sequence[int], dtype: str = "f64") -> list[int]:
    """Return the primals that a row reads, 3 for the result; `wanted` are the operands with cotangents or tangents."""
    return _primals_read(op.name, kind, tuple(wanted), dtype)


@functools.cache
def _primals_read(name: str, kind: str, wanted: tuple[int, ...], dtype: str) -> list[int]:
    op = op_of(name)
    chosen = texts(op, kind, dtype) if kind == FORWARD else _partials(op, dtype, wanted)
    names = {name for text in chosen for name in _primals(text)}
    return sorted(_NAMES.index(name) for name in names)


def joins_sine_and_cosine(segment: Segment) -> bool:
    """Return whether sine and cosine are both needed, so that one call is to give both."""
    real = [row for row in segment.rows if row.dtype not in COMPLEX]
    return {"sin", "cos"} <= {name for row in real for name in _functions(row.op, row.kind)}


@functools.cache
def _functions(op: str, kind: str) -> frozenset[str]:
    """Return the functions that a row calls."""
    if kind in _FIXED:
        return _FIXED[kind]
    return frozenset(name for text in texts(op_of(op), kind) for name in functions_in(parse(text)))


def calls_mathematics(row: SegmentRow) -> bool:
    """Return whether a row calls vector functions."""
    return not MATHEMATICS.keys().isdisjoint(_functions(row.op, row.kind))


def cost_of_element(segment: Segment) -> float:
    """About how many nanoseconds an element takes: calls of functions count, and little else."""
    calling = sum(map(calls_mathematics, segment.rows))
    return _ROW * len(segment.rows) + _CALL * calling


def tainted(segment: Segment) -> set[int]:
    """Return the lines in which a product of zero and inf can show: derivatives, and values computed from them."""
    found: set[int] = set()
    whole = segment.wholes
    for row in segment.rows:
        primals, duals = row.primals, row.duals
        if row.kind in (FORWARD, EXPONENTIALS, ALONG_LINES, EXTREME):
            read, written = {*primals[:-1]}, {primals[-1]}
        elif row.kind == TANGENT:
            read, written = {*primals, *duals[:3]}, {duals[3]}
        else:
            read, written = {*primals, duals[3]}, {*duals[:3]}
        if (
            row.kind in (REVERSE, TANGENT, SHARES, PORTIONS)
            or {whole.get(line, line) for line in read} & found
        ):
            found |= {whole.get(line, line) for line in written - {-1}}
    return found


class Rows:
    """The rows of a segment, emitted for one vector index after the other."""

    def __init__(self, body: Body, segment: Segment, lanes: int) -> None:
        self._body, self._segment, self._lanes = body, segment, lanes
        self._joined = joins_sine_and_cosine(segment)
        self._unmasked = False

    def emit(self, lines: SegmentLines, unmasked: bool = False) -> None:
        """Emit every row for the elements at one vector index. `unmasked`: zero times inf may be NaN."""
        self._unmasked = unmasked
        most = self._body.target.lanes
        if self._lanes == 1:
            self._emit_packed(lines, most, PackedRows)
        elif 2 * self._lanes == most:
            self._emit_packed(lines, 2, PairedRows)
        else:
            for row in with_pauses(self._segment.rows):
                _KINDS[row.kind](self, row, lines)

    def _emit_packed(self, lines: SegmentLines, most: int, packed_rows: type[PackedRows]) -> None:
        """Emit rows; where adjacent ones call the same functions, at most so many, they share the calls."""
        for batch in with_pauses(in_batches(self._segment, most)):
            if len(batch) > 1 and calls_mathematics(batch[0]):
                packed = packed_rows(batch, lines, self._body.target.lanes)
                _KINDS[packed.row.kind](self, packed.row, packed)
            else:
                for row in batch:
                    _KINDS[row.kind](self, row, lines)

    def _expressions(self, row: SegmentRow, lines: RowLines) -> Expressions:
        def read(name: str) -> Value:
            return lines.read(row.primals[_NAMES.index(name)])

        if row.dtype in COMPLEX:
            type_ = Type(COMPLEX[row.dtype], lines.lanes)
            return ComplexExpressions(self._body, type_, read, [], unmasked=self._unmasked)
        type_ = Type(ELEMENTS[row.dtype], lines.lanes)
        nodes = [parse(text) for text in texts(op_of(row.op), row.kind)]
        return Expressions(self._body, type_, read, nodes, joined=self._joined, unmasked=self._unmasked)

    def forward(self, row: SegmentRow, lines: RowLines) -> None:
        (text,) = texts(op_of(row.op), FORWARD, row.dtype)
        value = self._expressions(row, lines).value(parse(text))
        lines.write(row.primals[3], value)

    def _wanted(self, row: SegmentRow) -> Sequence[int]:
        """Return the operands that have a cotangent or a tangent."""
        return [j for j in op_of(row.op).differentiable_operands if row.duals[j] >= 0]

    def _pairs(self, row: SegmentRow) -> tuple[Case, dict[int, tuple[ast.expr, ast.expr]]]:
        """Return the row of complex operands, and the partials by each wanted one and by its conjugate."""
        case = Case(op_of(row.op), row.dtype, self._body.target)
        both = zip(case.partials, case.conjugate_partials, strict=True)
        pairs = [(parse(first), parse(second)) for first, second in both]
        return case, {j: pairs[j] for j in self._wanted(row)}

    def reverse(self, row: SegmentRow, lines: RowLines) -> None:
        expressions, bar = self._expressions(row, lines), lines.read(row.duals[3])
        partials = op_of(row.op).partials
        if isinstance(expressions, ComplexExpressions):
            case, pairs = self._pairs(row)
            terms = {j: expressions.contribution(case, j, pair, bar) for j, pair in pairs.items()}
        else:
            terms = {j: expressions.times(parse(partials[j]), bar) for j in self._wanted(row)}
        for j, term in terms.items():
            lines.add(row.duals[j], term, row.count, bool(row.stored & 1 << j))

    def tangent(self, row: SegmentRow, lines: RowLines) -> None:
        expressions, partials = self._expressions(row, lines), op_of(row.op).partials
        if isinstance(expressions, ComplexExpressions):
            case, pairs = self._pairs(row)
            terms = [expressions.change(case, pair, lines.read(row.duals[j])) for j, pair in pairs.items()]
        else:
            terms = [
                expressions.along(parse(partials[j]), lines.read(row.duals[j]))
                for j in self._wanted(row)
                if partials[j] != "0"
            ]
        lines.write(row.duals[3], total_of(terms) if terms else expressions.value(parse("0.0")))

    def sum(self, row: SegmentRow, lines: RowLines) -> None:
        value = lines.read(row.duals[3])
        if not lines.sums_up(row.duals[0], row.count):
            value = value + 0.0  # a sum of one element is never -0.0
        lines.add(row.duals[0], value, row.count, bool(row.stored & 1))

    def exponentials(self, row: SegmentRow, lines: RowLines) -> None:
        *operands, result = row.primals
        compute = call_log_of_sum if self._segment.is_short else log_of_sum
        lines.write(result, compute([lines.read(x) for x in operands]))

    def exponentials_along_lines(self, row: SegmentRow, lines: RowLines) -> None:
        *operands, result = row.primals
        others = [None] * (lines.lanes - len(operands))
        columns = transposed([*map(lines.read, operands), *others], self._segment.counts[row.count])
        lines.write(result, call_log_of_sum(columns))

    def shares(self, row: SegmentRow, lines: RowLines) -> None:
        x, y, bar = lines.read(row.primals[0]), lines.read(row.primals[3]), lines.read(row.duals[3])
        term = share(x, y, bar, unmasked=self._unmasked)
        lines.add(row.duals[0], term, row.count, bool(row.stored & 1))

    def extreme(self, row: SegmentRow, lines: SegmentLines) -> None:
        lines.look_at(row.primals[0], row.count)
        lines.join(row, lines.read(row.primals[0]))

    def ties(self, row: SegmentRow, lines: SegmentLines) -> None:
        lines.look_at(row.primals[0], row.count)
        lines.join(row, ties_of(lines.read(row.primals[0]), lines.read(row.primals[3])))

    def portions(self, row: SegmentRow, lines: SegmentLines) -> None:
        x, ties, y = (lines.read(row.primals[j]) for j in (0, 1, 3))
        for line in (row.primals[0], row.duals[3]):
            lines.look_at(line, row.count)
        stored = bool(row.stored & 1)
        lines.add(row.duals[0], portion(x, y, ties, lines.read(row.duals[3]), stored), row.count, stored)

    def product(self, row: SegmentRow, lines: RowLines) -> None:
        factors = [lines.read(line) for line in row.primals]
        products = (x * y for x, y in zip(factors[::2], factors[1::2], strict=True))
        total = total_of([factors[0].like(0.0), *products])
        lines.add(row.duals[0], total, row.count, bool(row.stored & 1))

    def total(self, row: SegmentRow, lines: SegmentLines) -> None:
        lines.add_total(row.duals[0], [lines.read(line) for line in row.primals], bool(row.stored & 1))


_KINDS: dict[str, Callable[[Rows, SegmentRow, Any], None]] = {
    FORWARD: Rows.forward,
    REVERSE: Rows.reverse,
    TANGENT: Rows.tangent,
    SUM: Rows.sum,
    EXPONENTIALS: Rows.exponentials,
    ALONG_LINES: Rows.exponentials_along_lines,
    SHARES: Rows.shares,
    EXTREME: Rows.extreme,
    TIES: Rows.ties,
    PORTIONS: Rows.portions,
    PRODUCT: Rows.product,
    TOTAL: Rows.total,
}
