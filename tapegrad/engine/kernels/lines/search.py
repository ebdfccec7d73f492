"""Bisection in sorted lines. nan come last, and equal one another."""

from typing import Any

from tapegrad.engine.kernels.language.frame import COUNT, PARAMS, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import load_at, load_i64, load_record, size_of, store_i64
from tapegrad.ops.structural.lines import SearchParams


@always_inline
def _comes_before(a: Any, b: Any) -> bool:
    return (a < b) | ((b != b) & (a == a))


@noinline
def _position(numbers: int, size: int, value: Any, right: int) -> int:
    """Return the number of elements before `value`, including equal ones if `right` is 1."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        element = load_at(numbers, middle * size_of(value), value)
        before = not _comes_before(value, element) if right else _comes_before(element, value)
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@always_inline
def searchsorted_forward(frame: int, loops: int, zero: Any) -> int:
    """Write to Y the position of each element of X[1] in the sorted X[0]."""
    numbers, values, y = load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y)
    size, right = load_record(load_i64(frame, PARAMS), SearchParams)
    for i in range(load_i64(frame, COUNT)):
        store_i64(y, i, _position(numbers, size, load_at(values, i * size_of(zero), zero), right))
    return 0
