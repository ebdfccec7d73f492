"""Whether hasty results are NaN: as few comparisons as tell it."""

from collections.abc import Iterable, Iterator

from tapegrad.engine.emitter.body import Value
from tapegrad.engine.emitter.operations import either_is_nan, halves
from tapegrad.engine.emitter.types import Type


def nans_of(values: Iterable[Value]) -> Iterator[Value]:
    """Masks of which a lane is true if a lane of one of these vectors is NaN.

    One comparison tells of two vectors. They are compared by halves, of which there are always two of a type.
    """
    by_type: dict[Type, list[Value]] = {}
    for value in telling(values):
        by_type.setdefault(value.type, []).extend(halves(value))
    for alike in by_type.values():
        for first, second in zip(alike[::2], alike[1::2], strict=True):
            yield either_is_nan(first, second)


def telling(values: Iterable[Value]) -> list[Value]:
    """The values that the others lead to: where one of the others is NaN, so is one of them, in the same lane."""
    found = {value.text: value for value in values}
    passed: set[str] = set()
    waiting = [term for value in found.values() for term in value.body.terms(value)]
    while waiting:
        term = waiting.pop()
        if term.text not in passed:
            passed.add(term.text)
            waiting += term.body.terms(term)
    return [value for text, value in found.items() if text not in passed]
