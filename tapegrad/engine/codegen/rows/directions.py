"""The loop of a row in each direction: its primal, its contributions to cotangents, its tangent."""

import ast
from collections.abc import Callable

from tapegrad.engine.codegen.ir.blocks import Elements
from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import total_of
from tapegrad.engine.codegen.mathematics import MATHEMATICS
from tapegrad.engine.codegen.rows.case import Case
from tapegrad.engine.codegen.rows.expressions import Expressions
from tapegrad.engine.codegen.rows.loops import Loop
from tapegrad.engine.codegen.rows.stages import Stages
from tapegrad.ops import Op

Term = Callable[[Expressions, ast.expr, Value], Value]


def primal_of(op: Op) -> str:
    """Return the text of the primal, or the call of the function if the mathematics has it."""
    arguments = ", ".join(f"x{j}" for j in range(op.arity))
    return f"{op.name}({arguments})" if op.name in MATHEMATICS else op.primal


def primal(case: Case) -> Loop:
    """Return the loop that computes the result."""
    stages = Stages([primal_of(case.op)])

    def emit(expressions: Expressions, elements: Elements) -> None:
        elements.write("y", expressions.value(*stages.nodes))

    return Loop(case, stages, emit, writes=("y",))


def contributions(case: Case, wanted: tuple[int, ...], term: Term = Expressions.times) -> Loop:
    """Return the loop that adds to the cotangents of some operands.

    `term` is what is added, given a partial and the result's cotangent.
    """
    stages = Stages(case.op.partials[j] for j in wanted)

    def emit(expressions: Expressions, elements: Elements) -> None:
        bar = elements.read("y_bar")
        for j, node in zip(wanted, stages.nodes, strict=True):
            elements.add(f"x{j}_bar", term(expressions, node, bar))

    return Loop(case, stages, emit, reads=("y_bar",), wanted=wanted)


def tangent(case: Case, given: tuple[int, ...]) -> Loop:
    """Return the loop that computes the tangent of the result from those of some operands."""
    stages, names = Stages(case.op.partials[j] for j in given), tuple(f"x{j}_dot" for j in given)

    def emit(expressions: Expressions, elements: Elements) -> None:
        pairs = zip(stages.nodes, map(elements.read, names), strict=True)
        elements.write("y_dot", total_of([expressions.along(*pair) for pair in pairs]))

    return Loop(case, stages, emit, reads=names, writes=("y_dot",))
