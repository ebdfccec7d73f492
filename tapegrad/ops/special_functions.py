"""Rows of special functions: their primals are loops of SciPy's, and their partials other special functions.

A partial ``nan`` says that none is known in closed form: whoever differentiates by that operand is refused.
"""

import math
from typing import Any

from tapegrad.ops.distribution_functions import DISTRIBUTIONS
from tapegrad.ops.formulas import (
    EXPREL_SLOPE,
    ODD_SQUARES,
    POSITIVE,
    UNKNOWN,
    complex_row,
    digamma_rise,
    fraction,
    polynomial,
    special_row,
    substitute,
)
from tapegrad.ops.hypergeometric_functions import HYPERGEOMETRIC
from tapegrad.ops.row import Domain, Op

# --- error functions and the normal distribution ---------------------------------------------------------------------

# The derivative of erfcx, 2*x*y - 2/sqrt(pi), cancels far out, where erfcx is a continued fraction (DLMF 7.9.1).
_ERFCX_FAR = fraction("x0", *(str(0.5 * _k) for _k in range(1, 19)))
_BELL = "one_over_sqrt_2pi*exp(-0.5*square(x0))"

# The derivative of Dawson's integral, 1 - 2*x*y, cancels far out, where it is a series in 1/(2*x**2) (DLMF 7.12.1).
_DAWSON_FAR = "1"
for _k in range(49, 1, -2):
    _DAWSON_FAR = f"1+{_k}*u*({_DAWSON_FAR})"
_DAWSON_FAR = "-u*(" + _DAWSON_FAR + ")"
_DAWSON_FAR = substitute(_DAWSON_FAR, "u", "(0.5/square(x0))")

# In the left half plane erfcx(x) = 2*exp(x**2) - erfcx(-x), whose second term has no digits left in the first one;
# far out, where the square is infinite, one of them is 0.
_COMPLEX_ERFCX = (
    "where(real(x0)<0, where(absolute(x0)<1e150, 4*x0*exp(square(x0)), "
    "where(absolute(imag(x0))>-real(x0), 0, 2*x0*y)), 0)+"
    + substitute(
        substitute(
            f"where(absolute(u)<8, 2*u*erfcx(u)-two_over_sqrt_pi, -two_over_sqrt_pi*{_ERFCX_FAR}/(x0+{_ERFCX_FAR}))",
            "x0", "u",
        ),
        "u", "where(real(x0)<0, -x0, x0)",
    )
)  # fmt: skip
# Far out the square is a difference of infinite numbers.
_SQUARE_FALLS = "(absolute(x0)>1e150)&(absolute(imag(x0))>=absolute(real(x0)))"
# The Faddeeva function is erfcx of -i*z.
_FADDEEVA = "-1j*(" + substitute(_COMPLEX_ERFCX, "x0", "(-1j*x0)") + ")"
# Off the real axis the integral has an exponential beside its series.
_COMPLEX_DAWSON = (
    f"where(absolute(x0)<8, 1-2*x0*y, {_DAWSON_FAR}-sign(imag(x0))*sqrt_pi*(1j*x0)*exp(-square(x0)))"
)
# Of the normal distribution's density and the function, the one that is not too large.
_COMPLEX_LOG_NDTR = (
    f"where(real(x0)>absolute(imag(x0)), {_BELL}*exp(-y), sqrt_two_over_pi/erfcx(-sqrt_half*x0))"
)

# SciPy's loop warns, in Python, of orders that are not whole; of negative ones it gives nan.
_WHOLE_ORDER = "where((x0>=0)&(x0<1e9), rint(x0), -1)"
_LAMBERT_FAR = "1/(x0*(1+1/y))"

