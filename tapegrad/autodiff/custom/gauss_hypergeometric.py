"""Gauss's hypergeometric function as custom ops: values by SciPy, two derivatives by a, b and c by its series.

Derivatives by z are the function at parameters greater by one (DLMF 15.5.1): ``a*b/c * hyp2f1(a+1, b+1, c+1, z)``.
Where a, b and c are constants these are all that is computed, of any order. Where the series of the other derivatives
does not end, near and at ``z = 1``, an error names the function.
"""

import ctypes
import math
from typing import Any, NoReturn

import numba
import numpy as np
from numba.extending import get_cython_function_address

from tapegrad.autodiff.custom.custom_op import custom_op
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.shape import broadcast_to, reshape
from tapegrad.frontend.tensor.tensor import Tensor

_MAX_TERMS = 1_000_000
_LONG_SERIES = (
    "scipy.special.hyp2f1: the series of the derivatives by a, b and c does not end so near to z = 1, or beyond it;"
    " hold a, b and c fixed with tapegrad.stop_gradient"
)
_value = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 4, ctypes.c_int)(
    get_cython_function_address("scipy.special.cython_special", "__pyx_fuse_1hyp2f1")
)


def _derivatives(a: float, b: float, c: float, z: float) -> tuple[float, float, float]:
    """Return the derivatives of the series by a, b and c for 0 <= z < 1; nan if it does not end."""
    t, t_a, t_b, t_c = 1.0, 0.0, 0.0, 0.0
    by_a, by_b, by_c = 0.0, 0.0, 0.0
    if z >= 1.0 or math.isnan(a + b + c + z):
        return math.nan, math.nan, math.nan
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
        if math.isnan(by_a + by_b + by_c) and math.isfinite(y[i]):
            raise ValueError(_LONG_SERIES)
        by_z = a[i] * b[i] / c[i] * _value(a[i] + 1.0, b[i] + 1.0, c[i] + 1.0, z[i], 0)
        a_bar[i], b_bar[i], c_bar[i], z_bar[i] = (
            y_bar[i] * by_a,
            y_bar[i] * by_b,
            y_bar[i] * by_c,
            y_bar[i] * by_z,
        )
    return a_bar, b_bar, c_bar, z_bar


def _second_derivatives(a: float, b: float, c: float, z: float) -> Any:
    """Return the sum of the series for 0 <= z < 1, its derivatives by a, b, c, and by aa, ab, ac, bb, bc, cc."""
    f, f_a, f_b, f_c, f_aa, f_ab, f_ac, f_bb, f_bc, f_cc = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    total = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(_MAX_TERMS):
        p, q, r = a + k, b + k, c + k
        scale = z / (r * (k + 1.0))
        f_aa, f_bb = (f_aa * p + 2.0 * f_a) * q * scale, (f_bb * q + 2.0 * f_b) * p * scale
        f_ab = (f_ab * p * q + f_a * p + f_b * q + f) * scale
        f_ac = (f_ac * p + f_c - (f_a * p + f) / r) * q * scale
        f_bc = (f_bc * q + f_c - (f_b * q + f) / r) * p * scale
        f_cc = (f_cc - 2.0 * (f_c - f / r) / r) * p * q * scale
        f_a, f_b, f_c = (f_a * p + f) * q * scale, (f_b * q + f) * p * scale, (f_c - f / r) * p * q * scale
        f *= p * q * scale
        terms = np.array([f, f_a, f_b, f_c, f_aa, f_ab, f_ac, f_bb, f_bc, f_cc])
        total += terms
        if np.all(np.abs(terms) <= 1e-17 * (1.0 - max(abs(p * q * scale), z)) * np.abs(total)):
            return total
    return np.full(10, np.nan)


_second_series = numba.njit(_second_derivatives)


def _curvatures(a: Any, b: Any, c: Any, z: Any) -> Any:
    """Return the derivatives by aa, ab, ac, bb, bc and cc, of negative z by Pfaff's transformation."""
    result = np.empty((6, z.size))
    for i in range(z.size):
        if z[i] >= 0:
            result[:, i] = _second_series(a[i], b[i], c[i], z[i])[4:]
        else:
            log = np.log1p(-z[i])
            g = np.exp(-a[i] * log) * _second_series(a[i], c[i] - b[i], c[i], z[i] / (z[i] - 1.0))
            result[0, i] = g[4] - 2.0 * log * g[1] + log**2 * g[0]
            result[1, i] = log * g[2] - g[5]
            result[2, i] = g[6] + g[5] - log * (g[3] + g[2])
            result[3, i], result[4, i], result[5, i] = g[7], -g[8] - g[7], g[9] + 2.0 * g[8] + g[7]
    return result


