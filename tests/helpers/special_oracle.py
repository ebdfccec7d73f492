"""Special functions of the op table in mpmath."""

import mpmath as mp
import scipy.special

from helpers.hypergeometric_oracle import HYPERGEOMETRIC
from helpers.incomplete_oracle import INCOMPLETE, stdtr
from tapegrad.ops import CONSTANTS


def _log_of_ratio(x, y):
    return x * mp.log(x / y) if x else mp.mpf(0)


def _owens_t(h, a):
    """Owen's integral, cut where the integrand falls; its factor outside, as quadrature ends at an absolute error."""
    cuts = [k / abs(h) for k in (1, 3, 9, 27) if h and k < abs(a * h)]
    whole = mp.quad(lambda t: mp.exp(-h * h * t * t / 2) / (1 + t * t), [0, *cuts, abs(a)])
    return mp.sign(a) * mp.exp(-h * h / 2) * whole / (2 * mp.pi)


def _ndtr(x):
    """The normal distribution function; that of mpmath takes real numbers only."""
    return mp.erfc(-x / mp.sqrt(2)) / 2 if mp.im(x) else mp.ncdf(mp.re(x))


def _times_log(x, logarithm):
    return x * logarithm() if x else mp.mpf(0)


def _off_poles(function):
    """A function of mpmath that raises at the poles of the gamma function; here it is nan."""
    return lambda x: mp.nan if mp.im(x) == 0 and x.real <= 0 and x == mp.floor(x) else function(x)


def _real(number):
    """A number with an imaginary part is nan."""
    return mp.nan if mp.im(number) else mp.re(number)


def _inverse(name, function):
    """The inverse of a function by its last argument, near the number that SciPy's function of a name has found."""

    def inverse(*arguments):
        *parameters, share = arguments
        near = getattr(scipy.special, name)(*map(float, arguments))
        found = mp.findroot(lambda x: function(*parameters, x) - share, (near, near * (1 + 1e-6) + 1e-12))
        if mp.im(found):
            raise ValueError("the search has left the real numbers")
        return found

    return inverse


def _scaled_airy(kind, order, z):
    """A derivative of Ai times ``exp(t)``, or of Bi times ``exp(-abs(re(t)))``."""
    t = 2 * z * mp.sqrt(z) / 3
    scale = mp.exp(t) if kind == "ai" else mp.exp(-abs(mp.re(t)))
    return scale * {"ai": mp.airyai, "bi": mp.airybi}[kind](z, derivative=order)


