"""Stand-ins for the modules that problems import: ``jax``, ``jax.numpy``, ``equinox`` and ``jaxtyping``.

Each has what the problems use, no more. NumPy's names are tapegrad's, or NumPy's own where all arguments are constant.
"""

import abc
import dataclasses
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from scipy import sparse, special

import tapegrad as tg
from perf.cutest.array import Array, has_tensor, lifted, namespace_of, unwrapped, wrapped


def names_of(constant: ModuleType, traced: ModuleType) -> dict[str, Any]:
    """Return NumPy's names, or those of one of its modules, for arrays in JAX's manner.

    Each is a function of its own, in which a replay has few places to look for what may have changed.
    """
    found: dict[str, Any] = {}
    for name, own in vars(constant).items():
        if isinstance(own, type) or not callable(own):
            found[name] = own
        elif hasattr(traced, name):
            found[name] = _either(own, getattr(traced, name))
    return found


def _either(constant: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is tapegrad's where a Tensor is among the arguments, else NumPy's."""

    def function(*arguments: Any, **options: Any) -> Any:
        arguments, options = unwrapped(arguments), unwrapped(options)
        return wrapped((traced if has_tensor((arguments, options)) else constant)(*arguments, **options))

    return function


class Float64(np.float64):
    """The scalar type that makes arrays of its dtype, as JAX's does."""

    def __new__(cls, value: Any) -> Any:
        value = unwrapped(value)
        return wrapped(namespace_of(value).asarray(value, np.float64))


class Matrix:
    """A constant sparse matrix, JAX's ``BCOO``."""

    def __init__(self, data_and_indices: tuple[Any, Any], shape: tuple[int, int]) -> None:
        data, indices = map(np.asarray, data_and_indices)
        self._matrix = sparse.csr_array((data, indices.T), shape=shape)

    def __matmul__(self, other: Array) -> Any:
        return wrapped(self._matrix @ other.value)


def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Map a function over axes, as ``jax.vmap`` does."""
    return lifted(tg.vmap(_lowered(function), in_axes, out_axes))


def scan(function: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None) -> Any:
    """Repeat a function along the first axis, as ``jax.lax.scan`` does."""
    return wrapped(tg.scan(_lowered(function), unwrapped(init), unwrapped(xs), length=length))


def segment_sum(data: Array, segment_ids: Array, num_segments: int, **hints: bool) -> Array:
    """Sum elements by the numbers of their segments, as ``jax.ops.segment_sum`` does."""
    return Array(np.zeros(num_segments)).at[segment_ids].add(data)


def dynamic_slice(operand: Array, starts: Any, sizes: Any) -> Array:
    """Return a part of an array, as ``jax.lax.dynamic_slice`` does."""
    return operand[
        tuple(slice(int(start), int(start) + size) for start, size in zip(starts, sizes, strict=True))
    ]


def _lowered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of arrays as one of values."""
    return lambda *arguments: unwrapped(function(*wrapped(arguments)))


class Module(abc.ABC):  # noqa: B024  abstract methods are those of the problems
    """A class whose annotations are fields, as those of ``equinox.Module``."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        plain = cls.__init__ is object.__init__ or hasattr(cls.__init__, "generated")
        dataclasses.dataclass(cls, eq=False, repr=False, init=plain)
        if plain:
            vars(cls)["__init__"].generated = True


class Annotation:
    """What stands for any type."""

    def __class_getitem__(cls, parts: Any) -> type:
        return cls


def field(static: bool = False, **options: Any) -> Any:
    """Return a field of a dataclass."""
    return dataclasses.field(**options)


def modules() -> dict[str, ModuleType]:
    """Return all stand-ins by the names under which they are imported."""
    contents: dict[str, dict[str, Any]] = {
        "jax": {"Array": Array, "vmap": vmap, "jit": lambda function, **options: function},
        "jax.config": {"update": lambda name, value: None},
        "jax.lax": {"scan": scan, "dynamic_slice": dynamic_slice},
        "jax.ops": {"segment_sum": segment_sum},
        "jax.numpy": names_of(np, tg) | {"ndarray": Array, "float64": Float64},
        "jax.numpy.linalg": names_of(np.linalg, tg.linalg),
        "jax.scipy": {},
        "jax.scipy.special": names_of(special, tg.special),
        "jax.experimental": {},
        "jax.experimental.sparse": {"BCOO": Matrix},
        "jax.flatten_util": {},
        "jax.tree_util": {},
        "equinox": {"Module": Module, "field": field, "AbstractVar": ClassVar},
        "jaxtyping": dict.fromkeys(("Array", "ArrayLike", "Float", "Int", "PyTree", "Scalar"), Annotation),
    }
    found: dict[str, ModuleType] = {name: ModuleType(name) for name in contents}
    for name, module in found.items():
        vars(module).update(contents.get(name, {}))
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(found[parent], last, module)
    return found
