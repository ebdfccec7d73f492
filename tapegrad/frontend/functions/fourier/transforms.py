"""Fourier transforms along one axis, padded with zeros or cut to a length."""

import math
import operator
from typing import Any

from tapegrad.frontend.conversions.complex_views import complex_dtype, through_pairs
from tapegrad.frontend.functions.fourier.rows import (
    FFT,
    IFFT,
    from_half,
    numbers_of,
    real_numbers_of,
    to_half,
    transformed,
)
from tapegrad.frontend.functions.shapes.embedding import among_zeros
from tapegrad.frontend.indexing.indexing import getitem
from tapegrad.frontend.recording.outputs import deliver, one_output
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like

_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}  # halves of the power of 1/n
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def halves_of(norm: Any, is_inverse: bool) -> int:
    """Return the power of ``n ** (-1 / 2)`` that a transform is multiplied by."""
    if norm not in _FORWARD:
        raise ValueError(f"norm={norm!r}: it must be None, 'backward', 'ortho' or 'forward'")
    return 2 - _FORWARD[norm] if is_inverse else _FORWARD[norm]


def swapped(norm: Any) -> Any:
    """Return the norm of the transform in the other direction."""
    halves_of(norm, False)
    return _SWAPPED[norm]


def axis_of(x: Tensor, axis: Any, name: str) -> int:
    """Return the number of an axis, counted from the first."""
    own = operator.index(axis)
    if not -x.ndim <= own < x.ndim:
        raise IndexError(f"{name}: axis {own} is out of bounds for a Tensor of {x.ndim} dimensions")
    return own % x.ndim


def length_of(n: Any, name: str) -> int:
    """Return the number of points of a transform."""
    points = operator.index(n)
    if points < 1:
        raise ValueError(f"{name}: invalid number of data points ({points}); it must be 1 or more")
    return points


@through_pairs
def _padded(x: Tensor, axis: int, n: int) -> Tensor:
    """Return a Tensor with zeros behind its elements along an axis, `n` in all."""
    shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
    steps = tuple([math.prod(shape[k + 1 :]) for k in range(x.ndim)])
    return among_zeros(x, shape, 0, steps, "fft")


def resized(x: Tensor, n: int, axis: int) -> Tensor:
    """Return a Tensor with `n` elements along an axis: cut, or with zeros behind its own."""
    own = x.shape[axis]
    if own >= n:
        return x if own == n else getitem(x, (*(slice(None),) * axis, slice(n)))
    return _padded(x, axis, n)


def delivered(result: Tensor, out: Any, name: str) -> Any:
    """Return a result, or the argument `out` that it was written to."""
    return result if out is None else deliver(result, one_output(out, name), name=name)


def _complex_transform(code: int, a: Any, n: Any, axis: Any, norm: Any, out: Any, name: str) -> Any:
    x = numbers_of(a, name)
    along = axis_of(x, axis, name)
    points = length_of(x.shape[along] if n is None else n, name)
    halves = halves_of(norm, code == IFFT)
    x = resized(x, points, along)
    x = x if x.dtype.kind == "c" else x.astype(complex_dtype(x.dtype))
    return delivered(transformed(code, x, along, halves, name), out, name)


def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """Return the discrete Fourier transform along an axis.

    Parameters
    ----------
    a : Tensor or array_like
        Complex or real numbers.
    n : int, optional
        Length of the transform: the axis is cut, or padded with zeros. That of the axis by default.
    axis : int, default -1
        The axis.
    norm : {None, "backward", "ortho", "forward"}, optional
        Factor of the sum: 1 by default, and for "backward"; ``1 / sqrt(n)`` for "ortho"; ``1 / n`` for "forward".
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        complex128; complex64 for operands in single precision.

    Raises
    ------
    ValueError
        If `n` is below 1, or `norm` is none of the four.
    IndexError
        If there is no such axis.

    Notes
    -----
    The sum of ``a[j] * exp(-2j * pi * j * k / n)`` over j, computed by pocketfft (Reinecke 2019) as NumPy computes it.
    A transform is linear: the derivative is the transform in the other direction.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fft.fft(tg.tensor([1.0, 2.0, 3.0, 4.0]))
    Tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex128)
    """
    return _complex_transform(FFT, a, n, axis, norm, out, "fft")


