"""Rows of distribution functions: incomplete gamma and beta functions, Student's and others, and their derivatives.

A derivative by a parameter is a compiled function of `engine.kernels.special` times the density that it was divided by:
the quotient neither overflows nor underflows, and derivatives of inverse functions are made of it. Rows of quotients
state second derivatives; a third one by parameters alone is refused.

Logarithms of probabilities are compiled functions, and so is the ratio of the density to a probability, of which their
derivatives are made: both are ordinary numbers far out. Derivatives of the ratio are differences with fewer digits.
"""

from tapegrad.ops.formulas import (
    EXPREL_SLOPE,
    ODD_SQUARES,
    POSITIVE,
    UNKNOWN,
    WHOLE,
    digamma_rise,
    fraction,
    special_row,
    substitute,
)
from tapegrad.ops.row import Domain, Op

_SHARE = (0.05, 0.95)


def _compiled_row(name: str, partials: tuple[str, ...], *domains: Domain, arguments: tuple[str, ...]) -> Op:
    """Make the row of a compiled function, which has no public name."""
    primal = f"{name}({', '.join(f'x{j}' for j in range(len(domains)))})"
    return Op(name, "incomplete", primal, partials, domains, arguments=arguments, home=None)


# --- incomplete gamma functions --------------------------------------------------------------------------------------

# igam_fac is x**a * exp(-x) / gamma(a), x times the derivative by x; at x = 0 that is infinite, 1 or 0.
_IGAM_DENSITY = "where(x1==0, where(x0<1, inf, where(x0==1, 1, 0)), igam_fac(x0, x1)/x1)"
_IGAM_BY_A = "where(x0>0, masked_multiply(igam_fac(x0, x1), igam_a(x0, x1)), nan)"
_IGAM_INVERSE_BY_A = "where(y==inf, inf, masked_multiply(-y, igam_a(x0, y)))"
_LOG_LESS_MEAN = "(log(x1)-digamma(x0))"  # the derivative of log(igam_fac) by a

GAMMA = (
    _compiled_row(
        "igam_fac", (f"masked_multiply(y, {_LOG_LESS_MEAN})", "y*((x0-x1)/x1)"), POSITIVE, POSITIVE,
        arguments=("a", "x"),
    ),
    _compiled_row(
        "igam_a", (f"igam_aa(x0, x1)-y*{_LOG_LESS_MEAN}", f"({_LOG_LESS_MEAN}-y*(x0-x1))/x1"), POSITIVE, POSITIVE,
        arguments=("a", "x"),
    ),
    _compiled_row(
        "igam_aa", (UNKNOWN, f"(square({_LOG_LESS_MEAN})-zeta(2, x0)-y*(x0-x1))/x1"), POSITIVE, POSITIVE,
        arguments=("a", "x"),
    ),
    # igam_fac divided by the share below x, and by that above x
    _compiled_row(
        "igam_left", (f"y*({_LOG_LESS_MEAN}-y*igam_a(x0, x1))", "y*((x0-x1-y)/x1)"), POSITIVE, POSITIVE,
        arguments=("a", "x"),
    ),
    _compiled_row(
        "igam_right", (f"y*({_LOG_LESS_MEAN}+y*igam_a(x0, x1))", "y*((x0-x1+y)/x1)"), POSITIVE, POSITIVE,
        arguments=("a", "x"),
    ),
    _compiled_row(
        "log_gammainc",
        ("where(x0>0, where(x0<inf, igam_a(x0, x1)*igam_left(x0, x1), -inf), nan)", "igam_left(x0, x1)/x1"),
        POSITIVE, POSITIVE, arguments=("a", "x"),
    ),
    _compiled_row(
        "log_gammaincc",
        (
            "where(x0>0, where(x1<inf, -masked_multiply(igam_right(x0, x1), igam_a(x0, x1)), inf), nan)",
            f"-where(x1==0, {_IGAM_DENSITY}, where(x1==inf, 1, igam_right(x0, x1)/x1))",
        ),
        POSITIVE, POSITIVE, arguments=("a", "x"),
    ),
    special_row("incomplete", "gammainc", (_IGAM_BY_A, _IGAM_DENSITY), POSITIVE, POSITIVE, arguments=("a", "x")),
    special_row(
        "incomplete", "gammaincc", (f"-{_IGAM_BY_A}", f"-({_IGAM_DENSITY})"), POSITIVE, POSITIVE, arguments=("a", "x")
    ),
    special_row(
        "incomplete", "gammaincinv", (_IGAM_INVERSE_BY_A, f"1/({substitute(_IGAM_DENSITY, 'x1', 'y')})"),
        POSITIVE, _SHARE, arguments=("a", "y"),
    ),
    special_row(
        "incomplete", "gammainccinv", (_IGAM_INVERSE_BY_A, f"-1/({substitute(_IGAM_DENSITY, 'x1', 'y')})"),
        POSITIVE, _SHARE, arguments=("a", "y"),
    ),
)  # fmt: skip

