"""Bounds of parameters: a parameter at a bound, from which the cost falls outwards only, is held there.

What is free moves by the step of the free ones alone, and is then projected on the box [1]_.

References
----------
.. [1] C. Kanzow, N. Yamashita, M. Fukushima, "Levenberg-Marquardt methods with strong local convergence properties
   for solving nonlinear equations with convex constraints", J. Comput. Appl. Math. 172, 2004.
"""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, store_f64, store_i64


@inline_njit
def is_held(x, gradient, lower, upper, j, stride):
    """Return whether a parameter is at a bound, and the cost falls outwards.

    `x` and `gradient` hold a number every `stride` elements: the lanes of a batch lie side by side.
    """
    value, slope = load_f64(x, j * stride), load_f64(gradient, j * stride)
    return (value <= load_f64(lower, j) and slope > 0.0) or (value >= load_f64(upper, j) and slope < 0.0)


@inline_njit
def list_free(x, gradient, lower, upper, free, k):
    """List the parameters that are not held; return their number."""
    count = 0
    for j in range(k):
        if not is_held(x, gradient, lower, upper, j, 1):
            store_i64(free, count, j)
            count += 1
    return count


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
    """Move a point into the box; return whether it was outside."""
    moved = False
    for j in range(k):
        value = load_f64(x, j)
        inside = min(max(value, load_f64(lower, j)), load_f64(upper, j))
        if inside != value:
            store_f64(x, j, inside)
            moved = True
    return moved
