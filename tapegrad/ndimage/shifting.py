"""Shifts of images by whole elements, which need no splines."""

from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.numerics.padding import pad
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.ndimage.arguments import for_each_axis, image
from tapegrad.ndimage.boundaries import is_zero_outside, margins

_NUMPYS = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "grid-wrap": "wrap",
}


def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Tensor:  # fmt: skip
    """Shift an image by whole elements: ``y[i] = x[i - shift]``.

    Parameters
    ----------
    input : Tensor or array_like
        Image of floats, of any dimension.
    shift : int or sequence of int
        Shift along each axis, or along all of them; numbers without a fraction.
    output : dtype, optional
        Dtype of the result, that of the input by default.
    order : int, default 3
        Degree of the splines, which meet the elements whatever it is.
    mode : str, default 'constant'
        Contents of the image beyond its edges: see `correlate1d`. In 'wrap' the last element and the first one are the
        same; in 'grid-wrap' they are neighbours.
    cval : float or Tensor, default 0.0
        Value beyond the edges in the mode 'constant'.
    prefilter : bool, default True
        Accepted; splines through the elements need it.

    Returns
    -------
    Tensor
        Of the shape of the input.

    Raises
    ------
    UnsupportedError
        If a shift has a fraction, or is a Tensor.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> tg.ndimage.shift(np.array([1.0, 2.0, 3.0, 4.0]), 1, mode="nearest")
    Tensor([1., 1., 2., 3.])
    """
    x, dtype = image("shift", input, output)
    if not 0 <= order <= 5:
        raise RuntimeError(f"spline order not supported: {order}")
    if mode != "wrap":
        is_zero_outside(mode, cval)
    for axis, by in enumerate(for_each_axis(shift, x.ndim)):
        if by := _whole(by):
            x = _shifted(x, axis, by, mode, cval)
    return x.astype(dtype)


def _whole(by: Any) -> int:
    if is_tensor(by) or by != np.floor(by):
        raise UnsupportedError(
            f"shift: shifts must be whole numbers, not {by!r}; between elements interpolate:"
            " tapegrad.interpolate.RegularGridInterpolator"
        )
    return int(by)


def _shifted(x: Tensor, axis: int, by: int, mode: str, cval: Any) -> Tensor:
    extent, lead = x.shape[axis], (slice(None),) * axis
    if mode in ("constant", "grid-constant"):
        moved = max(min(by, extent), -extent)
        kept = x[(*lead, slice(max(-moved, 0), extent - max(moved, 0)))]
        widths = [(max(moved, 0), max(-moved, 0)) if k == axis else (0, 0) for k in range(x.ndim)]
        return pad(kept, widths, constant_values=cval)
    return x[(*lead, _places(mode, extent, by))]


def _places(mode: str, extent: int, by: int) -> np.ndarray:
    """Return the number of the element at each place of a shifted axis."""
    if mode == "wrap":
        places, period = np.arange(extent) - by, max(extent - 1, 1)
        places = np.where(places < 0, places % period, places)
        far = (places == 0) & (np.arange(extent) < by)  # whole periods before the first element: the last one
        return np.where(far, extent - 1, np.where(places < extent, places, places % period))
    before, after = margins(_NUMPYS[mode], extent, max(by, 0), max(-by, 0))
    rows = np.concatenate([before, np.arange(extent), after])
    first = 0 if by > 0 else -by
    return rows[first : first + extent]
