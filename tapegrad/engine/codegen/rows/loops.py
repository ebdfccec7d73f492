"""A loop over elements, and the two functions that do it: one for lines that are adjacent, and one for all others.

The first asks once whether every line is adjacent in memory, and then goes over vectors where they lie: it is what
nearly every instruction runs through, and as short as it can be. The other one packs blocks (see `blocks`).
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tapegrad.engine.codegen.ir.blocks import (
    BlockLoop,
    ElementBlock,
    Elements,
    adjacent,
    adjacent_cotangent,
    everywhere,
    over_pieces,
    over_vectors,
)
from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.complex_values import Number, as_complex, parts_of
from tapegrad.engine.codegen.ir.memory import POINTER, Cotangent, Line, element_at, load_field, load_pointer
from tapegrad.engine.codegen.ir.sums import bring_to, total_of_line, widened
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.rows.case import Case, FrameFacts, count_of, frame_of, leave_for, operands
from tapegrad.engine.codegen.rows.complex_expressions import calls_complex_mathematics, expressions_for
from tapegrad.engine.codegen.rows.expressions import calls_mathematics
from tapegrad.engine.codegen.rows.stages import Called, Computed, Stages
from tapegrad.engine.kernels.language.frame import STORE
from tapegrad.engine.kernels.language.library import entry

_LETTERS = {"f64": "d", "f32": "f", "c128": "D", "c64": "F"}


def call_library(body: Body, name: str, dtype: str, n: Value, lines: Sequence[tuple[Value, Value]]) -> None:
    """Emit the call of a loop over `n` elements of lines, each an address and a stride, the result's last."""
    number, loops = 2 * entry(name, _LETTERS[dtype]), body.named(POINTER, "%loops")
    body.loops.add(name)
    loop, data = load_pointer(loops, number), load_pointer(loops, number + 1)
    pointers = _fields(body, POINTER, [address for address, _ in lines])
    strides = _fields(body, I64, [stride for _, stride in lines])
    body.do(f"call void {loop.text}({pointers}, {_fields(body, I64, [n])}, {strides}, {data})")


def _fields(body: Body, type_: Type, values: Sequence[Value]) -> Value:
    """Store values on the stack as 64-bit fields; return their address."""
    room = body.on_stack(f"[{len(values)} x {type_}]")
    for index, value in enumerate(values):
        slot = element_at(room, I64, body.constant(I64, index))
        body.do(f"store {value}, {slot}, align 8")
    return room


class LoopLines(NamedTuple):
    """Lines that a loop reads and writes, by name."""

    reads: dict[str, Line]
    writes: dict[str, Line]
    cotangents: dict[str, Cotangent]


@dataclass(frozen=True)
class Loop:
    """A loop over elements.

    Attributes
    ----------
    stages
        The expressions that are evaluated.
    emit
        What is done with a vector of elements.
    reads, writes
        Names of the cotangents or tangents that are read, and of the line that is written, if any.
    wanted
        Operands whose cotangents are contributed to.
    """

    case: Case
    stages: Stages
    emit: Callable[[Any, Elements], None]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    wanted: tuple[int, ...] = ()

    @property
    def takes_whole_vectors(self) -> bool:
        """True if functions of the mathematics are called, which take whole vectors only."""
        calls = calls_complex_mathematics if self.case.is_complex else calls_mathematics
        return any(map(calls, self.stages.nodes))

    def lines(self, body: Body, summed: bool = False) -> LoopLines:
        """Return the lines, for a function under construction; a cotangent that is `summed` is one element."""
        stores = {j: load_field(frame_of(body), STORE) for j in self.wanted}
        reads = self._named(body, self.stages.primals_read)
        cotangents = {
            f"x{j}_bar": Cotangent(self.case.line(body, f"x{j}_bar"), (store & (1 << j)).unequal(0), summed)
            for j, store in stores.items()
        }
        return LoopLines(reads | self._named(body, self.reads), self._named(body, self.writes), cotangents)

    def _named(self, body: Body, names: Iterable[str]) -> dict[str, Line]:
        return {name: self.case.line(body, name) for name in names}

    def run(self, body: Body, facts: FrameFacts | None = None) -> None:
        """Emit the loop over adjacent lines, where they lie; of one operand whose cotangent is one element the sum."""
        if facts and facts.sums:
            self._add_up(body, facts)
            return
        blocks = _adjacent(self.lines(body), facts)
        if facts and facts.single:
            self.vector(body)(Elements(blocks, body.constant(I64, 0), 1))
        else:
            over = over_vectors if self.takes_whole_vectors else over_pieces
            over(body, count_of(body), blocks, self.vector(body))

    def _add_up(self, body: Body, facts: FrameFacts) -> None:
        """Emit the sum of the contributions, in the order of `ir.sums`."""
        lines, (j,) = self.lines(body), self.wanted
        blocks = _adjacent(LoopLines(lines.reads, {}, {}), facts)

        def term(part: int, index: Value, lanes: int, mask: Value | None = None) -> Value:
            elements = _Term(blocks, index, lanes, mask)
            self.vector(body)(elements)
            value = as_complex(elements.term) if self.case.is_pair(j) else elements.term
            return widened(parts_of(value)[part], mask)

        stored = body.constant(Type("i1"), bool(facts.stored >> j & 1))
        cotangent = Cotangent(lines.cotangents[f"x{j}_bar"].line, stored)
        for number, part in enumerate(cotangent.parts()):
            with body.scope():
                bring_to(part, total_of_line(body, count_of(body), functools.partial(term, number)))

    def vector(self, body: Body) -> Callable[[Elements], None]:
        """Emit what is done with a vector."""

        def emit(elements: Elements) -> None:
            type_ = elements.type_of(self.case.element)
            expressions = expressions_for(self.case, body, type_, elements.read, self.stages.expressions)
            self.emit(expressions, elements)

        return emit


