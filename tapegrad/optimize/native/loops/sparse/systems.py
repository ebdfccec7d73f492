"""Damped normal equations: the block-diagonal part is eliminated, and the Schur complement factored by fronts [1]_.

References
----------
.. [1] B. Triggs, P. McLauchlan, R. Hartley, A. Fitzgibbon, "Bundle adjustment: a modern synthesis", Lecture Notes in
   Computer Science 1883, 2000.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.fronts.factors import factorise
from tapegrad.engine.kernels.fronts.plan import load_plan, panel_columns
from tapegrad.engine.kernels.fronts.solutions import solve as solve_by_fronts
from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.language.lapack import F64
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, memcpy, store_f64
from tapegrad.optimize.native.loops.sparse.products import Rectangle, add_rectangle, add_triangle
from tapegrad.optimize.native.loops.vectors import add_scaled, dot, multiply_by

FACTORED, NOT_DEFINITE, NO_MEMORY = range(3)


# --- the blocks that are eliminated ------------------------------------------------------------------------------


@inline_njit
def _factor_block(block, added, b, least):
    """Factor a small matrix, given by its lower triangle, in place; return whether it is definite.

    A pivot must be more than a part `least` of its element of the matrix.
    """
    for i in range(b):
        row = block + 8 * (i * (i + 1) // 2)
        whole = load_f64(row, i) + load_f64(added, i)
        for j in range(i):
            other = block + 8 * (j * (j + 1) // 2)
            store_f64(row, j, (load_f64(row, j) - dot(row, other, j)) / load_f64(other, j))
        pivot = whole - dot(row, row, i)
        if not pivot > least * whole:
            return False
        store_f64(row, i, math.sqrt(pivot))
    return True


@inline_njit
def _divide_panel(block, panel, b, width):
    """Multiply a panel by the inverse of L, row by row."""
    for i in range(b):
        row = block + 8 * (i * (i + 1) // 2)
        target = panel + 8 * i * width
        for j in range(i):
            add_scaled(target, -load_f64(row, j), panel + 8 * j * width, width)
        multiply_by(target, 1.0 / load_f64(row, i), width)


@inline_njit
def _subtract_panel(s, e, panel, b, width):
    """Subtract the square of a panel from the Schur complement."""
    rest, pair = s.reduced + 8 * s.rest, load_i64(s.pair_starts, e)
    first, end, right = load_i64(s.members, e), load_i64(s.members, e + 1), panel
    for m in range(first, end):
        later, left = load_i64(s.met, m), panel
        width_a = load_i64(s.first, later + 1) - load_i64(s.first, later)
        for other in range(first, m):
            earlier = load_i64(s.met, other)
            width_b = load_i64(s.first, earlier + 1) - load_i64(s.first, earlier)
            target = rest + 8 * load_i64(s.pair_targets, pair)
            add_rectangle(Rectangle(target, width_a, width_b, width_a), -1.0, left, right, width, b)
            left += 8 * width_b
            pair += 1
        add_triangle(rest + 8 * load_i64(s.pair_targets, pair), -1.0, right, width_a, width, b)
        pair += 1
        right += 8 * width_a


@inline_njit
def _panel_width(s, e, b):
    return (load_i64(s.own_panels, e + 1) - load_i64(s.own_panels, e)) // b


@noinline
def _eliminate(s, least):
    """Eliminate the blocks; return whether all are definite."""
    for e in range(s.eliminated):
        column = load_i64(s.first, e)
        b = load_i64(s.first, e + 1) - column
        block = s.reduced + 8 * load_i64(s.blocks, e)
        panel, width = s.reduced + 8 * (s.panels + load_i64(s.own_panels, e)), _panel_width(s, e, b)
        if not _factor_block(block, s.added + 8 * column, b, least):
            return False
        _divide_panel(block, panel, b, width)
        _subtract_panel(s, e, panel, b, width)
    return True


# --- the whole system --------------------------------------------------------------------------------------------


@inline_njit
def square_of(s, place):
    """Return the element of J^T J on the diagonal for a column in the order of groups."""
    return load_f64(s.products, load_i64(s.diagonal, place))


@inline_njit
def _is_definite(s, plan, least):
    """Return whether the pivots of the Schur complement are large enough beside the elements of the matrix."""
    panel = s.factor
    for front in range(plan.fronts):
        pivot, width, height = panel_columns(plan, front)
        for j in range(width):
            column = load_i64(plan.order, pivot + j)
            whole = square_of(s, s.inner + column) + load_f64(s.added, s.inner + column)
            root = load_f64(panel, j * (width + height + 1))
            if not root * root > least * whole:
                return False
        panel += 8 * width * (width + height)
    return True


@noinline
def factor(s, least):
    """Factor J^T J with `added` on its diagonal; return a status.

    It is not definite where a pivot is not more than a part `least` of its element of the matrix.
    """
    memcpy(s.reduced, s.products, 8 * s.elements)
    if not _eliminate(s, least):
        return NOT_DEFINITE
    for place in range(s.inner, s.k):
        element = load_i64(s.diagonal, place)
        store_f64(s.reduced, element, load_f64(s.reduced, element) + load_f64(s.added, place))
    plan = load_plan(s.plan)
    failed = factorise(s.loops, F64, plan, s.reduced + 8 * s.rest, s.factor)
    if failed < 0:
        return NO_MEMORY
    return FACTORED if failed == 0 and _is_definite(s, plan, least) else NOT_DEFINITE


@inline_njit
def _forward(s, e, block, panel, b, width):
    """Solve with L of a block, and take its part out of the other columns' right-hand sides."""
    own = s.right + 8 * load_i64(s.first, e)
    for i in range(b):
        row = block + 8 * (i * (i + 1) // 2)
        store_f64(own, i, (load_f64(own, i) - dot(row, own, i)) / load_f64(row, i))
    place = panel
    for m in range(load_i64(s.members, e), load_i64(s.members, e + 1)):
        column = load_i64(s.first, load_i64(s.met, m))
        count = load_i64(s.first, load_i64(s.met, m) + 1) - column
        for i in range(b):
            add_scaled(s.right + 8 * column, -load_f64(own, i), place + 8 * i * width, count)
        place += 8 * count


@inline_njit
def _backward(s, e, block, panel, b, width):
    """Take the other columns' solution out of a block's right-hand side, and solve with the transpose of L."""
    own, place = s.right + 8 * load_i64(s.first, e), panel
    for m in range(load_i64(s.members, e), load_i64(s.members, e + 1)):
        column = load_i64(s.first, load_i64(s.met, m))
        count = load_i64(s.first, load_i64(s.met, m) + 1) - column
        for i in range(b):
            part = dot(place + 8 * i * width, s.right + 8 * column, count)
            store_f64(own, i, load_f64(own, i) - part)
        place += 8 * count
    for back in range(b):
        i = b - 1 - back
        row = block + 8 * (i * (i + 1) // 2)
        value = load_f64(own, i) / load_f64(row, i)
        store_f64(own, i, value)
        add_scaled(own, -value, row, i)


@noinline
def solve(s):
    """Replace the right-hand side by the solution of the factored system; return whether there was memory for it."""
    for e in range(s.eliminated):
        b = load_i64(s.first, e + 1) - load_i64(s.first, e)
        block = s.reduced + 8 * load_i64(s.blocks, e)
        panel = s.reduced + 8 * (s.panels + load_i64(s.own_panels, e))
        _forward(s, e, block, panel, b, _panel_width(s, e, b))
    rest = s.right + 8 * s.inner
    if not solve_by_fronts(s.loops, F64, load_plan(s.plan), s.factor, rest, rest, 1):
        return False
    for e in range(s.eliminated):
        b = load_i64(s.first, e + 1) - load_i64(s.first, e)
        block = s.reduced + 8 * load_i64(s.blocks, e)
        panel = s.reduced + 8 * (s.panels + load_i64(s.own_panels, e))
        _backward(s, e, block, panel, b, _panel_width(s, e, b))
    return True
