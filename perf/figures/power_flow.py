"""AC optimal power flow as rosetta-opf poses it, on networks of PGLib-OPF, beside CasADi and CVXPY.

All solvers are Ipopt with MUMPS. Least costs must be those that PGLib-OPF publishes.
"""

import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable
from perf.power_flow.measurement import DATA, case_file, measure
from perf.processes import run
from perf.progress import progress
from perf.quantities import quantity
from tapegrad.testing.timer import WrongAnswer

# Cases by their published costs in dollars an hour: `BASELINE.md` of PGLib-OPF 23.07, typical operating conditions.
COSTS = {
    "5_pjm": 1.7552e4, "14_ieee": 2.1781e3, "118_ieee": 9.7214e4, "300_ieee": 5.6522e5, "1354_pegase": 1.2588e6,
    "2869_pegase": 2.4628e6, "4661_sdet": 2.2513e6, "9591_goc": 1.0617e6, "10000_goc": 1.3540e6,
}  # fmt: skip
QUICK = ("5_pjm", "14_ieee")
TOLERANCE = 1e-4  # costs are published with five digits
# Packages of each solver; the largest network that it is prepared for, and that it solves, in buses
SOLVERS: dict[str, Any] = {
    "tapegrad": (("tapegrad", "ipyopt"), 10_000, 10_000),
    "CasADi SX": (("casadi",), 10_000, 1354),
    "CasADi MX": (("casadi",), 10_000, 4661),
    "CVXPY": (("cvxpy", "cyipopt"), 1354, 1354),
}
LIMITS = {"build": 0.1, "callbacks": 0.5, "solve": 1.0}  # at most so many times CasADi's
HEAD = (
    "case", "buses", "variables", "constraints", "solver", "build", "callbacks", "solve", "iterations", "cost", "off"
)  # fmt: skip


def _available(settings: Settings) -> tuple[list[str], list[str]]:
    """Return the solvers that take part, and notes on the others."""
    missing = {
        name: [each for each in packages if each in settings.without or find_spec(each) is None]
        for name, (packages, *_) in SOLVERS.items()
    }
    notes = [f"{name}: {each[0]} is left out or not installed" for name, each in missing.items() if each]
    if missing["tapegrad"]:
        raise Unavailable(notes[0])
    return [name for name, each in missing.items() if not each], notes


def _measure(settings: Settings) -> Outcome:
    folder = settings.beside("pglib-opf", "git clone https://github.com/power-grid-lib/pglib-opf") or DATA
    names, notes = _available(settings)
    found = {}
    for case in progress(list(QUICK if settings.quick else COSTS)):
        buses, file = int(case.split("_")[0]), case_file(folder, case)
        taking, solving = ([name for name in names if buses <= SOLVERS[name][k]] for k in (1, 2))
        if settings.quick:
            found[case] = measure(file, taking, solving, settings.budget)
        else:
            found[case], _ = run("power_flow", file, ",".join(taking), ",".join(solving))
        check_costs(case, found[case]["solvers"])
    first = [each["solvers"]["tapegrad"]["first"] for each in found.values()]
    notes.append(f"first build of a process, modules included: {quantity(float(np.median(first)), 's')}")
    if not settings.quick:
        file = case_file(folder, QUICK[0])
        with tempfile.TemporaryDirectory(prefix="tapegrad-") as cache:
            cold, _ = run("power_flow", file, "tapegrad", "tapegrad", TAPEGRAD_CACHE_DIR=cache)
        notes.append(f"with an empty cache: {quantity(cold['solvers']['tapegrad']['first'], 's')}")
    return Outcome(list(_targets(found)), notes=notes, table=[HEAD, *_rows(found)])


def _off(case: str, solved: dict[str, Any]) -> float:
    """Return how far a least cost is from the published one, by that."""
    return abs(float(solved["objective"]) - COSTS[case]) / COSTS[case]


def check_costs(case: str, solvers: dict[str, dict[str, Any]]) -> None:
    """Raise `WrongAnswer` unless all least costs are the published one."""
    for name, solved in solvers.items():
        if "objective" in solved and not _off(case, solved) <= TOLERANCE:
            raise WrongAnswer(f"{name}, {case}: {solved['objective']:.6g} instead of {COSTS[case]:.6g}")


def _targets(found: dict[str, Any]) -> Iterable[Target]:
    worst = max(_off(case, each["solvers"]["tapegrad"]) for case, each in found.items())
    yield Target("largest difference of a least cost from the published one", worst, TOLERANCE, "")
    for kind in ("CasADi SX", "CasADi MX"):
        both = [(each["solvers"]["tapegrad"], each["solvers"].get(kind, {})) for each in found.values()]
        for what, limit in LIMITS.items():
            pairs = [(np.sum(own[what]), np.sum(peer[what])) for own, peer in both if what in peer]
            ratios = np.array([own / peer for own, peer in pairs])
            total = np.sum(pairs, axis=0)
            means: Iterable[float | None] = (None,) * 3
            if pairs:
                means = np.exp(np.log(ratios).mean()), ratios.max(), total[0] / total[1]
            for how, each in zip(("geometric mean", "worst case", "sums of all"), means, strict=True):
                yield Target(f"{what} by {kind}'s, {how}", each, limit, "x")


def _rows(found: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    for case, each in found.items():
        sizes = [f"{size:,}" for size in each["sizes"]]
        for name, solver in each["solvers"].items():
            seconds = [quantity(np.sum(solver[what]) if what in solver else None, "s") for what in LIMITS]
            solved = ["-"] * 3
            if "objective" in solver:
                cost, off = f"{solver['objective']:.6g}", f"{_off(case, solver):.0e}"
                solved = [str(solver["iterations"]), cost, off]
            yield case, *sizes, name, *seconds, *solved


POWER_FLOW = (Figure("power-flow", "AC optimal power flow on networks of PGLib-OPF", _measure),)
