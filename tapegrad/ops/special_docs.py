"""Texts of the docstrings of special functions."""

from tapegrad.ops.op_doc import OpDoc

_ERROR = "Error functions: DLMF 7.2 and 7.10."
_NORMAL = "Normal distribution function: DLMF 7.2.18 and 7.17."
_GAMMA = "Gamma and digamma functions: DLMF 5.2."
_BY_INTEGRALS = "series or an integral (Gauss and Legendre's rule). Third derivatives by it are refused."
_INCOMPLETE_GAMMA = (
    f"Incomplete gamma functions: DLMF 8.2.4 and 8.8.13. The derivative by `a` is a {_BY_INTEGRALS}"
)
_INCOMPLETE_BETA = f"Incomplete beta functions: DLMF 8.17. The derivative by `a` or `b` is a {_BY_INTEGRALS}"
_STUDENT = (
    "The derivative by `df` is an integral (Gauss and Legendre's rule). Third derivatives by it are refused."
)
_BESSEL = "Bessel functions: DLMF 10.6."
_MODIFIED = "Modified Bessel functions: DLMF 10.29."
_HANKEL = "Hankel functions: DLMF 10.6."
_COMPLEX = "The result is complex, of real arguments as well."
_FAR_OUT = "Far out the derivative is a continued fraction (Temme 1975)."
_SCALED = f"{_MODIFIED} {_FAR_OUT}"
_SCALE = "Of complex arguments the factor is that of `z.{}`: it is not analytic, and has a derivative by each part."
_BETWEEN = "Defined for ``0 <= x <= 1``; nan elsewhere."
_ELLIPTIC = "Elliptic integrals: DLMF 19.4."
_BY_M = "Derivatives by `m` are integrals (Gauss and Legendre's rule), of any order."
_DENSITY = "exp(-x1)*power(x1, x0-1)/gamma(x0)"
_BETA_DENSITY = "power(x2, x0-1)*power(1-x2, x1-1)/beta(x0, x1)"


def _doc(
    name: str, summary: str, *derivatives: str, domain: str = "", kinks: str = "", source: str = ""
) -> OpDoc:
    """Make the texts on a function that SciPy has under the same name."""
    return OpDoc(summary, derivatives, domain, kinks, source, scipy=name)


def _of_order(name: str, what: str, source: str, *derivatives: str, domain: str = "") -> OpDoc:
    return _doc(name, f"Compute the {what} of real order `v`.", *derivatives, domain=domain, source=source)


