"""Functions that come again, as arguments of a function of the library, with what was made of them before.

So a solver that is called again and again, in a loop that differentiates its result or fits one model after the other,
records nothing anew.
"""

import contextlib
import dis
import functools
import math
import operator
import types
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.tensor.static_keys import IdentityKey, token
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.recording.signature import has_tensor
from tapegrad.pytree import flatten, replaced
from tapegrad.transforms.jit import Jit, jit

_KEPT = 64  # functions and what their arguments look like
_MAX_KEPT_BYTES = 16 << 20  # of arrays in closures that are kept from the first time on
_ASSIGN = ("STORE_DEREF", "DELETE_DEREF")
_WITHOUT_ARRAYS = (
    bool, int, float, complex, str, bytes, type(None), type, np.dtype, np.ufunc,
    types.BuiltinFunctionType, types.ModuleType,
)  # fmt: skip


class KnownFunction:
    """A user's function, and what was made of it.

    Attributes
    ----------
    recorded
        The function, recorded.
    stated
        The function, to be called with Tensors.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.recorded: Jit[..., Any] = function if isinstance(function, Jit) else jit(function)
        self.stated: Callable[..., Any] = self.recorded.function
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what `make` returns, which is called once for each key."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


_kept: dict[Hashable, KnownFunction] = {}
_met: dict[int, list[weakref.ref[Any]]] = {}  # by hashes of keys that came, what their functions close over


def known(function: Callable[..., Any], args: Any, key: Hashable) -> KnownFunction:
    """Return a user's function with what is known of it, for arguments that look like these and a further key.

    What closes over something is kept from the second time on: that may be large, and need not come again.
    """
    leaves, definition = flatten(args)
    full = (*_identity(function), key, definition, *map(_look, leaves))
    found = _kept.get(full)
    if found is None:
        found = KnownFunction(function)
        came_before = _came_before(full, function)
        if came_before or (isinstance(function, LiftedFunction) and not function.contents):
            _kept[full] = found
            _keep_latest(_kept, _KEPT)
    return found


def recurring(function: Callable[..., Any]) -> KnownFunction:
    """Return a user's function with its recordings, the same for functions that do the same.

    These have one code, and the same in their closures and defaults: equal numbers and texts, functions that do the
    same, else the same objects. The closure is a copy, so what is assigned to its variables later is not seen.
    """
    like, values = lifted(function, ())
    if flatten(values)[0]:  # Tensors: constants of one call
        return KnownFunction(function)
    key = _identity(like)
    found = _recurring.pop(key, None)
    is_kept = found is not None
    if found is None:
        found = KnownFunction(like.bound(values) if isinstance(like, LiftedFunction) else function)
        is_kept = (
            _came_before(key, function) or sum(map(_bytes_of, _closed_over(function))) <= _MAX_KEPT_BYTES
        )
    if is_kept:
        _recurring[key] = found
        _keep_latest(_recurring, _KEPT)
    return found


_recurring: dict[Hashable, KnownFunction] = {}  # the latest used last


def _keep_latest(entries: dict[Any, Any], most: int) -> None:
    for old in list(entries)[:-most]:
        entries.pop(old, None)


def _came_before(key: Hashable, function: Any) -> bool:
    """Return whether a function came before with this key, and closed over the same objects.

    These are referred to weakly: an object that is gone leaves its address, hence the hash of its key, to another.
    """
    objects = [weakref.ref(each) for each in _closed_over(function) if type(each).__weakrefoffset__]
    before = _met.pop(hash(key), None)
    _met[hash(key)] = objects
    _keep_latest(_met, 4 * _KEPT)
    return before is not None and len(before) == len(objects) and all(map(operator.is_, before, objects))


def _closed_over(value: Any, above: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Return the numbers, arrays and objects in closures, methods and containers."""
    if isinstance(value, LiftedFunction):
        value = value.function
    if isinstance(value, types.FunctionType):
        parts = (*_cells(value), *(value.__defaults__ or ()))
    elif type(value) in (list, tuple, dict):
        parts = tuple(value.values() if type(value) is dict else value)
    elif type(value) is types.MethodType:
        parts = (value.__self__,)
    else:
        yield value
        return
    for part in parts:
        if not any(part is each for each in (*above, value)):
            yield from _closed_over(part, (*above, value))