ERROR = (
    Op("erf", "special", "erf(x0)", ("two_over_sqrt_pi*exp(-square(x0))",), ((-4.0, 4.0),), takes_complex=True),
    Op("erfc", "special", "erfc(x0)", ("-two_over_sqrt_pi*exp(-square(x0))",), ((-4.0, 4.0),), takes_complex=True),
    complex_row(
        "special", "erfcx",
        (f"two_over_sqrt_pi*where(x0<5, sqrt_pi*x0*y-1, -{_ERFCX_FAR}/(x0+{_ERFCX_FAR}))",), (-2.0, 6.0),
        complex_partials=(_COMPLEX_ERFCX,),
    ),
    complex_row(
        "special", "dawsn", (f"where(absolute(x0)<8, 1-2*x0*y, {_DAWSON_FAR})",), (-4.0, 4.0),
        complex_partials=(_COMPLEX_DAWSON,),
    ),
    Op(
        "wofz", "special", "wofz(x0)", (_FADDEEVA,), ((-4.0, 4.0),), home="tapegrad.special", arguments=("z",),
        takes_complex=True, takes_real=False,
    ),
    complex_row(
        "special", "erfi", ("two_over_sqrt_pi*exp(square(x0))",), (-2.0, 2.0), arguments=("z",),
        complex_partials=(f"where({_SQUARE_FALLS}, 0, two_over_sqrt_pi*exp(square(x0)))",),
    ),
    complex_row("special", "expi", ("exp(x0)/x0",), POSITIVE),
    complex_row("special", "exp1", ("-exp(-x0)/x0",), POSITIVE),
    complex_row("special", "spence", ("where(x0==1, -1, log(x0)/(1-x0))",), POSITIVE),
    Op(
        "expn", "special", f"expn({_WHOLE_ORDER}, x1)",
        (UNKNOWN, f"where(x0<0.5, -exp(-x1)*(1+x1)/square(x1), -expn({_WHOLE_ORDER}-1, x1))"), ((1.0, 4.0), POSITIVE),
        home=None,
    ),
    Op(
        "lambertw0", "special", "lambertw0(x0)", (f"where(absolute(y)<1, exp(-y)/(1+y), {_LAMBERT_FAR})",),
        ((-0.3, 4.0),), home=None,
    ),
    Op(
        "lambertwm1", "special", "lambertwm1(x0)", (f"where(x0==0, y, {_LAMBERT_FAR})",), ((-0.35, -0.01),), home=None,
    ),
    special_row("special", "erfinv", ("exp(square(y))/two_over_sqrt_pi",), (-0.99, 0.99)),
    special_row("special", "erfcinv", ("-exp(square(y))/two_over_sqrt_pi",), (0.01, 1.99)),
    complex_row("special", "ndtr", (_BELL,), (-4.0, 4.0)),
    complex_row(
        "special", "log_ndtr", ("sqrt_two_over_pi/erfcx(-sqrt_half*x0)",), (-6.0, 4.0),
        complex_partials=(_COMPLEX_LOG_NDTR,),
    ),
    special_row("special", "ndtri", ("exp(0.5*square(y))/one_over_sqrt_2pi",), (0.01, 0.99)),
    special_row("special", "ndtri_exp", ("erfcx(-sqrt_half*y)/sqrt_two_over_pi",), (-6.0, -0.01), arguments=("y",)),
    special_row("special", "exp10", ("y/log10e",), (-4.0, 4.0)),
    special_row("special", "wrightomega", ("where(y==inf, 1, y/(1+y))",), (-4.0, 4.0), arguments=("z",)),
    special_row("special", "logit", ("1/(x0*(1-x0))",), (0.01, 0.99)),
    special_row("special", "log_expit", ("1/(1+exp(x0))",), (-20.0, 20.0)),
    special_row(
        "special", "owens_t",
        (
            f"-0.5*{_BELL}*erf(sqrt_half*x0*x1)",
            "exp(-0.5*square(x0)*(1+square(x1)))/(2*pi*(1+square(x1)))",
        ),
        (-2.0, 2.0), (-2.0, 2.0), arguments=("h", "a"),
    ),
)  # fmt: skip

# --- sums of x*log(x) ------------------------------------------------------------------------------------------------

# Outside of their domain the functions are infinite, and constant.
_OUTSIDE = "(x0<0)|(x1<0)"
_LOG_OF_RATIO = "where(absolute(x0-x1)<0.5*x1, log1p((x0-x1)/x1), log(x0/x1))"

