"""Time from the start of a new process to the first derivative of Rosenbrock."""

import tempfile
from dataclasses import dataclass
from statistics import median

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.processes import run


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
                environment = {"TAPEGRAD_CACHE_DIR": folder} if self.empty else {}
                found, seconds = run(self.program, mode, **environment)
            whole.append(seconds)
            inside.append(found["seconds"])
        return median(whole), median(inside)


START = (
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
