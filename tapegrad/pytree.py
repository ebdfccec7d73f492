"""Structures of arrays: lists, tuples, dicts and deques, nested, their subclasses included (named tuples, OrderedDict).

A Series of pandas, or a DataArray of xarray, is a structure around one array: a function gets a Tensor in its place,
and a gradient in its shape gets its labels. A sparse matrix with computed entries is a structure around these; its
pattern is part of the definition.

Leaves of a dict are taken in the order of its sorted keys, so that the order in which keys were added is no part of
the structure. What is built comes back in the type and the order of keys that were given.
"""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tapegrad.foreign import is_labelled_array, is_sparse_tensor

LEAF = None  # the definition of a leaf
SEQUENCES = (list, tuple, deque)
# Types of leaves; there are others.
LEAVES = frozenset((np.ndarray, np.float64, float, int, bool, str, type(None)))


class Aside:
    """Options that a container is built with beside its parts. All are equal: none is part of the structure.

    Attributes
    ----------
    order
        The keys of a dict as they were given.
    attributes
        Attributes of an instance of a subclass; of a dict that is its own namespace, the class `dict`.
    extra
        The factory of a `defaultdict`, the limit of a `deque`.
    """

    __slots__ = ("attributes", "extra", "order")

    def __init__(self, value: Any) -> None:
        self.order = tuple(value) if isinstance(value, dict) else ()
        attributes = getattr(value, "__dict__", None)
        self.attributes: Any = dict if attributes is value else dict(attributes) if attributes else None
        self.extra = getattr(value, "default_factory", None) if isinstance(value, defaultdict) else None
        if isinstance(value, deque):
            self.extra = value.maxlen

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aside)

    def __hash__(self) -> int:
        return 0


class Labels(Aside):
    """The labels of an array of pandas or xarray: an array of the same shape gets them again."""

    __slots__ = ("_like",)

    def __init__(self, like: Any) -> None:
        self.order, self.attributes, self.extra = (), None, None
        self._like = like

    def attached(self, part: Any) -> Any:
        """Return an array of the same shape with these labels; other parts, such as Tensors, unchanged."""
        like = self._like
        if not isinstance(part, np.ndarray) or part.shape != like.shape:
            return part
        if hasattr(like, "coords"):
            return like.copy(data=part)
        return type(like)(part, index=like.index, name=like.name)


class SparseStructure(Aside):
    """The pattern of a sparse matrix, which is part of the structure."""

    __slots__ = ("_pattern", "attached")

    def __init__(self, matrix: Any) -> None:
        self.order, self.attributes, self.extra = (), None, None
        self._pattern, self.attached = matrix.pattern, matrix.__with_leaf__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseStructure) and self._pattern == other._pattern

    def __hash__(self) -> int:
        return hash(self._pattern)


def flatten(value: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a structure from left to right, and its definition, which is hashable."""
    leaves: list[Any] = []
    return leaves, _take_apart(value, leaves)


def _take_apart(value: Any, leaves: list[Any]) -> Any:
    kind = type(value)
    if kind is tuple or kind is list:
        return kind, tuple([_take_apart(part, leaves) for part in value])
    if isinstance(value, dict):
        keys = _sorted(value)
        return kind, tuple([_take_apart(value[key], leaves) for key in keys]), keys, Aside(value)
    if isinstance(value, SEQUENCES):
        return kind, tuple([_take_apart(part, leaves) for part in value]), (), Aside(value)
    if kind not in LEAVES and is_labelled_array(value):
        leaves.append(value.data if hasattr(value, "coords") else np.asarray(value))
        return kind, (LEAF,), (), Labels(value)
    if kind not in LEAVES and is_sparse_tensor(value):
        leaves.append(value.__leaf__)
        return kind, (LEAF,), (), SparseStructure(value)
    leaves.append(value)
    return LEAF


def _sorted(keys: dict[Any, Any]) -> tuple[Any, ...]:
    """Sort the keys of a dict in an order that does not depend on the one they were added in."""
    kinds = set(map(type, keys))
    if len(kinds) <= 1 and kinds <= {str, int, float, bytes}:
        return tuple(sorted(keys))
    return tuple(sorted(keys, key=lambda key: (type(key).__qualname__, repr(key))))


def unflatten(definition: Any, leaves: list[Any]) -> Any:
    """Return the structure with these leaves."""
    return _build(definition, iter(leaves))


def _build(definition: Any, leaves: Any) -> Any:
    if definition is LEAF:
        return next(leaves)
    kind, parts = definition[0], [_build(part, leaves) for part in definition[1]]
    if len(definition) == 2:
        return parts if kind is list else tuple(parts)
    return _made(kind, parts, definition[2], definition[3])


def _made(kind: type, parts: list[Any], keys: tuple[Any, ...], aside: Aside) -> Any:
    """Make a container of a type without its constructor, whose arguments only its author knows."""
    if isinstance(aside, Labels | SparseStructure):
        return aside.attached(parts[0])
    if issubclass(kind, tuple):
        made: Any = tuple.__new__(kind, parts)
    elif issubclass(kind, dict):
        made = _made_dict(kind, dict(zip(keys, parts, strict=True)), aside)
    else:
        made = _bare(kind)
        if isinstance(made, deque):
            deque.__init__(made, parts, aside.extra)
        else:
            list.extend(made, parts)
    if aside.attributes:
        made.__dict__ = made if aside.attributes is dict else dict(aside.attributes)
    return made


def _bare(kind: Any) -> Any:
    """Make an instance of a class without calling its constructor."""
    return kind.__new__(kind)


def _made_dict(kind: type, parts: dict[Any, Any], aside: Aside) -> Any:
    made = _bare(kind)
    if isinstance(made, defaultdict):
        made.default_factory = aside.extra
    put = OrderedDict.__setitem__ if isinstance(made, OrderedDict) else dict.__setitem__
    for key in aside.order:
        put(made, key, parts[key])
    return made


def asides(definition: Any) -> Iterator[tuple[type, Aside]]:
    """Return the options of the containers of a structure beside their parts, with their types, from left to right."""
    if definition is LEAF:
        return
    if len(definition) > 2:
        yield definition[0], definition[3]
    for part in definition[1]:
        yield from asides(part)


def replaced(leaves: Iterable[Any], numbers: Iterable[int], others: Iterable[Any]) -> list[Any]:
    """Return leaves with others in place of those with these numbers."""
    found = list(leaves)
    for k, other in zip(numbers, others, strict=True):
        found[k] = other
    return found


def paths(value: Any) -> list[str]:
    """Return the path of each leaf of a structure, as one would write it behind the structure's name.

    Examples
    --------
    >>> from tapegrad.pytree import paths
    >>> paths({"a": 1, "b": [2, 3]})
    ["['a']", "['b'][0]", "['b'][1]"]
    """
    if isinstance(value, dict):
        parts = [(f"[{key!r}]", value[key]) for key in _sorted(value)]
    elif isinstance(value, SEQUENCES):
        parts = [(f"[{k}]", part) for k, part in enumerate(value)]
    else:
        return [""]
    return [step + path for step, part in parts for path in paths(part)]
