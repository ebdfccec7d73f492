"""VECTOR MATHEMATICS: a page for each kind of function, its source cited. Values in, values out, float64 throughout.

In reading order; each imports only those above it:

    polynomial                     polynomials
    exponential                    exp, exp2, expm1
    error_function                 erf, erfc
    inverse_trigonometric          arctan, arctan2, arcsin, arccos
    logarithm                      log, log2, log10, log1p
    lambert                        Lambert's W, both real branches
    hyperbolic                     sinh, cosh, tanh and their inverses
    logistic                       sigmoid, softplus, logaddexp
    power                          power
    roots                          hypot, cbrt
    trigonometric                  sin, cos, both at once, tan
    complex_numbers                functions of complex numbers

Every function is right to 1 unit in the last place, power, erfc and W to 2, over the whole range: denormals, -0.0,
infinities, NaN and arguments up to the largest. float32 is computed as float64 and rounded once.
"""

from collections.abc import Callable
from typing import Any

from tapegrad.engine.codegen.mathematics import (
    error_function,
    exponential,
    hyperbolic,
    inverse_trigonometric,
    lambert,
    logarithm,
    logistic,
    power,
    roots,
    trigonometric,
)
from tapegrad.engine.codegen.mathematics.complex_numbers import COMPLEX_MATHEMATICS

_PAGES: tuple[Callable[..., Any], ...] = (
    exponential.exp, exponential.exp2, exponential.expm1,
    logarithm.log, logarithm.log2, logarithm.log10, logarithm.log1p,
    trigonometric.sin, trigonometric.cos, trigonometric.tan, trigonometric.sincos,
    inverse_trigonometric.arcsin, inverse_trigonometric.arccos, inverse_trigonometric.arctan,
    inverse_trigonometric.arctan2,
    hyperbolic.sinh, hyperbolic.cosh, hyperbolic.tanh, hyperbolic.arcsinh, hyperbolic.arccosh, hyperbolic.arctanh,
    roots.hypot, roots.cbrt, power.power,
    error_function.erf, error_function.erfc,
    lambert.lambertw0, lambert.lambertwm1,
    logistic.sigmoid, logistic.softplus, logistic.logaddexp,
)  # fmt: skip

# The functions by the names that texts of the table use. `sincos` gives two values, and stands for both.
MATHEMATICS: dict[str, Callable[..., Any]] = {page.__name__: page for page in _PAGES}

__all__ = ["COMPLEX_MATHEMATICS", "MATHEMATICS"]
