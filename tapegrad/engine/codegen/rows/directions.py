"""The loop of a row in each direction: its primal, its contributions to cotangents, its tangent."""

import ast
from collections.abc import Callable, Iterable

from tapegrad.engine.codegen.ir.blocks import Elements
from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import total_of
from tapegrad.engine.codegen.mathematics import COMPLEX_MATHEMATICS, MATHEMATICS
from tapegrad.engine.codegen.rows.case import Case
from tapegrad.engine.codegen.rows.complex_expressions import FUNCTIONS as COMPLEX_FUNCTIONS
from tapegrad.engine.codegen.rows.complex_expressions import ComplexExpressions
from tapegrad.engine.codegen.rows.expressions import FUNCTIONS, Expressions
from tapegrad.engine.codegen.rows.loops import Loop
from tapegrad.engine.codegen.rows.stages import Stages
from tapegrad.ops import Op

Term = Callable[[Expressions, ast.expr, Value], Value]


def primal_of(op: Op, is_complex: bool = False) -> str:
    """Return the text of the primal, or the call of the function if the mathematics has it."""
    arguments = ", ".join(f"x{j}" for j in range(op.arity))
    known = COMPLEX_MATHEMATICS if is_complex else MATHEMATICS
    return f"{op.name}({arguments})" if op.name in known and op.name != "divide" else op.primal


def stages_of(case: Case, texts: Iterable[str], prefix: str = "t") -> Stages:
    """Return the stages that evaluate texts of a row."""
    return Stages(texts, prefix, COMPLEX_FUNCTIONS if case.is_complex else FUNCTIONS)


def _with_conjugates(
    case: Case, chosen: tuple[int, ...]
) -> tuple[Stages, dict[int, tuple[ast.expr, ast.expr]]]:
    """Return the stages of the partials by some operands and by their conjugates, and these two for each operand."""
    texts = [each[j] for each in (case.partials, case.conjugate_partials) for j in chosen]
    stages = stages_of(case, texts)
    pairs = zip(stages.nodes[: len(chosen)], stages.nodes[len(chosen) :], strict=True)
    return stages, dict(zip(chosen, pairs, strict=True))


def primal(case: Case) -> Loop:
    """Return the loop that computes the result."""
    stages = stages_of(case, [primal_of(case.op, case.is_complex)])

    def emit(expressions: Expressions, elements: Elements) -> None:
        elements.write("y", expressions.value(*stages.nodes))

    return Loop(case, stages, emit, writes=("y",))


def contributions(case: Case, wanted: tuple[int, ...], term: Term = Expressions.times) -> Loop:
    """Return the loop that adds to the cotangents of some operands.

    `term` is what is added, given a partial and the result's cotangent.
    """
    if case.is_complex:
        return _complex_contributions(case, wanted)
    stages = Stages(case.op.partials[j] for j in wanted)

    def emit(expressions: Expressions, elements: Elements) -> None:
        bar = elements.read("y_bar")
        for j, node in zip(wanted, stages.nodes, strict=True):
            elements.add(f"x{j}_bar", term(expressions, node, bar))

    return Loop(case, stages, emit, reads=("y_bar",), wanted=wanted)


def _complex_contributions(case: Case, wanted: tuple[int, ...]) -> Loop:
    stages, partials = _with_conjugates(case, wanted)

    def emit(expressions: ComplexExpressions, elements: Elements) -> None:
        bar = elements.read("y_bar")
        for j, pair in partials.items():
            elements.add(f"x{j}_bar", expressions.contribution(case, j, pair, bar))

    return Loop(case, stages, emit, reads=("y_bar",), wanted=wanted)


def _complex_tangent(case: Case, given: tuple[int, ...]) -> Loop:
    stages, partials = _with_conjugates(case, given)
    names = tuple(f"x{j}_dot" for j in given)

    def emit(expressions: ComplexExpressions, elements: Elements) -> None:
        pairs = zip(partials.values(), map(elements.read, names), strict=True)
        elements.write("y_dot", total_of([expressions.change(case, *pair) for pair in pairs]))

    return Loop(case, stages, emit, reads=names, writes=("y_dot",))


def tangent(case: Case, given: tuple[int, ...]) -> Loop:
    """Return the loop that computes the tangent of the result from those of some operands."""
    if case.is_complex:
        return _complex_tangent(case, given)
    stages, names = Stages(case.op.partials[j] for j in given), tuple(f"x{j}_dot" for j in given)

    def emit(expressions: Expressions, elements: Elements) -> None:
        pairs = zip(stages.nodes, map(elements.read, names), strict=True)
        elements.write("y_dot", total_of([expressions.along(*pair) for pair in pairs]))

    return Loop(case, stages, emit, reads=names, writes=("y_dot",))
