"""Places that are watched: each is an expression that must still be what it was, all compiled into one function."""

import functools
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

_CONTAINERS = (OrderedDict, dict, types.MappingProxyType, list, tuple, deque, set, frozenset)


class Missing:
    """Stands for what is not bound."""


class Place:
    """Something that a function sees.

    Parameters
    ----------
    text
        The condition that it is unchanged, with ``{0}``, ``{1}`` ... for the objects in it.
    objects
        Those objects.
    now
        Returns what is there now; `None` where the condition says all.
    value
        What was there.
    """

    __slots__ = ("now", "objects", "text", "value")

    def __init__(self, text: str, objects: tuple[Any, ...], now: Any = None, value: Any = Missing) -> None:
        self.text = text
        self.objects = objects
        self.now: Callable[[], Any] | None = now
        self.value = value

    def holds(self) -> bool:
        """Whether it is unchanged: a number or a text by type and value, all else by identity."""
        if compiled([self])():
            return True
        return self.now is not None and token(self.now()) == token(self.value)


def cell(holder: Any, value: Any) -> Place:
    """The contents of a closure's cell."""
    text = "_content({0}) is {1}" if value is Missing else "{0}.cell_contents is {1}"
    return Place(text, (holder, value), lambda: content(holder), value)


def entry(names: Any, name: Any, value: Any) -> Place:
    """What is stored under a name in a namespace."""
    if value is Missing:
        return Place("{1} not in {0}", (names, name))
    return Place("{0}[{1}] is {2}", (names, name, value), lambda: names.get(name, Missing), value)


def slot(member: Any, owner: Any, value: Any) -> Place:
    """What an object has in one of its `__slots__`."""
    return Place("_slot({0}, {1}) is {2}", (member, owner, value), lambda: slot_value(member, owner), value)


def absence(names: Any, absent: frozenset[str]) -> Place:
    """That none of these names is there."""
    return Place("{1}.isdisjoint({0})", (names, absent))


def nature(owner: Any, attributes: dict[str, Any] | None) -> Place:
    """The class of an object, and the dict in which its attributes are."""
    if attributes is None or owner.__dict__ is not attributes:
        return Place("type({0}) is {1}", (owner, type(owner)))
    return Place("type({0}) is {1} and {0}.__dict__ is {2}", (owner, type(owner), attributes))


def elements(container: Any) -> Place:
    """The elements of a sequence or a set."""
    base = base_of(container)
    parts = tuple(base.__iter__(container))
    text = "{3}({0}) == {1} and _all(_map(_is, {4}({0}), {2}))"
    return Place(text, (container, len(parts), parts, base.__len__, base.__iter__))


def entries(mapping: Any) -> Place:
    """The keys and values of a mapping, in order."""
    base = base_of(mapping)
    keys, values = tuple(base.keys(mapping)), tuple(base.values(mapping))
    text = "{1}({0}) == {2} and _all(_map(_is, {3}({0}), {4})) and _all(_map(_is, {5}({0}), {6}))"
    return Place(text, (mapping, base.__len__, len(keys), base.keys, keys, base.values, values))


def base_of(container: Any) -> Any:
    """The built-in class of a container, whose methods show what is in it whatever a subclass says."""
    return next(cls for cls in _CONTAINERS if isinstance(container, cls))


def body(function: Any) -> Place:
    """Code and defaults of a function; where there are none, all arguments were given, and new ones change nothing."""
    defaults = [name for name in ("__defaults__", "__kwdefaults__") if getattr(function, name) is not None]
    text = " and ".join(f"{{0}}.{name} is {{{k}}}" for k, name in enumerate(["__code__", *defaults], 1))
    return Place(text, (function, function.__code__, *(getattr(function, name) for name in defaults)))


def called(ask: Callable[[Any], Any], owner: Any) -> Place:
    """What a function says of an object, a value that is compared by equality: the bytes of a foreign buffer."""
    return Place("{0}({1}) == {2}", (ask, owner, ask(owner)))


def token(value: Any) -> Any:
    """What two values share that a function cannot tell apart: type and bits of numbers and text, else the object."""
    if type(value) in (float, complex):
        return type(value), np.array(value).tobytes()
    if issubclass(type(value), np.generic):  # not by isinstance, which asks a weak proxy for what may be gone
        return type(value), value.dtype.str, value.tobytes()
    if type(value) in (bool, int, str, bytes):
        return type(value), value
    return Same(value)


class Same:
    """An object that is equal to nothing but itself, and is kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def is_dead(value: Any) -> bool:
    """Whether a value is a weak proxy of what is gone, which cannot be asked even for its class."""
    if type(value) not in weakref.ProxyTypes:
        return False
    try:
        return value.__class__ is None
    except ReferenceError:
        return True


def slot_value(member: Any, owner: Any) -> Any:
    """What is in a slot, `Missing` if nothing is."""
    try:
        return member.__get__(owner)
    except AttributeError:
        return Missing


def content(holder: Any) -> Any:
    """The contents of a cell, `Missing` if it has none yet."""
    try:
        return holder.cell_contents
    except ValueError:
        return Missing


def compiled(places: Sequence[Place]) -> Callable[[], bool]:
    """A function that says whether all places are unchanged; one expression, for it runs before every replay."""
    objects: dict[int, int] = {}
    terms: list[str] = []
    kept: list[Any] = []
    for place in places:
        names = []
        for object_ in place.objects:
            number = objects.setdefault(id(object_), len(kept))
            if number == len(kept):
                kept.append(object_)
            names.append(f"o{number}")
        terms.append(place.text.format(*names))
    made: Callable[[], bool] = _code(" and ".join(terms) or "True", len(kept))(*kept)
    return made


@functools.lru_cache(256)
def _code(condition: str, count: int) -> Callable[..., Any]:
    """A function that binds the objects of a condition; the same for all closures of one form."""
    names = "".join(f"o{k}, " for k in range(count))
    bound = "".join(f"o{k}=o{k}, " for k in range(count))
    text = f"""
def bind({names}):
    def holds({bound}):
        try:
            return {condition}
        except (RuntimeError, KeyError, ValueError):  # changed in another thread while it was looked at
            return False
    return holds
"""
    names_of: dict[str, Any] = {
        "_content": content, "_slot": slot_value, "_all": all, "_map": map, "_is": is_,
    }  # fmt: skip
    exec(text, names_of)
    bind: Callable[..., Callable[[], bool]] = names_of["bind"]
    return bind
