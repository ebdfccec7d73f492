"""Vectors of float64 at addresses, for optimisers: arithmetic, and bounds of parameters [1]_.

A parameter at a bound, from which the cost falls outwards only, is held there. What is free moves by the step of the
free ones alone, and is then projected on the box.

References
----------
.. [1] C. Kanzow, N. Yamashita, M. Fukushima, "Levenberg-Marquardt methods with strong local convergence properties
   for solving nonlinear equations with convex constraints", J. Comput. Appl. Math. 172, 2004.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.inlining import noinline_loop, noinline_reordered
from tapegrad.engine.kernels.language.raw_memory import load_f64, store_f64


@noinline_reordered
def dot(a, b, n):
    """Inner product."""
    total = 0.0
    for i in range(n):
        total += load_f64(a, i) * load_f64(b, i)
    return total


@inline_njit
def norm(a, n):
    """Return the length of a vector."""
    return math.sqrt(dot(a, a, n))


@noinline_loop
def add_scaled(y, factor, x, n):
    """Add a multiple of `x` to `y`."""
    for i in range(n):
        store_f64(y, i, load_f64(y, i) + factor * load_f64(x, i))


@noinline_loop
def copy_scaled(y, factor, x, n):
    """Write a multiple of `x` to `y`."""
    for i in range(n):
        store_f64(y, i, factor * load_f64(x, i))


@noinline_loop
def multiply(y, x, n):
    """Multiply `y` by `x`, element by element."""
    for i in range(n):
        store_f64(y, i, load_f64(y, i) * load_f64(x, i))


@noinline_loop
def multiply_by(y, factor, n):
    """Multiply all elements of `y` by a number."""
    for i in range(n):
        store_f64(y, i, load_f64(y, i) * factor)


@noinline_loop
def fill(y, value, n):
    """Write one value to all elements."""
    for i in range(n):
        store_f64(y, i, value)


@noinline_loop
def take_column(target, rows, j, n, k):
    """Write a column of a matrix that is stored row by row."""
    for i in range(n):
        store_f64(target, i, load_f64(rows, i * k + j))


# --- bounds ------------------------------------------------------------------------------------------------------


@inline_njit
def is_held(x, gradient, lower, upper, j, stride):
    """Return whether a parameter is at a bound, and the cost falls outwards.

    `x` and `gradient` hold a number every `stride` elements: the lanes of a batch lie side by side.
    """
    value, slope = load_f64(x, j * stride), load_f64(gradient, j * stride)
    return (value <= load_f64(lower, j) and slope > 0.0) or (value >= load_f64(upper, j) and slope < 0.0)


@inline_njit
def steepness(x, gradient, lower, upper, k, stride):
    """Return the largest slope by a parameter that is not held."""
    found = 0.0
    for j in range(k):
        if not is_held(x, gradient, lower, upper, j, stride):
            found = max(found, abs(load_f64(gradient, j * stride)))
    return found


@inline_njit
def project(x, lower, upper, k):
    """Move a point into the box."""
    for j in range(k):
        value = load_f64(x, j)
        inside = min(max(value, load_f64(lower, j)), load_f64(upper, j))
        if inside != value:
            store_f64(x, j, inside)
