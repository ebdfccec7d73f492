"""Fourier transforms along several axes: one axis after another, in NumPy's order, from the last to the first.

The real transforms take the last axis first, and in the inverse last.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.frontend.functions.fourier.rows import numbers_of, real_numbers_of
from tapegrad.frontend.functions.fourier.transforms import axis_of, delivered, fft, ifft, irfft, rfft, swapped
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like


def axes_and_lengths(x: Tensor, s: Any, axes: Any, name: str) -> tuple[list[int], list[int | None]]:
    """Return the axes and the length along each: `None` for that of the axis."""
    lengths = None if s is None else [None if n is None or n == -1 else operator.index(n) for n in s]
    if axes is None:
        count = x.ndim if lengths is None else len(lengths)
        axes = range(-count, 0)
    numbers = [axis_of(x, axis, name) for axis in axes]
    lengths = [None] * len(numbers) if lengths is None else lengths
    if len(lengths) != len(numbers):
        raise ValueError(f"{name}: {len(lengths)} lengths in s, but {len(numbers)} axes")
    return numbers, lengths


def _over(
    function: Callable[..., Any], x: Any, axes: Sequence[int], lengths: Sequence[Any], norm: Any
) -> Any:
    for axis, n in reversed(list(zip(axes, lengths, strict=True))):
        x = function(x, n, axis, norm)
    return x


def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """Return the discrete Fourier transform along several axes.

    Parameters
    ----------
    a : Tensor or array_like
        Complex or real numbers.
    s : sequence of int, optional
        Length of the transform along each axis, which is cut or padded with zeros; -1 for that of the axis. By default
        those of the axes.
    axes : sequence of int, optional
        The axes. By default all, or the last ones if `s` is given.
    norm : {None, "backward", "ortho", "forward"}, optional
        Factor of the sum, as for a transform along one axis, for each of the axes.
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        complex128; complex64 for operands in single precision.

    Raises
    ------
    ValueError
        If a length is below 1, `s` and `axes` differ in their lengths, or `norm` is none of the four.
    IndexError
        If there is no such axis.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fft.fftn(tg.tensor([[1.0, 2.0], [3.0, 4.0]])).real
    Tensor([[10., -2.],
            [-4.,  0.]])
    """
    x = numbers_of(a, "fftn")
    axes, lengths = axes_and_lengths(x, s, axes, "fftn")
    return delivered(_over(fft, x, axes, lengths, norm), out, "fftn")


@like(
    fftn,
    summary="Return the inverse of the discrete Fourier transform along several axes.",
    examples=""">>> tg.fft.ifftn(tg.tensor([[10.0, -2.0], [-4.0, 0.0]])).real
Tensor([[1., 2.],
        [3., 4.]])""",
)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    x = numbers_of(a, "ifftn")
    axes, lengths = axes_and_lengths(x, s, axes, "ifftn")
    return delivered(_over(ifft, x, axes, lengths, norm), out, "ifftn")


@like(
    fftn,
    ("Complex or real numbers.", "Real numbers."),
    ("complex128;", "Along the last of the axes frequencies from zero to the half. complex128;"),
    summary="Return the discrete Fourier transform of real numbers along several axes.",
    examples=""">>> tg.fft.rfftn(tg.tensor([[1.0, 2.0], [3.0, 4.0]])).real
Tensor([[10., -2.],
        [-4.,  0.]])""",
)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    x = real_numbers_of(a, "rfftn")
    axes, lengths = axes_and_lengths(x, s, axes, "rfftn")
    if not axes:
        raise ValueError("rfftn: at least one axis is needed")
    half = rfft(x, lengths[-1], axes[-1], norm)
    return delivered(_over(fft, half, axes[:-1], lengths[:-1], norm), out, "rfftn")


@like(
    fftn,
    ("Complex or real numbers.", "Frequencies; along the last of the axes from zero to the half."),
    ("those of the axes.", "those of the axes; along the last one ``2 * (m - 1)`` for m frequencies."),
    ("complex128; complex64 for", "float64; float32 for"),
    summary="Return the real numbers with a given Fourier transform along several axes: the inverse of `rfftn`.",
    examples=""">>> tg.fft.irfftn(tg.tensor([[10.0, -2.0], [-4.0, 0.0]]))
Tensor([[1., 2.],
        [3., 4.]])""",
)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    x = numbers_of(a, "irfftn")
    axes, lengths = axes_and_lengths(x, s, axes, "irfftn")
    if not axes:
        raise ValueError("irfftn: at least one axis is needed")
    for axis, n in zip(axes[:-1], lengths[:-1], strict=True):
        x = ifft(x, n, axis, norm)
    return delivered(irfft(x, lengths[-1], axes[-1], norm), out, "irfftn")


def _of_two(function: Callable[..., Any], summary: str) -> Callable[..., Any]:
    """Make the function of the last two axes."""
    name = f"{function.__name__[:-1]}2"

    @like(
        function,
        ("The axes. By default all, or the last ones if `s` is given.", "The axes; the last two by default."),
        (f"tg.fft.{function.__name__}(", f"tg.fft.{name}("),
        summary=summary,
    )
    def transform(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
        return function(a, s, axes, norm, out)

    transform.__name__ = transform.__qualname__ = name
    return transform


fft2 = _of_two(fftn, "Return the discrete Fourier transform along two axes.")
ifft2 = _of_two(ifftn, "Return the inverse of the discrete Fourier transform along two axes.")
rfft2 = _of_two(rfftn, "Return the discrete Fourier transform of real numbers along two axes.")
irfft2 = _of_two(
    irfftn,
    "Return the real numbers with a given Fourier transform along two axes: the inverse of `rfft2`.",
)


@like(
    irfftn,
    (
        "Frequencies; along the last of the axes from zero to the half.",
        "A signal that is its own conjugate, reversed along all axes; of the last of the axes the first half.",
    ),
    summary="Return the discrete Fourier transform along several axes of numbers whose transform is real.",
    examples=""">>> tg.fft.hfftn(tg.tensor([[10.0, -2.0], [-4.0, 0.0]]))
Tensor([[ 4.,  8.],
        [12., 16.]])""",
)
def hfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return irfftn(numbers_of(a, "hfftn").conj(), s, axes, swapped(norm), out)


@like(
    rfftn,
    summary="Return the inverse of `hfftn`: the first half of a signal that is its own conjugate, reversed.",
    examples=""">>> tg.fft.ihfftn(tg.tensor([[4.0, 8.0], [12.0, 16.0]])).real
Tensor([[10., -2.],
        [-4.,  0.]])""",
)
def ihfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return delivered(rfftn(real_numbers_of(a, "ihfftn"), s, axes, swapped(norm)).conj(), out, "ihfftn")


hfft2 = _of_two(
    hfftn, "Return the discrete Fourier transform along two axes of numbers whose transform is real."
)
ihfft2 = _of_two(
    ihfftn, "Return the inverse of `hfft2`: the first half of a signal that is its own conjugate, reversed."
)

_ALONG_ALL = (fftn, ifftn, rfftn, irfftn, hfftn, ihfftn)
_ALONG_TWO = (fft2, ifft2, rfft2, irfft2, hfft2, ihfft2)
FUNCTIONS = {function.__name__: function for function in (*_ALONG_ALL, *_ALONG_TWO)}
