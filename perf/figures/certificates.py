"""Cost of certificates: the first gradient of a function that is certified, and replays after it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, tapegrad
from perf.workloads import WORKLOADS, Array, Workload, arithmetic
from tapegrad.testing.timer import Contender, race

SAMPLES = (WORKLOADS["rosenbrock"], 10), (WORKLOADS["sine-chain"], 1_000), (arithmetic(1_000), 8)
_FIRST, _REPLAY = 2.0, 1.1  # of the same without a certificate


def _first(workload: Workload, x: Array, fuse: bool, certify: bool) -> Any:
    """Record a new function, and replay its gradient for the first time."""
    return _gradient(workload, fuse, certify)(x)


def _gradient(workload: Workload, fuse: bool, certify: bool) -> Callable[[Array], Any]:
    library = tapegrad()
    made: Callable[[Array], Any] = library.value_and_grad(
        library.jit(workload.over(library), fuse=fuse, certify=certify)
    )
    return made


def measure(settings: Settings) -> Outcome:
    """Measure first gradients and replays of each sample, with a certificate and without, in turns."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    outcome = Outcome([])
    for workload, size in SAMPLES[:1] if settings.quick else SAMPLES:
        x = workload.build(size)
        calls: dict[str, Callable[[], Any]] = {}
        for fuse in (False, True):
            for certify in (False, True):
                name = f"{workload.name}, n = {size:,}{', fused' * fuse}{', certified' * certify}"
                calls[f"{name}: first call"] = partial(_first, workload, x, fuse, certify)
                calls[f"{name}: replay"] = partial(_gradient(workload, fuse, certify), x)
        timings = race([Contender(*each) for each in calls.items()], workload.reference(x), settings.budget)
        medians = {timing.name: timing.median for timing in timings}
        for kind, limit in (("first call", _FIRST), ("replay", _REPLAY)):
            for fused in ("", ", fused"):
                plain = f"{workload.name}, n = {size:,}{fused}"
                ratio = medians[f"{plain}, certified: {kind}"] / medians[f"{plain}: {kind}"]
                outcome.targets.append(
                    Target(f"{plain}: {kind}, by one without a certificate", ratio, limit, "x")
                )
        outcome.timings.extend(timings)
    return outcome


CERTIFICATES = (
    Figure("certificates", "What a certificate adds to a first gradient, and to replays", measure),
)
