"""Sums, products, extremes and cumulative sums along axes."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tapegrad.engine.sweep import eager
from tapegrad.engine.tape import slots
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.elementwise import where as select
from tapegrad.frontend.modes import EAGER, current, modes
from tapegrad.frontend.record_structural import allocate, as_tensor, in_shape, record_out, record_reduction
from tapegrad.frontend.shape import moveaxis, reshape
from tapegrad.frontend.tensor import Tensor, bind_methods, from_array, from_slot, is_tensor
from tapegrad.ops import CODES

Axis = int | tuple[int, ...] | None
_SUM, _PROD, _CUMSUM = CODES["sum"], CODES["prod_reduce"], CODES["cumsum"]


def _axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes that an argument `axis` names, sorted; NumPy's errors for those that do not exist."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, list | bool):
        raise TypeError(f"axis must be an integer or a tuple of integers, not {axis!r}")
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def _constant(function: Any, x: Tensor, **arguments: Any) -> Tensor:
    """A reduction of integers or booleans, which NumPy computes."""
    said = {name: value for name, value in arguments.items() if value is not None and value is not True}
    said = {name: np.asarray(value) if is_tensor(value) else value for name, value in said.items()}
    return from_array(np.asarray(function(np.asarray(x), **said)), constant=True)


def _is_float(x: Tensor) -> bool:
    return x.dtype.kind == "f"


def _operand(a: Any, name: str, dtype: Any, out: Any) -> Tensor:
    """What is reduced, in the dtype that the result is to have."""
    if out is not None:
        raise UnsupportedError(f"{name}: the argument 'out' is not supported for Tensors; use the result")
    x = as_tensor(a, name)
    return x if dtype is None else x.astype(dtype, copy=False)


def _counted(x: Tensor, where: Any, neutral: Any) -> Tensor:
    """`x` with what changes nothing in the place of elements that do not count."""
    return x if where is True else select(where, x, neutral)


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Sum over `axis` (all axes by default), accumulated in blocks for accuracy.

    Parameters
    ----------
    a
        Tensor or array.
    axis
        Axis or axes to sum over; negative ones count from the last.
    dtype
        Dtype in which to sum.
    out
        Not supported.
    keepdims
        Keep the axes with extent 1.
    initial
        Number to begin with.
    where
        Booleans: which elements to sum.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sum(tg.ones((2, 3)), axis=0)
    Tensor([2., 2., 2.])
    """
    plain = dtype is None and out is None and initial is None and where is True
    if plain and axis is None and is_tensor(a) and a._tape is EAGER and not modes.active:
        slot = eager.record_reduction(EAGER.header, _SUM, a._slot_on(EAGER), -1, keepdims, 1)
        if slot >= 0:
            return from_slot(EAGER, slot)
    x = _operand(a, "sum", dtype, out)
    if not _is_float(x):
        return _constant(np.sum, x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
    x = _counted(x, where, 0.0)
    if axis is None:
        mask = (1 << x.ndim) - 1
    else:
        mask = 0
        for k in _axes(axis, x.ndim):
            mask |= 1 << k
    result = record_reduction(_SUM, x, mask, keepdims, "sum")
    return result if initial is None else result + initial


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Arithmetic mean over `axis` (all axes by default) of the elements that `where` names."""
    x = _operand(a, "mean", dtype, out)
    if not _is_float(x):
        x = x.astype(np.float64)
    total = sum(x, axis, None, None, keepdims, None, where)
    if where is True:
        return total / float(math.prod(x.shape[k] for k in _axes(axis, x.ndim)))
    return total / sum(select(where, np.ones(x.shape, x.dtype), 0.0), axis, None, None, keepdims)


def _by_lines(code: int, name: str, x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """A reduction that goes line by line: the reduced axes become one, the last."""
    axes = _axes(axis, x.ndim)
    shape = x.shape
    count = math.prod(shape[k] for k in axes)
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


def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Product over `axis`, from `initial` on; its gradient is right where elements are zero."""
    x = _operand(a, "prod", dtype, out)
    if not _is_float(x):
        return _constant(np.prod, x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
    result = _by_lines(_PROD, "prod", _counted(x, where, 1.0), axis, keepdims)
    return result if initial is None else result * initial


class _Extreme(NamedTuple):
    """What there is to know of `max` and `min`."""

    name: str
    code: int
    of_two: Any
    neutral: float


def _extreme(
    kind: _Extreme, a: Any, axis: Axis, out: None, keepdims: bool, initial: Any, where: Any
) -> Tensor:
    name = kind.name
    x = _operand(a, name, None, out)
    if not _is_float(x):
        return _constant(getattr(np, name), x, axis=axis, keepdims=keepdims, initial=initial, where=where)
    if initial is None and where is not True:
        raise ValueError(f"{name}: there is no {name} of nothing, so `where` needs `initial`")
    if initial is None and math.prod(x.shape[k] for k in _axes(axis, x.ndim)) == 0:
        raise ValueError(
            f"{name}: zero-size axis in an operand of shape {x.shape}; there is no {name} of nothing"
        )
    result = _by_lines(kind.code, name, _counted(x, where, kind.neutral), axis, keepdims)
    return result if initial is None else kind.of_two(result, initial)


_LARGEST = _Extreme("max", CODES["max_reduce"], ELEMENTWISE["maximum"], -math.inf)
_SMALLEST = _Extreme("min", CODES["min_reduce"], ELEMENTWISE["minimum"], math.inf)


def max(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Maximum over `axis`, and of `initial`; elements that tie share the gradient equally."""
    return _extreme(_LARGEST, a, axis, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Minimum over `axis`, and of `initial`; elements that tie share the gradient equally."""
    return _extreme(_SMALLEST, a, axis, out, keepdims, initial, where)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Tensor:
    """Cumulative sum along `axis`; of the flattened array by default."""
    x = _operand(a, "cumsum", dtype, out)
    if not _is_float(x):
        return _constant(np.cumsum, x, axis=axis, dtype=dtype)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    lines = moveaxis(x, axis, -1)
    tape, differentiate = current()
    result = allocate(tape, x.dtype, x.shape, "cumsum")
    along = np.moveaxis(result.data_or_traced(), axis, -1)  # must live while its id is used
    into = slots.view_array(tape.header, result._slot, id(along))
    record_out(tape, _CUMSUM, into, [lines._slot_on(tape)], None, "cumsum", differentiate)
    slots.drop(tape.header, into)
    return result


FUNCTIONS = {
    "sum": sum, "mean": mean, "prod": prod, "max": max, "amax": max, "min": min, "amin": min, "cumsum": cumsum,
}  # fmt: skip


bind_methods(sum=sum, mean=mean, prod=prod, max=max, min=min, cumsum=cumsum)
