"""The elementwise ops, in one row each.

A row states the primal and the partials as text over ``x0, x1, x2`` (the operands) and ``y`` (the result). The same
text is compiled into kernels, evaluated by NumPy, evaluated by mpmath at 30 digits as a test oracle, and applied to
Tensors to differentiate a derivative. What must be kept for the reverse sweep follows from the names that a partial
reads. Primals and partials are written to be accurate relative to their own size over the whole domain, not to overflow
on the way, and to have their limits at infinity: ``x0/(1+absolute(x0))`` is nan at inf, ``log(cosh(x0))`` is inf at 711
and 0 at 1e-9. The kinks are stated here and nowhere else.

A partial is differentiated by the rows that its own text names, for derivatives of higher order. So a text is
written such that this, too, is right at kinks and loses no digits: ``where(x0==x1, 0.5, ...)`` would be a constant
in a single point, and the derivative of ``(1-x0)*(1+x0)`` is a difference of nearly equal numbers where `x0` is
small.
"""

from typing import Any

import numpy as np

from tapegrad.ops.complex_rows import COMPLEX, FAR
from tapegrad.ops.row import Domain, Op
from tapegrad.ops.special_functions import SPECIAL


def _row(family: str, name: str, primal: str, partials: tuple[str, ...], *domains: Domain, **rest: Any) -> Op:
    known = isinstance(getattr(np, name, None), np.ufunc)
    return Op(name, family, primal, partials, domains, name if known else None, **rest)


def _complex_row(*texts: Any, **rest: Any) -> Op:
    """Make a row that takes complex operands too."""
    return _row(*texts, takes_complex=True, **rest)


def _test(name: str, primal: str, arity: int, takes_complex: bool = False) -> Op:
    domains = [(-2.0, 2.0)] * arity
    return _row("predicates", name, primal, (), *domains, predicate=True, takes_complex=takes_complex)


def _larger(a: str, b: str, missing: str) -> str:
    """Return the share of `a` in a selection from `a` and `b`: ties are halved, and `missing` gives all to `a`."""
    return f"where({a}=={b}, 0.5, where(({a}>{b})|{missing}, 1, 0))"


def _smaller(a: str, b: str, missing: str) -> str:
    return f"where({a}=={b}, 0.5, where(({a}<{b})|{missing}, 1, 0))"


def _both(share: Any, missing: str) -> tuple[str, str]:
    """Return the shares of both operands; NaN in the `missing` operand ("own" or "other") gives all to one."""
    own, other = ("x0", "x1") if missing == "own" else ("x1", "x0")
    return share("x0", "x1", f"({own}!={own})"), share("x1", "x0", f"({other}!={other})")


_ANY = (-4.0, 4.0)
_POSITIVE = (0.1, 4.0)

_ARITHMETIC = (
    _complex_row("arithmetic", "add", "x0+x1", ("1", "1"), _ANY, _ANY, commutative=True),
    _complex_row("arithmetic", "subtract", "x0-x1", ("1", "-1"), _ANY, _ANY),
    _complex_row("arithmetic", "multiply", "x0*x1", ("x1", "x0"), _ANY, _ANY, commutative=True),
    # A partial times a cotangent or a tangent, in derivatives on Tensors: zero times anything is zero.
    _complex_row(
        "arithmetic",
        "masked_multiply",
        "where((x0==0)|(x1==0), 0, x0*x1)",
        ("x1", "x0"),
        _ANY,
        _ANY,
        home=None,
        commutative=True,
    ),
    _complex_row("arithmetic", "divide", "x0/x1", ("1/x1", "-y/x1"), _ANY, _POSITIVE),
    _complex_row("arithmetic", "negative", "-x0", ("-1",), _ANY),
    _complex_row("arithmetic", "positive", "x0", ("1",), _ANY),
    _complex_row("arithmetic", "reciprocal", "1/x0", ("-square(y)",), _POSITIVE),
    _complex_row("arithmetic", "square", "square(x0)", ("2*x0",), _ANY),
    _complex_row("arithmetic", "sqrt", "sqrt(x0)", ("0.5/y",), _POSITIVE),
    _row("arithmetic", "cbrt", "cbrt(x0)", ("1/(3*square(y))",), _POSITIVE),
    _row("arithmetic", "floor", "floor(x0)", ("0",), _ANY),
    _row("arithmetic", "ceil", "ceil(x0)", ("0",), _ANY),
    _row("arithmetic", "rint", "rint(x0)", ("0",), _ANY),
    _row("arithmetic", "trunc", "trunc(x0)", ("0",), _ANY),
    _row("arithmetic", "sign", "sign(x0)", ("0",), _ANY),
)

