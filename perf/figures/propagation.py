"""Uncertainties of a hundred thousand results: `propagate`, beside the package `uncertainties` and by hand."""

from functools import partial

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, load, tapegrad
from perf.workloads import Answer, Array
from tapegrad.testing.timer import Contender, race

_N = 100_000
_DEVIATION = 0.1


def _by_hand(x: Array) -> tuple[Array, Array]:
    return x**2, np.abs(2 * x) * _DEVIATION


def _by_uncertainties(x: Array) -> Contender | None:
    """Return the contender that makes an object of each number, and reads values and deviations out of them."""
    try:
        unumpy = load("uncertainties.unumpy")
    except Unavailable:
        return None
    values = unumpy.uarray(x, np.full(len(x), _DEVIATION))

    def compute() -> Answer:
        squares = values**2
        return unumpy.nominal_values(squares), unumpy.std_devs(squares)

    return Contender("uncertainties", compute, lambda found: found)


def _squares(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    x = np.linspace(0.5, 1.5, _N)
    answer = _by_hand(x)
    propagate, std = tapegrad().propagate, np.full(_N, _DEVIATION)
    second = answer[0] + _DEVIATION**2, np.sqrt(answer[1] ** 2 + 2 * _DEVIATION**4)
    contenders = [
        Contender(f"propagate, order={order}", partial(propagate, np.square, x, std=std, order=order), _read)
        for order in (1, 2)
    ]
    contenders.append(Contender("by hand", partial(_by_hand, x), lambda found: found))
    answers: list[Answer] = [answer, second, answer]
    if "uncertainties" not in settings.without and (peer := _by_uncertainties(x)) is not None:
        contenders.append(peer)
        answers.append(answer)
    timings = race(contenders, answers, settings.budget)
    medians = {timing.name: timing.median for timing in timings}
    first = medians["propagate, order=1"]
    targets = [
        Target("of uncertainties", first / medians[name], 0.01, "x")
        for name in medians.keys() & {"uncertainties"}
    ]
    return Outcome(targets, timings)


def _read(found: object) -> Answer:
    return found.values, found.std  # type: ignore[attr-defined]  # a Propagation, of a library that is loaded later


PROPAGATION = (
    Figure(
        "propagate-squares", f"Values and deviations of the squares of {_N:,} independent numbers", _squares
    ),
)
