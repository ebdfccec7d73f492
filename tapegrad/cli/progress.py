"""Progress of a command, item by item."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tapegrad.engine.runtime.messages.progress import Progress

Item = TypeVar("Item")


def with_progress(items: Sequence[Item], describe: Callable[[Item], str]) -> Iterator[Item]:
    """Yield `items`, and show on a terminal which of them is in work, in one line that is written over."""
    with Progress(delay=0.0) as line:
        for number, item in enumerate(items, 1):
            line.show(f"[{number}/{len(items)}] {describe(item)}")
            yield item
