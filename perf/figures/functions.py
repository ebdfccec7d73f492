"""Differentiable functions, forwards and with their gradients, eager and replayed, beside torch and MyGrad."""

from dataclasses import replace

import numpy as np

from perf.figures.base import Figure, Outcome, Settings
from perf.figures.function_table import CONTENDERS, SIZES, means, name_of, slower, table, targets
from perf.function_calls import Call, calls
from perf.peers import Unavailable, tapegrad
from perf.peers.calls import PACKAGES, caller, vector
from perf.progress import progress
from perf.workloads import Answer, Array
from tapegrad.testing.timer import Budget, Contender, Timing, WrongAnswer, check, race


def value_of(call: Call, arrays: list[Array]) -> Answer | None:
    """Return NumPy's value; `None` where it has no such function."""
    try:
        return vector([call.first(np, *arrays)])
    except (AttributeError, TypeError, ValueError):
        return None


def _entered(
    name: str, call: Call, arrays: list[Array], backward: bool, without: frozenset[str]
) -> tuple[list[Contender], Answer | None, list[str]]:
    """Return the contenders that give the right answer, with it, and notes on those that do not.

    The answer is NumPy's. A gradient, and what NumPy does not have, must be the same of all that have it. A peer that
    has no such function, or another of that name, is left out.
    """
    answer = None if backward else value_of(call, arrays)
    entered, notes = [], []
    for kind in CONTENDERS:
        if PACKAGES[kind] in without:
            continue
        try:
            contender = caller(kind, tapegrad(), call, arrays, backward)
            answer = contender.read(contender.call()) if answer is None else answer
            check(contender, answer)
        except Exception as error:
            if PACKAGES[kind] == "tapegrad" or isinstance(error, WrongAnswer):
                notes.append(f"{name}, {kind}: {type(error).__name__}: {error}")
        else:
            entered.append(contender)
    return entered, answer, notes


def times(
    call: Call, name: str, n: int, settings: Settings, budget: Budget
) -> tuple[list[Timing], list[str]]:
    """Return the timings of a function at a size, forwards and then with the gradient."""
    arrays, timings, notes = call.arrays(n), [], []
    for direction in ("forward", "gradient"):
        contenders, answer, said = _entered(name, call, arrays, direction == "gradient", settings.without)
        notes += said
        if contenders and answer is not None:
            found = race(contenders, answer, budget)
            timings += [replace(each, name=name_of((name, n, direction), each.name)) for each in found]
    return timings, notes


def measure(settings: Settings) -> Outcome:
    """Measure every function at every size."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    budget = Budget(0.001, 0.004, (3, 5)) if settings.quick else Budget(0.003, 0.06, (5, 15))
    timings, notes = [], []
    for name in progress(calls()):
        for n in SIZES:
            found, said = times(calls()[name], name, n, settings, budget)
            timings += found
            notes += said if n == SIZES[0] else []
    return Outcome(targets(timings), timings, [*means(timings), *slower(timings), *notes], table(timings))


FUNCTIONS = (
    Figure("functions", "Every function that differentiates, forwards and with its gradient", measure),
)
