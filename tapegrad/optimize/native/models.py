"""Models of curves as functions of the vector of their parameters; those that were used last are kept, recorded.

A model is the same if it is the same function, and what it is handed holds the same numbers. What else it sees `jit`
watches.
"""

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapegrad.errors import name_of
from tapegrad.frontend.tensor.static_keys import IdentityKey, token
from tapegrad.implicit.known import recurring
from tapegrad.transforms.jit import Jit, jit

_KEPT = 8  # models


class _Content:
    """An array that is equal to those of its shape, type and bits."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def _look(self) -> tuple[Any, ...]:
        return self.array.shape, self.array.dtype.str

    def __eq__(self, other: object) -> bool:
        if not (isinstance(other, _Content) and self._look == other._look):
            return False
        return self.array is other.array or self.array.tobytes() == other.array.tobytes()

    def __hash__(self) -> int:
        return hash(self._look)


def _own(value: Any) -> tuple[Any, Any]:
    """Copy arrays, numbers, and plain containers of them; return also a key that is equal for equal ones.

    Of anything else there is no copy, and nothing that is equal: `jit` does not watch what a model is handed.
    """
    kind = type(value)
    if kind is np.ndarray and value.dtype.kind in "biufc":
        array = value.copy()
        return array, _Content(array)
    if kind is dict:
        copy, content = _own([part for pair in value.items() for part in pair])
        return dict(zip(copy[::2], copy[1::2], strict=True)), content and (dict, content)
    if kind is tuple or kind is list:
        pairs = [_own(part) for part in value]
        contents = [content for _, content in pairs]
        return kind(copy for copy, _ in pairs), None if None in contents else (kind, *contents)
    found = (None,) if value is None else token(value)
    return value, None if isinstance(found, IdentityKey) else found


class OfVector:
    """A model as a function of the vector of its parameters."""

    def __init__(self, model: Callable[..., Any], t: Any, size: int) -> None:
        self.function, self.t, self.size = model, t, size
        self.__name__ = self.__qualname__ = name_of(model)

    def __call__(self, parameters: Any) -> Any:
        return self.function(self.t, *(parameters[j] for j in range(self.size)))


@dataclass(frozen=True)
class _Model:
    """A model, equal to those that are the same function of the same numbers."""

    function: OfVector = field(compare=False)
    same: tuple[Any, ...]


@functools.lru_cache(maxsize=_KEPT)
def _recorded_once(model: _Model, fuse: bool | None) -> Jit[..., Any]:
    return jit(model.function, fuse=fuse)


def of_vector(model: Callable[..., Any], t: Any, size: int, fuse: bool | None) -> Jit[..., Any]:
    """Return the model as a function of the vector of its parameters, already recorded if it was used recently."""
    copy, content = _own(t)
    model = recurring(model).stated
    function = OfVector(model, copy, size)
    if content is None:
        return jit(function, fuse=fuse)
    same: Any = model if type(model) is types.MethodType else token(model)  # a method is made at each look
    return _recorded_once(_Model(function, (same, content, size)), fuse)
