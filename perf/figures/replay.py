"""Cost of one more instruction in a replay."""

from functools import partial

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, tapegrad
from perf.workloads import Answer, arithmetic
from tapegrad.testing.timer import Contender, Timing, race

WIDTHS = (1, 2, 4, 8)
LENGTHS = (10, 30, 100, 300, 1_000)


def _enter(length: int, width: int) -> tuple[Contender, Answer]:
    library, workload = tapegrad(), arithmetic(length)
    x = workload.build(width)
    call = partial(library.value_and_grad(library.jit(workload.over(library))), x)
    return Contender(f"{length} instructions on {width}", call), workload.reference(x)


def slope(timings: list[Timing]) -> tuple[float, float]:
    """Seconds for an instruction and for the call itself: a straight line through the medians."""
    lengths = [int(timing.name.split()[0]) for timing in timings]
    each, fixed = np.polyfit(lengths, [timing.median for timing in timings], 1)
    return float(each), float(fixed)


def measure(settings: Settings) -> Outcome:
    """Fit a line to the time of a call over the length of its tape, for each width."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    entries = [_enter(length, width) for width in WIDTHS for length in LENGTHS]
    timings = race(
        [contender for contender, _ in entries], [answer for _, answer in entries], settings.budget
    )
    targets, notes = [], []
    for i, width in enumerate(WIDTHS):
        each, fixed = slope(timings[i * len(LENGTHS) : (i + 1) * len(LENGTHS)])
        what = f"an instruction, forward and reverse, on {width} element{'s' * (width > 1)}"
        targets.append(Target(what, each, 30e-9, "s"))
        notes.append(f"the line at no instructions, {width} wide: {fixed * 1e6:.2f} us")
    return Outcome(targets, timings, notes)


REPLAY = (Figure("replay", "Replay: time of one more instruction, tapes of 10 to 1,000", measure),)
