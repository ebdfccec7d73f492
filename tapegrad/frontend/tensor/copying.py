"""Copies and pickles of functions made by transforms.

A replayed function, or a transform, is copied and pickled as the function that it wraps, without its recordings. A
decorated function that a module holds by its name is pickled by that name, as functions are.
"""

import sys
from typing import Any

from tapegrad.errors import name_of

_MAX_LAYERS = 32  # nested decorators that are unwrapped


class FunctionWrapper:
    """Wrapper of a function, with further settings.

    Attributes
    ----------
    function
        The wrapped function.
    """

    function: Any

    @property
    def settings(self) -> tuple[Any, ...]:
        """The other arguments of the class."""
        return ()

    def __reduce__(self) -> Any:
        known = reference(self, self)
        if known is not None:
            return known
        inner = reference(self.function, self)
        if isinstance(inner, tuple):  # the module holds another object by the function's name
            return _made_of_layer, (type(self), *inner[1], self.settings)
        return type(self), (self.function, *self.settings)


def described(function: Any) -> str:
    """Return a function as reprs show it: its name, within the names of the transforms around it."""
    return repr(function) if isinstance(function, FunctionWrapper) else name_of(function)


def reference(value: Any, named: Any) -> Any:
    """Return the `__reduce__` value of an object that a module holds under the name of `named`, or inside of it.

    `None` if the module holds another object.
    """
    layers = _layers(named)
    for depth, layer in enumerate(layers):
        if layer is value:
            return named.__qualname__ if depth == 0 else (_layer, (layers[0], depth))
    return None


def _layers(named: Any) -> list[Any]:
    """Yield the object that a module holds under a function's name, then its layers down to the function itself."""
    found: Any = sys.modules.get(getattr(named, "__module__", None) or "")
    for part in (getattr(named, "__qualname__", None) or "<none>").split("."):
        found = getattr(found, part, None)
    layers: list[Any] = []
    while found is not None and len(layers) < _MAX_LAYERS:
        layers.append(found)
        found = getattr(found, "__wrapped__", None)
    return layers


def _layer(value: Any, depth: int) -> Any:
    """Return the callable that a callable wraps, this number of layers down."""
    for _ in range(depth):
        value = value.__wrapped__
    return value


def _made_of_layer(kind: Any, value: Any, depth: int, settings: tuple[Any, ...]) -> Any:
    return kind(_layer(value, depth), *settings)
