"""Progress on stderr."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tapegrad.engine.runtime.messages import stderr

Item = TypeVar("Item")


def with_progress(items: Sequence[Item], describe: Callable[[Item], str]) -> Iterator[Item]:
    """Yield `items`, and show on a terminal which of them is in work, in one line that is written over."""
    try:
        for number, item in enumerate(items, 1):
            stderr.show(f"[{number}/{len(items)}] {describe(item)}")
            yield item
    finally:
        stderr.show("")
