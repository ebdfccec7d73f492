"""Guarded calls: plain NumPy on recorded values, guarded by the result instead of the values.

A replay computes the result again and stops if it differs; the branch that the function takes then is recorded too.
Other data are replayed as long as the result stays the same.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.engine.tape.memory import D_PRODUCER
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.conversion import guarded_array
from tapegrad.frontend.tensor.modes import thread, watch_now
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.function_names import full_name


def is_recording() -> bool:
    """Return whether this thread is recording for replay."""
    return thread.mode.recorder is not None


def is_computed(value: Any) -> bool:
    """Return whether a value is a Tensor that a replay of the current recording computes."""
    if not (is_tensor(value) and value._recorded()):
        return False
    return bool(value._traced() or value._describe()[D_PRODUCER] != NONE)


def at_once(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a NumPy function with the current values of Tensors."""
    values = [_now(value) for value in args]
    return function(*values, **{name: _now(value) for name, value in kwargs.items()})


class _FloatPlaceholder:
    """Placeholder of a recorded float Tensor among the arguments of a call."""

    def __init__(self, number: int) -> None:
        self.number = number


def call_guarded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a NumPy function with the values of Tensors, without a gradient; while recording, guard its result."""
    recorder = thread.mode.recorder
    if recorder is None:
        return at_once(function, args, kwargs)
    floats: list[Any] = []

    def register(value: Any) -> Any:
        if not is_computed(value) or value.dtype.kind not in DIFFERENTIABLE_KINDS:
            return _fixed_now(value)
        floats.append(value)
        return _FloatPlaceholder(len(floats) - 1)

    stored, named = mapped(register, args), {k: mapped(register, v) for k, v in kwargs.items()}

    def of_arrays(*arrays: np.ndarray) -> Any:
        def fill(value: Any) -> Any:
            return arrays[value.number] if isinstance(value, _FloatPlaceholder) else value

        return function(*mapped(fill, stored), **{k: mapped(fill, v) for k, v in named.items()})

    result = of_arrays(*[t.data_or_traced() for t in floats])
    if floats:
        recorder.guard_outcome(full_name(function), of_arrays, floats, result)
    return result


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to a value, or to each item of a list or a tuple."""
    if type(value) in (list, tuple):
        return type(value)([mapped(change, each) for each in value])
    return change(value)


def contents(value: Any) -> Any:
    """Return the array of a Tensor, guarded or refused like `numpy.asarray` of it; other values unchanged."""
    return np.asarray(value) if is_tensor(value) else value


def _now(value: Any) -> Any:
    """Return the current values of a Tensor, or of Tensors in a list or a tuple."""
    if is_tensor(value):
        return value.data_or_traced()
    return mapped(_now, value) if type(value) in (list, tuple) else value


def _fixed_now(value: Any) -> Any:
    """Return an argument that is not a recorded float; a recording guards its contents byte for byte."""
    if is_computed(value):
        return guarded_array(value)
    array = value.data_or_traced() if is_tensor(value) else value
    if isinstance(array, np.ndarray):
        watch_now(array)
    return array
