"""Messages on stderr: lines that stay, and one line that is rewritten on a terminal."""

import contextlib
import os
import sys

_ERASE = "\r\x1b[K"
_shown = False  # whether a line that is rewritten is on the terminal


def tell(text: str) -> None:
    """Write a line to stderr; a missing or closed stderr is ignored."""
    write_line(f"tapegrad: {text}")


def write_line(text: str) -> None:
    """Write a line without the name of the package; it replaces a line that is rewritten."""
    if _shown:
        show("")
    _write(f"{text}\n")


def on_terminal() -> bool:
    """Return whether stderr is a terminal on which a line can be rewritten."""
    try:
        return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # it is closed
        return False


def show(text: str) -> None:
    """Write over the current line of a terminal; nothing elsewhere."""
    global _shown
    if on_terminal():
        _shown = bool(text)
        _write(_ERASE + text)


def _write(text: str) -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
