"""Access paths: the variables, attributes and items by which a function comes to an object, and what it finds there."""

import copy
from typing import Any, Self


class Path:
    """A step from one object that a function sees to another one.

    Parameters
    ----------
    above
        The path to the object that the step begins at; `None` for what is known by a name of its own.
    kind
        ``global``, ``closure``, ``import``, ``function``, ``class``, ``self`` or ``argument`` for what has a name of
        its own;
        ``attribute``, ``item``, ``key`` or ``contents`` of what is above it.
    key
        The name, or the key or number of an item.
    package
        The installed package in whose object it was found; `None` in the user's.
    """

    __slots__ = ("_above", "key", "kind", "package")

    def __init__(self, above: "Path | None", kind: str, key: Any, package: str | None = None) -> None:
        self._above = above
        self.kind = kind
        self.key = key
        self.package = package

    def step(self, kind: str, key: Any) -> "Path":
        """Return the path that goes on with a step."""
        return Path(self, kind, key, self.package)

    def within(self, package: str | None) -> "Path":
        """Return the same path, to an object of a package."""
        return self if package == self.package else Path(self._above, self.kind, self.key, package)

    @property
    def title(self) -> str:
        """The path as a message names it."""
        return f"{self.kind} {self}" if self.kind in ("global", "import") else str(self)

    def __str__(self) -> str:
        if self._above is None or self.kind not in _FORMATS:
            return str(self.key)
        return _FORMATS[self.kind].format(self._above, self.key)


_FORMATS = {
    "attribute": "{}.{}", "item": "{}[{!r}]", "key": "key {1!r} of {0}", "contents": "{}{}",
}  # fmt: skip


class Owner:
    """An object at the end of a path, in which a walk looks for parts by the names that code mentions.

    Parameters
    ----------
    path
        How code comes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._looked: set[str] = set()

    def look_up(self, reach: Any) -> bool:
        """Watch the parts with names that were met since; return whether there were any."""
        raise NotImplementedError

    def copy(self) -> Self:
        """Return the same, with a memory of its own."""
        other = copy.copy(self)
        other._looked = set(self._looked)
        return other

    def _new(self, names: set[str]) -> set[str]:
        """Return the names that were not looked for before, and remember them."""
        new = names - self._looked
        self._looked |= new
        return new
