"""Smoothing: Gaussian filters, which have derivatives by their widths too, and means over windows."""

import numbers
from typing import Any

import numpy as np

from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.ndimage.arguments import axes_of, for_each_axis, image
from tapegrad.ndimage.correlation import along_axis

_NEGLIGIBLE = 1e-15  # width of a Gaussian that leaves an image as it is


def gaussian_filter1d(  # noqa: PLR0913  SciPy's arguments
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: int | None = None,
) -> Tensor:  # fmt: skip
    """Filter the lines along an axis by a Gaussian, or by a derivative of it.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats, of any dimension.
    sigma : float or Tensor
        Standard deviation, in elements. A Tensor needs `radius`, which must not depend on values.
    axis : int, default -1
        Axis of the lines.
    order : int, default 0
        Order of the derivative.
    output, mode, cval
        As for `correlate1d`.
    truncate : float, default 4.0
        Radius in standard deviations.
    radius : int, optional
        Elements of the Gaussian on each side of its middle, by default ``round(truncate * sigma)``.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Raises
    ------
    TypeError
        If the input is of integers.
    ValueError
        For a negative order or radius, and for a Tensor as `sigma` without `radius`.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.ndimage.gaussian_filter1d(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 1)
    Tensor([1.42704095, 2.06782203, 3.        , 3.93217797, 4.57295905])
    >>> peak = lambda sigma: tg.ndimage.gaussian_filter1d(np.eye(9)[4], sigma, radius=4)[4]
    >>> round(float(tg.grad(peak)(2.0)), 6)
    -0.087491
    """
    x, dtype = image("gaussian_filter1d", input, output)
    found = _gaussian("gaussian_filter1d", x, sigma, axis, order, mode, cval, truncate, radius)
    return found.astype(dtype, copy=False)


