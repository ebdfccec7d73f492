"""Generated files on disk: written where they differ from what they should be, or only compared."""

import sys
from collections.abc import Iterable
from pathlib import Path


def write(texts: dict[Path, str], source: str, arguments: Iterable[str]) -> int:
    """Write the files that differ and say which, or with ``--check`` only say it; the exit status.

    Parameters
    ----------
    texts
        The files and what should be in them.
    source
        What they are generated from, for the message.
    arguments
        Of the command line.
    """
    differing = {path: text for path, text in texts.items() if not path.exists() or path.read_text() != text}
    if "--check" in arguments:
        for path in differing:
            print(f"{path}: differs from {source}; run `make gen`", file=sys.stderr)
        return int(bool(differing))
    for path, text in differing.items():
        path.write_text(text)
        print(f"wrote {path}, from {source}")
    if not differing:
        print(f"nothing to write: {source} and the files agree")
    return 0