# --- incomplete beta functions ---------------------------------------------------------------------------------------

# ibeta_fac is x**a * (1-x)**b / beta(a, b), x*(1-x) times the derivative by x. It may underflow for small parameters
# where the derivative does not.
_BETA_DENSITY = (
    "where((maximum(x0, x1)>30)&(x2>0)&(x2<1), ibeta_fac(x0, x1, x2)/(x2*(1-x2)),"
    " exp(xlogy(x0-1, x2)+xlog1py(x1-1, -x2)-betaln(x0, x1)))"
)
# Derivatives of log(ibeta_fac), that by x times x*(1-x)
_FAC_BY_A = f"(log(x2)+{digamma_rise('x0', 'x1')})"
_FAC_BY_B = f"(log1p(-x2)+{digamma_rise('x1', 'x0')})"
_FAC_BY_X = "(x0*(1-x2)-x1*x2)"


def _quotient(name: str, by_a: str, by_b: str, by_x: str) -> Op:
    """Make the row of a derivative divided by ibeta_fac, given its derivatives divided likewise."""
    by_parameters = (
        text if text == UNKNOWN else f"{text}-y*{of_fac}"
        for text, of_fac in ((by_a, _FAC_BY_A), (by_b, _FAC_BY_B))
    )
    partials = (*by_parameters, f"({by_x}-y*{_FAC_BY_X})/(x2*(1-x2))")
    return _compiled_row(name, partials, POSITIVE, POSITIVE, _SHARE, arguments=("a", "b", "x"))


def _by_parameter(quotient: str) -> str:
    return f"where((x0>0)&(x1>0), masked_multiply(ibeta_fac(x0, x1, x2), {quotient}(x0, x1, x2)), nan)"


def _by_log_parameter(ratio: str, quotient: str) -> str:
    return f"where((x0>0)&(x1>0), masked_multiply({ratio}, {quotient}(x0, x1, x2)), nan)"


def _inverse_by_parameter(quotient: str) -> str:
    return f"masked_multiply(-y*(1-y), {quotient}(x0, x1, y))"


_IBETA_AA_BY_X = f"square({_FAC_BY_A})-zeta(2, x0)+zeta(2, x0+x1)"
_IBETA_BB_BY_X = f"square({_FAC_BY_B})-zeta(2, x1)+zeta(2, x0+x1)"

