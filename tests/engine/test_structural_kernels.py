"""The other hand-written kernels against NumPy, on raw frames, and their cache."""

import os
import subprocess
import sys

import numpy as np
import pytest

from helpers.kernel_frames import DTYPES, SOURCES, add_or_store, both_dtypes, lines, one_stride, rng, run
from helpers.structural_kernels import SIZES, matmul_params, matrices
from helpers.table_loops import grouped
from tapegrad.engine.kernels.control import guard
from tapegrad.engine.kernels.language import matmul
from tapegrad.engine.kernels.lines import cast, scan
from tapegrad.ops.structural.control import GuardParams, TruthGuardParams

# cumsum


@both_dtypes
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_cumsum(dtype, count):
    for x in lines(DTYPES[dtype], count, seed=3):
        for y in lines(DTYPES[dtype], count, seed=4):
            run(
                scan,
                f"cumsum_forward_{dtype}",
                count,
                x=[x],
                y=y,
                stride=one_stride(x),
                y_stride=one_stride(y),
            )
            np.testing.assert_allclose(y, np.cumsum(x), rtol=1e-5 if dtype == "f32" else 1e-12, atol=1e-6)


@both_dtypes
@add_or_store
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_cumsum_reverse(dtype, count, store):
    for y_bar in lines(DTYPES[dtype], count, seed=3):
        for x_bar in lines(DTYPES[dtype], count, seed=4):
            want = np.cumsum(y_bar[::-1])[::-1] + (0 if store else x_bar)
            strides = {"stride": one_stride(x_bar), "y_stride": one_stride(y_bar)}
            run(scan, f"cumsum_reverse_{dtype}", count, x_bar=[x_bar], y_bar=y_bar, store=store, **strides)
            np.testing.assert_allclose(x_bar, want, rtol=1e-5 if dtype == "f32" else 1e-12, atol=1e-6)


@add_or_store
def test_cumsum_of_a_broadcast_operand(store):
    x_bar, y_bar = np.array([10.0]), np.array([1.0, 2.0, 3.0])
    run(scan, "cumsum_reverse_f64", 3, x_bar=[x_bar], y_bar=y_bar, y_stride=8, store=store)
    assert x_bar[0] == 1 + 4 + 9 + (0 if store else 10)


# matmul


@both_dtypes
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_matmul(dtype, size):
    m, n, k = size
    for a in matrices((m, k), DTYPES[dtype], 1):
        for b in matrices((k, n), DTYPES[dtype], 2):
            for y in matrices((m, n), DTYPES[dtype], 3):
                y[...] = np.nan
                assert (
                    run(matmul, f"matmul_forward_{dtype}", x=[a, b], y=y, params=matmul_params(a, b, y)) == 0
                )
                np.testing.assert_allclose(y, a @ b, rtol=1e-4, atol=1e-5 if dtype == "f32" else 1e-13)


