"""Convolution and correlation of arrays of any dimension, by products or by Fourier transforms."""

from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import conjugate
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.signal.arguments import check_mode, of_integers, operands, swapped_for_valid
from tapegrad.signal.direct import convolved_directly, products_directly
from tapegrad.signal.spectral import convolved_by_transforms, transforms_of

_METHODS = ("auto", "direct", "fft")
_PRODUCT_NS, _TRANSFORM_NS, _CALL_NS = (
    0.15,
    3.0,
    6000.0,
)  # of a product, of an element and its logarithm, of calls


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Tensor:
    """Convolve two arrays of as many dimensions.

    Parameters
    ----------
    in1, in2 : Tensor or array_like
        Arrays.
    mode : {'full', 'same', 'valid'}, default 'full'
        Which part: all elements where the arrays meet, the middle ones in the shape of `in1`, or those where they meet
        completely.
    method : {'auto', 'direct', 'fft'}, default 'auto'
        Sums of products, Fourier transforms, or the one that the shapes let expect to be faster.

    Returns
    -------
    Tensor
        Of the dtype that both promote to. The convolution of integers is a constant.

    Raises
    ------
    ValueError
        If an array is empty, the numbers of dimensions differ, for unknown modes and methods, and in the mode 'valid'
        if neither array is at least as large as the other one.

    See Also
    --------
    fftconvolve, oaconvolve : By Fourier transforms, along chosen axes.
    convolve2d : With other values beyond the edges than zeros.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.signal.convolve(tg.tensor([1.0, 2.0, 3.0]), [0.0, 1.0, 0.5])
    Tensor([0. , 1. , 2.5, 4. , 1.5])
    >>> tg.signal.convolve(np.ones((3, 3)), np.ones((2, 2)), mode="valid")
    Tensor([[4., 4.],
            [4., 4.]])
    """
    import scipy.signal

    x, v = _arrays("convolve", in1, in2, mode, method)
    if x.dtype.kind in "biu":
        return of_integers(scipy.signal.convolve, x, v, mode, method)
    return _convolved(x, v, mode, method)


@like(
    convolve,
    ("    Arrays.\n", "    Arrays. Of complex ones the second is conjugated.\n"),
    ("The convolution of integers", "The correlation of integers"),
    summary="Cross-correlate two arrays of as many dimensions.",
    see_also="",
    examples=""">>> tg.signal.correlate(tg.tensor([1.0, 2.0, 3.0]), [0.0, 1.0, 0.5], mode="same")
Tensor([2. , 3.5, 3. ])""",
)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Tensor:
    import scipy.signal

    x, v = _arrays("correlate", in1, in2, mode, method)
    if x.dtype.kind in "biu":
        return of_integers(scipy.signal.correlate, x, v, mode, method)
    return _convolved(x, conjugate(v[(slice(None, None, -1),) * v.ndim]), mode, method)


def _arrays(name: str, in1: Any, in2: Any, mode: str, method: str) -> tuple[Tensor, Tensor]:
    x, v = operands(name, in1, in2)
    if x.ndim != v.ndim:
        raise ValueError(
            f"{name}: in1 and in2 should have the same dimensionality, not shapes {x.shape} and {v.shape}"
        )
    if x.size == 0 or v.size == 0:
        raise ValueError(f"{name}: arrays of shapes {x.shape} and {v.shape} cannot be empty")
    check_mode(mode)
    if method not in _METHODS:
        raise ValueError(f"{name}: acceptable method flags are 'auto', 'direct', or 'fft', not {method!r}")
    return x, v


def _convolved(x: Tensor, v: Tensor, mode: str, method: str) -> Tensor:
    if x.ndim == 0:
        return x * v
    x, v, _ = swapped_for_valid(x, v, mode)
    if method == "fft" or (method == "auto" and _is_faster_by_transforms(x, v, mode)):
        found: Tensor = convolved_by_transforms(x, v, mode, range(x.ndim))
        return found
    return convolved_directly(x, v, mode)


def _is_faster_by_transforms(x: Tensor, v: Tensor, mode: str) -> bool:
    products = products_directly(x.shape, v.shape, mode)
    elements = float(np.prod([n + t - 1 for n, t in zip(x.shape, v.shape, strict=True)], dtype=np.float64))
    transforms = _CALL_NS + transforms_of(x, v) * _TRANSFORM_NS * elements * np.log2(elements + 1)
    return bool(products * _PRODUCT_NS > transforms)
