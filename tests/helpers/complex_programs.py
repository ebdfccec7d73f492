"""Programs over complex numbers, by name: real and complex functions of three complex numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tapegrad as tg

Z = np.array([1 + 2j, 3 - 1j, 0.5 + 0.25j])
V = np.array([1 + 1j, -2j, 0.5])
_W = np.array([0.3 - 1j, 2 + 1j, 1j])
_R = np.array([1.0, 2.0, -3.0])


def _written(z: Any) -> Any:
    """Write complex numbers, and parts of them, in place."""
    y = z * 1.0
    y[1:] = y[:2] * z[1:]
    y.imag[0] = z.real[2] ** 2
    return y


def _weighed(y: Any) -> Any:
    return y.real.sum() + (y.imag * _R).sum()


COMPLEX: dict[str, Callable[[Any], Any]] = {
    "product": lambda z: z * z * _W,
    "real operand": lambda z: (z * _R - _R) / _R,
    "real first": lambda z: _R - z.real * (1j * z),
    "conjugate": lambda z: np.conj(z) * z * z,
    "quotient": lambda z: _W / z,
    "exponential": lambda z: np.exp(0.3 * z),
    "power": lambda z: z**z,
    "branch cut": lambda z: np.sqrt(-z),
    "reversed": lambda z: z[::-1] * z,
    "gathered": lambda z: z[[0, 0, 1]] * z[[1, 2, 2]],
    "written": _written,
    "selected": lambda z: tg.where(_R > 0, z * z, 1 / z),
    "unit": lambda z: z / abs(z),
    "sign": lambda z: np.sign(z),
    "branch": lambda z: z * z if (z.real * z.imag)[0] > 0 else z,
}
REAL: dict[str, Callable[[Any], Any]] = {
    "squares": lambda z: (abs(z) ** 2).sum(),
    "angle": lambda z: (np.angle(z) * _R).sum(),
    "parts": lambda z: (z.real * z.imag * abs(z)).sum() + (z.view(float) ** 3).sum(),
    "broadcast": lambda z: (z[:, None] * z[None, :] * _W).real.sum(),
} | {name: lambda z, f=f: _weighed(f(z)) for name, f in COMPLEX.items()}


def real_inner(u: Any, v: Any) -> float:
    """Return the real part of ``conj(u) * v``, summed: the inner product of pairs of floats."""
    return float(np.sum(np.real(u) * np.real(v) + np.imag(u) * np.imag(v)))