SPECIAL_DOCS: dict[str, OpDoc] = {
    "erf": _doc("erf", "Compute the error function of each element.", "2/sqrt(pi)*exp(-square(x0))", source=_ERROR),
    "erfc": _doc(
        "erfc", "Compute the complementary error function ``1 - erf(x)`` of each element.",
        "-2/sqrt(pi)*exp(-square(x0))", source=_ERROR,
    ),
    "erfcx": _doc(
        "erfcx", "Compute ``exp(x**2) * erfc(x)`` without underflow.", "2*x0*y-2/sqrt(pi)",
        source=f"{_ERROR} From 5 on the derivative is a continued fraction (DLMF 7.9.1).",
    ),
    "erfi": _doc(
        "erfi", "Compute the imaginary error function ``-i * erf(i*z)``.", "2/sqrt(pi)*exp(square(x0))", source=_ERROR,
    ),
    "wofz": _doc(
        "wofz", "Compute the Faddeeva function ``exp(-z**2) * erfc(-i*z)``.", "2j/sqrt(pi)-2*x0*y", domain=_COMPLEX,
        source="DLMF 7.2.3 and 7.10.3. Far out the derivative is a continued fraction (DLMF 7.9.1).",
    ),
    "erfinv": _doc(
        "erfinv", "Compute the inverse of the error function.", "sqrt(pi)/2*exp(square(y))",
        domain="Defined for ``-1 <= x <= 1``, infinite at the ends; nan elsewhere.", source=_ERROR,
    ),
    "erfcinv": _doc(
        "erfcinv", "Compute the inverse of the complementary error function.", "-sqrt(pi)/2*exp(square(y))",
        domain="Defined for ``0 <= x <= 2``, infinite at the ends; nan elsewhere.", source=_ERROR,
    ),
    "ndtr": _doc(
        "ndtr", "Compute the distribution function of the standard normal distribution.",
        "exp(-0.5*square(x0))/sqrt(2*pi)", source=_NORMAL,
    ),
    "log_ndtr": _doc(
        "log_ndtr", "Compute the logarithm of `ndtr`, accurate far out on both sides.",
        "exp(-0.5*square(x0)-y)/sqrt(2*pi)", source=_NORMAL,
    ),
    "ndtri": _doc(
        "ndtri", "Compute the inverse of `ndtr`.", "sqrt(2*pi)*exp(0.5*square(y))",
        domain=f"{_BETWEEN} Infinite at the ends.", source=_NORMAL,
    ),
    "logit": _doc(
        "logit", "Compute ``log(x / (1 - x))``, the inverse of `expit`.", domain=f"{_BETWEEN} Infinite at the ends.",
    ),
    "log_expit": _doc(
        "log_expit", "Compute the logarithm of `expit` without overflow.", "1/(1+exp(x0))",
    ),
    "exp10": _doc("exp10", "Compute ``10**x``.", "log(10)*y"),
    "ndtri_exp": _doc(
        "ndtri_exp", "Compute the inverse of `log_ndtr`.", "sqrt(2*pi)*exp(x0+0.5*square(y))", source=_NORMAL,
    ),
    "wrightomega": _doc(
        "wrightomega", "Compute Wright's omega function, which solves ``y + log(y) = z``, of real elements.", "y/(1+y)",
        source="Corless and Jeffrey 2002, The Wright omega function.",
    ),
    "boxcox1p": _doc(
        "boxcox1p", "Compute Box and Cox's transform of ``1 + x``.", "power(1+x0, x1-1)",
        "((1+x0)**x1*log1p(x0)-y)/x1",
    ),
    "inv_boxcox1p": _doc(
        "inv_boxcox1p", "Compute the inverse of `boxcox1p` by its first argument.", "(1+y)/(1+x1*x0)",
        "(1+y)*(x0/(1+x1*x0)-log1p(x1*x0)/x1)/x1",
    ),
    "powm1": _doc(
        "powm1", "Compute ``x**y - 1`` without cancellation.", "x1*power(x0, x1-1)", "power(x0, x1)*log(x0)",
    ),
    "tklmbda": _doc(
        "tklmbda", "Compute the distribution function of Tukey's lambda distribution.",
        "1/(power(y, x1-1)+power(1-y, x1-1))", "", domain="Outside of the support the derivatives are 0.",
        source="The derivative by `lmbda` is that of the quantile, times minus the one by `x`.",
    ),
    "sindg": _doc("sindg", "Compute the sine of angles in degrees.", "pi/180*cosdg(x0)"),
    "cosdg": _doc("cosdg", "Compute the cosine of angles in degrees.", "-pi/180*sindg(x0)"),
    "tandg": _doc("tandg", "Compute the tangent of angles in degrees."),
    "cotdg": _doc(
        "cotdg", "Compute the cotangent of angles in degrees.", source="SciPy's values have 5 digits near 0.",
    ),
    "radian": _doc("radian", "Convert degrees, minutes and seconds to radians."),
    "k0e": _doc(
        "k0e", "Compute ``exp(x) * k0(x)``, which does not underflow.", "y-k1e(x0)", source=_SCALED,
    ),
    "k1e": _doc(
        "k1e", "Compute ``exp(x) * k1(x)``, which does not underflow.", "y-k0e(x0)-y/x0", source=_SCALED,
    ),
    "struve": _of_order("struve", "Struve function", "Struve functions: DLMF 11.4.", "nan", "struve(x0-1, x1)-x0*y/x1"),
    "modstruve": _of_order(
        "modstruve", "modified Struve function", "Struve functions: DLMF 11.4.", "nan", "modstruve(x0-1, x1)-x0*y/x1"
    ),
    **{
        name: _doc(name, f"Compute the Kelvin function `{name}`.", source="Kelvin functions: DLMF 10.61.")
        for name in ("ber", "bei", "ker", "kei")
    },
    **{
        f"{name}p": _doc(
            f"{name}p", f"Compute the derivative of the Kelvin function `{name}`.", f"{sign}{other}(x0)-y/x0",
            source="Kelvin functions: DLMF 10.61.3.",
        )
        for name, sign, other in (("ber", "-", "bei"), ("bei", "", "ber"), ("ker", "-", "kei"), ("kei", "", "ker"))
    },
    "ellipkm1": _doc(
        "ellipkm1", "Compute the complete elliptic integral of the first kind of ``m = 1 - p``.",
        "-(ellipe(1-x0)-x0*y)/(2*x0*(1-x0))", source=_ELLIPTIC,
    ),
    "agm": _doc(
        "agm", "Compute the arithmetic-geometric mean.", "", "",
        source="``pi/4*(a+b)/ellipk(square((a-b)/(a+b)))`` (DLMF 19.8.5), by which it is differentiated.",
    ),
    "ellipkinc": _doc(
        "ellipkinc", "Compute the elliptic integral of the first kind.", "1/sqrt(1-x1*square(sin(x0)))", "",
        source=f"{_ELLIPTIC} {_BY_M}",
    ),
    "ellipeinc": _doc(
        "ellipeinc", "Compute the elliptic integral of the second kind.", "sqrt(1-x1*square(sin(x0)))", "",
        source=f"{_ELLIPTIC} {_BY_M}",
    ),
    "hyp1f1": _doc(
        "hyp1f1", "Compute Kummer's confluent hypergeometric function M.", "", "", "x0/x1*hyp1f1(x0+1, x1+1, x2)",
        source="DLMF 13.3.15. By `a` and `b` its series is differentiated; nan where that cancels to fewer than 8"
        " digits, as it may for large `a` and negative `z`. Third derivatives by them are refused.",
    ),
    "hyperu": _doc(
        "hyperu", "Compute Tricomi's confluent hypergeometric function U.", "nan", "nan",
        "-x0*hyperu(x0+1, x1+1, x2)", source="Derivative: DLMF 13.3.22. SciPy's values have 8 digits in places.",
    ),
    "fdtri": _doc(
        "fdtri", "Compute the inverse of `fdtr` by its third argument.", "", "", "", source=_INCOMPLETE_BETA,
    ),
    "chndtr": _doc(
        "chndtr", "Compute the distribution function of noncentral chi-squared.", "", "nan", "",
        source="The derivatives are densities of noncentral chi-squared distributions.",
    ),
    "kolmogorov": _doc(
        "kolmogorov", "Compute the share above `y` of Kolmogorov's distribution.", "",
        source="The derivative is minus the density, by both of its series.",
    ),
    "owens_t": _doc(
        "owens_t", "Compute Owen's T function.",
        "-exp(-0.5*square(x0))*erf(x0*x1/sqrt(2))/sqrt(8*pi)",
        "exp(-0.5*square(x0)*(1+square(x1)))/(2*pi*(1+square(x1)))",
        source="Owen 1956, Tables for computing bivariate normal probabilities.",
    ),
    "xlogy": _doc(
        "xlogy", "Compute ``x * log(y)``, and 0 where `x` is 0.", "log(x1)", "x0/x1",
        kinks="By `y` the derivative is 0 where `x` is 0.",
    ),
    "xlog1py": _doc(
        "xlog1py", "Compute ``x * log1p(y)``, and 0 where `x` is 0.", "log1p(x1)", "x0/(1+x1)",
        kinks="By `y` the derivative is 0 where `x` is 0.",
    ),
    "entr": _doc(
        "entr", "Compute ``-x * log(x)``, the entropy of each element.", "-1-log(x0)",
        domain="It is 0 at 0, and -inf below, with derivative 0.",
    ),
    "rel_entr": _doc(
        "rel_entr", "Compute ``x * log(x / y)``, the relative entropy of two elements.", "1+log(x0/x1)", "-x0/x1",
        domain="It is 0 where `x` is 0, and inf where an operand is negative, with derivative 0.",
    ),
    "kl_div": _doc(
        "kl_div", "Compute ``x * log(x / y) - x + y``, of which a Kullback-Leibler divergence is the sum.",
        "log(x0/x1)", "1-x0/x1",
        domain="It is `y` where `x` is 0, and inf where an operand is negative, with derivative 0.",
    ),
    "exprel": _doc(
        "exprel", "Compute ``(exp(x) - 1) / x`` accurately for small elements.", "(exp(x0)-y)/x0",
        kinks="The value at 0 is 1, and the derivative 1/2.",
        source="The formula cancels near 0, where the power series of the derivative is summed instead.",
    ),
    "cosm1": _doc("cosm1", "Compute ``cos(x) - 1`` accurately for small elements."),
    "lgamma": _doc(
        "gammaln", "Compute the logarithm of the absolute value of the gamma function.",
        domain="It is inf at 0 and the negative integers.", source=_GAMMA,
    ),
    "loggamma": _doc(
        "loggamma", "Compute the principal branch of the logarithm of the gamma function.",
        domain="Real operands must be positive; the result is nan below 0. Complex ones have a cut there.",
        source=_GAMMA,
    ),
    "digamma": _doc(
        "psi", "Compute the digamma function, the derivative of `lgamma`.", "zeta(2, x0)",
        domain="It is nan at the negative integers.",
        source="The derivative is the trigamma function, for ``x > 0`` Hurwitz's zeta function (DLMF 5.15.1 and"
        " 25.11.1), below 0 by reflection (DLMF 5.15.6).",
    ),
    "gamma": _doc(
        "gamma", "Compute the gamma function of each element.",
        domain="It is nan at the negative integers, and infinite at 0.", source=_GAMMA,
    ),
    "rgamma": _doc(
        "rgamma", "Compute the reciprocal of the gamma function.", "-y*digamma(x0)",
        kinks="At 0 and the negative integers the value is 0, and the derivative that of the entire function.",
        source=f"{_GAMMA} Below 1/2 the derivative is that of the reflection formula (DLMF 5.5.3).",
    ),
    "gammasgn": _doc(
        "gammasgn", "Return the sign of the gamma function.", kinks="The derivative is 0 at the poles, too.",
    ),
    "poch": _doc(
        "poch", "Compute ``gamma(z + m) / gamma(z)``, the Pochhammer symbol.", "y*(digamma(x0+x1)-digamma(x0))",
        "y*digamma(x0+x1)", source=f"Pochhammer's symbol: DLMF 5.2.5. {_GAMMA}",
    ),
    "beta": _doc(
        "beta", "Compute the beta function of two operands.", "y*(digamma(x0)-digamma(x0+x1))",
        "y*(digamma(x1)-digamma(x0+x1))", source="Beta function: DLMF 5.12.",
    ),
    "betaln": _doc(
        "betaln", "Compute the logarithm of the absolute value of the beta function.", "digamma(x0)-digamma(x0+x1)",
        "digamma(x1)-digamma(x0+x1)", source="Beta function: DLMF 5.12.",
    ),
    "gammainc": _doc(
        "gammainc", "Compute the regularized lower incomplete gamma function.", "", _DENSITY,
        source=_INCOMPLETE_GAMMA,
    ),
    "gammaincc": _doc(
        "gammaincc", "Compute the regularized upper incomplete gamma function.", "", f"-{_DENSITY}",
        source=_INCOMPLETE_GAMMA,
    ),
    "betainc": _doc(
        "betainc", "Compute the regularized incomplete beta function.", "", "", _BETA_DENSITY,
        domain=_BETWEEN, source=_INCOMPLETE_BETA,
    ),
    "betaincc": _doc(
        "betaincc", "Compute the complement of the regularized incomplete beta function.", "", "",
        f"-{_BETA_DENSITY}", domain=_BETWEEN, source=_INCOMPLETE_BETA,
    ),
    "stdtr": _doc(
        "stdtr", "Compute the distribution function of Student's t with `df` degrees of freedom.", "",
        "gamma(0.5*x0+0.5)/gamma(0.5*x0)/sqrt(pi*x0)*power(1+square(x1)/x0, -0.5*(x0+1))",
        source=_STUDENT,
    ),
    "j0": _doc("j0", "Compute the Bessel function of the first kind of order 0.", source=_BESSEL),
    "j1": _doc("j1", "Compute the Bessel function of the first kind of order 1.", "j0(x0)-y/x0", source=_BESSEL),
    "y0": _doc(
        "y0", "Compute the Bessel function of the second kind of order 0.", domain="Defined for ``x > 0``.",
        source=_BESSEL,
    ),
    "y1": _doc(
        "y1", "Compute the Bessel function of the second kind of order 1.", domain="Defined for ``x > 0``.",
        source=_BESSEL,
    ),
    "i0": _doc("i0", "Compute the modified Bessel function of the first kind of order 0.", source=_MODIFIED),
    "i1": _doc(
        "i1", "Compute the modified Bessel function of the first kind of order 1.", "i0(x0)-y/x0", source=_MODIFIED
    ),
    "i0e": _doc(
        "i0e", "Compute ``exp(-abs(x)) * i0(x)`` without overflow.", "i1e(x0)-sign(x0)*y", source=_SCALED
    ),
    "i1e": _doc(
        "i1e", "Compute ``exp(-abs(x)) * i1(x)`` without overflow.", "i0e(x0)-y/x0-sign(x0)*y", source=_SCALED
    ),
    "jv": _of_order("jv", "Bessel function of the first kind", _BESSEL),
    "yv": _of_order("yv", "Bessel function of the second kind", _BESSEL),
    "iv": _of_order("iv", "modified Bessel function of the first kind", _MODIFIED),
    "ive": _of_order(
        "ive", "modified Bessel function of the first kind, times ``exp(-abs(x))``,", _SCALED, "nan",
        "0.5*(ive(x0-1, x1)+ive(x0+1, x1))-sign(x1)*y", domain=_SCALE.format("real"),
    ),
    "jve": _of_order(
        "jve", "Bessel function of the first kind, times ``exp(-abs(z.imag))``,", _BESSEL, domain=_SCALE.format("imag"),
    ),
    "yve": _of_order(
        "yve", "Bessel function of the second kind, times ``exp(-abs(z.imag))``,", _BESSEL,
        "nan", "0.5*(yve(x0-1, x1)-yve(x0+1, x1))", domain=_SCALE.format("imag"),
    ),
    "hankel1": _of_order("hankel1", "Hankel function of the first kind", _HANKEL, domain=_COMPLEX),
    "hankel2": _of_order("hankel2", "Hankel function of the second kind", _HANKEL, domain=_COMPLEX),
    "hankel1e": _of_order(
        "hankel1e", "Hankel function of the first kind, times ``exp(-i*z)``,", f"{_HANKEL} {_FAR_OUT}", "nan",
        "0.5*(hankel1e(x0-1, x1)-hankel1e(x0+1, x1))-1j*y", domain=_COMPLEX,
    ),
    "hankel2e": _of_order(
        "hankel2e", "Hankel function of the second kind, times ``exp(i*z)``,", f"{_HANKEL} {_FAR_OUT}", "nan",
        "0.5*(hankel2e(x0-1, x1)-hankel2e(x0+1, x1))+1j*y", domain=_COMPLEX,
    ),
    "kv": _of_order("kv", "modified Bessel function of the second kind", _MODIFIED),
    "kve": _of_order(
        "kve", "modified Bessel function of the second kind, times ``exp(x)``,", _SCALED, "nan",
        "y-0.5*(kve(x0-1, x1)+kve(x0+1, x1))",
    ),
    "k0": _doc("k0", "Compute the modified Bessel function of the second kind of order 0.", source=_MODIFIED),
    "k1": _doc(
        "k1", "Compute the modified Bessel function of the second kind of order 1.", "-k0(x0)-y/x0", source=_MODIFIED
    ),
    "dawsn": _doc(
        "dawsn", "Compute Dawson's integral, ``sqrt(pi)/2 * exp(-x**2) * erfi(x)``.", "1-2*x0*y",
        source="DLMF 7.5.1. From 8 on the derivative is a series (DLMF 7.12.1).",
    ),
    "expi": _doc("expi", "Compute the exponential integral Ei.", source="DLMF 6.2.5."),
    "exp1": _doc("exp1", "Compute the exponential integral E1.", source="DLMF 6.2.1."),
    "spence": _doc(
        "spence", "Compute Spence's function, the dilogarithm of ``1 - x``, of each element.", "log(x0)/(1-x0)",
        source="DLMF 25.12.1 to 25.12.3.",
    ),
    "ellipk": _doc(
        "ellipk", "Compute the complete elliptic integral of the first kind, of the parameter `m`.",
        "(ellipe(x0)-(1-x0)*y)/(2*x0*(1-x0))", source="DLMF 19.4.1. Near 0 the derivative is a power series.",
    ),
    "ellipe": _doc(
        "ellipe", "Compute the complete elliptic integral of the second kind, of the parameter `m`.",
        "(y-ellipk(x0))/(2*x0)", source="DLMF 19.4.2. Near 0 the derivative is a power series.",
    ),
    "boxcox": _doc(
        "boxcox", "Compute Box and Cox's transform of `x`, the logarithm where `lmbda` is 0.", "power(x0, x1-1)",
        "(xlogy(power(x0, x1), x0)-y)/x1", source="Near 0 the derivative by lmbda is a power series.",
        domain="nan for negative `x`.",
    ),
    "inv_boxcox": _doc(
        "inv_boxcox", "Compute the inverse of Box and Cox's transform.", "y/(1+x1*x0)",
        "y*(x0/(x1*(1+x1*x0))-log1p(x1*x0)/square(x1))", source="Near 0 the derivative by lmbda is a power series.",
    ),
    "huber": _doc(
        "huber", "Compute Huber's loss of a residual `r`: quadratic up to `delta`, linear beyond.",
        "where(absolute(x1)<=x0, 0, absolute(x1)-x0)", "where(absolute(x1)<=x0, x1, x0*sign(x1))",
        domain="Infinite for negative `delta`.",
    ),
    "pseudo_huber": _doc(
        "pseudo_huber", "Compute the smooth form of Huber's loss of a residual `r`.",
        "square(square(x1))/(hypot(x0, x1)*square(x0+hypot(x0, x1)))", "x0*x1/hypot(x0, x1)",
        domain="Infinite for negative `delta`.",
    ),
    "binom": _doc(
        "binom", "Compute binomial coefficients of real arguments.", "y*(digamma(x0+1)-digamma(x0-x1+1))",
        "y*(digamma(x0-x1+1)-digamma(x1+1))", source=_GAMMA,
    ),
    "gammaincinv": _doc(
        "gammaincinv", "Compute the inverse of `gammainc` by its second argument.", "",
        "exp(y)*power(y, 1-x0)*gamma(x0)", source=_INCOMPLETE_GAMMA,
    ),
    "gammainccinv": _doc(
        "gammainccinv", "Compute the inverse of `gammaincc` by its second argument.", "",
        "-exp(y)*power(y, 1-x0)*gamma(x0)", source=_INCOMPLETE_GAMMA,
    ),
    "betaincinv": _doc(
        "betaincinv", "Compute the inverse of `betainc` by its third argument.", "", "",
        "beta(x0, x1)*power(y, 1-x0)*power(1-y, 1-x1)", source=_INCOMPLETE_BETA,
    ),
    "betainccinv": _doc(
        "betainccinv", "Compute the inverse of `betaincc` by its third argument.", "", "",
        "-beta(x0, x1)*power(y, 1-x0)*power(1-y, 1-x1)", source=_INCOMPLETE_BETA,
    ),
    "stdtrit": _doc(
        "stdtrit", "Compute the inverse of `stdtr` by its second argument.", "",
        "gamma(0.5*x0)/gamma(0.5*x0+0.5)*sqrt(pi*x0)*power(1+square(y)/x0, 0.5*(x0+1))",
        source=_STUDENT,
    ),
    "hyp0f1": _doc(
        "hyp0f1", "Compute the confluent hypergeometric limit function 0F1.", "nan", "hyp0f1(x0+1, x1)/x0",
        source="Derivative: DLMF 16.3.1.",
    ),
}  # fmt: skip