# The inverse of Box and Cox's transform depends on lmbda by t = lmbda*y.
_INVERSE_OF_LMBDA = substitute(
    "where(absolute(t)<0.05, "
    + polynomial("t", *(f"{'-' if _k % 2 == 0 else ''}{_k + 1}/{_k + 2}" for _k in range(12)))
    + ", (t/(1+t)-log1p(t))/square(t))",
    "t", "(x1*x0)",
)  # fmt: skip
# Box and Cox's transform y depends on lmbda by t = lmbda*y: near 0 as y**2 times a power series. Elsewhere `xlogy`
# keeps the logarithm with its factor, whose derivatives are finite at arguments with an infinite reciprocal.
_BOXCOX_BY_LMBDA = substitute(
    "where(absolute(t)<0.25, square(y)*("
    + polynomial("t", *(f"{'-' if _k % 2 else ''}1/{(_k + 1) * (_k + 2)}" for _k in range(24)))
    + "), (xlogy(power(x0, x1), x0)-y)/x1)",
    "t", "(x1*y)",
)  # fmt: skip
# The same of ``1+x``
_BOXCOX1P_BY_LMBDA = _BOXCOX_BY_LMBDA.replace("xlogy(power(x0, x1), x0)", "xlog1py(power(1+x0, x1), x0)")
_LOSS = "hypot(x0, x1)"


TRANSFORMS = (
    special_row(
        "entropy", "boxcox1p", ("power(1+x0, x1-1)", _BOXCOX1P_BY_LMBDA), (-0.8, 3.0), (-1.5, 2.0),
        arguments=("x", "lmbda"),
    ),
    special_row(
        "entropy", "inv_boxcox1p", ("(1+y)/(1+x1*x0)", f"(1+y)*square(x0)*{_INVERSE_OF_LMBDA}"),
        (-0.4, 2.0), (0.1, 2.0), arguments=("y", "lmbda"),
    ),
    special_row(
        "entropy", "powm1",
        (
            "masked_multiply(x1, power(x0, x1-1))",
            "where((x0==0)&(x1==0), 0, masked_multiply(power(x0, x1), log(x0)))",
        ),
        POSITIVE, (-3.0, 3.0), arguments=("x", "y"),
    ),
    special_row(
        "entropy", "boxcox", ("power(x0, x1-1)", _BOXCOX_BY_LMBDA), (0.2, 4.0), (-1.5, 2.0), arguments=("x", "lmbda"),
    ),
    special_row(
        "entropy", "inv_boxcox", ("y/(1+x1*x0)", f"y*square(x0)*{_INVERSE_OF_LMBDA}"),
        (-0.4, 2.0), (0.1, 2.0), arguments=("y", "lmbda"),
    ),
    special_row(
        "entropy", "huber",
        (
            "where((x0<0)|(absolute(x1)<=x0), 0, absolute(x1)-x0)",
            "where(x0<0, 0, where(absolute(x1)<=x0, x1, x0*sign(x1)))",
        ),
        (0.1, 1.0), (1.5, 4.0), arguments=("delta", "r"),
    ),
    special_row(
        "entropy", "pseudo_huber",
        (
            f"where((x0<0)|({_LOSS}==0), 0, absolute(x1)*(absolute(x1)/{_LOSS})*square(x1/({_LOSS}+x0)))",
            f"where((x0<0)|({_LOSS}==0), 0, x0*(x1/{_LOSS}))",
        ),
        POSITIVE, (-4.0, 4.0), arguments=("delta", "r"),
    ),
)  # fmt: skip

