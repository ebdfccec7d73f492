"""What all transforms have in common: they call a function, and are recorded and replayed if that one is."""

import functools
from collections.abc import Callable
from typing import Any

from tapegrad.frontend.copying import OfFunction
from tapegrad.transforms.jit import Jit


class Transform(OfFunction):
    """A function made of another one.

    Parameters
    ----------
    function
        The function that is transformed. If it is replayed (a ``jit(f)``, or a transform of one), this one can be
        recorded and replayed in its turn.
    """

    leading = 0  # arguments that it takes before those of the function

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        functools.update_wrapper(self, function, updated=())

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({self.function!r})"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    @property
    def key(self) -> Any:
        """What two transforms of one function share if they do the same."""
        return type(self), *self.settings


def replayable(function: Callable[..., Any]) -> Jit[..., Any] | None:
    """The function to be replayed in place of `function`; `None` if it is not one that is replayed.

    Recordings of a transform are kept with those of the function, so that it may be made anew for every call.
    """
    if isinstance(function, Jit):
        return function
    inner = replayable(function.function) if isinstance(function, Transform) else None
    if inner is None:
        return None
    assert isinstance(function, Transform)
    known = inner.derived.get(function.key)
    if known is None:
        made: Jit[..., Any] = Jit(
            function, inner.static.shifted(function.leading), inner.recordings, derived=True
        )
        known = inner.derived.setdefault(function.key, made)
    return known


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, where a recording of it is of no use: it is called with Tensors."""
    return function.function if isinstance(function, Jit) else function
