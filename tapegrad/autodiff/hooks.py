"""Gradient hooks: users' functions that a sweep calls with complete cotangents."""

import itertools
from collections.abc import Callable
from typing import Any

from tapegrad.autodiff.accumulator import Accumulator
from tapegrad.autodiff.graph_view import Geometry
from tapegrad.autodiff.regions import materialize
from tapegrad.errors import TracedValueError, name_of
from tapegrad.frontend.tensor.array_checks import as_direction
from tapegrad.frontend.tensor.attachments import RemovableHook, attachment_of, ensure_attachment
from tapegrad.frontend.tensor.modes import EAGER
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor

Hook = Callable[[Any], Any]
_numbers = itertools.count()


def register(tensor: Any, hook: Hook) -> RemovableHook:
    """Register a hook on a Tensor. See `Tensor.register_hook`."""
    if not callable(hook):
        raise TypeError(f"register_hook: a hook must be callable, not {type(hook).__name__}")
    if tensor.constant:
        raise RuntimeError("register_hook on a constant: no gradient flows into it")
    if tensor._tape is not None and tensor._tape is not EAGER:
        raise TracedValueError(
            "register_hook while a function is being recorded: a replay calls no Python. Apply the change to the"
            " gradient that the gradient function returns"
        )
    slot = tensor._slot_on(EAGER)
    hooks = ensure_attachment(slot).hooks
    number = next(_numbers)
    hooks[number] = (Geometry.of(EAGER, slot), hook)
    return RemovableHook(hooks, number)


def hooks_of(slot: int) -> list[tuple[Geometry, Hook]]:
    """Return the hooks of a slot's buffer, each with its view."""
    attachment = attachment_of(slot)
    return [] if attachment is None else list(attachment.hooks.values())


def call_hooks(cotangents: Accumulator, slot: int, as_tensors: bool) -> None:
    """Call the hooks of a buffer whose cotangent is complete, and replace the cotangent by their results."""
    for geometry, hook in hooks_of(slot):
        value = cotangents.of_view(geometry)
        gradient = materialize(0.0 if value is None else value, geometry.shape, geometry.dtype)
        replacement = call_hook(hook, gradient if as_tensors else gradient.data_or_traced().copy(), geometry)
        if replacement is not None:
            cotangents.replace(geometry, replacement)


def call_hook(hook: Hook, gradient: Any, geometry: Geometry) -> Tensor | None:
    """Call a hook. Return the new gradient, or `None` if the gradient stays."""
    replacement = hook(gradient)
    return None if replacement is None else _checked(hook, replacement, geometry)


def _checked(hook: Hook, value: Any, geometry: Geometry) -> Tensor:
    """Return the result of a hook as a Tensor of the gradient's dtype, or raise if it does not fit."""
    name = name_of(hook)
    what = f"what the gradient hook {name} returned"
    array: Any = value if is_tensor(value) else as_direction(value, what, geometry.dtype)
    if array.dtype.kind not in "fiu" + geometry.dtype.kind:
        raise TypeError(
            f"the gradient hook {name} returned {type(value).__name__} of dtype {array.dtype}; return an array of"
            f" {geometry.dtype}, or None to leave the gradient as it is"
        )
    if array.shape != geometry.shape:
        raise ValueError(
            f"the gradient hook {name} returned shape {array.shape} for a gradient of shape {geometry.shape}"
        )
    return (
        array.astype(geometry.dtype) if is_tensor(array) else from_array(array.astype(geometry.dtype), True)
    )
