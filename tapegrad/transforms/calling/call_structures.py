"""Descriptions of the arguments and results of calls, for fast paths: which leaf of them is which array."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.codegen.python_calls.structures import (
    KEYWORDS,
    Container,
    FixedLeaf,
    LeafSlot,
    Structure,
    is_described,
)
from tapegrad.program.recording.constant_results import ConstantOutput
from tapegrad.program.recording.signature import Arguments
from tapegrad.program.traces.trace import Trace
from tapegrad.pytree import LEAF, flatten

_TRACED = frozenset({np.ndarray, float, np.float64})  # types of leaves that are arrays to a program
_CONSTANT = frozenset({bool, int, str, bytes, type(None)})  # types of leaves that cannot change
Described = Structure | None  # None: there is no description, and no fast path


class CallArguments(NamedTuple):
    """The arguments of a call for its fast path.

    Attributes
    ----------
    given
        The arguments as the path takes them: those by keyword in a dict, behind `KEYWORDS`.
    described
        Their structure.
    """

    given: tuple[Any, ...]
    described: Container | None


def call_arguments(
    arguments: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any], directions: Iterable[Any] = ()
) -> CallArguments:
    """Describe the arguments of a call, and directions behind those by position, which are the last arrays."""
    leaves = map(_argument, arguments.leaves, arguments.positions)
    positional, named = (_parts(each, leaves) for each in arguments.definition[1])
    dots, (_, definitions) = flatten(tuple(directions))
    behind = (_argument(dot, len(arguments.arrays) + k) for k, dot in enumerate(dots))
    parts = [*positional, *(_described(each, behind) for each in definitions)]
    if not kwargs:
        return CallArguments((*args, *directions), together(parts))
    by_keyword = _ordered(arguments.definition[1][1], named)
    return CallArguments(
        (*args, *directions, KEYWORDS, kwargs), together([*parts, FixedLeaf(KEYWORDS), by_keyword])
    )


def described_arguments(args: tuple[Any, ...]) -> Container | None:
    """Describe arguments by themselves, whose leaves are arrays in their order."""
    leaves, (_, definitions) = flatten(args)
    numbers = itertools.count()
    found = (_argument(leaf, next(numbers) if type(leaf) in _TRACED else -1) for leaf in leaves)
    return together(_described(each, found) for each in definitions)


def together(parts: Iterable[Described]) -> Container | None:
    """Describe a tuple of parts, such as the arguments of a call."""
    return _container(tuple, (), list(parts))


def around(structure: Any) -> Described:
    """Describe a structure whose leaves are slots."""
    leaves, definition = flatten(structure)
    return _described(definition, iter(leaves))


def result_of(trace: Trace, numbers: Sequence[int] | None = None) -> Described:
    """Describe the result of a recorded function, given the number of the array for each of its outputs."""
    leaves = (
        LeafSlot(result if numbers is None else numbers[result])
        if isinstance(result, int)
        else _constant(result)
        for result in trace.results
    )
    return _described(trace.definition, leaves)


def _argument(leaf: Any, number: int) -> Described:
    """Describe a leaf of the arguments, which is the array of a number, or none where that is negative."""
    if number < 0:
        return FixedLeaf(leaf) if type(leaf) in _CONSTANT else None
    return LeafSlot(number, type(leaf)) if type(leaf) in _TRACED else None


def _constant(result: Any) -> Described:
    """Describe a result that is the same object in each call."""
    shared = isinstance(result, ConstantOutput) and result.is_shared
    return FixedLeaf(result.fixed) if shared else None


def _described(definition: Any, leaves: Iterator[Described]) -> Described:
    """Describe a structure by its definition and the descriptions of its leaves."""
    return next(leaves) if definition is LEAF else _ordered(definition, _parts(definition, leaves))


def _parts(definition: Any, leaves: Iterator[Described]) -> list[Described]:
    return [_described(part, leaves) for part in definition[1]]


def _ordered(definition: Any, parts: list[Described]) -> Described:
    """Describe a container, the parts of which are in the order of sorted keys."""
    if definition[0] is not dict:
        return _container(definition[0], (), parts)
    by_key = dict(zip(definition[2], parts, strict=True))
    keys = definition[3].order
    return _container(dict, keys, [by_key[key] for key in keys])


def _container(kind: type, keys: tuple[Any, ...], parts: list[Described]) -> Container | None:
    found = tuple(part for part in parts if part is not None)
    return Container(kind, keys, found) if len(found) == len(parts) and is_described(kind) else None
