"""``tapegrad bench``: how long a function and its derivatives take, beside other libraries."""

import argparse
import sys

from tapegrad.cli.errors import CommandError
from tapegrad.cli.profile import check_bars, put
from tapegrad.cli.segments import argument_of, function_of
from tapegrad.testing import WrongAnswer, benchmark


def run(options: argparse.Namespace) -> int:
    """Measure a function, print the table, write and draw it. Return 1 if an answer is wrong."""
    check_bars(options.plot)
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
    put(options.json, "write", found.save)
    put(options.plot, "draw", lambda file: found.plot().save(file))
    return 0
