"""Correlations and convolutions of an image with weights: sums of products over windows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.frontend.conversions.complex_views import complex_dtype, conjugate, part_dtype
from tapegrad.frontend.functions.numerics.convolution import correlate_arrays
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ndimage.arguments import axes_of, for_each_axis, image
from tapegrad.ndimage.boundaries import extended, is_zero_outside


def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Tensor:  # fmt: skip
    """Correlate the lines along an axis with weights: ``y[i] = sum(weights[k] * x[i + k - len(weights) // 2])``.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats or complex numbers, of any dimension.
    weights : Tensor or array_like, shape (k,)
        Weights. Complex ones are conjugated.
    axis : int, default -1
        Axis of the lines.
    output : dtype, optional
        Dtype of the result, that of the input by default.
    mode : {'reflect', 'constant', 'nearest', 'mirror', 'wrap'}, default 'reflect'
        Contents of the image beyond its edges: its reflection, that without the edge itself, `cval`, the edge, or its
        other end.
    cval : float or Tensor, default 0.0
        Value beyond the edges in the mode 'constant'.
    origin : int, default 0
        Shift of the window to lower places.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Raises
    ------
    TypeError
        If the input is of integers.
    RuntimeError, ValueError
        As by SciPy's function: for no weights, an unknown mode, an origin outside of the window.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.ndimage.correlate1d(np.array([2.0, 8.0, 0.0, 4.0]), [1.0, 3.0])
    Tensor([ 8., 26.,  8., 12.])
    >>> tg.grad(lambda w: tg.sum(tg.ndimage.correlate1d(np.array([2.0, 8.0, 0.0, 4.0]), w)))(np.array([1.0, 3.0]))
    array([12., 14.])
    """
    return _along_axis("correlate1d", (input, weights, axis, output, mode, cval, origin), flipped=False)


@like(
    correlate1d,
    ("Weights. Complex ones are conjugated.", "Weights."),
    ("to lower places", "to higher places"),
    summary="Convolve the lines along an axis with weights: `correlate1d` with these in reverse.",
    examples=""">>> import numpy as np
>>> tg.ndimage.convolve1d(np.array([2.0, 8.0, 0.0, 4.0]), [1.0, 3.0])
Tensor([14., 24.,  4., 16.])""",
)
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Tensor:  # fmt: skip
    return _along_axis("convolve1d", (input, weights, axis, output, mode, cval, origin), flipped=True)


def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Tensor:  # fmt: skip
    """Correlate an image with weights of as many axes.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats or complex numbers, of any dimension.
    weights : Tensor or array_like
        Weights, with as many dimensions as the image, or as `axes` names.
    output, mode, cval
        As for `correlate1d`.
    origin : int or sequence of int, default 0
        Shift of the window along each axis.
    axes : int or tuple of int, optional
        Axes of the weights; all by default.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Raises
    ------
    TypeError
        If the input is of integers.
    RuntimeError, ValueError
        As by SciPy's function.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> x = np.arange(9.0).reshape(3, 3)
    >>> tg.ndimage.correlate(x, [[0.0, 1.0], [1.0, 0.0]], mode="constant")
    Tensor([[ 0.,  0.,  1.],
            [ 0.,  4.,  6.],
            [ 3., 10., 12.]])
    """
    return _over_axes("correlate", (input, weights, output, mode, cval, origin, axes), flipped=False)


@like(
    correlate,
    summary="Convolve an image with weights: `correlate` with these in reverse along all axes.",
    examples=""">>> import numpy as np
>>> blur = lambda x: tg.ndimage.convolve(x, np.array([[1.0, 2.0, 1.0]]) / 4, mode="nearest")
>>> blur(np.array([[0.0, 4.0, 0.0, 0.0]]))
Tensor([[1., 2., 1., 0.]])""",
)
def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Tensor:  # fmt: skip
    return _over_axes("convolve", (input, weights, output, mode, cval, origin, axes), flipped=True)


def _along_axis(name: str, arguments: tuple[Any, ...], flipped: bool) -> Tensor:
    given, weights, axis, output, mode, cval, origin = arguments
    x, dtype = image(name, given, output)
    w = as_numbers(weights, f"tapegrad.ndimage.{name}")
    if w.ndim != 1 or w.size < 1:
        raise RuntimeError(f"no filter weights given: {name} needs one line of them, not shape {w.shape}")
    w = w if flipped else conjugate(w)
    return along_axis(x, w, axis, mode, cval, origin, flipped).astype(_promoted(dtype, w), copy=False)


def along_axis(
    x: Tensor, weights: Any, axis: int, mode: str, cval: Any, origin: int = 0, flipped: bool = False
) -> Tensor:
    """Correlate an image with a line of weights along an axis."""
    axis = normalize_axis_index(axis, x.ndim)
    shape = [1] * x.ndim
    shape[axis] = -1
    line = as_numbers(weights, "tapegrad.ndimage").reshape(shape)
    origins, modes = [0] * x.ndim, ["constant"] * x.ndim
    origins[axis], modes[axis] = origin, mode
    return _over_windows(x, line, origins, modes, cval, flipped)


def _over_axes(name: str, arguments: tuple[Any, ...], flipped: bool) -> Tensor:
    given, weights, output, mode, cval, origin, axes = arguments
    x, dtype = image(name, given, output)
    if not isinstance(mode, str):
        raise RuntimeError(f"{name}: a sequence of modes is not supported; filter axis by axis")
    chosen, w = axes_of(axes, x.ndim), as_numbers(weights, f"tapegrad.ndimage.{name}")
    if w.ndim != len(chosen) or w.size == 0:
        raise RuntimeError(
            f"{name}: weights of shape {w.shape} must have {len(chosen)} axes, and not be empty"
        )
    shape, origins = [1] * x.ndim, [0] * x.ndim
    for number, shift in zip(np.argsort(chosen).tolist(), for_each_axis(origin, len(chosen)), strict=True):
        origins[chosen[number]] = shift
    for extent, axis in zip(w.shape, sorted(chosen), strict=True):
        shape[axis] = extent
    w = w.reshape(shape) if flipped else conjugate(w).reshape(shape)
    found = _over_windows(x, w, origins, [mode] * x.ndim, cval, flipped)
    return found.astype(_promoted(dtype, w), copy=False)


def _promoted(dtype: Any, weights: Tensor) -> Any:
    """Return the dtype of a result, complex if the weights are."""
    return complex_dtype(dtype) if weights.dtype.kind == "c" else dtype


def _over_windows(
    x: Tensor, weights: Tensor, origins: Sequence[int], modes: Sequence[str], cval: Any, flipped: bool
) -> Tensor:
    """Correlate an image with weights of as many axes; with a convolution's if they are flipped."""
    offset, whole = [], x
    for axis, (taps, origin, mode) in enumerate(zip(weights.shape, origins, modes, strict=True)):
        shift = -origin - (taps % 2 == 0) if flipped else origin
        if not -(taps // 2) <= shift <= (taps - 1) // 2:
            raise ValueError(
                f"Invalid origin; origin {origin} of axis {axis} moves a window of {taps} weights off its place"
            )
        before = taps // 2 + shift
        is_zero = is_zero_outside(mode, cval)
        offset.append(-before if is_zero else 0)
        if not is_zero:
            whole = extended(whole, axis, before, taps - 1 - before, mode, cval)
    precision = part_dtype(x.dtype)
    own = complex_dtype(precision) if weights.dtype.kind == "c" else precision
    return correlate_arrays(whole, weights.astype(own, copy=False), offset, x.shape, flipped)
