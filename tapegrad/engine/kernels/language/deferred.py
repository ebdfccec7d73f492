"""Functions that only compiled code calls, which Numba learns of when it first meets them.

The package has six hundred. Dispatchers and intrinsics of all take a fifth of a second to make, and a process that finds
its machine code in the cache needs none.
"""

from collections.abc import Callable
from typing import Any

import numba
from numba import extending

from tapegrad.engine.kernels.language.numba_internals import cpu_target


class _Deferred:
    """A function with Numba's object for it, which is made on first demand.

    Numba asks a global variable that it does not know for its type by the name ``_numba_type_``.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self._made: Any = None

    @property
    def numbas(self) -> Any:
        """Numba's object for the function."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.__module__}.{self.__qualname__}>"


class Helper(_Deferred):
    """Function that Numba compiles as its callers need it: a dispatcher.

    Attributes
    ----------
    py_func, targetoptions
        The Python function, and how it is compiled; by these names Numba looks for what it inlines.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function)
        self.targetoptions = options

    def _make(self) -> Any:
        return numba.njit(**self.targetoptions)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return self.numbas._numba_type_

    def __call__(self, *args: Any) -> Any:
        """Call it from Python, if it is compiled for that."""
        return self.numbas(*args)


class Intrinsic(_Deferred):
    """Function whose calls are instructions: the Python function returns their signature, and what emits them."""

    def _make(self) -> Any:
        return extending.intrinsic(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        context = cpu_target.typing_context
        made = self.numbas
        context.refresh()  # it knows none that was made since it was last used
        return context.resolve_value_type(made)


def helpers(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator for functions that are compiled with these options of `numba.njit`."""

    def decorate(function: Callable[..., Any]) -> Helper:
        return Helper(function, options)

    return decorate


def intrinsic(function: Callable[..., Any]) -> Any:
    """Make an intrinsic, as `numba.extending.intrinsic` does."""
    return Intrinsic(function)
