"""``tapegrad cache``."""

import argparse
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tapegrad.cli.errors import CommandError
from tapegrad.cli.info import format_size

if TYPE_CHECKING:
    from tapegrad.engine.codegen.store.upkeep import Version

_UNITS = (("day", 24 * 3600.0), ("hour", 3600.0), ("minute", 60.0))
_HEADINGS = ("version", "files", "size", "last used", "oldest file", "")


def _age(when: float) -> str:
    """Format the time since then."""
    seconds = time.time() - when
    for name, length in _UNITS:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def _count(files: int) -> str:
    return f"{files} file{'s' if files != 1 else ''}"


def _row(version: "Version", own: str) -> tuple[str, ...]:
    """Return the texts of a version's line."""
    oldest = _age(min(file.written for file in version.files)) if version.files else ""
    size, mark = format_size(version.size), "this version" if version.folder.name == own else ""
    return version.folder.name, str(len(version.files)), size, _age(version.used), oldest, mark


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield lines of columns, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            text.rjust(width) if number in (1, 2) else text.ljust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _print_contents(root: Path, own: str) -> None:
    from tapegrad.engine.codegen.store import upkeep

    found, most = upkeep.versions(root), upkeep.limit()
    size, count = sum(version.size for version in found), sum(len(version.files) for version in found)
    bound = "no limit" if most == float("inf") else f"at most {format_size(most)}"
    print(f"folder    {root}")
    print(f"size      {format_size(size)} ({bound})")
    print(f"contents  {_count(count)} of {len(found)} version{'s' if len(found) != 1 else ''}")
    if found:
        print()
        print("\n".join(_table([_HEADINGS, *(_row(version, own) for version in found)])))


def run(options: argparse.Namespace) -> int:
    """Print the contents of the cache folder, or remove them."""
    from tapegrad.engine.codegen.store import cache, upkeep

    root = None
    with suppress(RuntimeError):  # no home directory is known
        root = cache.root()
    if root is None:
        raise CommandError(f"the cache folder is {cache.intended()}")
    if options.action is None:
        _print_contents(root, cache.version())
    else:
        states = cache.state(cache.SOURCES), cache.state(cache.EMITTER)
        gone = upkeep.clear_old(root, cache.version(), states) if options.old else upkeep.clear(root)
        print(f"{_count(gone.files)}, {format_size(gone.size)} removed from {root}")
    return 0
