"""Display of a segment: the instructions that it runs, their arithmetic, and LLVM's instructions for it."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from tapegrad.engine.codegen.kernels import segment_text
from tapegrad.engine.codegen.rows.case import PARTS as COMPLEX
from tapegrad.engine.codegen.rows.case import Case
from tapegrad.engine.codegen.rows.directions import primal_of
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
    SegmentLine,
    SegmentRow,
    TakenLine,
)
from tapegrad.engine.codegen.segments.segment_rows import op_of
from tapegrad.engine.kernels.language.segment_frame import COUNTS, TURNS, field_of
from tapegrad.program.fusion.grouping.rows import BYTES
from tapegrad.program.fusion.grouping.segments import BoundSegment
from tapegrad.program.fusion.outside import located
from tapegrad.program.streams.spec import JACREV, JVP, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.streams.stream import MADE_UP, RANGE_SHIFT, RUN_FORWARD

_KINDS = ("forward", "reverse", "tangent")
_PRIMALS = re.compile(r"\b(x0|x1|x2|y)\b")
_ATOM = re.compile(r"[\w.\[\]:]+")


class PlacedSegment(NamedTuple):
    """A segment in a stream.

    Attributes
    ----------
    bound
        The segment, and the fields of its frame.
    instructions, directions
        For each of its rows the instruction of the tape, -1 for none, and the direction of its kernel.
    outside
        The addresses of the arrays outside of the program, which have made-up ones in the fields.
    """

    bound: BoundSegment
    instructions: list[int]
    directions: list[int]
    outside: list[int]


class InProgram(NamedTuple):
    """Context of a displayed segment.

    Attributes
    ----------
    placed
        The segment.
    spec
        What its program computes.
    inputs, given
        How many of the program's bindings are arguments of the function, and how many the caller gives.
    sizes
        How many elements each binding has.
    of_tangents
        Whether it belongs to a stream of nothing but tangents.
    """

    placed: PlacedSegment
    spec: ProgramSpec
    inputs: int
    given: int
    sizes: list[int]
    of_tangents: bool


class ShownSegment:
    """Instructions of a replay that are executed as one loop. Print it to see its arithmetic.

    Lines are named as in the printed tape: ``v2`` is the result of instruction 2, ``x0`` the first argument,
    ``x0[1:4]`` a part of its elements, counted through, and ``x0@6`` one that begins with element 6, where there are
    loops around the innermost one. ``v2_bar`` is a cotangent, ``v2_dot`` a tangent, ``v2_dot1`` the next; ``v2.0`` is
    the first line of a loop, or element of an array, that is written out. ``m0`` lies in the workspace, ``t0`` is
    nowhere but in registers.

    Attributes
    ----------
    computes
        What the program computes that it belongs to: "forward" for the values alone, "value_and_grad", "jacrev",
        "jacfwd", "jvp" or "vjp".
    elements
        How many elements the loop goes through.
    instructions
        Numbers of the instructions, in the order of execution.
    """

    def __init__(self, shown: InProgram, outside: Callable[[], Mapping[int, str]]) -> None:
        self.computes = shown.spec.kind
        self._shown = shown
        self._placed = shown.placed
        self._outside = outside  # names of arrays outside of the program, by address

    @property
    def elements(self) -> int:
        bound = self._placed.bound
        line = COUNTS if bound.segment.by_steps else TURNS
        return bound.fields[field_of(line)] * bound.steps

    @property
    def instructions(self) -> list[int]:
        return list(dict.fromkeys(number for number in self._placed.instructions if number >= 0))

    def __repr__(self) -> str:
        return f"<segment of {self.summary}>"

    @property
    def summary(self) -> str:
        """Summary in one line: the program of the segment, and the instructions that it runs."""
        parts = []
        for kind in _KINDS:
            own = {
                number
                for number, direction in zip(self._placed.instructions, self._placed.directions, strict=True)
                if number >= 0 and _KINDS[direction] == kind
            }
            parts += [f"{kind} {_ranges(own)}"] if own else []
        plural = "" if self.elements == 1 else "s"
        return f"{self.computes}: {', '.join(parts)}; {self.elements} element{plural}"

    @property
    def arithmetic(self) -> list[str]:
        """Statements of its rows."""
        names = _LineNames(self._shown, self._outside())
        return [text for row in self._placed.bound.segment.rows for text in _statements(row, names)]

    @property
    def ir(self) -> str:
        """LLVM's instructions for its loop, on the processor at hand."""
        return segment_text(self._placed.bound.segment)

    def __str__(self) -> str:
        return "\n".join([self.summary, *(f"    {line}" for line in self.arithmetic)])


