"""Derivatives of incomplete gamma and beta functions and of Student's distribution in mpmath, by hypergeometric series.

The series are those of the integrals of ``log(t)**n * t**(a-1) * ...`` from 0 to x (DLMF 8.5.1 and 8.17.7,
differentiated by `a` term by term): they share nothing with the compiled functions.
"""

import mpmath as mp


def igam_fac(a, x):
    return mp.exp(a * mp.log(x) - x - mp.loggamma(a))


def _check_digits(factor):
    """Refuse to compute a derivative that is proportional to a factor too small for the digits."""
    if abs(factor) < mp.mpf(10) ** (18 - mp.mp.dps):
        raise ValueError("the series cancel to a number with too few digits")


def _igam(a, x):
    """P(a, x) and its first two derivatives by `a`."""
    _check_digits(igam_fac(a, x))
    p, power, log = mp.gammainc(a, 0, x, regularized=True), x**a / mp.gamma(a), mp.log(x)
    one = power * mp.hyper([a, a], [a + 1, a + 1], -x) / a**2
    two = 2 * power * mp.hyper([a, a, a], [a + 1, a + 1, a + 1], -x) / a**3
    mean, spread = mp.digamma(a), mp.psi(1, a)
    first, second = log * p - one, log**2 * p - 2 * log * one + two
    return p, first - mean * p, second - 2 * mean * first + (mean**2 - spread) * p


def ibeta_fac(a, b, x):
    return x**a * (1 - x) ** b / mp.beta(a, b)


def _ibeta(a, b, x):
    """I(a, b, x) and its first two derivatives by `a`."""
    _check_digits(ibeta_fac(a, b, x))
    p, power, log = mp.betainc(a, b, 0, x, regularized=True), x**a / mp.beta(a, b), mp.log(x)
    one = power * mp.hyper([a, a, 1 - b], [a + 1, a + 1], x) / a**2
    two = 2 * power * mp.hyper([a, a, a, 1 - b], [a + 1, a + 1, a + 1], x) / a**3
    mean, spread = mp.digamma(a) - mp.digamma(a + b), mp.psi(1, a) - mp.psi(1, a + b)
    first, second = log * p - one, log**2 * p - 2 * log * one + two
    return p, first - mean * p, second - 2 * mean * first + (mean**2 - spread) * p


def _ibeta_ab(a, b, x):
    return mp.diff(lambda b: _ibeta(a, b, x)[1], b)


def stdtr(df, t):
    if t * t < df:  # mpmath's series converge slowly near 1
        return (1 + mp.sign(t) * mp.betainc(0.5, df / 2, 0, t * t / (df + t * t), regularized=True)) / 2
    share = mp.betainc(df / 2, 0.5, 0, df / (df + t * t), regularized=True) / 2
    return share if t < 0 else 1 - share


def _density_and_score(df):
    """The density by t, and the derivative of its logarithm by the degrees of freedom."""
    constant = mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2) - mp.log(df * mp.pi) / 2
    slope = mp.digamma((df + 1) / 2) - mp.digamma(df / 2) - 1 / df

    def density(t):
        return mp.exp(constant - (df + 1) / 2 * mp.log1p(t * t / df))

    def score(t):
        return (slope - mp.log1p(t * t / df) + (df + 1) / df * t * t / (df + t * t)) / 2

    return density, score


def _density(df, t):
    return _density_and_score(df)[0](t)


def _score(df, t):
    return _density_and_score(df)[1](t)


def _stdtr_by_df(df, t):
    if df <= 0:
        raise ValueError("there are no negative degrees of freedom")
    if t * t < df:  # the series converge slowly near 1; quadrature is fast where nothing is far out
        density, score = _density_and_score(df)
        _check_digits(density(t))
        return mp.quad(lambda s: density(s) * score(s), [0, t])
    a, b, x = df / 2, mp.mpf(0.5), df / (df + t * t)
    return -mp.sign(t) * (_ibeta(a, b, x)[1] / 2 + ibeta_fac(a, b, x) / df) / 2


def _share(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def _rest(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _share_of_beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def _log(share, rest):
    if mp.im(share):
        raise ValueError("there are no complex probabilities")
    return mp.log(share) if share < 0.5 else mp.log1p(-rest)


INCOMPLETE = {
    "igam_left": lambda a, x: igam_fac(a, x) / _share(a, x), "igam_right": lambda a, x: igam_fac(a, x) / _rest(a, x),
    "log_gammainc": lambda a, x: _log(_share(a, x), _rest(a, x)),
    "log_gammaincc": lambda a, x: _log(_rest(a, x), _share(a, x)),
    "ibeta_left": lambda a, b, x: ibeta_fac(a, b, x) / _share_of_beta(a, b, x),
    "log_betainc": lambda a, b, x: _log(_share_of_beta(a, b, x), _share_of_beta(b, a, 1 - x)),
    "log_betaincc": lambda a, b, x: _log(_share_of_beta(b, a, 1 - x), _share_of_beta(a, b, x)),
    "log_stdtr": lambda df, t: _log(stdtr(df, t), stdtr(df, -t)),
    "student_left": lambda df, t: _density(df, t) / stdtr(df, t),
    "igam_fac": igam_fac, "igam_a": lambda a, x: _igam(a, x)[1] / igam_fac(a, x),
    "igam_aa": lambda a, x: _igam(a, x)[2] / igam_fac(a, x),
    "ibeta_fac": ibeta_fac, "ibeta_a": lambda a, b, x: _ibeta(a, b, x)[1] / ibeta_fac(a, b, x),
    "ibeta_b": lambda a, b, x: -_ibeta(b, a, 1 - x)[1] / ibeta_fac(a, b, x),
    "ibeta_aa": lambda a, b, x: _ibeta(a, b, x)[2] / ibeta_fac(a, b, x),
    "ibeta_ab": lambda a, b, x: _ibeta_ab(a, b, x) / ibeta_fac(a, b, x),
    "ibeta_bb": lambda a, b, x: -_ibeta(b, a, 1 - x)[2] / ibeta_fac(a, b, x),
    "stdtr": stdtr, "student_df": lambda df, t: _stdtr_by_df(df, t) / _density(df, t),
    "student_df_df": lambda df, t: mp.diff(lambda df: _stdtr_by_df(df, t), df) / _density(df, t),
    "student_score": _score,
}  # fmt: skip
