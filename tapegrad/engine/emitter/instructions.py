"""The instructions of a function, line by line, and the values that are known.

An instruction without an effect that takes nothing of a loop is written before the loop. So what stays the same from
turn to turn is computed once, and no pass over the code has to look for it.
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
        self._loops: list[_Loop[_Value]] = []  # those around, the outermost first

    def text(self) -> Iterator[str]:
        """All lines."""
        return _flat(self._lines)

    def add(self, line: str) -> None:
        self._lines.append(line)

    def add_later(self) -> _Lines:
        """A list for lines that belong here."""
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
        """The value of an instruction that has been written where it can be used."""
        return self._known.get(instruction)

    def place(self, name: str, instruction: str, value: _Value) -> None:
        """Write an instruction without an effect, as far out as all is there that it takes; its value is known then."""
        loop = self._left_by(_NAME.findall(instruction))
        if loop is None:
            self.define(name, instruction)
        else:
            loop.before.append(f"  {name} = {instruction}")
            loop.moved[instruction] = value
            self._note_outside(loop, name)
        self._known[instruction] = value

    def _left_by(self, taken: list[str]) -> "_Loop[_Value] | None":
        """The outermost loop that an instruction which takes these names need not be in."""
        outermost = None
        for loop in reversed(self._loops):
            if not loop.names.isdisjoint(taken):
                break
            outermost = loop
        return outermost

    def _note_outside(self, loop: "_Loop[_Value]", name: str) -> None:
        around = self._loops.index(loop)
        if around:
            self._loops[around - 1].names.add(name)

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
        """What is written inside belongs to a loop; what need not is written here."""
        self._loops.append(_Loop(self.add_later(), set(), {}))
        with self.scope():
            yield
        inside = self._loops.pop()
        if self._loops:
            self._loops[-1].names.update(inside.names)


@dataclass(eq=False)
class _Loop(Generic[_Value]):
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
