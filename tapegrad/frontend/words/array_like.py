"""Types of what the functions of the frontend take and return, said without the class of Tensors."""

from collections.abc import Iterator
from types import EllipsisType
from typing import Any, Protocol, SupportsIndex, TypeVar, Union

import numpy as np
import numpy.typing as npt

T_co = TypeVar("T_co", covariant=True)


class TensorLike(Protocol):
    """A Tensor, by what nothing else has."""

    @property
    def constant(self) -> bool: ...


class NestedSequence(Protocol[T_co]):
    """A list or a tuple. A string is none, because it contains nothing but strings, and neither is a dict."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[T_co]: ...

    def __contains__(self, value: object, /) -> bool: ...

    def index(self, value: Any, /) -> int: ...


# What is computed with: Tensors, arrays, real numbers, and nested sequences of them.
ArrayLike = Union[float, np.number[Any], np.bool_, np.ndarray, TensorLike, NestedSequence["ArrayLike"]]  # noqa: UP007
# What tests return beside Tensors, which they return while a function is being recorded.
Booleans = np.bool_ | npt.NDArray[np.bool_]
Indices = np.intp | npt.NDArray[np.intp]
# Where a result is written.
Out = TensorLike | np.ndarray | tuple[TensorLike | np.ndarray | None, ...] | None
Axis = int | tuple[int, ...] | None
DType = npt.DTypeLike | None
Shape = SupportsIndex | NestedSequence[SupportsIndex]
# What a Tensor is indexed with.
_Part = SupportsIndex | np.bool_ | slice | EllipsisType | None | np.ndarray | TensorLike | NestedSequence[Any]
Key = _Part | tuple[_Part, ...]
