"""Class answers: Tensors that say, where the program asks for their class, that they are arrays or scalars of NumPy.

`isinstance`, abstract base classes, `functools.singledispatch` and ``match`` ask for ``x.__class__`` beside the type. C
code looks at the type alone, and asks a Tensor for its values, which are refused. An instance of a subclass of
`numpy.ndarray` is not asked: ``np.asarray(x)`` would be an array on the subclass's own memory, of which no content is
safe. Comparisons with NaN are false, and ``tobytes`` reads whatever is there.

Libraries that know Tensors are told their own class.
"""

import abc
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import name_of
from tapegrad.frontend.tensor.copying import FunctionWrapper, described
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, class_answers

_KNOWING = frozenset(("numba", "numpy", "pandas", "scipy", "tapegrad", "xarray"))
_DISPATCHER: Any = functools.singledispatch(name_of)
# Functions that ask in the place of their caller.
_ON_BEHALF = frozenset((
    np.isscalar.__code__, abc.ABCMeta.__instancecheck__.__code__, _DISPATCHER.__code__,
))  # fmt: skip


class AsArrays(FunctionWrapper):
    """Function inside of which Tensors answer as NumPy's arrays, those of no dimensions as its scalars."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        functools.update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        return described(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before = thread.as_arrays
        class_answers[:] = [_answer]
        thread.as_arrays = True
        try:
            return self.function(*args, **kwargs)
        finally:
            thread.as_arrays = before


def _answer(x: Tensor) -> type:
    """Return the class that a Tensor says it has, to the function that asks for it."""
    if not thread.as_arrays:
        return type(x)
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code in _ON_BEHALF:
        frame = frame.f_back
    if frame is None or _module(frame) in _KNOWING:
        return type(x)
    return np.ndarray if x.ndim else x.dtype.type


def _module(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