SPECIAL = {
    "erf": mp.erf, "erfc": mp.erfc, "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x), "erfinv": mp.erfinv,
    "erfcinv": lambda x: mp.erfinv(1 - x), "ndtr": _ndtr,
    "log_ndtr": lambda x: mp.log(_ndtr(x)) if mp.re(x) < 0 else mp.log1p(-_ndtr(-x)),
    "ndtri": lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), "logit": lambda x: mp.log(x / (1 - x)),
    "log_expit": lambda x: -mp.log1p(mp.exp(-x)), "owens_t": _owens_t,
    "xlogy": lambda x, y: _times_log(x, lambda: mp.log(y)), "xlog1py": lambda x, y: _times_log(x, lambda: mp.log1p(y)),
    "entr": lambda x: -x * mp.log(x), "rel_entr": _log_of_ratio,
    "kl_div": lambda x, y: _log_of_ratio(x, y) - x + y, "exprel": lambda x: mp.expm1(x) / x if x else mp.mpf(1),
    "cosm1": lambda x: mp.cos(x) - 1,
    "lgamma": lambda x: mp.loggamma(x) if mp.im(x) or x > 0 else mp.log(abs(mp.gamma(x))),
    "digamma": _off_poles(mp.digamma),
    "zeta": mp.zeta, "riemann_zeta": mp.zeta,
    "gamma": _off_poles(mp.gamma), "rgamma": mp.rgamma, "gammasgn": lambda x: mp.sign(mp.gamma(x)), "poch": mp.rf,
    "beta": mp.beta, "betaln": lambda a, b: mp.log(mp.beta(a, b)),
    "gammainc": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
    "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
    "betaincc": lambda a, b, x: mp.betainc(b, a, 0, 1 - x, regularized=True),
    "j0": mp.j0, "j1": mp.j1, "y0": lambda x: mp.bessely(0, x), "y1": lambda x: mp.bessely(1, x),
    "i0": lambda x: mp.besseli(0, x), "i1": lambda x: mp.besseli(1, x),
    "i0e": lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), "i1e": lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
    "jv": mp.besselj, "yv": mp.bessely, "iv": mp.besseli, "kv": mp.besselk,
    "ive": lambda v, x: mp.exp(-abs(mp.re(x))) * mp.besseli(v, x), "kve": lambda v, x: mp.exp(x) * mp.besselk(v, x),
    "k0": lambda x: mp.besselk(0, x), "k1": lambda x: mp.besselk(1, x),
    "hankel1": mp.hankel1, "hankel2": mp.hankel2,
    "hankel1e": lambda v, z: mp.exp(-1j * z) * mp.hankel1(v, z),
    "hankel2e": lambda v, z: mp.exp(1j * z) * mp.hankel2(v, z),
    "jve": lambda v, z: mp.exp(-abs(mp.im(z))) * mp.besselj(v, z),
    "yve": lambda v, z: mp.exp(-abs(mp.im(z))) * mp.bessely(v, z),
    **{
        f"airye_{kind}{dot}": lambda z, kind=kind, dot=dot: _scaled_airy(kind, len(dot) // 4, z)
        for kind in ("ai", "bi") for dot in ("", "_dot")
    },
    "complex_hyp0f1": mp.hyp0f1,
    "airy_ai": mp.airyai, "airy_ai_dot": lambda z: mp.airyai(z, derivative=1),
    "airy_bi": mp.airybi, "airy_bi_dot": lambda z: mp.airybi(z, derivative=1),
    "fresnel_s": mp.fresnels, "fresnel_c": mp.fresnelc, "sici_s": mp.si, "sici_c": mp.ci, "shichi_s": mp.shi,
    "shichi_c": mp.chi, "erfi": mp.erfi, "wofz": lambda z: mp.exp(-z * z) * mp.erfc(-1j * z), "loggamma": mp.loggamma,
    "dawsn": lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), "expi": mp.ei, "exp1": mp.e1,
    "spence": lambda x: mp.polylog(2, 1 - x),
    "ellipk": mp.ellipk, "ellipe": mp.ellipe,
    "expn": lambda n, x: mp.expint(mp.nint(n), x), "lambertw0": lambda x: _real(mp.lambertw(x)),
    "lambertwm1": lambda x: _real(mp.lambertw(x, -1)),
    "boxcox": lambda x, power: (x**power - 1) / power if power else mp.log(x),
    "inv_boxcox": lambda y, power: (1 + power * y) ** (1 / power) if power else mp.exp(y),
    "huber": lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2),
    "pseudo_huber": lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), "binom": mp.binomial,
    "gammaincinv": _inverse("gammaincinv", lambda a, x: mp.gammainc(a, 0, x, regularized=True)),
    "gammainccinv": _inverse("gammainccinv", lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True)),
    "betaincinv": _inverse("betaincinv", lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)),
    "betainccinv": _inverse("betainccinv", lambda a, b, x: mp.betainc(a, b, x, 1, regularized=True)),
    "stdtrit": _inverse("stdtrit", stdtr),
    "hyp0f1": mp.hyp0f1, **INCOMPLETE, **HYPERGEOMETRIC,
    "lgamma_half_step": lambda x: mp.loggamma(x + 0.5) - mp.loggamma(x) - mp.log(x) / 2,
    "normal_exponent": lambda x, mean, deviation: mp.log(deviation * mp.npdf(x, mean, deviation)),
}  # fmt: skip


def constants():
    """The constants of the table's texts, at the digits that mpmath is set to."""
    exact = {
        "pi": +mp.pi, "ln2": mp.log(2), "log2e": 1 / mp.log(2), "log10e": 1 / mp.log(10), "sqrt_half": mp.sqrt(0.5),
        "sqrt_pi": mp.sqrt(mp.pi), "two_over_sqrt_pi": 2 / mp.sqrt(mp.pi), "sqrt_two_over_pi": mp.sqrt(2 / mp.pi),
        "one_over_sqrt_2pi": 1 / mp.sqrt(2 * mp.pi), "half_log_2pi": mp.log(2 * mp.pi) / 2,
        "inf": mp.inf, "nan": mp.nan,
    }  # fmt: skip
    assert exact.keys() == CONSTANTS.keys()
    return exact
