"""The Python functions that ``@njit`` functions were made of, so that these can be recorded and differentiated.

Numba takes what a function sees, but for its arguments, as constants when it compiles it. Here it is taken when the
function is handed over, and some of it is replaced: ``@njit`` functions by the Python functions they were made of,
`math` and NumPy by functions that take Tensors and by creation functions whose arrays Tensors can be written to, and
`prange` by `range`.
"""

import functools
import inspect
import math
import types
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language import is_jitted, numba
from tapegrad.frontend.functions.elements.special import FUNCTIONS as SPECIAL
from tapegrad.frontend.numpy_face.numpy_protocols import CREATION, FUNCTIONS, LINALG
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.transforms.calling.numba_scalars import HELPERS, rewritten, writes

# Functions of `math` that have another name here.
_RENAMED = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "fabs": "absolute", "pow": "power", "lgamma": "gammaln",
}  # fmt: skip
_INTEGERS = {"floor", "ceil", "trunc"}  # which `math` returns as integers
_LIBRARIES = ("numpy", "numba", "scipy", "tapegrad", "math", "builtins")
_known: "weakref.WeakKeyDictionary[Any, Callable[..., Any]]" = weakref.WeakKeyDictionary()


def python_of(function: Any) -> Callable[..., Any]:
    """Return the Python function of an ``@njit`` function, and any other function unchanged."""
    if not is_jitted(function):
        return function  # type: ignore[no-any-return]
    found = _known.get(function)
    if found is None:
        found = _known[function] = _made_of(function.py_func)
    return found


def _made_of(function: Any) -> Callable[..., Any]:
    source = _Source(rewrite=False)
    found = source.function(function)
    return _Source(rewrite=True).function(function) if source.writes else found


class _Source:
    """Builder of a function and its callees.

    Parameters
    ----------
    rewrite
        Whether numbers in them are made to be as Numba has them.

    Attributes
    ----------
    writes
        Whether one of them may write to something, so that this makes a difference.
    """

    def __init__(self, rewrite: bool) -> None:
        self._rewrite, self.writes = rewrite, False
        self._made: dict[int, tuple[Any, Any]] = {}  # by id, with what has that id
        self._filled: set[tuple[int, frozenset[str]]] = set()  # modules, with the names that they have got

    def function(self, function: Any) -> Callable[..., Any]:
        """Return the function with other globals and cells."""
        if id(function) in self._made:
            found: Callable[..., Any] = self._made[id(function)][1]
            return found
        code = rewritten(function) if self._rewrite else function.__code__
        self.writes |= writes(code)
        names = frozenset(_names(code))
        seen = {
            "__builtins__": function.__globals__.get("__builtins__"),
            "__name__": function.__module__,
            **HELPERS,
        }
        closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells = tuple(types.CellType() for _ in code.co_freevars)
        made = types.FunctionType(code, seen, function.__name__, function.__defaults__, cells)
        functools.update_wrapper(made, function)
        made.__kwdefaults__ = function.__kwdefaults__
        self._made[id(function)] = function, made
        seen |= {
            name: self._replaced(function.__globals__[name], names)
            for name in names & function.__globals__.keys()
        }
        for name, cell in zip(code.co_freevars, cells, strict=True):
            cell.cell_contents = self._replaced(closure[name].cell_contents, names)
        return made

    def _replaced(self, value: Any, names: frozenset[str]) -> Any:
        """Return the stand-in for a value that a function reaches, and that has these names."""
        if is_jitted(value):
            return self.function(value.py_func)
        if isinstance(value, types.ModuleType):
            return self._module(value, names)
        if value is numba.prange:
            return range
        if isinstance(value, types.FunctionType) and not _is_of_library(value):
            return self.function(value)
        name = getattr(value, "__name__", None)
        if isinstance(name, str) and callable(value):
            if getattr(math, name, None) is value:
                return _of_math(name)
            if getattr(np, name, None) is value:
                return _of_numpy(name)
        return value

    def _module(self, module: types.ModuleType, names: frozenset[str]) -> types.ModuleType:
        """Return the stand-in for a module, one for all functions, with the names that each of them mentions."""
        made: types.ModuleType = self._made.setdefault(
            id(module), (module, types.ModuleType(module.__name__))
        )[1]
        if (id(module), names) in self._filled:
            return made
        self._filled.add((id(module), names))
        own = {"numpy": {**CREATION, **FUNCTIONS}, "numpy.linalg": LINALG}.get(module.__name__, {})
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # NumPy 2.0 has modules of old names in its modules
            for name in names:
                if name in own:
                    vars(made)[name] = own[name]
                elif hasattr(module, name):
                    vars(made)[name] = self._replaced(getattr(module, name), names)
        return made


def _names(code: types.CodeType) -> Iterable[str]:
    """Return all names that a function mentions, and the functions in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _names(constant)


def _is_of_library(function: types.FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] in _LIBRARIES


def _of_numpy(name: str) -> Any:
    """NumPy's function, or ours of that name."""
    return FUNCTIONS.get(name) or CREATION.get(name) or getattr(np, name)


@functools.cache
def _of_math(name: str) -> Callable[..., Any]:
    """Return our function in place of one of `math`, if there is one that takes Tensors."""
    plain = getattr(math, name)
    here = _RENAMED.get(name, name)
    ours = FUNCTIONS.get(here) or SPECIAL.get(here)
    if ours is None:
        return plain  # type: ignore[no-any-return]  # Numba has no types

    @functools.wraps(plain)
    def call(*args: Any) -> Any:
        if not any(map(is_tensor, args)):
            return plain(*args)
        result = ours(*args)
        return int(result.detach()) if name in _INTEGERS else result

    return call
