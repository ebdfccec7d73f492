"""The kernel of sums, broadcasts and copies: a line is added to a line, or to one element."""

import ast
import dataclasses
import functools
from collections.abc import Callable

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.lines import begin, call_for
from tapegrad.engine.codegen.ir.memory import (
    POINTER,
    Cotangent,
    element_at,
    load,
    load_field,
    moved,
    scratch,
    store,
)
from tapegrad.engine.codegen.ir.sums import PARTS, TOTAL, Total, bring_to, in_lanes, nothing, widened
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.rows.case import Case, count_of, frame_of, leave_for
from tapegrad.engine.codegen.rows.expressions import Expressions
from tapegrad.engine.codegen.rows.rows import reverse
from tapegrad.engine.kernels.language.frame import STORE
from tapegrad.engine.kernels.lines.accumulate import BLOCK
from tapegrad.ops import COPY, ROWS, Op


def accumulate(dtype: str, target: Target) -> list[Body]:
    """Return the functions of the kernel, which is the last one; it adds line Y_BAR to line X_BAR[0].

    Lines that are added to lines are what the cotangent of an identity is. An element that is a sum by itself is added
    to 0.0 too, as NumPy does: a sum is never -0.0.
    """
    identity = ROWS[COPY]
    assert isinstance(identity, Op)
    case = Case(dataclasses.replace(identity, name="accumulate"), dtype, target)
    body = case.begin(symbol(dtype, target))
    to, source = case.line(body, "x0_bar"), case.line(body, "y_bar")
    with body.when(to.stride.unequal(0) & count_of(body).unequal(1)):
        leave_for(body, case.symbol("reverse"))
    call = call_for("double", "sum", source.element, source.base, source.stride, count_of(body))
    stored = (load_field(frame_of(body), STORE) & 1).unequal(0)
    bring_to(Cotangent(to, stored), body.load(TOTAL, call))
    body.ret("i64 0")
    return [*reverse(case, _never_negative_zero), body]


def _never_negative_zero(expressions: Expressions, partial: ast.expr, bar: Value) -> Value:
    return expressions.times(partial, bar) + 0.0


def symbol(dtype: str, target: Target) -> str:
    """Return the symbol of the kernel."""
    return target.symbol("accumulate", dtype)


def define_sum(target: Target, element: Type) -> Body:
    """``sum(at, stride, n)`` in float64."""
    body = begin(target, "double", "sum", element, "ptr %at, i64 %stride, i64 %n")
    at, stride, n = body.named(POINTER, "%at"), body.named(I64, "%stride"), body.named(I64, "%n")
    room, zero = scratch(body, element, BLOCK), body.constant(I64, 0)
    vector = Type(element.element, max(target.lanes, PARTS.lanes))
    with body.when(stride.equal(0) & (zero < n)):
        for first in range(0, BLOCK, vector.lanes):
            store(body.splat(load(at, element), vector.lanes), element_at(room, element, zero + first))
    with body.carrying(zero, n, BLOCK, nothing(body)) as iteration:
        left = n - iteration.index
        length = body.either(left < BLOCK, left, left.like(BLOCK))
        pointer = moved(at, iteration.index * stride)
        packed = body.load(POINTER, call_for("ptr", "pack", element, pointer, stride, length, room))
        block = body.either(stride.equal(0), room, packed)
        iteration.following = list(Total(*iteration.values).raised(_block_sum(block, length, vector)))
    body.ret(Total(*iteration.values).value)
    return body


def _block_sum(block: Value, length: Value, vector: Type) -> Value:
    """Add up a block; return the sum in each lane."""
    body, whole = block.body, length & -vector.lanes
    element = Type(vector.element)
    start = body.constant(PARTS, 0.0)
    with body.carrying(body.constant(I64, 0), whole, vector.lanes, [start]) as iteration:
        elements = load(element_at(block, element, iteration.index), vector)
        iteration.following = [in_lanes(iteration.values[0], widened(elements, None))]
    with body.carrying(whole, length, vector.lanes, iteration.values) as rest:
        mask = body.lane_numbers(vector.lanes) < body.splat(length - whole, vector.lanes)
        elements = load(element_at(block, element, whole), vector, mask)
        rest.following = [in_lanes(rest.values[0], widened(elements, None))]
    return rest.values[0]


def functions(target: Target) -> dict[str, Callable[[], Body]]:
    """Return the functions that kernels call, by their symbols."""
    elements = (Type("double"), Type("float"))
    return {
        target.symbol("sum", each.suffix): functools.partial(define_sum, target, each) for each in elements
    }
