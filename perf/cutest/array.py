"""Arrays in JAX's manner: they are never written to, and ``x.at[i].set(v)`` is another one."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tapegrad as tg

Value = Any  # an array or a scalar of NumPy's, or a Tensor


class Array:
    """An array in JAX's manner on a NumPy array, which is constant, or on a Tensor.

    An index array beyond the end reads the last element, as JAX's does.
    """

    __slots__ = ("value",)
    __array_ufunc__ = None  # NumPy's arrays leave operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Value) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.value, dtype)

    def __getitem__(self, index: Any) -> "Array":
        return Array(self.value[_within(unwrapped(index), self.value.shape)])

    def __iter__(self) -> Iterator["Array"]:
        return map(Array, self.value)

    @property
    def at(self) -> "Updates":
        return Updates(self.value)


class Updates:
    """Updates of an array: ``x.at``."""

    def __init__(self, value: Value, index: Any = None) -> None:
        self._value, self._index = value, index

    def __getitem__(self, index: Any) -> "Updates":
        return Updates(self._value, unwrapped(index))

    def set(self, other: Any) -> Array:
        """Return the array with other elements."""
        other = unwrapped(other)
        changed = self._copy(other)
        changed[self._index] = other
        return Array(changed)

    def add(self, other: Any) -> Array:
        """Return the array with something added to elements; those that are named twice get both."""
        other = unwrapped(other)
        changed = self._copy(other)
        namespace_of((changed, self._index)).add.at(changed, self._index, other)
        return Array(changed)

    def _copy(self, other: Any) -> Value:
        return namespace_of((self._value, self._index, other)).array(self._value)


def _operator(name: str, reflected: bool) -> Callable[[Array, Any], Any]:
    function = getattr(operator, name)

    def forward(self: Array, other: Any) -> Any:
        return wrapped(function(self.value, unwrapped(other)))

    def backward(self: Array, other: Any) -> Any:
        return wrapped(function(unwrapped(other), self.value))

    return backward if reflected else forward


def _attribute(function: Callable[[Value], Any]) -> Callable[[Array], Any]:
    return lambda self: wrapped(function(self.value))


def _method(of: Callable[[Value], Callable[..., Any]]) -> Callable[..., Any]:
    return lambda self, *arguments, **options: wrapped(of(self.value)(*unwrapped(arguments), **options))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"):
    setattr(Array, f"__{_name.strip('_')}__", _operator(_name, reflected=False))
    setattr(Array, f"__r{_name.strip('_')}__", _operator(_name, reflected=True))
for _name, _function in {
    "len": len,
    "bool": bool,
    "int": int,
    "float": float,
    "index": operator.index,
}.items():
    setattr(Array, f"__{_name}__", lambda self, function=_function: function(self.value))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Array, f"__{_name}__", _operator(_name, reflected=False))
for _name in ("T", "dtype", "ndim", "shape", "size"):
    setattr(Array, _name, property(_attribute(operator.attrgetter(_name))))
for _name in ("astype", "copy", "dot", "flatten", "max", "min", "prod", "ravel", "reshape", "sum"):
    setattr(Array, _name, _method(operator.attrgetter(_name)))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Array, f"__{_name}__", _attribute(getattr(operator, _name)))


def _mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a structure with a function of each of its leaves."""
    if isinstance(tree, (tuple, list)):
        return type(tree)(_mapped(function, each) for each in tree)
    if isinstance(tree, dict):
        return {key: _mapped(function, each) for key, each in tree.items()}
    return function(tree)


def unwrapped(tree: Any) -> Any:
    """Return a structure with values in the place of arrays."""
    return _mapped(lambda leaf: leaf.value if isinstance(leaf, Array) else leaf, tree)


def wrapped(tree: Any) -> Any:
    """Return a structure with arrays in the place of values."""
    return _mapped(
        lambda leaf: Array(leaf) if isinstance(leaf, (np.ndarray, np.generic, tg.Tensor)) else leaf, tree
    )


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of values as one of arrays."""
    return lambda *arguments, **options: wrapped(function(*unwrapped(arguments), **unwrapped(options)))


def namespace_of(tree: Any) -> Any:
    """Return tapegrad where a Tensor is among the values, else NumPy."""
    return tg if has_tensor(tree) else np


def has_tensor(tree: Any) -> bool:
    """Return whether a Tensor is in a structure."""
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    return any(map(has_tensor, tree)) if isinstance(tree, (tuple, list)) else isinstance(tree, tg.Tensor)


def _within(index: Any, shape: tuple[int, ...]) -> Any:
    """Return an index whose integer arrays end with the array."""
    if isinstance(index, tuple):
        if any(part is None or part is Ellipsis for part in index):
            return index
        return tuple(_within(part, shape[axis:]) for axis, part in enumerate(index))
    if isinstance(index, (np.ndarray, tg.Tensor)) and np.issubdtype(index.dtype, np.integer) and shape:
        return namespace_of(index).clip(index, -shape[0], shape[0] - 1)
    return index
