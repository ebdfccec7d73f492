"""Explanations of a call: the recording that serves it, and what a replay of it checks, fuses and occupies."""

import html
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.engine import threads
from tapegrad.engine.runtime.short_times import quantity
from tapegrad.program.fusion.shown import InProgram, ShownSegment
from tapegrad.program.programs.program import Program
from tapegrad.program.streams.stream import CONTINUED
from tapegrad.program.traces.explained import ExplainedRecording
from tapegrad.program.traces.listing import Listing
from tapegrad.program.traces.profiled import labels
from tapegrad.program.traces.slow_parts import Names, conversions, rows_alone, unrolled
from tapegrad.program.traces.source_lines import SourceLines
from tapegrad.program.traces.trace import Trace
from tapegrad.program.traces.watched import Watched

_MAX_LINES = 12  # of a section that are printed
_MAX_SEGMENTS = 5  # that are listed: below them stands what is in no segment, and why
_MAX_SUMMARY = 120  # characters of a segment's instructions; those of unrolled loops have hundreds of ranges


class ExplainedSection(NamedTuple):
    """Section of an explanation: its name, a summary in one line, and the particulars."""

    name: str
    summary: str
    lines: tuple[str, ...]


class Explanation(Listing[ExplainedSection]):
    """Explanation of a call, by sections: recording, guards, watched, fusion, memory, threads, certificate."""

    def section(self, name: str) -> ExplainedSection:
        """Return a section by its name."""
        return next(section for section in self if section.name == name)

    def __repr__(self) -> str:
        lines = [self.title]
        for section in self:
            lines.append(f"  {section.name}: {section.summary}")
            lines += [f"    {line}" for line in _some(section.lines)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [f"<div>{html.escape(self.title)}</div>"]
        for name, summary, lines in self:
            items = "".join(f"<li><code>{html.escape(line)}</code></li>" for line in _some(lines))
            head = f"<b>{html.escape(name)}</b>: {html.escape(summary)}"
            parts.append(f"<div>{head}{f'<ul>{items}</ul>' if items else ''}</div>")
        return "".join(parts)


def _number(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _some(lines: tuple[str, ...]) -> list[str]:
    """Return the first lines, and how many others there are."""
    more = len(lines) - _MAX_LINES
    return [*lines[:_MAX_LINES], *([f"... and {more:,} more"] if more > 0 else [])]


def explanation(
    title: str,
    recording: ExplainedRecording,
    watched: Watched,
    replayed: tuple[Trace, Program],
    lines: Callable[[], SourceLines],
    names: Names,
    kept: tuple[int, int],
    *notes: str,
) -> Explanation:
    """Explain a call.

    Parameters
    ----------
    title
        The function that is called.
    recording, replayed
        The recording that is replayed, and the program that is run.
    watched
        What is compared before each replay.
    lines
        Finds the source lines of the instructions.
    names
        The names of arrays.
    kept
        Bytes of all recordings of the function, and how many they may have.
    notes
        Further lines on the recording.
    """
    trace, program = replayed
    sections = [
        ExplainedSection(
            "recording",
            f"number {recording.number}, of {recording.of} for {recording.signature}: {recording.reason}",
            (*notes, *unrolled(trace, lines)),
        ),
        _guards(recording),
        _watched(watched),
        ExplainedSection("fusion", *_fusion(trace, program, names)),
        _memory(program, kept),
        _threads(trace, program),
        _certificate(trace, program),
    ]
    made: Explanation = Explanation.of(
        sections, f"a call of {title} replays {program.spec.kind} of {recording.instructions:,} instructions"
    )
    return made


def _guards(recording: ExplainedRecording) -> ExplainedSection:
    counted = Counter(recording.guards)
    lines = tuple(f"{text} ({n} times)" if n > 1 else text for text, n in counted.items())
    return ExplainedSection(
        "guards", f"{_number(len(recording.guards), 'value')} checked by each replay", lines
    )


def _watched(watched: Watched) -> ExplainedSection:
    items = sum(item.items for item in watched)
    lines = tuple(
        f"{item.name}: {item.kind}, {_number(item.items, 'item')}, {quantity(item.ns)}" for item in watched
    )
    return ExplainedSection(
        "watched", f"{_number(items, 'item')} compared before each replay, in {quantity(watched.ns)}", lines
    )


def _fusion(trace: Trace, program: Program, names: Names) -> tuple[str, tuple[str, ...]]:
    """Return a summary, the segments, and the rows by themselves with their reasons."""
    alone = sum(int((stream.op >= 0).sum()) for stream in (program.forward, program.reverse))
    if not program.fused:
        why = trace.why_unfused(program.spec)[1]
        return f"{_number(alone, 'row')}, one by one: {why}", tuple(conversions(trace, names))
    placed = program.segments()
    inside = sum(len({*each.placed.bound.rows}) for each in placed)
    summary = f"{_number(inside, 'row')} in {_number(len(placed), 'segment')}, {alone:,} by themselves"
    return summary, (*_segments(placed), *rows_alone(trace, program, names))


def _segments(placed: Sequence[InProgram]) -> list[str]:
    """Return a line for each of the first segments, and how many others there are."""
    lines = [
        f"segment {k}: {_shortened(ShownSegment(each, dict).summary)}"
        for k, each in enumerate(placed[:_MAX_SEGMENTS])
    ]
    more = len(placed) - len(lines)
    return [*lines, *([f"... and {_number(more, 'segment')} more"] if more else [])]


def _shortened(summary: str) -> str:
    """Return the summary of a segment with the first of its instructions, and all that stands behind them."""
    numbers, _, rest = summary.partition("; ")
    if len(numbers) > _MAX_SUMMARY:
        numbers = f"{numbers[:_MAX_SUMMARY].rpartition(' ')[0]} ..."
    return f"{numbers}; {rest}"


def _memory(program: Program, kept: tuple[int, int]) -> ExplainedSection:
    given = sum(view.nbytes for view in program.bindings[: program.given])
    results = sum(view.nbytes for view in program.bindings[program.given :])
    bytes_, most = kept
    summary = f"a workspace of {program.bytes:,} bytes for each replay at a time"
    arrays = (
        f"{given:,} bytes of arguments are read where they lie, {results:,} bytes of results are new arrays"
    )
    whole = f"all recordings of the function: {bytes_:,} bytes of at most {most:,}"
    return ExplainedSection("memory", summary, (arrays, whole))


def _threads(trace: Trace, program: Program) -> ExplainedSection:
    large, rows = [], 0
    for stream in (program.forward, program.reverse):
        begun = np.flatnonzero(stream.kernels != CONTINUED)
        rows += len(begun)
        for (name, direction, *_), threshold in zip(
            labels(trace, stream, {}), stream.thresholds[begun], strict=True
        ):
            large += [f"{name}, {direction}"] if threshold else []
    whole = f"{len(large):,} of {_number(rows, 'row')} large enough"
    summary = f"{whole} for several of the {threads.allowed()} threads"
    return ExplainedSection("threads", summary, tuple(large))


def _certificate(trace: Trace, program: Program) -> ExplainedSection:
    certified = trace.certified.get(program.spec)
    if certified is None:
        return ExplainedSection("certificate", "none; f.certificate(x) and jit(f, certify=True) make one", ())
    lines = tuple(
        f"{check.name}: relative difference {check.difference:.1e}, at most {check.bound:.1e}; {check.note}"
        for check in certified.latest
    )
    return ExplainedSection("certificate", f"{_number(len(lines), 'check')} passed", lines)
