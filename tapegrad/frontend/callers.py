"""The frame of the user's program that called the library: the innermost one outside of this package and NumPy."""

import os
import sys
import types
from pathlib import Path

import numpy as np

# With a separator at the end: a package called `tapegrad_models` is the user's.
_INNER = tuple(str(folder) + os.sep for folder in (Path(__file__).parents[1], Path(np.__file__).parent))


def _is_inner(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_INNER)


def program_frame() -> types.FrameType | None:
    """Return the innermost frame of the user's program; None if there is none."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and _is_inner(frame):
        frame = frame.f_back
    return frame


def program_level() -> int:
    """Return the ``stacklevel`` by which a warning of the caller's names the line of the program."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_inner(frame):
        frame, level = frame.f_back, level + 1
    return level
