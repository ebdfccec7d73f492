"""Cross products of vectors, and sums along diagonals."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.frontend.functions.reductions.reductions import sum as total
from tapegrad.frontend.functions.shapes.diagonals import diagonal
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import as_numbers, record_new
from tapegrad.frontend.recording.rules import rules_of_product, state_rules
from tapegrad.frontend.recording.shape import broadcast_to, moveaxis
from tapegrad.frontend.recording.ufuncs import in_one_dtype
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods
from tapegrad.ops import CODES
from tapegrad.ops.structural.lines import CrossParams

_CROSS = CODES["cross"]


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """Compute the cross product of vectors of two or three components.

    Parameters
    ----------
    a, b : Tensor or array_like
        Vectors along an axis; their other axes broadcast. A third component that is missing is zero.
    axisa, axisb : int, default -1
        The axis of `a` and of `b` that the components are along.
    axisc : int, default -1
        The axis of the result that the components are along.
    axis : int, optional
        All three of them.

    Returns
    -------
    Tensor
        Vectors perpendicular to `a` and `b`. If both have two components, the third component alone.

    Raises
    ------
    ValueError
        If vectors have neither two nor three components, or other axes do not broadcast.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.cross(tg.tensor([1.0, 0.0, 0.0]), [0.0, 1.0, 0.0])
    Tensor([0., 0., 1.])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = _components(a, axisa, "axisa"), _components(b, axisb, "axisb")
    if x.shape[-1] == y.shape[-1] == 2:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    product = _of_three(_with_third(x), _with_third(y))
    return _last_to(product, normalize_axis_index(axisc, product.ndim, "axisc"))


def _components(value: Any, axis: int, what: str) -> Tensor:
    """Return vectors whose components are along the last axis."""
    x = as_numbers(value, "numpy.cross")
    shape = x.shape
    if not shape:
        raise ValueError("numpy.cross: a vector has at least one dimension")
    axis = normalize_axis_index(axis, len(shape), what)
    if shape[axis] not in (2, 3):
        raise ValueError(
            f"numpy.cross: vectors have 2 or 3 components, not {shape[axis]} (axis {axis} of {shape})"
        )
    return x if axis == len(shape) - 1 else moveaxis(x, axis, -1)


def _with_third(x: Tensor) -> Tensor:
    return x if x.shape[-1] == 3 else concatenate([x, np.zeros((*x.shape[:-1], 1), x.dtype)], -1)


def _of_three(x: Tensor, y: Tensor) -> Tensor:
    kinds = {x.dtype.kind, y.dtype.kind}
    if "c" in kinds or "f" not in kinds:
        return _by_components(x, y)
    if x.dtype != y.dtype:
        x, y = in_one_dtype("numpy.cross", x, y)
    if x.shape != y.shape:
        shape = np.broadcast_shapes(x.shape, y.shape)
        x, y = broadcast_to(x, shape), broadcast_to(y, shape)
    return product_in_space(x, y)


def product_in_space(x: Tensor, y: Tensor, *, masked: bool = False) -> Tensor:
    """Return the cross product along the last axis, of extent 3; the operands have one shape and dtype.

    If `masked`, 0 times anything is 0, as in derivatives.
    """
    return record_new(_CROSS, [x, y], x.shape, CrossParams(int(masked)), "cross")


def _by_components(x: Tensor, y: Tensor) -> Tensor:
    """Multiply components one and two positions further on, cyclically."""
    x, y = (concatenate([t, t[..., :2]], -1) for t in (x, y))
    return x[..., 1:4] * y[..., 2:5] - x[..., 2:5] * y[..., 1:4]


def _last_to(x: Tensor, axis: int) -> Tensor:
    return x if axis == x.ndim - 1 else moveaxis(x, -1, axis)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """Return the sum along a diagonal.

    Parameters
    ----------
    a : Tensor or array_like
        Matrices, in two of its dimensions.
    offset : int, default 0
        Which diagonal: 0 is the main one, positive ones are above it.
    axis1, axis2 : int, default 0 and 1
        The dimensions that are rows and columns.
    dtype : data-type, optional
        Dtype in which to sum.
    out : Tensor or numpy.ndarray, optional
        Destination of the result.

    Returns
    -------
    Tensor
        Without the two dimensions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.trace(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor(5.)
    """
    x = as_numbers(a, "numpy.trace")
    result = total(diagonal(x, offset, axis1, axis2), -1, dtype)
    return result if out is None else deliver(result, out, name="numpy.trace")


FUNCTIONS = {"cross": cross, "trace": trace}
bind_methods(trace=trace)


# --- derivatives -----------------------------------------------------------------------------------------------


state_rules(
    "cross",
    *rules_of_product(
        lambda step, a, b: product_in_space(a, b, masked=True),
        lambda step, y_bar, b: product_in_space(b, y_bar, masked=True),
        lambda step, a, y_bar: product_in_space(y_bar, a, masked=True),
    ),
)
