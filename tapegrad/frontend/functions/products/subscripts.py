"""Subscripts of `einsum`: conversion of text, or of lists of numbers, to labels of dimensions."""

import functools
import string
from collections import Counter
from typing import Any, NamedTuple

# A letter; a dimension under an ellipsis has a negative number, counted from the last.
Label = str | int
Labels = tuple[Label, ...]
_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # labels for numbers in lists, in this order
_ELLIPSIS = "..."


class Subscripts(NamedTuple):
    """Labels of the dimensions of each operand, and of the result."""

    operands: tuple[Labels, ...]
    result: Labels


def split_arguments(arguments: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the subscripts as text and the operands, which may be given alternately with lists of numbers."""
    if not arguments:
        raise ValueError("numpy.einsum: give the subscripts and at least one operand")
    if isinstance(arguments[0], bytes):
        arguments = (arguments[0].decode("ascii"), *arguments[1:])
    if isinstance(arguments[0], str):
        return arguments[0], list(arguments[1:])
    if len(arguments) < 2:
        raise ValueError("numpy.einsum: each operand is followed by the list of its subscripts")
    text = ",".join(map(_text, arguments[1::2]))
    if len(arguments) % 2:
        text += "->" + _text(arguments[-1])
    return text, list(arguments[: len(arguments) - len(arguments) % 2 : 2])


def _text(numbers: Any) -> str:
    return "".join(_letter(number) for number in numbers)


def _letter(number: Any) -> str:
    if number is Ellipsis:
        return _ELLIPSIS
    if not hasattr(number, "__index__"):
        raise TypeError(f"numpy.einsum: a subscript in a list is an integer or an ellipsis, not {number!r}")
    if not 0 <= number < len(_LETTERS):
        raise ValueError(f"numpy.einsum: the subscript {number} in a list is not in [0, {len(_LETTERS)})")
    return _LETTERS[number]


@functools.lru_cache(1024)
def parse(text: str, dimensions: tuple[int, ...]) -> Subscripts:
    """Return the labels that a text gives to operands with these numbers of dimensions.

    Raises
    ------
    ValueError
        If the text is no list of subscripts, or does not fit the operands.
    """
    inputs, arrow, output = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(dimensions):
        raise ValueError(
            f"numpy.einsum: {text!r} has subscripts for {len(terms)} operands, and {len(dimensions)} are given"
        )
    operands = tuple(_labels(term, ndim, text) for term, ndim in zip(terms, dimensions, strict=True))
    counts = Counter(label for labels in operands for label in labels)
    broadcast = tuple(sorted(label for label in counts if isinstance(label, int)))
    if not arrow:
        return Subscripts(operands, broadcast + tuple(sorted(_letters_once(counts))))
    return Subscripts(operands, _result(output, broadcast, counts, text))


def _letters_once(counts: Counter[Label]) -> list[str]:
    return [label for label, count in counts.items() if count == 1 and isinstance(label, str)]


def _labels(term: str, ndim: int, text: str) -> Labels:
    """Return the labels of an operand."""
    before, ellipsis, behind = term.partition(_ELLIPSIS)
    _check_letters(before + behind, text)
    hidden = ndim - len(before) - len(behind)
    if hidden < 0 or (hidden and not ellipsis):
        raise ValueError(
            f"numpy.einsum: {term!r} in {text!r} has {len(before) + len(behind)} subscripts for an operand of {ndim}"
            " dimensions" + ("; '...' stands for the others" if hidden > 0 else "")
        )
    return (*before, *range(-hidden, 0), *behind)


def _check_letters(letters: str, text: str) -> None:
    for letter in letters:
        if letter not in _LETTERS:
            raise ValueError(
                f"numpy.einsum: {letter!r} in {text!r} is neither a letter nor part of a single '...'"
            )


def _result(output: str, broadcast: Labels, counts: Counter[Label], text: str) -> Labels:
    """Return the labels of an explicit result."""
    before, ellipsis, behind = output.partition(_ELLIPSIS)
    letters = before + behind
    _check_letters(letters, text)
    if broadcast and not ellipsis:
        raise ValueError(f"numpy.einsum: the result in {text!r} needs '...' for dimensions of the operands")
    for letter in letters:
        if letter not in counts:
            raise ValueError(f"numpy.einsum: the result in {text!r} has {letter!r}, which no operand has")
        if letters.count(letter) > 1:
            raise ValueError(f"numpy.einsum: the result in {text!r} has {letter!r} more than once")
    return (*before, *broadcast, *behind)


def check_extents(subscripts: Subscripts, shapes: tuple[tuple[int, ...], ...]) -> None:
    """Raise if dimensions with the same label differ in extent; across operands, 1 broadcasts."""
    extents: dict[Label, int] = {}
    for labels, shape in zip(subscripts.operands, shapes, strict=True):
        own = dict(zip(labels, shape, strict=True))
        for label, extent in zip(labels, shape, strict=True):
            known = extents.get(label, 1)
            if own[label] != extent or (extent != known and extent != 1 and known != 1):
                name = repr(label) if isinstance(label, str) else f"dimension {label} of the ellipsis"
                raise ValueError(
                    f"numpy.einsum: {name} has the extents {known if own[label] == extent else own[label]} and {extent}"
                    f" in operands of shapes {', '.join(map(str, shapes))}"
                )
            extents[label] = max(extent, known) if extent and known else 0