# By the divisor, remainder and fmod fall by the number of times that it fits. copysign'(0) = 0, as abs'(0). What a
# float is moved by to the next one, its spacing, is constant.
_PARTS = (
    _row("parts", "remainder", "remainder(x0, x1)", ("1", "-floor_divide(x0, x1)"), (2.2, 2.8), (0.95, 1.05)),
    _row("parts", "fmod", "fmod(x0, x1)", ("1", "-rint((x0-y)/x1)"), (2.2, 2.8), (0.95, 1.05)),
    _row("parts", "floor_divide", "floor_divide(x0, x1)", ("0", "0"), (2.2, 2.8), (0.95, 1.05)),
    _row("parts", "copysign", "copysign(x0, x1)", ("sign(x0)*copysign(1, x1)", "0"), _ANY, (-3.0, 2.0)),
    _row("parts", "nextafter", "nextafter(x0, x1)", ("1", "0"), (1.1, 1.9), (3.0, 4.0)),
    _row("parts", "spacing", "spacing(x0)", ("0",), (1.1, 1.9)),
)

# abs'(0) = 0. A tie of maximum, minimum, fmax and fmin is shared equally. clip passes its closed interval,
# and where the limits are crossed the result is the upper one, as in NumPy. relu'(0) = 0.
_SELECTION = (
    _complex_row("selection", "absolute", "absolute(x0)", ("sign(x0)",), _ANY, real_result=True),
    _row("selection", "maximum", "maximum(x0, x1)", _both(_larger, "own"), _ANY, _ANY),
    _row("selection", "minimum", "minimum(x0, x1)", _both(_smaller, "own"), _ANY, _ANY),
    _row("selection", "fmax", "fmax(x0, x1)", _both(_larger, "other"), _ANY, _ANY),
    _row("selection", "fmin", "fmin(x0, x1)", _both(_smaller, "other"), _ANY, _ANY),
    _complex_row(
        "selection", "where", "where(x0, x1, x2)", ("0", "where(x0, 1, 0)", "where(x0, 0, 1)"),
        (0.0, 1.0), _ANY, _ANY, boolean_operands=(0,),
    ),
    _row(
        "selection", "clip", "minimum(maximum(x0, x1), x2)",
        (
            "where((x0<x1)|(x0>x2), 0, 1)",
            "where((x0<x1)&(x1<=x2), 1, 0)",
            "where((x0>x2)|(x1>x2), 1, 0)",
        ),
        _ANY, (-2.0, -1.0), (1.0, 2.0),
    ),
    _row("selection", "relu", "maximum(x0, 0)", ("where(x0>0, 1, 0)",), _ANY),
)  # fmt: skip

