"""Bars in SVG: the parts of a replay and their times."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from tapegrad.engine.inspection.svg import FAINT_COLOUR, TEXT_COLOUR, Picture
from tapegrad.engine.runtime.short_times import quantity

T = TypeVar("T")
_COLOURS = {
    "forward": "#4477aa",
    "reverse": "#ee8866",
    "tangent": "#44aa88",
    "forward and reverse": "#aa4499",
    "": "#bbbbbb",
}
_WIDTH, _MARGIN, _ROW = 1100, 12, 20  # pixels
_LABEL, _BAR = 300, 280  # widths of the columns of labels and bars
_STRIP = 26  # height of the strip
_MAX_BARS = 40


def dearest(records: Sequence[T], times: Sequence[float], most: int) -> list[T]:
    """Return the records with the longest times, at most so many, in their own order."""
    chosen = sorted(range(len(records)), key=lambda k: -times[k])[:most]
    return [records[k] for k in sorted(chosen)]


def bars(rows: Sequence[tuple[float, str, str, str]], title: str, notes: Iterable[str]) -> Picture:
    """Draw times: each a bar, and all of them a strip.

    Parameters
    ----------
    rows
        Of each the nanoseconds, its direction, a label, and its source line.
    title, notes
        Text above and below.
    """
    chosen = dearest(rows, [row[0] for row in rows], _MAX_BARS)
    others = len(rows) - len(chosen)
    below = [*([f"... and {others:,} more"] if others else []), *notes]
    top = _MARGIN + 2 * _ROW + _STRIP + 14
    picture = Picture(_WIDTH, top + _ROW * (len(chosen) + len(below)) + _MARGIN)
    picture.text((_MARGIN, _MARGIN + 12), title, size=14, most=130)
    _draw_legend(picture, {direction for _, direction, *_ in rows})
    _draw_strip(picture, rows, _MARGIN + 2 * _ROW)
    longest = max((ns for ns, *_ in chosen), default=0.0) or 1.0
    for k, row in enumerate(chosen):
        _draw_bar(picture, row, longest, top + _ROW * k)
    for k, line in enumerate(below, len(chosen)):
        picture.text((_MARGIN, top + _ROW * k + 14), line, FAINT_COLOUR, most=150)
    return picture


def _draw_legend(picture: Picture, directions: set[str]) -> None:
    x = float(_MARGIN)
    for direction in (name for name in _COLOURS if name and name in directions):
        picture.rectangle((x, _MARGIN + _ROW + 3), (10, 10), _COLOURS[direction])
        picture.text((x + 16, _MARGIN + _ROW + 12), direction, size=11)
        x += 36 + 7 * len(direction)


def _draw_strip(picture: Picture, rows: Sequence[tuple[float, str, str, str]], y: float) -> None:
    """Draw all rows beside each other, as wide as they take long; those below a pixel share one."""
    scale = (_WIDTH - 2 * _MARGIN) / (sum(ns for ns, *_ in rows) or 1.0)
    x, drawn = float(_MARGIN), 0.0
    for ns, direction, label, source in rows:
        if x + scale * ns - drawn >= 1.0:
            tip = f"{label}: {quantity(ns)}  {source}"
            width = scale * ns - (0.5 if scale * ns > 3 else 0.0)
            picture.rectangle((x, y), (width, _STRIP), _COLOURS[direction], tip)
            drawn = x + scale * ns
        x += scale * ns


def _draw_bar(picture: Picture, row: tuple[float, str, str, str], longest: float, y: float) -> None:
    ns, direction, label, source = row
    x, width = _MARGIN + _LABEL, _BAR * ns / longest
    picture.text((x - 8, y + 14), label, anchor="end", most=40)
    picture.rectangle(
        (x, y + 3), (max(width, 0.5), _ROW - 6), _COLOURS[direction], f"{label}: {quantity(ns)}"
    )
    picture.text((x + width + 6, y + 14), quantity(ns), TEXT_COLOUR)
    picture.text((x + _BAR + 80, y + 14), source, FAINT_COLOUR, most=56)
