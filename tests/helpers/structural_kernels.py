"""What several tests of structural kernels share: lines to reduce, and matrices in all layouts."""

import numpy as np

from helpers.kernel_frames import one_stride, run
from tapegrad.engine.kernels.lines import prod, reduce
from tapegrad.ops.structural.matrices import MatmulParams

MODULES = {"max": reduce, "min": reduce, "prod": prod}
SPECIAL_LINES = [
    [1.0],
    [-0.0, 0.0],
    [-1.0, -2.0, -0.5],
    [2.0, 2.0, 1.0, 2.0],
    [1.0, np.nan, 3.0],
    [-np.nan, 3.0],
    [np.nan, np.nan],
    [np.inf, 1.0],
    [-np.inf, 1.0],
    [-np.inf, -np.inf],
    [1e-310, -1e-310, 0.0],
    [3.0, 0.0, 2.0],
    [0.0, 5.0, 0.0],
]


def suffix(x):
    return "f64" if x.dtype == np.float64 else "f32"


def forward(op, x):
    y = np.array([77], x.dtype)
    name = f"{op}_reduce_forward_{suffix(x)}"
    assert run(MODULES[op], name, x.size, x=[x], y=y, stride=one_stride(x)) == 0
    return y


def reverse(op, x, y_bar, store=0, before=0.5):
    """The cotangent of a line, which was `before` everywhere."""
    y, y_bar = forward(op, x), np.array([y_bar], x.dtype)
    x_bar = np.empty(3 * x.size, x.dtype)[:: x.strides[0] // x.itemsize][: x.size]
    x_bar[...] = before
    name, stride = f"{op}_reduce_reverse_{suffix(x)}", one_stride(x)
    assert x_bar.strides == x.strides
    assert run(MODULES[op], name, x.size, [x], y, [x_bar], y_bar, stride=stride, store=store) == 0
    return x_bar


SIZES = [
    (1, 1, 1),
    (2, 3, 4),
    (3, 3, 3),
    (8, 9, 10),
    (40, 30, 20),
    (1, 1, 200),
    (1, 30, 20),
    (30, 1, 20),
    (20, 30, 1),
]
SIZES += [(1, 50, 1), (2, 3, 0), (0, 3, 2), (3, 0, 2), (100, 1, 100), (1, 1, 0)]


def matrices(shape, dtype, seed):
    """One matrix with rows contiguous, columns contiguous, and as a part of a larger one."""
    data = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    part = np.zeros((shape[0] + 2, shape[1] + 3), dtype)[1:-1, 1:-2]
    part[...] = data
    return [data, np.asfortranarray(data), part]


def matmul_params(a, b, y):
    return MatmulParams(a.shape[0], b.shape[1], a.shape[1], *a.strides, *b.strides, *y.strides)
