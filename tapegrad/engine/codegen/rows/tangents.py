"""The tangent kernel of a row.

One tangent is computed in one loop, partials and all, by a function for each set of operands that have one.
"""

import itertools

from tapegrad.engine.codegen.ir.body import Body
from tapegrad.engine.codegen.ir.memory import moved, store
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.rows import directions
from tapegrad.engine.codegen.rows.case import Case, count_of, has_dual, leave_for
from tapegrad.engine.codegen.rows.loops import functions_of, part_of
from tapegrad.engine.codegen.rows.several_tangents import Tangents, one_after_the_other, several


def tangent(case: Case) -> list[Body]:
    """Return all functions of the kernel."""
    both = zip(case.partials, case.conjugate_partials, strict=True)
    changing = [texts != ("0", "0") for texts in both]
    wanted = [j for j in case.op.differentiable_operands if changing[j]]
    name = case.symbol("tangent")
    sets = [c for size in range(1, len(wanted) + 1) for c in itertools.combinations(wanted, size)]
    loops = {part_of(name, chosen): directions.tangent(case, chosen) for chosen in sets}
    parts = [function for part, loop in loops.items() for function in functions_of(loop, part)]
    make = one_after_the_other if case.is_complex else several
    rest = [make(case, wanted, f"{name}.several")] if wanted else []
    return [*parts, *rest, _dispatch(case, name, sets)]


def _dispatch(case: Case, name: str, sets: list[tuple[int, ...]]) -> Body:
    """Return the kernel that dispatches on the operands that have a tangent, and on the number of tangents."""
    body = case.begin(name)
    tangents = Tangents(body)
    wanted = sorted({j for chosen in sets for j in chosen})
    present = body.constant(I64, 0)
    for j in wanted:
        present = present | body.either(has_dual(body, j), body.constant(I64, 1 << j), body.constant(I64, 0))

    if wanted:
        with body.when(present.unequal(0) & tangents.count.unequal(1)):
            leave_for(body, f"{name}.several")
    for chosen in sets:
        with body.when(present.equal(sum(1 << j for j in chosen))):
            leave_for(body, part_of(name, chosen))
    _emit_zeros(case, body, tangents)
    body.ret("i64 0")
    return body


def _emit_zeros(case: Case, body: Body, tangents: Tangents) -> None:
    """Write tangents of zeros: of what no tangent flows into, or has the partial 0."""
    y, zero = case.line(body, "y_dot"), body.constant(I64, 0)
    with body.loop(zero, tangents.count, 1) as k:
        first = moved(y.base, k * tangents.step(3))
        with body.loop(zero, count_of(body), 1) as i:
            store(body.named(y.element, "zeroinitializer"), moved(first, i * y.stride))
