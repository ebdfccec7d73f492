"""Measurement of one network: all solvers prepared, checked, timed in turns, and run."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np

from perf.power_flow.matpower import read
from perf.power_flow.model import PowerFlow
from perf.power_flow.solvers import CALLBACKS, SOLVERS, Point, Solver, sums
from tapegrad.testing.timer import Budget, Contender, check, race

DATA = Path(__file__).parent / "data"
TOLERANCE = 1e-6  # of second derivatives by differences
_STEP, _DIFFERENCE = 1e-30, 1e-5

# NumPy's names for complex numbers as well, of which `bincount` takes none.
COMPLEX = SimpleNamespace(
    sin=np.sin, cos=np.cos, sum=np.sum, concatenate=np.concatenate,
    bincount=lambda buses, values, count: sums(buses, count) @ values,
)  # fmt: skip


def case_file(folder: Path, case: str) -> Path:
    """Return the file of a case of PGLib-OPF."""
    return folder / f"pglib_opf_case{case}.m"


def point_of(flow: PowerFlow) -> Point:
    """Return a point within the limits, and multipliers."""
    draws, (count, n) = np.random.default_rng(0), (flow.constraint_bounds.shape[1], len(flow.start))
    x = np.clip(flow.start + 0.05 * draws.standard_normal(n), *flow.bounds)
    return Point(x, *(draws.standard_normal(size) for size in (count, n, n)))


def slopes(flow: PowerFlow, x: np.ndarray, direction: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the derivatives of objective and constraints along a direction, by complex steps."""
    moved = x + 1j * _STEP * direction
    value, values = flow.objective(moved, COMPLEX), flow.constraints(moved, COMPLEX)
    return float(value.imag / _STEP), values.imag / _STEP


def curvature(flow: PowerFlow, point: Point) -> float:
    """Return the second derivative of the Lagrangian along two directions, by differences of complex steps."""

    def slope(distance: float) -> float:
        objective, constraints = slopes(flow, point.x + distance * point.direction, point.other)
        return float(objective + point.multipliers @ constraints)

    return (slope(_DIFFERENCE) - slope(-_DIFFERENCE)) / (2 * _DIFFERENCE)


def check_callbacks(flow: PowerFlow, point: Point, contenders: Sequence[Contender]) -> None:
    """Check five callbacks by plain NumPy, complex steps and differences; raise `WrongAnswer` if one is off."""
    slope, tangent = slopes(flow, point.x, point.direction)
    wanted = [flow.objective(point.x), slope, flow.constraints(point.x), tangent, curvature(flow, point)]
    for k, (contender, answer) in enumerate(zip(contenders, wanted, strict=True)):
        (value,) = contender.read(contender.call())
        found = value @ {1: point.direction, 4: point.other}[k] if k in (1, 4) else value
        named = Contender(f"{contender.name}, {CALLBACKS[k]}", partial(tuple, [found]), tuple)
        check(named, (answer,), TOLERANCE if k == 4 else 1e-9)


def _timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return what a call returns, and its CPU seconds."""
    start = process_time()
    return call(*arguments), process_time() - start


def measure(file: Path, names: Sequence[str], solving: Sequence[str], budget: Budget) -> dict[str, Any]:
    """Return buses, variables and constraints of a case file, and by the name of each solver what was measured.

    Parameters
    ----------
    file
        The case file.
    names, solving
        Solvers that are prepared, and those of them that solve the problem as well.
    budget
        How long callbacks are timed.
    """
    flow, small = (PowerFlow(read(each)) for each in (file, case_file(DATA, "5_pjm")))
    found: dict[str, dict[str, Any]] = {name: {"first": _timed(SOLVERS[name], small)[1]} for name in names}
    solvers: dict[str, Solver] = {}
    for name in names:
        solvers[name], found[name]["build"] = _timed(SOLVERS[name], flow)
    _time_callbacks(flow, solvers, found, budget)
    for name in solving:
        (value, iterations), seconds = _timed(solvers[name].solve)
        found[name] |= {"solve": seconds, "objective": value, "iterations": iterations}
    sizes = len(flow.network.load), len(flow.start), flow.constraint_bounds.shape[1]
    return {"sizes": sizes, "solvers": found}


def _time_callbacks(
    flow: PowerFlow, solvers: dict[str, Solver], found: dict[str, Any], budget: Budget
) -> None:
    """Check the callbacks of all solvers by the oracle and by one another, then enter their seconds."""
    point = point_of(flow)
    all_of = [each.callbacks(point) for each in solvers.values() if each.callbacks is not None]
    for contenders in all_of:
        check_callbacks(flow, point, contenders)
    answers = [each.read(each.call()) for each in all_of[0]] * len(all_of)
    for timing in race([each for contenders in all_of for each in contenders], answers, budget):
        found[timing.name].setdefault("callbacks", []).append(timing.median)
