"""The files that pictures are drawn to."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tapegrad.cli.errors import CommandError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def checked(file: Path | None) -> Path | None:
    """Return the file to draw to, if one is given. It is checked before what is drawn is computed, which takes long.

    Raises
    ------
    CommandError
        If it cannot be written, or Matplotlib is not there.
    """
    if file is None:
        return None
    file = _with_extension(file)
    if reason := _why_not(file):
        raise CommandError(reason)
    return file


def _with_extension(file: Path) -> Path:
    """Return the file to write: one without an extension gets ``.png``."""
    if file.is_dir():
        return file
    file = file.with_name(file.name.rstrip(".") or file.name)
    return file if file.suffix else file.with_name(file.name + ".png")


def _why_not(file: Path) -> str:
    """Return why a file cannot be drawn to, or an empty string."""
    if find_spec("matplotlib") is None:
        return "--plot needs matplotlib: pip install matplotlib"
    from matplotlib.figure import Figure

    formats = sorted(Figure().canvas.get_supported_filetypes())
    if file.is_dir():
        return f"cannot draw {file}: it is a folder"
    if file.suffix[1:].lower() not in formats:
        return f"cannot draw {file}: matplotlib writes {', '.join(formats)}"
    if not file.parent.is_dir():
        return f"cannot draw {file}: there is no folder {file.parent}"
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        return f"cannot draw {file}: it cannot be written"
    return ""


def save(figure: "Figure", file: Path) -> None:
    """Write a figure, in the format of the file's extension."""
    try:
        figure.savefig(file, dpi=120)
    except OSError as error:
        raise CommandError(f"cannot draw {file}: {error.strerror or error}") from error
    print(f"wrote {file}", file=sys.stderr)
