"""Results that no replay computes: constants, and arguments as they came."""

import copy
import enum
import types
from collections.abc import Hashable
from typing import Any

import numpy as np

from tapegrad.errors import EndedRecordingError, UnsupportedError
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.captured.origin import is_made_here
from tapegrad.program.captured.walk import Walk
from tapegrad.program.recording.signature import numpy_scalar

_SHARED = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, enum.Enum, np.ufunc)
_SINGLE = (object, type(None), type(...), type(NotImplemented))
_BY_IDENTITY: Any = object.__hash__


class ConstantOutput:
    """A result that no replay computes.

    Each replay returns a copy of an array or a Tensor, and of an object that the function makes, as the function itself
    returns a new one. What existed before, and what cannot change, is the same object each time.

    Attributes
    ----------
    fixed
        The value.
    is_shared
        Whether each replay returns the same object.
    """

    def __init__(self, value: Any) -> None:
        self.fixed = value
        self.is_shared = not (is_tensor(value) or isinstance(value, np.ndarray))
        self._kept: dict[int, Any] | None = None

    def keep_apart(self, name: str, seen: Walk) -> None:
        """Copy an object for each replay, unless it is immutable or one of those that a function of a name can see.

        Raises
        ------
        UnsupportedError
            If it cannot be copied, or holds Tensors.
        """
        if is_tensor(self.fixed) or _is_immutable(self.fixed):
            return
        kept = seen.objects
        if id(self.fixed) in kept and not isinstance(self.fixed, np.ndarray):
            return
        memo = dict(kept)
        try:
            self.fixed = copy.deepcopy(self.fixed, memo)
        except EndedRecordingError as error:
            self._refuse(name, "holds Tensors of the recording", error)
        except Exception as error:
            self._refuse(name, "cannot be copied for each replay", error)
        copied = memo.get(id(memo), ())  # there `copy` keeps the originals alive
        if any(is_tensor(part) and part._tape is not None and part._tape.recording for part in copied):
            self._refuse(name, "holds Tensors of the recording", None)
        self.is_shared, self._kept = False, kept

    @property
    def is_copied(self) -> bool:
        """True if each replay returns a copy of an object."""
        return self._kept is not None

    def renewed(self, value: Any) -> Any:
        """Return a copy of an object, in which those that the function can see are the same."""
        return value if _is_immutable(value) else copy.deepcopy(value, dict(self._kept or {}))

    def _refuse(self, name: str, why: str, cause: Exception | None) -> None:
        kind = type(self.fixed).__name__
        raise UnsupportedError(
            f"{name}: the result has an object of type {kind} that {why}; return its parts in tuples, lists or dicts,"
            " or an object from outside of the function, which all calls return"
        ) from cause

    def tangent(self, inputs: list[np.ndarray]) -> Any:
        """Zeros like the value."""
        return zeros_like(self.fixed.data_or_traced() if is_tensor(self.fixed) else self.value(inputs))

    def value(self, inputs: list[np.ndarray]) -> Any:
        if self._kept is not None:
            return self.renewed(self.fixed)
        value = self.fixed.data_or_traced() if is_tensor(self.fixed) else self.fixed
        return numpy_scalar(value.copy()) if isinstance(value, np.ndarray) else value


class PassthroughOutput:
    """A result that is an argument as it came."""

    def __init__(self, number: int, dtype: np.dtype[Any]) -> None:
        self.number = number
        self._dtype = dtype

    def tangent(self, inputs: list[np.ndarray]) -> Any:
        """Zeros: only integers and booleans are passed on."""
        return zeros_like(inputs[self.number].astype(self._dtype))

    def value(self, inputs: list[np.ndarray]) -> Any:
        return numpy_scalar(inputs[self.number].astype(self._dtype))


def zeros_like(value: Any) -> Any:
    """Return the zero tangent of a result that does not depend on the arguments; `None` and strings stay."""
    if not isinstance(value, np.ndarray | np.generic | int | float):
        return value
    array = np.asarray(value)
    return numpy_scalar(np.zeros(array.shape, array.dtype))


def _is_immutable(value: Any) -> bool:
    """Return whether a value is taken for immutable: a function, a class, numbers, what is hashed by its contents."""
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    if is_made_here(value) or isinstance(value, _SHARED) or type(value) in _SINGLE:
        return True
    if not isinstance(value, Hashable) or type(value).__hash__ is _BY_IDENTITY:
        return False
    try:
        hash(value)
    except (TypeError, ValueError):  # of a memory view of what can be written to
        return False
    return True
