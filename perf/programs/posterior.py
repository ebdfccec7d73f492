"""``posterior NAME KIND FOLDER POINTS DRAWS``: CPU seconds to a contender's first gradient, and of later ones.

FOLDER is a copy of posteriordb, or ``-`` for what is in this tree. POINTS is a file that the run of tapegrad makes and
the others read: points of the posterior, with log densities and gradients, by which all contenders are compared.
"""

import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from perf.posteriors import database, effective
from perf.posteriors.cases import CASES
from perf.posteriors.contenders import Stan, model_of_pymc, model_of_tapegrad, stan_library
from perf.posteriors.gradients import Gradient
from perf.posteriors.model import Model
from perf.posteriors.plain import PLAIN, check

CHAINS, POINTS = 4, 16
OPTIONS = {  # the rate of acceptance is that of the reference draws
    "target_accept": 0.95, "tune": 800, "chains": CHAINS, "cores": 1, "seed": 7, "store_unconstrained": True,
    "progress_bar": False,
}  # fmt: skip
AGREEMENT = 1e-8  # of gradients, and of differences of log densities, beside the largest of them


def main(name: str, kind: str, folder: str, points: str, draws: str) -> None:
    """Print what was measured as JSON."""
    warnings.simplefilter("ignore")
    copy, file = None if folder == "-" else Path(folder), Path(points)
    data = database.data(copy, name)
    model = CASES[name](data)
    if kind == "stan":
        print(json.dumps(_measure_stan(Path(folder), name, model, np.load(file))))
        return
    for module in ("nutpie", "tapegrad" if kind == "tapegrad" else "pymc"):
        importlib.import_module(module)  # no import is measured
    began, backend = time.process_time(), kind.removeprefix("pymc-")
    made = model_of_tapegrad(model) if backend == kind else model_of_pymc(model, name, data, backend)
    made[1].at(np.zeros((1, model.size)))
    found = {"first": time.process_time() - began}
    if int(draws):
        sampled, trace = _sample(made[0], int(draws))
        found |= sampled
        if not file.exists():
            _keep(file, made[1], trace)
            check(model, *np.load(file).values())
            found |= _summaries(trace, database.reference(copy, name)) | {"parameters": model.size}
        own = np.load(file)
        for values, wanted in zip(made[1].at(own["points"]), (own["values"], own["gradients"]), strict=True):
            refuse("log densities" if values.ndim == 1 else "gradients", values, wanted, AGREEMENT)
        found["gradient"] = made[1].seconds(own["points"])
    print(json.dumps(found))


def _measure_stan(folder: Path, name: str, model: Model, own: Any) -> dict[str, Any]:
    """Check the model's log densities of constrained parameters by Stan's, and time Stan's gradient."""
    stan = Stan(stan_library(folder, name), database.data_json(folder, name))
    at, constrained = (
        stan.points(model, own["points"]), [model.constrain(PLAIN, model.split(x))[0] for x in own["points"]]
    )  # fmt: skip
    values = np.array([model.density(PLAIN, each) for each in constrained])
    refuse("log densities", values, stan.densities(at), model.error)
    seconds = stan.gradient.seconds(at)
    return {"first": 0.0, "gradient": seconds, "step": seconds}


def _sample(compiled: Any, draws: int) -> tuple[dict[str, Any], Any]:
    """Sample; return the CPU seconds of a gradient, sampler included, the numbers of gradients, and the trace."""
    began = time.process_time()
    trace = importlib.import_module("nutpie").sample(compiled, draws=draws, **OPTIONS)
    seconds = time.process_time() - began
    warm, steps = (int(trace[group]["n_steps"].sum()) for group in ("warmup_sample_stats", "sample_stats"))
    diverging = int(trace["sample_stats"]["diverging"].sum())
    return {"step": seconds / (warm + steps), "warm": warm, "steps": steps, "diverging": diverging}, trace


def _keep(file: Path, gradient: Gradient, trace: Any) -> None:
    """Write points of the posterior, and what the gradient is there."""
    drawn, each = trace["sample_stats"]["unconstrained_draw"].values, POINTS // CHAINS
    points = drawn[:, :: drawn.shape[1] // each][:, :each].reshape(POINTS, -1)
    values, gradients = gradient.at(points)
    np.savez(file, points=points, values=values, gradients=gradients)


def refuse(what: str, found: np.ndarray, wanted: np.ndarray, limit: float) -> None:
    """Refuse gradients that are not those wanted, or log densities, which may differ by a constant."""
    if found.ndim == 1:
        found, wanted = found - found[0], wanted - wanted[0]
    error = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
    if not error <= limit:
        raise ArithmeticError(f"the {what} differ by {error:.1e} of the largest")


def _summaries(trace: Any, reference: database.Summaries) -> dict[str, Any]:
    """Return the fewest effective draws of a variable, and the largest deviation from the reference draws."""
    draws = database.named({name: trace["posterior"][name].values for name in trace["posterior"].data_vars})
    own = {name: effective.summary(draws[name]) for name in reference}
    deviation, worst = max((effective.deviation(own[name], reference[name]), name) for name in reference)
    bulk = min(each["bulk"] for each in own.values())
    return {"variables": len(reference), "bulk": bulk, "worst": worst, "deviation": deviation}


if __name__ == "__main__":
    main(*sys.argv[1:])
