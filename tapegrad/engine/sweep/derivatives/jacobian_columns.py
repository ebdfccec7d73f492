"""Kernels of a tangent stream that belong to no op: loop over tangents, seed them, write a Jacobian's columns.

They are called like any other kernel, with a frame whose fields mean what is said below, so that the executor
needs to know nothing of them.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language import dtypes
from tapegrad.engine.kernels.language.frame import COUNT, FIELDS, PARAMS, STRIDE, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, called_by_address
from tapegrad.engine.kernels.language.raw_memory import (
    call_kernel,
    load_at,
    load_i64,
    memset,
    size_of,
    stack_i64,
    store_at,
    store_i64,
)

# Fields behind PARAMS of a frame for `over_tangents`; from LOOP_STEPS on a step for each of the fields X .. Y_BAR.
LOOP_COUNT, LOOP_KERNEL, LOOP_PARAMS, LOOP_STEPS = range(4)


@called_by_address
def over_tangents(frame: int, loops: int) -> int:
    """Run a structural op's kernel for one tangent after another: its frame, with parameters of our own around them."""
    local = stack_i64(FIELDS)
    for field in range(FIELDS):
        store_i64(local, field, load_i64(frame, field))
    params = load_i64(frame, PARAMS)
    store_i64(local, PARAMS, load_i64(params, LOOP_PARAMS))
    kernel = load_i64(params, LOOP_KERNEL)
    for _ in range(load_i64(params, LOOP_COUNT)):
        status = call_kernel(kernel, local, loops)
        if status != 0:
            return status
        for field in range(X, Y_BAR + 1):
            store_i64(local, field, load_i64(local, field) + load_i64(params, LOOP_STEPS + field - X))
    return 0


# one_hot: COUNT tangents at Y, seed number STRIDE the first of them; PARAMS ``[elements, number of the first]``


@always_inline
def one_hot(frame: int, loops: int, zero: Any) -> int:
    """Write tangents that are each zero, or one at a single element."""
    count, y, seed = load_i64(frame, COUNT), load_i64(frame, Y), load_i64(frame, STRIDE)
    params = load_i64(frame, PARAMS)
    elements, first = load_i64(params, 0), load_i64(params, 1)
    memset(y, 0, count * elements * size_of(zero))
    for t in range(count):
        k = seed + t - first
        if 0 <= k < elements:
            store_at(y, (t * elements + k) * size_of(zero), 1.0, zero)
    return 0


# columns: the tangents at X, the Jacobian at Y; COUNT seeds from number STRIDE on are there. PARAMS ``[rows, columns,
# runs, then for each run of seeds: the first one's number, column, and place among the tangents; how many]``

_ROWS_AT_ONCE = 8


@always_inline
def _transpose(
    x: int, y: int, rows: int, count: int, x_step: int, y_step: int, x_zero: Any, y_zero: Any
) -> None:
    """Write `count` lines of `rows` elements at x, `x_step` bytes apart, to columns of lines `y_step` bytes apart."""
    first: Any = np.int64(0)
    while first < rows:
        last = min(first + _ROWS_AT_ONCE, rows)
        for t in range(count):
            for i in range(first, last):
                value = load_at(x, t * x_step + i * size_of(x_zero), x_zero)
                store_at(y, i * y_step + t * size_of(y_zero), value, y_zero)
        first = last


@always_inline
def columns(frame: int, loops: int, zeros: Any) -> int:
    """Write tangents to columns of a Jacobian."""
    x_zero, y_zero = zeros
    x, y, start = load_i64(frame, X), load_i64(frame, Y), load_i64(frame, STRIDE)
    stop, params = start + load_i64(frame, COUNT), load_i64(frame, PARAMS)
    rows, width = load_i64(params, 0), load_i64(params, 1)
    for k in range(load_i64(params, 2)):
        run = params + 8 * (3 + 4 * k)
        seed = load_i64(run, 0)
        low, high = max(seed, start), min(seed + load_i64(run, 3), stop)
        if low < high:
            source = x + (load_i64(run, 2) + low - seed - start) * rows * size_of(x_zero)
            target = y + (load_i64(run, 1) + low - seed) * size_of(y_zero)
            x_step, y_step = rows * size_of(x_zero), width * size_of(y_zero)
            _transpose(source, target, rows, high - low, x_step, y_step, x_zero, y_zero)
    return 0


# entries: tangents at X, the Jacobian at Y. PARAMS ``[entries, then for each its element of the tangents, then for each
# its element of the Jacobian]``


@always_inline
def entries(frame: int, loops: int, zeros: Any) -> int:
    """Write elements of tangents to elements of a Jacobian."""
    x_zero, y_zero = zeros
    x, y, params = load_i64(frame, X), load_i64(frame, Y), load_i64(frame, PARAMS)
    count = load_i64(params, 0)
    for k in range(1, count + 1):
        value = load_at(x, load_i64(params, k) * size_of(x_zero), x_zero)
        store_at(y, load_i64(params, count + k) * size_of(y_zero), value, y_zero)
    return 0


def _of_dtypes(name: str, of: Iterable[str]) -> dict[str, Callable[[int, int], int]]:
    """Return a kernel of this module for each dtype, or pair of dtypes of tangents and Jacobian."""
    return {
        each: called_by_address(dtypes.entry_point(sys.modules[__name__], f"{name}_{each}")) for each in of
    }


ONE_HOT = _of_dtypes("one_hot", ("f64", "f32"))
COLUMNS, ENTRIES = (_of_dtypes(name, dtypes.CONSTANTS["zeros"]) for name in ("columns", "entries"))
