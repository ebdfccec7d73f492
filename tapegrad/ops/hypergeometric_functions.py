"""Rows of hypergeometric functions: elliptic integrals, Kummer's functions, orthogonal polynomials and others.

Derivatives by a parameter are compiled functions: of elliptic integrals by m all of them, of Kummer's function by a and
b two, and a third one is refused. Polynomials are differentiated by polynomials of other families, at the ends of their
interval as well.
"""

from tapegrad.ops.formulas import BELOW, POSITIVE, UNKNOWN, WHOLE, polynomial, special_row, substitute
from tapegrad.ops.row import Domain, Op

# --- elliptic integrals (DLMF 19.4) ----------------------------------------------------------------------------------

# (K-E)/m, near 0 by its power series, pi/4 times the hypergeometric function of 1/2 and 3/2, 2.
_COEFFICIENTS = [1.0]
for _k in range(1, 28):
    _COEFFICIENTS.append(_COEFFICIENTS[-1] * (_k - 0.5) * (_k + 0.5) / (_k * (_k + 1)))
_NEAR_0 = polynomial("x0", *map(repr, _COEFFICIENTS))
_ELLIPTIC_D = f"where(absolute(x0)<0.25, 0.25*pi*({_NEAR_0}), (ellipk(x0)-ellipe(x0))/x0)"
_NEAR_1 = substitute(_NEAR_0, "x0", "(1-x0)")

# The mean of a and b is pi/4*(a+b)/K(m), where m is the square of this; 1-m, and 1-(K-E)/(m*K)
_AGM_ROOT, _AGM_REST = "((x0-x1)/(x0+x1))", "(4*(x0/(x0+x1))*(x1/(x0+x1)))"
_AGM_SHARE = (
    f"where(square({_AGM_ROOT})<0.25, 1-({substitute(_NEAR_0, 'x0', f'square({_AGM_ROOT})')})*y/(x0+x1), "
    f"(where({_AGM_REST}<1e-17, 1, ellipe(square({_AGM_ROOT})))*4*y/(pi*(x0+x1))-{_AGM_REST})/square({_AGM_ROOT}))"
)

# 1-m*sin(phi)**2 without cancellation where it is small
_DELTA = "(square(cos(x0))+(1-x1)*square(sin(x0)))"
# (sin(phi)**2/delta)**p; and the same times delta**0.5, which is infinite for p = 0 alone
_SINE_POWER = f"power(square(sin(x0))/{_DELTA}, rint(x2))"
_SINE_POWER_ROOT = (
    f"where(rint(x2)<1, sqrt({_DELTA}), "
    f"power(square(sin(x0))/{_DELTA}, rint(x2)-1)*square(sin(x0))/sqrt({_DELTA}))"
)
_ANGLES = ((-4.0, 4.0), (-4.0, 0.9))


def _integral(kind: str, by_phi: str, factor: str) -> Op:
    """Make the row of an integral of powers of the sine, of which the derivative by m is the next one."""
    name = f"elliptic_{kind}"
    partials = (
        by_phi,
        f"({factor})*{name}(x0, x1, rint(x2)+1)",
        UNKNOWN,
    )
    domains = (*_ANGLES, (0.0, 2.0))
    return Op(
        name,
        "elliptic",
        f"{name}(x0, x1, rint(x2))",
        partials,
        domains,
        arguments=("phi", "m", "p"),
        home=None,
    )


# Jacobi's amplitude solves F(amplitude, m) = u: dn, and -dn times half of the integral, are its derivatives.
_BY_M = "(-0.5*elliptic_first(ellipj_ph(x0, x1), x1, 1))"
_SN, _CN, _DN = (f"ellipj_{name}(x0, x1)" for name in ("sn", "cn", "dn"))


def _jacobi(name: str, by_u: str, by_m: str) -> Op:
    return special_row(
        "elliptic", f"ellipj_{name}", (by_u, by_m), (-4.0, 4.0), (0.1, 0.9), arguments=("u", "m"), home=None
    )


