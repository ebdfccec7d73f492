"""Axes of the arguments that `vmap` maps over, and of its results."""

from typing import Any

import numpy as np

from tapegrad.frontend.tensor.array_checks import numbers
from tapegrad.frontend.tensor.memory_order import is_reordered
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import flatten, paths, unflatten

Axes = Any  # an int, None, or a structure of them that is a prefix of the arguments'


def checked_axes(axes: Axes, name: str) -> Axes:
    """Return axes if all leaves are integers or `None`.

    Raises
    ------
    TypeError
        For other leaves; the message names the argument of `vmap`.
    """
    for axis in flatten(axes)[0]:
        if axis is not None and (not isinstance(axis, int | np.integer) or isinstance(axis, bool)):
            raise TypeError(f"vmap: {name}={axes!r}; it must be an integer, None, or a structure of these")
    return axes


def hashable(axes: Axes) -> Any:
    """Return a hashable key of axes."""
    leaves, definition = flatten(axes)
    return tuple(leaves), definition


def spread(axes: Axes, value: Any, name: str) -> list[int | None]:
    """Return an axis for each leaf of a structure, given axes for a prefix of the structure."""
    if axes is None or isinstance(axes, int | np.integer):
        return [None if axes is None else int(axes)] * len(flatten(value)[0])
    if isinstance(axes, dict) and isinstance(value, dict) and set(axes) == set(value):
        keys = flatten({key: key for key in value})[0]  # in the order of the leaves
        return [axis for key in keys for axis in spread(axes[key], value[key], name)]
    both = isinstance(axes, list | tuple) and isinstance(value, list | tuple)
    if not both or len(axes) != len(value):
        raise ValueError(f"vmap: {name}={axes!r} does not fit {_described(value)}")
    return [axis for part, own in zip(axes, value, strict=True) for axis in spread(part, own, name)]


def _described(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict with the keys {list(value)}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a value of type {type(value).__name__}"


class Mapped:
    """Arguments of a call, batched and unbatched.

    Attributes
    ----------
    size
        Number of instances.
    stacks
        For each leaf of the arguments, and then of the keyword arguments: an array or a Tensor with the instances
        first, or `None` for an unbatched one.
    leaves, definition
        The leaves as they were given, and the structure of ``(args, kwargs)``.
    counts
        Number of leaves of each argument, and then of each keyword argument in the order of their names.
    positional
        Number of positional arguments.
    on_tensors
        Whether there are Tensors among the leaves.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Axes) -> None:
        axes = _axes_of_each(in_axes, args)
        names, self.positional = sorted(kwargs), len(args)
        parts = [*args, *(kwargs[name] for name in names)]
        self.leaves, self.definition = flatten((args, kwargs))
        self._is_plain = not kwargs and all(type(arg) is np.ndarray for arg in args)
        every = [
            axis
            for part, own in zip(parts, [*axes, *(0 for _ in names)], strict=True)
            for axis in spread(own, part, "in_axes")
        ]
        under = [paths(part) for part in parts]
        self.counts = [len(each) for each in under]
        named = [
            f"argument {k if k < len(args) else repr(names[k - len(args)])}{path}"
            for k, each in enumerate(under)
            for path in each
        ]
        self.stacks = [
            None if axis is None else _moved_first(leaf, axis, name)
            for leaf, axis, name in zip(self.leaves, every, named, strict=True)
        ]
        self.size = _common_size(self.stacks, named)
        self.on_tensors = any(map(is_tensor, self.leaves))

    @property
    def cache_key(self) -> Any:
        """Cache key of a call with plain arrays: shape, dtype and "is unbatched" of each leaf; `None` for others."""
        if not self._is_plain:
            return None
        of_leaves = (
            (leaf.shape, leaf.dtype, stack is None, is_reordered(leaf))
            for leaf, stack in zip(self.leaves, self.stacks, strict=True)
        )
        return thread.mode.nan_on_failure, *of_leaves

    def operand(self, k: int) -> Any:
        """Return leaf `k`: with the instances first if it is batched, else as it is."""
        return self.leaves[k] if self.stacks[k] is None else self.stacks[k]

    def instance(self, i: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments and keyword arguments of instance `i`."""
        return self.with_parts([None if stack is None else stack[i] for stack in self.stacks])

    def with_parts(self, instance: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments and keyword arguments of an instance, given its part of each batched leaf."""
        leaves = [
            leaf if stack is None else part
            for leaf, stack, part in zip(self.leaves, self.stacks, instance, strict=True)
        ]
        args, kwargs = unflatten(self.definition, leaves)
        return args, kwargs


def is_numeric(leaf: Any) -> bool:
    """Return whether a leaf of a result is a number or an array."""
    return isinstance(leaf, np.ndarray | np.generic | int | float | complex)


def repeated(leaf: Any, count: int) -> Any:
    """Return numbers or an array repeated for each instance; any other value as it is."""
    if not is_numeric(leaf):
        return leaf
    array = np.asarray(leaf)
    return np.broadcast_to(array, (count, *array.shape)).copy()


def _axes_of_each(in_axes: Axes, args: tuple[Any, ...]) -> list[Axes]:
    """Return the axes of each positional argument."""
    if in_axes is None or isinstance(in_axes, int | np.integer):
        return [in_axes] * len(args)
    if not isinstance(in_axes, list | tuple) or len(in_axes) != len(args):
        raise ValueError(
            f"vmap: in_axes={in_axes!r} does not fit {len(args)} positional arguments; it must be an integer, None, or"
            " a tuple with an entry for each of them"
        )
    return list(in_axes)


def _moved_first(leaf: Any, axis: int, name: str) -> Any:
    """Return an array or a Tensor with an axis first."""
    array = leaf if is_tensor(leaf) else numbers(leaf, f"vmap: {name}")
    if array.ndim == 0:
        raise ValueError(
            f"vmap: {name} has no axis to map over, it is a number; give it the axis None in in_axes"
        )
    if not -array.ndim <= axis < array.ndim:
        raise ValueError(f"vmap: {name} of shape {array.shape} has no axis {axis}")
    order = [axis % array.ndim, *(d for d in range(array.ndim) if d != axis % array.ndim)]
    return array.transpose(order)


def _common_size(stacks: list[Any], named: list[str]) -> int:
    """Return the number of instances; raise if mapped axes differ in length or there are none."""
    sizes = {name: stack.shape[0] for name, stack in zip(named, stacks, strict=True) if stack is not None}
    if not sizes:
        raise ValueError("vmap: in_axes maps over no array; at least one argument must have an axis")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ValueError(f"vmap: the mapped axes differ in length: {listed}")
    return int(next(iter(sizes.values())))
