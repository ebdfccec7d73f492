"""``tapegrad fit``."""

import argparse
import difflib
import itertools
import os
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tapegrad.cli import table
from tapegrad.cli.progress import with_progress
from tapegrad.examples import nist


def _error(text: str) -> int:
    """Print an error and return the exit code for it."""
    print(f"tapegrad fit: {text}", file=sys.stderr)
    return 2


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


def _with_extension(file: Path) -> Path:
    """Return the file to write: one without an extension gets ``.png``."""
    if file.is_dir():
        return file
    file = file.with_name(file.name.rstrip(".") or file.name)
    return file if file.suffix else file.with_name(file.name + ".png")


def _plot_error(file: Path) -> str:
    """Return why the plot cannot be written, or an empty string. It is asked before the fits, which take long."""
    if find_spec("matplotlib") is None:
        return "--plot needs matplotlib: pip install matplotlib"
    from tapegrad.cli import plot

    formats = plot.formats()
    if file.is_dir():
        return f"cannot draw {file}: it is a folder"
    if file.suffix[1:].lower() not in formats:
        return f"cannot draw {file}: matplotlib writes {', '.join(formats)}"
    if not file.parent.is_dir():
        return f"cannot draw {file}: there is no folder {file.parent}"
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        return f"cannot draw {file}: it cannot be written"
    return ""


def _draw(fits: Sequence[nist.Fit], file: Path) -> int:
    """Draw the fits to `file` and return the exit code."""
    from tapegrad.cli import plot

    try:
        plot.save(fits, file)
    except OSError as error:
        return _error(f"cannot draw {file}: {error.strerror or error}")
    print(f"wrote {file}", file=sys.stderr)
    return 0


def run(options: argparse.Namespace) -> int:
    """Fit, report and draw. Return 0 if every fit agrees, 1 if one does not, 2 for a wrong command line."""
    unknown = _unknown(options.names)
    if unknown:
        listed = ", ".join(map(_suggestion, unknown))
        return _error(f"unknown problem {listed}; the known ones are {', '.join(nist.names())}")
    file = None if options.plot is None else _with_extension(options.plot)
    if file is not None and (reason := _plot_error(file)):
        return _error(reason)
    starts = (1, 2) if options.start == "both" else (int(options.start),)
    begun = time.perf_counter()
    fits = _fit_all(_problems(options.names), starts)
    report = table.as_json if options.json else table.text
    print(report(fits, time.perf_counter() - begun), flush=True)
    if file is not None and (code := _draw(fits, file)):
        return code
    return 0 if all(map(table.agrees, fits)) else 1
