"""Names of lambdas among the parameters of tests: the text of the body, which tells one case from another."""

import linecache
from collections.abc import Callable
from typing import Any

_MAX_CHARACTERS = 80


def text_of_lambda(function: Callable[..., Any]) -> str:
    """Return the source of a lambda's body, in one line, cut after `_MAX_CHARACTERS`."""
    code = function.__code__
    # Instructions that stand for no expression have no column, or an empty span.
    spans = [
        ((first, start), (last, end))
        for first, last, start, end in code.co_positions()
        if None not in (first, last, start, end) and (first, start) != (last, end)
    ]
    if not spans:  # Python 3.12 has none for a constant
        return repr(code.co_consts[-1])
    (first, start), (last, end) = min(begin for begin, _ in spans), max(end for _, end in spans)
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]  # before the beginning is cut: it may be the same line
    lines[0] = lines[0][start:]
    return " ".join(b"".join(lines).decode().split())[:_MAX_CHARACTERS]
