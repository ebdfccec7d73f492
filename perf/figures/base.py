"""The nouns of a figure: settings in, targets and timings out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from perf.peers import Unavailable
from tapegrad.testing.timer import QUICK, Budget, Timing


@dataclass(frozen=True)
class Settings:
    """Settings of a whole run."""

    quick: bool = False
    without: frozenset[str] = frozenset()  # packages to leave out
    data: Path | None = None  # folder with the data of public benchmarks

    @property
    def budget(self) -> Budget:
        return QUICK if self.quick else Budget()

    def beside(self, repository: str, how: str) -> Path | None:
        """Return the copy of a public repository in the folder of data.

        Parameters
        ----------
        repository : str
            Name of its folder.
        how : str
            One line that says how to get it.

        Returns
        -------
        Path or None
            `None` of a quick run without it, which takes the smallest cases, those in this tree.

        Raises
        ------
        Unavailable
            Of a whole run, if it is not there.
        """
        folder = self.data / repository if self.data else None
        if folder is not None and folder.is_dir():
            return folder
        if self.quick:
            return None
        raise Unavailable(f"no {repository} in the folder of data (--data FOLDER or TAPEGRAD_DATA); {how}")

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


def times_faster(subject: str, rivals: Iterable[tuple[str, float]], timings: list[Timing]) -> list[Target]:
    """Return the targets that `subject` is faster than each rival by so many times.

    A rival is named by how its contenders begin; of several, the fastest counts.
    """
    medians = {timing.name: timing.median for timing in timings}
    own, found = medians.get(subject), []
    for rival, times in rivals:
        theirs = [median for name, median in medians.items() if name.startswith(rival) and name != subject]
        ratio = min(theirs) / own if own and theirs else None
        found.append(Target(f"times faster than {rival}", ratio, times, "x", at_least=True))
    return found


@dataclass(frozen=True)
class Outcome:
    """Outcome of a figure: targets, the timings behind them, and remarks."""

    targets: list[Target]
    timings: list[Timing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # In place of the timings; the first row is the head
    table: list[tuple[str, ...]] = field(default_factory=list)


@dataclass(frozen=True)
class Figure:
    """Figure: one measurement."""

    name: str
    title: str
    measure: Callable[[Settings], Outcome]
