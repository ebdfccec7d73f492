"""Structures of arrays as one flat vector, which optimisers work on; functions of structures as functions of it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import name_of
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes import joining
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout, joined, pairs_in, taken_apart
from tapegrad.frontend.recording import shape
from tapegrad.frontend.tensor.array_checks import numbers, real, refuse_subclass
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import flatten
from tapegrad.transforms.base import ConfiguredTransform, replay_of, without_jit
from tapegrad.transforms.jit import Jit, jit

_NUMBERS = (bool, int, float, complex, np.generic)
_FLOAT = np.dtype(np.float64)


def layout_of(structure: Any) -> LeafLayout:
    """Return the layout of a structure of arrays and numbers."""
    return taken_apart(as_vector(structure), "x0")[1]


def raveled(structure: Any, layout: LeafLayout) -> Any:
    """Return the elements of a structure of this layout as a new vector of float64.

    Raises
    ------
    ValueError
        For a structure of another layout.
    """
    leaves, own = taken_apart(as_vector(structure), "x0")
    if own.definition != layout.definition or own.shapes != layout.shapes:
        raise ValueError(f"the structure has {own}, but x0 has {layout}")
    return joined(leaves, _FLOAT)


def raveled_numbers(structure: Any, layout: LeafLayout) -> np.ndarray:
    """Return the same as an array. Tensors in the structure are points of a search: no gradient flows to them."""
    vector = raveled(structure, layout)
    array: np.ndarray = vector.data if is_tensor(vector) else vector
    return array


def unraveled(vector: Any, layout: LeafLayout) -> Any:
    """Return the structure of this layout with the elements of a vector."""
    vector = vector if is_tensor(vector) else real(vector, "unravel", None)
    if vector.shape != (layout.size,):
        raise ValueError(f"a vector of shape {vector.shape}, but x0 has {layout.size} elements")
    return layout.split(vector)


def as_vector(structure: Any) -> Any:
    """Return a list or tuple of plain numbers as a vector, as everywhere in SciPy; other structures as they are."""
    is_plain = isinstance(structure, list | tuple) and structure and _holds_numbers(structure)
    if not is_plain:
        return structure
    array = numbers(structure, "x0")
    return array if array.dtype.kind == "c" else real(array, "x0")


def refuse_bounds(name: str, layout: LeafLayout, bounds: Any) -> None:
    """Raise for bounds of complex numbers, which have no order."""
    if bounds is not None and layout.has_complex:
        raise TypeError(
            f"{name}: bounds of complex numbers do not exist: pass z.view(float) as x0, with bounds of both parts"
        )


def _holds_numbers(structure: Any) -> bool:
    """Return whether a sequence holds numbers only. A named tuple counts as a structure."""
    return not hasattr(structure, "_fields") and all(isinstance(part, _NUMBERS) for part in structure)


# --- functions, recorded and replayed ------------------------------------------------------------------------------


class NotScalarError(TypeError, ValueError):
    """An objective returned something else than a number: of another type, or of another shape.

    SciPy raises a `ValueError` for both.
    """


class _Flat(ConfiguredTransform):
    """A function of a vector. The vector is unraveled on the tape, so a replay runs no Python for the leaves."""

    name = "objective"

    def _value(self, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        (layout,) = self.settings
        structure = x if layout.is_vector else layout.split(x)
        return without_jit(self.function)(structure, *args, **(kwargs or {}))


class FlatScalar(_Flat):
    """An objective, which returns a scalar of float64."""

    def __call__(self, x: Any, *args: Any) -> Any:
        value = self._value(x, args)
        if not is_tensor(value):
            value = _constant(value, x, f"the objective {name_of(self.function)}", "a scalar value")
        if value.dtype.kind == "c":
            raise NotScalarError(
                f"the objective {name_of(self.function)} returned {value.dtype}, but must return a real number: take"
                " abs, .real or a sum of squares of it"
            )
        if value.size != 1:
            raise NotScalarError(
                f"the objective {name_of(self.function)} returned shape {value.shape}, but it must return a scalar"
                " value; sum() it, or pass residuals to least_squares"
            )
        return _double(value.reshape(()) if value.ndim else value)


class FlatVector(_Flat):
    """Residuals: all results of the function in one vector of float64, complex ones as pairs."""

    _noun = "residuals"
    _takes_complex = True

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self._joined(self._value(x, args, kwargs), x)

    def _joined(self, results: Any, x: Any) -> Any:
        """Return results of the function as one vector."""
        leaves, _ = flatten(results)
        subject = f"the {self._noun} {name_of(self.function)}"
        pieces = [r if is_tensor(r) else _constant(r, x, subject, "Tensors or numbers") for r in leaves]
        if not pieces:
            raise NotScalarError(f"{subject} returned nothing; return an array, or several")
        if not self._takes_complex and any(r.dtype.kind == "c" for r in pieces):
            raise NotScalarError(f"{subject} returned complex numbers; return z.real and z.imag")
        pieces = list(map(pairs_in, pieces))
        vectors = [_double(r if r.ndim == 1 else shape.ravel(r)) for r in pieces]
        return vectors[0] if len(vectors) == 1 else joining.concatenate(vectors)


class FlatConstraints(FlatVector):
    """Constraints of a problem: all results of the function in one vector of float64."""

    _noun = "constraints"
    _takes_complex = False


def _double(value: Any) -> Any:
    return value if value.dtype == np.float64 else value.astype(np.float64)


def _constant(value: Any, x: Any, subject: str, wanted: str) -> Any:
    """Return a result that does not depend on `x`, such as ``np.inf``, as a Tensor that does, with derivative zero."""
    array = _numbers(value)
    if array is None:
        what = "None" if value is None else type(value).__name__ + _of_dtype(value)
        hint = "; is a return missing?" if value is None else ""
        raise NotScalarError(f"{subject} returned {what}, but must return {wanted}{hint}")
    return reductions.sum(x[:0]) + array


def _of_dtype(value: Any) -> str:
    return f" of dtype {value.dtype}" if isinstance(value, np.ndarray | np.generic) else ""


def _numbers(value: Any) -> Any:
    """Return numbers as an array of float64 or complex128, and `None` for anything else, such as text."""
    refuse_subclass(value, "the result of the function")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if array.dtype.kind in "biuf" else None


def flat_jit(kind: type[_Flat], function: Callable[..., Any], layout: LeafLayout) -> Jit[..., Any]:
    """Return the function of a vector, to be replayed. It shares its traces with `function` if that is a ``jit(f)``."""
    return replay_of(kind(jit(function), layout))
