"""Faults put into copies of the package, and whether random programs find them: ``make test-mutants``.

The table mutants.toml names a file, a text that stands in it once, and what stands there instead. The programs of
helpers/compositions run on a copy with that edit, in child processes, until one fails that passes on the package as it
is. ``python tests/mutants.py NAME ...`` takes these alone.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
sys.path.insert(0, str(TESTS))

from helpers.compositions.fuzz import Report, findings  # noqa: E402 - the folder of the tests comes first


@dataclass(frozen=True)
class Mutant:
    """An edit of one file, and what it breaks."""

    name: str
    file: str
    old: str
    new: str
    breaks: str

    @property
    def count(self) -> int:
        """How often the old text stands in the file: once, if the mutant is of this version."""
        return (ROOT / self.file).read_text().count(self.old)


@dataclass(frozen=True)
class Outcome:
    """The program that found a mutant, if one did: its number, and in which mode."""

    mutant: Mutant
    programs: int
    mode: str
    seconds: float

    def __str__(self) -> str:
        found = f"{self.programs:5d}  {self.mode}" if self.mode else f"{'-':>5}  escaped"
        return f"{self.mutant.name:32} {self.seconds:5.0f} s {found}"


def read_mutants(names: list[str]) -> list[Mutant]:
    """Return the mutants of the table, or those of some names."""
    table = tomllib.loads((TESTS / "mutants.toml").read_text())["mutant"]
    mutants = [Mutant(**row) for row in table]
    unknown = {*names} - {mutant.name for mutant in mutants}
    if unknown:
        raise SystemExit(f"no mutant of this name: {', '.join(sorted(unknown))}")
    return [mutant for mutant in mutants if not names or mutant.name in names]


@contextmanager
def mutated_package(mutant: Mutant) -> Iterator[dict[str, str]]:
    """Yield the environment of processes that import a copy of the package with the edit."""
    if mutant.count != 1:
        raise SystemExit(
            f"{mutant.name}: the old text stands {mutant.count} times in {mutant.file}, not once"
        )
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "tapegrad", Path(folder) / "tapegrad", ignore=ignored)
        file = Path(folder) / mutant.file
        file.write_text(file.read_text().replace(mutant.old, mutant.new))
        yield {"PYTHONPATH": folder}


def hunt(mutant: Mutant, first: int, count: int, show: bool, features: str = "") -> Outcome:
    """Run programs on a mutated package until one fails."""
    begin, seconds = time.monotonic(), 5.0 if show else 0.0
    with mutated_package(mutant) as environment:
        for report in findings(first, count, features, seconds, environment):
            if isinstance(report, Report) and not fails_unmutated(report.seed, features):
                if show:
                    print(report.text)
                return Outcome(mutant, report.seed - first + 1, report.mode, time.monotonic() - begin)
    return Outcome(mutant, count, "", time.monotonic() - begin)


def fails_unmutated(seed: int, features: str) -> bool:
    """Return whether the program of a seed fails on the package as it is, too."""
    reports = findings(seed, 1, features, 0.0, {"PYTHONPATH": str(ROOT)})
    return any(isinstance(report, Report) for report in reports)


def main() -> int:
    """Hunt the mutants, and print a table; return 1 if too many escape."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="mutants to try, all by default")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=2000, help="programs a mutant")
    parser.add_argument("--features", default="", help="features of all programs, separated by commas")
    parser.add_argument("--show", action="store_true", help="print the programs that find them, shrunk")
    options = parser.parse_args()
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    mutants, found = read_mutants(options.names), 0
    for mutant in mutants:
        outcome = hunt(mutant, options.first, options.count, options.show, options.features)
        found += bool(outcome.mode)
        print(outcome, flush=True)
    print(f"{found} of {len(mutants)} found, {found / max(len(mutants), 1):.0%}")
    return int(found < 0.95 * len(mutants))


if __name__ == "__main__":
    sys.exit(main())
