"""The kernels of a row: ``int64 kernel(frame, loops)``, general ones and those for frames of which facts are known."""

import functools
import itertools
import operator
from collections.abc import Callable, Iterator

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import POINTER, load_field
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.rows import directions
from tapegrad.engine.codegen.rows.case import (
    Case,
    FrameFacts,
    frame_of,
    has_dual,
    leave_for,
    operands,
    quoted,
)
from tapegrad.engine.codegen.rows.directions import Term, contributions
from tapegrad.engine.codegen.rows.expressions import Expressions
from tapegrad.engine.codegen.rows.loops import Loop, functions_of, part_of
from tapegrad.engine.codegen.rows.tangents import tangent
from tapegrad.engine.kernels.language.frame import COUNT, X_BAR, Y_BAR, Y


def kernel(case: Case, direction: str, facts: FrameFacts | None = None) -> list[Body]:
    """Return the functions of a kernel, which is the last of them.

    A kernel for frames of which facts are known, those that `used` returns, asks for nothing else. Its results are
    those of the general one, to the bit.
    """
    if facts is None:
        return _GENERAL[direction](case)
    body = case.begin(case.symbol(direction, facts))
    for loop, known in _loops(case, direction, facts):
        with body.scope():
            loop.run(body, known)
    body.ret("i64 0")
    return [body]


def used(case: Case, direction: str, facts: FrameFacts) -> FrameFacts | None:
    """Return the facts of a frame that a kernel makes use of; `None` if it is the general one that calls libraries."""
    calls_libraries, takes_whole_vectors = _traits(case, direction, facts.wanted)
    if calls_libraries or (facts.sums and takes_whole_vectors):
        return None
    return facts._replace(single=0) if takes_whole_vectors else facts


@functools.lru_cache(256)
def _traits(case: Case, direction: str, wanted: int) -> tuple[bool, bool]:
    """Return whether a kernel's loop calls libraries, and whether it takes whole vectors."""
    loop = _loop(case, direction, wanted)
    return bool(loop.stages.steps), loop.takes_whole_vectors


def fields_read(direction: str) -> int:
    """Return how many fields kernels by facts read: up to the result, or its cotangent, the last of them."""
    return 1 + (Y if direction == "forward" else Y_BAR)


def _loop(case: Case, direction: str, wanted: int) -> Loop:
    if direction == "forward":
        return directions.primal(case)
    return contributions(case, operands(wanted))


def _loops(case: Case, direction: str, facts: FrameFacts) -> Iterator[tuple[Loop, FrameFacts]]:
    """Yield the loops of a kernel, and what each is told: one for all, or one for each cotangent if any is a sum."""
    if direction == "forward" or not facts.sums:
        yield _loop(case, direction, facts.wanted), facts
        return
    for j in operands(facts.wanted):
        yield contributions(case, (j,)), facts._replace(wanted=1 << j)


def forward(case: Case) -> list[Body]:
    """Return the functions of the kernel of the primal."""
    return functions_of(directions.primal(case), case.symbol("forward"))


def reverse(case: Case, term: Term = Expressions.times) -> list[Body]:
    """Return the functions of the kernel that adds the result's cotangent, by each partial, to the wanted ones.

    Where all are wanted and adjacent, and none overlaps another one, they are computed in one loop, otherwise in one
    after the other. `term` is what is added, given a partial and the cotangent.
    """
    wanted = case.op.differentiable_operands
    name = case.symbol("reverse")
    each = {part_of(name, (j,)): contributions(case, (j,), term) for j in wanted}
    parts = [function for part, loop in each.items() for function in functions_of(loop, part)]
    joint = contributions(case, wanted, term)
    if len(wanted) < 2 or joint.stages.steps:
        return [*parts, _one_after_the_other(case, name)]
    together, apart = f"{name}.together", f"{name}.apart"
    functions = [*parts, *functions_of(joint, together, apart)]
    return [*functions, _one_after_the_other(case, apart), _choice(case, name, together, apart)]


_GENERAL: dict[str, Callable[[Case], list[Body]]] = {
    "forward": forward,
    "reverse": reverse,
    "tangent": tangent,
}


def _are_apart(case: Case, body: Body, j: int, k: int) -> Value:
    """Return whether two adjacent cotangents are the same line, or disjoint.

    Those of ``x[1:] * x[:-1]`` are neither. An element would have the one contribution first or the other, depending
    on how many are computed at once.
    """
    frame, elements = frame_of(body), (case.element_of(j), case.element_of(k))
    first, second = (load_field(frame, COUNT) * element.bytes for element in elements)
    between, zero = load_field(frame, X_BAR + j) - load_field(frame, X_BAR + k), body.constant(I64, 0)
    apart = (between >= second) | (between <= zero - first)
    return between.equal(0) | apart if elements[0] == elements[1] else apart


def _choice(case: Case, name: str, together: str, apart: str) -> Body:
    """Emit the dispatcher of a reverse kernel.

    One loop if all cotangents are wanted and no two partly overlap, else a loop each.
    """
    body, wanted = case.begin(name), case.op.differentiable_operands
    conditions = [has_dual(body, j) for j in wanted]
    conditions += [_are_apart(case, body, j, k) for j, k in itertools.combinations(wanted, 2)]
    with body.when(functools.reduce(operator.and_, conditions)):
        leave_for(body, together)
    leave_for(body, apart)
    return body


def _one_after_the_other(case: Case, name: str) -> Body:
    """Return the kernel that adds to one cotangent after the other, if it is wanted."""
    body = case.begin(name)
    kernel = name.removesuffix(".apart")
    for j in case.op.differentiable_operands:
        with body.when(has_dual(body, j)):
            arguments = [frame_of(body), body.named(POINTER, "%loops")]
            body.load(I64, body.call("i64", quoted(part_of(kernel, (j,))), arguments))
    body.ret("i64 0")
    return body
