"""Roller: what makes loops of recordings. It stands on the room of loops, and is imported when it is needed."""

import importlib
from collections.abc import Callable
from typing import Any

# Instructions of a recording that is worth the search for loops
MIN_INSTRUCTIONS = 4096
_MODULE, _FUNCTION = "tapegrad.loops.rolled", "roll"


def roller() -> Callable[[Any, bool], Any]:
    """Return the function that makes loops of recordings.

    It takes a recording, and whether loops need not pay, and returns another recording, or `None`.
    """
    found: Callable[[Any, bool], Any] = getattr(importlib.import_module(_MODULE), _FUNCTION)
    return found
