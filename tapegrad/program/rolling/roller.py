"""The roller: what makes loops of recordings. It stands on the room of loops, and is imported when it is needed."""

import importlib
from collections.abc import Callable
from typing import Any

# Instructions of a recording that is worth the search for loops
FEWEST_INSTRUCTIONS = 4096
_named: list[tuple[str, str]] = []


def name_roller(module: str, function: str) -> None:
    """Say where the function is that makes loops of recordings."""
    _named[:] = [(module, function)]


def roller() -> Callable[[Any, bool], Any] | None:
    """Return the function that makes loops of recordings, if there is one.

    It takes a recording, and whether loops need not pay, and returns another recording, or `None`.
    """
    if not _named:
        return None
    module, function = _named[0]
    found: Callable[[Any, bool], Any] = getattr(importlib.import_module(module), function)
    return found
