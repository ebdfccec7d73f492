"""Running one kernel on a frame that a test fills in, and lines of elements to run it on."""

import ctypes
import functools

import numpy as np
import pytest

from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.codegen.kernels import ensure_loops
from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.kernels.language import frame
from tapegrad.engine.kernels.language.dtypes import entry_point
from tapegrad.engine.runtime import library_loops
from tapegrad.ops.params import fields_of

DTYPES = {"f64": np.float64, "f32": np.float32}
SOURCES = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "b8": np.bool_}
both_dtypes = pytest.mark.parametrize("dtype", ["f64", "f32"])
add_or_store = pytest.mark.parametrize("store", [0, 1], ids=["add", "store"])
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@functools.cache
def loops():
    library_loops.ensure(["dgemm", "sgemm", "dgemv", "sgemv"])
    return library_loops.table()


@functools.cache
def compiled(module, name):
    ensure_loops(getattr(module, "LIBRARY", {}).get(name, ()))
    return _SIGNATURE(compiler.compile_c_function(entry_point(module, name)))


def at(array):
    return 0 if array is None else array.ctypes.data


def run(module, name, *operands, **fields):
    """The status of a kernel of a module."""
    return run_kernel(compiled(module, name), *operands, **fields)


def accumulate(dtype, *operands, **fields):
    """The status of the kernel of sums, broadcasts and copies."""
    return run_kernel(_SIGNATURE(emitter.address_of_accumulation(dtype)), *operands, **fields)


def run_kernel(kernel, count=0, x=(), y=None, x_bar=(), y_bar=None, **numbers):
    """The status of a kernel on a frame. By name: `params`, and fields of the frame: a number, or a list of them."""
    fields = np.zeros(frame.FIELDS, np.int64)
    fields[frame.COUNT] = count
    fields[frame.X : frame.X + len(x)] = [at(a) for a in x]
    fields[frame.X_BAR : frame.X_BAR + len(x_bar)] = [at(a) for a in x_bar]
    fields[frame.Y], fields[frame.Y_BAR] = at(y), at(y_bar)
    params = numbers.pop("params", None)
    for field, number in numbers.items():
        first = getattr(frame, field.upper())
        fields[first : first + np.size(number)] = number
    if params is not None:
        params = np.array(fields_of(params), np.int64)
        fields[frame.PARAMS] = params.ctypes.data
    return kernel(fields.ctypes.data, loops())


def rng():
    return np.random.default_rng(20)


def lines(dtype, count, seed=0):
    """The same numbers as a contiguous, a spread, a reversed and an unaligned line."""
    dtype = np.dtype(dtype)
    data = np.random.default_rng(seed).standard_normal(count).astype(dtype)
    spread, reversed_ = np.zeros(3 * count + 1, dtype)[: 3 * count : 3], np.zeros(count, dtype)[::-1]
    odd = np.zeros(count, np.dtype([("pad", "i1"), ("value", dtype)]))["value"]
    for line in (spread, reversed_, odd):
        line[...] = data
    return [data, spread, reversed_, odd]


def one_stride(line):
    """The stride of a line; NumPy says 0 of one without elements, which kernels take for a sum into one element."""
    return line.strides[0] if line.size else line.itemsize