def _ranges(numbers: Iterable[int]) -> str:
    """Return sorted numbers as text, consecutive ones as ranges."""
    ordered = sorted(numbers)
    starts = [ordered[0], *(b for a, b in pairwise(ordered) if b != a + 1)]
    stops = [*(a for a, b in pairwise(ordered) if b != a + 1), ordered[-1]]
    return " ".join(
        str(first) if first == last else f"{first}-{last}" for first, last in zip(starts, stops, strict=True)
    )


def _copies(rows: Iterable[tuple[int, SegmentRow]]) -> Counter[tuple[int, str]]:
    """Return how many results rows of a stream have, by their numbers and directions; a row may have many copies."""
    results: dict[tuple[int, str], set[int]] = {}
    found = Counter[tuple[int, str]]()
    for own, row in rows:
        results.setdefault((own, row.kind), set()).add(row.primals[-1])
        has_one = row.kind in (SHARES, EXTREME, TIES, PORTIONS)
        found[own, row.kind] = len(results[own, row.kind]) if has_one else found[own, row.kind] + 1
    return found


class _LineNames:
    """Names of the lines of a segment."""

    def __init__(self, shown: InProgram, outside: Mapping[int, str]) -> None:
        self._shown, self._outside, placed = shown, outside, shown.placed
        self._bound = placed.bound
        self._names: dict[int, str] = {}
        self._counted: dict[str, int] = {}
        segment = self._bound.segment
        met = Counter[tuple[int, str]]()
        copies = _copies(zip(self._bound.rows, segment.rows, strict=True))
        columns = zip(segment.rows, placed.instructions, placed.directions, self._bound.rows, strict=True)
        for row, number, direction, own in columns:
            is_written_out = copies[own, row.kind] > 1 and row.kind != TANGENT
            self._name_results(row, number, direction, f".{met[own, row.kind]}" if is_written_out else "")
            met[own, row.kind] += 1
        summed = [each.line for each in segment.additions if segment.sums_up(each)]
        for number, address in zip(summed, segment.sums, strict=False):
            if number not in self._names:
                self._names[number] = self._in_memory(replace(segment.lines[number], address=address))
        for number, line in enumerate(segment.lines):
            if line.address >= 0 and number not in self._names:
                self._names[number] = self._in_memory(line)
        for region in segment.regions:
            for number, shift in region.shifts:
                whole = self._names.get(region.whole, "")
                if whole and number not in self._names:
                    self._names[number] = f"{whole}[{shift}:{shift + self._count(segment.lines[number])}]"

        for element in segment.elements:
            if element.line not in self._names:
                self._names[element.line] = f"{self[element.whole]}[{element.lane}]"
        for part in segment.parts:
            self._names.setdefault(part.line, f"{self[part.whole]}.{('real', 'imag')[part.part]}")

    def __getitem__(self, line: int) -> str:
        return self._names.get(line) or self._names.setdefault(line, self._next("t"))

    def is_single(self, line: int) -> bool:
        return self._bound.segment.lines[line].count < 0

    def _next(self, letter: str) -> str:
        count = self._counted[letter] = self._counted.get(letter, -1) + 1
        return f"{letter}{count}"

    def _count(self, line: SegmentLine) -> int:
        if line.count < 0:
            return 1
        return self._bound.fields[field_of(COUNTS + line.count)]

    def _name_results(self, row: SegmentRow, number: int, direction: int, step: str) -> None:
        """Name the result of a row's instruction, and its derivatives, in one step of its loop."""
        if number < 0:
            return
        is_sum = row.kind in (SUM, PRODUCT, TOTAL)
        if (is_sum or row.kind in (FORWARD, EXPONENTIALS, ALONG_LINES, EXTREME)) and direction == RUN_FORWARD:
            self._name_result(row.duals[0] if is_sum else row.primals[-1], f"v{number}{step}")
            return
        if row.kind in (PRODUCT, TOTAL):
            return  # operands have their names from other rows
        if row.primals[3] >= 0:
            self._names.setdefault(row.primals[3], f"v{number}{step}")
        if row.duals[3] >= 0:
            self._name_second(row.duals[3], f"v{number}{step}{'_dot' if row.kind == TANGENT else '_bar'}")

    def _name_result(self, line: int, name: str) -> None:
        """Name the result of a forward kernel: a primal first, then tangents."""
        if self._shown.of_tangents or name in self._names.values():
            self._name_second(line, f"{name}_dot")
        else:
            self._names.setdefault(line, name)

    def _name_second(self, line: int, name: str) -> None:
        """Name a derivative; further ones of the same value have numbers."""
        if line not in self._names:
            self._names[line] = self._next(name) if name in self._counted else name
            self._counted.setdefault(name, 0)

    def _in_memory(self, line: SegmentLine) -> str:
        segment, fields = self._bound.segment, self._bound.fields
        address = fields[field_of(COUNTS + len(segment.counts) + line.address)]
        area, offset = address >> RANGE_SHIFT, address & ((1 << RANGE_SHIFT) - 1)
        if address < MADE_UP:
            array, offset = located(address)
            name = self._outside.get(self._shown.placed.outside[array]) or self._next("a")
            is_whole = offset == 0
        elif area < 2:
            name, offset, is_whole = self._next("m"), 0, True
        else:
            name = self._binding(area - 2)
            is_whole = self._count(line) * self._steps(line) == self._shown.sizes[area - 2]
        if line.taken is not None:
            return self._elements_of(name, line, line.taken, offset)
        if line.rolled is not None:
            return f"{name}[roll {line.rolled.cut} of {line.rolled.period}]"
        return name if is_whole else self._part(name, line, offset)

    def _elements_of(self, table: str, line: SegmentLine, taken: TakenLine, offset: int) -> str:
        """Return the name of elements that a list names, a number of elements behind the first of each row."""
        if taken.by not in self._names:
            self._names[taken.by] = self._in_memory(self._bound.segment.lines[taken.by])
        length, first = taken.step // BYTES[line.dtype], offset // BYTES[line.dtype]
        row = self._names[taken.by] if length == 1 else f"{length}*{self._names[taken.by]}"
        return f"{table}[{row}+{first}]" if first else f"{table}[{row}]"

    def _part(self, name: str, line: SegmentLine, offset: int) -> str:
        """Return the name of a part of an array that begins after so many bytes."""
        first = offset // BYTES[line.dtype]
        if self._bound.segment.loops:
            return f"{name}@{first}"
        return f"{name}[{first}:{first + self._count(line)}]"

    def _steps(self, line: SegmentLine) -> int:
        """Return how many steps of the outer loops move a line to other elements."""
        segment, fields = self._bound.segment, self._bound.fields
        starts = [segment.extent(loop) for loop in range(segment.loops)]
        moved = [start for start in starts if fields[field_of(start + 1 + line.address)] != 0]
        return math.prod(fields[field_of(start)] for start in moved)

    def _binding(self, number: int) -> str:
        """Return the name of an array of the caller's."""
        spec, inputs, result = self._shown.spec, self._shown.inputs, number - self._shown.given
        if number < inputs:
            return f"x{number}"
        if spec.kind == JVP and result < 0:
            return f"x{spec.wrt[number - inputs]}_dot"
        if spec.kind in (VALUE_AND_GRAD, JACREV) and not spec.values:
            return f"x{spec.wrt[result]}_bar"
        return f"result{result}" if result >= 0 else f"given{number - inputs}"


