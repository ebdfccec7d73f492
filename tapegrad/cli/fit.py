"""``tapegrad fit``."""

import argparse
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tapegrad import nist
from tapegrad.cli import table
from tapegrad.cli.progress import Progress


def _complain(text: str) -> int:
    """Say what is wrong with the command; its exit code."""
    print(f"tapegrad fit: {text}", file=sys.stderr)
    return 2


def _unknown(names: Sequence[str]) -> list[str]:
    """Those of `names` that are no problem's."""
    known = {name.lower() for name in nist.names()}
    return [name for name in names if name.lower() not in known]


def _chosen(names: Sequence[str]) -> list[nist.Problem]:
    """The problems of those names, each once; all problems if there are no names."""
    return list(dict.fromkeys(nist.load(name) for name in names or nist.names()))


def _fit_all(problems: Sequence[nist.Problem], starts: Sequence[int]) -> list[nist.Fit]:
    """Fit each problem from each starting point."""
    fits = []
    with Progress(len(problems) * len(starts)) as progress:
        for problem in problems:
            for start in starts:
                progress.step(f"fitting {problem.name} from start {start}")
                fits.append(nist.fit(problem, start))
    return fits


def _draw(fits: Sequence[nist.Fit], file: Path) -> int:
    """Draw the fits into `file`; the exit code."""
    from tapegrad.cli import plot

    try:
        plot.save(fits, file)
    except (OSError, ValueError) as error:  # ValueError: an extension that matplotlib cannot write
        return _complain(f"cannot draw: {error}")
    print(f"wrote {file}", file=sys.stderr)
    return 0


def run(options: argparse.Namespace) -> int:
    """Fit, report and draw; the exit code: 0 if every fit agrees, 1 if one does not, 2 for a bad request."""
    unknown = _unknown(options.names)
    if unknown:
        return _complain(
            f"unknown problem {', '.join(unknown)}; the known ones are {', '.join(nist.names())}"
        )
    if options.plot is not None and find_spec("matplotlib") is None:
        return _complain("--plot needs matplotlib: pip install 'tapegrad[plot]'")
    starts = (1, 2) if options.start == "both" else (int(options.start),)
    begun = time.perf_counter()
    fits = _fit_all(_chosen(options.names), starts)
    report = table.as_json if options.json else table.text
    print(report(fits, time.perf_counter() - begun), flush=True)
    if options.plot is not None and (code := _draw(fits, options.plot)):
        return code
    return 0 if all(map(table.agrees, fits)) else 1
