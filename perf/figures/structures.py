"""Cost of passing arrays in a structure instead of one by one: value and gradient of each, by replay."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, tapegrad
from perf.workloads import Answer, Array
from tapegrad.testing.timer import Contender, race

LEAVES = (1, 2, 7)
_SIZE = 8
_MAX_CALL_S = 5e-6  # of a call with a dict of seven arrays
_MORE = 0.15e-6  # than by position, for each array


def _layers(arrays: list[Array]) -> dict[str, Any]:
    """Return arrays in layers of two, as those of a network."""
    pairs = [tuple(arrays[k : k + 2]) for k in range(0, len(arrays), 2)]
    return {"layers": [dict(zip("wb", pair, strict=False)) for pair in pairs]}


FORMS: dict[str, Callable[[list[Array]], tuple[Any, ...]]] = {
    "by position": tuple,
    "a dict": lambda arrays: ({f"p{k}": array for k, array in enumerate(arrays)},),
    "a list": lambda arrays: (arrays,),
    "layers": lambda arrays: (_layers(arrays),),
}


def _leaves(structure: Any) -> list[Any]:
    parts = structure.values() if isinstance(structure, dict) else structure
    return (
        [leaf for part in parts for leaf in _leaves(part)]
        if isinstance(structure, dict | list | tuple)
        else [structure]
    )


def _sum_of_squares(xp: Any, *args: Any) -> Any:
    return sum(xp.sum(leaf**2) for leaf in _leaves(args))


def _read(result: tuple[Any, Any]) -> Answer:
    value, gradient = result
    return value, np.concatenate(_leaves(gradient))


def _enter(form: str, count: int) -> tuple[Contender, Answer]:
    library, arrays = tapegrad(), list(np.random.default_rng(count).uniform(-1.0, 1.0, (count, _SIZE)))
    args = FORMS[form](arrays)
    gradient = library.value_and_grad(library.jit(partial(_sum_of_squares, library)), tuple(range(len(args))))
    call = partial(gradient, *args)
    reference = np.concatenate(arrays)
    name = f"{form}, {count} array{'s' * (count > 1)}"
    return Contender(name, call, _read), (reference @ reference, 2 * reference)


def measure(settings: Settings) -> Outcome:
    """Compare calls with structures of one, two and seven arrays with calls by position."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    entries = {(form, count): _enter(form, count) for count in LEAVES for form in FORMS}
    contenders, answers = zip(*entries.values(), strict=True)
    timings = race(list(contenders), list(answers), settings.budget)
    medians = dict(zip(entries, [timing.median for timing in timings], strict=True))
    targets = [Target("a dict of 7 arrays", medians["a dict", 7], _MAX_CALL_S, "s")]
    for form in list(FORMS)[1:]:
        more = (medians[form, 7] - medians["by position", 7]) / 7
        targets.append(Target(f"{form}: more than by position, an array", more, _MORE, "s"))
    return Outcome(targets, timings)


STRUCTURES = (
    Figure("structures", "Arguments in dicts and lists: value and gradient of arrays of eight", measure),
)
