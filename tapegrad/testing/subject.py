"""The function that is checked, as one of the float leaves of its arguments. So are its derivatives in turn.

Complex leaves are pairs of floats in it: then the inner product of two is the real part of ``conj(u) * v``, and steps
go along 1 and 1j.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import name_of
from tapegrad.frontend.conversions.complex_views import complex_dtype, complex_of, pairs_of, part_dtype
from tapegrad.frontend.tensor.array_checks import refuse_subclass
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.pytree import flatten, paths, unflatten
from tapegrad.transforms.base import Transform, without_jit
from tapegrad.transforms.jit import Jit, jit
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.vjp import vjp

SINGLE = 1e-8  # rounding errors above this are those of single precision


@dataclass(frozen=True)
class Subject:
    """A function of arrays, and the point at which it is checked.

    Attributes
    ----------
    function
        Takes the primals, Tensors or arrays; returns a list of Tensors or arrays.
    primals, names
        The arrays of the point, and their names in messages.
    title
        The name of the function in messages.
    analytic
        The function for complex arrays, `None` if there is none.
    linear_from
        The number of the first primal in which a derivative is linear, `None` for a function that is no derivative.
    widened
        Whether differences are taken in double precision though the primals are in single.
    unit
        Relative rounding error of the values in the differences.
    size
        The largest value of the function of which this is a derivative, for cancellation is measured by it.
    """

    function: Callable[..., list[Any]]
    primals: list[np.ndarray]
    names: list[str]
    title: str
    analytic: Callable[..., list[Any]] | None = None
    linear_from: int | None = None
    widened: bool = False
    unit: float = float(np.finfo(np.float64).eps)
    size: float = 0.0

    def results(self, point: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the results at a point."""
        takes_arrays = self.analytic is None or isinstance(self.function, Jit)
        arguments = point if takes_arrays else [from_array(x, constant=True) for x in point]
        return [np.asarray(r.data if is_tensor(r) else r) for r in self.function(*arguments)]

    def along(self, direction: Sequence[np.ndarray]) -> Callable[[float], np.ndarray]:
        """Return the function that maps a step in a direction to the results as one vector."""

        def vector(step: float) -> np.ndarray:
            moved = (x + step * d.astype(np.float64) for x, d in zip(self.primals, direction, strict=True))
            return as_vector(self.results([self._cast(x, k) for k, x in enumerate(moved)]))

        return vector

    def _cast(self, x: Any, k: int) -> np.ndarray:
        return np.asarray(x, np.float64 if self.widened else self.primals[k].dtype)

    def in_double(self) -> "Subject":
        """Return the same with differences in double precision, if the function gives the same results in that."""
        own = self.results(self.primals)
        unit = coarsest([*own, *self.primals])
        if unit < SINGLE:
            return self
        widened = replace(self, widened=True)
        try:
            values = widened.results([x.astype(np.float64) for x in self.primals])
        except Exception:  # it takes its own dtype only
            return replace(self, unit=unit)
        same = all(a.shape == b.shape and _close(a, b) for a, b in zip(values, own, strict=True))
        return replace(widened, unit=coarsest(values)) if same else replace(self, unit=unit)

    def perturbed(self, rng: np.random.Generator) -> "Subject":
        """Return the same at a point one rounding error away: derivatives change there by their rounding error."""
        signs = (rng.choice([-1.0, 1.0], x.shape) for x in self.primals)
        steps = (sign * np.finfo(x.dtype).eps for sign, x in zip(signs, self.primals, strict=True))
        primals = (np.asarray(x * (1 + step), x.dtype) for step, x in zip(steps, self.primals, strict=True))
        return replace(self, primals=list(primals))

    def push(self, direction: Sequence[np.ndarray]) -> np.ndarray:
        """Return the derivative in a direction by forward mode, as one vector."""
        return as_vector(jvp(self.function, tuple(self.primals), tuple(direction))[1])

    def pull(self, weights: list[np.ndarray]) -> list[np.ndarray]:
        """Return the cotangents of the primals by reverse mode."""
        return [np.asarray(x_bar) for x_bar in vjp(self.function, *self.primals)[1](weights)]

    def pushed(self, direction: Sequence[np.ndarray]) -> "Subject":
        """Return the derivative in a direction as a function of point and direction."""
        n, function = len(self.primals), self.function

        def derivative(*both: Any) -> list[Any]:
            return list(jvp(function, both[:n], both[n:])[1])

        names = [*self.names, *(f"the tangent of {name}" for name in self.names)]
        return self._derived(derivative, [*self.primals, *direction], names, "jvp")

    def pulled(self, weights: list[np.ndarray]) -> "Subject":
        """Return the cotangents as a function of the point and the cotangents of the results."""
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
        return Subject(
            replayed, primals, names, title, None, len(self.primals), self.widened, self.unit, size
        )


