"""``tapegrad fit``."""

import argparse
import difflib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from tapegrad.cli import pictures, table
from tapegrad.cli.errors import CommandError
from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.examples import nist

Item = TypeVar("Item")


def with_progress(items: Sequence[Item], describe: Callable[[Item], str]) -> Iterator[Item]:
    """Yield `items`, and show on a terminal which of them is in work, in one line that is written over."""
    with Progress(delay=0.0) as line:
        for number, item in enumerate(items, 1):
            line.show(f"[{number}/{len(items)}] {describe(item)}")
            yield item


def _unknown(names: Sequence[str]) -> list[str]:
    """Return those of `names` that no problem has."""
    known = {name.lower() for name in nist.names()}
    return [name for name in names if name.lower() not in known]


def _suggestion(name: str) -> str:
    """Quote an unknown name, with the known names that are close to it."""
    known = {known.lower(): known for known in nist.names()}
    near = [known[found] for found in difflib.get_close_matches(name.lower(), known)]
    return f"{name!r} (did you mean {' or '.join(near)}?)" if near else repr(name)


def _problems(names: Sequence[str]) -> list[nist.Problem]:
    """Return the problems of those names without repetitions; all problems if there are no names."""
    return list(dict.fromkeys(nist.load(name) for name in names or nist.names()))


def _fit_all(problems: Sequence[nist.Problem], starts: Sequence[int]) -> list[nist.Fit]:
    """Fit each problem from each starting point."""
    runs = list(itertools.product(problems, starts))
    steps = with_progress(runs, lambda run: f"fitting {run[0].name} from start {run[1]}")
    return [nist.fit(problem, start) for problem, start in steps]


def _draw(fits: Sequence[nist.Fit], file: Path) -> None:
    from tapegrad.cli import plot

    pictures.save(plot.draw(fits), file)


def run(options: argparse.Namespace) -> int:
    """Fit, report and draw. Return 0 if every fit agrees, 1 if one does not."""
    unknown = _unknown(options.names)
    if unknown:
        listed = ", ".join(map(_suggestion, unknown))
        raise CommandError(f"unknown problem {listed}; the known ones are {', '.join(nist.names())}")
    file = pictures.checked(options.plot)
    starts = (1, 2) if options.start == "both" else (int(options.start),)
    begun = time.perf_counter()
    fits = _fit_all(_problems(options.names), starts)
    report = table.as_json if options.json else table.text
    print(report(fits, time.perf_counter() - begun), flush=True)
    if file is not None:
        _draw(fits, file)
    return 0 if all(map(table.agrees, fits)) else 1
