"""What a recorded function sees beside its arguments, so that a replay notices when a name is bound anew."""

import builtins
import dis
import functools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tapegrad.storage import is_tensor

_BY_VALUE = (bool, int, float, complex, str, bytes, np.generic)
_CONTAINERS = (list, dict, tuple, set)
_PLAIN = (types.FunctionType, types.MethodType, type)
_LIBRARIES = (sys.stdlib_module_names | {"tapegrad", "numpy", "scipy", "numba"}) - {"__main__"}


class _Missing:
    """Stands for a name that is not bound."""


Bound = tuple[tuple[str, Any], ...]


class Surroundings:
    """The variables that a function and the functions it calls take from closures, modules and objects.

    Numbers, strings and NumPy scalars are compared by value, lists, dicts, tuples and sets element by element,
    all else by identity. Contents of arrays need no watching, for a replay reads them where they lie, or guards
    them. Attributes are watched where the code names them behind a variable (``self.model.scale``), in objects
    that have a ``__dict__``; not through an alias, nor in libraries.

    Parameters
    ----------
    function
        The recorded function; its closure, its module's names and those of functions it names are watched.
    bound
        Objects that parameters of the function were bound to, by the parameters' names.
    """

    __slots__ = ("_cells", "_names", "_seen", "bound")

    def __init__(self, function: Callable[..., Any], bound: Bound = ()) -> None:
        self._cells: list[tuple[Any, Any, Any]] = []
        self._names: list[tuple[Mapping[str, Any], str, Any, Any]] = []
        self._seen: set[Any] = set()
        self.bound = bound
        self._watch(function, bound)
        self._seen.clear()

    # --- building -------------------------------------------------------------------------------------------

    def _watch(self, value: Any, bound: Bound = ()) -> None:
        """Watch what a function sees; values of other kinds see nothing."""
        value = _unwrapped(value)
        if isinstance(value, types.MethodType):
            code = value.__func__.__code__ if isinstance(value.__func__, types.FunctionType) else None
            own = ((code.co_varnames[0], value.__self__),) if code is not None and code.co_argcount else ()
            value, bound = value.__func__, own + bound
        key = (id(value), *((name, id(object_)) for name, object_ in bound))
        if not isinstance(value, types.FunctionType) or key in self._seen or _is_library(value.__module__):
            return
        self._seen.add(key)
        cells = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
        for kind, name, attributes in _paths(value.__code__):
            if kind == "global":
                self._watch_path(self._watch_global(value.__globals__, name), attributes)
            elif kind == "local":
                for root in [object_ for parameter, object_ in bound if parameter == name]:
                    self._watch_path(root, attributes)
            elif name in cells:
                self._watch_path(self._watch_cell(cells[name]), attributes)

    def _watch_cell(self, cell: Any) -> Any:
        value = _contents(cell)
        if id(cell) not in self._seen:
            self._seen.add(id(cell))
            self._cells.append((cell, value, _snapshot(value)))
        return value

    def _watch_global(self, names: Mapping[str, Any], name: str) -> Any:
        value = names.get(name, _Missing)
        if isinstance(value, types.ModuleType) or (value is _Missing and hasattr(builtins, name)):
            return value
        return self._watch_name(names, name)

    def _watch_name(self, names: Mapping[str, Any], name: str) -> Any:
        value = names.get(name, _Missing)
        if (id(names), name) not in self._seen:
            self._seen.add((id(names), name))
            self._names.append((names, name, value, _snapshot(value)))
        return value

    def _watch_path(self, root: Any, attributes: tuple[str, ...]) -> None:
        """Watch the attributes that follow one another behind a variable, and the function that this leads to."""
        value = root
        for attribute in attributes:
            if isinstance(value, types.ModuleType):
                value = _Missing if _is_library(value.__name__) else self._watch_name(vars(value), attribute)
            else:
                value = self._watch_attribute(value, attribute)
            if value is _Missing:
                return
        self._watch(value)

    def _watch_attribute(self, owner: Any, attribute: str) -> Any:
        """Watch an attribute of an object: its own, or the method, property or value that its class has."""
        if owner is _Missing or is_tensor(owner):
            return _Missing
        own = getattr(owner, "__dict__", None)
        value = _Missing if own is None else self._watch_name(own, attribute)
        if value is not _Missing:
            return value
        holder = next((cls for cls in type(owner).__mro__ if attribute in vars(cls)), None)
        if holder is None or _is_library(holder.__module__):
            return _Missing
        value = self._watch_name(vars(holder), attribute)
        value = value.fget if isinstance(value, property) else _unwrapped(value)
        return types.MethodType(value, owner) if isinstance(value, types.FunctionType) else value

    # --- asking ---------------------------------------------------------------------------------------------

    @property
    def empty(self) -> bool:
        """Whether there is nothing to watch."""
        return not self._cells and not self._names

    def changed(self) -> bool:
        """Whether a name has been bound to something else since."""
        for cell, value, snapshot in self._cells:
            now = _contents(cell)
            if not (snapshot is None if now is value else _equal(now, value)) and not _same(now, snapshot):
                return True
        for names, name, value, snapshot in self._names:
            now = names.get(name, _Missing)
            if not (snapshot is None if now is value else _equal(now, value)) and not _same(now, snapshot):
                return True
        return False


