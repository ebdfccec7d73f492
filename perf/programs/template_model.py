"""``template_model NAME [FOLDER]``: check and time one of TMB's examples, given what R has left in a folder.

Without a folder it is an example of the tree, with its results by TMB. Times are CPU seconds.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tapegrad as tg
from perf.template_models import fields, groups
from perf.template_models.examples import Example, read, shipped
from perf.template_models.groups import Density

MODELS: dict[str, Callable[..., Density]] = {
    "linreg": groups.line, "longlinreg": groups.line, "nmix": groups.counted_with_gaps,
    "orange_big": groups.growing_trees, "socatt": groups.ordered_answers, "cbpp": groups.herds,
    "sleepstudy": groups.drivers, "thetalog": fields.theta_logistic, "sde_linear": fields.linear_diffusion,
    "mvrw_sparse": fields.correlated_walks, "spatial": fields.counts_on_a_map,
}  # fmt: skip
# L-BFGS-B, for BFGS leaves the sleepstudy's start for a spread of zero. By default it stops half way to 1e-5.
_TIGHT = {"ftol": 1e-15, "gtol": 1e-7}
_BATCH, _BATCHES = 0.05, 5  # CPU seconds; the best of so many counts


class Integrated:
    """Model whose effects are integrated out."""

    def __init__(self, example: Example, nll: Density) -> None:
        self._example, self._nll = example, nll
        self._marginal = tg.value_and_grad(tg.laplace(nll, random=example.random))
        self._effects = {example.random: example.start[example.random]}

    def fit(self) -> Any:
        """Fit it; later evaluations begin at its mode."""
        found = tg.optimize.laplace(
            self._nll, self._example.start, self._example.random, method="L-BFGS-B", bounds=self._example.bounds,
            options=_TIGHT, progress=False,
        )  # fmt: skip
        self._effects = {self._example.random: found.random}
        return found

    def evaluate(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient."""
        value, slopes = self._marginal(self._example.parameters(point) | self._effects)
        return value, self._example.vector(slopes)

    def errors(self, fit: Any) -> np.ndarray:
        """Return the standard errors of the parameters; those of the effects are computed, too."""
        _ = fit.random_std_errors
        return self._example.vector(fit.std_errors)


class Plain:
    """Model without effects."""

    def __init__(self, example: Example, nll: Density) -> None:
        self._example = example
        self._function = tg.jit(lambda vector: nll(example.parameters(vector)))
        self.evaluate = tg.value_and_grad(self._function)
        self._hessian = tg.hessian(self._function)

    def fit(self) -> Any:
        """Fit it."""
        found = tg.optimize.minimize(self._function, self._example.vector(self._example.start))
        found.x = self._example.parameters(found.x)
        return found

    def errors(self, fit: Any) -> np.ndarray:
        """Return the standard errors of the parameters."""
        covariance = np.linalg.inv(self._hessian(self._example.vector(fit.x)))
        errors: np.ndarray = np.sqrt(np.diag(covariance))
        return errors


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return CPU seconds, and a result."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def _warm(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of a call."""

    def batch() -> float:
        return seconds(lambda: [call() for _ in range(count)])[0]

    count = 1
    while batch() < _BATCH:
        count *= 2
    return min(batch() for _ in range(_BATCHES)) / count


def measure(name: str, example: Example) -> dict[str, float]:
    """Check an example, then time it."""
    nll = MODELS[name](example.data)
    model: Integrated | Plain = (Integrated if example.random else Plain)(example, nll)
    first, fit = seconds(model.fit)
    off = example.check_evaluations(model.evaluate)
    _, errors = seconds(lambda: model.errors(fit))
    shift, wider = example.check_fit(fit.fun, example.vector(fit.x), errors)
    above, below = example.points["above"], example.points["below"]
    evaluation = _warm(lambda: (model.evaluate(above), model.evaluate(below))) / 2
    again, found = seconds(model.fit)
    report, _ = seconds(lambda: model.errors(found))
    return {
        "first": first, "fit": again, "evaluation": evaluation, "report": report,
        "value_off": off, "shift": shift, "wider": wider, "evaluations": float(fit.nfev),
        "parameters": len(errors), "effects": example.start[example.random].size if example.random else 0,
    }  # fmt: skip


if __name__ == "__main__":
    given = read(Path(sys.argv[2])) if len(sys.argv) > 2 else shipped(sys.argv[1])
    print(json.dumps(measure(sys.argv[1], given)))