BETA = (
    _compiled_row(
        "ibeta_fac",
        (f"masked_multiply(y, {_FAC_BY_A})", f"masked_multiply(y, {_FAC_BY_B})", f"y*({_FAC_BY_X}/(x2*(1-x2)))"),
        POSITIVE, POSITIVE, _SHARE, arguments=("a", "b", "x"),
    ),
    _quotient("ibeta_a", "ibeta_aa(x0, x1, x2)", "ibeta_ab(x0, x1, x2)", _FAC_BY_A),
    _quotient("ibeta_b", "ibeta_ab(x0, x1, x2)", "ibeta_bb(x0, x1, x2)", _FAC_BY_B),
    _quotient("ibeta_aa", UNKNOWN, UNKNOWN, _IBETA_AA_BY_X),
    _quotient("ibeta_ab", UNKNOWN, UNKNOWN, f"{_FAC_BY_A}*{_FAC_BY_B}+zeta(2, x0+x1)"),
    _quotient("ibeta_bb", UNKNOWN, UNKNOWN, _IBETA_BB_BY_X),
    # ibeta_fac divided by the share below x
    _compiled_row(
        "ibeta_left",
        (
            f"y*({_FAC_BY_A}-y*ibeta_a(x0, x1, x2))", f"y*({_FAC_BY_B}-y*ibeta_b(x0, x1, x2))",
            f"y*(({_FAC_BY_X}-y)/(x2*(1-x2)))",
        ),
        POSITIVE, POSITIVE, _SHARE, arguments=("a", "b", "x"),
    ),
    _compiled_row(
        "log_betainc",
        (
            _by_log_parameter("ibeta_left(x0, x1, x2)", "ibeta_a"),
            _by_log_parameter("ibeta_left(x0, x1, x2)", "ibeta_b"),
            f"where(x2<1, ibeta_left(x0, x1, x2)/(x2*(1-x2)), {_BETA_DENSITY})",
        ),
        POSITIVE, POSITIVE, _SHARE, arguments=("a", "b", "x"),
    ),
    _compiled_row(
        "log_betaincc",
        (
            f"-{_by_log_parameter('ibeta_left(x1, x0, 1-x2)', 'ibeta_a')}",
            f"-{_by_log_parameter('ibeta_left(x1, x0, 1-x2)', 'ibeta_b')}",
            f"-where(x2>0, ibeta_left(x1, x0, 1-x2)/(x2*(1-x2)), {_BETA_DENSITY})",
        ),
        POSITIVE, POSITIVE, _SHARE, arguments=("a", "b", "x"),
    ),
    special_row(
        "incomplete", "betainc", (_by_parameter("ibeta_a"), _by_parameter("ibeta_b"), _BETA_DENSITY),
        POSITIVE, POSITIVE, _SHARE, arguments=("a", "b", "x"),
    ),
    special_row(
        "incomplete", "betaincc",
        (f"-{_by_parameter('ibeta_a')}", f"-{_by_parameter('ibeta_b')}", f"-{_BETA_DENSITY}"),
        POSITIVE, POSITIVE, _SHARE, arguments=("a", "b", "x"),
    ),
    special_row(
        "incomplete", "betaincinv",
        (
            _inverse_by_parameter("ibeta_a"), _inverse_by_parameter("ibeta_b"),
            f"1/{substitute(_BETA_DENSITY, 'x2', 'y')}",
        ),
        POSITIVE, POSITIVE, _SHARE, arguments=("a", "b", "y"),
    ),
    special_row(
        "incomplete", "betainccinv",
        (
            _inverse_by_parameter("ibeta_a"), _inverse_by_parameter("ibeta_b"),
            f"-1/{substitute(_BETA_DENSITY, 'x2', 'y')}",
        ),
        POSITIVE, POSITIVE, _SHARE, arguments=("a", "b", "y"),
    ),
)  # fmt: skip

# --- Student's distribution ------------------------------------------------------------------------------------------

_DEGREES, _T = (0.6, 9.0), (-4.0, 4.0)
# gamma((x+1)/2)/gamma(x/2)/sqrt(x), for large x by Brouncker's continued fraction.
_OF_T = (
    "where(x0<16, poch(0.5*x0, 0.5)/sqrt(x0), "
    f"sqrt_half*sqrt(1+({fraction('4*x0-2', *ODD_SQUARES)}-1)/(2*x0)))"
)
_T_DENSITY = f"{_OF_T}/sqrt_pi*exp(-0.5*(x0+1)*log1p(square(x1)/x0))"

