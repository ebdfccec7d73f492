"""The tangent kernel of a row.

One tangent is computed in one loop, partials and all, by a function for each set of operands that have one.
"""

import itertools

from tapegrad.engine.codegen.ir.blocks import Elements
from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.memory import moved, store, word
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.rows.case import Case, count_of, frame_of, leave_for
from tapegrad.engine.codegen.rows.expressions import Expressions, parse
from tapegrad.engine.codegen.rows.loops import Loop, LoopLines, functions_of, primals_read
from tapegrad.engine.codegen.rows.several_tangents import Tangents, several, total_of
from tapegrad.engine.codegen.rows.stages import Stages
from tapegrad.engine.kernels.language.frame import X_BAR


def tangent(case: Case) -> list[Body]:
    """Return all functions of the kernel."""
    wanted = [j for j in case.op.differentiable_operands if case.op.partials[j] != "0"]
    name = case.symbol("tangent")
    sets = [c for size in range(1, len(wanted) + 1) for c in itertools.combinations(wanted, size)]
    parts = [
        function for chosen in sets for function in functions_of(_one(case, chosen), _part(name, chosen))
    ]
    rest = [several(case, wanted, f"{name}.several")] if wanted else []
    return [*parts, *rest, _dispatch(case, name, sets)]


def _part(name: str, chosen: tuple[int, ...]) -> str:
    return f"{name}.{''.join(map(str, chosen))}"


def _dispatch(case: Case, name: str, sets: list[tuple[int, ...]]) -> Body:
    """Return the kernel that dispatches on the operands that have a tangent, and on the number of tangents."""
    body = case.begin(name)
    tangents = Tangents(body)
    wanted = sorted({j for chosen in sets for j in chosen})
    present = body.constant(I64, 0)
    for j in wanted:
        there = word(frame_of(body), X_BAR + j).unequal(0)
        present = present | body.either(there, body.constant(I64, 1 << j), body.constant(I64, 0))

    if wanted:
        with body.when(present.unequal(0) & tangents.count.unequal(1)):
            leave_for(body, f"{name}.several")
    for chosen in sets:
        with body.when(present.equal(sum(1 << j for j in chosen))):
            leave_for(body, _part(name, chosen))
    _emit_zeros(case, body, tangents)
    body.ret("i64 0")
    return body


def _emit_zeros(case: Case, body: Body, tangents: Tangents) -> None:
    """Write tangents of zeros: of what no tangent flows into, or has the partial 0."""
    y, zero = case.second(body, "y"), body.constant(I64, 0)
    with body.loop(zero, tangents.count, 1) as k:
        first = moved(y.base, k * tangents.step(3))
        with body.loop(zero, count_of(body), 1) as i:
            store(body.constant(case.element, 0.0), moved(first, i * y.stride))


# --- one tangent -----------------------------------------------------------------------------------------------------


def _one(case: Case, chosen: tuple[int, ...]) -> Loop:
    stages = Stages()
    nodes = {j: stages.cut(parse(case.op.partials[j])) for j in chosen}

    def lines(body: Body) -> LoopLines:
        reads = {name: case.primal(body, name) for name in primals_read(stages, nodes.values())}
        dots = {f"x{j}_dot": case.second(body, f"x{j}") for j in chosen}
        return LoopLines(reads | dots, {"y_dot": case.second(body, "y")}, {})

    def emit(expressions: Expressions, elements: Elements) -> None:
        terms = [expressions.along(node, elements.read(f"x{j}_dot")) for j, node in nodes.items()]
        elements.write("y_dot", total_of(terms))

    return Loop(case, stages, list(nodes.values()), lines, emit)
