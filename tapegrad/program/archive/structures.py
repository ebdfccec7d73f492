"""Structures of arguments and results as text: dicts, lists and tuples, and what each leaf is."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.program.archive.fields import extents_of, field, refuse_unless
from tapegrad.pytree import flatten, unflatten

_DTYPES = {
    name: np.dtype(name)
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                 "float32", "float64", "complex64", "complex128")
}  # fmt: skip
_NUMBERS: dict[str, type] = {"float": float, "complex": complex, "int": int, "bool": bool}
_ENGINE_DTYPES = {
    "f": np.dtype(np.float64),
    "i": np.dtype(np.int64),
    "u": np.dtype(np.int64),
    "b": np.dtype(np.bool_),
}
_DEEPEST = 50


def tree_of(value: Any, leaf: Callable[[Any], dict[str, Any]], what: str) -> dict[str, Any]:
    """Return a structure as text, and its leaves in order, each converted by `leaf`."""
    leaves, definition = flatten(value)
    shape = _shape_of(unflatten(definition, list(range(len(leaves)))), what)
    return {"structure": shape, "leaves": [leaf(each) for each in leaves]}


def _shape_of(node: Any, what: str) -> Any:
    if type(node) is int:
        return node
    if type(node) in (list, tuple):
        return {type(node).__name__: [_shape_of(part, what) for part in node]}
    if type(node) is dict and all(type(key) is str for key in node):
        return {"dict": [[key, _shape_of(part, what)] for key, part in node.items()]}
    kind = "dict with keys that are not strings" if type(node) is dict else type(node).__name__
    raise TypeError(f"save: {what} have a {kind}; a file holds dicts with strings for keys, lists and tuples")


def argument(value: Any) -> dict[str, Any]:
    """Describe a leaf of the arguments: an array, a float, or a static value."""
    if type(value) in (float, complex):
        return {"kind": type(value).__name__}
    return _array(value) or _literal(value, "the arguments")


def result(value: Any) -> dict[str, Any]:
    """Describe a leaf of the result: a number of some type, or a static value."""
    kind = type(value).__name__
    if type(value) in _NUMBERS.values():
        return {"kind": kind}
    return _array(value) or _literal(value, "the results")


def _array(value: Any) -> dict[str, Any] | None:
    """Describe an array or a NumPy scalar."""
    if type(value) is not np.ndarray and not isinstance(value, np.generic):
        return None
    if value.dtype.name not in _DTYPES:
        return None
    kind = "array" if isinstance(value, np.ndarray) else "scalar"
    return {"kind": kind, "dtype": value.dtype.name, "shape": list(value.shape)}


def _literal(value: Any, what: str) -> dict[str, Any]:
    if value is None or type(value) in (int, bool, str):
        return {"kind": "value", "value": value}
    raise TypeError(
        f"save: {what} have a leaf of type {type(value).__name__}; a file holds arrays, numbers, strings and None"
    )


class Tree:
    """A structure from a file.

    Attributes
    ----------
    specs
        Shape and dtype of the engine's of each leaf that is an array or a number.
    """

    def __init__(self, record: Any, what: str) -> None:
        self._leaves = [_Leaf(each, what) for each in field(record, "leaves", list)]
        self._structure = record.get("structure")
        numbers = _numbers(self._structure, _DEEPEST, what)
        refuse_unless(sorted(numbers) == list(range(len(self._leaves))), f"{what}: leaves {numbers}")
        self.specs = [(leaf.shape, leaf.engine_dtype) for leaf in self._leaves if leaf.dtype is not None]

    @property
    def is_tuple(self) -> bool:
        """True if the structure is a tuple, as the arguments of a call are."""
        return type(self._structure) is dict and self._structure.keys() == {"tuple"}

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Any:
        """Return the structure with these numbers, each of its own type and dtype."""
        left = iter(arrays)
        return self._filled(
            [leaf.of(next(left)) if leaf.dtype is not None else leaf.value for leaf in self._leaves]
        )

    def example(self) -> Any:
        """Return the structure with zeros."""
        return self.with_arrays([np.zeros(shape, dtype) for shape, dtype in self.specs])

    def _filled(self, leaves: list[Any]) -> Any:
        return _fill(self._structure, leaves)


class _Leaf:
    """A leaf: its dtype, `None` for a value that stays."""

    def __init__(self, record: Any, what: str) -> None:
        self.kind, self.value = field(record, "kind", str), record.get("value")
        self.dtype: np.dtype[Any] | None = None
        self.shape: tuple[int, ...] = ()
        if self.kind in _NUMBERS:
            self.dtype = np.dtype(_NUMBERS[self.kind])
        elif self.kind in ("array", "scalar"):
            name = field(record, "dtype", str)
            refuse_unless(name in _DTYPES, f"{what}: dtype {name!r}")
            self.dtype = _DTYPES[name]
            self.shape = extents_of(record.get("shape"), 8, what)
            refuse_unless(self.kind == "array" or not self.shape, f"{what}: a scalar of shape {self.shape}")
        else:
            refuse_unless(self.kind == "value", f"{what}: a leaf of kind {self.kind!r}")
            refuse_unless(self.value is None or type(self.value) in (int, bool, str), f"{what}: a value")

    @property
    def engine_dtype(self) -> np.dtype[Any]:
        assert self.dtype is not None
        return self.dtype if self.dtype in DTYPE_CODES else _ENGINE_DTYPES[self.dtype.kind]

    def of(self, array: np.ndarray) -> Any:
        """Convert a 0-d array to a number of this type."""
        if self.kind in _NUMBERS:
            return _NUMBERS[self.kind](array[()])
        own = array.astype(self.dtype, copy=False)
        return own[()] if self.kind == "scalar" else own


def _numbers(node: Any, deepest: int, what: str) -> list[int]:
    """Return the numbers of the leaves below a node."""
    refuse_unless(deepest > 0, f"{what}: too deep")
    if type(node) is int:
        return [node]
    refuse_unless(type(node) is dict and len(node) == 1, f"{what}: no structure")
    ((kind, parts),) = node.items()
    refuse_unless(kind in ("dict", "list", "tuple") and type(parts) is list, f"{what}: no structure")
    if kind == "dict":
        pairs = all(type(part) is list and len(part) == 2 and type(part[0]) is str for part in parts)
        refuse_unless(pairs and len({part[0] for part in parts}) == len(parts), f"{what}: no dict")
        parts = [part for _, part in parts]
    return [number for part in parts for number in _numbers(part, deepest - 1, what)]


def _fill(node: Any, leaves: list[Any]) -> Any:
    if type(node) is int:
        return leaves[node]
    ((kind, parts),) = node.items()
    if kind == "dict":
        return {key: _fill(part, leaves) for key, part in parts}
    made = [_fill(part, leaves) for part in parts]
    return made if kind == "list" else tuple(made)
