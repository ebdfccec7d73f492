"""Base classes of transforms. A transform of a function that is replayed is itself recorded and replayed."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tapegrad.errors import check_function
from tapegrad.frontend.tensor.copying import FunctionWrapper, described
from tapegrad.frontend.tensor.modes import thread
from tapegrad.program.recording.signature import has_tensor
from tapegrad.transforms.calling.callables import UnlessNested
from tapegrad.transforms.calling.known_paths import AlternatingCalls
from tapegrad.transforms.calling.njit_source import python_of
from tapegrad.transforms.calling.reports import Reports
from tapegrad.transforms.calling.tensor_arguments import as_tensors
from tapegrad.transforms.jit import Jit

Result = TypeVar("Result")


class Transform(FunctionWrapper, Reports):
    """A function made of another one.

    Parameters
    ----------
    function
        The function that is transformed. If it is replayed (a ``jit(f)``, or a transform of one), this one can be
        recorded and replayed in its turn.
    """

    leading = 0  # arguments that it takes before those of the function
    name: str  # in messages: that of the public function that the user called

    def __init__(self, function: Callable[..., Any]) -> None:
        check_function(self.name, function)
        self.function = python_of(function)
        functools.update_wrapper(self, function, updated=())

    def _recorder(self) -> Jit[..., Any] | None:
        return recorder_of(self.function)

    def __repr__(self) -> str:
        return f"{self.name}({described(self.function)})"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    @property
    def key(self) -> Any:
        """Equal for two transforms of one function that do the same."""
        return type(self), *self.settings


class ConfiguredTransform(Transform):
    """A transform with further settings, which tell it apart from others of the same function.

    Parameters
    ----------
    function
        The function that is transformed.
    settings
        The settings.
    """

    def __init__(self, function: Callable[..., Any], *settings: Any) -> None:
        super().__init__(function)
        self._settings = settings

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._settings


def recorder_of(function: Callable[..., Any]) -> Jit[..., Any] | None:
    """Return the ``jit(f)`` that a function is, or is made of by transforms."""
    return function._recorder() if isinstance(function, Transform | Jit) else None


class Derivative(ABC, Generic[Result]):
    """A derivative of a function, which is computed in one of three ways."""

    def compute(self, function: Callable[..., Any], on_tensors: bool, *arguments: Any) -> Result:
        """Compute it within another transform or from Tensors, by a replay, or by running the function.

        Parameters
        ----------
        function
            The function that is differentiated.
        on_tensors
            Whether there are Tensors among its arguments.
        arguments
            The further arguments of the three ways.
        """
        if on_tensors or thread.mode.nested:
            recorder = recorder_of(function)
            if recorder is not None:
                recorder.note_tensors()
            return self._nested(function, *arguments)
        replayed = replayable(function)
        return self._eager(function, *arguments) if replayed is None else self._replay(replayed, *arguments)

    @abstractmethod
    def _nested(self, function: Callable[..., Any], *arguments: Any) -> Result:
        """Compute it on the current tape of the thread, as Tensors."""

    @abstractmethod
    def _replay(self, function: Jit[..., Any], *arguments: Any) -> Result:
        """Compute it by a replay."""

    @abstractmethod
    def _eager(self, function: Callable[..., Any], *arguments: Any) -> Result:
        """Compute it by running the function."""


class DerivativeTransform(UnlessNested, AlternatingCalls, Derivative[Any], Transform):
    """A transform that computes a derivative, with fast paths for calls with arrays like earlier ones."""

    def __init__(self, function: Callable[..., Any]) -> None:
        Transform.__init__(self, function)
        AlternatingCalls.__init__(self)

    def _by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the derivative for any arguments. Of constants, it is replayed as of arrays."""
        recorder = self._recorder() if has_tensor(args, kwargs) else None
        plain = None if recorder is None else recorder.constants(args, kwargs)
        return self._derivative(args, kwargs) if plain is None else as_tensors(self._derivative(*plain))

    def _derivative(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the derivative."""
        return self.compute(self.function, has_tensor(args, kwargs), args, kwargs)


def replayable(function: Callable[..., Any]) -> Jit[..., Any] | None:
    """Return the function to replay in place of `function`, or `None` if it is neither jitted nor a transform of one.

    The traces of a transform are kept with those of the function, so a new transform may be made for every call.
    """
    if isinstance(function, Jit):
        return function
    inner = replayable(function.function) if isinstance(function, Transform) else None
    if inner is None:
        return None
    assert isinstance(function, Transform)
    known = inner.derived.get(function.key)
    if known is None:
        made = inner.derive(function, inner.static.shifted(function.leading))
        known = inner.derived.setdefault(function.key, made)
    return known


def replay_of(function: Callable[..., Any]) -> Jit[..., Any]:
    """Return the function to replay in place of a jitted one, or of a transform of one."""
    found = replayable(function)
    assert found is not None
    return found


def without_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function inside of a ``jit(f)``, to be called with Tensors."""
    return function.function if isinstance(function, Jit) else function


def of_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that computes the entries alone, in place of one that returns sparse matrices."""
    entries: Callable[..., Any] = getattr(function, "values_of_matrix", function)
    return entries
