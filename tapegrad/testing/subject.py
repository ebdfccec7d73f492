"""What is checked: a function of the float leaves of its arguments, and in turn its derivatives as such functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tapegrad.errors import name_of
from tapegrad.frontend.tensor import from_array, is_tensor
from tapegrad.pytree import flatten, paths, unflatten
from tapegrad.transforms.base import Transform, plain
from tapegrad.transforms.jit import Jit, jit
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp

SINGLE = 1e-8  # rounding errors above this are those of single precision


@dataclass(frozen=True)
class Subject:
    """A function of arrays with the point at which it is checked.

    Attributes
    ----------
    function
        Takes the primals, Tensors or arrays; returns a list of Tensors or arrays.
    primals, names
        The point, and what its arrays are called.
    title
        What the function is called.
    analytic
        The function as it may be called with complex arrays, `None` where there is no such.
    linear_from
        The number of the first primal that a derivative depends on linearly, `None` for what is no derivative.
    wide
        Whether differences are taken in double precision though the primals have less.
    unit
        Relative rounding error of the values that differences are taken of.
    size
        The largest value of the function whose derivative this is: what may have cancelled in it.
    """

    function: Callable[..., list[Any]]
    primals: list[np.ndarray]
    names: list[str]
    title: str
    analytic: Callable[..., list[Any]] | None = None
    linear_from: int | None = None
    wide: bool = False
    unit: float = float(np.finfo(np.float64).eps)
    size: float = 0.0

    def results(self, point: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results at a point."""
        takes_arrays = self.analytic is None or isinstance(self.function, Jit)
        arguments = point if takes_arrays else [from_array(x, constant=True) for x in point]
        return [np.asarray(r.data if is_tensor(r) else r) for r in self.function(*arguments)]

    def along(self, direction: Sequence[np.ndarray]) -> Callable[[float], np.ndarray]:
        """The results as one vector, at a distance from the point in a direction."""

        def vector(step: float) -> np.ndarray:
            moved = (x + step * d.astype(np.float64) for x, d in zip(self.primals, direction, strict=True))
            return as_vector(self.results([self._cast(x, k) for k, x in enumerate(moved)]))

        return vector

    def _cast(self, x: Any, k: int) -> np.ndarray:
        return np.asarray(x, np.float64 if self.wide else self.primals[k].dtype)

    def widened(self) -> "Subject":
        """The same, with differences in double precision if the function computes in that what it does in its own."""
        own = self.results(self.primals)
        unit = coarsest([*own, *self.primals])
        if unit < SINGLE:
            return self
        wide = replace(self, wide=True)
        try:
            values = wide.results([x.astype(np.float64) for x in self.primals])
        except Exception:  # it insists on its own precision
            return replace(self, unit=unit)
        same = all(a.shape == b.shape and _close(a, b) for a, b in zip(values, own, strict=True))
        return replace(wide, unit=coarsest(values)) if same else replace(self, unit=unit)

    def nudged(self, rng: np.random.Generator) -> "Subject":
        """The same at a point that rounds to this one: what changes in a derivative is its rounding error."""
        signs = (rng.choice([-1.0, 1.0], x.shape) for x in self.primals)
        steps = (sign * np.finfo(x.dtype).eps for sign, x in zip(signs, self.primals, strict=True))
        primals = (np.asarray(x * (1 + step), x.dtype) for step, x in zip(steps, self.primals, strict=True))
        return replace(self, primals=list(primals))

    def push(self, direction: Sequence[np.ndarray]) -> np.ndarray:
        """The derivative in a direction by the tangent sweep, as one vector."""
        return as_vector(jvp(self.function, tuple(self.primals), tuple(direction))[1])

    def pull(self, weights: list[np.ndarray]) -> list[np.ndarray]:
        """The cotangents of the primals by the reverse sweep."""
        return [np.asarray(x_bar) for x_bar in vjp(self.function, *self.primals)[1](weights)]

    def pushed(self, direction: Sequence[np.ndarray]) -> "Subject":
        """The derivative in a direction as a function of point and direction."""
        n, function = len(self.primals), self.function

        def derivative(*both: Any) -> list[Any]:
            return list(jvp(function, both[:n], both[n:])[1])

        names = [*self.names, *(f"the tangent of {name}" for name in self.names)]
        return self._derived(derivative, [*self.primals, *direction], names, "jvp")

    def pulled(self, weights: list[np.ndarray]) -> "Subject":
        """The cotangents as a function of point and the results' cotangents."""
        n, function = len(self.primals), self.function

        def derivative(*both: Any) -> list[Any]:
            return list(vjp(function, *both[:n])[1](list(both[n:])))

        names = [*self.names, *(f"the cotangent of result {k}" for k in range(len(weights)))]
        return self._derived(derivative, [*self.primals, *weights], names, "vjp")

    def _derived(self, function: Any, primals: list[np.ndarray], names: list[str], mode: str) -> "Subject":
        replayed = jit(function) if isinstance(self.function, Jit) else function
        sizes = np.abs(as_vector(self.results(self.primals)))
        size = max(self.size, float(np.max(sizes, initial=0.0, where=np.isfinite(sizes))))
        title = f"the {mode} of {self.title}"
        return Subject(replayed, primals, names, title, None, len(self.primals), self.wide, self.unit, size)


