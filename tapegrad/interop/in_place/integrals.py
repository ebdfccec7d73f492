"""Integrals of `scipy.integrate`: of samples, and of functions by rules that do not adapt.

Reference: K. V. Cartwright, "Simpson's rule cumulative integration with MS Excel and irregularly-spaced data", Journal
of Mathematical Sciences and Mathematics Education 12(2), 2017: the last interval of an odd number.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.integrate.quad import quad
from tapegrad.interop.in_place.arguments import array_of


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by the trapezoidal rule."""
    return np.sum(_trapezoids(y, x, dx, axis), axis=-1)


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Integrate samples by the trapezoidal rule, up to each of them."""
    sums = np.cumsum(_trapezoids(y, x, dx, axis), axis=-1)
    if initial is not None:
        if initial != 0:
            raise ValueError(f"cumulative_trapezoid: initial={initial} must be None or 0")
        sums = np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
    return np.moveaxis(sums, -1, axis)


def _trapezoids(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """Return the areas of all trapezoids, along the last axis."""
    y, steps = _samples(y, x, dx, axis)
    return steps * (y[..., 1:] + y[..., :-1]) / 2.0


def _samples(y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """Return samples along the last axis, and the steps between them."""
    y, x = np.moveaxis(array_of(y), axis, -1), array_of(x)
    if x is None:
        return y, dx * np.ones(y.shape[-1] - 1)
    return y, np.diff(x if np.ndim(x) == 1 else np.moveaxis(x, axis, -1))


def simpson(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate samples by Simpson's rule."""
    y, steps = _samples(y, x, dx, axis)
    if y.shape[-1] == 2:
        return trapezoid(y, x, dx)
    if y.shape[-1] % 2:
        return _parabolas(y, steps)
    first, last = steps[..., -2], steps[..., -1]
    both = first + last
    return (
        _parabolas(y[..., :-1], steps[..., :-1])
        + (2 * last**2 + 3 * first * last) / (6 * both) * y[..., -1]
        + (last**2 + 3 * first * last) / (6 * first) * y[..., -2]
        - last**3 / (6 * first * both) * y[..., -3]
    )


def _parabolas(y: Any, steps: Any) -> Any:
    """Return the integral over pairs of intervals."""
    first, second = steps[..., ::2], steps[..., 1::2]
    both = first + second
    sums = (2 - second / first) * y[..., :-2:2] + both**2 / (first * second) * y[..., 1::2]
    return np.sum(both / 6 * (sums + (2 - first / second) * y[..., 2::2]), axis=-1)


def romb(y: Any, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate equally spaced samples by Romberg's method, which is linear in them."""
    import scipy.integrate

    y, _ = _samples(y, None, 1.0, axis)
    weights = scipy.integrate.romb(np.eye(y.shape[-1]), axis=0)
    return dx * (y @ weights)


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """Integrate a function by Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    half = (b - a) / 2
    return half * np.sum(weights * func(half * (nodes + 1) + a, *args), axis=-1), None


def dblquad(
    func: Callable[..., Any], a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (),
    epsabs: float = 1.49e-8, epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:  # fmt: skip
    """Integrate a function of two numbers, the first of which is the inner one."""

    def inner(x: Any, *args: Any) -> Any:
        ends = (end(x) if callable(end) else end for end in (gfun, hfun))
        return quad(func, *ends, (x, *args), epsabs=epsabs, epsrel=epsrel)[0]

    return quad(inner, a, b, args, epsabs=epsabs, epsrel=epsrel)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "trapezoid": trapezoid,
    "cumulative_trapezoid": cumulative_trapezoid,
    "simpson": simpson,
    "romb": romb,
}
SOLVERS: dict[str, Callable[..., Any]] = {"fixed_quad": fixed_quad, "dblquad": dblquad}
