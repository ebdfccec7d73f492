"""From the start of a new process to the first gradient of Rosenbrock."""

import tempfile
from functools import partial
from statistics import median

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.processes import run

MODES = ("replay", "eager")


def _starts(mode: str, repeats: int, empty: bool) -> tuple[float, float]:
    """Median seconds of the whole process, and from its first import to its first gradient."""
    whole, inside = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="tapegrad-") as folder:
            found, seconds = run("first_gradient", mode, **({"TAPEGRAD_CACHE_DIR": folder} if empty else {}))
        whole.append(seconds)
        inside.append(found["seconds"])
    return median(whole), median(inside)


def measure(settings: Settings, empty: bool, limit: float, repeats: tuple[int, int]) -> Outcome:
    """The whole process is what must keep the limit: interpreter, imports, compilation, end."""
    targets, notes = [], []
    for mode in MODES:
        if not empty:
            run("first_gradient", mode)  # fills the cache
        whole, inside = _starts(mode, settings.fewer(*repeats), empty)
        targets.append(Target(f"whole process, {mode}", whole, limit, "s"))
        notes.append(f"inside the process, import to first gradient, {mode}: {inside:.2f} s")
    return Outcome(targets, notes=notes)


START = (
    Figure(
        "start-warm",
        "New process, warm cache: import to first gradient of Rosenbrock",
        partial(measure, empty=False, limit=2.0, repeats=(7, 3)),
    ),
    Figure(
        "start-empty",
        "New process, empty cache: import to first gradient of Rosenbrock",
        partial(measure, empty=True, limit=15.0, repeats=(3, 1)),
    ),
)
