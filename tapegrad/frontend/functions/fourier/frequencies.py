"""Frequencies of a Fourier transform, and their order: zero first, or in the middle."""

from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import through_pairs
from tapegrad.frontend.functions.shapes.tiling import roll
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.frontend.words.derived_docs import like


def fftfreq(n: int, d: Any = 1.0, device: Any = None) -> Tensor:
    """Return the frequencies of `fft` in its order: from zero up, then the negative ones.

    Parameters
    ----------
    n : int
        Number of points.
    d : float, default 1.0
        Distance of the points; frequencies are cycles per unit of it.
    device : None or "cpu", optional
        Accepted because ``numpy.fft.fftfreq`` has it.

    Returns
    -------
    Tensor, shape (n,)
        A constant.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fft.fftfreq(4, 0.5)
    Tensor([ 0. ,  0.5, -1. , -0.5])
    """
    return from_array(np.fft.fftfreq(n, d, device=device), constant=True)


@like(
    fftfreq,
    ("shape (n,)", "shape (n // 2 + 1,)"),
    summary="Return the frequencies of `rfft`: from zero to the half of the sampling rate.",
    examples=">>> tg.fft.rfftfreq(4, 0.5)\nTensor([0. , 0.5, 1. ])",
)
def rfftfreq(n: int, d: Any = 1.0, device: Any = None) -> Tensor:
    return from_array(np.fft.rfftfreq(n, d, device=device), constant=True)


def _rolled(x: Any, axes: Any, is_inverse: bool, name: str) -> Tensor:
    given = as_numbers(x, name)
    axes = range(given.ndim) if axes is None else (axes,) if isinstance(axes, int | np.integer) else axes
    along = tuple([int(axis) % max(given.ndim, 1) for axis in axes])
    shifts = [-(given.shape[k] // 2) if is_inverse else given.shape[k] // 2 for k in along]
    return _roll(given, shifts, along)


@through_pairs
def _roll(x: Tensor, shifts: Any, axes: tuple[int, ...]) -> Tensor:
    return roll(x, shifts, axes)


def fftshift(x: Any, axes: Any = None) -> Tensor:
    """Move the frequency zero to the middle of each axis.

    Parameters
    ----------
    x : Tensor or array_like
        Values in the order of `fft`.
    axes : int or sequence of int, optional
        The axes; all by default.

    Returns
    -------
    Tensor
        Same shape and dtype.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.fft.fftshift(tg.tensor([0.0, 1.0, -2.0, -1.0]))
    Tensor([-2., -1.,  0.,  1.])
    """
    return _rolled(x, axes, False, "fftshift")


@like(
    fftshift,
    ("Values in the order of `fft`.", "Values with the frequency zero in the middle."),
    summary="Move the frequency zero from the middle of each axis to its begin: the inverse of `fftshift`.",
    examples=">>> tg.fft.ifftshift(tg.tensor([-2.0, -1.0, 0.0, 1.0]))\nTensor([ 0.,  1., -2., -1.])",
)
def ifftshift(x: Any, axes: Any = None) -> Tensor:
    return _rolled(x, axes, True, "ifftshift")


FUNCTIONS = {function.__name__: function for function in (fftfreq, rfftfreq, fftshift, ifftshift)}