ENTROPY = (
    Op(
        "xlogy", "entropy", "where((x0==0)&(x1==x1), 0, x0*log(x1))", ("log(x1)", "where(x0==0, 0, x0/x1)"),
        (POSITIVE, POSITIVE), home="tapegrad.special", arguments=("x", "y"), takes_complex=True,
    ),
    complex_row(
        "entropy", "xlog1py", ("log1p(x1)", "where(x0==0, 0, x0/(1+x1))"), POSITIVE, (-0.9, 4.0),
        arguments=("x", "y"),
    ),
    special_row("entropy", "entr", ("where(x0<0, 0, -1-log(x0))",), POSITIVE),
    special_row(
        "entropy", "rel_entr",
        (f"where({_OUTSIDE}, 0, 1+{_LOG_OF_RATIO})", f"where({_OUTSIDE}|(x0==0), 0, -x0/x1)"),
        POSITIVE, POSITIVE, arguments=("x", "y"),
    ),
    special_row(
        "entropy", "kl_div",
        (f"where({_OUTSIDE}, 0, {_LOG_OF_RATIO})", f"where({_OUTSIDE}, 0, where(x0==0, 1, (x1-x0)/x1))"),
        (0.1, 2.0), (0.2, 4.0), arguments=("x", "y"),
    ),
    special_row(
        "entropy", "exprel",
        (substitute(substitute(EXPREL_SLOPE, "r", "y"), "u", "x0"),),
        (-4.0, 4.0),
    ),
    special_row("entropy", "cosm1", ("-sin(x0)",), (0.1, 3.0)),
)  # fmt: skip

# --- gamma and beta functions ----------------------------------------------------------------------------------------

# Below 0 by reflection: trigamma(x) + trigamma(1-x) = (pi/sin(pi x))**2.
_TRIGAMMA = (
    "where(x0<0, square(pi/sin(pi*where(x0<0, x0-rint(x0), 0.5))), 0)"
    "+where(x0<0, -1, 1)*zeta(2, where(x0<0, 1-x0, x0))"
)
# In the plane right of 1/2 12 steps of the recurrence, then the series (DLMF 5.15.1, 5.15.8); left of it by reflection.
_TRIGAMMA_SERIES = polynomial(
    "square(v)", "1/6", "-1/30", "1/42", "-1/30", "5/66", "-691/2730", "7/6", "-3617/510"
)
_TRIGAMMA_RIGHT = "+".join(f"square(1/(u+{_k}))" for _k in range(12)) + substitute(
    f"+v+square(v)*(0.5+v*({_TRIGAMMA_SERIES}))", "v", "(1/(u+12))"
)
_COMPLEX_TRIGAMMA = (
    "where((real(x0)<0.5)&(absolute(imag(x0))<100), square(pi/sin(pi*(x0-rint(real(x0))))), 0)"
    "+where(real(x0)<0.5, -1, 1)*(" + substitute(_TRIGAMMA_RIGHT, "u", "where(real(x0)<0.5, 1-x0, x0)") + ")"
)
# Below 1/2 by reflection, 1/gamma(x) = gamma(1-x)*sin(pi x)/pi, which has no poles.
_RGAMMA = "where(x0<0.5, gamma(1-x0)*(cos(pi*x0)-sin(pi*x0)*digamma(1-x0)/pi), -y*digamma(x0))"
_COMPLEX_RGAMMA = _RGAMMA.replace("x0<0.5", "real(x0)<0.5")


# lgamma(x+1/2)-lgamma(x)-log(x)/2 and its derivative, which are small for large x: the continued fractions of the
# square of a ratio of gamma functions (Brouncker's), and of a difference of digamma functions (Stieltjes').
_HALF_STEP = fraction("8*x0-2", *ODD_SQUARES)
_HALF_STEP_DOT = fraction("4*x0-1", *(str(_k * _k) for _k in range(1, 10)))

# Where binom has zeros, the poles of gamma(x-y+1), its derivatives are those of the reciprocal, by reflection.
_AT_ZEROS = "(x0-x1<-0.5)&(x0>-1)&(x0<100)&(x1<100)"
_BINOM_AT_ZEROS = (
    "{sign}gamma(x0+1)*rgamma(x1+1)*(gamma(x1-x0)*(cos(pi*(x0-x1+1))-sin(pi*(x0-x1+1))*digamma(x1-x0)/pi)"
    "+digamma({x}+1)*rgamma(x0-x1+1))"
)
_BINOM_BY_X, _BINOM_BY_Y = digamma_rise("(x0-x1+1)", "x1"), digamma_rise("(x1+1)", "(x0-2*x1)")

