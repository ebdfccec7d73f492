"""Complex numbers seen as pairs of floats, and pairs of floats as complex numbers: views of the same memory.

Gradients are views of gradients in the same way, since the gradient by ``z = x + iy`` is that by x plus i times that by
y. Ops that move or add elements are recorded on pairs of floats: see `through_parts`.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.tape import views
from tapegrad.frontend.recording.record import unary
from tapegrad.frontend.recording.shape import contiguous, swapaxes
from tapegrad.frontend.tensor.array_checks import complex_seen
from tapegrad.frontend.tensor.tensor import Tensor, from_slot, slot_to_view, view_from_slot, view_of
from tapegrad.ops import CODES

_PART_OF: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.complex128): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.float32),
}
_WHOLE_OF: dict[np.dtype[Any], np.dtype[Any]] = {part: whole for whole, part in _PART_OF.items()}
_CONJUGATE = CODES["conjugate"]


def is_complex(x: Any) -> bool:
    """Return whether a Tensor is of complex numbers."""
    return bool(x.dtype.kind == "c")


def part_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the real and imaginary parts of a dtype's numbers; of floats their own."""
    return _PART_OF.get(dtype, dtype)


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of complex numbers with parts of a dtype; of complex numbers their own."""
    return _WHOLE_OF.get(dtype, dtype)


def _component(x: Tensor, which: int) -> Tensor:
    own, tape = slot_to_view(x), x._tape
    if own >= 0 and tape is not None:
        slot = views.view_components(tape.header, own, which)
        if slot >= 0:
            return view_from_slot(x, slot)
    array = x.data_or_traced()
    if which == views.BOTH:
        return view_of(x, array[..., None].view(part_dtype(array.dtype)))
    return view_of(x, array.real if which == views.REAL else array.imag)


def real_part(x: Tensor) -> Tensor:
    """Return the real parts of complex numbers: a view."""
    return _component(x, views.REAL)


def imag_part(x: Tensor) -> Tensor:
    """Return the imaginary parts of complex numbers: a view."""
    return _component(x, views.IMAG)


def real_of(x: Tensor) -> Tensor:
    """Return the real parts: of real numbers the Tensor itself."""
    return real_part(x) if is_complex(x) else x


def pairs_of(x: Tensor) -> Tensor:
    """Return complex numbers as pairs of floats along a new last dimension: a view."""
    return _component(x, views.BOTH)


def complex_of(pairs: Tensor) -> Tensor:
    """Return pairs of floats along the last dimension, which is left out, as complex numbers: a view of adjacent pairs.

    Pairs whose floats are not next to each other are copied.
    """
    complex_seen[0] = True
    own, tape = slot_to_view(pairs), pairs._tape
    if own >= 0 and tape is not None:
        slot = views.view_complex(tape.header, own)
        if slot >= 0:
            return view_from_slot(pairs, slot)
    array = pairs.data_or_traced()
    if array.shape[-1:] != (2,):
        raise ValueError(f"complex numbers: {array.shape} has no last dimension of two parts")
    if array.strides[-1] != array.itemsize:
        return complex_of(contiguous(pairs))
    return view_of(pairs, array.view(complex_dtype(array.dtype))[..., 0])


def conjugate(x: Tensor) -> Tensor:
    """Return complex conjugates: of real numbers the Tensor itself."""
    return unary(_CONJUGATE, x) if is_complex(x) else x


def adjoint(x: Tensor) -> Tensor:
    """Return conjugate transposed matrices: of real ones a view."""
    return conjugate(swapaxes(x, -1, -2))


def made_complex(pairs: Tensor) -> Tensor:
    """Return fresh pairs of floats as complex numbers that are not a view of them."""
    complex_seen[0] = True
    tape, slot = pairs._tape, pairs._slot
    if pairs._base is None and tape is not None and slot >= 0:
        made = views.view_complex(tape.header, slot)
        if made >= 0:
            return from_slot(tape, made)
    return complex_of(pairs)


def through_pairs(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Make a function of floats one of complex numbers as well: it is applied to pairs, and the result seen as complex.

    The function takes a Tensor and moves, selects or adds its elements along other dimensions than the last one.
    """

    @functools.wraps(function)
    def apply(x: Tensor, *others: Any, **options: Any) -> Tensor:
        if x.dtype.kind != "c":
            return function(x, *others, **options)
        return made_complex(function(pairs_of(x), *others, **options))

    return apply
