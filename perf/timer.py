"""Timer of all contenders.

The contenders of a race take turns in short batches, in a new random order each round, so that whatever else
the machine does hits all of them alike. Every answer is checked against the reference before any is timed.
"""

import gc
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter
from typing import Any

import numpy as np

from perf.workloads import Answer


class WrongAnswer(ArithmeticError):
    """A contender's answer is not the reference's."""


def _plain(result: Any) -> Answer:
    return result[0], result[1]


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Contender:
    """`call` is what is timed.

    Not timed: `read`, which turns its result into numbers and NumPy arrays, and `before`, called before each
    batch to set what contenders of one library share.
    """

    name: str
    call: Callable[[], Any]
    read: Callable[[Any], Answer] = _plain
    before: Callable[[], object] = _nothing


@dataclass(frozen=True)
class Budget:
    """Budget of a measurement: seconds for each batch and each contender, and the bounds on the rounds."""

    batch: float = 0.005
    contender: float = 1.0
    rounds: tuple[int, int] = (9, 200)


QUICK = Budget(batch=0.002, contender=0.1, rounds=(5, 25))


@dataclass(frozen=True)
class Timing:
    """Seconds for one call: median and quartiles over the rounds."""

    name: str
    median: float
    low: float
    high: float
    rounds: int
    calls: int


def check(contender: Contender, reference: Answer, tolerance: float = 1e-9) -> None:
    """Raise `WrongAnswer` unless the contender gives the reference's answer."""
    names = ("value", "gradient") if len(reference) == 2 else ("result",)
    for what, got, wanted in zip(names, contender.read(contender.call()), reference, strict=True):
        got, wanted = np.asarray(got), np.asarray(wanted)
        if got.shape != wanted.shape:
            raise WrongAnswer(f"{contender.name}: {what} of shape {got.shape} instead of {wanted.shape}")
        error = np.max(np.abs(got - wanted)) / max(np.max(np.abs(wanted)), 1e-300)
        if not error <= tolerance:  # written so that NaN is wrong, too
            raise WrongAnswer(f"{contender.name}: the {what} is off by {error:.1e} of its largest element")


def race(
    contenders: Sequence[Contender],
    references: Sequence[Answer] | Answer,
    budget: Budget | None = None,
    tolerance: float = 1e-9,
) -> list[Timing]:
    """Check, then time `contenders` in turns.

    Parameters
    ----------
    contenders : sequence of Contender
        What is timed.
    references : Answer or sequence of Answer
        The right answer: one for all, or a list with one for each contender.
    budget : Budget, optional
        How long to measure.
    tolerance : float, optional
        How far an answer may be off, by its largest element.

    Returns
    -------
    list of Timing
        One for each contender, in their order.
    """
    budget = budget or Budget()
    answers = references if isinstance(references, list) else [references] * len(contenders)
    for contender, answer in zip(contenders, answers, strict=True):
        check(contender, answer, tolerance)
    gc.collect()
    calls = [_calibrate(contender, budget.batch) for contender in contenders]
    rounds = _rounds(contenders, calls, budget)
    return [_timing(*row) for row in zip(contenders, calls, rounds, strict=True)]


def _batch(contender: Contender, count: int) -> float:
    """Seconds for one call, over `count` of them; one more before them brings its data back to the caches."""
    call = contender.call
    contender.before()
    call()
    start = perf_counter()
    for _ in repeat(None, count):
        call()
    return (perf_counter() - start) / count


def _calibrate(contender: Contender, seconds: float) -> int:
    """Warm up, and find how many calls fill a batch."""
    count = 1
    while (each := _batch(contender, count)) * count < seconds:
        count = max(2 * count, int(seconds / each / 2))
    return max(1, round(seconds / each))


def _rounds(contenders: Sequence[Contender], calls: list[int], budget: Budget) -> list[list[float]]:
    """Seconds a call, for each contender and round."""
    order = list(range(len(contenders)))
    samples: list[list[float]] = [[] for _ in order]
    shuffle = random.Random(0).shuffle
    deadline = perf_counter() + budget.contender * len(order)
    for done in range(budget.rounds[1]):
        if done >= budget.rounds[0] and perf_counter() > deadline:
            break
        shuffle(order)
        for i in order:
            samples[i].append(_batch(contenders[i], calls[i]))
    return samples


def _timing(contender: Contender, calls: int, samples: list[float]) -> Timing:
    low, median, high = (float(q) for q in np.quantile(samples, (0.25, 0.5, 0.75)))
    return Timing(contender.name, median, low, high, len(samples), calls)
