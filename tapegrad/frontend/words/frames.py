"""Frames of the user's program: the one that called the library, and those that a traceback shows."""

import functools
import linecache
import os
import re
import sys
import sysconfig
import types
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")
# ends with a separator, because `tapegrad_models` is a user's package
_INNER = tuple(str(folder) + os.sep for folder in (Path(__file__).parents[2], Path(np.__file__).parent))

_PACKAGE = _INNER[0]
_EXAMPLES = _PACKAGE + "examples" + os.sep  # files of this package that count as user programs
_LIBRARIES = (
    "numpy",
    "scipy",
    "numba",
)  # libraries that call functions of this package, and are called by them
_STANDARD = os.path.normpath(sysconfig.get_path("stdlib")) + os.sep
_CELL = re.compile(r"ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-")  # names that IPython gives to cells
_SHOWS_ALL = os.environ.get("TAPEGRAD_FULL_TRACEBACK", "0") not in ("", "0")


def lies_in(file: str, folders: str | tuple[str, ...]) -> bool:
    """Return whether a file lies in one of some folders: ``tapegrad/../fit.py`` does not lie in the package."""
    return file.startswith(folders) and (".." not in file or os.path.normpath(file).startswith(folders))


def _is_inner(frame: types.FrameType) -> bool:
    return lies_in(frame.f_code.co_filename, _INNER)


def program_frame() -> types.FrameType | None:
    """Return the innermost frame of the user's program; None if there is none."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and (_is_inner(frame) or is_standard(frame)):
        frame = frame.f_back
    return frame


def program_level() -> int:
    """Return the ``stacklevel`` by which a warning of the caller's names the line of the program."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_inner(frame):
        frame, level = frame.f_back, level + 1
    return level


def line_text(file: str, line: int) -> str:
    """Return a line of a file as messages name it, with its code."""
    text = linecache.getline(file, line).strip()
    return f"{'notebook' if _CELL.search(file) else file}, line {line}{f': {text}' if text else ''}"


def is_standard(frame: types.FrameType) -> bool:
    """Return whether a frame is one of Python's standard library."""
    file = frame.f_code.co_filename
    return file.startswith("<frozen") or (file.startswith(_STANDARD) and "-packages" + os.sep not in file)


def hides_frames(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function: tracebacks of its errors show only frames of the user's program."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return call


def hide_frames(error: BaseException) -> None:
    """Remove the frames of this package from an error's traceback, and library frames between two of them.

    The environment variable ``TAPEGRAD_FULL_TRACEBACK=1`` keeps them.
    """
    if _SHOWS_ALL:
        return
    entries = []
    entry = error.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    kinds = [_kind(each.tb_frame) for each in entries]
    shown = [
        each for k, each in enumerate(entries) if kinds[k] == "user" or not _is_own(kinds[:k], kinds[k:])
    ]
    following = None
    for each in reversed(shown):
        each.tb_next = following
        following = each
    error.__traceback__ = following


def _kind(frame: types.FrameType) -> str:
    file = frame.f_code.co_filename
    if lies_in(file, _PACKAGE) and not lies_in(file, _EXAMPLES):
        return "own"
    library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return "library" if library in _LIBRARIES else "user"


def _is_own(before: list[str], since: list[str]) -> bool:
    """Return whether a frame belongs to this package, or to a library between two frames of this package."""
    caller = next((kind for kind in reversed(before) if kind != "library"), "own")
    called = next((kind for kind in since if kind != "library"), "user")
    return since[0] == "own" or caller == called == "own"
