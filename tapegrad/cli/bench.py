"""``tapegrad bench``: how long a function and its derivatives take, beside other libraries."""

import argparse
import sys

from tapegrad.cli.errors import CommandError
from tapegrad.cli.segments import argument_of, function_of
from tapegrad.testing import WrongAnswer, benchmark


def run(options: argparse.Namespace) -> int:
    """Measure a function, print the table, write and draw it. Return 1 if an answer is wrong."""
    file = options.plot
    if file is not None and file.suffix.lower() != ".svg":
        raise CommandError(f"cannot draw {file}: bars are written as .svg")
    function, argument = function_of(options.function), argument_of(options.argument)
    beside = options.beside or ()
    try:
        found = benchmark(function, argument, beside=beside, of=options.of, seconds=options.seconds)
    except WrongAnswer as error:
        print(f"tapegrad bench: a wrong answer: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        raise CommandError(f"{options.function}: {type(error).__name__}: {error}") from error
    print(found, flush=True)
    for path, write in ((options.json, found.save), (file, found.plot().save)):
        if path is not None:
            write(path)
            print(f"wrote {path}", file=sys.stderr)
    return 0