STUDENT = (
    _compiled_row(
        "student_df",
        (
            "where(absolute(x1)==inf, -x1, student_df_df(x0, x1)-y*student_score(x0, x1))",
            "where(x0==inf, 0, student_score(x0, x1)+y*((x0+1)*x1/(x0+square(x1))))",
        ),
        _DEGREES, _T, arguments=("df", "t"),
    ),
    _compiled_row("student_df_df", (UNKNOWN, UNKNOWN), _DEGREES, _T, arguments=("df", "t")),
    # The derivative of the logarithm of the density by the degrees of freedom
    _compiled_row(
        "student_score", (UNKNOWN, "x1/(x0+square(x1))*((1-square(x1))/(x0+square(x1)))"), _DEGREES, _T,
        arguments=("df", "t"),
    ),
    # The density divided by the share below x1
    _compiled_row(
        "student_left",
        (
            "where(absolute(x1)==inf, 0, y*(student_score(x0, x1)-y*student_df(x0, x1)))",
            "where(absolute(x1)==inf, 0, -y*(y+where(x0==inf, x1, (x0+1)*(x1/(x0+square(x1))))))",
        ),
        _DEGREES, _T, arguments=("df", "t"),
    ),
    _compiled_row(
        "log_stdtr",
        (
            "where(x1==-inf, -inf, masked_multiply(student_left(x0, x1), student_df(x0, x1)))",
            "student_left(x0, x1)",
        ), _DEGREES, _T,
        arguments=("df", "t"),
    ),
    # The distribution function of Student's t with x0 degrees of freedom
    special_row(
        "incomplete", "stdtr", (f"masked_multiply({_T_DENSITY}, student_df(x0, x1))", _T_DENSITY),
        _DEGREES, _T, arguments=("df", "t"),
    ),
    special_row(
        "incomplete", "stdtrit", ("-student_df(x0, y)", f"1/({substitute(_T_DENSITY, 'x1', 'y')})"),
        _DEGREES, _SHARE, arguments=("df", "p"),
    ),
)  # fmt: skip

# --- inverse of F, counts, noncentral distributions, Kolmogorov and Smirnov ------------------------------------------


def _beta_density(a: str, b: str, x: str) -> str:
    """Write the density of the beta distribution at texts."""
    text = _BETA_DENSITY
    for operand, name in (("x0", "_A"), ("x1", "_B"), ("x2", "_X")):
        text = substitute(text, operand, name)
    return text.replace("_A", f"({a})").replace("_B", f"({b})").replace("_X", f"({x})")


_RATIO = "(x0*y/(x1+x0*y))"  # the variable of the beta distribution
_FACTORS = "0.5*x0, 0.5*x1, " + _RATIO
_RATIO_BY_Y = f"({_RATIO}*(x1/(x1+x0*y))/y)"
_COUNTS, _TRIALS = (0.0, 3.0), (4.0, 9.0)
_FAILURES, _NUMBER = "rint(x0)", "rint(x1)"


def _of_counts(name: str, k: str, partial: str) -> Op:
    return Op(
        name, "incomplete", f"{name}({k}, {_NUMBER}, x2)", (UNKNOWN, UNKNOWN, partial), (_COUNTS, _TRIALS, _SHARE),
        arguments=("k", "n", "p"), home=None,
    )  # fmt: skip


_BINOMIAL = _beta_density(f"{_NUMBER}-floor(x0)", "floor(x0)+1", "1-x2")
_NEGATIVE = _beta_density(_NUMBER, "rint(x0)+1", "x2")

# The derivative of Kolmogorov's distribution, by two series: of far and of near numbers
_FAR_TERMS = "+".join(f"({k * k if k % 2 else -k * k})*exp(-{2 * k * k}*square(x0))" for k in range(1, 7))
_NEAR_TERMS = "+".join(substitute("exp(-c*v)*(2*c*v-1)", "c", f"({k * k}*square(pi)/8)") for k in (1, 3, 5))
_NEAR_TERMS = substitute(_NEAR_TERMS, "v", "(1/square(x0))")

