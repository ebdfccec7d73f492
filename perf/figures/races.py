"""Value and gradient of a workload, tapegrad beside its peers."""

from dataclasses import dataclass

from perf.figures.base import Figure, Outcome, Settings, Target, times_faster
from perf.peers import GRADIENTS, enter
from perf.workloads import WORKLOADS
from tapegrad.testing.timer import Timing, race

REPLAYED, EAGER = "tapegrad replay", "tapegrad eager"
TORCH, JAX, MYGRAD = "torch eager", "JAX jit, NumPy in and out", "MyGrad"
EAGERS = (EAGER, TORCH, "torch eager, one thread", "HIPS autograd", MYGRAD)


@dataclass(frozen=True)
class Race:
    """Targets of `subject`: `within` so many seconds, and `faster` than each peer by so many times."""

    subject: str
    workload: str
    size: int
    within: float | None = None
    faster: tuple[tuple[str, float], ...] = ()
    peers: tuple[str, ...] | None = None

    def __call__(self, settings: Settings) -> Outcome:
        workload = WORKLOADS[self.workload]
        x = workload.build(self.size)
        contenders, notes = enter(GRADIENTS, workload, x, settings.without, self.peers)
        timings = race(contenders, workload.reference(x), settings.budget)
        return Outcome(self.targets(timings), timings, notes)

    def targets(self, timings: list[Timing]) -> list[Target]:
        """Return the verdicts that follow from the medians."""
        found = []
        if self.within is not None:
            own = next((timing.median for timing in timings if timing.name == self.subject), None)
            found.append(Target("median of one call", own, self.within, "s"))
        return found + times_faster(self.subject, self.faster, timings)


RACES = (
    Figure(
        "rosenbrock-10",
        "Chained Rosenbrock, n = 10: value_and_grad(jit(f))(x), NumPy in and out",
        Race(REPLAYED, "rosenbrock", 10, within=3e-6, faster=((JAX, 10), (TORCH, 80))),
    ),
    Figure(
        "rosenbrock-10-eager",
        "Chained Rosenbrock, n = 10: eager with backward()",
        Race(EAGER, "rosenbrock", 10, faster=((TORCH, 10), (MYGRAD, 12)), peers=EAGERS),
    ),
    Figure("rosenbrock-1000", "Chained Rosenbrock, n = 1,000", Race(REPLAYED, "rosenbrock", 1_000)),
    Figure("rosenbrock-100000", "Chained Rosenbrock, n = 100,000", Race(REPLAYED, "rosenbrock", 100_000)),
    Figure(
        "rosenbrock-1000000",
        "Chained Rosenbrock, n = 1,000,000, replayed",
        Race(REPLAYED, "rosenbrock", 1_000_000, faster=((TORCH, 1),)),
    ),
    Figure(
        "sine-chain-10000",
        "sin(x) * x + x, ten-fold, then summed, n = 10,000, replayed",
        Race(REPLAYED, "sine-chain", 10_000, faster=((TORCH, 1),)),
    ),
)
