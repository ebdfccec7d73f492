"""The axes of arguments that `vmap` maps over, and of its results."""

from typing import Any

import numpy as np

from tapegrad.frontend.tensor.array_checks import real
from tapegrad.frontend.tensor.memory_order import is_reordered
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import LEAF, flatten, paths, unflatten

Axes = Any  # an int, None, or a structure of them that is the beginning of the arguments'


def checked_axes(axes: Axes, name: str) -> Axes:
    """Return axes if there are only integers and `None` in them.

    Raises
    ------
    TypeError
        Naming the argument of `vmap`, for anything else.
    """
    for axis in flatten(axes)[0]:
        if axis is not None and (not isinstance(axis, int | np.integer) or isinstance(axis, bool)):
            raise TypeError(f"vmap: {name}={axes!r}; it must be an integer, None, or a structure of these")
    return axes


def hashable(axes: Axes) -> Any:
    """Return what is equal for equal axes, and can be hashed."""
    leaves, definition = flatten(axes)
    return tuple(leaves), definition


def spread(axes: Axes, value: Any, name: str) -> list[int | None]:
    """Return an axis for each leaf of a structure, of which the axes give the beginning."""
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
    """The arguments of a call, of which some are mapped over.

    Attributes
    ----------
    size
        How many instances there are.
    stacks
        For each leaf of the arguments, and then of the keyword arguments: an array or a Tensor with the instances
        first, or `None` for one that all instances share.
    leaves, definition
        The leaves as they were given, and the structure of ``(args, kwargs)``.
    counts
        Leaves of each argument, and then of each keyword argument in the order of their names.
    positional
        How many of them are positional arguments.
    on_tensors
        Whether there are Tensors among the leaves.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Axes) -> None:
        axes = _axes_of_each(in_axes, args)
        self._names, self.positional = sorted(kwargs), len(args)
        parts = [*args, *(kwargs[name] for name in self._names)]
        flat = [flatten(part) for part in parts]
        self.leaves = [leaf for leaves, _ in flat for leaf in leaves]
        self._definitions = [definition for _, definition in flat]
        self.counts = [len(leaves) for leaves, _ in flat]
        every = [
            axis
            for part, own in zip(parts, [*axes, *(0 for _ in self._names)], strict=True)
            for axis in spread(own, part, "in_axes")
        ]
        named = [
            f"argument {k}{path}" if k < len(args) else f"argument {self._names[k - len(args)]!r}{path}"
            for k, part in enumerate(parts)
            for path in paths(part)
        ]
        self.stacks = [
            None if axis is None else _moved_first(leaf, axis, name)
            for leaf, axis, name in zip(self.leaves, every, named, strict=True)
        ]
        self.size = _common_size(self.stacks, named)
        self.on_tensors = any(map(is_tensor, self.leaves))
        self.definition = flatten((args, kwargs))[1]

    @property
    def looks(self) -> Any:
        """Return the cache key of a call with plain arrays: shape, dtype and "is unbatched" of each leaf.

        `None` for other calls.
        """
        if self.positional < len(self.counts) or any(type(leaf) is not np.ndarray for leaf in self.leaves):
            return None
        if any(definition is not LEAF for definition in self._definitions):
            return None
        shared = [stack is None for stack in self.stacks]
        return tuple(
            (leaf.shape, leaf.dtype, alone, is_reordered(leaf))
            for leaf, alone in zip(self.leaves, shared, strict=True)
        )

    def operand(self, place: int) -> Any:
        """Return a leaf with the instances first, or what they share."""
        return self.leaves[place] if self.stacks[place] is None else self.stacks[place]

    def instance(self, i: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments and keyword arguments of instance `i`."""
        return self.with_parts([None if stack is None else stack[i] for stack in self.stacks])

    def with_parts(self, instance: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with an instance's part of each leaf that is mapped over, `None` for others."""
        leaves = [
            leaf if stack is None else part
            for leaf, stack, part in zip(self.leaves, self.stacks, instance, strict=True)
        ]
        parts, start = [], 0
        for definition, count in zip(self._definitions, self.counts, strict=True):
            parts.append(unflatten(definition, leaves[start : start + count]))
            start += count
        return tuple(parts[: self.positional]), dict(zip(self._names, parts[self.positional :], strict=True))


def is_numeric(leaf: Any) -> bool:
    """Return whether a leaf of a result is a number or an array."""
    return isinstance(leaf, np.ndarray | np.generic | int | float)


def repeated(leaf: Any, count: int) -> Any:
    """Return a value that all instances have for each of them; what is no number as it is."""
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
    array = leaf if is_tensor(leaf) else real(leaf, f"vmap: {name}", None)
    if array.ndim == 0:
        raise ValueError(
            f"vmap: {name} has no axis to map over, it is a number; give it the axis None in in_axes"
        )
    if not -array.ndim <= axis < array.ndim:
        raise ValueError(f"vmap: {name} of shape {array.shape} has no axis {axis}")
    order = [axis % array.ndim, *(d for d in range(array.ndim) if d != axis % array.ndim)]
    return array.transpose(order)


def _common_size(stacks: list[Any], named: list[str]) -> int:
    """Return the number of instances, which all that is mapped over must have."""
    sizes = {name: stack.shape[0] for name, stack in zip(named, stacks, strict=True) if stack is not None}
    if not sizes:
        raise ValueError("vmap: in_axes maps over no array; at least one argument must have an axis")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ValueError(f"vmap: the mapped axes differ in length: {listed}")
    return int(next(iter(sizes.values())))