GAMMA = (
    Op("lgamma", "gamma", "lgamma(x0)", ("digamma(x0)",), (POSITIVE,), takes_complex=True),
    complex_row("gamma", "loggamma", ("digamma(x0)",), POSITIVE, arguments=("z",)),
    Op(
        "digamma", "gamma", "digamma(x0)", (_TRIGAMMA,), (POSITIVE,), takes_complex=True,
        complex_partials=(_COMPLEX_TRIGAMMA,),
    ),
    # The sum of 1/(k+x1)**x0 over k = 0, 1, ...
    Op("zeta", "gamma", "zeta(x0, x1)", (UNKNOWN, "-x0*zeta(x0+1, x1)"), ((1.5, 3.5), POSITIVE), home=None,
       arguments=("x", "q")),
    Op("riemann_zeta", "gamma", "riemann_zeta(x0)", (UNKNOWN,), ((1.5, 3.5),), home=None, arguments=("x",)),
    complex_row("gamma", "gamma", ("y*digamma(x0)",), POSITIVE),
    complex_row("gamma", "rgamma", (_RGAMMA,), (-2.8, 4.0), complex_partials=(_COMPLEX_RGAMMA,)),
    special_row("gamma", "gammasgn", ("0",), (-0.9, -0.1)),
    special_row(
        "gamma", "poch", (f"y*({digamma_rise('x0', 'x1')})", "y*digamma(x0+x1)"), POSITIVE, POSITIVE,
        arguments=("z", "m"),
    ),
    special_row(
        "gamma", "beta", (f"-y*({digamma_rise('x0', 'x1')})", f"-y*({digamma_rise('x1', 'x0')})"), POSITIVE, POSITIVE,
        arguments=("a", "b"),
    ),
    special_row(
        "gamma", "betaln", (f"-({digamma_rise('x0', 'x1')})", f"-({digamma_rise('x1', 'x0')})"), POSITIVE, POSITIVE,
        arguments=("a", "b"),
    ),
    special_row(
        "gamma", "binom", (
            f"where({_AT_ZEROS}, {_BINOM_AT_ZEROS.format(sign='', x='x0')}, y*({_BINOM_BY_X}))",
            f"where({_AT_ZEROS}, {_BINOM_AT_ZEROS.format(sign='-', x='x1')}, y*({_BINOM_BY_Y}))",
        ),
        (2.5, 4.0), (0.1, 2.0), arguments=("x", "y"),
    ),
    # Below 8 the derivative is a difference, which is exact to the digits of the larger terms.
    Op(
        "lgamma_half_step", "gamma",
        f"where(x0<8, log(gamma(x0+0.5)/(gamma(x0)*sqrt(x0))), 0.5*log1p(({_HALF_STEP}-1)/(4*x0)))",
        (
            "where(x0<8, digamma(x0+0.5)-digamma(x0)-0.5/x0,"
            f" (1-{_HALF_STEP_DOT})/(2*x0*(4*x0-1+{_HALF_STEP_DOT})))",
        ),
        ((0.1, 1.0),), home=None,
    ),
)  # fmt: skip

# --- Bessel functions, by their recurrences (DLMF 10.6.1 and 10.29.1) ------------------------------------------------

_ORDER = (0.5, 3.5)


def _far(square_of_order: str, x: str, sign: str, near: str, beyond: str = "30", test: str = "") -> str:
    """Write the derivative of a scaled modified Bessel function; far out by the fraction of K'/K (Temme 1975).

    That of I'/I is the same at -x. A difference, as in `near`, loses as many digits there as `x` has. In the plane `x`
    is in the right half, which is one more `test`.
    """
    slope = _slope_far_out(square_of_order, x if test else f"absolute({x})", sign)
    return f"where({test}(absolute({x})>{beyond}), -y*({slope}+0.5)/{x}, {near})"


