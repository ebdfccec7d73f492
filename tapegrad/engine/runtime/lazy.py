"""Attributes that are computed on first access, without a lock that a forked child could find held."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class lazy(Generic[T]):
    """`functools.cached_property` without its lock, which up to Python 3.11 all instances share."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> T:
        value = vars(instance)[self._function.__name__] = self._function(instance)
        return value
