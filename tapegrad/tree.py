"""Structures of arrays: lists, tuples (named ones too) and dicts, nested."""

from typing import Any

LEAF = None  # the definition of a leaf


def flatten(value: Any) -> tuple[list[Any], Any]:
    """The leaves of a structure from left to right, and its definition, which is hashable."""
    leaves: list[Any] = []
    return leaves, _take_apart(value, leaves)


def _take_apart(value: Any, leaves: list[Any]) -> Any:
    kind = type(value)
    if kind is list or isinstance(value, tuple):
        return kind, tuple([_take_apart(part, leaves) for part in value])
    if isinstance(value, dict):
        return kind, tuple([_take_apart(part, leaves) for part in value.values()]), tuple(value)
    leaves.append(value)
    return LEAF


def unflatten(definition: Any, leaves: list[Any]) -> Any:
    """The structure with these leaves."""
    return _build(definition, iter(leaves))


def _build(definition: Any, leaves: Any) -> Any:
    if definition is LEAF:
        return next(leaves)
    kind, parts = definition[0], [_build(part, leaves) for part in definition[1]]
    if len(definition) == 3:
        return dict(zip(definition[2], parts, strict=True))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def paths(value: Any) -> list[str]:
    """How each leaf of a structure is reached, as one would write it behind the structure's name.

    Examples
    --------
    >>> from tapegrad.tree import paths
    >>> paths({"a": 1, "b": [2, 3]})
    ["['a']", "['b'][0]", "['b'][1]"]
    """
    if type(value) is list or isinstance(value, tuple):
        parts = [(f"[{k}]", part) for k, part in enumerate(value)]
    elif isinstance(value, dict):
        parts = [(f"[{key!r}]", part) for key, part in value.items()]
    else:
        return [""]
    return [step + path for step, part in parts for path in paths(part)]
