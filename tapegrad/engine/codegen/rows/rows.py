"""The forward and the reverse kernel of a row: ``int64 kernel(frame, loops)``."""

import ast
import functools
import itertools
import operator
from collections.abc import Callable

from tapegrad.engine.codegen.ir.blocks import Elements
from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import POINTER, Cotangent, word
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.mathematics import MATHEMATICS
from tapegrad.engine.codegen.rows.case import Case, frame_of, leave_for, quoted
from tapegrad.engine.codegen.rows.expressions import Expressions, parse
from tapegrad.engine.codegen.rows.loops import Loop, LoopLines, functions_of, primals_read
from tapegrad.engine.codegen.rows.stages import Stages
from tapegrad.engine.kernels.language.frame import COUNT, STORE, X_BAR
from tapegrad.ops import Op

Term = Callable[[Expressions, ast.expr, Value], Value]


def primal_of(op: Op) -> str:
    """Return the text of the primal, or the call of the function if the mathematics has it."""
    arguments = ", ".join(f"x{j}" for j in range(op.arity))
    return f"{op.name}({arguments})" if op.name in MATHEMATICS else op.primal


def loop_of(case: Case, direction: str, wanted: tuple[int, ...]) -> Loop:
    """Return the loop of a kernel of a direction; in reverse, for the cotangents of the operands in `wanted`."""
    return _primal(case) if direction == "forward" else _contributions(case, wanted)


def forward(case: Case) -> list[Body]:
    """Return the functions of the kernel of the primal."""
    return functions_of(_primal(case), case.symbol("forward"))


def _primal(case: Case) -> Loop:
    """Return the loop that computes the result."""
    stages = Stages()
    node = stages.cut(parse(primal_of(case.op)))

    def lines(body: Body) -> LoopLines:
        reads = {name: case.primal(body, name) for name in primals_read(stages, [node])}
        return LoopLines(reads, {"y": case.primal(body, "y")}, {})

    def emit(expressions: Expressions, elements: Elements) -> None:
        elements.write("y", expressions.value(node))

    return Loop(case, stages, [node], lines, emit)


def reverse(case: Case, term: Term = Expressions.times) -> list[Body]:
    """Return the functions of the kernel that adds the result's cotangent, by each partial, to the wanted ones.

    Where all are wanted and adjacent, and none overlaps another one, they are computed in one loop, otherwise in one
    after the other. `term` is what is added, given a partial and the cotangent.
    """
    wanted = case.op.differentiable_operands
    name = case.symbol("reverse")
    each = {_part(name, j): _contributions(case, (j,), term) for j in wanted}
    parts = [function for part, loop in each.items() for function in functions_of(loop, part)]
    if len(wanted) < 2:
        return [*parts, _one_after_the_other(case, name)]
    together, apart = f"{name}.together", f"{name}.apart"
    joint = _contributions(case, wanted, term)
    if joint.stages.steps:
        return [*parts, _one_after_the_other(case, name)]
    functions = [*parts, *functions_of(joint, together, apart)]
    return [*functions, _one_after_the_other(case, apart), _choice(case, name, together, apart)]


def _part(name: str, j: int) -> str:
    return f"{name}.{j}"


def _is_wanted(body: Body, j: int) -> Value:
    return word(frame_of(body), X_BAR + j).unequal(0)


def _are_apart(case: Case, body: Body, j: int, k: int) -> Value:
    """Return whether two adjacent cotangents are the same line, or disjoint.

    Those of ``x[1:] * x[:-1]`` are neither. An element would have the one contribution first or the other, depending
    on how many are computed at once.
    """
    frame = frame_of(body)
    size, zero = word(frame, COUNT) * case.element.bytes, body.constant(I64, 0)
    between = word(frame, X_BAR + j) - word(frame, X_BAR + k)
    return between.equal(0) | (between >= size) | (between <= zero - size)


def _choice(case: Case, name: str, together: str, apart: str) -> Body:
    """Emit the dispatcher of a reverse kernel.

    One loop if all cotangents are wanted and no two partly overlap, else a loop each.
    """
    body, wanted = case.begin(name), case.op.differentiable_operands
    conditions = [_is_wanted(body, j) for j in wanted]
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
        with body.when(_is_wanted(body, j)):
            arguments = [frame_of(body), body.named(POINTER, "%loops")]
            body.load(I64, body.call("i64", quoted(_part(kernel, j)), arguments))
    body.ret("i64 0")
    return body


def _contributions(case: Case, wanted: tuple[int, ...], term: Term = Expressions.times) -> Loop:
    """Return the loop that adds to the cotangents of some operands."""
    stages = Stages()
    nodes = {j: stages.cut(parse(case.op.partials[j])) for j in wanted}

    def lines(body: Body) -> LoopLines:
        stored = word(frame_of(body), STORE)
        reads = {name: case.primal(body, name) for name in primals_read(stages, nodes.values())}
        targets = {
            f"x{j}_bar": Cotangent(case.second(body, f"x{j}"), (stored & (1 << j)).unequal(0)) for j in wanted
        }
        return LoopLines(reads | {"bar": case.second(body, "y")}, {}, targets)

    def emit(expressions: Expressions, elements: Elements) -> None:
        bar = elements.read("bar")
        for j, node in nodes.items():
            elements.add(f"x{j}_bar", term(expressions, node, bar))

    return Loop(case, stages, list(nodes.values()), lines, emit)
