"""Functions of Numba's that get Tensors: the Python functions behind them run instead.

Numba asks for the type of each argument, and then for a function that is compiled for these types. A Tensor answers
with a type that there is no function for, and what Numba gets in the end is the Python function.
"""

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language import numba, types
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.interop.in_place.stand_ins import has_tensor
from tapegrad.stats.scipys_place import inside
from tapegrad.transforms.calling.njit_source import python_of

Method = tuple[type, str, Any, Any]  # class, name, what the class has there, and what is put there


@functools.lru_cache(1)
def _methods() -> tuple[Method, ...]:
    dispatchers: type = sys.modules["numba.core.dispatcher"]._DispatcherBase  # noqa: SLF001  as `numba_internals` says
    theirs, refusing = vars(dispatchers)["_compile_for_args"], vars(Tensor)["_numba_type_"]
    opaque = types.Opaque("tapegrad.Tensor")

    @functools.wraps(theirs)
    def compile_for_args(self: Any, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        if inside.get() and has_tensor((*args, *kwargs.values())):
            return python_of(self)
        compiled: Callable[..., Any] = theirs(self, *args, **kwargs)
        return compiled

    def numba_type(tensor: Tensor) -> Any:
        return opaque if inside.get() else refusing.__get__(tensor)

    ufuncs: type = importlib.import_module("numba.np.ufunc.dufunc").DUFunc
    called = vars(ufuncs)["__call__"]

    @functools.wraps(called)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if inside.get() and has_tensor(args) and not kwargs:
            return _by_elements(_python_of_ufunc(self._dispatcher.py_func), args)
        return called(self, *args, **kwargs)

    return (
        (ufuncs, "__call__", called, call),
        (dispatchers, "_compile_for_args", theirs, compile_for_args),
        (Tensor, "_numba_type_", refusing, property(numba_type)),
    )


@functools.lru_cache(64)
def _python_of_ufunc(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of a ufunc of Numba's, made as that of an `@njit` function is."""
    return python_of(numba.njit(function))


def _by_elements(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Compute a function of numbers for each element."""
    arrays = np.broadcast_arrays(*args)
    shape = arrays[0].shape
    if not shape:
        return function(*args)
    flat = [each.reshape(-1) for each in arrays]
    results = [function(*elements) for elements in zip(*flat, strict=True)]
    return np.stack(results).reshape(shape) if results else np.zeros(shape)


def methods() -> tuple[Method, ...]:
    """Return what is exchanged in classes of Numba and in ours; nothing before Numba is imported."""
    return _methods() if "numba.core.dispatcher" in sys.modules else ()