def gaussian_filter(  # noqa: PLR0913  SciPy's arguments
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Tensor:  # fmt: skip
    """Filter an image by a Gaussian, or by a derivative of it.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats, of any dimension.
    sigma : float, Tensor or sequence of them
        Standard deviation along each axis, or along all of them. A Tensor needs `radius`.
    order : int or sequence of int, default 0
        Order of the derivative along each axis.
    output, cval
        As for `correlate1d`.
    mode : str or sequence of str, default 'reflect'
        Contents of the image beyond its edges, along each axis; see `correlate1d`.
    truncate : float, default 4.0
        Radius in standard deviations.
    radius : int or sequence of int, optional
        Elements of the Gaussian on each side of its middle.
    axes : int or tuple of int, optional
        Axes to filter along; all by default.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Raises
    ------
    TypeError
        If the input is of integers.
    RuntimeError, ValueError
        As by SciPy's function, and for a Tensor as `sigma` without `radius`.

    Notes
    -----
    The filter goes along one axis after another, in the dtype of the result.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> blurred = tg.ndimage.gaussian_filter(tg.tensor([[0.0, 8.0], [0.0, 0.0]]), (0, 1.0), mode="nearest")
    >>> np.round(blurred.numpy(), 3)
    array([[2.404, 5.596],
           [0.   , 0.   ]])
    """
    x, dtype = image("gaussian_filter", input, output)
    found = _gaussian_over("gaussian_filter", x, sigma, order, mode, cval, truncate, radius, axes)
    return found.astype(dtype, copy=found is x)


def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Tensor:  # fmt: skip
    """Return means over windows along an axis.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats, of any dimension.
    size : int
        Elements of a window.
    axis, output, mode, cval, origin
        As for `correlate1d`.

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
    >>> tg.ndimage.uniform_filter1d(np.array([3.0, 9.0, 0.0, 6.0]), 3)
    Tensor([5., 4., 5., 4.])
    """
    x, dtype = image("uniform_filter1d", input, output)
    return _mean(x, size, axis, mode, cval, origin).astype(dtype, copy=False)


def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Tensor:  # fmt: skip
    """Return means over windows of an image.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats, of any dimension.
    size : int or sequence of int, default 3
        Extent of the windows along each axis.
    output, mode, cval, origin, axes
        As for `gaussian_filter`; the origin shifts the window along each axis.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.ndimage.uniform_filter(np.diag([9.0, 0.0, 0.0]), 3, mode="constant")
    Tensor([[1., 1., 0.],
            [1., 1., 0.],
            [0., 0., 0.]])
    """
    x, dtype = image("uniform_filter", input, output)
    chosen = axes_of(axes, x.ndim)
    sizes, origins, modes = (for_each_axis(each, len(chosen)) for each in (size, origin, mode))
    for axis, extent, shift, edge in zip(chosen, sizes, origins, modes, strict=True):
        if extent > 1:
            x = _mean(x, int(extent), axis, edge, cval, shift)
    return x.astype(dtype)


# --- Gaussians -------------------------------------------------------------------------------------------------


def _gaussian_over(  # noqa: PLR0913  SciPy's arguments
    name: str,
    x: Tensor,
    sigma: Any,
    order: Any,
    mode: Any,
    cval: Any,
    truncate: float,
    radius: Any,
    axes: Any,
) -> Tensor:
    """Filter along each of some axes."""
    chosen = axes_of(axes, x.ndim)
    each = [for_each_axis(value, len(chosen)) for value in (sigma, order, mode, radius)]
    for axis, width, degree, edge, reach in zip(chosen, *each, strict=True):
        if is_tensor(width) or width > _NEGLIGIBLE:
            x = _gaussian(name, x, width, axis, degree, edge, cval, truncate, reach)
    return x


def _gaussian(  # noqa: PLR0913  SciPy's arguments
    name: str,
    x: Tensor,
    sigma: Any,
    axis: int,
    order: int,
    mode: str,
    cval: Any,
    truncate: float,
    radius: Any,
) -> Tensor:
    reach = _reach(name, sigma, truncate, radius)
    return along_axis(x, gaussian_weights(sigma, order, reach)[::-1], axis, mode, cval)


def _reach(name: str, sigma: Any, truncate: float, radius: Any) -> int:
    """Return the elements of a Gaussian on each side of its middle."""
    if radius is None:
        if is_tensor(sigma):
            raise ValueError(
                f"{name}: the number of weights must not depend on a Tensor; give radius= beside it, such as"
                f" radius={int(truncate * 2.0 + 0.5)} for sigma up to 2"
            )
        radius = int(truncate * float(sigma) + 0.5)
    if not isinstance(radius, numbers.Integral) or radius < 0:
        raise ValueError(f"{name}: radius must be a nonnegative integer, not {radius!r}")
    return int(radius)


def gaussian_weights(sigma: Any, order: int, radius: int) -> Any:
    """Return a sampled Gaussian of sum 1 times the polynomial that makes it a derivative.

    The polynomials follow from ``(q * g)' = (q' - q * x / sigma**2) * g``.
    """
    if order < 0:
        raise ValueError(f"order must be non-negative, not {order}")
    variance = sigma * sigma
    x = np.arange(-radius, radius + 1)
    heights = np.exp(-0.5 / variance * x**2)
    heights = heights / heights.sum()
    if order == 0:
        return heights
    q: list[Any] = [1.0]
    for _ in range(order):
        slopes = [(k + 1) * each for k, each in enumerate(q[1:])] + [0.0, 0.0]
        moved = [0.0, *[-each / variance for each in q]]
        q = [a + b for a, b in zip(slopes, moved, strict=True)]
    return sum(each * x**k for k, each in enumerate(q)) * heights


def _mean(x: Tensor, size: int, axis: int, mode: str, cval: Any, origin: int) -> Tensor:
    if size < 1:
        raise RuntimeError(f"incorrect filter size: {size}")
    return along_axis(x, np.ones(size), axis, mode, cval, origin) / size
