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

SEED, CHAINS, TUNE, POINTS = 7, 4, 800, 16
AGREEMENT = 1e-8  # of gradients, and of differences of log densities, beside the largest of them


def main(name: str, kind: str, folder: str, points: str, draws: str) -> None:
    """Print what was measured as JSON."""
    warnings.simplefilter("ignore")
    copy = None if folder == "-" else Path(folder)
    data = database.data(copy, name)
    model = CASES[name](data)
    if kind == "stan":
        found = _measure_stan(Path(folder), name, model, np.load(points))
    else:
        importlib.import_module("nutpie")  # no import is measured
        importlib.import_module("tapegrad" if kind == "tapegrad" else "pymc")
        began = time.process_time()
        backend = kind.removeprefix("pymc-")
        made = model_of_tapegrad(model) if backend == kind else model_of_pymc(model, name, data, backend)
        made[1].at(np.zeros((1, model.size)))
        found = {"first": time.process_time() - began}
        if int(draws):
            found |= _measure(model, *made, Path(points), int(draws), database.reference(copy, name))
    print(json.dumps(found))


def _measure(
    model: Model, compiled: Any, gradient: Gradient, points: Path, draws: int, reference: database.Summaries
) -> dict[str, Any]:
    """Sample, check gradients, and time them; the first contender is tapegrad, which makes the file of points."""
    found = _sample(compiled, draws)
    trace = found.pop("trace")
    if not points.exists():
        _keep(points, gradient, trace)
        check(model, *np.load(points).values())
        found |= _summaries(trace, reference) | {"parameters": model.size}
    own = np.load(points)
    compare(gradient, own)
    return found | {"gradient": gradient.seconds(own["points"])}


def _measure_stan(folder: Path, name: str, model: Model, own: Any) -> dict[str, Any]:
    """Check the model's log densities of constrained parameters by Stan's, and time Stan's gradient."""
    stan = Stan(stan_library(folder, name), database.data_json(folder, name))
    at = stan.points(model, own["points"])
    points = [model.constrain(PLAIN, model.split(point))[0] for point in own["points"]]
    refuse(
        "log densities",
        np.array([model.density(PLAIN, each) for each in points]),
        stan.densities(at),
        model.error,
    )
    seconds = stan.gradient.seconds(at)
    return {"first": 0.0, "gradient": seconds, "step": seconds}


def _sample(compiled: Any, draws: int) -> dict[str, Any]:
    """Sample; return the CPU seconds of a gradient, sampler included, and the numbers of gradients."""
    nutpie = importlib.import_module("nutpie")
    began = time.process_time()
    trace = nutpie.sample(
        compiled, draws=draws, tune=TUNE, chains=CHAINS, cores=1, seed=SEED, progress_bar=False,
        store_unconstrained=True,
    )  # fmt: skip
    seconds = time.process_time() - began
    warm, later = (int(trace[group]["n_steps"].sum()) for group in ("warmup_sample_stats", "sample_stats"))
    diverging = int(trace["sample_stats"]["diverging"].sum())
    return {
        "step": seconds / (warm + later),
        "warm": warm,
        "steps": later,
        "diverging": diverging,
        "trace": trace,
    }


def _keep(file: Path, gradient: Gradient, trace: Any) -> None:
    """Write points of the posterior, and what the gradient is there."""
    drawn = trace["sample_stats"]["unconstrained_draw"].values
    points = drawn[:, :: drawn.shape[1] // (POINTS // CHAINS)][:, : POINTS // CHAINS].reshape(POINTS, -1)
    values, gradients = gradient.at(points)
    np.savez(file, points=points, values=values, gradients=gradients)


def compare(gradient: Gradient, own: Any) -> None:
    """Refuse a contender whose log densities or gradients are others."""
    values, gradients = gradient.at(own["points"])
    refuse("log densities", values, own["values"], AGREEMENT)
    refuse("gradients", gradients, own["gradients"], AGREEMENT, 0.0)


def refuse(
    what: str, found: np.ndarray, wanted: np.ndarray, limit: float, origin: float | None = None
) -> None:
    """Refuse numbers that are not those wanted, from their first ones on if there is no `origin`."""
    if origin is None:
        found, wanted = found - found[0], wanted - wanted[0]
    error = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
    if not error <= limit:
        raise ArithmeticError(f"the {what} differ by {error:.1e} of the largest")


def _summaries(trace: Any, reference: database.Summaries) -> dict[str, Any]:
    """Return summaries of the variables that reference draws have, and the largest deviation from these."""
    draws = database.named({name: trace["posterior"][name].values for name in trace["posterior"].data_vars})
    own = {name: effective.summary(draws[name]) for name in reference}
    deviations = {name: effective.deviation(own[name], reference[name]) for name in reference}
    worst = max(deviations, key=lambda name: deviations[name])
    return {
        "variables": len(reference), "bulk": min(each["bulk"] for each in own.values()), "worst": worst,
        "deviation": deviations[worst],
    }  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