def bound_objects(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
    """Arguments that are objects with attributes or functions, by the names of their parameters."""
    while not isinstance(function, _PLAIN) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__  # of a transform, which takes the same arguments
    method = isinstance(function, types.MethodType)
    plain = function.__func__ if method else function
    names = plain.__code__.co_varnames[int(method) :] if isinstance(plain, types.FunctionType) else ()
    given = [*zip(names, args, strict=False), *kwargs.items()]
    return tuple((name, value) for name, value in given if hasattr(value, "__dict__"))


def _unwrapped(value: Any) -> Any:
    """The function behind a callable: a wrapped one, a partial one, an object with `__call__`."""
    for _ in range(32):
        if isinstance(value, functools.partial):
            value = value.func
        elif isinstance(value, staticmethod | classmethod):
            value = value.__func__
        elif not isinstance(value, _PLAIN) and hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        else:
            break
    if isinstance(value, _PLAIN) or _is_library(type(value).__module__):
        return value
    call = getattr(type(value), "__call__", None)  # noqa: B004
    return types.MethodType(call, value) if isinstance(call, types.FunctionType) else value


def _is_library(module: str | None) -> bool:
    return module is None or module.partition(".")[0] in _LIBRARIES


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _Missing


def _snapshot(value: Any) -> Any:
    """A copy of a container and the containers in it, `None` for anything else."""
    if type(value) not in _CONTAINERS:
        return None
    try:
        return _copied(value)
    except RecursionError:
        return None


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copied(part) for key, part in value.items()}
    return kind(map(_copied, value)) if kind in _CONTAINERS and value else value


def _same(now: Any, snapshot: Any) -> bool:
    """Whether a container holds what it did."""
    kind = type(snapshot)
    if snapshot is None or type(now) is not kind or len(now) != len(snapshot):
        return False
    if kind is set:
        return bool(now == snapshot)
    if kind is dict:
        if list(now) != list(snapshot):
            return False
        now, snapshot = now.values(), snapshot.values()
    pairs = zip(now, snapshot, strict=True)
    return all(a is b or _equal(a, b) or (type(b) in _CONTAINERS and _same(a, b)) for a, b in pairs)


def _equal(now: Any, then: Any) -> bool:
    """Whether two plain values are the same, bit for bit as far as a computation can tell."""
    if not isinstance(now, _BY_VALUE) or type(now) is not type(then):
        return False
    return bool(now == then) or bool(now != now and then != then)


@functools.lru_cache(1024)
def _paths(code: types.CodeType) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """The variables that a code object, or one nested in it, loads, with the attributes named behind each."""
    return tuple(dict.fromkeys(_walk(code)))


def _walk(code: types.CodeType) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    kind, name, attributes = "", "", []  # type: tuple[str, str, list[str]]
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and kind:
            attributes.append(instruction.argval)
            continue
        if kind:
            yield kind, name, tuple(attributes)
        kind, name, attributes = _root(instruction), _last(instruction.argval), []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _walk(constant)


def _root(instruction: dis.Instruction) -> str:
    """Which variable an instruction loads: a global one, one of a closure, or a local one; else nothing."""
    if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return "global"
    if "DEREF" in instruction.opname and instruction.opname.startswith("LOAD"):
        return "cell"
    return "local" if instruction.opname.startswith("LOAD_FAST") else ""


def _last(name: Any) -> str:
    return str(name[-1]) if isinstance(name, tuple) and name else str(name)