def _slope_far_out(square_of_order: str, x: str, sign: str) -> str:
    """Write Temme's fraction: ``-x*K'/K-x-0.5`` for the sign "+"."""
    fraction = ""
    for k in range(6, 0, -1):
        fraction = f"-({(k - 0.5) ** 2}-{square_of_order})/(2*({k}{sign}{x}){fraction})"
    return fraction


def _of_order(
    name: str, partial: str, domain: Domain = POSITIVE, arguments: tuple[str, ...] = ("v", "x"), **rest: Any
) -> Op:
    """Make a row of an order, which has no derivative, and an argument."""
    return special_row("bessel", name, (UNKNOWN, partial), _ORDER, domain, arguments=arguments, **rest)


def _in_plane(name: str, partial: str, complex_partial: str = "", **rest: Any) -> Op:
    """Make such a row that takes a complex argument, too; the order stays real."""
    partials = (UNKNOWN, complex_partial or partial)
    return _of_order(name, partial, takes_complex=True, real_operands=(0,), complex_partials=partials, **rest)


def _hankel(name: str) -> Op:
    """Make the row of a Hankel function, which is complex of real arguments as well."""
    return _in_plane(name, f"0.5*({name}(x0-1, x1)-{name}(x0+1, x1))", takes_real=False, arguments=("v", "z"))


def _scaled_hankel(name: str, turn: str, test: str) -> Op:
    """Make the row of a scaled Hankel function: up to a constant kve at ``turn*x1``, by which the derivative is."""
    near = f"y-0.5*{turn}*({name}(x0-1, x1)-{name}(x0+1, x1))"
    partial = _far("square(x0)", f"({turn}*x1)", "+", near, "30+10*absolute(x0)", f"({test})&")
    return _in_plane(name, f"{turn}*({partial})", takes_real=False, arguments=("v", "z"))


# The scales exp(-absolute(imag(x1))) and exp(-absolute(real(x1))) are not analytic. These are their terms in the
# partial by x1; in that by its conjugate the first one has the other sign.
_BY_IMAG, _BY_REAL = "0.5*1j*sign(imag(x1))*y", "-0.5*sign(real(x1))*y"


def _hyp0f1(v: str) -> str:
    """SciPy's loop, which divides by ``v - 1`` where z is large."""
    at_1 = f"({v}==1)&(x1>0)"
    return f"where({at_1}, i0(2*sqrt(x1)), hyp0f1(where({at_1}, 2, {v}), x1))"


# The terms beside those of Bessel functions in the recurrences of Struve functions (DLMF 11.4.23 and 11.4.25)
_STRUVE_TERM = "power(0.5*x1, x0)*rgamma(x0+1.5)/sqrt_pi"