# Tukey's quantile ``(y**lmbda - (1-y)**lmbda)/lmbda`` depends on y by the reciprocal of this, and on lmbda by that.
_TUKEY_BY_X = "where((y<=0)|(y>=1), 0, 1/(power(y, x1-1)+power(1-y, x1-1)))"
_EXPREL_DOT = substitute(EXPREL_SLOPE, "r", "exprel(u)")
_TUKEY_BY_LMBDA = "square(log(y))*({})-square(log1p(-y))*({})".format(
    substitute(_EXPREL_DOT, "u", "(x1*log(y))"), substitute(_EXPREL_DOT, "u", "(x1*log1p(-y))")
)

OTHERS = (
    special_row(
        "entropy", "tklmbda",
        (_TUKEY_BY_X, f"where((y<=0)|(y>=1), 0, -({_TUKEY_BY_LMBDA})*{_TUKEY_BY_X})"),
        (-0.4, 0.4), (0.1, 1.9), arguments=("x", "lmbda"),
    ),
    special_row(
        "incomplete", "fdtri",
        (
            f"-y*(0.5*ibeta_a({_FACTORS})+1/x0)", f"-y*(0.5*ibeta_b({_FACTORS})-1/x1)",
            f"1/({_beta_density('0.5*x0', '0.5*x1', _RATIO)}*{_RATIO_BY_Y})",
        ),
        (1.0, 9.0), (1.0, 9.0), _SHARE, arguments=("dfn", "dfd", "p"),
    ),
    _of_counts("bdtr", "floor(x0)", f"-{_BINOMIAL}"),
    _of_counts("bdtrc", "floor(x0)", _BINOMIAL),
    _of_counts("nbdtr", _FAILURES, _NEGATIVE),
    _of_counts("nbdtrc", _FAILURES, f"-{_NEGATIVE}"),
    special_row(
        "incomplete", "chndtr", ("ncx2_pdf(x0, x1, x2)", UNKNOWN, "-ncx2_pdf(x0, x1+2, x2)"), POSITIVE, (0.6, 9.0),
        POSITIVE, arguments=("x", "df", "nc"),
    ),
    # The density of the noncentral chi-squared distribution, by the recurrence of its Bessel function
    special_row(
        "incomplete", "ncx2_pdf",
        (
            "y*((0.5*x1-1)/x0-0.5)+0.5*x2/x0*ncx2_pdf(x0, x1+2, x2)", UNKNOWN, "0.5*(ncx2_pdf(x0, x1+2, x2)-y)",
        ),
        POSITIVE, (0.6, 9.0), POSITIVE, arguments=("x", "df", "nc"), home=None,
    ),
    special_row(
        "incomplete", "kolmogorov",
        (
            "where((x0<0.02)|(x0>20), 0, where(x0<0.8, "
            f"-({_NEAR_TERMS})/(square(x0)*one_over_sqrt_2pi), -8*x0*({_FAR_TERMS})))",
        ),
        (0.3, 2.0), arguments=("y",),
    ),
    special_row(
        "incomplete", "smirnov", (UNKNOWN, f"smirnov_slope({WHOLE}, x1)"), (1.0, 6.0), _SHARE, arguments=("n", "d"),
        home=None,
    ),
    special_row(
        "incomplete", "smirnov_slope", (UNKNOWN, UNKNOWN), (1.0, 6.0), _SHARE, arguments=("n", "d"), home=None,
    ),
)  # fmt: skip

# Less the logarithm of x2 it is the logarithm of the normal density with mean x1 and deviation x2.
NORMAL = (
    Op(
        "normal_exponent", "arithmetic", "-0.5*square((x0-x1)/x2)-half_log_2pi",
        ("-(x0-x1)*(1/x2)*(1/x2)", "(x0-x1)*(1/x2)*(1/x2)", "square((x0-x1)*(1/x2))*(1/x2)"),  # one division each
        ((-4.0, 4.0), (-4.0, 4.0), POSITIVE), home=None,
    ),
)  # fmt: skip

DISTRIBUTIONS: tuple[Op, ...] = (*GAMMA, *BETA, *STUDENT, *OTHERS, *NORMAL)
