"""``tapegrad profile``: the time of each instruction and segment of a replay, by source line."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tapegrad.cli.errors import CommandError
from tapegrad.cli.segments import replayed
from tapegrad.errors import UnsupportedError


def run(options: argparse.Namespace) -> int:
    """Record a function, measure a replay of it or of its derivative, print the times and draw them."""
    check_bars(options.plot)
    _, derived, args = replayed(options)
    try:
        profile = derived.profile(*args)
    except UnsupportedError as error:
        raise CommandError(str(error)) from error
    print(profile)
    put(options.plot, "draw", lambda file: profile.plot().save(file))
    return 0


def check_bars(file: Path | None) -> None:
    """Refuse a file for bars that is not of their format."""
    if file is not None and file.suffix.lower() != ".svg":
        raise CommandError(f"cannot draw {file}: bars are written as .svg")


def put(file: Path | None, verb: str, write: Callable[[Path], None]) -> None:
    """Write a file, if one is asked for, and say so."""
    if file is None:
        return
    try:
        write(file)
    except OSError as error:
        raise CommandError(f"cannot {verb} {file}: {error.strerror or error}") from error
    print(f"wrote {file}", file=sys.stderr)
