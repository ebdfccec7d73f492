"""Twelve posteriors of posteriordb, sampled by nutpie: reference draws, gradients a second, seconds to effective draws.

Magnusson et al. (2024), "posteriordb: Testing, benchmarking and developing Bayesian inference algorithms".
"""

import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable
from perf.posteriors.cases import CASES, SMALL
from perf.posteriors.contenders import KINDS, PACKAGES, stan_library
from perf.posteriors.pymc_models import MODELS
from perf.processes import run

HOW = "git clone https://github.com/stan-dev/posteriordb"
MAX_DEVIATION = 4.5  # Monte Carlo errors: once in 1,000 runs of 170 comparisons by chance
EFFECTIVE = 1_000
# Of each chain: to compare with the reference draws, and to time gradients
DRAWS, QUICK_DRAWS, RIVALS_DRAWS = 1_000, 1_000, 250
WORKERS = os.cpu_count() or 1  # posteriors at a time, for CPU seconds are measured
TITLES = {"tapegrad": "tapegrad", "pymc-numba": "PyMC, Numba", "pymc-jax": "PyMC, JAX", "stan": "Stan"}
Found = dict[str, dict[str, Any]]  # what was measured of a posterior, by contender


def _measure(settings: Settings) -> Outcome:
    """Sample all posteriors, and check them; then measure the rivals at points of them."""
    kinds, notes = _kinds(settings)
    folder = None if settings.quick else settings.beside("posteriordb", HOW)
    names = SMALL if settings.quick else tuple(CASES)
    with tempfile.TemporaryDirectory() as scratch:
        draws, started = settings.fewer(DRAWS, QUICK_DRAWS), {}
        with ThreadPoolExecutor(WORKERS) as pool:
            for name in names:
                points = Path(scratch) / f"{name}.npz"
                started[name] = pool.submit(_posterior, name, kinds, folder, points, draws)
            found = {name: each.result() for name, each in started.items()}
        if not settings.quick:
            notes += _empty_cache(folder, Path(scratch))
    targets, remarks = _compared(found)
    return Outcome(targets, notes=notes + remarks, table=_table(found, kinds))


def _kinds(settings: Settings) -> tuple[list[str], list[str]]:
    """Return the contenders that take part, and notes on the others."""
    missing = {package for package in PACKAGES if package in settings.without or find_spec(package) is None}
    if needed := sorted(missing & {"tapegrad", "nutpie"}):
        raise Unavailable(f"{', '.join(needed)}: not installed, or left out")
    kinds, notes = ["tapegrad"], []
    for kind in KINDS[1:]:
        lacks = [package for package in sorted(missing) if kind in PACKAGES[package]]
        if settings.quick or lacks:
            notes.append(
                f"{TITLES[kind]}: {'not installed: ' + ', '.join(lacks) if lacks else 'not in a quick run'}"
            )
        else:
            kinds.append(kind)
    return kinds, notes


def _posterior(name: str, kinds: list[str], folder: Path | None, points: Path, draws: int) -> Found:
    """Return what was measured of a posterior; refuse draws that are not the reference's."""
    found = {}
    for kind in kinds:
        if kind == "stan" and not (folder and stan_library(folder, name).is_file()):
            continue
        if kind.startswith("pymc") and name not in MODELS:
            continue
        print(f"    {name}: {TITLES[kind]}", file=sys.stderr, flush=True)
        arguments = name, kind, folder or "-", points
        count = draws if kind == "tapegrad" else RIVALS_DRAWS
        found[kind] = run("posterior", *arguments, count, OPENBLAS_NUM_THREADS="1")[0]
    check(name, found["tapegrad"])
    return found


def check(name: str, own: dict[str, Any]) -> None:
    """Refuse draws whose means or standard deviations are not those of the reference draws."""
    if not own["deviation"] <= MAX_DEVIATION:
        off = f"{own['worst']} is {own['deviation']:.1f} Monte Carlo errors off the reference draws"
        raise AssertionError(f"{name}: {off}")


def _empty_cache(folder: Path | None, scratch: Path) -> list[str]:
    """Return a note on a first gradient whose kernels are compiled."""
    arguments = SMALL[0], "tapegrad", folder or "-", "-", 0
    first = run("posterior", *arguments, TAPEGRAD_CACHE_DIR=str(scratch / "cache"))[0]["first"]
    return [f"from an empty cache, the first gradient of {SMALL[0]} takes {first:.3g} s of processor time"]


# --- what a user waits for -------------------------------------------------------------------------------------------


def _seconds(found: Found, kind: str) -> float:
    """Return the seconds to 1,000 effective draws: a first gradient, and as many others as tapegrad's run took."""
    own, each = found["tapegrad"], found[kind]
    return float(each["first"] + each["step"] * (own["warm"] + own["steps"] * EFFECTIVE / own["bulk"]))


MEASURES: tuple[tuple[str, Callable[[Found, str], float]], ...] = (
    ("a gradient", lambda found, kind: float(found[kind]["gradient"])),
    ("1,000 effective draws", _seconds),
)


def _compared(found: dict[str, Found]) -> tuple[list[Target], list[str]]:
    """Return targets, and notes on how many times a rival takes tapegrad's seconds in the mean."""
    deviation = max(each["tapegrad"]["deviation"] for each in found.values())
    targets = [Target("largest deviation from the reference draws", deviation, MAX_DEVIATION, "errors")]
    count = sum(2 * each["tapegrad"]["variables"] for each in found.values())
    notes = [f"{count} means and standard deviations are compared with the reference draws"]
    for kind, (what, of) in product(KINDS[1:], MEASURES):
        ratios = [of(each, kind) / of(each, "tapegrad") for each in found.values() if kind in each]
        title = f"{what}: times faster than {TITLES[kind]}"
        targets.append(Target(f"{title}, worst", min(ratios, default=None), 1.0, "x", at_least=True))
        if ratios:
            notes.append(f"{title}: {geometric_mean(ratios):.3g} in the geometric mean of {len(ratios)}")
    return targets, notes


def _table(found: dict[str, Found], kinds: list[str]) -> list[tuple[str, ...]]:
    head = ["posterior", "parameters", "deviation", "effective draws", "divergences", "first gradient"]
    rows = [(*head, *(word for kind in kinds for word in (f"{TITLES[kind]}: gradients/s", "s to 1,000")))]
    for name, each in found.items():
        own = each["tapegrad"]
        row = [name, str(own["parameters"]), f"{own['deviation']:.1f}", f"{own['bulk']:,.0f}"]
        row += [str(own["diverging"]), f"{own['first']:.2g} s"]
        for kind in kinds:
            cells = (
                (f"{1 / each[kind]['gradient']:,.0f}", f"{_seconds(each, kind):.2g}")
                if kind in each
                else ("", "")
            )
            row += cells
        rows.append(tuple(row))
    return rows


POSTERIORDB = (Figure("posteriordb", "posteriordb: twelve posteriors sampled by nutpie", _measure),)