def _hessian(y: Any, a: Any, b: Any, c: Any, z: Any) -> tuple[Any, ...]:
    """Return the slopes by a, b, c and z, and for each argument the row of second derivatives."""
    one, further = np.ones(z.shape), (a + 1.0, b + 1.0, c + 1.0, z)
    shifted, factor = OP(*further), a * b / c
    by_a, by_b, by_c, by_z = _VJP(one, shifted, *further)
    of_z = (
        b / c * shifted + factor * by_a,
        a / c * shifted + factor * by_b,
        factor * (by_c - shifted / c),
        factor * by_z,
    )
    aa, ab, ac, bb, bc, cc = _CURVATURES(a, b, c, z)
    symmetric = ((aa, ab, ac), (ab, bb, bc), (ac, bc, cc))
    rows = [(*row, last) for row, last in zip(symmetric, of_z[:3], strict=True)]
    return _VJP(one, y, a, b, c, z), *rows, of_z


def _dot(row: Any, others: Any) -> Any:
    return sum(each * other for each, other in zip(row, others, strict=True) if other is not None)


def _second_vjp(bars: Any, results: Any, y_bar: Any, y: Any, *xs: Any) -> Any:
    """Return the cotangents of the arguments of `_vjp`. That of y is counted to those that y is a function of."""
    slopes, *rows = _hessian(y, *xs)
    return _dot(slopes, bars), None, *(y_bar * _dot(row, bars) for row in rows)


def _second_jvp(dots: Any, results: Any, y_bar: Any, y: Any, *xs: Any) -> Any:
    """Return the tangents of the results of `_vjp`, likewise."""
    slopes, *rows = _hessian(y, *xs)
    y_bar_dot, _, *x_dots = dots
    return tuple(
        y_bar_dot * slope + y_bar * _dot(row, x_dots) for slope, row in zip(slopes, rows, strict=True)
    )


def _jvp(x_dots: Any, y: Any, *xs: Any) -> Any:
    return _dot(_VJP(np.ones(xs[3].shape), y, *xs), x_dots)


def _no_third(*_: Any) -> NoReturn:
    raise UnsupportedError(
        "scipy.special.hyp2f1: first and second derivatives by a, b and c are known, a third one is not; hold them"
        " fixed with tapegrad.stop_gradient"
    )


def _by_z(a: Any, b: Any, c: Any, z: Any) -> Any:
    return a * b / c * _OF_Z(a + 1.0, b + 1.0, c + 1.0, z)


def _vjp_of_z(y_bar: Any, y: Any, *xs: Any) -> Any:
    return None, None, None, y_bar * _by_z(*xs)


def _jvp_of_z(x_dots: Any, y: Any, *xs: Any) -> Any:
    return x_dots[3] * _by_z(*xs)


_compiled_values = numba.njit(_values)
_CURVATURES = custom_op("hyp2f1_curvatures", numba.njit(_curvatures), _no_third, _no_third)
_VJP = custom_op("hyp2f1_vjp", numba.njit(_vjp), _second_vjp, _second_jvp, differentiable=True)
OP = custom_op("hyp2f1", _compiled_values, _VJP, _jvp, differentiable=True)  # of vectors a, b, c and z
_OF_Z = custom_op("hyp2f1_of_z", _compiled_values, _vjp_of_z, _jvp_of_z, differentiable=True)


def of_tensors(*operands: Tensor) -> Any:
    """Return the function of Tensors that broadcast; of constants a, b and c by the op of z alone."""
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    flat = [reshape(broadcast_to(x.astype(np.float64), shape), (-1,)) for x in operands]
    op = _OF_Z if all(x.constant for x in operands[:3]) else OP
    return reshape(op(*flat), shape).astype(np.result_type(np.float32, *(x.dtype for x in operands)))