BESSEL = (
    special_row("bessel", "j0", ("-j1(x0)",), (0.1, 6.0)),
    special_row("bessel", "j1", ("0.5*(j0(x0)-jv(2, x0))",), (-4.0, 4.0)),
    special_row("bessel", "y0", ("-y1(x0)",), POSITIVE),
    special_row("bessel", "y1", ("where(absolute(y)==inf, -y, y0(x0)-y/x0)",), POSITIVE),
    special_row("bessel", "i0", ("i1(x0)",), (-4.0, 4.0)),
    special_row("bessel", "i1", ("0.5*(i0(x0)+iv(2, x0))",), (-4.0, 4.0)),
    special_row("bessel", "k0", ("-k1(x0)",), POSITIVE),
    special_row("bessel", "k1", ("where(y==inf, -y, -k0(x0)-y/x0)",), POSITIVE),
    special_row("bessel", "i0e", (_far("0", "x0", "-", "i1e(x0)-sign(x0)*y"),), (-4.0, 4.0)),
    special_row("bessel", "i1e", (_far("1", "x0", "-", "0.5*(i0e(x0)+ive(2, x0))-sign(x0)*y"),), (-4.0, 4.0)),
    special_row("bessel", "k0e", (_far("0", "x0", "+", "where(y==inf, -y, y-k1e(x0))"),), POSITIVE),
    special_row("bessel", "k1e", (_far("1", "x0", "+", "where(y==inf, -y, y-k0e(x0)-y/x0)"),), POSITIVE),
    _of_order(
        "struve",
        f"where(absolute(x1)<1, 0.5*(struve(x0-1, x1)-struve(x0+1, x1)+{_STRUVE_TERM}), struve(x0-1, x1)-x0*y/x1)",
    ),
    _of_order("modstruve", f"0.5*(modstruve(x0-1, x1)+modstruve(x0+1, x1)+{_STRUVE_TERM})"),
    _in_plane("jv", "0.5*(jv(x0-1, x1)-jv(x0+1, x1))"),
    _in_plane("yv", "where(absolute(y)==inf, -y, 0.5*(yv(x0-1, x1)-yv(x0+1, x1)))"),
    _in_plane("iv", "0.5*(iv(x0-1, x1)+iv(x0+1, x1))"),
    _in_plane(
        "ive", _far("square(x0)", "x1", "-", "0.5*(ive(x0-1, x1)+ive(x0+1, x1))-sign(x1)*y", "30+10*absolute(x0)"),
        f"0.5*(ive(x0-1, x1)+ive(x0+1, x1))+{_BY_REAL}", conjugate_partials=("0", _BY_REAL),
    ),
    _in_plane(
        "jve", "0.5*(jve(x0-1, x1)-jve(x0+1, x1))", f"0.5*(jve(x0-1, x1)-jve(x0+1, x1))+{_BY_IMAG}",
        conjugate_partials=("0", f"-{_BY_IMAG}"), arguments=("v", "z"),
    ),
    _in_plane(
        "yve", "where(absolute(y)==inf, absolute(y), 0.5*(yve(x0-1, x1)-yve(x0+1, x1)))",
        f"0.5*(yve(x0-1, x1)-yve(x0+1, x1))+{_BY_IMAG}",
        conjugate_partials=("0", f"-{_BY_IMAG}"), arguments=("v", "z"),
    ),
    _hankel("hankel1"),
    _hankel("hankel2"),
    _scaled_hankel("hankel1e", "(-1j)", "imag(x1)>=0"),
    _scaled_hankel("hankel2e", "1j", "imag(x1)<=0"),
    _in_plane("kv", "-0.5*(kv(x0-1, x1)+kv(x0+1, x1))"),
    _in_plane(
        "kve",
        _far(
            "square(x0)", "x1", "+", "where(y==inf, -y, y-0.5*(kve(x0-1, x1)+kve(x0+1, x1)))", "30+10*absolute(x0)"
        ),
        _far(
            "square(x0)", "x1", "+", "y-0.5*(kve(x0-1, x1)+kve(x0+1, x1))", "30+10*absolute(x0)", "(real(x1)>0)&"
        ),
    ),
    Op(
        "hyp0f1", "bessel", _hyp0f1("x0"), (UNKNOWN, f"{_hyp0f1('(x0+1)')}/x0"), (POSITIVE, (-4.0, 4.0)),
        home="tapegrad.special", arguments=("v", "z"),
    ),
    Op(
        "complex_hyp0f1", "bessel", "hyp0f1(x0, x1)", (UNKNOWN, "hyp0f1(x0+1, x1)/x0"), (POSITIVE, (-4.0, 4.0)),
        home=None, arguments=("v", "z"), takes_complex=True, takes_real=False, real_operands=(0,),
    ),
)  # fmt: skip


# --- functions that are one result of SciPy's: of Airy's equation (DLMF 9.2.1), and integrals -------------------------

# sinh(x)/x and sin(x)/x, near 0 by their power series, whose derivatives lose no digits there.
_SINHC, _SINC = (
    polynomial("square(x0)", *(f"{sign if k % 2 else ''}1/{math.factorial(2 * k + 1)}" for k in range(10)))
    for sign in ("", "-")
)