ELLIPTIC = (
    special_row("elliptic", "ellipk", (f"where(y==inf, y, 0.5*(y-{_ELLIPTIC_D})/(1-x0))",), (-4.0, 0.9)),
    special_row("elliptic", "ellipe", (f"-0.5*{_ELLIPTIC_D}",), (-4.0, 0.9)),
    special_row(
        "elliptic", "ellipkm1",
        (
            "where(y==inf, -y, -0.5/x0*where(x0<1e-17, 1, where(absolute(1-x0)<0.25,"
            f" y-0.25*pi*({_NEAR_1}), (ellipe(1-x0)-x0*y)/(1-x0))))",
        ),
        (0.05, 4.0), arguments=("p",),
    ),
    special_row(
        "elliptic", "agm",
        (
            f"where(x0==0, inf, y*(1/(x0+x1)-{_AGM_SHARE}*{_AGM_ROOT}/(2*x0)))",
            f"where(x1==0, inf, y*(1/(x0+x1)+{_AGM_SHARE}*{_AGM_ROOT}/(2*x1)))",
        ),
        POSITIVE, (0.2, 5.0), arguments=("a", "b"),
    ),
    special_row(
        "elliptic", "ellipkinc", (f"1/sqrt({_DELTA})", "0.5*elliptic_first(x0, x1, 1)"), *_ANGLES,
        arguments=("phi", "m"),
    ),
    special_row(
        "elliptic", "ellipeinc", (f"sqrt({_DELTA})", "-0.5*elliptic_second(x0, x1, 1)"), *_ANGLES,
        arguments=("phi", "m"),
    ),
    _integral("first", f"{_SINE_POWER}/sqrt({_DELTA})", "rint(x2)+0.5"),
    _integral("second", _SINE_POWER_ROOT, "rint(x2)-0.5"),
    _jacobi("ph", _DN, f"{_DN}*{_BY_M}"),
    _jacobi("sn", f"{_CN}*{_DN}", f"{_CN}*{_DN}*{_BY_M}"),
    _jacobi("cn", f"-{_SN}*{_DN}", f"-{_SN}*{_DN}*{_BY_M}"),
    _jacobi("dn", f"-x1*{_SN}*{_CN}", f"-0.5*square({_SN})/y-x1*{_SN}*{_CN}*{_BY_M}"),
)  # fmt: skip

# --- Kummer's functions (DLMF 13.3.15 and 13.3.22) -------------------------------------------------------------------

_KUMMER = ((0.1, 4.0), (0.5, 4.0), (-4.0, 4.0))
_NEXT = "x0+1, x1+1, x2"


def _value(a: str, b: str) -> str:
    """Write SciPy's function, whose loop does not end for some large numbers: nan there, or a `z` that overflows."""
    endless = f"(absolute({a})>1e8)|(absolute({b})>1e8)|((absolute(x2)>1e8)&(({a}<0)|({b}<0)))"
    return f"hyp1f1({a}, {b}, where({endless}, nan, minimum(x2, 1e10)))"


def _kummer(order: str, by_a: str, by_b: str, by_z: str) -> Op:
    """Make the row of a derivative by parameters, whose derivative by z is that of ``a/b*M(a+1, b+1, z)``."""
    derivatives = {f"M{k}": f"hyp1f1_{k}({_NEXT})" for k in ("a", "b", "aa", "ab", "bb")}
    partials = (by_a, by_b, by_z.format(M=_value("(x0+1)", "(x1+1)"), **derivatives))
    primal = f"hyp1f1{order}(x0, x1, x2)" if order else _value("x0", "x1")
    home = None if order else "tapegrad.special"
    return Op(
        f"hyp1f1{order}", "hypergeometric", primal, partials, _KUMMER, home=home, arguments=("a", "b", "z")
    )


