"""Argument and result types of the frontend's functions, written without the class of Tensors."""

from collections.abc import Iterator
from types import EllipsisType
from typing import Any, Protocol, SupportsIndex, TypeVar, Union

import numpy as np
import numpy.typing as npt

T_co = TypeVar("T_co", covariant=True)


class TensorLike(Protocol):
    """Protocol of a Tensor: an attribute that no other class has."""

    @property
    def constant(self) -> bool: ...


class NestedSequence(Protocol[T_co]):
    """Protocol of a list or a tuple, but not of a string (its items are strings) or a dict."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[T_co]: ...

    def __contains__(self, value: object, /) -> bool: ...

    def index(self, value: Any, /) -> int: ...


# Operands: Tensors, arrays, numbers, and nested sequences of them.
ArrayLike = Union[complex, np.number[Any], np.bool_, np.ndarray, TensorLike, NestedSequence["ArrayLike"]]  # noqa: UP007
# Results of predicates: plain booleans, or Tensors while a function is being recorded.
Booleans = np.bool_ | npt.NDArray[np.bool_]
Indices = np.intp | npt.NDArray[np.intp]
# Destinations of results.
Out = TensorLike | np.ndarray | tuple[TensorLike | np.ndarray | None, ...] | None
Axis = int | tuple[int, ...] | None
DType = npt.DTypeLike | None
Shape = SupportsIndex | NestedSequence[SupportsIndex]
# Index keys.
_Part = SupportsIndex | np.bool_ | slice | EllipsisType | None | np.ndarray | TensorLike | NestedSequence[Any]
Key = _Part | tuple[_Part, ...]