def _result(name: str, partial: str, domain: Domain, complex_partial: str = "", **rest: Any) -> Op:
    """Make a row whose public function has the results of several rows."""
    return complex_row(
        "bessel",
        name,
        (partial,),
        domain,
        complex_partials=(complex_partial or partial,),
        home=None,
        arguments=("z",),
        **rest,
    )


_ON_LINE = (-4.0, 4.0)
# The logarithm of the scale of airye.
_AIRY_SCALE = "(x0*sqrt(x0)/1.5)"


def _scaled_airy(near: str, square_of_order: str, by_power: str, sign: str, test: str) -> str:
    """Write the derivative of a scaled Airy function; far out as a power times a Bessel function (DLMF 9.6)."""
    slope = _slope_far_out(square_of_order, _AIRY_SCALE, sign)
    return f"where(({test})&(absolute({_AIRY_SCALE})>30), y*({by_power}-1.5*({slope}))/x0, {near})"


def _scaled_ai(name: str, near: str, square_of_order: str, by_power: str) -> Op:
    text = _scaled_airy(f"{near}+sqrt(x0)*y", square_of_order, by_power, "+", "{test}")
    right = text.format(test=f"real({_AIRY_SCALE})>=0")
    return _result(name, text.format(test="x0>0"), POSITIVE, right)


def _scaled_bi(name: str, near: str, square_of_order: str, by_power: str) -> Op:
    """Make the row of Bi or its derivative times ``exp(-absolute(real(t)))``, which is not analytic."""
    on_line = _scaled_airy(f"{near}-where(x0>0, sqrt(x0), 0)*y", square_of_order, by_power, "-", "x0>0")
    half = f"0.5*sign(real({_AIRY_SCALE}))*y"
    conjugate = f"-{half}*conjugate(sqrt(x0))"
    return _result(name, on_line, _ON_LINE, f"{near}-{half}*sqrt(x0)", conjugate_partials=(conjugate,))


INTEGRALS = (
    _scaled_ai("airye_ai", "airye_ai_dot(x0)", "1/9", "-0.25"),
    _scaled_ai("airye_ai_dot", "x0*airye_ai(x0)", "4/9", "0.25"),
    _scaled_bi("airye_bi", "airye_bi_dot(x0)", "1/9", "-0.25"),
    _scaled_bi("airye_bi_dot", "x0*airye_bi(x0)", "4/9", "0.25"),
    _result("airy_ai", "airy_ai_dot(x0)", _ON_LINE),
    _result("airy_ai_dot", "where(airy_ai(x0)==0, 0, x0*airy_ai(x0))", _ON_LINE),
    _result("airy_bi", "airy_bi_dot(x0)", _ON_LINE),
    _result("airy_bi_dot", "where(airy_bi(x0)==0, 0, x0*airy_bi(x0))", _ON_LINE),
    _result("fresnel_s", "sin(0.5*pi*square(x0))", (-0.9, 0.9)),
    _result("fresnel_c", "cos(0.5*pi*square(x0))", (-0.9, 0.9)),
    _result(
        "sici_s",
        f"where(absolute(x0)<1, {_SINC}, where(absolute(x0)==inf, 0, sin(x0)/x0))",
        _ON_LINE,
        f"where(absolute(x0)<1, {_SINC}, sin(x0)/x0)",
    ),
    _result("sici_c", "where(absolute(x0)==inf, 0, cos(x0)/x0)", POSITIVE, "cos(x0)/x0"),
    _result(
        "shichi_s",
        f"where(absolute(x0)<1, {_SINHC}, where(absolute(x0)==inf, absolute(x0), sinh(x0)/x0))",
        _ON_LINE,
        f"where(absolute(x0)<1, {_SINHC}, sinh(x0)/x0)",
    ),
    _result("shichi_c", "where(absolute(x0)==inf, x0, cosh(x0)/x0)", POSITIVE, "cosh(x0)/x0"),
)

SPECIAL: tuple[Op, ...] = (
    *ERROR, *ENTROPY, *TRANSFORMS, *GAMMA, *BESSEL, *INTEGRALS, *HYPERGEOMETRIC, *DISTRIBUTIONS,
)  # fmt: skip
