"""The tangent kernel of a row.

One tangent is computed in one loop, partials and all; there is a loop for each set of operands that can have a
tangent. For several tangents the partials of a block are computed into scratch blocks, which `kernels.tangents`
applies to all of them.
"""

import ast
import itertools
import re

from tapegrad.engine.codegen.expressions import (
    calls_library,
    constant_of,
    expression,
    literal,
    parse,
    times_tangent,
)
from tapegrad.engine.codegen.forward_reverse import emit_blocks, emit_operands, emit_whole
from tapegrad.engine.codegen.kernel import Hoist, Kernel, emit_loop, loads, names_read
from tapegrad.ops import CONSTANTS, Op

_ROOM = 4  # scratch blocks that applying partials takes
_MOST = 2  # operands up to which every set of them has its loop; of more operands, only the first one alone


def tangent(op: Op, dtype: str) -> Kernel:
    """The tangent kernel of a row."""
    kernel = Kernel(op, dtype)
    wanted = [j for j in op.differentiable_operands if op.partials[j] != "0"]
    if not wanted:
        kernel.emit(1, f"write_zeros(frame, {literal(0, dtype)})")
        return kernel
    read = sorted(frozenset[str]().union(*(op.needs(j) for j in wanted)))
    _emit_start(kernel, wanted, read)
    calls = any(calls_library(parse(op.partials[j])) for j in wanted)
    emit_blocks(kernel, "" if calls else "whole and not several")
    emit_operands(kernel, read, 2)
    used = kernel.blocks
    kernel.emit(2, "if several:")
    _emit_several(kernel, wanted)
    for chosen in _sets(wanted):
        kernel.blocks = used
        kernel.emit(2, f"elif {' and '.join(f'x{j}_dot != 0' for j in chosen)}:")
        _emit_one(kernel, chosen)
    kernel.emit(2, "start += n")
    return kernel


def _sets(wanted: list[int]) -> list[tuple[int, ...]]:
    """The sets of operands that get a loop of their own, the largest first."""
    if len(wanted) > _MOST:
        return [(wanted[0],)]
    sizes = range(len(wanted), 0, -1)
    return [chosen for size in sizes for chosen in itertools.combinations(wanted, size)]


def _emit_start(kernel: Kernel, wanted: list[int], read: list[str]) -> None:
    """Emit what comes before the loop over blocks."""
    kernel.emit(1, *[f"x{j}_dot = load_i64(frame, X_BAR + {j})" for j in wanted])
    kernel.emit(1, "y_dot = load_i64(frame, Y_BAR)")
    kernel.emit(1, f"if {' and '.join(f'x{j}_dot == 0' for j in wanted)}:")
    kernel.emit(2, f"write_zeros(frame, {literal(0, kernel.dtype)})", "return 0")
    others = wanted[1:] if len(wanted) > _MOST else []
    several = ["tangent_count(frame) != 1", *[f"x{j}_dot != 0" for j in others]]
    kernel.emit(1, f"several = {' or '.join(several)}")
    emit_whole(kernel, sorted({*(f"x{j}" for j in wanted), *read, "y"}))


# --- one tangent ---------------------------------------------------------------------------------------------------


def _emit_one(kernel: Kernel, chosen: tuple[int, ...]) -> None:
    """Emit the loop that computes partials and tangent at once."""
    dtype, hoist, zero = kernel.dtype, Hoist(kernel, 3), literal(0, kernel.dtype)
    kernel.copied()
    nodes = {j: hoist.visit(parse(kernel.op.partials[j])) for j in chosen}
    for j in chosen:
        kernel.emit(3, f"d{j} = tangent_block(block, {j}, x{j}_dot, {kernel.scratch()}, {zero})")
    place = kernel.scratch()
    kernel.emit(3, f"target = tangent_target(block, y_dot, {place}, {zero})")
    terms = {j: times_tangent(node, f"d{j}_i", dtype) for j, node in nodes.items()}
    kernel.emit(3, "for i in range(n):")
    kernel.emit(4, *[f"d{j}_i = load_{dtype}(d{j}, i)" for j in chosen])
    kernel.emit(4, *loads(kernel, _used(nodes, terms)))
    kernel.emit(4, *[f"{'value' if j == chosen[0] else f'term{j}'} = {terms[j]}" for j in chosen])
    kernel.emit(4, *[f"value += term{j}" for j in chosen[1:]], f"store_{dtype}(target, i, value)")
    kernel.emit(3, f"tangent_finish(block, y_dot, {place}, {zero})")


def _used(nodes: dict[int, ast.expr], terms: dict[int, str]) -> frozenset[str]:
    """The names whose elements the terms read."""
    names = frozenset[str]().union(*map(names_read, nodes.values()))
    text = " ".join(terms.values())
    return frozenset(name for name in names if re.search(rf"\b{name}_i\b", text))


# --- several tangents ----------------------------------------------------------------------------------------------


def _emit_several(kernel: Kernel, wanted: list[int]) -> None:
    """Emit what computes the partials of a block and applies them."""
    dtype = kernel.dtype
    constants = {j: constant_of(parse(kernel.op.partials[j])) for j in wanted}
    if all(constant is not None for constant in constants.values()):
        kernel.emit(3, *[_constant(j, constants.get(j), dtype) for j in range(_MOST)])
        _emit_apply(kernel, "apply_constants", "c0, c1")
        return
    for j in range(3):
        kernel.emit(3, f"p{j} = ABSENT")
        if j in wanted:
            kernel.emit(3, f"if x{j}_dot != 0:")
            kernel.emit(4, f"p{j} = {_partial_block(kernel, j)}")
    _emit_apply(kernel, "apply_partials", "p0, p1, p2")


def _constant(j: int, value: float | None, dtype: str) -> str:
    zero = literal(0, dtype)
    return f"c{j} = {zero if value is None else f'{literal(value, dtype)} if x{j}_dot != 0 else {zero}'}"


def _partial_block(kernel: Kernel, j: int) -> str:
    """The address of a block of the partial by operand `j`, after emitting what computes it."""
    node = Hoist(kernel, 4).visit(parse(kernel.op.partials[j]))
    if isinstance(node, ast.Name) and node.id not in CONSTANTS:
        return node.id
    target = kernel.scratch()
    kernel.emit(4, f"partial = {target}")
    emit_loop(kernel, 4, "partial", expression(node, kernel.dtype), node)
    return "partial"


def _emit_apply(kernel: Kernel, function: str, partials: str) -> None:
    kernel.copied()
    arguments = f"{partials}, {kernel.scratches(_ROOM)}, {literal(0, kernel.dtype)}"
    kernel.emit(3, f"{function}(block, {arguments})")