# x**0 has derivative 0, and so have 0**x, for x >= 0, and inf**x, for x < 0, by the exponent. logaddexp's partials do
# not read the result, which has lost the small difference that they depend on; of two equal infinities each has half.
_EQUAL_INFINITIES = "(x0==x1)&(absolute(x0)==inf)"
_EXPONENTIAL = (
    _complex_row(
        "exponential", "power", "power(x0, x1)",
        ("masked_multiply(x1, power(x0, x1-1))", "where((x0==0)&(x1==0), 0, masked_multiply(y, log(x0)))"),
        _POSITIVE, (-3.0, 3.0),
    ),
    _complex_row("exponential", "exp", "exp(x0)", ("y",), _ANY),
    _complex_row("exponential", "exp2", "exp2(x0)", ("ln2*y",), _ANY),
    _complex_row("exponential", "expm1", "expm1(x0)", ("exp(x0)",), _ANY),
    _complex_row("exponential", "log", "log(x0)", ("1/x0",), _POSITIVE),
    _complex_row("exponential", "log2", "log2(x0)", ("log2e/x0",), _POSITIVE),
    _complex_row("exponential", "log10", "log10(x0)", ("log10e/x0",), _POSITIVE),
    _complex_row("exponential", "log1p", "log1p(x0)", ("1/(1+x0)",), (-0.9, 4.0)),
    _row(
        "exponential", "logaddexp", "logaddexp(x0, x1)",
        (
            f"where({_EQUAL_INFINITIES}, 0.5, 1/(1+exp(x1-x0)))",
            f"where({_EQUAL_INFINITIES}, 0.5, 1/(1+exp(x0-x1)))",
        ),
        _ANY, _ANY, commutative=True,
    ),
    _row(
        "exponential", "logaddexp2", "logaddexp2(x0, x1)",
        (
            f"where({_EQUAL_INFINITIES}, 0.5, 1/(1+exp2(x1-x0)))",
            f"where({_EQUAL_INFINITIES}, 0.5, 1/(1+exp2(x0-x1)))",
        ),
        _ANY, _ANY,
    ),
    _complex_row(
        "exponential", "sigmoid", "1/(1+exp(-x0))", ("y/(1+exp(x0))",), (-20.0, 20.0),
        complex_partials=("y*sigmoid(-x0)",),
    ),
    _row(
        "exponential", "softplus", "maximum(x0, 0)+log1p(exp(-absolute(x0)))", ("1/(1+exp(-x0))",),
        (-20.0, 20.0),
    ),
)  # fmt: skip

# sinc near 0 by its power series in (pi x)**2: the closed form cancels there.
_SINC_SERIES = "1/3-v*(1/30-v*(1/840-v*(1/45360-v*(1/3991680-v*(1/518918400-v*(1/93405312000))))))"
_SINC_NEAR_0 = "-pi*(pi*x0)*(" + _SINC_SERIES.replace("v", "square(pi*x0)") + ")"

# 1 - x0**2, for x0 near 0 and near 1.
_ONE_MINUS_SQUARE = "where(absolute(x0)<0.5, 1-square(x0), (1-x0)*(1+x0))"

# Its root over the complex plane, on the sides of the cuts that the signs of zeros say, without overflow. A real number
# less a complex one, and their sum, have lost these signs, as in NumPy; a complex number less a real one has not.
_ROOTS = "sqrt(-(x0-1))*sqrt(x0-(-1))"

# The even function sqrt(1 + x0**2) likewise, of the argument on the right: 1j times that is above the real axis.
_TURNED = "1j*(copysign(1, real(x0))*x0)"
_TURNED_ROOTS = f"sqrt(-({_TURNED}-1))*sqrt({_TURNED}+1)"


def _share_of_hypot(a: str, b: str) -> str:
    """Return ``a / hypot(a, b)`` as a function of the smaller of a/b and b/a."""
    larger = f"absolute({a})>absolute({b})"
    share = f"where({larger}, sign({a}), {a}/absolute({b}))"
    return f"where(y==0, 0, {share}/sqrt(1+square(where({larger}, {b}/{a}, {a}/{b}))))"


def _over_squares(a: str, b: str) -> str:
    """Return ``a / (a**2 + b**2)`` without a square: divide by the larger of the two, then by the rest."""
    return f"where(absolute({a})>=absolute({b}), 1/({a}+{b}*({b}/{a})), ({a}/{b})/({b}+{a}*({a}/{b})))"


