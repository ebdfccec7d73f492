"""Edges: differences along axes, smoothed along the other ones, and Gaussian derivatives."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ndimage.arguments import axes_of, for_each_axis, image
from tapegrad.ndimage.correlation import along_axis
from tapegrad.ndimage.smoothing import gaussian_filter


def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Tensor:
    """Return central differences along an axis, smoothed by the weights 1, 2, 1 along the other ones.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats, of any dimension.
    axis : int, default -1
        Axis of the differences.
    output, mode, cval
        As for `gaussian_filter`.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.ndimage.sobel(tg.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]))
    Tensor([[0., 4., 4.],
            [0., 4., 4.]])
    """
    return _difference("sobel", (input, axis, output, mode, cval), [1.0, 2.0, 1.0])


@like(
    sobel,
    summary="Return central differences along an axis, summed over three lines along the other ones.",
    examples=""">>> tg.ndimage.prewitt(tg.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]))
Tensor([[0., 3., 3.],
        [0., 3., 3.]])""",
)
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Tensor:
    return _difference("prewitt", (input, axis, output, mode, cval), [1.0, 1.0, 1.0])


def laplace(
    input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Tensor:
    """Return the sum of the second differences along axes.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats, of any dimension.
    output, mode, cval, axes
        As for `gaussian_filter`.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.ndimage.laplace(np.arange(4.0) ** 2)
    Tensor([ 1.,  2.,  2., -5.])
    """
    x, dtype = image("laplace", input, output)
    chosen = axes_of(axes, x.ndim)
    modes = for_each_axis(mode, len(chosen))
    terms = [
        along_axis(x, [1.0, -2.0, 1.0], axis, edge, cval) for axis, edge in zip(chosen, modes, strict=True)
    ]
    return _total(terms, x).astype(dtype)


def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **kwargs: Any,
) -> Tensor:  # fmt: skip
    """Return the sum of the second Gaussian derivatives along axes.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats, of any dimension.
    sigma : float, Tensor or sequence of them
        Standard deviation along each axis, or along all of them. A Tensor needs `radius`.
    output, mode, cval, axes
        As for `gaussian_filter`.
    **kwargs
        Further arguments of `gaussian_filter`: `truncate` and `radius`.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> round(tg.ndimage.gaussian_laplace(np.arange(21.0) ** 2, 1.0)[10].item(), 2)
    1.99
    """
    terms, x, dtype = _gaussian_derivatives(
        "gaussian_laplace", (input, sigma, output, mode, cval, axes), 2, kwargs
    )
    return _total(terms, x).astype(dtype)


@like(
    gaussian_laplace,
    summary="Return the length of the gradient by Gaussian derivatives; its own derivative is 0 where it is 0.",
    examples=""">>> import numpy as np
>>> plane = 3 * np.arange(40.0)[:, None] + 4 * np.arange(40.0)
>>> np.round(tg.ndimage.gaussian_gradient_magnitude(plane, 1.0).numpy()[20, 20], 2)
np.float64(5.0)""",
)
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **kwargs: Any,
) -> Tensor:  # fmt: skip
    name = "gaussian_gradient_magnitude"
    terms, x, dtype = _gaussian_derivatives(name, (input, sigma, output, mode, cval, axes), 1, kwargs)
    if not terms:
        return x.astype(dtype)
    length: Any = np.sqrt(_total([term * term for term in terms], x))
    found: Tensor = length.astype(dtype)
    return found


def _difference(name: str, arguments: tuple[Any, ...], smooth: Sequence[float]) -> Tensor:
    given, axis, output, mode, cval = arguments
    x, dtype = image(name, given, output)
    axis = normalize_axis_index(axis, x.ndim)
    modes = for_each_axis(mode, x.ndim)
    x = along_axis(x, [-1.0, 0.0, 1.0], axis, modes[axis], cval)
    for other in range(x.ndim):
        if other != axis:
            x = along_axis(x, smooth, other, modes[other], cval)
    return x.astype(dtype, copy=False)


def _gaussian_derivatives(
    name: str, arguments: tuple[Any, ...], order: int, kwargs: dict[str, Any]
) -> tuple[list[Tensor], Tensor, Any]:
    """Return the derivatives along each of some axes, the image, and the dtype of the result."""
    given, sigma, output, mode, cval, axes = arguments
    x, dtype = image(name, given, output)
    chosen = axes_of(axes, x.ndim)
    widths: list[Any] = [0.0] * x.ndim
    for axis, width in zip(chosen, for_each_axis(sigma, len(chosen)), strict=True):
        widths[axis] = width
    modes = for_each_axis(mode, len(chosen))
    terms = []
    for axis, edge in zip(chosen, modes, strict=True):
        orders = [order if k == axis else 0 for k in range(x.ndim)]
        terms.append(gaussian_filter(x, widths, orders, None, edge, cval, **kwargs))
    return terms, x, dtype


def _total(terms: Sequence[Tensor], x: Tensor) -> Tensor:
    """Return a sum of images; the image itself for none."""
    return sum(terms[1:], start=terms[0]) if terms else x
