"""Parts of complex numbers: views of their memory. Of real numbers they are the Tensor itself, and zeros."""

from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import imag_part, real_part
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array
from tapegrad.frontend.words.derived_docs import like


def real(val: Any) -> Any:
    """Return the real part.

    Parameters
    ----------
    val : Tensor or array_like
        Complex or real numbers.

    Returns
    -------
    Tensor
        Of complex numbers a view; of real ones `val` itself if it is a Tensor.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.real(tg.tensor([1.0 + 2.0j, 3.0]))
    Tensor([1., 3.])
    """
    return _real(as_numbers(val, "numpy.real"))


@like(
    real,
    ("`val` itself if it is a Tensor.", "zeros of the same shape and dtype, which are constant."),
    summary="Return the imaginary part.",
    examples=">>> tg.imag(tg.tensor([1.0 + 2.0j, 3.0]))\nTensor([2., 0.])",
)
def imag(val: Any) -> Tensor:
    return _imag(as_numbers(val, "numpy.imag"))


def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle of complex numbers with the positive real axis: of real ones 0, or pi below 0.

    Parameters
    ----------
    z : Tensor or array_like
        Complex or real numbers.
    deg : bool, default False
        Whether to return degrees instead of radians.

    Returns
    -------
    Tensor
        Same shape as `z`, and real. The derivative by real numbers is 0, at the jump as well, and so is that at the
        complex number 0.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.angle(tg.tensor([1.0, -2.0]), deg=True)
    Tensor([  0., 180.])
    >>> z = tg.tensor(2.0j)
    >>> tg.angle(z).backward()
    >>> z.grad
    array(-0.5+0.j)
    """
    x = as_numbers(z, "numpy.angle")
    angles = ELEMENTWISE["angle"](x) if x.dtype.kind == "c" else ELEMENTWISE["arctan2"](0.0, x)
    return angles * (180 / np.pi) if deg else angles


FUNCTIONS = {"real": real, "imag": imag, "angle": angle}


def _conj(x: Tensor) -> Tensor:
    """Return the complex conjugate: of a real Tensor the Tensor itself.

    Returns
    -------
    Tensor
        Same shape and dtype.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.tensor([1.0 + 2.0j, 3.0]).conj()
    Tensor([1.-2.j, 3.-0.j], dtype=complex128)
    """
    return ELEMENTWISE["conjugate"](x) if x.dtype.kind == "c" else x


def _real(x: Tensor) -> Tensor:
    """Return the real parts: of complex numbers a view, of real ones the Tensor itself."""
    return real_part(x) if x.dtype.kind == "c" else x


def _imag(x: Tensor) -> Tensor:
    """Return the imaginary parts: of complex numbers a view, of real ones zeros."""
    return imag_part(x) if x.dtype.kind == "c" else from_array(np.zeros(x.shape, x.dtype), constant=True)


def _write_real(x: Tensor, values: Any) -> None:
    _real(x)[...] = values


def _write_imag(x: Tensor, values: Any) -> None:
    if x.dtype.kind != "c":
        raise TypeError(
            f"a Tensor of {x.dtype} has no imaginary parts to set; convert it with astype(complex)"
        )
    imag_part(x)[...] = values


bind_methods(
    conj=_conj, conjugate=_conj, real=property(_real, _write_real), imag=property(_imag, _write_imag)
)
