"""Picture of a pattern: a square for each entry in the colour of its column; of a large pattern, for each block."""

import colorsys
from itertools import pairwise
from typing import Protocol

import numpy as np

from tapegrad.engine.inspection.svg import FAINT_COLOUR, GRID_COLOUR, Picture

_MAX_BLOCKS = 64  # rows, and columns, that are drawn
_SIDE, _LARGEST, _SMALLEST = 480, 16, 3  # pixels of the longer side of a large matrix, and of a square
_MARGIN, _HEADING, _LETTER = 7, 27, 7.3  # pixels; a letter is so wide
_UNCOLOURED = "#777777"  # columns that no forward sweep has
_MIXED = "#23527c"  # blocks of columns of several colours
_SEVERAL = -2  # the colour of columns that have several
_FIRST_HUE, _TURN = 0.58, 0.381966  # turns of the golden angle keep any number of hues apart


class _Drawable(Protocol):
    shape: tuple[int, int]
    indices: np.ndarray
    colors: np.ndarray

    @property
    def rows(self) -> np.ndarray: ...
    @property
    def summary(self) -> str: ...
    def counts(self, most_rows: int, most_columns: int) -> tuple[np.ndarray, np.ndarray]: ...


def blocks_of(extent: int, most: int) -> np.ndarray:
    """Return for each row or column the number of its block, where there are at most so many, of about one size."""
    return np.arange(extent) * min(extent, most) // max(extent, 1)


def draw_pattern(pattern: _Drawable) -> Picture:
    """Draw a pattern."""
    counts, places = pattern.counts(_MAX_BLOCKS, _MAX_BLOCKS)
    height, width = (_pixels(k, pattern.shape) for k in (0, 1))
    size = counts.shape[1] * width, counts.shape[0] * height
    least = _LETTER * len(pattern.summary)
    shown = Picture(max(size[0], least) + 2 * _MARGIN, size[1] + _HEADING + _MARGIN)
    shown.text((_MARGIN, _HEADING - 10), pattern.summary, FAINT_COLOUR)
    _draw_frame(shown, size)
    rows, columns = (
        _bounds(extent, blocks) for extent, blocks in zip(pattern.shape, counts.shape, strict=True)
    )
    colours = _colours_of(pattern, counts.shape[1])
    for i, j in np.argwhere(counts).tolist():
        count, whole = int(counts[i, j]), int(places[i, j])
        entries = "" if whole == 1 else f": {count:,} of {whole:,} entries"
        sweep = "" if colours[j] < 0 else f", colour {colours[j]}"
        shown.rectangle(
            (_MARGIN + j * width, _HEADING + i * height),
            (width, height),
            _named(colours[j]),
            f"{_range('row', *rows[i])}, {_range('column', *columns[j])}{sweep}{entries}",
            0.3 + 0.7 * count / whole,
        )
    return shown


def _pixels(axis: int, shape: tuple[int, int]) -> float:
    """Return the extent of a square along an axis: of the whole matrix in proportion, unless it is too small then."""
    side = _SIDE * shape[axis] / max(*shape, 1)
    return min(max(side / max(min(shape[axis], _MAX_BLOCKS), 1), _SMALLEST), _LARGEST)


def _draw_frame(shown: Picture, size: tuple[float, float]) -> None:
    left, top, right, bottom = _MARGIN, _HEADING, _MARGIN + size[0], _HEADING + size[1]
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    for begin, end in pairwise(corners):
        shown.line(begin, end, GRID_COLOUR)


def _bounds(extent: int, blocks: int) -> list[tuple[int, int]]:
    """Return first and last row or column of each block."""
    firsts = np.searchsorted(blocks_of(extent, blocks), np.arange(blocks + 1)).tolist()
    return [(first, behind - 1) for first, behind in pairwise(firsts)]


def _range(name: str, first: int, last: int) -> str:
    return f"{name} {first:,}" if first == last else f"{name}s {first:,}-{last:,}"


def _colours_of(pattern: _Drawable, blocks: int) -> list[int]:
    """Return the colour of the columns of each block, -1 for none, and -2 for several."""
    block = blocks_of(pattern.shape[1], blocks)
    lowest, highest = np.full(blocks, np.iinfo(np.int64).max), np.full(blocks, -1)
    np.minimum.at(lowest, block, pattern.colors)
    np.maximum.at(highest, block, pattern.colors)
    found: list[int] = np.where(lowest == highest, highest, _SEVERAL).tolist()
    return found


def _named(colour: int) -> str:
    """Return a colour of the compression as SVG names it."""
    if colour < 0:
        return _MIXED if colour == _SEVERAL else _UNCOLOURED
    hue = (_FIRST_HUE + colour * _TURN) % 1.0
    channels = colorsys.hls_to_rgb(hue, 0.45, 0.6)
    return "#" + "".join(f"{round(255 * each):02x}" for each in channels)