@grouped("size")
@both_dtypes
@pytest.mark.parametrize("store", [0, 1, 2, 3])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_matmul_reverse(dtype, store, size):
    m, n, k = size
    for layout in range(3):
        a = matrices((m, k), DTYPES[dtype], 1)[layout]
        b = matrices((k, n), DTYPES[dtype], 2)[(layout + 1) % 3]
        y_bar = matrices((m, n), DTYPES[dtype], 3)[(layout + 2) % 3]
        a_bar = matrices((m, k), DTYPES[dtype], 4)[layout]
        b_bar = matrices((k, n), DTYPES[dtype], 5)[(layout + 1) % 3]
        want_a, want_b = y_bar @ b.T + (0 if store & 1 else a_bar), a.T @ y_bar + (0 if store & 2 else b_bar)
        if store & 1:
            a_bar[...] = np.nan
        if store & 2:
            b_bar[...] = np.nan
        bars = {"x_bar": [a_bar, b_bar], "y_bar": y_bar}
        params = matmul_params(a, b, y_bar)
        assert run(matmul, f"matmul_reverse_{dtype}", x=[a, b], store=store, params=params, **bars) == 0
        atol = 1e-4 if dtype == "f32" else 1e-12
        np.testing.assert_allclose(a_bar, want_a, rtol=1e-4, atol=atol)
        np.testing.assert_allclose(b_bar, want_b, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("layout", ["both strided", "reversed", "broadcast rows", "broadcast columns"])
def test_matmul_of_matrices_that_blas_cannot_address(layout):
    data = rng().standard_normal((40, 40))
    a = {
        "both strided": data[::2, ::2],
        "reversed": data[:20, 20:][::-1, ::-1],
        "broadcast rows": np.broadcast_to(data[0, :20], (20, 20)),
        "broadcast columns": np.broadcast_to(data[:20, :1], (20, 20)),
    }[layout]
    for b in (data[:20, :20], data[:20, 3:4]):
        y = np.empty((20, b.shape[1]))
        run(matmul, "matmul_forward_f64", x=[a, b], y=y, params=matmul_params(a, b, y))
        np.testing.assert_allclose(y, a @ b, rtol=1e-12, atol=1e-12)


# casts


def cast_kernel(direction, pair):
    """Return the name of the kernel that converts from the first dtype of a pair to the second."""
    source, target = pair.split("_")
    return f"cast_to_{target}_{direction}_{source}"


@pytest.mark.parametrize("count", [0, 1, 5, 100])
@pytest.mark.parametrize(
    "pair",
    [
        "f64_f32",
        "f32_f64",
        "b8_f64",
        "b8_f32",
        "i64_f64",
        "i64_f32",
        "f64_i64",
        "i64_i64",
        "b8_i64",
        "i64_b8",
        "b8_b8",
    ],
)
def test_cast(pair, count):
    source, target = (SOURCES[name] for name in pair.split("_"))
    name = cast_kernel("forward", pair)
    data = np.round(3 * rng().standard_normal(count)).astype(source)
    for x in (data, data[::-1], np.repeat(data, 2)[::2]):
        for y in lines(target, count):
            run(cast, name, count, x=[x], y=y, stride=one_stride(x), y_stride=one_stride(y))
            np.testing.assert_array_equal(y, x.astype(target))


@add_or_store
@pytest.mark.parametrize("count", [1, 5, 100])
@pytest.mark.parametrize("pair", ["f64_f32", "f32_f64"])
def test_cast_reverse(pair, count, store):
    operand, result = (DTYPES[name] for name in pair.split("_"))
    name = cast_kernel("reverse", pair)
    for y_bar in lines(result, count, seed=1):
        strides = {"y_stride": one_stride(y_bar)}
        for x_bar in lines(operand, count, seed=2):
            want = y_bar.astype(operand) if store else (x_bar + y_bar.astype(np.float64)).astype(operand)
            strides["stride"] = one_stride(x_bar)
            run(cast, name, count, x_bar=[x_bar], y_bar=y_bar, store=store, **strides)
            np.testing.assert_array_equal(x_bar, want)
        one, strides["stride"] = np.array([2], operand), 0
        run(cast, name, count, x_bar=[one], y_bar=y_bar, store=store, **strides)
        want = y_bar.astype(np.float64).sum() + (0 if store else 2)
        np.testing.assert_allclose(one[0], want, rtol=1e-6)


# guards


def test_guard_compares_bytes():
    seen, expected = np.arange(5.0), np.arange(5.0)
    params = GuardParams(seen.nbytes, expected.ctypes.data)
    assert run(guard, "guard_forward", x=[seen], params=params) == 0
    expected[4] = np.nextafter(4, 5)
    assert run(guard, "guard_forward", x=[seen], params=params) == 1


@pytest.mark.parametrize("dtype", SOURCES)
@pytest.mark.parametrize("value", [0, 1, 3, -2, -0.0, 1e-40, np.nan, np.inf])
def test_truth_guard(dtype, value):
    if dtype == "i64" and not np.isfinite(value):
        value = 1
    seen = np.array([value]).astype(SOURCES[dtype])
    for expected in (0, 1):
        status = run(guard, f"truth_guard_forward_{dtype}", x=[seen], params=TruthGuardParams(expected))
        assert status == (bool(seen[0]) != bool(expected))


# The cache

_SECOND_PROCESS = """
import sys
from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.kernels.indexing import index
from tapegrad.engine.kernels.language import matmul
from tapegrad.engine.kernels.language.dtypes import entry_point
from tapegrad.engine.kernels.lines import scan
from numba.core.ccallback import CFunc
def refuse(self):
    raise AssertionError("compiled: " + self._pyfunc.__name__)
if sys.argv[1] == "hit":
    CFunc._compile_uncached = refuse
for kernel in ((scan, "cumsum_forward_f64"), (index, "gather_forward_f64"), (matmul, "matmul_forward_f32")):
    compiler.compile_c_function(entry_point(*kernel))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    environment = {**os.environ, "TAPEGRAD_CACHE_DIR": str(tmp_path)}
    for field in ("miss", "hit"):
        command = [sys.executable, "-c", _SECOND_PROCESS, field]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300)
