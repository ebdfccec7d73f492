"""Dataflow analysis of bytecode: finds the captured arrays whose contents Python or NumPy may read.

An array that is an operand of recorded instructions is read where it lies at each replay. What plain Python or NumPy
computes from it, an element, a sum, a length, is the same number in every replay. So the code is followed from each
place where an array comes from to where it goes: into a call or an operator that recorded it as an operand, into a
variable, a helper's parameter, a view. Wherever it goes to something else, or where the code cannot be followed, its
contents are taken as used, and a replay compares them.
"""

import builtins
import dis
import functools
import types
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tapegrad.program.captured import references
from tapegrad.program.captured.hidden import LRU_CACHE, referents
from tapegrad.program.captured.origin import is_made_here
from tapegrad.program.dataflow.points_to import (
    BoundMethod,
    Local,
    LocalContainer,
    PointsTo,
    PropertyAccess,
    attribute,
    inside,
    joined,
    lead,
    parts,
)
from tapegrad.program.recording.recording import Sites, memory_of

_LOOK = {
    len,
    isinstance,
    issubclass,
    type,
    id,
    range,
    hasattr,
    callable,
    print,
    repr,
    np.shape,
    np.ndim,
    np.size,
}
_WRAP = {list, tuple, iter, reversed, set, frozenset}
_VIEW = {
    np.asarray, np.ascontiguousarray, np.array, np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims,
    np.broadcast_to, np.atleast_1d, np.atleast_2d, np.swapaxes, np.moveaxis, np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip
_ADD = frozenset({"append", "add", "insert", "extend", "appendleft", "update", "setdefault"})
_TAKE = frozenset({"get", "pop", "popleft", "values", "copy", "__getitem__"})


class Dataflow:
    """Dataflow of a function: the values that its variables, containers and results may have.

    Parameters
    ----------
    root
        What is recorded: a function, or what calls one.
    functions
        All functions whose code is followed.
    given
        What the root may be called with beside what is traced.
    sites
        For each source line that recorded operands, their memory.

    Attributes
    ----------
    used
        The arrays that may be read other than as operands, by their ids.
    codes
        The code that is followed.
    grown
        Whether something new was found since this was last set to false.
    lost
        Whether there is code that cannot be followed.
    """

    def __init__(
        self, root: Any, functions: Iterable[types.FunctionType], given: Iterable[Any], sites: Sites
    ) -> None:
        self.used: dict[int, np.ndarray] = {}
        self.lost = False
        self._sites = {_at(code, last): memory for (code, last), memory in sites.items()}
        self._variables: dict[tuple[types.CodeType, str], PointsTo] = {}
        self._results: dict[types.CodeType, PointsTo] = {}
        self._globals: dict[types.CodeType, dict[str, Any]] = {}
        self._outer: dict[types.CodeType, types.CodeType] = {}
        self._boxes: dict[Any, LocalContainer] = {}
        self._named: dict[str, list[types.CodeType]] = {}
        self._escaped: set[types.CodeType] = set()
        self.codes: list[types.CodeType] = []
        self.grown = True
        for function in functions:
            self._take_up(function)
        self._begin(root, [], lead(*given))

    def _begin(self, root: Any, args: list[PointsTo], given: PointsTo) -> None:
        """Start with a call of the root: its parameters have the bound values, or the given ones."""
        if isinstance(root, types.MethodType):
            self._begin(root.__func__, [lead(root.__self__), *args], given)
        elif isinstance(root, functools.partial):
            bound = joined([given, *map(lead, root.keywords.values())])
            self._begin(root.func, [*map(lead, root.args), *args], bound)
        elif isinstance(root, types.FunctionType):
            if root.__code__ in self._globals:
                self._bind(root.__code__, args, 0)
                for name in parameters(root.__code__)[len(args) :]:
                    self.put(root.__code__, name, given)
            inner = getattr(root, "__wrapped__", None)
            if inner is not None:
                self._begin(inner, args, given)
        elif is_made_here(root):
            self._begin(getattr(root, "function", None), args, given)
        elif root is not None:
            call = getattr(type(root), "__call__", None)  # noqa: B004
            self._begin(call if isinstance(call, types.FunctionType) else None, [lead(root), *args], given)

    def _take_up(self, function: types.FunctionType) -> None:
        code = function.__code__
        self._add_code(code, function.__globals__, None)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.put(code, name, lead(references.content(cell)))
        defaults = function.__defaults__ or ()
        last = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
        for name, value in [*zip(last, defaults, strict=True), *(function.__kwdefaults__ or {}).items()]:
            self.put(code, name, lead(value))

    def _add_code(
        self, code: types.CodeType, variables: dict[str, Any], outer: types.CodeType | None
    ) -> None:
        if code in self._globals:
            return
        self.codes.append(code)
        self._named.setdefault(code.co_name, []).append(code)
        self._globals[code] = variables
        if outer is not None:
            self._outer[code] = outer
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant, variables, code)

    # --- known values ------------------------------------------------------------------------------------------

    def get(self, code: types.CodeType, name: str) -> PointsTo:
        """Return the values of a local variable, or of one of an enclosing function."""
        found = self._variables.get((code, name), {})
        outer = self._outer.get(code)
        if outer is not None and name in code.co_freevars:
            return joined([found, self.get(outer, name)])
        return found

    def put(self, code: types.CodeType, name: str, value: PointsTo) -> None:
        """Add to the values of a local variable."""
        if name in code.co_freevars and code in self._outer:
            return self.put(self._outer[code], name, value)
        return self._grow(self._variables.setdefault((code, name), {}), value)

    def variable(self, code: types.CodeType, name: str) -> PointsTo:
        """Return the values of a global variable."""
        return lead(self._globals[code].get(name, getattr(builtins, name, None)))

    def returned(self, code: types.CodeType, value: PointsTo) -> None:
        """Note a result of a function. Operators and `with` do not name the special methods that they call."""
        self._grow(self._results.setdefault(code, {}), value)
        if code in self._escaped or code.co_name[:2] == code.co_name[-2:] == "__":
            self.use(value.values())

    def fill(self, box: LocalContainer, value: PointsTo) -> None:
        """Add to the items of a container of the code's own."""
        self._grow(box.parts, value)

    def _grow(self, known: PointsTo, more: PointsTo) -> None:
        if not more.keys() <= known.keys():
            known.update(more)
            self.grown = True

    def box(self, key: Any, value: PointsTo) -> PointsTo:
        """Return the container that is made at an offset in the code, with a value added to its items."""
        box = self._boxes.setdefault(key, LocalContainer())
        self.fill(box, value)
        return lead(box)

    def row(self, key: Any, values: Iterable[PointsTo]) -> PointsTo:
        """Return the tuple that is made at an offset in the code."""
        fields = list(values)
        box = self._boxes.setdefault(key, LocalContainer(len(fields)))
        for known, value in zip(box.fields, fields, strict=True):
            self._grow(known, value)
            self.fill(box, value)
        return lead(box)

    # --- uses of values -------------------------------------------------------------------------------

    def use(self, values: Iterable[Any], operands: Iterable[int] = ()) -> None:
        """Mark all arrays in values as read, except operands recorded at this source line."""
        waiting, seen = list(values), set()
        while waiting:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, np.ndarray) and memory_of(value) not in operands:
                self.used[id(value)] = value
            for code in _codes_of(value):
                self._escape(code)
            waiting.extend(lead(*inside(value)).values())

    def _escape(self, code: types.CodeType) -> None:
        """Note that unknown code may call a function: its results escape."""
        if code in self._globals and code not in self._escaped:
            self._escaped.add(code)
            self.use(self._results.get(code, {}).values())

    def consume(self, code: types.CodeType, offset: int, *values: PointsTo) -> None:
        """Mark values as used by an operator or a call, unless it has recorded them as operands."""
        self.use(joined(values).values(), self._sites.get((code, offset), ()))

    def elements(self, value: PointsTo) -> PointsTo:
        """Return the values of iterating over a value, or of taking an element by a key."""
        found: PointsTo = {}
        for each in value.values():
            if isinstance(each, np.ndarray):
                if each.ndim > 1:
                    found[id(each)] = each
                else:
                    self.use([each])
            elif isinstance(
                each, LocalContainer | dict | types.MappingProxyType | list | tuple | set | frozenset
            ):
                found.update(lead(*parts(each)))
            else:
                self.use([each])
        return found

    def attributes(self, code: types.CodeType, offset: int, value: PointsTo, name: str) -> PointsTo:
        """Return the values of an attribute; if it is unknown, it may be any method of that name."""
        found: PointsTo = {}
        if not value:
            for own in self._named.get(name, ()):
                self._escape(own)
        for each in value.values():
            leads = attribute(each, name)
            if leads is None:
                self.use([each])
            else:
                for one in leads.values():
                    found.update(
                        self._call_one(code, offset, one.function, [lead(each)], 0)
                        if isinstance(one, PropertyAccess)
                        else lead(one)
                    )
        return found

    def call(
        self, code: types.CodeType, offset: int, callee: PointsTo, args: list[PointsTo], names: int
    ) -> PointsTo:
        """Apply a call; the last `names` arguments are given by name."""
        found: PointsTo = {}
        for function in callee.values():
            found.update(self._call_one(code, offset, function, args, names))
        if not callee:
            self.consume(code, offset, *args)
        return found

    def _call_one(
        self, code: types.CodeType, offset: int, function: Any, args: list[PointsTo], names: int
    ) -> PointsTo:
        if isinstance(function, BoundMethod | types.MethodType):
            owner = function.owner if isinstance(function, BoundMethod) else function.__self__
            inner = function.function if isinstance(function, BoundMethod) else function.__func__
            if isinstance(inner, str):
                return self._call_method(code, offset, owner, inner, args)
            return self._call_one(code, offset, inner, [lead(owner), *args], names)
        if isinstance(function, LRU_CACHE):
            cached = lead(*referents(function))
            return joined([self._call_one(code, offset, function.__wrapped__, args, names), cached])
        own = getattr(function, "__code__", None) if isinstance(function, types.FunctionType) else None
        own = function.code if isinstance(function, Local) else own
        if own in self._globals:
            return self._bind(own, args, names)
        return self._call_known(code, offset, function, args)

    def _bind(self, code: types.CodeType, args: list[PointsTo], names: int) -> PointsTo:
        """Bind arguments to parameters: those given by name, and the surplus, may be any of them."""
        own = parameters(code)
        for k, value in enumerate(args):
            positional = k < len(args) - names and k < code.co_argcount
            for name in [own[k]] if positional else own:
                self.put(code, name, value)
        return self._results.get(code, {})

    def _call_known(self, code: types.CodeType, offset: int, function: Any, args: list[PointsTo]) -> PointsTo:
        """Apply a call of a function that is not the user's."""
        try:
            if function in _LOOK:
                return {}
            if function in _VIEW:
                return joined(args)
            if function in _WRAP:
                return self.box((code, offset), self.elements(joined(args)))
            if function is zip or function is enumerate:
                fields: list[PointsTo] = [{}] if function is enumerate else []
                inner = self.row((code, offset, len(args)), fields + [self.elements(arg) for arg in args])
                return self.box((code, offset), inner)
        except TypeError:  # not hashable
            pass
        if isinstance(function, np.ndarray):  # a method that shows the array's memory
            self.consume(code, offset, *args)
            return lead(function)
        if _is_replayed(function):  # in a recording it runs the function itself
            return self._call_one(code, offset, function.function, args, 0)
        self.consume(code, offset, lead(function), *args)
        return {}

    def _call_method(
        self, code: types.CodeType, offset: int, owner: Any, name: str, args: list[PointsTo]
    ) -> PointsTo:
        """Apply a call of a method of a container."""
        if name == "items":
            return self.box((code, offset), self.row((code, offset, 1), [{}, lead(*parts(owner))]))
        if name in _TAKE:
            found = lead(*parts(owner))
            return self.box((code, offset), found) if name in ("values", "copy") else joined([found, *args])
        if name in _ADD and isinstance(owner, LocalContainer):
            self.fill(owner, joined(args))
            return {}
        self.consume(code, offset, lead(owner), *args)
        return {}


def _at(code: types.CodeType, last: int) -> tuple[types.CodeType, int]:
    """Return the instruction that a frame was in, whose last offset may lie in the cache behind it."""
    offsets = [i.offset for i in instructions(code)]
    return code, offsets[bisect_right(offsets, last) - 1]


def _codes_of(value: Any) -> Iterator[types.CodeType]:
    """Return the code that runs when a value is called, its own or that of a function that it wraps."""
    if isinstance(value, Local):
        yield value.code
    inner = value.function if isinstance(value, BoundMethod) else getattr(value, "__func__", value)
    while isinstance(inner, types.FunctionType):
        yield inner.__code__
        inner = inner.__dict__.get("__wrapped__")


def parameters(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of all parameters of a function."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    return code.co_varnames[:count]


def _is_replayed(function: Any) -> bool:
    return type(function).__module__ == "tapegrad.transforms.jit"


@functools.lru_cache(1024)
def instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """Return the instructions of a code object."""
    return tuple(dis.get_instructions(code))
