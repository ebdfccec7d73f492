"""`vmap` of no instances: results of the shapes and dtypes that those of an instance would have."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import name_of
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.pytree import flatten
from tapegrad.transforms.vmap.mapped_axes import Mapped, is_numeric


def of_none(function: Callable[..., Any], mapped: Mapped) -> tuple[list[Any], Any]:
    """Return the leaves of the results, each with a first axis of length 0, and their structure.

    Shapes and dtypes are those of the function's results for a made-up instance.

    Raises
    ------
    ValueError
        If the function raises for the made-up instance.
    """
    parts = [None if stack is None else made_up(stack.shape[1:], stack.dtype) for stack in mapped.stacks]
    args, kwargs = mapped.with_parts(parts)
    try:
        with np.errstate(all="ignore"):
            leaves, definition = flatten(function(*args, **kwargs))
    except (ValueError, IndexError, ArithmeticError) as error:
        raise ValueError(
            "vmap: the mapped axes have length 0, and what the function returns cannot be found out:"
            f" {name_of(function)} has an error for an instance that is made up ({error})"
        ) from error
    return [_none_of(leaf) for leaf in leaves], definition


def made_up(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return an instance for which few functions have an error: integers are 0, square matrices diag(1, 2, ...)."""
    if dtype.kind != "f":
        return np.zeros(shape, dtype)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        return np.broadcast_to(np.diag(np.arange(1.0, shape[-1] + 1)), shape).astype(dtype)
    return np.ones(shape, dtype)


def _none_of(leaf: Any) -> Any:
    if is_tensor(leaf):
        return from_array(np.zeros((0, *leaf.shape), leaf.dtype), constant=True)
    if not is_numeric(leaf):
        return leaf
    array = np.asarray(leaf)
    return np.zeros((0, *array.shape), array.dtype)
