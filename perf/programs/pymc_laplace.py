"""``pymc_laplace NAME``: CPU seconds of a model of PyMC's with its effects integrated out, and of all its variables.

Both are without what they compile: the second of two runs counts.
"""

import importlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

DRAWS, CHAINS = 1_000, 4


def _counts(pm: Any, rng: np.random.Generator) -> str:
    """Add 3,000 counts in 300 groups."""
    group, x = rng.integers(0, 300, 3_000), rng.normal(size=3_000)
    counts = rng.poisson(np.exp(0.5 + 0.3 * x + rng.normal(0.0, 0.7, 300)[group]))
    sd = pm.HalfNormal("sd", 1.0)
    line = pm.Normal("level", 0, 2) + pm.Normal("slope", 0, 2) * x + pm.Normal("u", 0, sd, shape=300)[group]
    pm.Poisson("y", pm.math.exp(line), observed=counts)
    return "sd"


def _field(pm: Any, rng: np.random.Generator) -> str:
    """Add counts on a grid of 20 x 20 places, with a conditional autoregressive field."""
    import scipy.sparse  # noqa: PLC0415  for this model alone

    ones = np.ones(19)
    chain = scipy.sparse.diags_array([ones, ones], offsets=[-1, 1])
    adjacent = scipy.sparse.csr_matrix(
        scipy.sparse.kron(chain, scipy.sparse.eye_array(20))
        + scipy.sparse.kron(scipy.sparse.eye_array(20), chain)
    )
    precision = 2.0 * (np.diag(adjacent.sum(axis=1).A1) - 0.98 * adjacent.toarray())
    truth = np.linalg.solve(np.linalg.cholesky(precision).T, rng.normal(size=400))
    alpha, tau = pm.Beta("alpha", 8, 1), pm.Gamma("tau", 2, 1)
    field = pm.CAR("u", mu=np.zeros(400), W=adjacent, alpha=alpha, tau=tau)
    pm.Poisson("y", pm.math.exp(pm.Normal("level", 0, 2) + field), observed=rng.poisson(np.exp(1.0 + truth)))
    return "tau"


MODELS: dict[str, Callable[..., str]] = {"counts": _counts, "field": _field}


def _seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a second call, and its result."""
    call()
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def main(name: str) -> None:
    """Print what was measured as JSON."""
    warnings.filterwarnings("ignore")
    arviz, nutpie, pymc = map(importlib.import_module, ("arviz", "nutpie", "pymc"))  # slow to import

    import tapegrad as tg  # noqa: PLC0415  after the others, whose import is not measured

    with pymc.Model() as model:
        scale = MODELS[name](pymc, np.random.default_rng(4))
    compiled = tg.interop.pymc(model)
    marginal = compiled.laplace("u")
    options = {"draws": DRAWS, "chains": CHAINS, "seed": 1, "cores": 1, "progress_bar": False}
    measured: dict[str, Any] = {"find": _seconds(lambda: marginal.find(progress=False))[0]}
    for kind, call in {
        "integrated": lambda: marginal.sample(**options),
        "whole": lambda: nutpie.sample(compiled, tune=1_000, **options),
    }.items():
        seconds, trace = _seconds(call)
        draws = trace.posterior[scale].values
        measured[kind] = {
            "seconds": seconds, "effective": float(arviz.ess(draws)), "mean": draws.mean(), "sd": draws.std(),
        }  # fmt: skip
    print(json.dumps(measured))


if __name__ == "__main__":
    main(sys.argv[1])