CONFLUENT = (
    _kummer("", "hyp1f1_a(x0, x1, x2)", "hyp1f1_b(x0, x1, x2)", "x0/x1*{M}"),
    _kummer("_a", "hyp1f1_aa(x0, x1, x2)", "hyp1f1_ab(x0, x1, x2)", "({M}+x0*{Ma})/x1"),
    _kummer("_b", "hyp1f1_ab(x0, x1, x2)", "hyp1f1_bb(x0, x1, x2)", "x0/x1*({Mb}-{M}/x1)"),
    _kummer("_aa", UNKNOWN, UNKNOWN, "(2*{Ma}+x0*{Maa})/x1"),
    _kummer("_ab", UNKNOWN, UNKNOWN, "({Mb}+x0*{Mab}-({M}+x0*{Ma})/x1)/x1"),
    _kummer("_bb", UNKNOWN, UNKNOWN, "x0/x1*({Mbb}-2*({Mb}-{M}/x1)/x1)"),
    special_row(
        "hypergeometric", "hyperu", (UNKNOWN, UNKNOWN, "-x0*hyperu(x0+1, x1+1, x2)"), (0.1, 2.0), (1.1, 1.9),
        (0.1, 0.6), arguments=("a", "b", "x"),
    ),
)  # fmt: skip

# --- orthogonal polynomials (DLMF 18.9.19 to 18.9.27) and Legendre functions -----------------------------------------

_DEGREES, _ON_INTERVAL = (0.0, 6.0), (-1.0, 1.0)


def _of_degree(name: str, partial: str, *domains: Domain, arguments: tuple[str, ...] = ("n", "x")) -> Op:
    """Make the row of a polynomial of whole degree; that of degree 0 is constant."""
    partials = (*[UNKNOWN] * len(domains), f"where({WHOLE}<1, 0, {partial})")
    return special_row(
        "polynomial", f"eval_{name}", partials, _DEGREES, *domains, arguments=arguments, home=None
    )


# The function of order m+1 is the derivative but for the powers of 1-x**2 (DLMF 14.10.2). At the ends the derivative is
# infinite for the order 1; for the orders 0 and 2 it is that of a polynomial.
_PRODUCT = "x1*(x1+1)"
# SciPy's loop counts up to the order and the degree, and warns, in Python, of orders that are not whole.
_IS_SHORT = "(absolute(x0)<1e4)&(absolute(x1)<1e5)"
_ORDER, _DEGREE = (f"where({_IS_SHORT}, {text}, 0)" for text in (WHOLE, "x1"))
_LEGENDRE_AT_ENDS = (
    f"where({WHOLE}==0, 0.5*{_PRODUCT}*power(x2, x1+1), where({WHOLE}==1, {_PRODUCT}*power(x2, x1)*inf, "
    f"where({WHOLE}==2, -0.25*(x1-1)*(x1+2)*{_PRODUCT}*power(x2, x1+1), where({WHOLE}>2, 0, y))))"
)
_LEGENDRE = f"-(lpmv({_ORDER}+1, {_DEGREE}, x2)/sqrt(1-square(x2))+{WHOLE}*x2*y/(1-square(x2)))"

