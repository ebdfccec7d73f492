"""The frame of the user's program that called the library: the innermost one outside of this package and NumPy."""

import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np

# With a separator at the end: a package called `tapegrad_models` is the user's.
_INNER = tuple(str(folder) + os.sep for folder in (Path(__file__).parents[1], Path(np.__file__).parent))


def _outwards(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_inner(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_INNER)


def program_frame() -> types.FrameType | None:
    """Return the innermost frame of the user's program; None if there is none."""
    return next((frame for frame in _outwards(sys._getframe(1)) if not _is_inner(frame)), None)


def program_level() -> int:
    """The ``stacklevel`` by which a warning of the caller's names the line of the program."""
    level = 0
    for frame in _outwards(sys._getframe(1)):
        level += 1
        if not _is_inner(frame):
            break
    return level
