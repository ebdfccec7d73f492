"""The nouns of a figure: settings in, targets and timings out."""

from collections.abc import Callable
from dataclasses import dataclass, field

from perf.timer import QUICK, Pace, Timing


@dataclass(frozen=True)
class Settings:
    """What holds for a whole run."""

    quick: bool = False
    without: frozenset[str] = frozenset()  # packages to leave out

    @property
    def pace(self) -> Pace:
        return QUICK if self.quick else Pace()

    def fewer(self, thorough: int, quick: int) -> int:
        """`thorough` repeats, or `quick` ones."""
        return quick if self.quick else thorough


@dataclass(frozen=True)
class Target:
    """A measured number and the limit that it must keep; `measured` is None where a contender was missing."""

    what: str
    measured: float | None
    limit: float
    unit: str
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        reached = self.measured >= self.limit if self.at_least else self.measured <= self.limit
        return "reached" if reached else "missed"


@dataclass(frozen=True)
class Outcome:
    """What a figure found: targets, the timings behind them, and remarks."""

    targets: list[Target]
    timings: list[Timing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Figure:
    """One thing that is measured."""

    name: str
    title: str
    measure: Callable[[Settings], Outcome]
