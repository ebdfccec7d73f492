"""Captured references, each with the comparisons that tell whether it is still the same."""

import ctypes
import gc
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad.engine.codegen.python_calls.comparisons import Missing as Missing
from tapegrad.engine.codegen.python_calls.comparisons import Row
from tapegrad.frontend.tensor.static_keys import slot_value as slot_value
from tapegrad.frontend.tensor.static_keys import token as token
from tapegrad.program.captured.paths import Path

_CONTAINERS = (OrderedDict, dict, types.MappingProxyType, list, tuple, deque, set, frozenset)
# Kinds of references by the first of their comparisons, and the text before the path of one in a message.
_KINDS = {
    "entry": "attribute", "member": "attribute", "cell": "attribute", "code": "function", "type": "class",
    "without": "absence",
}  # fmt: skip
_TITLES = {
    "variable": "", "attribute": "", "contents": "contents of ", "function": "code of ", "class": "class of ",
    "absence": "new attributes of ",
}  # fmt: skip
_ANCESTORS = type.__dict__["__mro__"]
_DEFAULTS = ("defaults", "keyword_defaults")
_generic_dict = ctypes.pythonapi.PyObject_GenericGetDict
_generic_dict.restype, _generic_dict.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)


class Captured:
    """Something that a function sees.

    Parameters
    ----------
    *rows
        The comparisons that say whether it is unchanged.
    now
        Returns what is there now, where that is one object, the last operand of the only comparison.

    Attributes
    ----------
    path
        How code comes to it.
    """

    __slots__ = ("now", "path", "rows")

    def __init__(self, *rows: Row, now: Callable[[], Any] | None = None) -> None:
        self.path: Path | None = None
        self.rows = rows
        self.now = now

    @property
    def kind(self) -> str:
        """Kind of the reference: ``variable``, ``attribute``, ``contents``, ``function``, ``class`` or ``absence``."""
        kind = _KINDS.get(self.rows[0][0], "contents")
        is_variable = self.path is not None and self.path.kind in ("global", "closure", "import")
        return "variable" if kind == "attribute" and is_variable else kind

    @property
    def items(self) -> int:
        """Number of objects or elements that are compared."""
        kind, *operands = self.rows[0]
        if kind == "array":
            return int(operands[-1][0].size)
        expected = operands[-1]
        return len(expected) if self.kind == "contents" and hasattr(expected, "__len__") else len(self.rows)

    @property
    def name(self) -> str:
        """Path by which code reaches the value."""
        if self.path is None:
            return ""
        return self.path.title if self.kind == "variable" else str(self.path)

    def __str__(self) -> str:
        return f"{_TITLES[self.kind]}{self.name}"

    def equal(self) -> Row | None:
        """Return the reference with the current value, if that equals the captured one: a number, or a text."""
        if self.now is None:
            return None
        value, before = self.now(), self.rows[0][-1]
        return (*self.rows[0][:-1], value) if token(value) == token(before) else None


def cell(holder: Any, value: Any) -> Captured:
    """Capture the contents of a closure's cell."""
    return Captured(("cell", holder, value), now=lambda: content(holder))


def entry(names: Any, name: Any, value: Any) -> Captured:
    """Capture the value of a name in a namespace."""
    return Captured(("entry", stored(names), name, value), now=lambda: names.get(name, Missing))


def ancestors(cls: type) -> Captured:
    """Capture the base classes of a class: `__bases__` may be set."""
    return Captured(("member", _ANCESTORS, cls, cls.__mro__))


def slot(member: Any, owner: Any, value: Any) -> Captured:
    """Capture the value of one of an object's `__slots__`."""
    return Captured(("member", member, owner, value), now=lambda: slot_value(member, owner))


def result(ask: Callable[[Any], Any], argument: Any) -> Captured:
    """Capture the object that a function returns for an argument."""
    return Captured(("result", ask, argument, ask(argument)), now=lambda: ask(argument))


def absence(names: Any, absent: frozenset[str]) -> Captured:
    """Capture the absence of names."""
    return Captured(("without", stored(names), absent))


