"""The instructions of a function, line by line, and the values that are known.

An instruction without an effect that takes nothing of a loop is written before the loop. So what stays the same from
iteration to iteration is computed once, and no pass over the code has to look for it.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

_NAME = re.compile(r"%[\w.]+")
_Value = TypeVar("_Value")
_Lines = list["str | _Lines"]


class Instructions(Generic[_Value]):
    """Lines of text, and in between those that are not finished yet."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: _Lines = [*lines]
        self._known: dict[str, _Value] = {}
        self._loops: list[_OpenLoop[_Value]] = []  # those around, the outermost first

    def text(self) -> Iterator[str]:
        """Join all lines."""
        return _flat(self._lines)

    def add(self, line: str) -> None:
        self._lines.append(line)

    def add_later(self) -> _Lines:
        """Return a list for lines that belong here."""
        later: _Lines = []
        self._lines.append(later)
        return later

    def define(self, name: str, instruction: str) -> None:
        """Write an instruction whose value may be another one each time."""
        self.belongs_here(name)
        self.add(f"  {name} = {instruction}")

    def belongs_here(self, name: str) -> None:
        """Note that a name stands for something of the loop that is under construction."""
        if self._loops:
            self._loops[-1].names.add(name)

    def known(self, instruction: str) -> _Value | None:
        """Return the value of an instruction that has been written where it can be used."""
        return self._known.get(instruction)

    def place(self, name: str, instruction: str, value: _Value) -> None:
        """Write an instruction without an effect, as far out as all is there that it takes; its value is known then."""
        depth = self._depth(_NAME.findall(instruction))
        if depth == len(self._loops):
            self.define(name, instruction)
        else:
            self._loops[depth].before.append(f"  {name} = {instruction}")
            self._loops[depth].moved[instruction] = value
            if depth:
                self._loops[depth - 1].names.add(name)
        self._known[instruction] = value

    def _depth(self, taken: list[str]) -> int:
        """Return how many of the loops around it an instruction must be in, given the names that it takes."""
        for depth in range(len(self._loops), 0, -1):
            if not self._loops[depth - 1].names.isdisjoint(taken):
                return depth
        return 0

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Forget afterwards what was written inside: it may not have been executed. What stands before loops was."""
        before = dict(self._known)
        yield
        self._known = before
        for loop in self._loops:
            self._known.update(loop.moved)

    @contextlib.contextmanager
    def loop(self) -> Iterator[None]:
        """Open a loop: instructions go inside it, but those that do not depend on it go before it."""
        self._loops.append(_OpenLoop(self.add_later(), set(), {}))
        with self.scope():
            yield
        inside = self._loops.pop()
        if self._loops:
            self._loops[-1].names.update(inside.names)


@dataclass
class _OpenLoop(Generic[_Value]):
    """A loop under construction: what stands before it, the names in it, and what is known by what stands before it."""

    before: _Lines
    names: set[str]
    moved: dict[str, _Value]


def _flat(lines: _Lines) -> Iterator[str]:
    for line in lines:
        if isinstance(line, str):
            yield line
        else:
            yield from _flat(line)