POLYNOMIALS = (
    _of_degree("legendre", f"eval_gegenbauer({BELOW}, 1.5, x1)", _ON_INTERVAL),
    _of_degree("chebyt", f"{WHOLE}*eval_chebyu({BELOW}, x1)", _ON_INTERVAL),
    _of_degree("chebyu", f"2*eval_gegenbauer({BELOW}, 2, x1)", _ON_INTERVAL),
    _of_degree("hermite", f"2*{WHOLE}*eval_hermite({BELOW}, x1)", (-2.0, 2.0)),
    _of_degree("hermitenorm", f"{WHOLE}*eval_hermitenorm({BELOW}, x1)", (-2.0, 2.0)),
    _of_degree(
        "genlaguerre", f"-eval_genlaguerre({BELOW}, x1+1, x2)", POSITIVE, POSITIVE, arguments=("n", "alpha", "x")
    ),
    _of_degree(
        "gegenbauer", f"2*x1*eval_gegenbauer({BELOW}, x1+1, x2)", POSITIVE, _ON_INTERVAL,
        arguments=("n", "alpha", "x"),
    ),
    Op(
        "lpmv", "polynomial", f"where({_IS_SHORT}, lpmv({_ORDER}, {_DEGREE}, x2), nan)",
        (UNKNOWN, UNKNOWN, f"where(absolute(x2)<1, {_LEGENDRE}, {_LEGENDRE_AT_ENDS})"),
        ((0.0, 3.0), (3.0, 6.0), (-0.9, 0.9)), home=None, arguments=("m", "v", "x"),
    ),
)  # fmt: skip

# --- spherical Bessel functions and Kelvin functions -----------------------------------------------------------------


def _spherical(kind: str, text: str) -> Op:
    """Make the row of a spherical Bessel function, by the recurrence without a quotient (DLMF 10.51.2, 10.51.5)."""
    name = f"spherical_{kind}n"
    below, above = f"{WHOLE}*{name}({BELOW}, x1)", f"({WHOLE}+1)*{name}({WHOLE}+1, x1)"
    partial = f"({text.format(below, above)})/(2*{WHOLE}+1)"
    return special_row(
        "bessel", name, (UNKNOWN, f"where(absolute(y)==inf, -y, {partial})"), (0.0, 3.0), POSITIVE,
        arguments=("n", "z"), home=None,
    )  # fmt: skip


SPHERICAL = (
    _spherical("j", "{}-{}"),
    _spherical("y", "{}-{}"),
    _spherical("i", "{}+{}"),
    _spherical("k", "-{}-{}"),
)

# Kelvin functions solve Bessel's equation on a diagonal of the plane (DLMF 10.61.3).
KELVIN = (
    special_row("bessel", "ber", ("berp(x0)",), (-4.0, 4.0)),
    special_row("bessel", "bei", ("beip(x0)",), (-4.0, 4.0)),
    special_row("bessel", "ker", ("kerp(x0)",), POSITIVE),
    special_row("bessel", "kei", ("keip(x0)",), POSITIVE),
    special_row("bessel", "berp", ("-bei(x0)-where(x0==0, 0, y/x0)",), (-4.0, 4.0)),
    special_row("bessel", "beip", ("ber(x0)-where(x0==0, 0.5, y/x0)",), (-4.0, 4.0)),
    special_row("bessel", "kerp", ("where(absolute(y)==inf, -y, -kei(x0)-y/x0)",), POSITIVE),
    special_row("bessel", "keip", ("where(x0==0, inf, ker(x0)-y/x0)",), POSITIVE),
)

# --- angles in degrees -----------------------------------------------------------------------------------------------

DEGREES = (
    special_row("trigonometric", "sindg", ("pi/180*cosdg(x0)",), (-200.0, 200.0)),
    special_row("trigonometric", "cosdg", ("-pi/180*sindg(x0)",), (-200.0, 200.0)),
    special_row("trigonometric", "tandg", ("pi/180*(1+square(y))",), (-80.0, 80.0)),
    special_row("trigonometric", "cotdg", ("-pi/180/square(sindg(x0))",), (10.0, 170.0)),
    special_row(
        "trigonometric",
        "radian",
        ("pi/180", "pi/10800", "pi/648000"),
        (-90.0, 90.0),
        (0.0, 60.0),
        (0.1, 60.0),
        arguments=("d", "m", "s"),
    ),
)

HYPERGEOMETRIC: tuple[Op, ...] = (*ELLIPTIC, *CONFLUENT, *POLYNOMIALS, *SPHERICAL, *KELVIN, *DEGREES)