@like(
    fft,
    ("Factor of the sum: 1 by default, and for", "Factor of the sum: ``1 / n`` by default, and for"),
    ('``1 / n`` for "forward"', '1 for "forward"'),
    ("exp(-2j", "exp(2j"),
    summary="Return the inverse of the discrete Fourier transform along an axis.",
    examples=(
        ">>> tg.fft.ifft(tg.tensor([10.0 + 0.0j, -2.0 + 2.0j, -2.0, -2.0 - 2.0j])).real\n"
        "Tensor([1., 2., 3., 4.])"
    ),
)
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    return _complex_transform(IFFT, a, n, axis, norm, out, "ifft")


@like(
    fft,
    ("Complex or real numbers.", "Real numbers."),
    ("complex128;", "Frequencies from zero to the half of `n`, ``n // 2 + 1`` of them. complex128;"),
    summary="Return the discrete Fourier transform of real numbers along an axis.",
    examples=">>> tg.fft.rfft(tg.tensor([1.0, 2.0, 3.0, 4.0]))\n"
    "Tensor([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex128)",
)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    x = real_numbers_of(a, "rfft")
    along = axis_of(x, axis, "rfft")
    points = length_of(x.shape[along] if n is None else n, "rfft")
    return delivered(to_half(resized(x, points, along), along, halves_of(norm, False), "rfft"), out, "rfft")


def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """Return the real numbers whose discrete Fourier transform has given frequencies: the inverse of `rfft`.

    Parameters
    ----------
    a : Tensor or array_like
        Frequencies from zero to the half of `n`. The imaginary parts of the first, and for even `n` of the last one, do
        not count.
    n : int, optional
        Number of elements of the result. By default it is even: ``2 * (m - 1)`` for m frequencies.
    axis : int, default -1
        The axis.
    norm : {None, "backward", "ortho", "forward"}, optional
        Factor of the sum: ``1 / n`` by default, and for "backward"; ``1 / sqrt(n)`` for "ortho"; 1 for "forward".
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        float64; float32 for operands in single precision.

    Raises
    ------
    ValueError
        If `n` is below 1, or `norm` is none of the four.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fft.irfft(tg.tensor([10.0 + 0.0j, -2.0 + 2.0j, -2.0]))
    Tensor([1., 2., 3., 4.])
    """
    x = numbers_of(a, "irfft")
    along = axis_of(x, axis, "irfft")
    points = length_of(2 * (x.shape[along] - 1) if n is None else n, "irfft")
    x = resized(x, points // 2 + 1, along)
    x = x if x.dtype.kind == "c" else x.astype(complex_dtype(x.dtype))
    return delivered(from_half(x, points, along, halves_of(norm, True), "irfft"), out, "irfft")


@like(
    irfft,
    ("``1 / n`` by default", "1 by default"),
    ('1 for "forward"', '``1 / n`` for "forward"'),
    (
        "Frequencies from zero to the half of `n`.",
        "The first half of a signal that is its own conjugate, reversed.",
    ),
    summary="Return the discrete Fourier transform of numbers whose transform is real.",
    examples=">>> tg.fft.hfft(tg.tensor([1.0, 2.0, 3.0]))\nTensor([12., -2.,  0., -2.])",
)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    x = numbers_of(a, "hfft")
    return irfft(x.conj(), n, axis, swapped(norm), out)


@like(
    rfft,
    ("Factor of the sum: 1 by default, and for", "Factor of the sum: ``1 / n`` by default, and for"),
    ('``1 / n`` for "forward"', '1 for "forward"'),
    ("exp(-2j", "exp(2j"),
    summary="Return the inverse of `hfft`: the first half of a signal that is its own conjugate, reversed.",
    examples=">>> tg.fft.ihfft(tg.tensor([12.0, -2.0, 0.0, -2.0])).real\nTensor([2., 3., 4.])",
)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    return delivered(rfft(real_numbers_of(a, "ihfft"), n, axis, swapped(norm)).conj(), out, "ihfft")


FUNCTIONS = {function.__name__: function for function in (fft, ifft, rfft, irfft, hfft, ihfft)}
