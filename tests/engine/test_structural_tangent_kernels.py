"""The tangent kernels of structural ops that are not linear: what the reverse kernels say, forwards."""

import numpy as np
import pytest

from helpers.kernel_frames import DTYPES, both_dtypes, one_stride, rng, run
from helpers.structural_kernels import (
    MODULES,
    SIZES,
    SPECIAL_LINES,
    forward,
    matmul_params,
    matrices,
    reverse,
    suffix,
)
from helpers.table_loops import grouped
from tapegrad import ops
from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.language import matmul

LINES = [*SPECIAL_LINES, [1e30, 1e30, 1e-30], [0.0, 0.0, 2.0], [3.0, 1.0, 3.0, 2.0]]


def tangent(op, x, x_dot):
    y, y_dot = forward(op, x), np.array([np.nan], x.dtype)
    name = f"{op}_reduce_tangent_{suffix(x)}"
    fields = {"x": [x], "y": y, "x_bar": [x_dot], "y_bar": y_dot, "stride": one_stride(x)}
    assert run(MODULES[op], name, x.size, **fields) == 0
    return y_dot[0]


@grouped("values")
@both_dtypes
@pytest.mark.parametrize("op", MODULES)
@pytest.mark.parametrize("values", LINES, ids=str)
def test_tangent_of_a_line_pairs_with_the_cotangent(op, dtype, values):
    for step in (1, 2, -1):
        x = np.repeat(np.array(values, DTYPES[dtype]), abs(step))[:: abs(step)]
        x = x[::-1].copy()[::-1] if step < 0 else x
        x_dot = np.empty(abs(step) * x.size, x.dtype)[:: abs(step)][:: 1 if step > 0 else -1]
        x_dot[...] = rng().standard_normal(x.size)
        partials = reverse(op, x if step > 0 else x.copy(), 1.0, 1)
        with np.errstate(all="ignore"):
            expected = np.where(partials == 0, 0, partials.astype(float) * x_dot).sum()
        np.testing.assert_allclose(tangent(op, x, x_dot), expected, rtol=1e-6, atol=1e-6)


@both_dtypes
@pytest.mark.parametrize("op", MODULES)
def test_zero_rules(op, dtype):
    x = np.array([3.0, 0.0, 2.0], DTYPES[dtype])
    assert tangent(op, x, np.zeros_like(x)) == 0
    chosen = {"max": [0.0, np.inf, np.inf], "min": [np.inf, 0.0, np.inf], "prod": [np.inf, 0.0, np.inf]}
    assert tangent(op, x, np.array(chosen[op], x.dtype)) == 0


@pytest.mark.parametrize("op", MODULES)
@pytest.mark.parametrize("absent", [True, False])
def test_tangent_of_nothing_is_zero(op, absent):
    x = np.ones(3 if absent else 0)
    assert tangent(op, x, None if absent else x) == 0


@pytest.mark.parametrize(("op", "want"), [("max", 5.0), ("min", 5.0), ("prod", 3 * 4 * 5.0)])
def test_tangent_of_a_broadcast_operand(op, want):
    x = np.broadcast_to(np.array([2.0]), 3)
    assert tangent(op, x, np.array([5.0])) == want


@grouped("size")
@both_dtypes
@pytest.mark.parametrize("present", [0, 1, 2, 3])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_matmul_tangent(dtype, size, present):
    m, n, k = size
    for layout in range(3):
        a = matrices((m, k), DTYPES[dtype], 1)[layout]
        b = matrices((k, n), DTYPES[dtype], 2)[(layout + 1) % 3]
        a_dot = matrices((m, k), DTYPES[dtype], 3)[layout]
        b_dot = matrices((k, n), DTYPES[dtype], 4)[(layout + 1) % 3]
        y_dot = matrices((m, n), DTYPES[dtype], 5)[(layout + 2) % 3]
        y_dot[...] = np.nan
        dots = [a_dot if present & 1 else None, b_dot if present & 2 else None]
        # What the derivative does not read is absent
        x = [a if present & 2 else None, b if present & 1 else None]
        run(
            matmul, f"matmul_tangent_{dtype}", x=x, x_bar=dots, y_bar=y_dot, params=matmul_params(a, b, y_dot)
        )
        want = bool(present & 1) * (a_dot @ b) + bool(present & 2) * (a @ b_dot)
        np.testing.assert_allclose(y_dot, want, rtol=1e-4, atol=2e-5 if dtype == "f32" else 1e-12)


def test_linear_ops_have_no_tangent_kernel():
    linear = {row.name for row in ops.STRUCTURAL if row.linear}
    assert not [name for name in kernel_table.kernels() if name.direction == "tangent" and name.op in linear]
    assert {"sum", "cumsum", "gather", "write", "scatter_write", "embed", "cast_f64"} <= linear
