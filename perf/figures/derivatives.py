"""Second derivatives and Jacobians beside their peers, and beside what they are derivatives of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from perf.figures.base import Figure, Outcome, Settings, Target, times_faster
from perf.peers import GRADIENTS, HESSIANS, JACOBIANS, PRODUCTS, RESIDUALS, Peer, enter
from perf.regression import gauss1, residuals
from perf.second_order import rosenbrock_hessian, rosenbrock_product
from perf.workloads import WORKLOADS, Answer, Array, Workload
from tapegrad.testing.timer import Timing, race

REPLAYED = "tapegrad replay"
JAX, AUTOGRAD = "JAX jit", "HIPS autograd"


@dataclass(frozen=True)
class Unit:
    """Unit of the time of a derivative: another peer's answer to another question."""

    name: str
    peers: Mapping[str, Peer]
    reference: Callable[[Array], Answer]
    limit: float  # so many times the unit, at the most


@dataclass(frozen=True)
class Comparison:
    """A derivative by every peer, and what `subject` must reach."""

    workload: Callable[[], Workload]
    size: int
    peers: Mapping[str, Peer]
    reference: Callable[[Array], Answer]
    subject: str = REPLAYED
    unit: Unit | None = None
    faster: tuple[tuple[str, float], ...] = ()
    names: tuple[str, ...] | None = None

    def __call__(self, settings: Settings) -> Outcome:
        workload = self.workload()
        x = workload.build(self.size)
        contenders, notes = enter(self.peers, workload, x, settings.without, self.names)
        answers = [self.reference(x)] * len(contenders)
        if self.unit is not None and REPLAYED in (contender.name for contender in contenders):
            contender = self.unit.peers[REPLAYED].enter(workload, x)
            contenders.append(replace(contender, name=f"{contender.name}, {self.unit.name}"))
            answers.append(self.unit.reference(x))
        timings = race(contenders, answers, settings.budget)
        return Outcome(self.targets(timings), timings, notes)

    def targets(self, timings: list[Timing]) -> list[Target]:
        """Return the verdicts that follow from the medians."""
        found = [] if self.unit is None else [_ratio(self.subject, self.unit, timings)]
        return found + times_faster(self.subject, self.faster, timings)


def _ratio(subject: str, unit: Unit, timings: list[Timing]) -> Target:
    medians = {timing.name: timing.median for timing in timings}
    own, other = medians.get(subject), medians.get(f"{REPLAYED}, {unit.name}")
    ratio = own / other if own and other else None
    return Target(f"times the {unit.name} by replay", ratio, unit.limit, "x")


def _rosenbrock() -> Workload:
    return WORKLOADS["rosenbrock"]


def _product(size: int) -> Figure:
    gradient = Unit("value and gradient", GRADIENTS, _rosenbrock().reference, 2.5)
    return Figure(
        f"hvp-{size}",
        f"Chained Rosenbrock, n = {size:,}: hvp(jit(f))(x, v), NumPy in and out",
        Comparison(_rosenbrock, size, PRODUCTS, rosenbrock_product, unit=gradient),
    )


DERIVATIVES = (
    Figure(
        "hvp-10-eager",
        "Chained Rosenbrock, n = 10: the product of Hessian and vector, eager",
        Comparison(
            _rosenbrock,
            10,
            PRODUCTS,
            rosenbrock_product,
            names=(
                "tapegrad eager, backward twice",
                "tapegrad, not recorded",
                "torch eager, backward twice",
                "torch.func, jvp of grad",
                "HIPS autograd",
            ),
        ),
    ),
    _product(100),
    _product(10_000),
    Figure(
        "hessian-100",
        "Chained Rosenbrock, n = 100: hessian(jit(f))(x), dense, NumPy in and out",
        Comparison(
            _rosenbrock, 100, HESSIANS, rosenbrock_hessian, faster=((JAX, 1), (AUTOGRAD, 50), ("torch", 1))
        ),
    ),
    Figure(
        "jacobian-gauss1",
        "NIST Gauss1: jacfwd(jit(f))(b) of 250 residuals in 8 parameters, NumPy in and out",
        Comparison(
            gauss1,
            8,
            JACOBIANS,
            lambda b: gauss1().reference(b),
            unit=Unit("residuals", RESIDUALS, residuals, 10),
            faster=((f"{JAX}, NumPy in and out", 1), (AUTOGRAD, 1)),
        ),
    ),
)
