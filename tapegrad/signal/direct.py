"""Convolutions and correlations by sums of products, over any number of axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import conjugate
from tapegrad.frontend.functions.numerics.convolution import correlate_arrays
from tapegrad.frontend.functions.numerics.padding import pad
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.signal.arguments import check_mode, of_integers, operands, swapped_for_valid

_BOUNDARIES = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric"}
_BOUNDARIES["symmetric"] = "symmetric"


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Tensor:
    """Convolve two images.

    Parameters
    ----------
    in1, in2 : Tensor or array_like, of two dimensions
        Images.
    mode : {'full', 'same', 'valid'}, default 'full'
        Which part: all elements where the images meet, the middle ones in the shape of `in1`, or those where they meet
        completely.
    boundary : {'fill', 'wrap', 'symm'}, default 'fill'
        What is beyond the edges of `in1`: `fillvalue`, its other end, or its reflection.
    fillvalue : float or Tensor, default 0
        Value beyond the edges.

    Returns
    -------
    Tensor
        Of the dtype that both promote to. The convolution of integers is a constant.

    Raises
    ------
    ValueError
        If the images are empty or not of two dimensions, for unknown modes and boundaries, and in the mode 'valid' if
        neither is at least as large as the other one.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> image = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> tg.signal.convolve2d(image, [[1.0, 1.0]], mode="same", boundary="symm")
    Tensor([[2., 3.],
            [6., 7.]])
    >>> tg.grad(lambda w: tg.sum(tg.signal.convolve2d(image, w, "valid") ** 2))(np.ones((1, 2)))
    array([[68., 48.]])
    """
    import scipy.signal

    x, v, taken = _images("convolve2d", in1, in2, mode)
    if x.dtype.kind in "biu":
        return of_integers(scipy.signal.convolve2d, x, v, mode, boundary, fillvalue)
    x, v, _ = swapped_for_valid(x, v, taken)
    return _over_boundary(x, v, taken, boundary, fillvalue, is_flipped=True)


@like(
    convolve2d,
    ("    Images.\n", "    Images. Of complex ones the second is conjugated.\n"),
    ("The convolution of integers", "The correlation of integers"),
    summary="Cross-correlate two images.",
    examples=""">>> import numpy as np
>>> tg.signal.correlate2d(np.array([[1.0, 2.0], [3.0, 4.0]]), [[1.0, 0.0], [0.0, 1.0]], mode="valid")
Tensor([[5.]])""",
)
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Tensor:
    import scipy.signal

    x, v, taken = _images("correlate2d", in1, in2, mode)
    if x.dtype.kind in "biu":
        return of_integers(scipy.signal.correlate2d, x, v, mode, boundary, fillvalue)
    x, v, is_swapped = swapped_for_valid(x, v, taken)
    found = _over_boundary(x, conjugate(v), taken, boundary, fillvalue, is_flipped=False)
    return found[::-1, ::-1] if is_swapped else found


def _images(name: str, in1: Any, in2: Any, mode: Any) -> tuple[Tensor, Tensor, str]:
    x, v = operands(name, in1, in2)
    if x.ndim != 2 or v.ndim != 2:
        raise ValueError(
            f"{name}: the inputs have shapes {x.shape} and {v.shape}, but must both be 2-D arrays"
        )
    if x.size == 0 or v.size == 0:
        raise ValueError(f"{name}: the inputs of shapes {x.shape} and {v.shape} cannot be empty")
    return x, v, check_mode(mode)


def _over_boundary(
    x: Tensor, v: Tensor, mode: str, boundary: str, fillvalue: Any, is_flipped: bool
) -> Tensor:
    """Correlate with the image extended beyond its edges."""
    if boundary not in _BOUNDARIES:
        raise ValueError(
            f"boundary must be 'fill', 'circular' (or 'wrap'), or 'symmetric' (or 'symm'), not {boundary!r}"
        )
    first, shape = part(x.shape, v.shape, mode)
    if mode == "same" and not is_flipped:  # SciPy's window of even extent lies the other way
        first = [taps // 2 for taps in v.shape]
    filling = _BOUNDARIES[boundary]
    if mode == "valid" or (filling == "constant" and not is_tensor(fillvalue) and fillvalue == 0):
        return correlate_arrays(
            x, v, [at - t + 1 for at, t in zip(first, v.shape, strict=True)], shape, is_flipped
        )
    widths = [(t - 1 - at, at + n - s) for at, n, t, s in zip(first, shape, v.shape, x.shape, strict=True)]
    filled = {"constant_values": fillvalue} if filling == "constant" else {}
    return correlate_arrays(pad(x, widths, filling, **filled), v, (0, 0), shape, is_flipped)


def part(
    size: Sequence[int], taps: Sequence[int], mode: str, shape: Sequence[int] | None = None
) -> tuple[list[int], tuple[int, ...]]:
    """Return first element and shape of the part of a full convolution that a mode takes.

    In the mode 'same' it has the extents of `shape`, by default those of the first array.
    """
    if mode == "full":
        return [0] * len(size), tuple([n + t - 1 for n, t in zip(size, taps, strict=True)])
    if mode == "valid":
        return [t - 1 for t in taps], tuple([n - t + 1 for n, t in zip(size, taps, strict=True)])
    kept = tuple(size if shape is None else shape)
    return [(n + t - 1 - k) // 2 for n, t, k in zip(size, taps, kept, strict=True)], kept


def convolved_directly(x: Tensor, v: Tensor, mode: str) -> Tensor:
    """Convolve two arrays; the weights are the one with fewer elements."""
    kept = x.shape
    if v.size > x.size:
        x, v = v, x
    first, shape = part(x.shape, v.shape, mode, kept)
    offset = [at - taps + 1 for at, taps in zip(first, v.shape, strict=True)]
    return correlate_arrays(x, v, offset, shape, flipped=True)


def products_directly(size: Sequence[int], taps: Sequence[int], mode: str) -> float:
    """Return the number of products of two arrays' elements that a convolution adds up."""
    _, shape = part(size, taps, mode)
    fewer = [min(n, t) for n, t in zip(size, taps, strict=True)]
    return float(np.prod(shape, dtype=np.float64) * np.prod(fewer, dtype=np.float64))