# arctan2(0, 0) and hypot(0, 0) have derivative 0. arctan2's partials are x1 and -x0 by x0**2 + x1**2.
_TRIGONOMETRIC = (
    _complex_row("trigonometric", "sin", "sin(x0)", ("cos(x0)",), (-1.5, 4.5)),
    _complex_row("trigonometric", "cos", "cos(x0)", ("-sin(x0)",), (0.1, 3.0)),
    _row("trigonometric", "tan", "tan(x0)", ("1+square(y)",), (-1.5, 1.5)),
    _complex_row(
        "trigonometric", "arcsin", "arcsin(x0)", (f"1/sqrt({_ONE_MINUS_SQUARE})",), (-0.999, 0.999),
        complex_partials=(f"1/({_ROOTS})",),
    ),
    _complex_row(
        "trigonometric", "arccos", "arccos(x0)", (f"-1/sqrt({_ONE_MINUS_SQUARE})",), (-0.999, 0.999),
        complex_partials=(f"-1/({_ROOTS})",),
    ),
    _complex_row(
        "trigonometric", "arctan", "arctan(x0)", ("1/(1+square(x0))",), _ANY,
        complex_partials=("where(absolute(x0)<1e9, 1/((1-1j*x0)*(1+1j*x0)), square(1/x0))",),
    ),
    _row(
        "trigonometric", "arctan2", "arctan2(x0, x1)",
        (
            f"where((x0==0)&(x1==0), 0, {_over_squares('x1', 'x0')})",
            f"where((x0==0)&(x1==0), 0, -{_over_squares('x0', 'x1')})",
        ),
        _POSITIVE, _ANY,
    ),
    _row(
        "trigonometric", "hypot", "hypot(x0, x1)",
        (_share_of_hypot("x0", "x1"), _share_of_hypot("x1", "x0")), _ANY, _ANY, commutative=True,
    ),
    _complex_row(
        "trigonometric", "sinc", "where(x0==0, 1, sin(pi*x0)/(pi*x0))",
        (f"where(absolute(x0)<0.25, {_SINC_NEAR_0}, (cos(pi*x0)-y)/x0)",), (-1.2, 1.2),
    ),
)  # fmt: skip

_HYPERBOLIC = (
    _complex_row("hyperbolic", "sinh", "sinh(x0)", ("cosh(x0)",), _ANY),
    _complex_row("hyperbolic", "cosh", "cosh(x0)", ("sinh(x0)",), _ANY),
    _complex_row(
        "hyperbolic", "tanh", "tanh(x0)", ("square(1/cosh(x0))",), (-20.0, 20.0),
        complex_partials=(f"where(absolute(real(x0))>{FAR}, 0, square(1/cosh(x0)))",),
    ),
    _complex_row(
        "hyperbolic", "arcsinh", "arcsinh(x0)",
        ("where(absolute(x0)<1e9, 1/sqrt(1+square(x0)), 1/absolute(x0))",), _ANY,
        complex_partials=(f"1/({_TURNED_ROOTS})",),
    ),
    _complex_row("hyperbolic", "arccosh", "arccosh(x0)", ("1/(sqrt(x0-1)*sqrt(x0-(-1)))",), (1.001, 4.0)),
    _complex_row(
        "hyperbolic", "arctanh", "arctanh(x0)", (f"1/{_ONE_MINUS_SQUARE}",), (-0.999, 0.999),
        complex_partials=("where(absolute(x0)<1e9, 1/((1-x0)*(1+x0)), -square(1/x0))",),
    ),
)  # fmt: skip

_PREDICATES = (
    _test("less", "x0<x1", 2),
    _test("less_equal", "x0<=x1", 2),
    _test("greater", "x0>x1", 2),
    _test("greater_equal", "x0>=x1", 2),
    _test("equal", "x0==x1", 2, takes_complex=True),
    _test("not_equal", "x0!=x1", 2, takes_complex=True),
    _test("isnan", "x0!=x0", 1, takes_complex=True),
    _test("isinf", "isinf(x0)", 1, takes_complex=True),
    _test("isfinite", "isfinite(x0)", 1, takes_complex=True),
)

ELEMENTWISE: tuple[Op, ...] = (
    *_ARITHMETIC, *_PARTS, *_SELECTION, *_EXPONENTIAL, *_TRIGONOMETRIC, *_HYPERBOLIC, *SPECIAL, *_PREDICATES, *COMPLEX,
)  # fmt: skip
