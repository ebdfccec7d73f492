"""``pymc_gradient NAME ours|nutpie``: CPU seconds to the first gradient of a model of PyMC's, and of each later one.

The gradient is called behind its C pointer, as nutpie's sampler calls it.
"""

import ctypes
import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDS, SECONDS = 15, 0.05


def _gathers(pm: Any, rng: np.random.Generator, pt: Any) -> None:
    """Add five sets of effects on 11,566 answers (after the poll of 1988 in Gelman and Hill 2007)."""
    answers, sizes = 11_566, (4, 4, 16, 51, 5)
    effects = [pm.Normal(f"a{k}", 0, pm.HalfNormal(f"s{k}", 1), shape=n) for k, n in enumerate(sizes)]
    line = sum(a[rng.integers(0, n, answers)] for a, n in zip(effects, sizes, strict=True))
    pm.Bernoulli("y", logit_p=pm.Normal("b", 0, 2) + line, observed=rng.integers(0, 2, answers))


def _garch(pm: Any, rng: np.random.Generator, pt: Any) -> None:
    """Add GARCH(1, 1) of 200 returns (Bollerslev 1986), a loop of 199 steps."""
    returns = rng.normal(size=200)
    mu, a0, a1, b1 = pm.Normal("mu"), pm.HalfNormal("a0"), pm.Uniform("a1", 0, 1), pm.Uniform("b1", 0, 0.9)
    variance, _ = importlib.import_module("pytensor").scan(
        lambda r, v, mu, a0, a1, b1: a0 + a1 * (r - mu) ** 2 + b1 * v,
        sequences=pt.as_tensor(returns[:-1]),
        outputs_info=pt.as_tensor(np.float64(1.0)),
        non_sequences=[mu, a0, a1, b1],
    )
    pm.Normal("y", mu, pm.math.sqrt(variance), observed=returns[1:])


def _process(pm: Any, rng: np.random.Generator, pt: Any) -> None:
    """Add a Gaussian process at 133 points, marginal."""
    covariance = pm.HalfNormal("eta") ** 2 * pm.gp.cov.ExpQuad(1, ls=pm.InverseGamma("ls", 3, 3))
    process = pm.gp.Marginal(cov_func=covariance)
    x = np.linspace(0, 50, 133)[:, None]
    process.marginal_likelihood("y", X=x, y=rng.normal(size=133), sigma=pm.HalfNormal("sigma"))


def _items(pm: Any, rng: np.random.Generator, pt: Any) -> None:
    """Add a two-parameter logistic model of 600 persons and 32 items, whose parameters are correlated."""
    factor, _, _ = pm.LKJCholeskyCov(
        "chol", n=2, eta=4.0, sd_dist=pm.Exponential.dist(1.0), compute_corr=True
    )
    items = pm.MvNormal("items", pm.Normal("mu", shape=2), chol=factor, shape=(32, 2))
    ability = pm.Normal("ability", shape=600)
    i, j = rng.integers(0, 32, 19_200), np.repeat(np.arange(600), 32)
    line = pm.math.exp(items[:, 0])[i] * (ability[j] - items[:, 1][i])
    pm.Bernoulli("y", logit_p=line, observed=rng.integers(0, 2, 19_200))


def _volatility(pm: Any, rng: np.random.Generator, pt: Any) -> None:
    """Add stochastic volatility of 2,000 returns."""
    step, first = pm.Exponential("step", 10), pm.Normal.dist(0, 1)
    h = pm.GaussianRandomWalk("h", mu=np.float64(0), sigma=step, init_dist=first, steps=np.int64(1_999))
    pm.StudentT("y", pm.Exponential("nu", 0.1), 0, lam=pm.math.exp(-2 * h), observed=rng.normal(size=2_000))


def _radon(pm: Any, rng: np.random.Generator, pt: Any) -> None:
    """Add intercepts and slopes of 85 counties and 919 houses (after Gelman and Hill 2007)."""
    county, floor = np.sort(rng.integers(0, 85, 919)), rng.integers(0, 2, 919)
    mu, s = pm.Normal("mu", 0, 10, shape=2), pm.HalfNormal("s", 1, shape=2)
    a, b = (mu[k] + s[k] * pm.Normal(f"raw{k}", shape=85) for k in range(2))
    pm.Normal("y", a[county] + b[county] * floor, pm.HalfCauchy("eps", 5), observed=rng.normal(size=919))


def _schools(pm: Any, rng: np.random.Generator, pt: Any) -> None:
    """Add the effects of coaching in eight schools (Rubin 1981)."""
    y, errors = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    effects = pm.Normal("mu", 0, 5) + pm.HalfCauchy("tau", 5) * pm.Normal("raw", shape=8)
    pm.Normal("y", effects, errors, observed=y)


MODELS: dict[str, Callable[[Any, np.random.Generator, Any], None]] = {
    "radon": _radon, "garch": _garch, "process": _process, "gathers": _gathers, "items": _items,
    "volatility": _volatility, "schools": _schools,
}  # fmt: skip


def _pointer(kind: str, model: Any) -> tuple[int, int, np.ndarray, Any]:
    """Return address and data of a density, a point, and what keeps them alive."""
    if kind == "ours":
        import tapegrad  # noqa: PLC0415  in one process there is one of the two

        compiled = tapegrad.interop.pymc(model)
        return compiled.density.address, compiled.density.user_data, compiled.x0, compiled
    import nutpie  # noqa: PLC0415

    compiled = nutpie.compile_pymc_model(model)
    start = np.asarray(compiled.initial_point_func(0), float)
    return compiled.compiled_logp_func.address, compiled.user_data.ctypes.data, start, compiled


def main(name: str, kind: str) -> None:
    """Print seconds, and value and gradient, by which contenders are compared."""
    warnings.simplefilter("ignore")
    import pymc  # noqa: PLC0415  slow to import
    import pytensor.tensor  # noqa: PLC0415

    with pymc.Model() as model:
        MODELS[name](pymc, np.random.default_rng(7), pytensor.tensor)
    began = time.process_time()
    address, data, x, _alive = _pointer(kind, model)
    gradient, value = np.empty(x.size), np.empty(1)
    pointer = ctypes.POINTER(ctypes.c_double)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, pointer, pointer, pointer, ctypes.c_void_p)(
        address
    )
    arguments = x.size, *(a.ctypes.data_as(pointer) for a in (x, gradient, value)), data
    if function(*arguments) != 0:
        raise SystemExit(f"{name}: no gradient at the start")
    first = time.process_time() - began
    print(json.dumps({
        "first": first, "seconds": _seconds_a_call(lambda: function(*arguments)), "value": value[0],
        "gradient": gradient.tolist(),
    }))  # fmt: skip


def _seconds_a_call(call: Callable[[], Any]) -> float:
    """Return the seconds of a call in the best of some rounds, after segments have been compiled."""
    calls, spent = 1, 0.0
    while spent < SECONDS:
        calls *= 2
        spent = _round(call, calls)
    time.sleep(1.0)
    _round(call, calls)
    return min(_round(call, calls) for _ in range(ROUNDS)) / calls


def _round(call: Callable[[], Any], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
