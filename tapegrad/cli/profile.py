"""``tapegrad profile``: the time of each instruction and segment of a replay, by source line."""

import argparse
import sys

from tapegrad.cli.errors import CommandError
from tapegrad.cli.segments import replayed
from tapegrad.errors import UnsupportedError


def run(options: argparse.Namespace) -> int:
    """Record a function, measure a replay of it or of its derivative, print the times and draw them."""
    file = options.plot
    if file is not None and file.suffix.lower() != ".svg":
        raise CommandError(f"cannot draw {file}: bars are written as .svg")
    _, derived, args = replayed(options)
    try:
        profile = derived.profile(*args)
    except UnsupportedError as error:
        raise CommandError(str(error)) from error
    print(profile)
    if file is not None:
        try:
            profile.plot().save(file)
        except OSError as error:
            raise CommandError(f"cannot draw {file}: {error.strerror or error}") from error
        print(f"wrote {file}", file=sys.stderr)
    return 0
