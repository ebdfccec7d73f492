"""Progress of a long figure: one line on stderr that changes, or, where that is no terminal, a line now and then."""

import sys
from collections.abc import Collection, Iterator

_EVERY = 25  # names between two lines that stay
_CLEAR = "\r\x1b[K"


def progress(names: Collection[str]) -> Iterator[str]:
    """Yield the names one after the other, each shown when its turn comes."""
    terminal = sys.stderr.isatty()
    for done, name in enumerate(names):
        text = f"    {done} of {len(names)}: {name}"
        if terminal:
            print(_CLEAR + text, end="", file=sys.stderr, flush=True)
        elif done % _EVERY == 0:
            print(text, file=sys.stderr, flush=True)
        yield name
    if terminal:
        print(_CLEAR, end="", file=sys.stderr, flush=True)
