"""Arguments that are fixed in a recording: which they are."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tapegrad.errors import name_of

Numbers = int | Iterable[int]
Names = str | Iterable[str]


@dataclass(frozen=True)
class Static:
    """Static arguments of a function.

    Attributes
    ----------
    numbers, names
        By position, and by keyword.
    """

    numbers: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()

    def shifted(self, by: int) -> "Static":
        """Return the static arguments of a function that takes `by` arguments before these."""
        return Static(frozenset(number + by for number in self.numbers), self.names) if by else self


NOTHING = Static()


def static_arguments(function: Callable[..., Any], argnums: Numbers | None, argnames: Names | None) -> Static:
    """Return the arguments that `static_argnums` and `static_argnames` of `jit` mean: each counts for the other.

    Raises
    ------
    TypeError
        For numbers that are not integers, and names that are not text.
    ValueError
        For an argument that the function does not have.
    """
    given = () if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)
    named = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    for value, kind, what in [(n, int, "argnums") for n in given] + [(n, str, "argnames") for n in named]:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(f"static_{what}: {value!r} is not {'an integer' if kind is int else 'a name'}")
    if not given and not named:
        return NOTHING
    return _resolved(name_of(function), _parameters(function), given, named)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _resolved(
    name: str, parameters: list[inspect.Parameter] | None, given: tuple[int, ...], named: tuple[str, ...]
) -> Static:
    if parameters is None:
        if any(number < 0 for number in given):
            raise ValueError(f"static_argnums={given}: the parameters of {name} are not known")
        return Static(frozenset(given), frozenset(named))
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    kinds = {p.kind for p in parameters}
    for number in given:
        if not -len(positional) <= number < len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
            raise ValueError(f"static_argnums={given}: {name} has {len(positional)} positional parameters")
    for each in named:
        if each not in {p.name for p in parameters} and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise ValueError(f"static_argnames={named}: {name} has no parameter {each!r}")
    numbers = {number % len(positional) if number < 0 else number for number in given}
    numbers |= {positional.index(each) for each in named if each in positional}
    names = set(named) | {positional[number] for number in numbers if number < len(positional)}
    return Static(frozenset(numbers), frozenset(names))