def _cells(function: types.FunctionType) -> Iterator[Any]:
    """Return the values of the variables of the function around, of those that have one."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            yield cell.cell_contents


def _bytes_of(value: Any) -> float:
    """Return the size of an array; infinity for an object that may hold others."""
    if isinstance(value, np.ndarray):
        return value.nbytes if value.dtype != object else math.inf
    return 0 if type(value) in _WITHOUT_ARRAYS or isinstance(value, np.generic) else math.inf


def _identity(function: Any) -> tuple[Any, ...]:
    """Return a key that is equal for functions that do the same."""
    if isinstance(function, LiftedFunction):
        return function.key
    if type(function) is types.MethodType:  # it is made anew at each look
        return IdentityKey(function.__self__), IdentityKey(function.__func__)
    return (IdentityKey(function),)


def _look(leaf: Any) -> Any:
    """Return what recordings for a leaf depend on: of what varies its shape and dtype, else the value."""
    if is_tensor(leaf) or isinstance(leaf, np.ndarray | np.generic):
        return leaf.shape, leaf.dtype
    return type(leaf) if type(leaf) in (float, complex) else token(leaf)


# --- closures ----------------------------------------------------------------------------------------------------


class LiftedFunction:
    """Function with a copy of its closure, in which what holds Tensors is left out: these are its last arguments.

    Parameters
    ----------
    function
        The function.
    contents
        What it closes over.
    left_out
        The numbers of those that are left out; with each a `LiftedFunction`, whose last arguments it takes then, or
        `None`.

    Attributes
    ----------
    function
        The function; it sees `None` in their place, or functions that do.
    contents
        What it closes over then.
    key
        Equal for functions that do the same.
    """

    def __init__(self, function: types.FunctionType, contents: list[Any], left_out: dict[int, Any]) -> None:
        self._code, self._globals, self._left_out = function.__code__, function.__globals__, left_out
        self._defaults = function.__defaults__
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        inner = [None if each is None else each.function for each in left_out.values()]
        self.contents = replaced(contents, left_out, inner)
        self.function = self._with(self.contents)
        keys = map(token, (*replaced(contents, left_out, left_out), *(self._defaults or ())))
        own = [each and each.key for each in left_out.values()]
        self.key = IdentityKey(self._code), IdentityKey(self._globals), *keys, *left_out, *own

    def _with(self, contents: Sequence[Any]) -> types.FunctionType:
        """Return the function with other contents of its closure."""
        cells = tuple(map(types.CellType, contents))
        function = types.FunctionType(self._code, self._globals, self.__name__, self._defaults, cells)
        function.__qualname__ = self.__qualname__
        return function

    def bound(self, values: Sequence[Any]) -> types.FunctionType:
        """Return the function with values of what was left out."""
        pairs = zip(self._left_out.values(), values, strict=True)
        found = [value if inner is None else inner.bound(value) for inner, value in pairs]
        return self._with(replaced(self.contents, self._left_out, found))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        count = len(args) - len(self._left_out)
        return self.bound(args[count:])(*args[:count], **kwargs)


def lifted(function: Any, args: tuple[Any, ...], above: tuple[Any, ...] = ()) -> tuple[Any, tuple[Any, ...]]:
    """Return a function that closes over no Tensors of its own, and its arguments with these behind, where it can be.

    It cannot of functions with attributes, with keyword-only defaults or Tensors for defaults, of those that assign to
    variables of the function around or close over one that does, and of one inside of itself (`above`).
    """
    is_plain = type(function) is types.FunctionType and function not in above
    if (
        not is_plain
        or function.__kwdefaults__
        or function.__dict__
        or has_tensor(function.__defaults__ or (), {})
        or _assigns(function.__code__)
    ):
        return function, args
    contents = list(_cells(function))
    if len(contents) < len(function.__code__.co_freevars):  # a variable has no value yet
        return function, args
    left_out, values = dict[int, Any](), []
    for k, each in enumerate(contents):
        is_beside = getattr(each, "__globals__", None) is function.__globals__
        if is_beside and _assigns(each.__code__):  # to a variable that this one may read, too
            return function, args
        inner, own = lifted(each, (), (*above, function)) if is_beside else (each, ())
        is_lifted = isinstance(inner, LiftedFunction)
        if is_lifted or has_tensor((each,), {}):
            left_out[k] = inner if is_lifted else None
            values.append(own if is_lifted else each)
    return LiftedFunction(function, contents, left_out), (*args, *values)


@functools.lru_cache
def _assigns(code: types.CodeType) -> bool:
    """Return whether code assigns to variables of the function around, or deletes them."""
    instructions = dis.get_instructions(code)
    own = any(each.opname in _ASSIGN and each.argval in code.co_freevars for each in instructions)
    return own or any(_assigns(each) for each in code.co_consts if isinstance(each, types.CodeType))