class _Term(Elements):
    """A vector of elements whose contribution is added up."""

    term: Number

    def add(self, name: str, value: Number) -> None:
        self.term = value


def _adjacent(lines: LoopLines, facts: FrameFacts | None) -> dict[str, ElementBlock]:
    """Describe adjacent lines as one block each, by what is known of them."""
    scalars = {f"x{j}" for j in operands(facts.scalars)} if facts else ()
    stored = {f"x{j}_bar" for j in operands(facts.stored)} if facts else ()
    return {
        **{
            name: everywhere(line) if name in scalars else adjacent(line)
            for name, line in (lines.reads | lines.writes).items()
        },
        **{
            name: adjacent_cotangent(to, name in stored if facts else None)
            for name, to in lines.cotangents.items()
        },
    }


def part_of(name: str, chosen: Iterable[int]) -> str:
    """Return the symbol of the part of a kernel that is for some operands."""
    return f"{name}.{''.join(map(str, chosen))}"


def functions_of(loop: Loop, name: str, otherwise: str = "") -> list[Body]:
    """Return the functions of a kernel; the one named `name` is its entry.

    Where lines are not adjacent it goes on in the kernel `otherwise`, if there is one that does the same.
    """
    if loop.stages.steps:
        return _general(loop, name)
    rest = otherwise or f"{name}.general"
    return [*([] if otherwise else _general(loop, rest)), _lean(loop, name, rest)]


def _lean(loop: Loop, name: str, otherwise: str) -> Body:
    body = loop.case.begin(name)
    count, lines = count_of(body), loop.lines(body)
    every = [*lines.reads.values(), *lines.writes.values(), *(to.line for to in lines.cotangents.values())]
    differences = body.constant(I64, 0)
    for line in every:
        differences = differences | (line.stride ^ line.element.bytes)
    lean, general = body.fresh("lean"), body.fresh("general")
    body.do(f"br {differences.equal(0) | count.equal(1)}, label %{lean}, label %{general}")
    body.begin(general)
    leave_for(body, otherwise)
    body.begin(lean)
    loop.run(body)
    body.ret("i64 0")
    return body


def _general(loop: Loop, name: str) -> list[Body]:
    """Return the functions for lines that are not adjacent; a cotangent of one element has its own."""
    body = loop.case.begin(name)
    if not loop.wanted:
        return [_by_blocks(loop, body)]
    (cotangent,) = loop.lines(body).cotangents.values()
    with body.when(cotangent.line.stride.equal(0)):
        leave_for(body, f"{name}.sum")
    return [_by_blocks(loop, loop.case.begin(f"{name}.sum"), summed=True), _by_blocks(loop, body)]


def _by_blocks(loop: Loop, body: Body, summed: bool = False) -> Body:
    lines = loop.lines(body, summed)
    blocks = BlockLoop(body, count_of(body), *lines, whole=not loop.stages.steps)
    make_room(loop.case, blocks, loop.stages)
    with blocks.each():
        run_steps(loop.case, blocks, loop.stages)
        blocks.over_elements(loop.vector(body))
    body.ret("i64 0")
    return body


def make_room(case: Case, blocks: BlockLoop, stages: Stages) -> None:
    """Make room for temporaries."""
    for step in stages.steps:
        is_real = not case.is_complex or (isinstance(step, Computed) and step.is_real)
        blocks.temporary(step.name, case.element if is_real else case.element.pair)


def run_steps(case: Case, blocks: BlockLoop, stages: Stages) -> None:
    """Fill the temporary blocks."""
    for step in stages.steps:
        if isinstance(step, Called):
            lines: list[tuple[Value, Value]] = [blocks.pointer(name) for name in (*step.arguments, step.name)]
            call_library(blocks.body, step.function, case.dtype, blocks.n, lines)
        else:
            fill(case, blocks, step, stages)


def fill(case: Case, blocks: BlockLoop, step: Computed, stages: Stages) -> None:
    """Fill a temporary block with the values of an expression."""

    def emit(elements: Elements) -> None:
        expressions = expressions_for(case, blocks.body, case.vector, elements.read, stages.expressions)
        elements.write(step.name, expressions.value(step.node))

    blocks.over_elements(emit)
