"""Residuals with a clock: how much of a fit is spent in the functions that are replayed."""

import time
from typing import Any

import tapegrad as tg
from tapegrad.examples.nist.problems import Array


class TimedResiduals(tg.optimize.Residuals):
    """What `tapegrad.optimize.residuals` makes of a function, with the time of the replays added up.

    The first call of `fun` and of `jac` records, and may compile, so it does not count.
    """

    seconds = 0.0
    recorded: frozenset[str] = frozenset()

    def fun(self, x: Any, *args: Any, **kwargs: Any) -> Array:
        begun = time.perf_counter()
        values = super().fun(x, *args, **kwargs)
        self._count("fun", begun)
        return values

    def jac(self, x: Any, *args: Any, **kwargs: Any) -> Array:
        begun = time.perf_counter()
        rows = super().jac(x, *args, **kwargs)
        self._count("jac", begun)
        return rows

    def _count(self, kind: str, begun: float) -> None:
        if kind in self.recorded:
            self.seconds += time.perf_counter() - begun
        self.recorded |= {kind}
