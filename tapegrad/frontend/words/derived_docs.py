"""Docstrings of similar functions: one is written out, the others are derived from it."""

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_TITLES = ("Parameters", "Returns", "Raises", "Warns", "See Also", "Notes", "References", "Examples")
_BEFORE_TITLE = re.compile(r"\n\n(?=\S[^\n]*\n-{3,}\n)")


def like(model: Any, /, *words: tuple[str, str], **sections: str) -> Callable[[_Function], _Function]:
    """Make a decorator that derives a function's docstring from that of a similar function.

    Parameters
    ----------
    model : callable
        The function whose docstring is written out.
    *words : tuple of str
        Pairs of a text in that docstring and what stands for it wherever it occurs.
    **sections : str
        Whole sections by their titles in lower case, and `summary`; a section without a text is left out. Examples
        begin after the import of the package.

    Returns
    -------
    callable
        It returns the function itself.
    """
    if sys.flags.optimize > 1:  # there are no docstrings
        return lambda function: function
    text = inspect.getdoc(model) or ""
    for old, new in words:
        if old not in text:
            raise ValueError(f"the docstring of {model.__name__} does not say {old!r}")
        text = text.replace(old, new)
    summary, *rest = _BEFORE_TITLE.split(text)
    found = dict(section.split("\n", 1) for section in rest)
    for key, own in sections.items():
        title = key.replace("_", " ").title()
        lines = f">>> import tapegrad as tg\n{own}" if key == "examples" else own
        found[title] = f"{'-' * len(title)}\n{lines}" if own else ""
    parts = [f"{title}\n{found[title]}" for title in _TITLES if found.get(title)]
    document = "\n\n".join([sections.get("summary", summary), *parts])

    def describe(function: _Function) -> _Function:
        function.__doc__ = document
        return function

    return describe


def renamed(function: _Function, name: str) -> _Function:
    """Return a generated function under its public name."""
    function.__name__ = function.__qualname__ = name
    return function
