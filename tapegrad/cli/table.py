"""Fits as a table, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tapegrad.examples.nist import Fit, load

AGREEING = 6.0  # digits from which on a fit counts as agreeing
_TITLES = (
    "problem",
    "difficulty",
    "start",
    "f evals",
    "J evals",
    "ms",
    "in f, J",
    "digits",
    "residual sum of squares",
)


def agrees(fit: Fit) -> bool:
    """Return whether the fit has the certified parameters."""
    return fit.digits >= AGREEING


def _cells(fit: Fit) -> tuple[str, ...]:
    """Return the row of one fit."""
    digits = f"{fit.digits:.1f}" if agrees(fit) else f"{fit.digits:.1f} !"
    counts = (str(fit.start), str(fit.nfev), str(fit.njev))
    times = (f"{fit.milliseconds:.1f}", f"{fit.function_milliseconds:.1f}")
    return (fit.name, fit.level, *counts, *times, digits, f"{fit.rss:.10e}")


def total(fits: Sequence[Fit], seconds: float) -> str:
    """Return the line under the table."""
    noun = "fit" if len(fits) == 1 else "fits"
    agreeing = sum(map(agrees, fits))
    calls = f"{sum(fit.nfev for fit in fits)} residuals and {sum(fit.njev for fit in fits)} Jacobians"
    return (
        f"{len(fits)} {noun}, {agreeing} agree to {AGREEING:.0f} digits or more, {seconds:.2f} s, of which"
        f" {function_seconds(fits):.2f} s replaying {calls}"
    )


def function_seconds(fits: Sequence[Fit]) -> float:
    """Return the time spent in replays of residuals and Jacobians."""
    return 1e-3 * sum(fit.function_milliseconds for fit in fits)


def text(fits: Sequence[Fit], seconds: float) -> str:
    """Return the table with its total: words aligned left, numbers right."""
    rows = [_TITLES, *map(_cells, fits)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * width for width in widths))
    lines = []
    for row in rows:
        cells = zip(row, widths, range(len(row)), strict=True)
        aligned = (cell.ljust(width) if i < 2 else cell.rjust(width) for cell, width, i in cells)
        lines.append("  ".join(aligned).rstrip())
    return "\n".join([*lines, "", total(fits, seconds)])


def _plain(fit: Fit) -> dict[str, Any]:
    """Return the fit as a dict of types that JSON has."""
    certified = load(fit.name).certified.tolist()
    return {
        **asdict(fit),
        "parameters": fit.parameters.tolist(),
        "certified": certified,
        "agrees": agrees(fit),
    }


def as_json(fits: Sequence[Fit], seconds: float) -> str:
    """Return the fits and their total as JSON."""
    summary = {
        "fits": len(fits),
        "agreeing": sum(map(agrees, fits)),
        "seconds": seconds,
        "function_seconds": function_seconds(fits),
    }
    return json.dumps({"fits": [_plain(fit) for fit in fits], "total": summary}, indent=2)
