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
    "native evals",
    "ms",
    "digits",
    "residual sum of squares",
)


def agrees(fit: Fit) -> bool:
    """Return whether both fits, SciPy's and that by compiled code, have the certified parameters."""
    return min(fit.digits, fit.native_digits) >= AGREEING


def _cells(fit: Fit) -> tuple[str, ...]:
    """Return the row of one fit."""
    counts = (str(fit.start), str(fit.nfev), str(fit.njev))
    times = (f"{fit.milliseconds:.1f}", f"{fit.function_milliseconds:.1f}")
    native = (str(fit.native_nfev), f"{fit.native_milliseconds:.2f}", _digits(fit.native_digits))
    return (fit.name, fit.level, *counts, *times, _digits(fit.digits), *native, f"{fit.native_rss:.10e}")


def _digits(digits: float) -> str:
    return f"{digits:.1f}" if digits >= AGREEING else f"{digits:.1f} !"


def total(fits: Sequence[Fit], seconds: float) -> str:
    """Return the lines under the table: SciPy's fits, and those by compiled code."""
    noun = "fit" if len(fits) == 1 else "fits"
    agreeing = sum(map(agrees, fits))
    calls = f"{sum(fit.nfev for fit in fits)} residuals and {sum(fit.njev for fit in fits)} Jacobians"
    return (
        f"{len(fits)} {noun}, {agreeing} agree to {AGREEING:.0f} digits or more, {seconds:.2f} s, of which"
        f" {function_seconds(fits):.2f} s replaying {calls} for SciPy\n"
        f"native: {native_seconds(fits):.3f} s in all, with {sum(fit.native_nfev for fit in fits)} evaluations of"
        " residuals and Jacobian"
    )


def native_seconds(fits: Sequence[Fit]) -> float:
    """Return the time spent in fits by compiled code."""
    return 1e-3 * sum(fit.native_milliseconds for fit in fits)


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
        "native_parameters": fit.native_parameters.tolist(),
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
        "native_seconds": native_seconds(fits),
    }
    return json.dumps({"fits": [_plain(fit) for fit in fits], "total": summary}, indent=2)
