"""The published results: the last run of each figure that a page shows, and the blocks of that page made from them.

A block stands between two comments that name its figure, so that the prose around it is written by hand and its numbers
are not.
"""

import json
import re
from pathlib import Path
from typing import Any

from perf.report import Report, figure_markdown, machine_line

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "beside_others.md"
FOLDER = Path(__file__).parent / "published"  # one file a figure
_BLOCK = re.compile(r"(<!-- begin (?P<name>[\w-]+)[^>]*-->\n).*?(<!-- end (?P=name) -->)", re.DOTALL)


def publish(report: Report) -> list[str]:
    """Keep the results of this run, and make the page's blocks anew.

    Parameters
    ----------
    report : Report
        The outcomes of a whole run, which is what a page may show: those of `--quick` are refused by the caller.

    Returns
    -------
    list of str
        The names of the figures that were kept.
    """
    FOLDER.mkdir(exist_ok=True)
    for figure, outcome in report.outcomes:
        result = {"machine": report.machine, "markdown": figure_markdown(outcome)}
        (FOLDER / f"{figure.name}.json").write_text(json.dumps(result, indent=1) + "\n")
    PAGE.write_text(rendered(PAGE.read_text()))
    return [figure.name for figure, _ in report.outcomes]


def rendered(page: str) -> str:
    """Return a page with each of its blocks made from the published result of its figure."""
    return _BLOCK.sub(lambda block: block[1] + _block(block["name"]) + block[3], page)


def _block(name: str) -> str:
    file = FOLDER / f"{name}.json"
    if not file.exists():
        return f"\nNot published yet: `python -m perf {name}` measures it.\n\n"
    result: dict[str, Any] = json.loads(file.read_text())
    return f"\n{result['markdown']}\n\n{machine_line(result['machine'])}\n\n"