def nature(owner: Any, attributes: dict[str, Any] | None) -> Captured:
    """Capture the class of an object, and the dict in which its attributes are."""
    row = ("type", owner, type(owner))
    if attributes is None or owner.__dict__ is not attributes:
        return Captured(row)
    if _own_dict(owner) is attributes:
        return Captured(row, ("attributes", owner, attributes))
    return Captured(row, ("answer", _identity_of_attributes, owner, id(attributes)))


def _own_dict(owner: Any) -> Any:
    try:
        return _generic_dict(owner, None)
    except AttributeError:  # one for each thread
        return None


def _identity_of_attributes(owner: Any) -> int:
    return id(owner.__dict__)


def elements(container: Any) -> Captured:
    """Capture the elements of a sequence or a set."""
    base = base_of(container)
    if base is list:
        return Captured(("elements", container, tuple(list.__iter__(container))))
    return parts(base.__iter__, container)


def parts(iterate: Callable[[Any], Iterable[Any]], owner: Any) -> Captured:
    """Capture the items of an iteration."""
    return Captured(("parts", iterate, owner, tuple(iterate(owner))))


def entries(mapping: Any) -> Captured:
    """Capture the keys and values of a mapping, in order."""
    base, held = base_of(mapping), stored(mapping)
    keys, values = tuple(base.keys(mapping)), tuple(base.values(mapping))
    if isinstance(held, OrderedDict):  # whose order is its own, beside that of the dict
        order = parts(base.keys, mapping).rows
        keys, values = tuple(dict.keys(held)), tuple(dict.values(held))
        return Captured(("entries", held, keys, values), *order)
    if isinstance(held, dict):
        return Captured(("entries", held, keys, values))
    return Captured(*parts(base.keys, mapping).rows, *parts(base.values, mapping).rows)


def stored(mapping: Any) -> Any:
    """Return the dict that a view shows, of the attributes of a class; for another mapping, itself."""
    if isinstance(mapping, types.MappingProxyType):
        (inner,) = gc.get_referents(mapping)
        return inner if isinstance(inner, dict) else mapping
    return mapping


def base_of(container: Any) -> Any:
    """Return the built-in class of a container, whose methods show its contents whatever a subclass overrides."""
    return next(cls for cls in _CONTAINERS if isinstance(container, cls))


def body(function: Any) -> Captured:
    """Code and defaults of a function; where there are none, all arguments were given, and new ones change nothing."""
    rows = [("code", function, function.__code__)]
    for kind, value in zip(_DEFAULTS, (function.__defaults__, function.__kwdefaults__), strict=True):
        if value is not None:
            rows.append((kind, function, value))
    return Captured(*rows)


def called(ask: Callable[[Any], Any], owner: Any) -> Captured:
    """Capture a function's value for an object, compared by equality: the bytes of a foreign buffer."""
    return Captured(("answer", ask, owner, ask(owner)))


def converted(owner: Any) -> Captured:
    """Capture NumPy's array of a package's object. Its identity does not tell: its memory may be exchanged."""
    array = np.asarray(owner)
    is_plain = type(array) is np.ndarray and array.dtype.isbuiltin and not array.dtype.hasobject
    if is_plain and array.flags.c_contiguous:
        return Captured(("array", np.asarray, owner, (array.copy(), array.nbytes)))
    return called(_bytes_of_array, owner)


def _bytes_of_array(value: Any) -> bytes:
    array = np.asarray(value)
    return array.tobytes() + repr((array.shape, array.dtype)).encode()


def is_dead(value: Any) -> bool:
    """Return whether a value is a weak proxy of a dead object, which cannot be asked even for its class."""
    if type(value) not in weakref.ProxyTypes:
        return False
    try:
        return value.__class__ is None
    except ReferenceError:
        return True


def content(holder: Any) -> Any:
    """Return the contents of a cell, `Missing` if it has none yet."""
    try:
        return holder.cell_contents
    except ValueError:
        return Missing
