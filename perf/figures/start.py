"""Time from the start of a new process to the first derivative of Rosenbrock."""

import tempfile
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from typing import Any
from zipfile import ZipFile

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.processes import run

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Start:
    """Processes that run `program` in each of its modes.

    The whole process is what must keep the limit: interpreter, imports, compilation, end.
    """

    program: str
    modes: tuple[str, ...]
    limit: float
    repeats: tuple[int, int]
    empty: bool = False  # of an empty cache, or of one that is warm

    def __call__(self, settings: Settings) -> Outcome:
        targets, notes = [], []
        for mode in self.modes:
            if not self.empty:
                run(self.program, mode)  # fills the cache
            whole, inside = self._starts(mode, settings.fewer(*self.repeats))
            targets.append(Target(f"whole process, {mode}", whole, self.limit, "s"))
            what = self.program.replace("_", " ")
            notes.append(f"inside the process, import to {what}, {mode}: {inside:.2f} s")
        return Outcome(targets, notes=notes)

    def _starts(self, mode: str, repeats: int) -> tuple[float, float]:
        """Median seconds of the whole process, and from its first import to its first derivative."""
        whole, inside = [], []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory(prefix="tapegrad-") as folder:
                environment: dict[str, Any] = {"TAPEGRAD_CACHE_DIR": folder} if self.empty else {}
                found, seconds = run(self.program, mode, **environment)
            whole.append(seconds)
            inside.append(found["seconds"])
        return median(whole), median(inside)


# CPU seconds after the import, with an empty cache: from a clone, and from the wheel that `make wheel` has built.
FROM_CLONE = {"gradient": 2.0}
FROM_WHEEL = {
    "gradient": 0.2, "curve_fit": 0.3, "loop": 0.6, "solve_ivp": 0.8, "laplace": 0.8, "sparse_hessian": 0.8,
}  # fmt: skip


def first_calls(settings: Settings) -> Outcome:
    """Measure first calls of new processes with an empty cache."""
    wheels = sorted((ROOT / "dist").glob("*-none-[!a]*.whl"), key=lambda file: file.stat().st_mtime)
    notes = [] if wheels else ["not from a wheel: `make wheel` builds one"]
    targets = []
    with tempfile.TemporaryDirectory(prefix="tapegrad-") as folder:
        if wheels:
            ZipFile(wheels[-1]).extractall(folder)
        for name, limit in FROM_WHEEL.items():
            clone = _first_call(name, settings, ROOT)
            targets.append(Target(f"{name}, from a clone", clone, FROM_CLONE.get(name, inf), "s"))
            wheel = _first_call(name, settings, Path(folder)) if wheels else None
            targets.append(Target(f"{name}, from the wheel", wheel, limit, "s"))
    return Outcome(targets, notes=notes)


def _first_call(name: str, settings: Settings, package: Path) -> float:
    """Median CPU seconds of a first call; the first process writes bytecode, and does not count."""
    found = []
    for _ in range(1 + settings.fewer(3, 1)):
        with tempfile.TemporaryDirectory(prefix="tapegrad-") as folder:
            one, _ = run("first_call", name, folder=package, TAPEGRAD_CACHE_DIR=folder)
        if Path(one["package"]).parent.resolve() != package.resolve():
            raise RuntimeError(f"another package was measured: {one['package']}")
        found.append(one["seconds"])
    return float(median(found[1:]))


START = (
    Figure(
        "first-calls", "New process, empty cache: CPU seconds of first calls after the import", first_calls
    ),
    Figure(
        "start-warm",
        "New process, warm cache: import to first gradient of Rosenbrock",
        Start("first_gradient", ("replay", "eager"), limit=2.0, repeats=(7, 3)),
    ),
    Figure(
        "start-warm-hessian",
        "New process, warm cache: import to first Hessian of Rosenbrock",
        Start("first_hessian", ("replay", "not recorded"), limit=3.0, repeats=(7, 3)),
    ),
    Figure(
        "start-empty",
        "New process, empty cache: import to first gradient of Rosenbrock",
        Start("first_gradient", ("replay", "eager"), limit=6.0, repeats=(3, 1), empty=True),
    ),
)
