"""Stand-ins for functions of SciPy and of `math`: they dispatch on Tensors inside of `in_place_of_scipy`."""

import functools
import inspect
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad.foreign import StandIn, is_sparse_tensor
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.implicit.known import lifted
from tapegrad.interop.in_place.arguments import pass_on
from tapegrad.stats.scipys_place import inside

_NUMBERS = frozenset({float, int})
_PLAIN = frozenset({np.ndarray, float, int})
# NumPy's enumeration for `copy`, which the array API's compatibility layer writes, in the words of `numpy.asarray`.
_COPY_MODES: dict[str, dict[str, Any]] = {
    "ALWAYS": {"copy": True},
    "NEVER": {"copy": False},
    "IF_NEEDED": {"copy": None},
}
creates: ContextVar[bool] = ContextVar("creation in in_place_of_scipy", default=False)
_OWN_CONVERTERS = ("tapegrad.", "scipy.", "numpy.")


def has_tensor(values: Iterable[Any]) -> bool:
    """Return whether one of some arguments is a Tensor, or has one inside: a list, a tuple, a sparse matrix."""
    return any(is_tensor(value) or holds_tensors(value) or is_sparse_tensor(value) for value in values)


class FunctionStandIn(StandIn):
    """Stand-in for a function, or a class, that runs one of tapegrad where an argument is a Tensor.

    Parameters
    ----------
    name
        SciPy's name in full, also an attribute.
    theirs, ours
        Both functions. Ours takes arguments by SciPy's names.
    """

    __slots__ = ()

    def __init__(self, name: str, theirs: Callable[..., Any], ours: Callable[..., Any]) -> None:
        super().__init__(theirs)
        self.name, self._ours = name, ours

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if inside.get() and has_tensor((*args, *kwargs.values())):
            return pass_on(self.name, self.__wrapped__, self._ours, args, kwargs)
        return self.__wrapped__(*args, **kwargs)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self.__wrapped__) or type(value) is self._ours  # type: ignore[arg-type]


class ScalarStandIn(FunctionStandIn):
    """Stand-in for a function of `math`, whose arguments are numbers, or iterables of them."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not inside.get() or {*map(type, args)} <= _NUMBERS:
            return self.__wrapped__(*args, **kwargs)
        args = tuple([list(each) if hasattr(each, "__next__") else each for each in args])  # of a generator
        return (self._ours if has_tensor(args) else self.__wrapped__)(*args, **kwargs)


class ConverterStandIn(FunctionStandIn):
    """Stand-in for a function of NumPy that takes anything: Tensors stay Tensors, those in lists as well.

    This library, SciPy and NumPy call it for plain numbers, and get NumPy's own.
    """

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if (args and type(args[0]) in _PLAIN) or not inside.get():
            return self.__wrapped__(*args, **kwargs)
        if has_tensor((*args, *kwargs.values())) and not _is_own_call():
            copies = _COPY_MODES.get(getattr(kwargs.get("copy"), "name", ""), {})
            return self._ours(*args, **{**kwargs, **copies})
        return self.__wrapped__(*args, **kwargs)


class CreationStandIn(FunctionStandIn):
    """Stand-in for a function of NumPy that creates arrays: Tensors, which results can be written into.

    So it does for code of others while something is recorded or differentiated, if the context asks for it, and in any
    case where an argument is a Tensor.
    """

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        mode = thread.mode
        is_asked = creates.get() and (mode.recorder is not None or mode.leaves or mode.outside)
        if inside.get() and (is_asked or has_tensor((*args, *kwargs.values()))) and not _is_own_call():
            made = self._ours(*args, **kwargs)
            if made.dtype.kind in "fc":
                return made
        return self.__wrapped__(*args, **kwargs)


def _is_own_call() -> bool:
    """Return whether this library, SciPy or NumPy has called the stand-in that asks."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame and frame.f_back
    return frame is not None and str(frame.f_globals.get("__name__")).startswith(_OWN_CONVERTERS)


class SolverStandIn(FunctionStandIn):
    """Stand-in for a function that calls some of the user's, which may close over Tensors.

    SciPy's runs until one of them returns a Tensor; then ours begins anew. Of a closure that holds Tensors ours runs at
    once: a branch that it takes by them for SciPy's places would be a guard of a recording.
    """

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not inside.get() or has_tensor((*args, *kwargs.values())):
            return super().__call__(*args, **kwargs)
        if any(lifted(each, ())[1] for each in (*args, *kwargs.values())):  # a closure that holds Tensors
            return pass_on(self.name, self.__wrapped__, self._ours, args, kwargs)
        mark = object()
        given = [_watched(each, mark) for each in args]
        by_name = {name: _watched(each, mark) for name, each in kwargs.items()}
        try:
            return self.__wrapped__(*given, **by_name)
        except _TensorResult as found:
            if found.args != (mark,):
                raise  # of a solver around this one
        return pass_on(self.name, self.__wrapped__, self._ours, args, kwargs)


class _TensorResult(BaseException):
    """A function has returned a Tensor to SciPy; its argument marks the call of SciPy's."""


def _watched(function: Any, mark: object) -> Any:
    """Return a function that raises where it would return a Tensor; what is none of Python's as it is."""
    package = type(function).__module__.partition(".")[0]
    if not callable(function) or isinstance(function, type) or package in ("scipy", "ctypes"):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        if has_tensor((value,)):
            raise _TensorResult(mark)
        return value

    return call
