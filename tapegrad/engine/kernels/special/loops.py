"""Loops of the functions of this folder over elements, with the arguments of NumPy's inner loops.

Functions are compiled for float64 only. The loop over float32 converts an element and calls that over float64, whose
address is its data. Another loop keeps one result of a loop of SciPy's that has several, and another one converts
operands to the integers that a loop of SciPy's takes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.library import MAX_DEGREE, SIGNATURES
from tapegrad.engine.kernels.language.raw_memory import (
    call_elementwise,
    call_with_data,
    load_at,
    load_f64,
    load_i64,
    stack_i64,
    store_at,
    store_f64,
    store_i64,
)

_ZERO, _SINGLE_ZERO = np.float64(0), np.float32(0)


def of_function(module: Any, name: str) -> Callable[..., int]:
    """Return the loop ``loop(lines, counts, strides, data)`` of a module's function over float64."""
    loop = (_over_two if SIGNATURES[name] == "dd->d" else _over_three)(getattr(module, name))
    loop.__module__, loop.__name__, loop.__qualname__ = module.__name__, *[f"{name}_loop"] * 2
    return loop


def _over_two(function: Any) -> Callable[..., int]:
    def loop(lines: int, counts: int, strides: int, data: int) -> int:
        for i in range(load_i64(counts, 0)):
            x0 = load_at(load_i64(lines, 0), i * load_i64(strides, 0), _ZERO)
            x1 = load_at(load_i64(lines, 1), i * load_i64(strides, 1), _ZERO)
            store_at(load_i64(lines, 2), i * load_i64(strides, 2), function(x0, x1), _ZERO)
        return 0

    return loop


def _over_three(function: Any) -> Callable[..., int]:
    def loop(lines: int, counts: int, strides: int, data: int) -> int:
        for i in range(load_i64(counts, 0)):
            x0 = load_at(load_i64(lines, 0), i * load_i64(strides, 0), _ZERO)
            x1 = load_at(load_i64(lines, 1), i * load_i64(strides, 1), _ZERO)
            x2 = load_at(load_i64(lines, 2), i * load_i64(strides, 2), _ZERO)
            store_at(load_i64(lines, 3), i * load_i64(strides, 3), function(x0, x1, x2), _ZERO)
        return 0

    return loop


def _narrow_loop(arity: int) -> Callable[..., int]:
    """Make the loop over float32 of functions of as many operands."""

    def loop(lines: int, counts: int, strides: int, data: int) -> int:
        elements, addresses, wide_strides = stack_i64(4), stack_i64(4), stack_i64(4)
        for j in range(arity + 1):
            store_i64(addresses, j, elements + 8 * j)
            store_i64(wide_strides, j, 8)
        one = stack_i64(1)
        store_i64(one, 0, 1)
        for i in range(load_i64(counts, 0)):
            for j in range(arity):
                x = load_at(load_i64(lines, j), i * load_i64(strides, j), _SINGLE_ZERO)
                store_f64(elements, j, np.float64(x))
            call_elementwise(data, addresses, one, wide_strides)
            y = load_f64(elements, arity)
            store_at(load_i64(lines, arity), i * load_i64(strides, arity), y, _SINGLE_ZERO)
        return 0

    loop.__name__ = loop.__qualname__ = f"narrow_loop_{arity}"
    return loop


NARROW: dict[int, Callable[..., int]] = {arity: _narrow_loop(arity) for arity in (2, 3)}


def _loop_of_degree(zero: Any, name: str) -> Callable[..., int]:
    """Make the loop over numbers like `zero` of functions of which operands are whole numbers.

    `data` has four fields: the address of the loop over integers and float64, that of its data, the number of operands,
    and a bit for each whole one. Where one of these is negative or no number the result is nan.
    """

    def loop(lines: int, counts: int, strides: int, data: int) -> int:
        elements, addresses, steps, one = stack_i64(4), stack_i64(4), stack_i64(4), stack_i64(1)
        store_i64(one, 0, 1)
        arity, wholes = load_i64(data, 2), load_i64(data, 3)
        for j in range(arity + 1):
            store_i64(addresses, j, elements + 8 * j)
            store_i64(steps, j, 0)  # SciPy's loops may move the addresses on
        for i in range(load_i64(counts, 0)):
            y, is_wrong = np.nan, 0
            for j in range(arity):
                x = np.float64(load_at(load_i64(lines, j), i * load_i64(strides, j), zero))
                if (wholes >> j) & 1 == 0:
                    store_f64(elements, j, x)
                elif x > -0.5 and x < MAX_DEGREE:
                    store_i64(elements, j, np.int64(np.rint(x)))
                else:
                    is_wrong = 1
            if is_wrong == 0:
                call_with_data(data, 0, addresses, one, steps)
                y = load_f64(elements, arity)
            store_at(load_i64(lines, arity), i * load_i64(strides, arity), y, zero)
        return 0

    loop.__name__ = loop.__qualname__ = name
    return loop


OF_DEGREE: dict[str, Callable[..., int]] = {
    "d": _loop_of_degree(_ZERO, "degree_loop_f64"),
    "f": _loop_of_degree(_SINGLE_ZERO, "degree_loop_f32"),
}


def one_result(lines: int, counts: int, strides: int, data: int) -> int:
    """Call a loop of several results, of which all but one go to memory of their own: SciPy's reads one for another.

    `data` has five fields: the address of the loop, that of its data, the position of the result, and the numbers of
    results and operands.
    """
    addresses, steps, unused, operands = stack_i64(8), stack_i64(8), stack_i64(16), load_i64(data, 4)
    for k in range(operands, operands + load_i64(data, 3)):
        store_i64(addresses, k, unused + 16 * k)
        store_i64(steps, k, 0)
    for line in range(operands + 1):
        k = line if line < operands else operands + load_i64(data, 2)
        store_i64(addresses, k, load_i64(lines, line))
        store_i64(steps, k, load_i64(strides, line))
    call_with_data(data, 0, addresses, counts, steps)
    return 0
