"""Picture of a tape: its listing, the segments of a program as bands, and the workspace of that program."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tapegrad.engine.inspection.svg import FAINT_COLOUR, TEXT_COLOUR, Picture
from tapegrad.program.fusion.shown import ShownSegment
from tapegrad.program.programs.program import Program

_COLOURS = ("#4477aa", "#ee8866", "#44aa88", "#aa4499", "#ccaa33", "#66aadd", "#bb5566", "#88aa44")
_MARGIN, _ROW, _CHARACTER, _LANE = 14.0, 16.0, 7.3, 18.0  # pixels
_MAX_CHARACTERS, _MAX_LANES, _MAX_LINES = 76, 12, 1000
_TOP = _MARGIN + 3 * _ROW  # of the listing and of the workspace
_WORKSPACE = 340.0, 220.0  # its width, and its least height
_NUMBERED = re.compile(r" *(\d+)  ")


def draw_tape(
    lines: Sequence[str], kind: str, segments: Sequence[ShownSegment], program: Program | None
) -> Picture:
    """Draw a tape.

    Parameters
    ----------
    lines
        Its listing: inputs and constants, instructions, outputs.
    kind
        What the program computes.
    segments
        The segments of the program.
    program
        The program whose workspace is drawn, if it is still there.
    """
    shown = _shown(lines)
    lanes = _lanes(segments)
    text = _MARGIN + _CHARACTER * min(max(map(len, shown), default=0), _MAX_CHARACTERS)
    beside = text + 24 + _LANE * (1 + max(lanes, default=-1))
    bottom = _TOP + max(_ROW * len(shown), _WORKSPACE[1])
    width = max(beside + 24 + _WORKSPACE[0] + _MARGIN, 700)
    below = min(len(segments), _MAX_LANES)
    picture = Picture(width, bottom + _ROW * (below + 2) + _MARGIN)
    picture.text((_MARGIN, _MARGIN + 12), f"tape of {_count(lines)} instructions", size=14)
    heights = _draw_listing(picture, shown)
    for number, (segment, lane) in enumerate(zip(segments, lanes, strict=True)):
        _draw_band(picture, number, segment, text + 24 + _LANE * lane, heights)
    if program is not None:
        _draw_workspace(picture, program, kind, beside + 24, bottom - _TOP)
    for number, segment in enumerate(segments[:below]):
        y = bottom + _ROW * (number + 2)
        picture.rectangle((_MARGIN, y - 10), (10, 10), _colour(number))
        picture.text((_MARGIN + 18, y), f"segment {number}, {segment.summary}", most=120)
    return picture


def _shown(lines: Sequence[str]) -> list[str]:
    """Return the lines without the middle of a very long tape."""
    if len(lines) <= _MAX_LINES:
        return list(lines)
    half = _MAX_LINES // 2
    return [*lines[:half], f"... {len(lines) - 2 * half:,} more lines", *lines[-half:]]


def _count(lines: Sequence[str]) -> str:
    return f"{sum(bool(_NUMBERED.match(line)) for line in lines):,}"


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _lanes(segments: Sequence[ShownSegment]) -> list[int]:
    """Return a column for each segment, such that two which share instructions are beside each other."""
    ends: list[int] = []  # the last instruction in each column so far
    found = []
    for segment in segments:
        first, last = min(segment.instructions, default=0), max(segment.instructions, default=0)
        lane = next((k for k, end in enumerate(ends) if end < first), len(ends))
        if lane == len(ends) and lane < _MAX_LANES:
            ends.append(last)
        lane = min(lane, _MAX_LANES - 1)
        ends[lane] = max(ends[lane], last)
        found.append(lane)
    return found


def _draw_listing(picture: Picture, lines: Sequence[str]) -> dict[int, float]:
    """Draw the lines; return the height of each instruction."""
    heights = {}
    for k, line in enumerate(lines):
        y = _TOP + _ROW * k
        found = _NUMBERED.match(line)
        if found:
            heights[int(found[1])] = y
        picture.text((_MARGIN, y + 12), line, TEXT_COLOUR if found else FAINT_COLOUR, most=_MAX_CHARACTERS)
    return heights


def _draw_band(
    picture: Picture, number: int, segment: ShownSegment, x: float, heights: dict[int, float]
) -> None:
    """Draw a segment: a band beside its instructions, full where these belong to it."""
    own = sorted({heights[each] for each in segment.instructions if each in heights})
    if not own:
        return
    tip, colour = f"segment {number}, {segment.summary}", _colour(number)
    picture.rectangle((x, own[0]), (_LANE - 4, own[-1] + _ROW - own[0]), colour, tip, opacity=0.25)
    for y in own:
        picture.rectangle((x, y), (_LANE - 4, _ROW), colour, tip, opacity=0.75)
    picture.text((x + (_LANE - 4) / 2, own[0] - 3), str(number), colour, anchor="middle", size=10)


def _draw_workspace(picture: Picture, program: Program, kind: str, x: float, most: float) -> None:
    """Draw the blocks of the workspace: downwards the rows of a replay, to the right the offset."""
    forward, rows = len(program.forward), len(program.forward) + len(program.reverse)
    width, height = _WORKSPACE[0], min(most, max(_WORKSPACE[1], _ROW * rows))
    across, down, bottom = width / max(program.bytes, 1), height / max(rows, 1), _TOP + height
    picture.text((x, _MARGIN + 12), f"workspace of {kind}: {_size(program.bytes)}")
    picture.text((x, _MARGIN + 28), "down: rows of a replay; right: offset", FAINT_COLOUR, size=10)
    for k, (start, stop, offset, bytes_) in enumerate(program.lifetimes().tolist()):
        stop = min(stop, rows - 1)  # results are kept behind the last row
        tip = f"{_size(bytes_)} at {offset:,}: rows {start} to {stop}, {_writer(program, start)}"
        at, size = (x + across * offset, _TOP + down * start), (across * bytes_, down * (stop + 1 - start))
        picture.rectangle(
            at, (max(size[0] - 0.5, 0.5), max(size[1] - 0.5, 0.5)), _colour(k), tip, opacity=0.6
        )
    corners = [(x, _TOP), (x + width, _TOP), (x + width, bottom), (x, bottom), (x, _TOP)]
    for begin, end in pairwise(corners):
        picture.line(begin, end)
    if 0 < forward < rows:
        y = _TOP + down * forward
        picture.line((x, y), (x + width, y), FAINT_COLOUR)
        picture.text((x + width - 4, y - 4), "forward", FAINT_COLOUR, anchor="end", size=10)
        picture.text((x + width - 4, y + 12), "reverse", FAINT_COLOUR, anchor="end", size=10)


def _writer(program: Program, row: int) -> str:
    """Name the row that uses a block first."""
    number = int(np.concatenate([program.forward.number, program.reverse.number])[row])
    return f"first used by instruction {number}" if number >= 0 else "first used by a segment or a seed"


def _size(bytes_: int) -> str:
    return (
        f"{bytes_:,} B"
        if bytes_ < 10_000
        else f"{bytes_ / 1e3:,.3g} kB"
        if bytes_ < 1e6
        else f"{bytes_ / 1e6:,.3g} MB"
    )