def as_vector(arrays: Sequence[Any]) -> np.ndarray:
    """All elements of several arrays, in float64."""
    return np.concatenate([np.zeros(0), *(np.asarray(a, np.float64).ravel() for a in arrays)])


def inner(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray]) -> float:
    """The inner product of several arrays with as many others, in float64."""
    with np.errstate(all="ignore"):
        return float(as_vector(xs) @ as_vector(ys))


def coarsest(arrays: Sequence[np.ndarray]) -> float:
    """The largest relative rounding error of any of the arrays' dtypes."""
    return float(max((np.finfo(a.dtype).eps for a in arrays), default=np.finfo(np.float64).eps))


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(
        np.allclose(a, b, rtol=1e-2, atol=1e-2 * float(np.max(np.abs(b), initial=0.0)), equal_nan=True)
    )


class _OfLeaves(Transform):
    """A function of the float leaves of its arguments, with all others fixed, that returns its float leaves."""

    def __init__(self, function: Callable[..., Any], definition: Any, leaves: list[Any]) -> None:
        super().__init__(function)
        self._definition = definition
        self._leaves = leaves

    def __call__(self, *floats: Any) -> list[Any]:
        rest = iter(floats)
        leaves = [next(rest) if is_float(leaf) else leaf for leaf in self._leaves]
        results, _ = flatten(plain(self.function)(*unflatten(self._definition, leaves)))
        return [r for r in results if _is_result(r)]


def is_float(leaf: Any) -> bool:
    """Whether a leaf of the arguments has a derivative."""
    return isinstance(leaf, float | np.ndarray | np.generic) and np.asarray(leaf).dtype.kind == "f"


def _is_result(leaf: Any) -> bool:
    """Whether a leaf of the results has a derivative; complex ones are those of a complex step."""
    if is_tensor(leaf):
        return bool(leaf.dtype.kind == "f")
    return is_float(leaf) or np.iscomplexobj(leaf)


def subject_of(function: Callable[..., Any], args: tuple[Any, ...]) -> Subject:
    """A function at its arguments as what is checked.

    Raises
    ------
    ValueError
        If no argument holds a float.
    """
    leaves, definition = flatten(args)
    leaves = [leaf.data if is_tensor(leaf) else leaf for leaf in leaves]
    called = [f"argument {k}{path}" for k, arg in enumerate(args) for path in paths(arg)]
    names = [name for name, leaf in zip(called, leaves, strict=True) if is_float(leaf)]
    if not names:
        raise ValueError(
            "check_grads: no argument is a float or holds a float array, so there is nothing to check"
        )
    of_leaves = _OfLeaves(function, definition, leaves)
    primals = [np.array(leaf) for leaf in leaves if is_float(leaf)]
    title = name_of(function)
    replayed = jit(of_leaves) if isinstance(function, Jit) else of_leaves
    return Subject(replayed, primals, names, title, of_leaves).widened()