def _statements(row: SegmentRow, names: _LineNames) -> list[str]:
    """Return the statements of a row."""
    if row.kind == SUM:
        return [_sum(row, names)]
    if row.kind == CHECK:
        return [f"check {names[row.primals[0]]}"]
    if row.kind == FORWARD:
        return [f"{names[row.primals[3]]} = {_with_names(primal_of(op_of(row.op)), row, names)}"]
    if row.kind in (EXPONENTIALS, ALONG_LINES):
        operands = ", ".join(names[x] for x in row.primals[:-1])
        given = f"[{operands}], axis=1" if row.kind == ALONG_LINES else operands
        return [f"{names[row.primals[-1]]} = {row.op}({given})"]
    if row.kind in (EXTREME, TIES, PORTIONS):
        return [_extreme(row, names)]
    if row.kind in (PRODUCT, TOTAL):
        return [_sum_of_numbers(row, names)]
    if row.kind == SHARES:
        x, y, to, bar = (names[k] for k in (row.primals[0], row.primals[3], row.duals[0], row.duals[3]))
        return [f"{to} {'=' if row.stored & 1 else '+='} {bar}*exp({x}-{y})"]
    wanted = [j for j in op_of(row.op).differentiable_operands if row.duals[j] >= 0]
    if row.dtype in COMPLEX:
        return _of_complex(row, names, wanted)
    partials = op_of(row.op).partials
    if row.kind == REVERSE:
        bar = names[row.duals[3]]
        return [
            f"{names[row.duals[j]]} {'=' if row.stored & 1 << j else '+='} "
            f"{_product(bar, _with_names(partials[j], row, names))}"
            for j in wanted
        ]
    terms = [
        _product(names[row.duals[j]], _with_names(partials[j], row, names))
        for j in wanted
        if partials[j] != "0"
    ]
    return [f"{names[row.duals[3]]} = {' + '.join(terms) or '0'}"]


