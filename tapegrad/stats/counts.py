"""The discrete distributions. Binomial coefficients are beta functions, which keep the digits of large arguments."""

from typing import Any

from tapegrad.stats.discrete import Discrete
from tapegrad.stats.functions import (
    betainc,
    betaincc,
    betaln,
    exp,
    expm1,
    gammainc,
    gammaincc,
    gammaln,
    log,
    log1p,
    log_betainc,
    log_betaincc,
    log_gammainc,
    log_gammaincc,
    xlog1py,
    xlogy,
)
from tapegrad.stats.parameters import count, not_negative, positive, positive_share, share

poisson = Discrete(
    name="poisson",
    shapes={"mu": not_negative},
    log_probability=lambda k, mu: xlogy(k, mu) - gammaln(k + 1.0) - mu,
    cumulative=lambda k, mu: gammaincc(k + 1.0, mu),
    survival=lambda k, mu: gammainc(k + 1.0, mu),
    log_cumulative=lambda k, mu: log_gammaincc(k + 1.0, mu),
    log_survival=lambda k, mu: log_gammainc(k + 1.0, mu),
)


def _log_probability_of_binom(k: Any, n: Any, p: Any) -> Any:
    chosen = -betaln(n - k + 1.0, k + 1.0) - log(n + 1.0)
    return chosen + xlogy(k, p) + xlog1py(n - k, -p)


binom = Discrete(
    name="binom",
    shapes={"n": count, "p": share},
    last=lambda n, p: n,
    log_probability=_log_probability_of_binom,
    cumulative=lambda k, n, p: betaincc(k + 1.0, n - k, p),
    survival=lambda k, n, p: betainc(k + 1.0, n - k, p),
    log_cumulative=lambda k, n, p: log_betaincc(k + 1.0, n - k, p),
    log_survival=lambda k, n, p: log_betainc(k + 1.0, n - k, p),
)

bernoulli = Discrete(
    name="bernoulli",
    shapes={"p": share},
    last=1,
    log_probability=lambda k, p: xlogy(k, p) + xlog1py(1.0 - k, -p),
    cumulative=lambda k, p: 1.0 - p + 0.0 * k,
    survival=lambda k, p: p + 0.0 * k,
)

nbinom = Discrete(
    name="nbinom",
    shapes={"n": positive, "p": positive_share},
    log_probability=lambda k, n, p: -betaln(n, k + 1.0) - log(n + k) + n * log(p) + xlog1py(k, -p),
    cumulative=lambda k, n, p: betainc(n, k + 1.0, p),
    survival=lambda k, n, p: betaincc(n, k + 1.0, p),
    log_cumulative=lambda k, n, p: log_betainc(n, k + 1.0, p),
    log_survival=lambda k, n, p: log_betaincc(n, k + 1.0, p),
)

geom = Discrete(
    name="geom",
    shapes={"p": positive_share},
    first=1,
    log_probability=lambda k, p: xlog1py(k - 1.0, -p) + log(p),
    cumulative=lambda k, p: -expm1(k * log1p(-p)),
    survival=lambda k, p: exp(k * log1p(-p)),
    log_survival=lambda k, p: k * log1p(-p),
)
