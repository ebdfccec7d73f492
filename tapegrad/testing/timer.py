"""Timer of contenders, which take turns in one process.

Contenders run short batches of calls, in a new random order each round, so that whatever else the machine does hits
all of them alike. Every answer is checked against the reference before any is timed.
"""

import gc
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

Answer: TypeAlias = tuple[float | np.ndarray, ...]  # a value and its gradient, or one array


class WrongAnswer(ArithmeticError):
    """A contender's answer is not the reference's: the text names the contender and the difference."""


@dataclass(frozen=True)
class Contender:
    """Call that is timed beside others.

    Attributes
    ----------
    name
        In messages and results.
    call
        What is timed.
    read
        Turns the result into numbers and NumPy arrays. It is not timed.
    before
        Called before each batch, to set what contenders of one library share. It is not timed.
    """

    name: str
    call: Callable[[], Any]
    read: Callable[[Any], Answer] = itemgetter(0, 1)
    before: Callable[[], object] = int  # that is, nothing


@dataclass(frozen=True)
class Budget:
    """Budget of a measurement: seconds for each batch and each contender, and the bounds on the rounds."""

    batch: float = 0.005
    contender: float = 1.0
    rounds: tuple[int, int] = (9, 200)


QUICK = Budget(batch=0.002, contender=0.1, rounds=(5, 25))


@dataclass(frozen=True)
class Timing:
    """Times of a contender: seconds of one call, over rounds of many calls.

    Attributes
    ----------
    name : str
        The contender.
    median, low, high : float
        Of the rounds: the median, the lower and the upper quartile.
    rounds, calls : int
        Number of rounds, and of calls in each of them.
    seconds : tuple of float
        All rounds.
    quantity, first : str, float
        Of a benchmark: ``value``, ``gradient`` or ``hvp``, and the time of the first call.
    """

    name: str
    median: float
    low: float
    high: float
    rounds: int
    calls: int
    seconds: tuple[float, ...] = ()
    quantity: str = ""
    first: float = math.nan

    @property
    def minimum(self) -> float:
        """Time of the fastest round."""
        return min(self.seconds)


def check(contender: Contender, reference: Answer, tolerance: float = 1e-9) -> None:
    """Raise `WrongAnswer` unless the contender gives the reference's answer."""
    compare(contender.name, contender.read(contender.call()), reference, tolerance)


def compare(name: str, answer: Answer, reference: Answer, tolerance: float, what: str = "result") -> None:
    """Raise `WrongAnswer` unless an answer is the reference: value and gradient, or one array."""
    names = ("value", "gradient") if len(reference) == 2 else (what,)
    for what, got, wanted in zip(names, map(np.asarray, answer), map(np.asarray, reference), strict=True):
        if got.shape != wanted.shape:
            raise WrongAnswer(f"{name}: {what} of shape {got.shape} instead of {wanted.shape}")
        error = np.max(np.abs(got - wanted), initial=0.0) / np.max(np.abs(wanted), initial=1e-300)
        if not error <= tolerance:  # written so that NaN is wrong, too
            raise WrongAnswer(f"{name}: the {what} is off by {error:.1e} of its largest element")


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
    return take_turns(contenders, budget)


def take_turns(contenders: Sequence[Contender], budget: Budget) -> list[Timing]:
    """Time contenders, whose answers have been checked, in turns."""
    gc.collect()
    calls = [_calibrate(contender, budget.batch) for contender in contenders]
    samples: list[list[float]] = [[] for _ in contenders]
    order = list(range(len(contenders)))
    shuffle = random.Random(0).shuffle
    deadline = perf_counter() + budget.contender * len(order)
    for done in range(budget.rounds[1]):
        if done >= budget.rounds[0] and perf_counter() > deadline:
            break
        shuffle(order)
        for i in order:
            samples[i].append(_batch(contenders[i], calls[i]))
    return [_timing(*row) for row in zip(contenders, calls, samples, strict=True)]


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


def _timing(contender: Contender, calls: int, samples: list[float]) -> Timing:
    low, median, high = (float(q) for q in np.quantile(samples, (0.25, 0.5, 0.75)))
    return Timing(contender.name, median, low, high, len(samples), calls, tuple(samples))
