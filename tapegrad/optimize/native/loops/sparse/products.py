"""Products with a sparse Jacobian, which is given by rows, and J^T J on its pattern.

Rows with the same columns are added up together, block by block of their groups: a target is looked up once for a block
and not for each product.
"""

import math
from typing import NamedTuple

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.inlining import noinline, noinline_loop
from tapegrad.engine.kernels.language.raw_memory import (
    add_multiples,
    load_f64,
    load_i32,
    load_i64,
    memset,
    store_f64,
)

ROWS_TOGETHER = 8  # that are gathered, of a class


class Rectangle(NamedTuple):
    """Block of two groups: its rows are `length` numbers apart."""

    address: int
    length: int
    height: int
    width: int


@noinline
def times(matrix, starts, columns, x, y, n):
    """Write the product of the Jacobian with a vector."""
    for i in range(n):
        total = 0.0
        for p in range(load_i32(starts, i), load_i32(starts, i + 1)):
            total += load_f64(matrix, p) * load_f64(x, load_i32(columns, p))
        store_f64(y, i, total)


@noinline
def transposed_times(matrix, starts, columns, r, x, n, k):
    """Write the product of the transpose of the Jacobian with a vector."""
    memset(x, 0, 8 * k)
    for i in range(n):
        value = load_f64(r, i)
        for p in range(load_i32(starts, i), load_i32(starts, i + 1)):
            j = load_i32(columns, p)
            store_f64(x, j, load_f64(x, j) + load_f64(matrix, p) * value)


@noinline
def rescale_rows(matrix, starts, factors, n):
    """Multiply the rows of the Jacobian."""
    for i in range(n):
        factor = load_f64(factors, i)
        for p in range(load_i32(starts, i), load_i32(starts, i + 1)):
            store_f64(matrix, p, load_f64(matrix, p) * factor)


@noinline
def widen_scale(matrix, columns, entries, scale, scratch, k):
    """Lengthen the scale of each parameter to the length of its column, where that is longer."""
    memset(scratch, 0, 8 * k)
    for p in range(entries):
        j, value = load_i32(columns, p), load_f64(matrix, p)
        store_f64(scratch, j, load_f64(scratch, j) + value * value)
    for j in range(k):
        store_f64(scale, j, max(load_f64(scale, j), math.sqrt(load_f64(scratch, j))))


# --- J^T J -------------------------------------------------------------------------------------------------------


@inline_njit
def _add_adjacent(target, factors, sources, count):
    """Add multiples of `count` adjacent numbers, eight at a time as far as that goes.

    Groups have few columns: a loop that is vectorised spends its time on the tail.
    """
    i = 0
    while i + 8 <= count:
        add_multiples(8, target, i, factors, sources)
        i += 8
    if i + 4 <= count:
        add_multiples(4, target, i, factors, sources)
        i += 4
    if i + 2 <= count:
        add_multiples(2, target, i, factors, sources)
        i += 2
    if i < count:
        add_multiples(1, target, i, factors, sources)


@inline_njit
def _add_products(target, sign, left, right, count, stride, rows):
    """Add to `count` numbers the sum over rows of an element by adjacent ones, or subtract it."""
    step = 8 * stride
    while rows >= 3:
        three = sign * load_f64(left, 0), sign * load_f64(left, stride), sign * load_f64(left, 2 * stride)
        _add_adjacent(target, three, (right, right + step, right + 2 * step), count)
        left, right, rows = left + 3 * step, right + 3 * step, rows - 3
    if rows == 2:
        two = sign * load_f64(left, 0), sign * load_f64(left, stride)
        _add_adjacent(target, two, (right, right + step), count)
    elif rows == 1:
        _add_adjacent(target, (sign * load_f64(left, 0),), (right,), count)


@noinline_loop
def add_triangle(target, sign, left, count, stride, rows):
    """Add the lower triangle of the products of some columns, row by row."""
    for i in range(count):
        _add_products(target + 8 * (i * (i + 1) // 2), sign, left + 8 * i, left, i + 1, stride, rows)


@noinline_loop
def add_rectangle(target, sign, left, right, stride, rows):
    """Add the products of some columns with others to a rectangle, or subtract them."""
    for j in range(target.height):
        row = target.address + 8 * j * target.length
        _add_products(row, sign, left + 8 * j, right, target.width, stride, rows)


@inline_njit
def _gather(s, fit, c, begin, end, width):
    """Copy the entries of some rows of a class, in the order of groups."""
    places = s.places + 4 * load_i64(s.class_entries, c)
    for p in range(begin, end):
        source = fit.matrix + 8 * load_i32(fit.starts, load_i32(s.rows, p))
        target = s.gathered + 8 * width * (p - begin)
        for t in range(width):
            store_f64(target, t, load_f64(source, load_i32(places, t)))


@inline_njit
def _add_class(s, c, pair, width, rows):
    """Add the products of gathered rows of a class, whose first pair of groups has the number `pair`."""
    first, end = load_i64(s.class_groups, c), load_i64(s.class_groups, c + 1)
    right = s.gathered
    for a in range(first, end):
        later, left = load_i64(s.groups, a), s.gathered
        width_a = load_i64(s.first, later + 1) - load_i64(s.first, later)
        for b in range(first, a):
            earlier = load_i64(s.groups, b)
            width_b = load_i64(s.first, earlier + 1) - load_i64(s.first, earlier)
            target = s.products + 8 * load_i64(s.targets, pair)
            rectangle = Rectangle(target, load_i32(s.strides, pair), width_b, width_a)
            add_rectangle(rectangle, 1.0, left, right, width, rows)
            left += 8 * width_b
            pair += 1
        add_triangle(s.products + 8 * load_i64(s.targets, pair), 1.0, right, width_a, width, rows)
        pair += 1
        right += 8 * width_a


@noinline
def square(s, fit):
    """Write J^T J."""
    memset(s.products, 0, 8 * s.elements)
    pair = 0
    for c in range(s.classes):
        begin, end = load_i64(s.class_rows, c), load_i64(s.class_rows, c + 1)
        width = load_i64(s.class_entries, c + 1) - load_i64(s.class_entries, c)
        while begin < end:
            stop = min(begin + ROWS_TOGETHER, end)
            _gather(s, fit, c, begin, stop, width)
            _add_class(s, c, pair, width, stop - begin)
            begin = stop
        count = load_i64(s.class_groups, c + 1) - load_i64(s.class_groups, c)
        pair += count * (count + 1) // 2
