"""MATHEMATICS OF COMPLEX NUMBERS: functions of real and imaginary parts, vectors each, float64 throughout.

In reading order; each imports only those above it:

    rare_lanes                     the C library's functions, for lanes with rare arguments
    arithmetic                     divide, reciprocal, absolute, angle, sign, sqrt
    exponentials                   exp, exp2, expm1, sigmoid
    logarithms                     log, log2, log10, log1p
    powers                         power
    trigonometry                   sin, cos, tan, sinh, cosh, tanh
    inverses                       arcsin, arccos, arctan, arcsinh, arccosh, arctanh

Branch cuts are NumPy's, with the sign of zero: a number whose imaginary part is -0.0 is below the cut. Infinities and
NaN give what C99, Annex G, asks for, by the C library.
"""

from collections.abc import Callable
from typing import Any

from tapegrad.engine.codegen.mathematics.complex_numbers import (
    arithmetic,
    exponentials,
    inverses,
    logarithms,
    powers,
    trigonometry,
)

_PAGES: tuple[Callable[..., Any], ...] = (
    arithmetic.divide, arithmetic.reciprocal, arithmetic.absolute, arithmetic.angle, arithmetic.sign, arithmetic.sqrt,
    exponentials.exp, exponentials.exp2, exponentials.expm1, exponentials.sigmoid,
    logarithms.log, logarithms.log2, logarithms.log10, logarithms.log1p, powers.power,
    trigonometry.sin, trigonometry.cos, trigonometry.tan, trigonometry.sinh, trigonometry.cosh, trigonometry.tanh,
    inverses.arcsin, inverses.arccos, inverses.arctan, inverses.arcsinh, inverses.arccosh, inverses.arctanh,
)  # fmt: skip

# The functions by the names that texts of the table use: of real and imaginary parts, which they give, too. Those
# with a real result give one value.
COMPLEX_MATHEMATICS: dict[str, Callable[..., Any]] = {page.__name__: page for page in _PAGES}
