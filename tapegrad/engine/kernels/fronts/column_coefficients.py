"""Coefficients of factor and inverse in several directions, for fronts of one pivot and few rows.

A *number* has one coefficient for each subset of the directions (`multilinear`), one after the other in memory. Factor
and inverse are those of `columns`, with numbers for elements.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.fronts.plan import MAX_LISTED_ROWS, FrontPlan
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import load_at, load_i64, size_of, store_at

SCRATCH_NUMBERS = MAX_LISTED_ROWS + 2


@always_inline
def _product_at(a: int, b: int, mask: int, zero: Any) -> Any:
    """Return the coefficient of a product at a subset, but for the term of coefficient 0 of the first number."""
    size, total, split = size_of(zero), zero, mask
    while split > 0:
        total += load_at(a, split * size, zero) * load_at(b, (mask ^ split) * size, zero)
        split = (split - 1) & mask
    return total


@always_inline
def _whole_product_at(a: int, b: int, mask: int, zero: Any) -> Any:
    """Return the coefficient of a product at a subset."""
    rest = load_at(a, 0, zero) * load_at(b, mask * size_of(zero), zero)
    return rest + _product_at(a, b, mask, zero)


@always_inline
def _subtract_product(target: int, a: int, b: int, first: int, count: int, zero: Any) -> None:
    """Subtract a product from a number, from coefficient `first` on."""
    for mask in range(first, count):
        offset = mask * size_of(zero)
        value = load_at(target, offset, zero) - _whole_product_at(a, b, mask, zero)
        store_at(target, offset, value, zero)


@always_inline
def _clear(number: int, count: int, zero: Any) -> None:
    for mask in range(count):
        store_at(number, mask * size_of(zero), zero, zero)


# --- factor ----------------------------------------------------------------------------------------------------


@noinline
def _write_root(number: int, count: int, zero: Any) -> None:
    """Replace all coefficients of a pivot but the first, which is the root's, by those of the root."""
    size, root = size_of(zero), load_at(number, 0, zero)
    scaled = (zero + 1) / (root + root)
    for mask in range(1, count):
        rest = load_at(number, mask * size, zero)
        # The unknown occurs in two of the terms, times the root: it is cleared first
        store_at(number, mask * size, zero, zero)
        store_at(number, mask * size, (rest - _product_at(number, number, mask, zero)) * scaled, zero)


@noinline
def _divide(number: int, root: int, count: int, zero: Any) -> None:
    """Replace all coefficients of a number but the first, which is that of the quotient, by those of the quotient."""
    size, scaled = size_of(zero), (zero + 1) / load_at(root, 0, zero)
    for mask in range(1, count):
        rest = load_at(number, mask * size, zero) - _product_at(root, number, mask, zero)
        store_at(number, mask * size, rest * scaled, zero)


@noinline
def factor_coefficients(plan: FrontPlan, numbers: int, count: int, zero: Any) -> None:
    """Replace the numbers of a matrix by those of its factor; their first coefficients are the factor's already."""
    width, one = count * size_of(zero), np.int64(1)
    updates, begin = plan.updates, np.int64(0)
    for j in range(plan.n):
        end = load_i64(plan.starts, j + 1)
        root, height = numbers + (j + begin) * width, end - begin
        begin = end
        _write_root(root, count, zero)
        for i in range(1, height + 1):
            _divide(root + i * width, root, count, zero)
        for b in range(1, height + 1):
            for a in range(b, height + 1):
                target = numbers + load_i64(updates, 0) * width
                _subtract_product(target, root + a * width, root + b * width, one, count, zero)
                updates += 8


# --- inverse ---------------------------------------------------------------------------------------------------


@noinline
def _write_reciprocal(root: int, into: int, count: int, zero: Any) -> None:
    """Write the reciprocal of a number."""
    size, scaled = size_of(zero), (zero + 1) / load_at(root, 0, zero)
    store_at(into, 0, scaled, zero)
    for mask in range(1, count):
        store_at(into, mask * size, -_product_at(root, into, mask, zero) * scaled, zero)


@noinline
def _write_product(into: int, a: int, b: int, count: int, zero: Any) -> None:
    """Write a product of two numbers."""
    for mask in range(count):
        store_at(into, mask * size_of(zero), _whole_product_at(a, b, mask, zero), zero)


@noinline
def invert_coefficients(plan: FrontPlan, numbers: int, count: int, scratch: int, zero: Any) -> None:
    """Replace the numbers of a factor by those of the inverse; `scratch` has room for `SCRATCH_NUMBERS`."""
    width, none, end = count * size_of(zero), np.int64(0), load_i64(plan.starts, plan.n)
    updates, ratios = plan.updates + 8 * plan.pairs, scratch + width
    for step in range(plan.n):
        j = plan.n - 1 - step
        begin = load_i64(plan.starts, j)
        own, height, end = numbers + (j + begin) * width, end - begin, begin
        updates -= 4 * height * (height + 1)
        _write_reciprocal(own, scratch, count, zero)
        for i in range(1, height + 1):
            _write_product(ratios + i * width, own + i * width, scratch, count, zero)
            _clear(own + i * width, count, zero)
        _write_product(own, scratch, scratch, count, zero)
        listed = updates
        for b in range(1, height + 1):
            for a in range(b, height + 1):
                element = numbers + load_i64(listed, a - b) * width
                _subtract_product(own + a * width, element, ratios + b * width, none, count, zero)
                if a > b:
                    _subtract_product(own + b * width, element, ratios + a * width, none, count, zero)
            listed += 8 * (height + 1 - b)
        for i in range(1, height + 1):
            _subtract_product(own, ratios + i * width, own + i * width, none, count, zero)
