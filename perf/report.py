"""The results: as a table for the terminal, as JSON, as Markdown."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from perf.figures.base import Figure, Outcome, Target
from perf.quantities import quantity
from tapegrad.testing.timer import Timing

_TARGET_HEAD = ("measured", "target", "verdict", "what")
_TIMING_HEAD = ("median", "quartiles", "contender")


@dataclass
class Report:
    """Report of every figure of a run: its outcome, or why it failed."""

    machine: dict[str, Any]
    outcomes: list[tuple[Figure, Outcome]] = field(default_factory=list)
    failures: list[tuple[Figure, str]] = field(default_factory=list)

    def text(self) -> str:
        """Format the report for the terminal."""
        parts = [machine_line(self.machine)]
        for figure, outcome in self.outcomes:
            parts.append(figure_text(figure, outcome))
        parts += [f"{figure.title}\n  FAILED: {reason}" for figure, reason in self.failures]
        return "\n\n".join([*parts, self.summary()])

    def markdown(self) -> str:
        """Format the report for a page: first all targets, then the timings of each figure."""
        rows = [
            (figure.title, target.what, *_target(target)[:3])
            for figure, outcome in self.outcomes
            for target in outcome.targets
        ]
        parts = [
            "# Measured",
            machine_line(self.machine),
            _pipes(("figure", "what", *_TARGET_HEAD[:3]), rows),
        ]
        for figure, outcome in self.outcomes:
            parts += [f"## {figure.title}", *_details(outcome)]
        parts += [f"## {figure.title}\n\nFailed: {reason}" for figure, reason in self.failures]
        return "\n\n".join([*parts, self.summary()]) + "\n"

    def json(self) -> dict[str, Any]:
        """Everything, as data; times in seconds."""
        figures = [
            {
                "name": figure.name,
                "title": figure.title,
                "targets": [asdict(target) | {"verdict": target.verdict} for target in outcome.targets],
                "timings": [_plain(timing) for timing in outcome.timings],
                "notes": outcome.notes,
            }
            for figure, outcome in self.outcomes
        ]
        failures = [{"name": figure.name, "reason": reason} for figure, reason in self.failures]
        return {"machine": self.machine, "figures": figures, "failures": failures}

    def summary(self) -> str:
        """Return one line: how many targets are reached."""
        verdicts = [target.verdict for _, outcome in self.outcomes for target in outcome.targets]
        counts = [f"{verdicts.count(kind)} {kind}" for kind in ("reached", "missed", "not measured")]
        return f"{len(verdicts)} targets: {', '.join(counts)}; {len(self.failures)} figures failed"


def figure_text(figure: Figure, outcome: Outcome) -> str:
    """Format one figure for the terminal."""
    parts = [figure.title]
    if outcome.targets:
        parts.append(_columns(_TARGET_HEAD, [_target(target) for target in outcome.targets]))
    if outcome.table:
        parts.append(_columns(outcome.table[0], outcome.table[1:]))
    elif outcome.timings:
        parts.append(_columns(_TIMING_HEAD, [_timing(timing) for timing in outcome.timings]))
    return "\n".join([*parts, *(f"  - {note}" for note in outcome.notes)])


def figure_markdown(outcome: Outcome) -> str:
    """Format one figure for a page: its targets, then what it measured."""
    targets = [_target(target) for target in outcome.targets]
    parts = [_pipes(_TARGET_HEAD, targets)] if targets else []
    return "\n\n".join([*parts, *_details(outcome)])


def _details(outcome: Outcome) -> list[str]:
    """Format the table of a figure or its timings, and its notes."""
    parts = []
    if outcome.table:
        parts.append(_pipes(outcome.table[0], outcome.table[1:]))
    elif outcome.timings:
        parts.append(_pipes(_TIMING_HEAD, [_timing(timing) for timing in outcome.timings]))
    if outcome.notes:
        parts.append("\n".join(f"- {note}" for note in outcome.notes))
    return parts


def _target(target: Target) -> tuple[str, ...]:
    limit = f"{'>=' if target.at_least else '<='} {quantity(target.limit, target.unit)}"
    return quantity(target.measured, target.unit), limit, target.verdict, target.what


def _plain(timing: Timing) -> dict[str, Any]:
    return {name: getattr(timing, name) for name in ("name", "median", "low", "high", "rounds", "calls")}


def _timing(timing: Timing) -> tuple[str, ...]:
    quartiles = f"{quantity(timing.low, 's')} - {quantity(timing.high, 's')}"
    return quantity(timing.median, "s"), quartiles, timing.name


def machine_line(machine: dict[str, Any]) -> str:
    """Format machine, versions and date in one line; packages that are not installed are left out."""
    installed = {name: number for name, number in machine["versions"].items() if number != "not installed"}
    versions = ", ".join(f"{name} {number}" for name, number in installed.items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, load {machine['load']}; "
        f"Python {machine['python']}, {versions}; {machine['measured']}"
    )


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned by spaces; the last column is free."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head) - 1)]
    template = "  " + "".join(f"{{:>{width}}}  " for width in widths) + "{}"
    return "\n".join(template.format(*row) for row in (head, *rows))


def _pipes(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))
