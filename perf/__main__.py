"""``python -m perf [NAME ...] [OPTIONS]``, of which ``--help`` tells."""

import argparse
import json
import os
import sys
from pathlib import Path

from perf.environment import configure
from perf.figures import FIGURES, Figure, Settings
from perf.machine import describe
from perf.peers import Unavailable, tapegrad
from perf.published import publish
from perf.report import Report, figure_text

_FOLDER = Path(__file__).parent


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m perf", description="Measure tapegrad beside its peers.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"figures, or the first word of several, as in `small`; all by default: {', '.join(FIGURES)}",
    )
    parser.add_argument("--quick", action="store_true", help="shorter: noisier figures, smaller loops")
    parser.add_argument(
        "--without", default="", metavar="PACKAGES", help="packages to leave out, e.g. torch,jax"
    )
    parser.add_argument("--json", type=Path, default=_FOLDER / "results.json", metavar="FILE")
    parser.add_argument("--markdown", type=Path, default=_FOLDER / "results.md", metavar="FILE")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TAPEGRAD_DATA"),
        metavar="FOLDER",
        help="copies of public repositories that benchmarks take their data from (TAPEGRAD_DATA)",
    )
    parser.add_argument(
        "--publish", action="store_true", help="keep the results for the page of public benchmarks"
    )
    arguments = parser.parse_args(words)
    unknown = [name for name in arguments.names if not figures_named(name)]
    if unknown:
        parser.error(f"no figure named {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    if arguments.publish and arguments.quick:
        parser.error("a page shows whole runs: --publish without --quick")
    arguments.names = [name for given in arguments.names or FIGURES for name in figures_named(given)]
    return arguments


def figures_named(name: str) -> list[str]:
    """Return the figure of this name, or else all whose names it begins."""
    return [name] if name in FIGURES else [each for each in FIGURES if each.startswith(f"{name}-")]


def _measure(figure: Figure, settings: Settings, report: Report) -> None:
    """Run one figure; one that fails does not stop the others."""
    print(f"... {figure.title}", file=sys.stderr, flush=True)
    try:
        outcome = figure.measure(settings)
    except Unavailable as reason:
        report.failures.append((figure, str(reason)))
    except Exception as error:
        report.failures.append((figure, f"{type(error).__name__}: {error}"))
    else:
        report.outcomes.append((figure, outcome))
        print(figure_text(figure, outcome), end="\n\n", file=sys.stderr, flush=True)


def main(words: list[str] | None = None) -> int:
    """Measure, print, write; 1 if a figure failed or an answer was wrong. A missed target is no failure."""
    arguments = _arguments(words)
    settings = Settings(
        arguments.quick, frozenset(filter(None, arguments.without.split(","))), arguments.data
    )
    configure()
    if "tapegrad" not in settings.without:
        try:
            tapegrad()
        except RuntimeError as error:
            print(f"perf: {error}", file=sys.stderr)
            return 2
    report = Report(describe())
    for name in arguments.names:
        _measure(FIGURES[name], settings, report)
    print(report.text())
    arguments.json.write_text(json.dumps(report.json(), indent=1) + "\n")
    arguments.markdown.write_text(report.markdown())
    if arguments.publish:
        print("published:", ", ".join(publish(report)))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
