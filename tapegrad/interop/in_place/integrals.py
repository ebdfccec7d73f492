"""Integrals of `scipy.integrate`: of samples, and of functions by rules that do not adapt.

Reference: K. V. Cartwright, "Simpson's rule cumulative integration with MS Excel and irregularly-spaced data", Journal
of Mathematical Sciences and Mathematics Education 12(2), 2017: the last interval of an odd number.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.integrate.odeint import odeint
from tapegrad.integrate.quad import quad
from tapegrad.integrate.solve import solve_ivp
from tapegrad.interop.in_place.arguments import array_of, named


def _samples(y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """Return samples along the last axis, and the steps between them."""
    y, x = np.moveaxis(array_of(y), axis, -1), array_of(x)
    if x is None:
        return y, dx * np.ones(y.shape[-1] - 1)
    return y, np.diff(x if np.ndim(x) == 1 else np.moveaxis(x, axis, -1))


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by the trapezoidal rule."""
    y, steps = _samples(y, x, dx, axis)
    return np.sum(steps * (y[..., 1:] + y[..., :-1]), axis=-1) / 2


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Integrate samples by the trapezoidal rule, up to each of them."""
    y, steps = _samples(y, x, dx, axis)
    sums = np.cumsum(steps * (y[..., 1:] + y[..., :-1]), axis=-1) / 2
    if initial is not None and initial != 0:
        raise ValueError(f"cumulative_trapezoid: initial={initial} must be None or 0")
    first = [] if initial is None else [np.zeros((*sums.shape[:-1], 1))]
    return np.moveaxis(np.concatenate([*first, sums], axis=-1), -1, axis)


def simpson(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by Simpson's rule."""
    y, steps = _samples(y, x, dx, axis)
    if y.shape[-1] == 2:
        return np.sum(steps * np.sum(y, axis=-1, keepdims=True), axis=-1) / 2
    if y.shape[-1] % 2:
        return _parabolas(y, steps)
    first, last = steps[..., -2], steps[..., -1]
    whole = (2 * last**2 + 3 * first * last) / (first + last) * y[..., -1]
    half = (last**2 + 3 * first * last) / first * y[..., -2]
    correction = whole + half - last**3 / (first * (first + last)) * y[..., -3]
    return _parabolas(y[..., :-1], steps[..., :-1]) + correction / 6


def _parabolas(y: Any, steps: Any) -> Any:
    """Return the integral over pairs of intervals."""
    first, second = steps[..., ::2], steps[..., 1::2]
    sums = (2 - second / first) * y[..., :-2:2] + (2 - first / second) * y[..., 2::2]
    middle = (first + second) ** 2 / (first * second) * y[..., 1::2]
    return np.sum((first + second) * (sums + middle), axis=-1) / 6


def romb(y: Any, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate equally spaced samples by Romberg's method, which is linear in them."""
    import scipy.integrate

    y = np.moveaxis(array_of(y), axis, -1)
    return dx * (y @ scipy.integrate.romb(np.eye(y.shape[-1]), axis=0))


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """Integrate a function by Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    half = (b - a) / 2
    return half * np.sum(weights * func(half * (nodes + 1) + a, *args), axis=-1), None


FUNCTIONS = named(trapezoid, cumulative_trapezoid, simpson, romb)
SOLVERS = named(fixed_quad, quad, odeint, solve_ivp)