def as_vector(arrays: Sequence[Any]) -> np.ndarray:
    """Return all elements of several arrays as one vector of float64."""
    return np.concatenate([np.zeros(0), *(np.asarray(a, np.float64).ravel() for a in arrays)])


def inner(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray]) -> float:
    """Return the inner product of arrays with as many others, in float64."""
    with np.errstate(all="ignore"):
        return float(as_vector(xs) @ as_vector(ys))


def coarsest(arrays: Sequence[np.ndarray]) -> float:
    """Return the largest relative rounding error of the dtypes."""
    return float(max((np.finfo(a.dtype).eps for a in arrays), default=np.finfo(np.float64).eps))


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(
        np.allclose(a, b, rtol=1e-2, atol=1e-2 * float(np.max(np.abs(b), initial=0.0)), equal_nan=True)
    )


class _OfLeaves(Transform):
    """A function from the float leaves of the arguments to the float leaves of the results; other leaves are fixed.

    Complex leaves are given, and returned, as pairs of floats.
    """

    name = "check_grads"

    def __init__(self, function: Callable[..., Any], definition: Any, leaves: list[Any]) -> None:
        super().__init__(function)
        self._definition = definition
        self._leaves = leaves

    def __call__(self, *floats: Any) -> list[Any]:
        rest, is_complex_step = iter(floats), any(x.dtype.kind == "c" for x in floats)
        leaves = [
            leaf if not is_checked(leaf) else _as_numbers(next(rest), np.asarray(leaf).dtype)
            for leaf in self._leaves
        ]
        results, _ = flatten(without_jit(self.function)(*unflatten(self._definition, leaves)))
        return [r if is_complex_step else _as_pairs(r) for r in results if is_checked(r)]


def is_checked(leaf: Any) -> bool:
    """Return whether a leaf holds floats or complex numbers: a Tensor, an array or a number."""
    if is_tensor(leaf):
        return bool(leaf.dtype.kind in DIFFERENTIABLE_KINDS)
    is_number = isinstance(leaf, float | complex | np.ndarray | np.generic)
    return is_number and np.asarray(leaf).dtype.kind in DIFFERENTIABLE_KINDS


def _as_numbers(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return a leaf of a dtype, given as floats: complex numbers as pairs."""
    if dtype.kind != "c":
        return x
    if x.dtype.kind == "c":
        raise TypeError("check_grads: there is no complex step along parts of complex numbers")
    return complex_of(x) if is_tensor(x) else np.ascontiguousarray(x).view(complex_dtype(x.dtype))[..., 0]


def _as_pairs(x: Any) -> Any:
    """Return complex numbers as pairs of floats, anything else as it is."""
    if is_tensor(x):
        return pairs_of(x) if x.dtype.kind == "c" else x
    array = np.asarray(x)
    return array[..., None].view(part_dtype(array.dtype)) if array.dtype.kind == "c" else x


def subject_of(function: Callable[..., Any], args: tuple[Any, ...]) -> Subject:
    """Return a function and its arguments as a subject.

    Raises
    ------
    ValueError
        If no argument holds a float or a complex number.
    """
    leaves, definition = flatten(args)
    leaves = [leaf.data if is_tensor(leaf) else leaf for leaf in leaves]
    refuse_subclass(leaves, "check_grads")
    called = [f"argument {k}{path}" for k, arg in enumerate(args) for path in paths(arg)]
    names = [name for name, leaf in zip(called, leaves, strict=True) if is_checked(leaf)]
    if not names:
        raise ValueError(
            "check_grads: no argument is a float or holds a float array, so there is nothing to check"
        )
    of_leaves = _OfLeaves(function, definition, leaves)
    primals = [np.array(_as_pairs(np.asarray(leaf))) for leaf in leaves if is_checked(leaf)]
    title = name_of(function)
    replayed = jit(of_leaves) if isinstance(function, Jit) else of_leaves
    return Subject(replayed, primals, names, title, of_leaves).in_double()
