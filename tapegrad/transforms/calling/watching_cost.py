"""A warning where a function takes longer to compare what it sees than to replay."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.runtime.short_times import nanoseconds, quantity
from tapegrad.errors import name_of
from tapegrad.program.passes.op_facts import CALLS
from tapegrad.program.traces.watched import watched_in

CHEAP_NS: float = 2_000  # comparisons that take less are not told of
_LONG_NS = 50_000_000  # a first replay of this length is not repeated to be measured
_MAX_TOLD, _MIN_SHARE = 3, 10  # names of what is dearest; a tenth of the time at least
_MAX_MEASURED = 20  # of what is compared, the largest: each takes as long as some thousand comparisons


def tell_of_dear_watching(function: Any, trace: Any, path: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Warn, once for a function and its transforms, if a replay takes less time than the comparisons before it.

    This is measured when a fast path is made, which takes as long as twenty calls of it.
    """
    if "watching" in function.traces.told:
        return
    cost = function.captured.cost
    if cost < CHEAP_NS or trace.nanoseconds > _LONG_NS or _calls_python(trace):
        return
    replay = nanoseconds(functools.partial(path, *args), 2 * cost) - cost
    if cost > replay:
        function.traces.tell_once("watching", _message(function, cost, replay))


def _calls_python(trace: Any) -> bool:
    """Return whether a replay calls Python, which may count its calls, or print."""
    return bool(np.isin(trace.recording.column("op"), CALLS).any())


def _message(function: Any, cost: float, replay: float) -> str:
    name, items = name_of(function.function), watched_in("", [function.captured], _MAX_MEASURED)[:_MAX_TOLD]
    dearest = [item for item in items if item.ns * _MIN_SHARE >= cost] or items[:1]
    listed = ", ".join(f"{item.name} ({item.items:,} items, {quantity(item.ns)})" for item in dearest)
    return (
        f"jit({name}) compares what {name} sees for {quantity(cost)} before each replay, which takes"
        f" {quantity(max(replay, 0.0))} itself: {listed}. Pass large tables as arguments, or keep them as arrays or"
        f" tuples; tg.compile({name}, ...) compares nothing. jit({name}).watched() lists all of it"
    )
