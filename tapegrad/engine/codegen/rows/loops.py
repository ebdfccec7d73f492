"""A loop over elements, and the two functions that do it: one for lines that are adjacent, and one for all others.

The first asks once whether every line is adjacent in memory, and then goes over vectors where they lie: it is what
nearly every instruction runs through, and as short as it can be. The other one packs blocks (see `blocks`).
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tapegrad.engine.codegen.ir.blocks import (
    BlockLoop,
    ElementBlock,
    Elements,
    adjacent,
    adjacent_cotangent,
    over_pieces,
    over_vectors,
)
from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import POINTER, Cotangent, Line, element_at, pointer_word
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.rows.case import Case, count_of, leave_for
from tapegrad.engine.codegen.rows.expressions import Expressions, calls_mathematics
from tapegrad.engine.codegen.rows.stages import Called, Computed, Stages
from tapegrad.engine.kernels.language.library import entry

_LETTERS = {"f64": "d", "f32": "f"}


def call_library(body: Body, name: str, dtype: str, n: Value, lines: Sequence[tuple[Value, Value]]) -> None:
    """Emit the call of a loop over `n` elements of lines, each an address and a stride, the result's last."""
    number, loops = 2 * entry(name, _LETTERS[dtype]), body.named(POINTER, "%loops")
    body.loops.add(name)
    loop, data = pointer_word(loops, number), pointer_word(loops, number + 1)
    places = _words(body, POINTER, [address for address, _ in lines])
    strides = _words(body, I64, [stride for _, stride in lines])
    body.do(f"call void {loop.text}({places}, {_words(body, I64, [n])}, {strides}, {data})")


def _words(body: Body, type_: Type, values: Sequence[Value]) -> Value:
    """Store values on the stack as 64-bit fields; return their address."""
    room = body.on_stack(f"[{len(values)} x {type_}]")
    for index, value in enumerate(values):
        place = element_at(room, I64, body.constant(I64, index))
        body.do(f"store {value}, {place}, align 8")
    return room


PRIMALS = ("x0", "x1", "x2", "y")


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
    stages, nodes
        What is done before the last loop over a block, and the expressions that are evaluated in it.
    lines
        The lines, for a function under construction.
    emit
        What is done with a vector of elements.
    """

    case: Case
    stages: Stages
    nodes: list[ast.expr]
    lines: Callable[[Body], LoopLines]
    emit: Callable[[Expressions, Elements], None]

    @property
    def takes_whole_vectors(self) -> bool:
        """True if functions of the mathematics are called, which take whole vectors only."""
        return any(map(calls_mathematics, self.nodes))

    def run(self, body: Body, blocks: dict[str, ElementBlock]) -> None:
        """Emit the loop over adjacent lines, given as one block each, and return."""
        over = over_vectors if self.takes_whole_vectors else over_pieces
        over(body, count_of(body), blocks, self.vector(body))
        body.ret("i64 0")

    def vector(self, body: Body) -> Callable[[Elements], None]:
        """Emit what is done with a vector."""

        def emit(elements: Elements) -> None:
            type_ = elements.type_of(self.case.element)
            self.emit(Expressions(body, type_, elements.read, everything(self.stages, self.nodes)), elements)

        return emit


def everything(stages: Stages, nodes: Iterable[ast.expr]) -> list[ast.expr]:
    """Yield every expression that is evaluated."""
    return [*nodes, *(step.node for step in stages.steps if isinstance(step, Computed))]


def primals_read(stages: Stages, nodes: Iterable[ast.expr]) -> list[str]:
    """Return the names of the primals that expressions and library loops read."""
    called = {name for step in stages.steps if isinstance(step, Called) for name in step.arguments}
    names = {n.id for node in everything(stages, nodes) for n in ast.walk(node) if isinstance(n, ast.Name)}
    return sorted((names | called) & set(PRIMALS))


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
    blocks = {name: adjacent(line) for name, line in (*lines.reads.items(), *lines.writes.items())}
    blocks |= {name: adjacent_cotangent(to) for name, to in lines.cotangents.items()}
    loop.run(body, blocks)
    return body


def _general(loop: Loop, name: str) -> list[Body]:
    """Return the functions for lines that are not adjacent; a cotangent of one element has its own."""
    body = loop.case.begin(name)
    lines = loop.lines(body)
    if not lines.cotangents:
        return [_by_blocks(loop, body, lines)]
    (cotangent,) = lines.cotangents.values()
    with body.when(cotangent.line.stride.equal(0)):
        leave_for(body, f"{name}.sum")
    other = loop.case.begin(f"{name}.sum")
    reads, writes, cotangents = loop.lines(other)
    summed = {each: replace(to, summed=True) for each, to in cotangents.items()}
    return [_by_blocks(loop, other, LoopLines(reads, writes, summed)), _by_blocks(loop, body, lines)]


def _by_blocks(loop: Loop, body: Body, lines: LoopLines) -> Body:
    blocks = BlockLoop(body, count_of(body), *lines, whole=not loop.stages.steps)
    make_room(loop.case, blocks, loop.stages)
    with blocks.each():
        run_steps(loop.case, blocks, loop.stages, everything(loop.stages, loop.nodes))
        blocks.over_elements(loop.vector(body))
    body.ret("i64 0")
    return body


def make_room(case: Case, blocks: BlockLoop, stages: Stages) -> None:
    """Make room for temporaries."""
    for step in stages.steps:
        blocks.temporary(step.name, case.element)


def run_steps(case: Case, blocks: BlockLoop, stages: Stages, nodes: list[ast.expr]) -> None:
    """Fill the temporary blocks."""
    for step in stages.steps:
        if isinstance(step, Called):
            lines: list[tuple[Value, Value]] = [blocks.pointer(name) for name in (*step.arguments, step.name)]
            call_library(blocks.body, step.function, case.dtype, blocks.n, lines)
        else:
            _fill(case.vector, blocks, step, nodes)


def _fill(vector: Type, blocks: BlockLoop, step: Computed, nodes: list[ast.expr]) -> None:
    def emit(elements: Elements) -> None:
        elements.write(step.name, Expressions(blocks.body, vector, elements.read, nodes).value(step.node))

    blocks.over_elements(emit)
