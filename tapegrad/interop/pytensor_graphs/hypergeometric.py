"""Gauss's hypergeometric function as an op: values by SciPy, derivatives by a, b and c by its series."""

import ctypes
import math
from typing import Any

import numba
import numpy as np
from numba.extending import get_cython_function_address

from tapegrad.autodiff.custom.custom_op import custom_op

_MAX_TERMS = 1_000_000
_value = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 4, ctypes.c_int)(
    get_cython_function_address("scipy.special.cython_special", "__pyx_fuse_1hyp2f1")
)


def _derivatives(a: float, b: float, c: float, z: float) -> tuple[float, float, float]:
    """Return the derivatives of the series by a, b and c for 0 <= z < 1; nan if it does not end."""
    t, t_a, t_b, t_c = 1.0, 0.0, 0.0, 0.0
    by_a, by_b, by_c = 0.0, 0.0, 0.0
    for k in range(_MAX_TERMS):
        scale = z / ((c + k) * (k + 1.0))
        ratio = (a + k) * (b + k) * scale
        t_a = (t_a * (a + k) + t) * (b + k) * scale
        t_b = (t_b * (b + k) + t) * (a + k) * scale
        t_c = (t_c - t / (c + k)) * ratio
        t *= ratio
        by_a, by_b, by_c = by_a + t_a, by_b + t_b, by_c + t_c
        tail = 1e-17 * (1.0 - max(abs(ratio), z))  # terms that go on like a geometric series sum up to less
        if abs(t_a) <= tail * abs(by_a) and abs(t_b) <= tail * abs(by_b) and abs(t_c) <= tail * abs(by_c):
            return by_a, by_b, by_c
    return math.nan, math.nan, math.nan


_series = numba.njit(_derivatives)


def _values(a: Any, b: Any, c: Any, z: Any) -> Any:
    result = np.empty_like(z)
    for i in range(z.size):
        result[i] = _value(a[i], b[i], c[i], z[i], 0)
    return result


def _vjp(y_bar: Any, y: Any, a: Any, b: Any, c: Any, z: Any) -> Any:
    """Return the cotangents. Of negative z the series is that of Pfaff's transformation: its terms do not alternate."""
    a_bar, b_bar, c_bar, z_bar = np.empty_like(z), np.empty_like(z), np.empty_like(z), np.empty_like(z)
    for i in range(z.size):
        if z[i] >= 0:
            by_a, by_b, by_c = _series(a[i], b[i], c[i], z[i])
        else:
            by_a, other, by_c = _series(a[i], c[i] - b[i], c[i], z[i] / (z[i] - 1.0))
            factor = (1.0 - z[i]) ** -a[i]
            by_a = factor * by_a - np.log1p(-z[i]) * y[i]
            by_b, by_c = -factor * other, factor * (by_c + other)
        by_z = a[i] * b[i] / c[i] * _value(a[i] + 1.0, b[i] + 1.0, c[i] + 1.0, z[i], 0)
        a_bar[i], b_bar[i], c_bar[i], z_bar[i] = (
            y_bar[i] * by_a,
            y_bar[i] * by_b,
            y_bar[i] * by_c,
            y_bar[i] * by_z,
        )
    return a_bar, b_bar, c_bar, z_bar


OP = custom_op("hyp2f1", numba.njit(_values), numba.njit(_vjp))  # of vectors a, b, c, and z < 1