_NUMBER = re.compile(r"-?[\d.]+")


def _of_complex(row: SegmentRow, names: _LineNames, wanted: Sequence[int]) -> list[str]:
    """Return the statements of derivatives by complex numbers, and by real ones beside them."""
    case = Case(op_of(row.op), row.dtype)
    found, tangents = [], []
    for j in wanted:
        p, q = (_with_names(each[j], row, names) for each in (case.partials, case.conjugate_partials))
        x = names[row.duals[3 if row.kind == REVERSE else j]]
        conjugate = p if _NUMBER.fullmatch(p) else f"conj({p})"
        is_turned = (row.kind == TANGENT) == case.op.real_result
        turned = (conjugate if is_turned else p, q)
        first, second = (
            _product(factor, text) for factor, text in zip((x, f"conj({x})"), turned, strict=True)
        )
        terms = [term for term, text in ((first, p), (second, q)) if text != "0"]
        term = " + ".join(terms[:1] if case.op.real_result else terms) or "0"
        is_real = not case.is_pair(j) if row.kind == REVERSE else case.op.real_result
        term = f"real({term})" if is_real else term
        found.append(f"{names[row.duals[j]]} {'=' if row.stored & 1 << j else '+='} {term}")
        tangents.append(term)
    return found if row.kind == REVERSE else [f"{names[row.duals[3]]} = {' + '.join(tangents) or '0'}"]


def _sum(row: SegmentRow, names: _LineNames) -> str:
    to, line = names[row.duals[0]], names[row.duals[3]]
    sums = names.is_single(row.duals[0]) and not names.is_single(row.duals[3])
    return f"{to} {'=' if row.stored & 1 else '+='} {f'sum({line})' if sums else line}"


def _sum_of_numbers(row: SegmentRow, names: _LineNames) -> str:
    terms = [names[line] for line in row.primals]
    if row.kind == PRODUCT:
        terms = [f"{x}*{y}" for x, y in zip(terms[::2], terms[1::2], strict=True)]
    return f"{names[row.duals[0]]} {'=' if row.stored & 1 else '+='} {' + '.join(terms)}"


def _extreme(row: SegmentRow, names: _LineNames) -> str:
    """Return the statement of a row of extremes, or of their derivatives."""
    x, y = names[row.primals[0]], names[row.primals[3]]
    if row.kind == EXTREME:
        also = "" if row.along == 0 else f"{y}, "
        return f"{y} = {row.op.removesuffix('_reduce')}({also}{x})"
    if row.kind == TIES:
        return f"{names[row.duals[0]]} {'=' if row.along == 0 else '+='} sum({x}=={y})"
    ties, to, bar = names[row.primals[1]], names[row.duals[0]], names[row.duals[3]]
    return f"{to} {'=' if row.stored & 1 else '+='} where({x}=={y}, {bar}/{ties}, 0)"


def _with_names(text: str, row: SegmentRow, names: _LineNames) -> str:
    primals: Sequence[int] = row.primals
    return _PRIMALS.sub(lambda found: names[primals[("x0", "x1", "x2", "y").index(found[0])]], text)


def _product(factor: str, partial: str) -> str:
    if partial == "1":
        return factor
    return f"{factor}*{partial}" if _ATOM.fullmatch(partial) else f"{factor}*({partial})"
