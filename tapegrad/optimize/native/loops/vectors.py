"""Loops over vectors of float64 at addresses, for optimisers."""

from tapegrad.engine.kernels.language.inlining import noinline_loop, noinline_reordered
from tapegrad.engine.kernels.language.raw_memory import load_f64, store_f64


@noinline_reordered
def dot(a, b, n):
    """Inner product."""
    total = 0.0
    for i in range(n):
        total += load_f64(a, i) * load_f64(b, i)
    return total


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
def fill(y, value, n):
    """Write one value to all elements."""
    for i in range(n):
        store_f64(y, i, value)
