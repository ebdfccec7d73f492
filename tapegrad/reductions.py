"""Sums, products, extremes and cumulative sums along axes."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tapegrad import state
from tapegrad.ops import CODES
from tapegrad.shaping import moveaxis, reshape
from tapegrad.state import EAGER, modes
from tapegrad.storage import from_array, from_slot, is_tensor
from tapegrad.structural import allocate, as_tensor, in_shape, record_into, record_reduction
from tapegrad.sweep import eager
from tapegrad.tape import slots

if TYPE_CHECKING:
    from tapegrad.tensor import Tensor

Axis = int | tuple[int, ...] | None
_SUM, _PROD, _MAX, _MIN = CODES["sum"], CODES["prod_reduce"], CODES["max_reduce"], CODES["min_reduce"]
_CUMSUM = CODES["cumsum"]


def _axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes that an argument `axis` names, sorted; NumPy's errors for those that do not exist."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def _constant(function: Any, x: "Tensor", **arguments: Any) -> "Tensor":
    """A reduction of integers or booleans, which NumPy computes."""
    return from_array(np.asarray(function(np.asarray(x), **arguments)), constant=True)


def _is_float(x: "Tensor") -> bool:
    return x.dtype.kind == "f"


def sum(a: Any, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
    """Sum over `axis` (all axes by default), accumulated in blocks for accuracy.

    Parameters
    ----------
    a
        Tensor or array.
    axis
        Axis or axes to sum over; negative ones count from the last.
    keepdims
        Keep the axes with extent 1.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sum(tg.ones((2, 3)), axis=0)
    Tensor([2., 2., 2.])
    """
    if axis is None and is_tensor(a) and a._tape is EAGER and not modes.active:
        slot = eager.record_reduction(EAGER.header, _SUM, a._slot_on(EAGER), -1, keepdims, 1)
        if slot >= 0:
            return from_slot(EAGER, slot)
    x = as_tensor(a, "sum")
    if not _is_float(x):
        return _constant(np.sum, x, axis=axis, keepdims=keepdims)
    if axis is None:
        mask = (1 << x.ndim) - 1
    else:
        mask = 0
        for k in _axes(axis, x.ndim):
            mask |= 1 << k
    return record_reduction(_SUM, x, mask, keepdims, "sum")


def mean(a: Any, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
    """Arithmetic mean over `axis` (all axes by default)."""
    x = as_tensor(a, "mean")
    if not _is_float(x):
        x = x.astype(np.float64)
    count = math.prod(x.shape[k] for k in _axes(axis, x.ndim))
    return sum(x, axis, keepdims=keepdims) / float(count)


def _by_lines(code: int, name: str, a: Any, axis: Axis, keepdims: bool) -> "Tensor":
    """A reduction that goes line by line: the reduced axes become one, the last."""
    x = as_tensor(a, name)
    if not _is_float(x):
        return _constant(getattr(np, name), x, axis=axis, keepdims=keepdims)
    axes = _axes(axis, x.ndim)
    shape = x.shape
    count = math.prod(shape[k] for k in axes)
    if count == 0 and name != "prod":
        raise ValueError(
            f"{name}: zero-size axis in an operand of shape {shape}; there is no {name} of nothing"
        )
    rest = tuple(shape[k] for k in range(len(shape)) if k not in axes)
    lines = (
        reshape(moveaxis(x, axes, range(len(rest), len(shape))), (*rest, count))
        if axes
        else reshape(x, (*rest, 1))
    )
    result = record_reduction(code, lines, 1 << len(rest), False, name)
    if not keepdims:
        return result
    return in_shape(result, tuple(1 if k in axes else e for k, e in enumerate(shape)))


def prod(a: Any, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
    """Product over `axis`; its gradient is right where elements are zero."""
    return _by_lines(_PROD, "prod", a, axis, keepdims)


def max(a: Any, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
    """Maximum over `axis`; elements that tie share the gradient equally."""
    return _by_lines(_MAX, "max", a, axis, keepdims)


def min(a: Any, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
    """Minimum over `axis`; elements that tie share the gradient equally."""
    return _by_lines(_MIN, "min", a, axis, keepdims)


def cumsum(a: Any, axis: int | None = None) -> "Tensor":
    """Cumulative sum along `axis`; of the flattened array by default."""
    x = as_tensor(a, "cumsum")
    if not _is_float(x):
        return _constant(np.cumsum, x, axis=axis)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    lines = moveaxis(x, axis, -1)
    tape, differentiate = state.current()
    result = allocate(tape, x.dtype, x.shape, "cumsum")
    along = np.moveaxis(result.data_or_traced(), axis, -1)  # must live while its id is used
    into = slots.view_array(tape.header, result._slot, id(along))
    record_into(tape, _CUMSUM, into, [lines._slot_on(tape)], None, "cumsum", differentiate)
    slots.drop(tape.header, into)
    return result


FUNCTIONS = {
    "sum": sum, "mean": mean, "prod": prod, "max": max, "amax": max, "min": min, "amin": min, "cumsum": cumsum,
}  # fmt: skip


class ReductionMethods:
    """Reductions as methods of a Tensor."""

    __slots__ = ()

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        """Sum over `axis`."""
        return sum(self, axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        """Arithmetic mean over `axis`."""
        return mean(self, axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        """Product over `axis`."""
        return prod(self, axis, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        """Maximum over `axis`."""
        return max(self, axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> "Tensor":
        """Minimum over `axis`."""
        return min(self, axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None) -> "Tensor":
        """Cumulative sum along `axis`."""
        return cumsum(self, axis)
